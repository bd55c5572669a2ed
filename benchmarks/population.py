"""Limits for the population: how wide, how fast, and beside one linear program per pair
of rows.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.optimize import OptimizeResult, linprog

import seepage as sp
from benchmarks import Figure, at_least, best_of, seconds
from benchmarks.leakage import MIXED_SIZES, random_pair_counts
from seepage._core.arrays import Integers
from seepage.confidence.mean_limits import tangent_lines

CATEGORICAL = ["workclass", "education", "marital-status", "occupation", "relationship"]
CATEGORICAL += ["race", "sex", "income"]
EPSILON = 1.0
MECHANISMS = {"grr": "GRR", None: "the bound", "ss": "subset selection"}
PROGRAMS = 200
"""Pairs of rows whose linear programs are timed, drawn from all of a matrix."""


def main() -> list[Figure]:
    """Measure the width of Adult's limits, and times of whole matrices."""
    return [_width(), _celeba(), *_mixed()]


def _width() -> Figure:
    matrix = sp.leakage_matrix("adult", EPSILON, mechanism="grr", columns=CATEGORICAL)
    off = ~np.eye(len(matrix.domain), dtype=np.bool_)
    upper = matrix.interval().upper[off].mean()
    return Figure(
        f"Adult, {len(CATEGORICAL)} categorical attributes, GRR: mean upper limit",
        f"{upper:.3f}",
        f"of the table {matrix.values[off].mean():.3f}",
        target="at most 0.58",
        met=upper <= 0.58,
    )


def _celeba() -> Figure:
    data = sp.dataset("celeba")
    pairs = sp.Records.from_data(data.read(), **data.table).pairs()
    times = best_of({"": partial(_limits, pairs, None)})
    return _under(
        f"bound matrix with limits, CelebA's {len(pairs.domain)} attributes",
        times[""],
        0.5,
    )


def _mixed() -> Iterator[Figure]:
    pairs = random_pair_counts(MIXED_SIZES)
    calls: dict[str, Callable[[], object]] = {
        name: partial(_limits, pairs, key) for key, name in MECHANISMS.items()
    }
    programs, scale = _programs(pairs)
    calls |= {
        "alone": lambda: sp.leakage_matrix(pairs, EPSILON).interval(),
        "programs": programs,
    }
    times = best_of(calls)
    what = f"{len(MIXED_SIZES)} attributes, 2 to 40 values"
    for name in MECHANISMS.values():
        yield _under(f"matrix with limits of {what}, {name}", times[name], 3.0)
    peer = f"a linear program for each two rows, from {PROGRAMS} of them"
    theirs = times["programs"] * scale
    yield at_least(f"limits of the bound, {what}", times["alone"], peer, theirs, 1000)


def _limits(pairs: sp.PairCounts, mechanism: str | None) -> object:
    matrix = sp.leakage_matrix(pairs, EPSILON, mechanism=mechanism)
    return matrix.values, matrix.interval()


def _programs(pairs: sp.PairCounts) -> tuple[Callable[[], object], float]:
    """Return a call that solves the programs of some pairs of rows, and how many more
    there are.
    """
    rng = np.random.default_rng(1)
    count = len(MIXED_SIZES)
    rows = np.array(MIXED_SIZES) * (np.array(MIXED_SIZES) - 1)
    problems = []
    for target in rng.choice(count, PROGRAMS, p=rows / rows.sum()).tolist():
        source = int((target + rng.integers(1, count)) % count)
        counts = pairs.table(target, source)
        problems.append(counts[rng.choice(len(counts), 2, replace=False)])

    def solve() -> None:
        for counts in problems:
            assert _program(counts).status == 0

    return solve, float(rows.sum() * (count - 1) / PROGRAMS)


def _program(counts: Integers) -> OptimizeResult:
    """Maximise the ratio over all sets with lines in place of the limits [Charnes and
    Cooper].

    The unknowns are the values in S, and 1, over the denominator.
    """
    people = counts.sum(axis=1)
    size = counts.shape[1]
    likelier, other = counts / people[:, None]
    likely = likelier > other
    masses = likelier @ likely, other @ likely
    c = np.log(2.0**size * len(MIXED_SIZES) ** 3 / 0.05)
    lines = tangent_lines(*masses, *(c / people))
    floor, scale = np.exp(-EPSILON), -np.expm1(-EPSILON)
    above, below = (
        np.append(scale * slope * row, floor + scale * constant)
        for constant, slope, row in zip(*lines, (likelier, other), strict=True)
    )
    inside = np.hstack([np.eye(size), -np.ones((size, 1))])
    return linprog(-above, inside, np.zeros(size), below[None], [1.0], method="highs")


def _under(what: str, ours: float, limit: float) -> Figure:
    return Figure(what, seconds(ours), target=f"under {limit:g} s", met=ours < limit)
