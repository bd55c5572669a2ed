"""Spark on columns that are hard to read: often missing, huge, alike by name, wrong, or
many.
"""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_frames import computed

import seepage as sp
from seepage._core.errors import DomainError, SeepageError, TableError
from seepage.channel.records import Records
from seepage.counting.record_samples import record_priorities
from seepage.counting.spark import shards as spark_module
from seepage.counting.spark.session import spark_session
from seepage.counting.spark.shards import Input, open_input, run


def problem(data, **options):
    """The message and the kind of a problem."""
    with pytest.raises(SeepageError) as problem:
        sp.count_pairs(data, **options)
    return type(problem.value), str(problem.value)


def in_both(spark, folder, table, **options):
    """The counts of a table as files and as a DataFrame."""
    pq.write_table(table, folder / "t.parquet", row_group_size=-(-len(table) // 3))
    frame = computed(spark, str(folder / "t.parquet"))
    return [
        sp.count_pairs(folder / "t.parquet", engine="spark", **options),
        sp.count_pairs(frame.repartition(2), **options),
    ]


@pytest.mark.slow
def test_edges_where_numbers_are_missing(spark, tmp_path):
    rows = 600_000
    draw = np.random.default_rng(3)
    ranks = record_priorities(0, rows)
    numbers = draw.normal(size=rows)
    last = np.argsort(ranks)[-70:]
    rare = np.full(rows, np.nan)
    rare[last] = draw.normal(size=70)
    table = pa.table(
        {
            "often": pa.array(numbers, mask=draw.random(rows) < 0.5),
            "rare": pa.array(rare, from_pandas=True),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100_000)
    for missing in ("category", "drop"):
        expected = sp.count_pairs(tmp_path / "t.parquet", missing=missing)
        assert (
            sp.count_pairs(tmp_path / "t.parquet", engine="spark", missing=missing)
            == expected
        )


@pytest.mark.slow
def test_integers_beyond_double_precision(spark, tmp_path):
    table = pa.table(
        {
            "wide": np.int64(2**60) + np.arange(100),
            "constant": np.full(100, 2**53 - 1),
            "equal": np.full(100, 2**53 - 1),
            "none": pa.array([None] * 100, pa.float64()),
            "y": np.arange(100) % 2,
        }
    )
    bins = {"constant": 4, "equal": "width:3", "none": 4}
    for options in ({"bins": bins}, {"bins": {"constant": "width:3", "*": 2}}):
        expected = sp.count_pairs(table, **options)
        assert in_both(spark, tmp_path, table, **options) == [expected] * 2
    with pytest.raises(TableError, match="column 'wide' must be a number"):
        in_both(spark, tmp_path, table, bins={"wide": 4})


@pytest.mark.slow
def test_values_that_only_dropped_records_have(spark, tmp_path):
    words = np.array(["x", "y"] * 100, dtype=object)
    gone = np.zeros(200, dtype=bool)
    words[7], gone[7] = "rare", True
    table = pa.table(
        {"w": words, "m": pa.array(np.ones(200), mask=gone), "n": np.arange(200)}
    )
    expected = sp.count_pairs(table, missing="drop")
    assert expected.domain["w"].values == ("x", "y")
    assert expected.domain["n"].edges
    assert in_both(spark, tmp_path, table, missing="drop") == [expected] * 2
    few = {"missing": "drop", "bins": 3}
    assert in_both(spark, tmp_path, table, **few) == [sp.count_pairs(table, **few)] * 2
    inside = {"missing": "drop", "domain": expected.domain}
    assert in_both(spark, tmp_path, table, **inside) == [expected] * 2
    records = Records.from_data(table, missing="drop")
    frame = computed(spark, str(tmp_path / "t.parquet"))
    assert Records.from_data(frame, missing="drop") == records
    edges = {"missing": "drop", "bins": {"n": [0, 100, 200]}}
    apart = table.set_column(2, "n", pa.array(np.where(gone, -5, np.arange(200))))
    assert (
        in_both(spark, tmp_path, apart, **edges) == [sp.count_pairs(apart, **edges)] * 2
    )
    far = apart.set_column(2, "n", pa.array(np.arange(200) - 150))
    assert problem(
        computed(spark, str(tmp_path / "t.parquet")), **edges | {"bins": {"n": [0, 9]}}
    )
    pq.write_table(far, tmp_path / "far.parquet", row_group_size=40)
    assert problem(tmp_path / "far.parquet", engine="spark", **edges) == problem(
        far, **edges
    )


@pytest.mark.slow
def test_columns_without_any_value(spark, tmp_path):
    nothing = {name: pa.nulls(30, pa.int8()) for name in ("a", "few", "given")}
    table = pa.table({**nothing, "b": np.arange(30) % 2})
    frame = spark.range(30).selectExpr(
        *(f"null as {name}" for name in nothing), "id % 2 as b"
    )
    assert dict(frame.dtypes)["a"] == "void"
    for options in ({}, {"bins": {"few": 3, "given": [0, 1, 2]}}):
        expected = sp.count_pairs(table, **options)
        assert sp.count_pairs(frame, **options) == expected
        assert in_both(spark, tmp_path, table, **options) == [expected] * 2


def test_names_that_differ_in_case_only(spark, tmp_path):
    table = pa.table(
        {"A": [1, 2, 2], "a": [True, None, False], "a.b`": ["x", "y", "x"]}
    )
    pq.write_table(table.rename_columns(["p", "q", "r"]), tmp_path / "t.parquet")
    frame = computed(spark, str(tmp_path / "t.parquet")).toDF(*table.column_names)
    assert sp.count_pairs(frame) == sp.count_pairs(table)
    assert Records.from_data(frame, columns=["a", "A"]) == Records.from_data(
        table, columns=["a", "A"]
    )
    twice = frame.toDF("a", "a", "b")
    with pytest.raises(TableError, match="the table has the column 'a' twice"):
        sp.count_pairs(twice)


def test_many_columns(spark, tmp_path):
    draw = np.random.default_rng(6)
    table = pa.table(
        {
            f"{kind}{i}": pa.array(values, mask=draw.random(500) < 0.1 * (i % 3))
            for i in range(35)
            for kind, values in (
                ("t", draw.random(500) < 0.5),
                ("n", draw.integers(-126, 127, 500).astype(np.int8) // 60),
            )
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    frame = computed(spark, str(tmp_path / "t.parquet")).repartition(2)
    assert sp.count_pairs(frame) == sp.count_pairs(table)


@pytest.mark.parametrize("count", [sp.count_pairs, Records.from_data])
def test_only_frames_of_spark_are_tables(spark, count):
    frame = spark.range(4)
    for other in (spark, frame.groupBy("id"), frame["id"], frame.schema):
        with pytest.raises(TableError, match=rf"got {type(other).__name__}$"):
            count(other)


def test_errors_in_a_frame_name_the_partition(spark):
    frame = spark.range(0, 90, 1, 3).selectExpr("id", "id div 70 as b")
    rows = np.arange(70)
    domain = sp.count_pairs(pa.table({"id": rows, "b": rows // 70}), bins="none").domain
    with pytest.raises(DomainError) as problem:
        sp.count_pairs(frame, domain=domain)
    assert (
        str(problem.value)
        == "a record of partition 2: column 'id' has a value outside the domain"
    )


@pytest.mark.parametrize(
    "bins",
    [
        {"x": [0, 10, 20]},
        pytest.param([0, 10, 20], marks=pytest.mark.slow),
        pytest.param({"*": [0, 10, 20]}, marks=pytest.mark.slow),
    ],
)
def test_numbers_outside_bins_raise_as_with_the_local_engine(spark, tmp_path, bins):
    table = pa.table({"x": np.arange(300) % 60 / 2, "y": np.arange(300) % 3})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=30)
    expected = problem(table, bins=bins)
    assert (
        "record 42: column 'x' is outside its bins, which reach from 0 to 20"
        in expected[1]
    )
    assert problem(tmp_path / "t.parquet", engine="spark", bins=bins) == expected
    frame = computed(spark, str(tmp_path / "t.parquet"))
    kind, message = problem(frame, bins=bins)
    assert (kind, message.partition(": ")[2]) == (
        expected[0],
        expected[1].partition(": ")[2],
    )


@pytest.mark.slow
def test_no_record_left_raises_as_with_the_local_engine(spark, tmp_path):
    rows = 500
    nothing = pa.array([None] * rows, pa.int32())
    domain = sp.count_pairs(pa.table({"a": [1, 2], "b": [1, 2]})).domain
    for other in (np.arange(rows) % 2 + 1, np.arange(rows)):
        table = pa.table({"a": nothing, "b": pa.array(other, pa.int32())})
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
        frame = computed(spark, str(tmp_path / "t.parquet"))
        for given in (None, domain)[: 2 if other.max() == 2 else 1]:
            options = {"missing": "drop", "domain": given}
            expected = problem(table, **options)
            assert expected[1] == "no record is left: all 500 have a missing value"
            assert (
                problem(tmp_path / "t.parquet", engine="spark", **options) == expected
            )
            assert problem(frame, **options) == expected
            with pytest.raises(
                TableError, match=r"^no record is left: all 500 have a missing"
            ):
                Records.from_data(frame, **options)
    with pytest.raises(TableError, match=r"^the table has no records$"):
        sp.count_pairs(frame.where("b < 0"), domain=domain)


@pytest.fixture
def in_groups(spark, monkeypatch):
    """The results of two or more shards are merged in groups first."""
    monkeypatch.setattr(spark_module, "TREE_FROM", 2)
    before = spark.conf.get(spark_module.SHUFFLE_PARTITIONS)
    spark.conf.set(spark_module.SHUFFLE_PARTITIONS, "2")
    yield
    spark.conf.set(spark_module.SHUFFLE_PARTITIONS, before)


@pytest.mark.usefixtures("in_groups")
@pytest.mark.parametrize(
    "missing", ["category", pytest.param("drop", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(400, id="bins", marks=pytest.mark.slow),
        pytest.param(40, id="categories"),
    ],
)
def test_groups_of_shards_give_what_all_give(
    spark, tmp_path, monkeypatch, numbers, missing
):
    counted = Input.groups.fget
    groups = []
    noted = property(lambda table: groups.append(counted(table)) or groups[-1])
    monkeypatch.setattr(Input, "groups", noted)
    monkeypatch.setattr("seepage.counting.spark.shards.TASKS_PER_CORE", 10)
    draw = np.random.default_rng(8)
    table = pa.table(
        {
            "late": np.arange(4000) // 500,
            "n": pa.array(
                draw.integers(0, numbers, 4000), mask=draw.random(4000) < 0.1
            ),
            "word": [f"word {number}" for number in np.arange(4000) // 300],
            "truth": draw.random(4000) < 0.3,
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=600)
    frame = spark.read.parquet(str(tmp_path / "t.parquet")).repartition(5)
    options = {"missing": missing}
    assert sp.count_pairs(frame, **options) == sp.count_pairs(table, **options)
    assert set(groups) == {2}, "as many as a shuffle's"
    groups.clear()
    found = Records.from_data(tmp_path / "t.parquet", engine="spark", **options)
    assert found == Records.from_data(table, **options)
    assert set(groups) == {3}, "7 shards of the files"


@pytest.mark.usefixtures("in_groups")
def test_merging_in_groups_raises_the_same_error(spark, tmp_path):
    table = pa.table({"w": [f"word {number}" for number in range(600)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=40)
    expected = problem(table, max_values=50)
    assert problem(tmp_path / "t.parquet", engine="spark", max_values=50) == expected
    assert (
        problem(computed(spark, str(tmp_path / "t.parquet")), max_values=50) == expected
    )


def test_a_session_of_another_thread_is_used_and_stays(spark, tmp_path):
    pq.write_table(pa.table({"a": [1, 2, 2]}), tmp_path / "t.parquet")
    found = []

    def work():
        found.append(sp.count_pairs(tmp_path / "t.parquet", engine="spark"))
        found.append(spark_session().sparkContext.applicationId)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [
        sp.count_pairs(tmp_path / "t.parquet"),
        spark.sparkContext.applicationId,
    ]
    assert spark.range(3).count() == 3


def test_an_error_on_executors_is_not_blamed_on_the_table(spark):
    table = open_input(spark.range(0, 3, 1, 1))
    with pytest.raises(TableError, match=r"^Spark failed: KeyError: 'x'$"):
        run(table, table.names, lambda source, first: {}["x"])


def test_progress_is_not_called(spark):
    called = []
    sp.count_pairs(spark.range(5), progress=lambda *rows: called.append(rows))
    assert called == []
    assert "not called by Spark" in " ".join(sp.TableKeywords.__doc__.split())
