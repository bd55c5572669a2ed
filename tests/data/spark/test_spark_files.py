"""DataFrames that are nothing but Parquet files, and those that only look so."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seepage as sp
from seepage.data.spark.shards import parquet_files_of

TABLE = pa.table(
    {
        "a": pa.array([1, 2, None], pa.int8()),
        "b": ["x", "y", None],
        "u": pa.array([1, 2, 3], pa.uint64()),
    }
)
PLAIN = ["a", "b"]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "a b%20\u00fc"
    place.mkdir()
    for name in ("1 %.parquet", "2.parquet"):
        pq.write_table(TABLE, place / name)
    return place


def test_a_plain_scan_is_its_files(spark, folder):
    frame = spark.read.parquet(str(folder))
    files = sorted(folder.iterdir())
    assert sorted(parquet_files_of(frame, PLAIN)) == files
    assert sorted(parquet_files_of(frame.select("b", "a"), ["b", "a"])) == files
    assert sorted(parquet_files_of(frame.alias("q").select("q.a"), ["a"])) == files
    assert sp.count_pairs(frame, columns=PLAIN) == sp.count_pairs(folder, columns=PLAIN)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda frame: frame.where("a > 1"), id="where"),
        pytest.param(
            lambda frame: frame.withColumnRenamed("a", "b2").withColumnRenamed("b", "a"),
            id="renamed",
        ),
        *(
            pytest.param(change, marks=pytest.mark.slow, id=name)
            for name, change in {
                "withColumn": lambda frame: frame.withColumn("a", frame.a + 1),
                "limit": lambda frame: frame.limit(2),
                "union": lambda frame: frame.union(frame),
                "distinct": lambda frame: frame.distinct(),
                "sample": lambda frame: frame.sample(fraction=0.5, seed=1),
            }.items()
        ),
    ],
)
def test_a_computed_frame_is_not_its_files(spark, folder, change):
    frame = change(spark.read.parquet(str(folder)))
    assert parquet_files_of(frame, ["a"]) == []
    assert sp.count_pairs(frame, columns=["a"]).records == frame.count()


def test_types_that_spark_reads_in_its_own_way_are_not(spark, folder):
    frame = spark.read.parquet(str(folder))
    assert parquet_files_of(frame, ["a", "u"]) == []
    wider = spark.read.schema("a int, b string").parquet(str(folder))
    assert parquet_files_of(wider, PLAIN) == []


def test_cached_partitioned_and_other_files_are_not(spark, folder, tmp_path):
    frame = spark.read.parquet(str(folder))
    cached = frame.select("a").cache()
    assert parquet_files_of(cached, ["a"]) == []
    cached.unpersist()
    pq.write_to_dataset(TABLE, tmp_path / "parts", partition_cols=["a"])
    parts = spark.read.parquet(str(tmp_path / "parts"))
    assert parquet_files_of(parts, ["b"]) == []
    assert sp.count_pairs(parts, columns=PLAIN) == sp.count_pairs(TABLE, columns=PLAIN)
    assert parquet_files_of(spark.range(3), ["id"]) == []
    pq.write_table(TABLE.drop_columns(["b"]), folder / "3.parquet")
    assert parquet_files_of(spark.read.parquet(str(folder)), ["a"]) == []
