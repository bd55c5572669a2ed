"""Spark on two local cores: against our local engine, and the same counts by Spark SQL.

And the first counts of a session: two workers of one core, each a process of its own,
as on a cluster, whose Java and Python begin with the first job.
"""

import os
import subprocess
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
from benchmarks import Figure, at_least, at_most, best_of, seconds

ROWS = 10_000_000
COLUMNS = 40
SQL_PAIRS = 13
"""Spark SQL is timed on this many pairs; the time for all is in proportion."""
LARGE_ROWS = 60_000_000
WORKERS = "local-cluster[2,1,2048]"
"""Two workers of one core and 2 GB, which Spark starts as processes of their own."""

COUNTS = """
import sys, time
import seepage as sp
from seepage.counting.spark.session import spark_session
_, master, table = sys.argv
begin = time.perf_counter()
spark_session(master)
print(time.perf_counter() - begin)
for _ in range(3):
    begin = time.perf_counter()
    sp.count_pairs(table, engine="spark")
    print(time.perf_counter() - begin)
"""
"""Prints the seconds of starting a session, of its first count and of the next two."""


def main() -> list[Figure]:
    """Measure nothing: starting Spark takes longer than all other benchmarks."""
    return []


def full() -> list[Figure]:
    """Measure 10 million records, as files and as a DataFrame, and the first counts of
    60 million.
    """
    return [*_engines(), *_first_counts()]


def _first_counts() -> Iterator[Figure]:
    """Count a table in a new session whose workers begin with it, and again."""
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder) / "table.parquet", LARGE_ROWS)
        done = subprocess.run(
            [sys.executable, "-c", COUNTS, WORKERS, folder],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
    started, first, *next_ones = map(float, done.stdout.split())
    what = f"{LARGE_ROWS // 10**6}M x {COLUMNS} binary by Spark, two one-core workers"
    yield Figure(f"{what}: start of the session", seconds(started))
    again = f"counted again {seconds(min(next_ones))}"
    ratio = f"{first / min(next_ones):.2f} x"
    yield Figure(f"{what}: first count of the session", seconds(first), again, ratio)


def _engines() -> list[Figure]:
    """Count a table as files and as a DataFrame, through the JVM."""
    with tempfile.TemporaryDirectory() as folder, _session() as session:
        path = Path(folder) / "table.parquet"
        _write(path, ROWS)
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


def _write(path: Path, rows: int) -> None:
    draw = np.random.default_rng(1)
    schema = pa.schema([(f"a{i}", pa.int8()) for i in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(10):
            codes = draw.integers(0, 2, (COLUMNS, rows // 10), dtype=np.int8)
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
