"""Records against time and memory: this machine's own engine, and Spark on its cores.

Each size is counted in a process of its own, after a small table that loads what is
loaded once. Memory is the peak of all its processes together (Spark has a Java machine
and Pythons of its own), sampled from Linux's proportional set size.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import Figure, seconds

MILLION = 10**6
COLUMNS = 40
SIZES = (MILLION, 10 * MILLION, 100 * MILLION)
SLACK = 1.1
MEMORY = 1.5e9
REPEATS = {MILLION: 5, 10 * MILLION: 4, 100 * MILLION: 2}

LOCAL = """
import sys, time
import seepage as sp
_, small, table, repeats = sys.argv
import seepage.counting.kernel_numba  # loaded and compiled before it is timed
sp.count_pairs(small)
for _ in range(int(repeats)):
    begin = time.perf_counter()
    records = sp.count_pairs(table).records
    print(records, time.perf_counter() - begin, flush=True)
"""

SPARK = """
import sys, time
import seepage as sp
from seepage.counting.spark.session import spark_session
_, small, table, repeats = sys.argv
spark_session("local[2]")
sp.count_pairs(small, engine="spark")
for _ in range(int(repeats)):
    begin = time.perf_counter()
    records = sp.count_pairs(table, engine="spark").records
    print(records, time.perf_counter() - begin, flush=True)
"""


def main() -> list[Figure]:
    """Measure nothing: a hundred million records take a minute."""
    return []


def full() -> list[Figure]:
    """Measure one, ten and a hundred million records of 40 binary attributes."""
    figures: list[Figure] = []
    with _tables() as (small, tables):
        for engine, script in (("local", LOCAL), ("Spark local[2], files", SPARK)):
            rates: dict[int, float] = {}
            for rows, table in tables.items():
                taken, peak = _counted(script, small, table, rows)
                rates[rows] = taken / rows
                figures.append(_figure(engine, rows, taken, peak, rates))
    return figures


def _figure(
    engine: str, rows: int, taken: float, peak: float, rates: dict[int, float]
) -> Figure:
    what = f"{rows // MILLION}M x {COLUMNS} binary from Parquet, {engine}"
    speed = f"{rows / taken / MILLION:.1f}M records a second"
    if engine != "local" or rows < SIZES[-1]:
        return Figure(what, seconds(taken), f"{peak / 1e9:.2f} GB", speed)
    slower = rates[SIZES[2]] / rates[SIZES[1]]
    target = f"at most {SLACK:g} x the time a record at 10M; below {MEMORY / 1e9:g} GB"
    return Figure(
        what,
        seconds(taken),
        f"{peak / 1e9:.2f} GB",
        f"{speed}, {slower:.2f} x the time a record at 10M",
        target,
        slower <= SLACK and peak < MEMORY,
    )


def _counted(script: str, small: Path, table: Path, rows: int) -> tuple[float, float]:
    """Return the shortest time of a count in another process, and the peak of its
    memory.
    """
    command = [sys.executable, "-c", script, str(small), str(table), str(REPEATS[rows])]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    peak = [0.0]

    def watch() -> None:
        while process.poll() is None:
            peak[0] = max(peak[0], _memory(process.pid))
            time.sleep(0.2)

    watcher = threading.Thread(target=watch)
    watcher.start()
    printed, _ = process.communicate()
    watcher.join()
    assert process.returncode == 0
    lines = [line.split() for line in printed.splitlines()]
    assert all(int(records) == rows for records, _ in lines)
    return min(float(taken) for _, taken in lines), peak[0]


def _memory(root: int) -> float:
    """Return the proportional set size of a process and all its descendants, in
    bytes.
    """
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (place / "stat").read_text().rpartition(")")[2]
        except OSError:
            continue
        parents[int(place.name)] = int(after_name.split()[1])
    family = {root}
    size = 0
    while len(family) > size:
        size = len(family)
        family |= {child for child, parent in parents.items() if parent in family}
    return float(sum(_share(process) for process in family))


def _share(process: int) -> int:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return 1024 * int(text.partition("\nPss:")[2].split()[0])


@contextmanager
def _tables() -> Iterator[tuple[Path, dict[int, Path]]]:
    """Give a small table and those of each size; a hundred million are ten names of
    ten.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        places = {rows: folder / str(rows) for rows in (1000, *SIZES)}
        for rows, place in places.items():
            place.mkdir()
            if rows < SIZES[-1]:
                _write(place / "part-0.parquet", rows)
        for part in range(10):
            os.link(
                places[SIZES[1]] / "part-0.parquet",
                places[SIZES[2]] / f"part-{part}.parquet",
            )
        yield places.pop(1000), places


def _write(path: Path, rows: int) -> None:
    draw = np.random.default_rng(1)
    schema = pa.schema([(f"a{i}", pa.int8()) for i in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, MILLION):
            shape = (COLUMNS, min(MILLION, rows - begin))
            codes = draw.integers(0, 2, shape, dtype=np.int8)
            writer.write_table(pa.table(list(codes), schema=schema))
