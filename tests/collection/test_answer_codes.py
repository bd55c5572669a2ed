"""A record has one code: in the certificate, in `perturb`, and in both clients."""

import datetime
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
import wires
from seepage._core.errors import DomainError, InputError
from seepage.channel.records import Records
from seepage.collection.client_files import client_plan
from seepage.collection.perturb_table import open_records
from seepage.collection.reference_client import answer_code
from seepage.tables.scan import open_scan
from seepage.tables.table_options import TableOptions

pytestmark = [
    wires.needs_node,
    pytest.mark.filterwarnings("ignore::seepage.DataWarning"),
]

PEOPLE = 400


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    running = wires.Client(wires.install_client(tmp_path_factory.mktemp("client")))
    yield running
    running.close()


# Tables -------------------------------------------------------------------------------


def with_missing(rng, values, share=0.1):
    return [None if rng.random() < share else value for value in values]


def table(seed=1, rows=PEOPLE):
    """Columns of every kind, each with missing values and rare ones."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 90, rows).tolist()
    days = rng.poisson(2.0, rows).tolist()
    weight = rng.normal(70.0, 12.0, rows).round(1).tolist()
    jobs = rng.choice(
        ["nurse", "smith", "clerk", "pilot"], rows, p=[0.5, 0.3, 0.15, 0.05]
    )
    bands = rng.choice(["<5", "5-9", "10+"], rows, p=[0.6, 0.35, 0.05])
    income = [
        "refused" if rng.random() < 0.1 else str(value)
        for value in rng.integers(1, 900, rows)
    ]
    smoker = (rng.random(rows) < 0.3).tolist()
    start = datetime.date(2020, 1, 1)
    waves = [start + datetime.timedelta(days=int(n)) for n in rng.integers(0, 3, rows)]
    return pd.DataFrame(
        {
            "age": pd.array(with_missing(rng, ages), "Int64"),
            "days": pd.array(with_missing(rng, days), "Int64"),
            "weight": with_missing(rng, weight),
            "job": with_missing(rng, jobs.tolist()),
            "band": with_missing(rng, bands.tolist()),
            "income": with_missing(rng, income),
            "smoker": pd.array(with_missing(rng, smoker), "boolean"),
            "wave": with_missing(rng, waves, 0.0),
            "sex": rng.choice(["F", "M"], rows),
            "vote": rng.choice(
                ["left", "right", "green", "none", "unknown"],
                rows,
                p=[0.5, 0.3, 0.08, 0.08, 0.04],
            ),
        }
    )


OTHERS = pd.DataFrame(
    {
        "age": pd.array([17, 300, -1, None, 40, 18], "Int64"),
        "days": pd.array([0, 99, 3, None, 1, 50], "Int64"),
        "weight": [math.inf, -math.inf, 1e300, None, 70.05, 0.0],
        "job": ["astronaut", "(other)", "(missing)", None, "Nurse", "*"],
        "band": ["11+", "5-9", "", None, "10+", "5 - 9"],
        "income": ["refused", "don't know", "1e3", None, "007", "12.50"],
        "smoker": pd.array([True, False, None, None, True, False], "boolean"),
        "wave": [datetime.date(2031, 1, day) for day in range(1, 7)],
        "sex": ["F", "M", "F", "M", "F", "F"],
        "vote": ["unknown", "none", "Unknown", None, "left", "refused"],
    }
)
"""People whose values the table does not have."""


def raw_answer(value):
    """A value as a client gets it: text, a number, a boolean, or null."""
    if value is None or value is pd.NA or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    return str(value)


def people_of(frame):
    rows = frame.to_dict("records")
    return [{name: raw_answer(value) for name, value in row.items()} for row in rows]


# The four codes -----------------------------------------------------------------------


def codes_of_scan(scan):
    batches = [batch.codes for batch in scan.batches()]
    return [np.concatenate(column).tolist() for column in zip(*batches, strict=True)]


def coded(scan, names):
    """The codes of each person by attribute."""
    columns = codes_of_scan(scan)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def certificate_codes(frame, domain, markers):
    """The codes with which records certify, read as the design read them."""
    options = TableOptions(domain=domain, missing_markers=markers)
    return coded(open_scan(frame, options), domain.names)


def codes_of_perturb(frame, plan):
    """The codes that `Plan.perturb` draws reports of, read with no further option."""
    scan = open_records(frame, plan.domain, **plan.provenance.reading)
    return coded(scan, plan.domain.names)


def codes_of_python(plan, people):
    attributes = {one["name"]: one for one in plan.wire["attributes"]}
    return [
        {name: answer_code(attributes[name], row[name]) for name in plan.domain.names}
        for row in people
    ]


def codes_of_javascript(client, plan, people):
    sent = [
        {
            name: str(answer) if answer in (math.inf, -math.inf) else answer
            for name, answer in row.items()
        }
        for row in people
    ]
    rows = client.run(do="codes", plan=client_plan(plan), people=sent)
    return [{name: row[name] for name in plan.domain.names} for row in rows]


def check_codes(client, plan, frame, people, markers=()):
    """Compare the four, record by record; people without a code send nothing."""
    by_python = codes_of_python(plan, people)
    by_javascript = codes_of_javascript(client, plan, people)
    assert by_python == by_javascript
    can_answer = np.array([None not in row.values() for row in by_python])
    for row in np.flatnonzero(~can_answer).tolist():
        with pytest.raises(DomainError):
            codes_of_perturb(frame.iloc[[row]], plan)
    answering = frame[can_answer]
    expected = [row for row, can in zip(by_python, can_answer, strict=True) if can]
    for start in range(0, len(answering), PEOPLE):
        part = answering.iloc[start : start + PEOPLE]
        rows = expected[start : start + PEOPLE]
        assert codes_of_perturb(part, plan) == rows
        assert certificate_codes(part, plan.domain, markers) == rows
    return can_answer


def everything_asked(frame, markers=(), **options):
    """A plan that asks for every attribute, with the records that certify it."""
    records = Records.from_data(frame, missing_markers=markers, **options)
    plan = sp.calibrate(records, 4.0, guarantee="worst", mechanism="grr")
    return records, plan


CODINGS = {
    "as they are": {},
    "merged for the table": {"answers": "merged"},
    "merged for the population": {"answers": "merged", "scope": "population"},
    "as they are for the population": {"scope": "population"},
    "bins and pools": {"bins": {"age": [18, 40, 60, 90], "days": 3}, "pool": 20},
    "open bins": {"bins": {"age": [-math.inf, 40, math.inf], "weight": "width:4"}},
    "an order": {
        "answers": "merged",
        "order": {"band": ["<5", "5-9", "10+"]},
        "scope": "population",
    },
    "numbers as they are": {"bins": "none", "max_values": 900},
    "as they are, left open": {"scope": "population", "may_decline": True},
    "answers of a codebook": {
        "answers": "merged",
        "scope": "population",
        "merges": {
            "job": {
                "nurse": "nurse",
                "smith": "smith or clerk",
                "clerk": "smith or clerk",
                "pilot": "(missing)",
            },
            "band": {"<5": "<5", "5-9": "5 or more", "*": "5 or more"},
        },
    },
}
MARKERS = {
    "none": (),
    "text": {"income": ["refused"]},
    "numbers": {"age": ["40", "41"], "days": ["2"]},
}


@pytest.mark.parametrize("marked", MARKERS)
@pytest.mark.parametrize("coding", CODINGS)
def test_a_record_has_one_code(client, coding, marked):
    frame = table()
    markers = MARKERS[marked]
    records, plan = everything_asked(frame, markers, **CODINGS[coding])
    can_answer = check_codes(client, plan, frame, people_of(frame), markers)
    if records.origin.fixed is None:
        assert can_answer.all()
        codes = [
            [row[name] for name in plan.domain.names]
            for row in certificate_codes(frame, plan.domain, markers)
        ]
        assert Records(plan.domain, codes).weights.sum() == records.records
        assert (Records(plan.domain, codes).codes == records.codes).all()
    for index in range(len(OTHERS)):
        single = OTHERS.iloc[[index]]
        check_codes(client, plan, single, people_of(single), markers)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_record_of_a_text_file_has_one_code(client, tmp_path, coding):
    """A client gets the fields as they are typed; an empty one is no answer."""
    frame = table(seed=2)
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    _, plan = everything_asked(path, **CODINGS[coding])
    fields = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    people = people_of(fields)
    scan = open_records(path, plan.domain)
    expected = codes_of_python(plan, people)
    assert coded(scan, plan.domain.names) == expected
    assert codes_of_javascript(client, plan, people) == expected


@pytest.mark.parametrize("scope", ["table", "population"])
def test_a_designed_plan_codes_as_its_clients(client, scope):
    frame = table(seed=3, rows=2_000)
    plan = sp.design(frame, 2.0, scope=scope, shape="never", effort=0.02)
    columns = list(plan.domain.names)
    people = people_of(frame[columns])
    assert len(columns) > 5
    check_codes(client, plan, frame[columns], people)


TYPED = [
    *[
        "\u00a01",
        "x\x1c",
        "\u2003yes",
        "1e21",
        "9007199254740993",
        "9007199254740993.50",
    ],
    *["2020-01-02 03:04:05.60+0100", "2020-01-02 00:00:00", "03:04:05.000Z", "NaN "],
    *["", " ", "1", " 1.0", "1e0", "+1", "01", "TRUE", "True", "yes", "(missing)"],
    *["(other)", "*", "-0", ".5", "5.", "1e400", "-inf", "Infinity", "nan", "0x1"],
]
"""Texts that a client may get from an input field."""

typed = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False),
    st.sampled_from(TYPED),
    st.text(max_size=3),
)


@settings(max_examples=200)
@given(answers=st.lists(typed, min_size=1, max_size=20))
def test_the_clients_code_whatever_is_typed_alike(client, answers):
    plan = {"collection": "", **wires.client_file(wires.raw_wire())}
    attributes = plan["wire"]["attributes"]
    names = [one["name"] for one in attributes]
    people = [dict.fromkeys(names, answer) for answer in answers]
    sent = json.loads(
        json.dumps(people), parse_constant=lambda text: text.replace("inity", "")
    )
    found = client.run(do="codes", plan=plan, people=sent)
    for row, answer in zip(found, answers, strict=True):
        for one in attributes:
            assert row[one["name"]] == answer_code(one, answer), (one["name"], answer)


def test_a_record_that_was_dropped_certifies_nothing():
    with pytest.raises(InputError, match="certified on all records"):
        sp.design(table(), 2.0, missing="drop")


def test_a_value_called_other_is_no_catch_all(client):
    """The text (other) that means missing does not stand for values that were not
    seen.
    """
    frame = pd.DataFrame({"a": ["0", "1", "2", "(other)"] * 50, "b": ["x", "y"] * 100})
    markers = {"a": ["(other)"]}
    _, plan = everything_asked(frame, markers)
    others = pd.DataFrame({"a": ["7", "(other)", "1.0"], "b": ["x", "x", "y"]})
    can_answer = check_codes(client, plan, others, people_of(others), markers)
    assert can_answer.tolist() == [False, True, True]


@pytest.mark.parametrize("is_frame", [True, False])
def test_texts_of_frames_and_of_files_have_one_code(client, tmp_path, is_frame):
    """A plan of a frame codes the fields of a file as its clients do, and a plan of a
    file the texts of a frame.
    """
    frame = pd.DataFrame({"a": [" 1.0", "1", "yes"] * 50, "b": ["x", "y"] * 75})
    file = tmp_path / "people.csv"
    frame.to_csv(file, index=False)
    _, plan = everything_asked(frame if is_frame else file)
    assert plan.domain["a"].values == (
        (" 1.0", "1", "yes") if is_frame else ("1", "yes")
    )
    typed = pd.DataFrame({"a": ["1.0", " 1.0", "1e0", "\u00a0yes "], "b": ["x"] * 4})
    typed.to_csv(file, index=False)
    expected = codes_of_python(plan, people_of(typed))
    assert codes_of_javascript(client, plan, people_of(typed)) == expected
    assert codes_of_perturb(typed, plan) == expected
    assert codes_of_perturb(file, plan) == expected


@pytest.mark.parametrize("is_frame", [True, False])
def test_texts_for_a_number_in_intervals_have_one_code(client, tmp_path, is_frame):
    """An interval by its name, a number as text, and words are coded as clients do."""
    frame = pd.DataFrame({"age": np.arange(400) % 80, "b": ["x", "y"] * 200})
    options = {"bins": {"age": [0, 40, 80]}, "scope": "population", "may_decline": True}
    _, plan = everything_asked(frame, **options)
    asked = ["[40, 80]", "17", " 4e1 ", "zebra", plan.domain["age"].values[0]]
    typed = pd.DataFrame({"age": asked, "b": ["x"] * 5})
    expected = codes_of_python(plan, people_of(typed))
    assert [row["age"] for row in expected] == [1, 0, 1, 2, 0]
    assert codes_of_javascript(client, plan, people_of(typed)) == expected
    source = typed
    if not is_frame:
        source = tmp_path / "typed.csv"
        typed.to_csv(source, index=False)
    assert codes_of_perturb(source, plan) == expected
