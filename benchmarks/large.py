"""Large alphabets, sparse channels and wide tables: time and memory, each in its own process."""

import subprocess
import sys
import time

from benchmarks import Figure, seconds

DENSE = """
import numpy as np, seepage as sp
G = np.random.default_rng(1).dirichlet(np.ones({size}), {size})
begin = time.perf_counter()
assert 0 < sp.leakage_bound(G, 1.0).value < 1
assert 0 < sp.exact_leakage(G, G).value
"""

SPARSE = """
import numpy as np
from scipy.sparse import csr_array, random_array
from seepage.leakage.sparse import sparse_leakage_bound
m = {size}
cells = random_array((m, m), density=0.002, rng=np.random.default_rng(1), format="csr")
cells = cells + csr_array((np.full(m, 2.0), (np.arange(m), np.zeros(m, int))), (m, m))
G = csr_array(cells.multiply(1 / cells.sum(axis=1)[:, None]))
begin = time.perf_counter()
assert 0 < sparse_leakage_bound(G, 1.0).value < 1
"""

WIDE = """
import numpy as np, seepage as sp
from seepage.counting import count_codes
from seepage.domain import Attribute, Domain
draw = np.random.default_rng(1)
half = draw.random(100_000) < 0.5
codes = [(draw.random(100_000) < 0.3 + 0.4 * half).astype(np.uint8) for _ in range({size})]
domain = Domain(Attribute(f"a{{i}}", ("no", "yes")) for i in range({size}))
begin = time.perf_counter()
pairs = count_codes(codes, domain)
assert sp.leakage_matrix(pairs, epsilon=1.0, mechanism="grr").values.max() < 1
sp.total_leakage(pairs, epsilon=1.0, mechanism="grr", guarantee="independent")
"""

FRAME = """
import resource, time
{body}
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main() -> list[Figure]:
    """Measure nothing: everything here takes a while."""
    return []


def full() -> list[Figure]:
    """Measure what grows with alphabets and with attributes."""
    return [
        _measured("bound and exact leakage, m = t = 4,096", DENSE, 4096, 60, 2),
        _measured("bound of a sparse channel, m = t = 10,000", SPARSE, 10_000, 60, 2),
        _measured("count, matrix and totals, 100,000 x 1,000 binary", WIDE, 1000, 120, 4),
    ]


def _measured(what: str, body: str, size: int, limit: float, gigabytes: float) -> Figure:
    script = FRAME.format(body=body.format(size=size))
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    whole = time.perf_counter() - begin
    taken, kilobytes = map(float, done.stdout.split())
    peak = kilobytes * 1024
    return Figure(
        what,
        seconds(taken),
        f"{seconds(whole)} with starting; memory {peak / 1e9:.2f} GB",
        "",
        f"below {limit:g} s and {gigabytes:g} GB",
        taken < limit and peak < gigabytes * 1e9,
    )
