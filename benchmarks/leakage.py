"""Leakage: against literal transcriptions of the paper's Algorithms 1 and 2, and whole
tables.

The bound is measured as users get it: loops of the public function in a fresh process.
The size of the channel chooses NumPy or Numba, and loading Numba counts.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

import seepage as sp
from benchmarks import Figure, at_least, best_of, count_codes, seconds
from seepage.channel.domain import Attribute, Domain
from seepage.mechanisms.mechanism_registry import mechanism
from tests.oracles import algorithm_1, algorithm_2

SIZE = 64
LOOPS = ((10, 1000, 10), (64, 1000, 100), (500, 100, 1000))
"""Alphabet, calls in one process, and how many times faster than Algorithm 2 they must
be."""
PROCESSES = 5
ROWS_OF_LISTING = 64
"""Algorithm 2 is timed with at most so many rows; it repeats the same for each ordered
pair."""
LISTING_SECONDS = 0.5
EPSILON = 1.0
RECORDS = 50_000
BINARY_SIZES = (2,) * 40
MIXED_SIZES = tuple(int(k) for k in np.linspace(2, 40, 27))
LARGE = 1024
GROWTH_SIZES = (16, 32, 64, 128)
"""Alphabets at which Algorithm 2 is timed, to see how it grows."""
HOUR = 3600
CALLS = 300
"""Calls of a fraction of a millisecond, of which the shortest counts."""


LOOP = """
import time
import numpy as np
from seepage import leakage_bound
G = np.random.default_rng(1).dirichlet(np.ones({size}), {size})
begin = time.perf_counter()
for _ in range({calls}):
    leakage_bound(G, {epsilon})
