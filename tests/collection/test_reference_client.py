"""Bytes become reports with exactly the probabilities of the wire form."""

import os
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import seepage as sp
import wires
from seepage._core.errors import DomainError, InputError
from seepage.channel.domain import Domain
from seepage.collection.client_files import client_vectors
from seepage.collection.perturb_table import open_records
from seepage.collection.reference_client import (
    answer_code,
    draw_form,
    draw_report,
    form_bytes,
    perturb_record,
)
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.hashing import OLH
from seepage.mechanisms.histogram import SHE
from seepage.pages.plan_page import plan_page
from seepage.pages.questionnaire import questionnaire_page
from seepage.plan.wire import attribute_wire, mechanism_wire


@pytest.mark.parametrize("name", wires.MECHANISMS)
@pytest.mark.parametrize("skew", [1.0, 0.9])
def test_draws_follow_the_probabilities(name, skew):
    """A chi-square test accepts the exact chances, and rejects ones that are skewed."""
    channel = mechanism_wire(wires.MECHANISMS[name])
    chances = wires.exact_chances(channel, 1)
    rng = np.random.default_rng(5)
    draws = 20_000
    count = form_bytes(wires.one_question_wire(wires.MECHANISMS[name]), 1) // 8
    seen = Counter()
    for words in rng.integers(0, CERTAIN, (draws, count), dtype=np.uint64).tolist():
        report = draw_report(channel, 1, iter(words))
        seen[report if isinstance(report, int) else tuple(report)] += 1
    expected = np.array([float(chance) for chance in chances.values()])
    if skew != 1.0:
        expected[::2] *= skew
        expected /= expected.sum()
    assert not set(seen) - set(chances)
    found = chisquare([seen[report] for report in chances], draws * expected).pvalue
    assert found > 1e-3 if skew == 1.0 else found < 1e-3


def test_words_at_the_thresholds_give_the_specified_output():
    """The words next to each threshold, where an error by one would show."""
    channel = mechanism_wire(GRR(5, 1.3))
    keep = int(channel["keep"])
    ends = np.cumsum([keep, *wires.evenly(CERTAIN - keep, 5)], dtype=object).tolist()
    for value in range(5):
        assert draw_report(channel, 2, iter([ends[value]])) == value
        assert draw_report(channel, 2, iter([ends[value + 1] - 1])) == value
    assert draw_report(channel, 2, iter([keep - 1])) == 2
    matrix = mechanism_wire(wires.MECHANISMS["matrix"])
    first = int(matrix["thresholds"][1][0])
    assert [draw_report(matrix, 1, iter([word])) for word in (0, first - 1, first)] == [
        0,
        0,
        1,
    ]
    assert draw_report(matrix, 1, iter([CERTAIN - 1])) == 2


def test_forms_are_drawn_by_their_shares():
    wire = wires.three_forms_wire()
    ends = [0, *(int(form["until"]) for form in wire["forms"])]
    assert ends[-1] == CERTAIN
    for number, (low, high) in enumerate(pairwise(ends), 1):
        for word in (low, high - 1):
            assert draw_form(wire, word.to_bytes(8, "little")) == number


def test_a_form_of_one_report_takes_its_cell():
    """The cell is mixed radix, the last attribute fastest; the channel is that cell's
    row.
    """
    wire = wires.three_forms_wire()
    form = wire["forms"][2]
    record = {"a": "a3", "b": "not asked", "c": "c2"}
    words = np.random.default_rng(3).integers(0, CERTAIN, 50, dtype=np.uint64).tolist()
    for word in words:
        found = perturb_record(wire, 3, record, word.to_bytes(8, "little"))
        ends = np.cumsum(
            [int(cell) for cell in form["thresholds"][2 * 5 + 3]], dtype=object
        )
        assert found == {"form": 3, "report": int((ends <= word).sum())}


def test_questions_take_their_words_in_order():
    wire = wires.three_forms_wire()
    first = wire["forms"][0]["questions"]
    data = os.urandom(form_bytes(wire, 1))
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
    found = perturb_record(wire, 1, {"a": "a4", "b": "b0"}, data)
    size = first[0]["size"]
    assert len(words) == 1 + size + 1
    assert found["reports"] == {
        "b": draw_report(first[0], 0, iter(words)),
        "a": draw_report(first[1], 4, iter(words[1 + size :])),
    }


def test_a_question_left_open_takes_the_first_words():
    """In the order of the form: one for each question that may be left open."""
    wire = wires.open_forms_wire()
    thresholds = wire["forms"][2]["thresholds"]
    for seed in range(200):
        data = np.random.default_rng(seed).bytes(24)
        words = np.frombuffer(data, dtype="<u8").astype(object)
        percents = [int(word) * 100 >> 64 for word in words[:2]]
        c = sum(end <= percents[0] for end in (50, 75))
        a = sum(end <= percents[1] for end in (20, 20, 99, 99))
        for record, cell in (
            ({"a": None, "c": "(missing)"}, 5 * c + a),
            ({"a": "a3", "c": None}, 5 * c + 3),
            ({"a": "a3", "c": "c1"}, 5 + 3),
        ):
            found = perturb_record(wire, 3, record, data)
            ends = np.cumsum([int(part) for part in thresholds[cell]], dtype=object)
            assert found == {"form": 3, "report": int((ends <= words[2]).sum())}


