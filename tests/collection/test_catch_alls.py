"""Records in the domain of a plan: rejected with row and column, or coded as a
catch-all value.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from plan_examples import DOMAIN, counts, people, plan_for
from seepage._core.errors import DomainError, InputError, TableError
from seepage.channel.domain import Attribute, Domain
from seepage.collection.client_files import client_plan
from seepage.collection.perturb_table import open_records
from seepage.collection.reference_client import answer_code
from seepage.datasets.catalogue import dataset
from seepage.tables.read import as_pairs
from seepage.tables.scan import open_scan
from seepage.tables.table_options import TableOptions

SECRET = "a secret value"


def catching(domain, other):
    """The domain with catch-all values of some attributes."""
    return Domain(
        Attribute(a.name, a.values, a.edges, (("*", other[a.name]),))
        if a.name in other
        else a
        for a in domain
    )


def codes_of(data, domain=DOMAIN, other=None, **table):
    scan = open_records(data, catching(domain, other or {}), **table)
    batches = [batch.codes for batch in scan.batches()]
    return [np.concatenate(column).tolist() for column in zip(*batches, strict=True)]


def person(**changes):
    return {"sex": "F", "job": "nurse", "age": 30, "ill": "no"} | changes


def frame(*rows):
    return pa.Table.from_pylist(list(rows))


def test_any_frame_and_order_of_columns():
    table = people(50)
    expected = codes_of(table)
    for same in (
        table.to_pandas(),
        pl.from_arrow(table),
        table.select(["ill", "age", "sex", "job"]),
        table.append_column("id", [[str(i) for i in range(50)]]),
    ):
        assert codes_of(same) == expected
    assert expected[2] == np.digitize(table["age"], [40, 60]).tolist()


def test_the_name_of_a_dataset_stands_for_its_records():
    records = dataset("survey")
    domain = as_pairs("survey").domain
    expected = codes_of(records.read(), domain)
    assert codes_of("survey", domain) == expected
    assert len(expected[0]) == as_pairs("survey").records
    with pytest.raises(InputError, match="survay"):
        codes_of("survay", domain)


def test_a_table_without_one_of_the_attributes_is_rejected():
    said = (
        r"the plan asks for 'ill', and the table has no such column; did you mean "
        r"'Ill'\?"
    )
    with pytest.raises(TableError, match=said):
        codes_of(people(5).rename_columns({"ill": "Ill"}))


OUTSIDE = {
    "word": {"job": SECRET},
    "number below": {"age": 17},
    "number above": {"age": 91},
    "missing word": {"job": None},
    "missing number": {"age": None},
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_a_value_outside_names_row_and_column_and_is_not_echoed(case):
    rows = [person()] * 7 + [person(**OUTSIDE[case])] + [person()]
    with pytest.raises(DomainError) as caught:
        codes_of(frame(*rows))
    name = next(iter(OUTSIDE[case]))
    assert f"record 8: column {name!r}" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_text_in_a_binned_column_of_a_text_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(f"sex,job,age,ill\nF,nurse,30,no\nM,smith,{SECRET},no\n")
    with pytest.raises(DomainError) as caught:
        codes_of(path)
    assert "record 2: column 'age'" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert codes_of(path, other={"age": "[60, 90]"})[2] == [0, 2]


@pytest.mark.parametrize("case", OUTSIDE)
def test_a_value_outside_the_domain_becomes_the_catch_all(case):
    caught = {"job": "other", "age": "[60, 90]"}
    found = codes_of(
        frame(person(), person(**OUTSIDE[case]), person(age=75)), other=caught
    )
    expected = codes_of(frame(person(), person(), person(age=75)))
    index = DOMAIN.index(next(iter(OUTSIDE[case])))
    expected[index][1] = DOMAIN[index].code(caught[DOMAIN[index].name])
    assert found == expected


def test_records_with_missing_values_can_be_dropped_beside_a_catch_all():
    rows = [
        person(age=12),
        person(job=None),
        person(job=SECRET),
        person(age=None),
        person(age=75),
    ]
    caught = {"job": "other", "age": "[60, 90]"}
    options = TableOptions(domain=catching(DOMAIN, caught), missing="drop")
    (batch,) = open_scan(frame(*rows), options).batches()
    assert batch.codes[1].tolist() == [1, 3, 1]
    assert batch.codes[2].tolist() == [2, 0, 2]


def test_a_catch_all_is_only_for_the_attributes_that_have_it():
    with pytest.raises(DomainError, match="record 1: column 'sex'"):
        codes_of(frame(person(sex="X", job="X")), other={"job": "other"})
    assert codes_of(frame(person(job="X")), other={"job": "other"})[1] == [3]


def test_catching_beside_more_bins_than_a_byte_can_name():
    edges = tuple(range(301))
    bins = (*(f"[{low}, {low + 1})" for low in edges[:-2]), "[299, 300]")
    domain = Domain([Attribute("x", bins, edges)])
    found = codes_of(
        pa.table({"x": [3.0, 299.5, -1.0, 256.0]}), domain, {"x": bins[258]}
    )
    assert found == [[3, 299, 258, 256]]


def test_only_options_of_reading_are_taken():
    for name, message in (
        ("bins", "^bins has no effect: the plan fixes it$"),
        ("colums", "^there is no option 'colums'; did you mean 'columns'[?]$"),
    ):
        with pytest.raises(InputError, match=message):
            codes_of(people(5), **{name: None})


NUMBERS = Domain(
    [
        Attribute("x", ("[0, 1)", "[1, 2.5)", "[2.5, 4]", "(missing)"), (0, 1, 2.5, 4)),
        Attribute("n", ("0", "1", "7", "1.5")),
    ]
)
cells = st.sampled_from([None, 0, 1, 7, -3, 2, 100, 1.5, 2.5, 4, float("nan")])


def bin_of(value):
    """The code of a value of x, the last bin for what has none."""
    if value is None or value != value:
        return 3
    return 2 if not 0 <= value < 2.5 else int(value >= 1)


def category_of(value):
    """The code of a value of n, that of 7 for what is not in the domain."""
    return {0: 0, 1: 1, 7: 2, 1.5: 3}.get(value, 2)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=30), st.booleans())
def test_catching_agrees_with_an_oracle(tmp_path_factory, rows, as_text):
    x, n = zip(*rows, strict=True)
    data = pa.table({"x": pa.array(x, pa.float64()), "n": pa.array(n, pa.float64())})
    if as_text:
        path = tmp_path_factory.mktemp("text") / "numbers.csv"
        words = [
            ["NaN" if v is None or v != v else str(v) for v in row] for row in rows
        ]
        path.write_text("\n".join(["x,n", *map(",".join, words)]))
        data = path
    found = codes_of(data, NUMBERS, {"x": "[2.5, 4]", "n": "7"})
    assert found == [list(map(bin_of, x)), list(map(category_of, n))]


@given(st.lists(st.sampled_from(["?", "-", "3", "100", "0.5", "word", ""]), min_size=1))
def test_texts_and_markers_in_a_binned_column(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("words") / "numbers.csv"
    path.write_text("\n".join(["x,n", *(f"{word},0" for word in words)]) + "\n")
    found = codes_of(path, NUMBERS, {"x": "[0, 1)"}, missing_markers=["?"])[0]
    expected = {"?": 3, "-": 0, "3": 2, "100": 0, "0.5": 0, "word": 0, "": 3}
    assert found == [expected[word] for word in words]


def test_a_whole_column_outside_the_domain_becomes_the_catch_all():
    found = codes_of(
        pd.DataFrame({"x": [9.0, -1.0], "n": ["a", "b"]}),
        NUMBERS,
        {"x": "[0, 1)", "n": "7"},
    )
    assert found == [[0, 0], [2, 2]]


def test_values_that_only_another_engine_spells_otherwise():
    domain = Domain(
        [Attribute("flag", ("false", "true")), Attribute("day", ("2020-01-02",))]
    )
    table = pa.table(
        {"flag": [True, False], "day": pa.array(["2020-01-02"] * 2).cast(pa.date32())}
    )
    assert codes_of(table, domain) == [[1, 0], [0, 0]]


def test_a_plan_perturbs_only_what_it_collects():
    plan = plan_for(counts(), [1.0, 0.0, 1.0, 0.0])
    found = plan.perturb(people(30).drop_columns(["job", "ill"]))
    assert found.column_names == ["sex", "age"]


def _survey_with_texts(path, text, rows=8_000):
    """A survey whose number is a text for a third of the people, more often for sex a
    than b.
    """
    rng = np.random.default_rng(0)
    sex = rng.choice(["a", "b"], rows)
    none = rng.random(rows) < np.where(sex == "a", 0.5, 0.2)
    number = np.where(none, text, rng.integers(0, 60, rows).astype(str))
    label = np.where(rng.random(rows) < 0.3, text, rng.choice(["x", "y"], rows))
    pd.DataFrame({"number": number, "label": label, "sex": sex}).to_csv(
        path, index=False
    )
    return none


@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("none", {}),
        ("none", {"scope": "table", "answers": "merged"}),
        ("99", {}),
        ("99", {"answers": "as-is", "bins": {"number": [0, 30, 100]}}),
    ],
)
def test_what_means_missing_is_collected_as_it_was_certified(tmp_path, text, options):
    path = tmp_path / "survey.csv"
    none = _survey_with_texts(path, text)
    marked = {"missing_markers": ["99"]} if text == "99" else {}
    named = {"columns": ["number", "label", "sex"]}
    if (
        text == "none"
    ):  # beside numbers it means missing without an option; of labels it is one
        marked = {"missing_markers": {"label": ["none"]}}
    plan = sp.design(
        path, 2.0, effort=0.02, shape="never", **marked, **named, **options
    )
    scan = open_records(path, plan.collected)
    codes = np.concatenate([batch.codes[0] for batch in scan.batches()])
    number = plan.collected["number"]
    assert number.protects_missing
    missing = number.size
    assert (codes[none] == missing).all()
    assert (codes[~none] != missing).all()
    for attribute in client_plan(plan)["wire"]["attributes"][:2]:
        assert answer_code(attribute, text) == len(attribute["values"])


@pytest.mark.parametrize("make", [sp.design, sp.calibrate])
def test_complete_records_certify_no_plan(tmp_path, make):
    """A form asks few attributes: who fills it in may have no answer to the others."""
    path = tmp_path / "survey.csv"
    _survey_with_texts(path, "")
    columns = ["number", "sex"]
    with pytest.raises(InputError) as caught:
        make(path, 2.0, missing="drop", columns=columns)
    assert str(caught.value).startswith("a plan is certified on all records, as its")
    assert "\n" not in str(caught.value)
    complete = sp.Records.from_data(path, missing="drop", columns=columns)
    with pytest.raises(InputError, match="certified on all records"):
        make(complete.select(["number"]), 2.0)
    plan = sp.calibrate(path, 2.0, columns=columns, guarantee="worst")
    with pytest.raises(InputError, match="certified on all records"):
        plan.check(path, missing="drop")
    with pytest.raises(InputError, match="missing has no effect: the plan fixes it"):
        plan.perturb(path, missing="drop")
