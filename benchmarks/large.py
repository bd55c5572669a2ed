"""Large alphabets and wide tables: time and memory, each in its own process."""

import subprocess
import sys
from typing import NamedTuple

from benchmarks import Figure, seconds
from benchmarks.leakage import algorithm_2_growth, extrapolated

LARGE = 4096
WIDE_SIZE = 1000
ANALYSED_COLUMNS = (500, 1_000, 2_000)
ANALYSED_VALUES = (4_000, 16_000, 65_000)

DENSE = """
import numpy as np, seepage as sp
G = np.random.default_rng(1).dirichlet(np.ones({size}), {size})
begin()
assert 0 < {call}.value
"""

WIDE = """
import numpy as np, seepage as sp
from benchmarks import count_codes
from seepage import Attribute, Domain
draw = np.random.default_rng(1)
half = draw.random(100_000) < 0.5
chance = 0.3 + 0.4 * half
codes = [(draw.random(100_000) < chance).astype(np.uint8) for _ in range({size})]
domain = Domain(Attribute(f"a{{i}}", ("no", "yes")) for i in range({size}))
begin()
pairs = count_codes(codes, domain)
assert sp.leakage_matrix(pairs, epsilon=1.0, mechanism="grr").values.max() < 1
sp.total_leakage(pairs, epsilon=1.0, mechanism="grr", guarantee="independent")
"""

WIDE_FILE = """
import tempfile, numpy as np, pyarrow as pa, pyarrow.parquet as pq, seepage as sp
draw = np.random.default_rng(1)
half = draw.random(100_000) < 0.5
table = {{f"a{{i}}": draw.random(100_000) < 0.3 + 0.4 * half for i in range({size})}}
with tempfile.TemporaryDirectory() as folder:
    pq.write_table(pa.table(table), f"{{folder}}/table.parquet")
    del table
    begin()
    pairs = sp.count_pairs(f"{{folder}}/table.parquet")
    pairs.save(f"{{folder}}/table.pairs")
    loaded = sp.load_pairs(f"{{folder}}/table.pairs")
    assert (loaded + pairs).select(loaded.domain.names[::-1]).records == 200_000
    end()
"""

ANALYSIS_OF_COLUMNS = """
import warnings, numpy as np, pyarrow as pa, seepage as sp
warnings.simplefilter("ignore")
draw = np.random.default_rng(1)
half = draw.random(10_000) < 0.5
chance = 0.3 + 0.4 * half
table = pa.table({{f"a{{i}}": draw.random(10_000) < chance for i in range({size})}})
begin()
assert len(sp.analyse(table, epsilon=1.0, mechanism="grr").matrix.domain) == {size}
"""

ANALYSIS_OF_VALUES = """
import warnings, numpy as np, pyarrow as pa, seepage as sp
warnings.simplefilter("ignore")
draw = np.random.default_rng(1)
place = np.concatenate([np.arange({size}), draw.integers(0, {size}, 200_000 - {size})])
names = [f"p{{i}}" for i in place]
table = pa.table({{"place": names, "ill": draw.random(200_000) < 0.1}})
begin()
columns = ["place", "ill"]
found = sp.analyse(table, 1.0, mechanism="grr", max_values=65_534, columns=columns)
assert found.matrix.domain["place"].size == {size}
"""

FRAME = """
import re, time
from pathlib import Path
clock = []
def begin():
    clock[:] = [time.perf_counter(), time.process_time()]
def end():
    clock[2:] = [time.perf_counter(), time.process_time()]
{body}
if len(clock) == 2:
    end()
status = Path("/proc/self/status").read_text()
memory = re.search(r"VmHWM:\\s*(\\d+) kB", status)[1]
print(clock[2] - clock[0], clock[3] - clock[1], memory)
"""
"""Runs a script that says where its timed part begins; prints times and the peak of its
memory.

That peak is VmHWM: `ru_maxrss` of a child is that of its parent where this was larger.
"""


class Measured(NamedTuple):
    """What a script took: seconds elapsed, seconds of all processors, bytes at its
    peak.
    """

    elapsed: float
    processors: float
    peak: float


def main() -> list[Figure]:
    """Measure nothing: everything here takes a while."""
    return []


def full() -> list[Figure]:
    """Measure what grows with alphabets and with attributes."""
    bound = _measured(DENSE, LARGE, "sp.leakage_bound(G, 1.0)")
    exact = _measured(DENSE, LARGE, "sp.exact_leakage(G, G)")
    dense = f"m = t = {LARGE:,}"
    wide = f"100,000 x {WIDE_SIZE:,} binary"
    return [
        _figure(f"bound, {dense}", bound, 60, 2),
        extrapolated(algorithm_2_growth(), LARGE, bound.elapsed),
        _figure(f"exact leakage of any matrix, {dense}", exact, 60, 2),
        _figure(
            f"count, matrix and totals, {wide}", _measured(WIDE, WIDE_SIZE), 120, 4
        ),
        _figure(
            f"count Parquet, save, load, merge, select, {wide}",
            _measured(WIDE_FILE, WIDE_SIZE),
            120,
            4,
        ),
        *(
            _figure(
                f"analyse 10,000 x {size:,} binary",
                _measured(ANALYSIS_OF_COLUMNS, size),
                60,
                1.5,
            )
            for size in ANALYSED_COLUMNS
        ),
        *(
            _figure(
                f"analyse {size:,} values x 2",
                _measured(ANALYSIS_OF_VALUES, size),
                60,
                1.5,
            )
            for size in ANALYSED_VALUES
        ),
    ]


def _measured(body: str, size: int, call: str = "") -> Measured:
    script = FRAME.format(body=body.format(size=size, call=call))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    elapsed, processors, kilobytes = map(float, done.stdout.split())
    return Measured(elapsed, processors, kilobytes * 1024)


def _figure(what: str, measured: Measured, limit: float, gigabytes: float) -> Figure:
    return Figure(
        what,
        seconds(measured.elapsed),
        f"{seconds(measured.processors)} of processors; memory "
        f"{measured.peak / 1e9:.2f} GB",
        "",
        f"below {limit:g} s and {gigabytes:g} GB",
        measured.elapsed < limit and measured.peak < gigabytes * 1e9,
    )
