"""Spark on two local cores: against our local engine, and the same counts by Spark SQL."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import seepage as sp
from benchmarks import Figure, at_least, at_most, best_of

ROWS = 10_000_000
COLUMNS = 40
SQL_PAIRS = 13
"""Spark SQL is timed on this many pairs; the time for all is in proportion."""


def main() -> list[Figure]:
    """Measure nothing: starting Spark takes longer than all other benchmarks."""
    return []


def full() -> list[Figure]:
    """Measure a table of 10 million records: as files, and as a DataFrame, through the
    JVM.
    """
    with tempfile.TemporaryDirectory() as folder, _session() as session:
        path = Path(folder) / "table.parquet"
        _write(path)
        frame = session.read.parquet(str(path))
        expected = sp.count_pairs(path)
        assert sp.count_pairs(path, engine="spark") == expected == sp.count_pairs(frame)
        best = best_of(
            {
                "local": lambda: sp.count_pairs(path),
                "files": lambda: sp.count_pairs(path, engine="spark"),
                "frame": lambda: sp.count_pairs(frame),
            },
            repeats=4,
        )
        what = f"all pairs of {ROWS // 10**6}M x {COLUMNS} binary by Spark"
        return [
            at_most(f"{what}, files", best["files"], "local engine", best["local"], 3),
            at_most(
                f"{what}, DataFrame", best["frame"], "local engine", best["local"], 40
            ),
            at_least(
                f"{what}, files",
                best["files"],
                f"Spark SQL group-bys ({SQL_PAIRS} pairs timed)",
                _group_bys(frame),
                10,
            ),
        ]


def _group_bys(frame: Any) -> float:
    """Return the time of a group-by for every pair, in proportion to an even sample of
    them.
    """
    pairs = list(combinations(frame.columns, 2))
    sample = pairs[:: len(pairs) // SQL_PAIRS][:SQL_PAIRS]
    begin = time.perf_counter()
    for pair in sample:
        frame.groupBy(*pair).count().collect()
    return (time.perf_counter() - begin) / len(sample) * len(pairs)


def _write(path: Path) -> None:
    draw = np.random.default_rng(1)
    schema = pa.schema([(f"a{i}", pa.int8()) for i in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(10):
            codes = draw.integers(0, 2, (COLUMNS, ROWS // 10), dtype=np.int8)
            writer.write_table(pa.table(list(codes), schema=schema))


@contextmanager
def _session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