@pytest.mark.parametrize(
    ("form", "record", "length", "message"),
    [
        (2, {"c": "c9"}, 24, "the answer to 'c' must be one of its 3 values"),
        (2, {}, 24, "the answer to 'c' must be one of its 3 values"),
        (2, {"c": 1}, 24, "the answer to 'c' must be one of its 3 values"),
        (2, {"c": "c1"}, 23, "data must be 24 bytes, got 23"),
        (4, {"c": "c1"}, 24, "form must be an integer from 1 to 3, got 4"),
    ],
)
def test_an_invalid_answer_raises(form, record, length, message):
    with pytest.raises(InputError, match=message):
        perturb_record(wires.three_forms_wire(), form, record, bytes(length))


@pytest.mark.parametrize("made", [OLH(8, 1.0), SHE(4, 1.0)])
def test_mechanisms_that_clients_cannot_draw_say_so(made):
    wire = wires.one_question_wire(made)
    with pytest.raises(
        InputError, match=f"clients cannot draw reports of mechanism '{made.name}'"
    ):
        perturb_record(wire, 1, {"x": "x0"}, bytes(8))


RAW_VALUES = {
    "days": [0.0, 0.5, 1.0, 5.0, 6.0, -40.0, 1e9, float("inf"), None],
    "size": [0.0, 0.99, 1.0, 2.5, 4.0, -1.0, 4.1, None],
    "dose": [0.0, 1.0, 2.0, 3.0, None],
    "job": ["nurse", "pilot", "(other)", "17", None],
    "rank": ["low", "mid", "top", "mid to top", None],
    "sex": ["F", "M", "X", None],
    "mood": ["bad", "good", "fair", "(missing)", None],
    "town": ["ulm", "bern", "rome", "(other)", "(missing)", None],
    "hours": [-1.0, 4.5, 5.0, 1e9, None],
}


@pytest.mark.parametrize("attribute", wires.RAW, ids=lambda one: one.name)
def test_raw_values_have_the_code_of_a_table(attribute):
    """As `Plan.perturb` codes them; what has no code there raises, and has none
    here.
    """
    for value in RAW_VALUES[attribute.name]:
        kind = pa.float64() if attribute.edges else pa.string()
        table = pa.table({attribute.name: pa.array([value], kind)})
        try:
            scan = open_records(table, Domain([attribute]))
            (expected,) = next(iter(scan.batches())).codes[0].tolist()
        except DomainError:
            expected = None
        assert answer_code(attribute_wire(attribute), value) == expected
        if isinstance(value, float):
            assert answer_code(attribute_wire(attribute), repr(value)) == expected


def test_vectors_have_raw_values():
    wire = wires.raw_wire()
    seen = {name: set() for name in RAW_VALUES}
    for one in client_vectors(wire, 300)["records"]:
        for name, answer in one["answers"].items():
            seen[name].add(answer)
    assert {"never seen", "-1e308", None, "6.0"} < seen["days"]
    assert {"mid", "never seen"} < seen["rank"]
    assert seen["sex"] == {"F", "M"}
    assert {"bad", "good", "(missing)", None, "never seen"} < seen["mood"]


def test_people_with_values_that_no_record_had_can_report():
    table = pa.table(
        {"job": ["nurse"] * 1500 + ["smith"] * 1500, "age": [17, 40, 40, 66, 90] * 600}
    )
    plan = sp.design(table, 2.0, effort=0.02)
    record = {"job": "pilot", "age": 131}
    report = perturb_record(plan.wire, 1, record, bytes(form_bytes(plan.wire, 1)))
    assert report["form"] == 1


def test_the_pages_of_a_plan_say_what_counts_as_an_answer():
    draw = np.random.default_rng(0)
    table = pa.table(
        {
            "ill": draw.choice(["no", "no", "yes"], 3000),
            "rank": draw.choice(["low", "low", "low", "mid", "mid", "top"], 3000),
        }
    )
    plan = sp.design(
        table, 2.0, effort=0.02, order={"rank": ["low", "mid", "high", "top"]}
    )
    page = plan_page(plan)
    assert "prefer not to say: no answer, anything else" in page
    assert "high to top: high, top; prefer not to say" in page
    assert '"entered":[]' in questionnaire_page(plan).replace(" ", "")
    calibrated = sp.calibrate(table, 2.0)
    survey = questionnaire_page(calibrated)
    assert '"entered":[{"attribute":"ill","value":"no"}' in survey.replace(" ", "")
