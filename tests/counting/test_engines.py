"""Identical integers from every engine, on every kind of table, made up and real."""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import seepage as sp
from kernels import counted_by
from seepage.datasets.catalogue import dataset

ROWS = 1200


def numbers():
    """Whole numbers of every width and sign, some with missing values, none to be
    binned.
    """
    draw = np.random.default_rng(1)
    return pa.table(
        {
            "byte": pa.array(
                draw.integers(-3, 3, ROWS), pa.int8(), mask=draw.random(ROWS) < 0.1
            ),
            "short": pa.array(draw.choice([-32768, 0, 32767], ROWS), pa.int16()),
            "int": pa.array(draw.choice([-70_000, 5, 70_000], ROWS), pa.int32()),
            "long": pa.array(draw.choice([-(2**40), 7, 2**40], ROWS), pa.int64()),
            "half": pa.array(draw.choice([0.5, 1.0, 2.5], ROWS), pa.float64()),
        }
    )


def bins():
    """Numbers with many values."""
    draw = np.random.default_rng(2)
    return pa.table(
        {
            "age": pa.array(draw.integers(0, 99, ROWS), pa.int32()),
            "score": pa.array(draw.normal(size=ROWS), mask=draw.random(ROWS) < 0.2),
            "sex": draw.choice(["F", "M"], ROWS),
        }
    )


def words():
    """Text with blanks, accents and capitals; truth values; missing ones; a lone
    value.
    """
    draw = np.random.default_rng(3)
    lone = np.full(ROWS, "many")
    lone[77] = "one"
    return pa.table(
        {
            "town": pa.array(
                draw.choice(["Ängelholm", "zug", "Zug", "New York"], ROWS),
                mask=draw.random(ROWS) < 0.1,
            ),
            "smoker": pa.array(draw.random(ROWS) < 0.3, mask=draw.random(ROWS) < 0.1),
            "land": ["here"] * ROWS,
            "lone": lone,
            "day": draw.choice(
                np.array(["2020-01-01", "2020-02-29"], "datetime64[D]"), ROWS
            ),
        }
    )


def wide():
    """An alphabet beyond one byte."""
    draw = np.random.default_rng(4)
    return pa.table(
        {
            "place": [f"place {number:03}" for number in draw.integers(0, 400, ROWS)],
            "kids": pa.array(draw.integers(0, 4, ROWS), pa.int8()),
        }
    )


def few():
    """Fewer records than shards."""
    return pa.table({"a": ["x", "y"], "b": pa.array([1, None], pa.int8())})


TABLES = [numbers, bins, words, wide, few]


def counted(spark, table, folder, **options):
    """The counts of a table by every engine."""
    half = len(table) // 2
    pq.write_table(table, folder / "one.parquet", row_group_size=500)
    (folder / "parts").mkdir()
    pq.write_table(table.slice(0, half), folder / "parts/0.parquet", row_group_size=300)
    pq.write_table(table.slice(half), folder / "parts/1.parquet")
    pyarrow.feather.write_feather(table, folder / "one.feather")
    pyarrow.csv.write_csv(table, folder / "one.csv")
    frame = spark.read.parquet(str(folder / "one.parquet")).repartition(5)
    sources = {
        "pyarrow": (table, "auto"),
        "pandas": (table.to_pandas(types_mapper=pd.ArrowDtype), "auto"),
        "polars": (pl.from_arrow(table), "auto"),
        "csv": (folder / "one.csv", "auto"),
        "parquet": (folder / "one.parquet", "auto"),
        "parquet folder": (folder / "parts", "auto"),
        "feather": (folder / "one.feather", "auto"),
        "spark files": (folder / "parts", "spark"),
        "spark frame": (frame, "auto"),
    }
    counted = {
        name: sp.count_pairs(data, engine=engine, **options)
        for name, (data, engine) in sources.items()
    }
    for kernel in ("numpy", "numba"):
        with counted_by(kernel):
            counted[f"pyarrow, {kernel}"] = sp.count_pairs(table, **options)
    return counted


GRID = [
    pytest.param(
        table, missing, marks=() if usual else pytest.mark.slow, id=f"{name}-{missing}"
    )
    for table in TABLES
    for missing in ("category", "drop")
    for name in [table.__name__]
    for usual in [
        f"{name}-{missing}" in ("numbers-drop", "bins-category", "words-category")
    ]
]


@pytest.mark.parametrize(("table", "missing"), GRID)
def test_every_engine_counts_the_same(spark, tmp_path, table, missing):
    found = counted(spark, table(), tmp_path, missing=missing)
    first = found["pyarrow, numpy"]
    assert first.records
    assert [name for name, pairs in found.items() if pairs != first] == []


@pytest.mark.skipif(
    not os.environ.get("SEEPAGE_DATA"),
    reason="SEEPAGE_DATA does not name the folder of the data",
)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) for n in ("adult", "cardio", "celeba")],
)
def test_every_engine_counts_the_same_on_real_data(spark, tmp_path, name):
    real = dataset(name)
    found = counted(spark, real.read(), tmp_path, **real.table)
    first = found["pyarrow, numpy"]
    assert [name for name, pairs in found.items() if pairs != first] == []