print((time.perf_counter() - begin) / {calls})
"""


def main() -> list[Figure]:
    """Measure loops in fresh processes, single pairs and whole tables."""
    return [*_loops(), *_pairs(), *_tables(), *_large_pair()]


def _loops() -> Iterator[Figure]:
    """Yield the time of one call in a loop of a fresh process, beside one of Algorithm
    2.
    """
    for size, calls, limit in LOOPS:
        ours = min(_in_fresh_process(size, calls) for _ in range(PROCESSES))
        what = (
            f"bound, m = t = {size}, mean of {calls:,} calls in a fresh process, "
            "loading included"
        )
        yield at_least(what, ours, "Algorithm 2", _listing(size), limit)


def _in_fresh_process(size: int, calls: int) -> float:
    script = LOOP.format(size=size, calls=calls, epsilon=EPSILON)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _listing(size: int) -> float:
    """Return the time of Algorithm 2, in proportion to the ordered pairs of rows it is
    given.

    The mean of a loop, as for ours: of so many calls as take about `LISTING_SECONDS`.
    """
    rows = (
        np.random.default_rng(1)
        .dirichlet(np.ones(size), size)[:ROWS_OF_LISTING]
        .tolist()
    )
    share = len(rows) * (len(rows) - 1) / (size * (size - 1))
    once = best_of({"": partial(algorithm_2, rows, EPSILON)}, repeats=3)[""]
    calls = max(1, int(LISTING_SECONDS / once))

    def loop() -> None:
        for _ in range(calls):
            algorithm_2(rows, EPSILON)

    return best_of({"": loop}, repeats=3)[""] / calls / share


def _tables() -> Iterator[Figure]:
    for what, sizes, limit in (
        ("bound matrix from pair counts, 40 binary attributes", BINARY_SIZES, 0.1),
        (
            "bound matrix from pair counts, 27 attributes, alphabets 2 to 40",
            MIXED_SIZES,
            0.5,
        ),
    ):
        times = best_of({"": partial(_bound_matrix, random_pair_counts(sizes))})
        yield _under(what, times[""], limit)


def _bound_matrix(pairs: sp.PairCounts) -> object:
    return sp.leakage_matrix(pairs, EPSILON).values


def _pairs() -> Iterator[Figure]:
    rng = np.random.default_rng(1)
    correlation = rng.dirichlet(np.ones(SIZE), SIZE)
    grr = mechanism("grr", SIZE, EPSILON)
    transition = grr.channel()
    rows, transition_rows = correlation.tolist(), transition.tolist()
    closed = best_of({"": lambda: grr.leakage(correlation)}, CALLS)[""]
    product = best_of({"": lambda: sp.exact_leakage(correlation, transition)}, CALLS)[
        ""
    ]
    listing = best_of({"": lambda: algorithm_1(rows, transition_rows)}, repeats=3)[""]
    pair = f"one pair, m = t = {SIZE}"
    for what, ours in (
        ("exact GRR leakage", closed),
        ("exact leakage of any matrix", product),
    ):
        yield at_least(f"{what}, {pair}", ours, "Algorithm 1", listing, 10_000)


def _large_pair() -> Iterator[Figure]:
    correlation = np.random.default_rng(2).dirichlet(np.ones(LARGE), LARGE)
    bound = best_of({"": lambda: sp.leakage_bound(correlation, EPSILON)}, repeats=3)[""]
    exact = best_of(
        {"": lambda: sp.exact_leakage(correlation, correlation)}, repeats=3
    )[""]
    pair = f"one pair, m = t = {LARGE:,}"
    yield _under(f"bound, {pair}, kernel loaded", bound, 0.5)
    yield extrapolated(algorithm_2_growth(), LARGE, bound)
    yield _under(f"exact leakage of any matrix, {pair}", exact, 0.5)


class Growth(NamedTuple):
    """How a measured time grows: as the size to the power of `exponent`."""

    exponent: float
    largest: int
    time: float
    """The time measured at the largest size, in seconds."""

    def at(self, size: int) -> float:
        """Return the time at another size, if it goes on growing so."""
        return self.time * float((size / self.largest) ** self.exponent)


def algorithm_2_growth() -> Growth:
    """Time the paper's Algorithm 2 as it is printed, at m = t of several sizes, and fit
    a power.
    """
    times = []
    for size in GROWTH_SIZES:
        rows = np.random.default_rng(1).dirichlet(np.ones(size), size).tolist()
        times.append(best_of({"": partial(algorithm_2, rows, EPSILON)}, repeats=3)[""])
    exponent = np.polyfit(np.log(GROWTH_SIZES), np.log(times), 1)[0]
    return Growth(float(exponent), GROWTH_SIZES[-1], times[-1])


def extrapolated(growth: Growth, size: int, ours: float) -> Figure:
    """Return what Algorithm 2 would take at a size too large to wait for, beside our
    time.
    """
    theirs = growth.at(size)
    return Figure(
        f"Algorithm 2, m = t = {size:,}: extrapolated, not run",
        seconds(theirs) if theirs < HOUR else f"{theirs / HOUR:.1f} hours",
        f"measured from {GROWTH_SIZES[0]} to {growth.largest} "
        f"({seconds(growth.time)}): grows as m^{growth.exponent:.2f}",
        f"{theirs / ours:,.0f} x the bound's",
    )


def random_pair_counts(sizes: Sequence[int]) -> sp.PairCounts:
    """Return the counts of random records whose attributes hang together through a
    hidden one.
    """
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 4, RECORDS)
    columns = []
    for size in sizes:
        shares = rng.dirichlet(np.ones(size), 4).cumsum(axis=1)
        above = rng.random(RECORDS)[:, None] > shares[hidden]
        columns.append(np.minimum(above.sum(axis=1), size - 1).astype(np.uint8))
    domain = Domain(
        Attribute(f"a{place}", tuple(map(str, range(size))))
        for place, size in enumerate(sizes)
    )
    return count_codes(columns, domain)


def _under(what: str, ours: float, limit: float) -> Figure:
    return Figure(what, seconds(ours), target=f"under {limit:g} s", met=ours < limit)
