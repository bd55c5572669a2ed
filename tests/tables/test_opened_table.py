"""A table is opened, sniffed and checked once, by each function and by all of them
together.
"""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seepage as sp
from seepage.tables import check
from seepage.tables.delimited import TextFile

RECORDS = 3_000


def _people():
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], RECORDS)
    return pd.DataFrame(
        {
            "id": np.arange(RECORDS),
            "sex": sex,
            "smoker": np.where(rng.random(RECORDS) < 0.3, sex, "m"),
            "age": rng.integers(18, 90, RECORDS),
        }
    )


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    _people().to_csv(path, index=False, sep=";")
    return str(path)


@pytest.fixture
def opens(monkeypatch):
    """Count how often text files are sniffed, opened and read, and tried as Parquet."""
    counts = Counter()

    def counted(owner, name, what):
        original = getattr(owner, name)

        def call(*args, **keywords):
            counts[what] += 1
            return original(*args, **keywords)

        monkeypatch.setattr(owner, name, call)

    counted(TextFile, "__init__", "sniffed")
    counted(TextFile, "_open", "opened")
    counted(TextFile, "_parse", "read")
    counted(pq, "read_schema", "tried as Parquet")
    counted(check, "profile_of", "judged")
    return counts


@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
@pytest.mark.parametrize(
    ("call", "passes"),
    [
        (sp.check, 1),
        (sp.count_pairs, 3),
        (lambda data: sp.analyse(data, 1.0, limit=2.0), 4),
        (lambda data: sp.calibrate(data, 2.0), 4),
        (lambda data: sp.design(data, 2.0, effort=0.02), 4),
        (lambda data: sp.total_leakage(data, 1.0, guarantee="exact"), 3),
    ],
    ids=["check", "count", "analyse", "calibrate", "design", "total"],
)
def test_a_text_file_is_sniffed_once_and_opened_once_for_each_pass(
    people, opens, call, passes
):
    call(people)
    assert opens["sniffed"] == 1
    assert opens["tried as Parquet"] == 0
    assert 1 <= opens["read"] <= passes
    assert opens["opened"] == 1 + opens["read"]


@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
def test_all_functions_pass_on_what_read_opened(people, opens):
    table = sp.read(people, drop=["id"])
    assert opens == {"sniffed": 1, "opened": 1}
    columns = sp.check(table)
    analysis = sp.analyse(table, 1.0, limit=2.0)
    plan = sp.design(table, 2.0, effort=0.02)
    sp.calibrate(table, 2.0)
    sp.count_pairs(table)
    reports = plan.perturb(table, rng=1)
    assert opens["sniffed"] == 1
    every_column = len(columns) + 1  # people are also sought in what is dropped
    assert opens["judged"] == len(columns) + every_column
    assert columns.used == ("sex", "smoker", "age")
    assert analysis.name == "people.csv"
    assert len(reports) == RECORDS


@pytest.mark.filterwarnings("ignore::seepage.DataWarning")
@pytest.mark.parametrize("form", ["frame", "path", "polars"])
def test_results_are_those_of_the_data_themselves(people, form):
    data = {"frame": _people(), "path": people, "polars": pl.from_pandas(_people())}
    table = sp.read(data[form])
    bins = {"age": [18, 40, 90]}
    assert sp.check(table).to_dict() == sp.check(data[form]).to_dict()
    here = sp.count_pairs(table, drop=["id"], bins=bins)
    there = sp.count_pairs(data[form], drop=["id"], bins=bins)
    assert here == there
    assert sp.analyse(table, 1.0).to_csv() == sp.analyse(data[form], 1.0).to_csv()


def test_options_of_read_hold_unless_a_function_overrides_them(people):
    table = sp.read(people, drop=["id"], bins="width:2")
    assert sp.count_pairs(table).domain.names == ("sex", "smoker", "age")
    assert sp.count_pairs(table).domain["age"].size == 2
    assert sp.count_pairs(table, bins="width:3").domain["age"].size == 3
    assert sp.count_pairs(table, columns=["id", "sex"], drop=[]).domain.names == (
        "id",
        "sex",
    )


def test_a_plan_knows_how_its_table_was_read(people):
    table = sp.read(people, columns=["sex", "age"], person="id", missing_markers=["m"])
    plan = sp.calibrate(table, 2.0, scope="table")
    assert plan.provenance.person == "id"
    assert plan.domain["sex"].values == ("f", "(missing)")


@pytest.mark.parametrize("option", [{"delimiter": ","}, {"encoding": "latin-1"}])
def test_the_format_of_an_open_table_cannot_change(people, option):
    table = sp.read(people)
    with pytest.raises(sp.InputError, match=f"^{next(iter(option))} has no effect"):
        sp.count_pairs(table, **option)


def test_the_delimiter_that_a_table_was_opened_with_may_be_repeated(people):
    table = sp.read(people, delimiter=";")
    assert sp.count_pairs(table, delimiter=";", drop=["id"]).records == RECORDS


def test_what_is_counted_is_not_read():
    domain = sp.Domain([sp.Attribute("a", ("0", "1"))])
    with pytest.raises(sp.InputError, match="are counted already"):
        sp.read(sp.PairCounts(domain, [[3, 4]], []))


def test_columns_of_a_dataset_are_used_as_they_are():
    table = sp.read("survey")
    assert sp.analyse(table, 1.0).to_csv() == sp.analyse("survey", 1.0).to_csv()


def test_a_lazy_frame_is_computed_once_for_all():
    computed = Counter()

    def counting(frame):
        computed["times"] += 1
        return frame

    lazy = pl.from_pandas(_people()).lazy().map_batches(counting)
    table = sp.read(lazy, drop=["id"])
    sp.check(table)
    sp.count_pairs(table)
    assert computed["times"] == 1


def test_the_repr_names_the_columns():
    wide = pa.table({f"c{k}": [1, 2] for k in range(8)})
    assert repr(sp.read(wide)) == "OpenTable(8 columns: c0, c1, c2, c3, c4 and 3 more)"
