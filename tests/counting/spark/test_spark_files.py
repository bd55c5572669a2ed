"""DataFrames that read Parquet files: the counts are those of the DataFrame, never of
its files.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seepage as sp

TABLE = pa.table(
    {
        "a": pa.array([1, 2, None], pa.int8()),
        "b": ["x", "y", None],
        "u": pa.array([1, 2, 3], pa.uint64()),
    }
)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "a b%20\u00fc"
    place.mkdir()
    for name in ("1 %.parquet", "2.parquet"):
        pq.write_table(TABLE, place / name)
    return place


def test_a_plain_read_of_files_has_their_counts(spark, folder):
    frame = spark.read.parquet(str(folder))
    assert sp.count_pairs(frame) == sp.count_pairs(folder)
    assert sp.count_pairs(frame.select("b", "a")) == sp.count_pairs(
        folder, columns=["b", "a"]
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda frame: frame.where("a > 1"), id="where"),
        pytest.param(
            lambda frame: frame.withColumnRenamed("a", "b2").withColumnRenamed(
                "b", "a"
            ),
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
    expected = sp.count_pairs(pa.table(frame.select("a").toArrow()))
    assert sp.count_pairs(frame, columns=["a"]) == expected


def test_columns_in_the_names_of_folders(spark, tmp_path):
    pq.write_to_dataset(TABLE, tmp_path / "parts", partition_cols=["a"])
    parts = spark.read.parquet(str(tmp_path / "parts"))
    assert sp.count_pairs(parts, columns=["a", "b"]) == sp.count_pairs(
        TABLE, columns=["a", "b"]
    )
