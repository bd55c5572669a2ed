"""One record per person: the first that is not dropped, whichever way the table is
read.
"""

import itertools

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from command import run
from seepage._core.errors import InputError, TableError
from seepage.tables.record_choice import RecordChoice


def visits(rows=3000, seed=4):
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "id": draw.integers(0, 900, rows),
            "ward": pa.array(
                draw.choice(["a", "b", "c"], rows), mask=draw.random(rows) < 0.1
            ),
            "age": draw.integers(0, 99, rows),
            "sex": draw.choice(["F", "M"], rows),
        }
    )


def first_of_each(table, missing="category"):
    frame = table.to_pandas()
    if missing == "drop":
        frame = frame.dropna()
    return frame.drop_duplicates("id", keep="first").drop(columns="id")


@pytest.mark.parametrize("missing", ["category", "drop"])
@pytest.mark.parametrize("kind", ["integers", "text"])
def test_every_way_to_read_keeps_the_first_record(tmp_path, missing, kind):
    table = visits()
    if kind == "text":
        table = table.set_column(0, "id", table["id"].cast(pa.string()))
    domain = sp.count_pairs(table, drop=["id"], missing=missing).domain
    expected = sp.count_pairs(
        first_of_each(table, missing), domain=domain, missing=missing
    )
    assert 0 < expected.records < 901
    pa.csv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "parts").mkdir()
    for number in range(4):
        part = table.slice(number * 750, 750)
        pa.parquet.write_table(
            part, tmp_path / "parts" / f"{number}.parquet", row_group_size=200
        )
    for data in (table, table.to_pandas(), pl.from_arrow(table), tmp_path / "parts"):
        assert sp.count_pairs(data, person="id", missing=missing) == expected
    assert sp.count_pairs(tmp_path / "t.csv", person="id", missing=missing) == expected
    records = sp.Records.from_data(table, person="id", missing=missing)
    assert records.pairs() == expected
    assert (
        sp.count_pairs(table, person="id", domain=domain, missing=missing) == expected
    )
    again = sp.count_pairs(table, person="id", drop=["id"], missing=missing)
    assert again == expected, "the person may be dropped too, it is no attribute"


def test_a_person_per_record_changes_nothing():
    table = visits().set_column(0, "id", pa.array(np.arange(3000)))
    assert sp.count_pairs(table, person="id") == sp.count_pairs(table, drop=["id"])


def test_samples_are_drawn_from_the_people():
    table = visits()
    people = sp.count_pairs(table, person="id").records
    sample = sp.Records.from_data(table, person="id", sample=100, rng=3)
    assert (sample.records, sample.population) == (100, people)
    everybody = sp.Records.from_data(table, person="id", sample=10_000)
    assert everybody == sp.Records.from_data(table, person="id")


def test_a_second_pass_forgets_the_people_of_the_first(monkeypatch):
    """A column that needs bins only after the first batch makes the scan begin
    again.
    """
    monkeypatch.setattr("seepage.tables.sources.BATCH_ROWS", 50)
    numbers = np.concatenate([np.zeros(60), np.arange(300)])
    table = pa.table({"id": np.arange(360) // 2, "x": numbers, "y": ["u", "v"] * 180})
    found = sp.count_pairs(table, person="id")
    assert found.records == 180
    assert found.marginal("y").tolist() == [180, 0]


@given(
    st.lists(st.tuples(st.integers(-3, 6), st.booleans()), max_size=60),
    st.lists(st.integers(0, 60), max_size=4),
)
def test_batches_do_not_matter(drawn, cuts):
    people = np.array([person for person, _ in drawn], dtype=np.int64)
    kept = np.array([there for _, there in drawn], dtype=bool)
    truth = []
    met = set()
    for number, (person, there) in enumerate(drawn):
        if there and person not in met:
            met.add(person)
            truth.append(number)
    ends = sorted({0, len(drawn), *(cut for cut in cuts if cut <= len(drawn))})
    whole = RecordChoice("id")
    masks = []
    for begin, end in itertools.pairwise(ends):
        batch = pa.RecordBatch.from_pydict({"id": people[begin:end]})
        mask = whole.kept_records(batch, begin, kept[begin:end])
        masks.append(np.ones(end - begin, dtype=bool) if mask is None else mask)
    assert np.flatnonzero(np.concatenate([*masks, []])).tolist() == truth


def batch_of(array):
    return pa.RecordBatch.from_arrays([array], ["id"])


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", "b", "a"]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([1, 2, 1], pa.int8()),
        pa.array([2**64 - 1, 1, 2**64 - 1], pa.uint64()),
        pa.array([1.5, 2, 1.5]),
        pa.array([True, False, True]),
        pa.array([0, 86400, 0], pa.timestamp("s")),
    ],
)
def test_keys_of_different_people_differ(array):
    first, second, third = RecordChoice("id").keys(batch_of(array), 0).tolist()
    assert first == third != second


@pytest.mark.parametrize(
    ("array", "fields"),
    [
        (pa.array([1, 2, None]), False),
        (pa.array(["a", "b", None]), False),
        (pa.array(["a", "b", " "]), True),
        (pa.array([1.0, 2.0, float("nan")]), False),
        (pa.array([None, None, None], pa.string()), False),
    ],
)
def test_no_records_raise(array, fields):
    number = 3 if array.null_count < 3 else 1
    with pytest.raises(
        TableError, match=f"record {number + 10}: column 'id' is missing"
    ):
        RecordChoice("id", fields=fields).keys(batch_of(array), 10)


@pytest.mark.parametrize("read", [sp.count_pairs, sp.Records.from_data])
def test_spark_does_not_look_for_first_records(read):
    with pytest.raises(
        TableError, match=r"one for each person \(dropDuplicates\), without 'id'"
    ):
        read("visits.parquet", engine="spark", person="id")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"person": "nobody"}, TableError, "person: there is no column 'nobody'"),
        (
            {"person": "id", "columns": ["id", "sex"]},
            TableError,
            "must not name the person",
        ),
        ({"person": 3}, InputError, "person must be"),
    ],
)
def test_a_missing_person_raises(options, error, message):
    with pytest.raises(error, match=message):
        sp.count_pairs(visits(), **options)


def test_person_is_no_option_of_pair_counts():
    with pytest.raises(InputError, match="person has no effect"):
        sp.count_pairs(sp.count_pairs(visits(), drop=["id"]), person="id")


def test_the_command_keeps_one_record_per_person(tmp_path):
    pa.csv.write_csv(visits(), tmp_path / "t.csv")
    people = sp.count_pairs(visits(), person="id").records
    done = run("analyse", "t.csv", "--person", "id", cwd=tmp_path)
    assert f"t.csv: {people} records, 3 attributes" in done.stdout
