"""Measurements behind every number that docs/speed.md quotes; `python -m benchmarks`
prints them.

A module of this folder measures one layer.  Its `main()` returns `Figure`s, each a
measurement beside a peer of the same run, since ratios travel between machines and
seconds do not.  A module may also have `full()`, for what takes minutes or much disk;
`--full` runs it too.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import seepage as sp
from seepage.counting.accumulate import count_batches

__all__ = [
    "Figure",
    "at_least",
    "at_most",
    "best_of",
    "count_codes",
    "declared",
    "seconds",
]


class Figure(NamedTuple):
    """One measured number, what it is compared with, and the target."""

    what: str
    measured: str
    against: str = ""
    ratio: str = ""
    target: str = ""
    met: bool | None = None


def best_of(
    calls: Mapping[str, Callable[[], object]], repeats: int = 5
) -> dict[str, float]:
    """Return the shortest time of each call in seconds, the calls taking turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def count_codes(codes: Sequence[Any], domain: sp.Domain) -> sp.PairCounts:
    """Return the pair counts of coded columns in memory, uint8 or uint16, in
    batches.
    """
    rows, step = len(codes[0]), max(1 << 16, min(1 << 19, (1 << 25) // len(domain)))
    batches = (
        ([column[start : start + step] for column in codes], domain.sizes)
        for start in range(0, rows, step)
    )
    return count_batches(batches, len(domain), rows_total=rows).counts(domain)


def at_most(what: str, ours: float, peer: str, theirs: float, limit: float) -> Figure:
    """Return the figure of a time that may be at most `limit` times its peer's."""
    ratio = ours / theirs
    return Figure(
        what,
        seconds(ours),
        f"{peer} {seconds(theirs)}",
        f"{ratio:.2f} x",
        f"at most {limit:g} x",
        ratio <= limit,
    )


def at_least(what: str, ours: float, peer: str, theirs: float, limit: float) -> Figure:
    """Return the figure of a time that must be at least `limit` times shorter than its
    peer's.
    """
    ratio = theirs / ours
    return Figure(
        what,
        seconds(ours),
        f"{peer} {seconds(theirs)}",
        f"{ratio:,.0f} x faster",
        f"at least {limit:,g} x",
        ratio >= limit,
    )


def seconds(time_taken: float) -> str:
    """Return a time with three digits in a readable unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if time_taken >= scale:
            return f"{time_taken / scale:.3g} {unit}"
    return f"{time_taken / 1e-9:.3g} ns"


def declared(table: Any, **options: Any) -> sp.Records:
    """Return the records of a table whose domain is taken as known beforehand."""
    read = sp.Records.from_data(table, **options)
    return sp.Records(read.domain, read.codes, read.weights)
