"""Collecting with a plan: records to reports to estimates, in memory that does not
grow.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import Figure

__all__ = ["full", "main"]

FEW = 100_000
SOME = 1_000_000
MANY = 10_000_000
GROWTH = 100e6
"""The memory that a hundred times as many records may take beyond that of the
fewest."""

ATTRIBUTES = 15
SIZES = (6, 9, 10, 16, 16, 7, 15, 6, 5, 2, 4, 4, 7, 42, 2)
"""The alphabets of Adult."""

COLLECT = """
import json, re, sys, time
from pathlib import Path
import numpy as np
import seepage as sp
from seepage.collection.perturb_table import perturb_file

records, reports, sizes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
domain = sp.Domain(
    sp.Attribute(f"a{i}", tuple(map(str, range(size)))) for i, size in enumerate(sizes)
)
codes = [np.arange(max(sizes)) % size for size in sizes]
pairs = sp.Records(domain, np.stack(codes, axis=1)).pairs()
plan = sp.calibrate(pairs, float(len(sizes)), guarantee="worst")

def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1])

steps = {
    "perturb": lambda: perturb_file(plan, records, reports),
    "estimate": lambda: plan.estimate(reports),
}
found = {}
for name, step in steps.items():
    begin = time.perf_counter()
    step()
    found[name] = [time.perf_counter() - begin, peak()]
print(json.dumps(found))
"""


def main() -> list[Figure]:
    """Measure a million records beside a hundred thousand."""
    return _figures(SOME)


def full() -> list[Figure]:
    """Measure ten million records beside a hundred thousand."""
    return _figures(MANY)


def _figures(rows: int) -> list[Figure]:
    few = _collected(FEW)
    many = _collected(rows)
    figures = []
    for step, (taken, peak) in many.items():
        least = few[step][1]
        figures.append(
            Figure(
                f"{step} {rows:,} x {ATTRIBUTES} reports",
                f"{rows / taken:,.0f} records/s",
                f"{taken:.3g} s",
            )
        )
        grown = (peak - least) * 1024
        figures.append(
            Figure(
                f"{step} {rows:,} x {ATTRIBUTES} reports, memory",
                f"{peak * 1024 / 1e6:,.0f} MB",
                f"{least * 1024 / 1e6:,.0f} MB for {FEW:,}",
                target=f"at most {GROWTH / 1e6:,.0f} MB more",
                met=grown < GROWTH,
            )
        )
    return figures


def _collected(rows: int) -> dict[str, tuple[float, int]]:
    """Return seconds and largest memory (kB) of each step, in a process of its own.

    From Linux's own count; `getrusage` would start from the memory of this process.
    """
    with _records(rows) as place:
        command = [
            sys.executable,
            "-c",
            COLLECT,
            place,
            place.with_name("reports.parquet"),
        ]
        done = subprocess.run(
            [*map(str, command), json.dumps(SIZES)],
            check=True,
            capture_output=True,
            text=True,
        )
    return {
        step: (taken, peak) for step, (taken, peak) in json.loads(done.stdout).items()
    }


@contextmanager
def _records(rows: int) -> Iterator[Path]:
    """Give a Parquet file of random records, gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "records.parquet"
        generator = np.random.default_rng(5)
        schema = pa.schema([(f"a{i}", pa.uint8()) for i in range(ATTRIBUTES)])
        with pq.ParquetWriter(place, schema) as writer:
            for begin in range(0, rows, 1 << 17):
                count = min(1 << 17, rows - begin)
                columns = [
                    generator.integers(0, size, count, dtype=np.uint8) for size in SIZES
                ]
                writer.write_table(
                    pa.Table.from_arrays([*map(pa.array, columns)], schema=schema)
                )
        yield place


if __name__ == "__main__":
    for figure in main() + (full() if "--full" in sys.argv else []):
        print(*[part for part in figure[:-1] if part], sep=" | ")
