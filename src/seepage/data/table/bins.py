"""Bins of numbers: what is collected to find their edges, the rules, and the names of the bins.

Numbers, and samples of records, are collected in bounded memory from batches or shards of a table
in any order, and merged.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.table.labels import number_label, single_number

Priorities: TypeAlias = NDArray[np.uint64]

FEWEST = 2**18
"""Records held before a sample is thinned or records are made distinct."""

SAMPLE = 2**18
"""Records whose fractional numbers are kept; with no more records the quantiles are exact."""

HISTOGRAM = 2**16
"""The widest span of integers that are counted one by one, whatever their number."""

EXACT = 2**53
"""Integers below are exact in double precision."""

SEED = 20_240_607
"""Fixes which records are sampled: the same table has the same edges every time."""

SPARE = 1.1
"""A part of a table keeps its share of so many samples, to be complete in spite of chance."""

FINEST = 2
"""Edges of fractional numbers are rounded to 10^-2 of the order of the bins beside them."""


# Samples of records, and the numbers of a column -------------------------------------------------


def priorities(first: int, count: int, seed: int = SEED) -> Priorities:
    """Return a pseudo-random 64-bit number for each record, by its number in the table alone.

    The records with the smallest numbers are a uniform sample of the table that does not depend
    on how it is cut in batches.
    """
    return np.asarray(np.random.PCG64(seed).advance(first).random_raw(count), dtype=np.uint64)


def share_of(rows: int | None) -> float:
    """Return the share of all priorities that holds the lowest of so many records."""
    return 1.0 if rows is None else min(1.0, SPARE * SAMPLE / max(rows, 1))


class PrioritySample:
    """The records of lowest priority: a uniform sample without replacement.

    Parameters
    ----------
    size
        The number of records kept.
    share
        The share of priorities that are looked at; all by default.
    """

    def __init__(self, size: int, share: float = 1.0) -> None:
        self.kept = 0
        self._size = size
        self._bar = int(share * 2.0**64) if share < 1.0 else None
        self._values: list[NDArray[Any]] = []
        self._ranks: list[Priorities] = []

    def chosen(self, ranks: Priorities) -> Booleans | slice:
        """Return which records of these priorities may be in the sample."""
        return slice(None) if self._bar is None else ranks < np.uint64(self._bar)

    def add(self, values: NDArray[Any], ranks: Priorities) -> None:
        """Take records, along the last axis of `values`, with their priorities."""
        self._values.append(values)
        self._ranks.append(ranks)
        self.kept += len(ranks)
        if self.kept > max(2 * self._size, FEWEST):
            self.thinned()

    def merge(self, other: "PrioritySample") -> None:
        """Take the sample of another part of the table."""
        if other.kept:
            self.add(*other.thinned())

    def thinned(self) -> tuple[NDArray[Any], Priorities]:
        """Return the records of lowest priority and their priorities, having dropped all others."""
        values, ranks = np.concatenate(self._values, axis=-1), np.concatenate(self._ranks)
        if len(ranks) > self._size:
            lowest = np.argpartition(ranks, self._size)
            self._bar = int(ranks[lowest[self._size]])
            lowest = lowest[: self._size]
            values, ranks = values[..., lowest], ranks[lowest]
        self._values, self._ranks, self.kept = [values], [ranks], len(ranks)
        return values, ranks

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent: the sample thinned."""
        if self.kept:
            self.thinned()
        return self.__dict__


class Collector:
    """What bin edges need to know about the numbers of one column.

    Smallest and largest value are exact.  Integers within a span of 65,536 are counted one
    by one; of others a uniform sample of 262,144 is kept, so a quantile is off by about 0.1% of
    the records (one standard deviation) at most.

    Parts of a table are collected on their own and merged.  The sample is of the records of
    lowest priority in the whole table, so the edges do not depend on the parts.  With n records,
    a part need keep only those whose priority is among the lowest 1.1 x 262,144 / n of all
    possible ones; that fewer than 262,144 are among them is less likely than 10^-500, unless
    numbers are missing: see `complete` and `wider_share`.

    Parameters
    ----------
    share
        The share of priorities that is kept: `share_of` the records of the whole table.

    Attributes
    ----------
    low, high
        The smallest and the largest number so far, those of integers as integers, which floats
        could not hold beyond 2^53; infinite and crossed before the first.
    whole
        Whether all numbers so far are whole.
    """

    def __init__(self, share: float = 1.0) -> None:
        self.low: float | int = math.inf
        self.high: float | int = -math.inf
        self.whole = True
        self._single = False
        self._first = 0
        self._counts: Integers | None = np.zeros(0, dtype=np.int64)
        self._sample = PrioritySample(SAMPLE, share)
        self._seen = 0
        self._share = share

    @property
    def complete(self) -> bool:
        """Whether nothing is missing from the sample: its share held the records it is made of."""
        return self._counts is not None or self._sample.kept >= min(SAMPLE, self._seen)

    @property
    def wider_share(self) -> float:
        """The share to try next where the sample is not complete, by the numbers that are there."""
        share = share_of(self._seen)
        return share if share > self._share else 1.0

    def add(self, values: NDArray[Any], ranks: Priorities) -> None:
        """Take numbers (none of them NaN) with the priorities of their records."""
        if not len(values):
            return
        self._single = values.dtype == np.float32
        low, high = (self._exact(value) for value in (values.min(), values.max()))
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.whole and values.dtype.kind == "f":
            self.whole = math.isfinite(low + high) and bool((values == np.floor(values)).all())
        counts = np.bincount(values.astype(np.int64) - int(low)) if self._countable() else None
        self._add_counts(int(low) if counts is not None else 0, counts)
        self._seen += len(values)
        chosen = self._sample.chosen(ranks)
        self._sample.add(values[chosen].astype(np.float64), ranks[chosen])

    def _exact(self, value: Any) -> float | int:
        return int(value) if isinstance(value, np.integer) else self.decimal(value)

    def _countable(self) -> bool:
        """Return whether the numbers so far are integers that are counted one by one."""
        near = max(-self.low, self.high) < EXACT and self.high - self.low < HISTOGRAM
        return self._counts is not None and self.whole and near

    def _add_counts(self, first: int, counts: Integers | None) -> None:
        """Add the counts of the integers from `first` on; None where they were not counted."""
        if self._counts is None or counts is None or not self._countable():
            self._counts = None
            return
        lowest, size = int(self.low), int(self.high - self.low) + 1
        if (lowest, size) != (self._first, len(self._counts)):
            wider = np.zeros(size, dtype=np.int64)
            if len(self._counts):
                wider[self._first - lowest :][: len(self._counts)] = self._counts
            self._first, self._counts = lowest, wider
        self._counts[first - lowest :][: len(counts)] += counts

    def merge(self, other: "Collector") -> None:
        """Add the numbers of another part of the table."""
        if other.low > other.high:
            return
        if self.low > self.high:
            self.__dict__.update(other.__dict__)
            return
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.whole = self.whole and other.whole
        self._single = self._single or other._single
        self._add_counts(other._first, other._counts)
        self._seen += other._seen
        self._sample.merge(other._sample)

    def decimal(self, value: float) -> float:
        """Return a value as the shortest decimal that means it in the column's own precision."""
        return single_number(np.float32(value)) if self._single else float(value)

    def distinct(self) -> tuple[Floats, Integers]:
        """Return the values (all, or of the sample) in ascending order, and their counts."""
        if self._counts is not None:
            present = np.flatnonzero(self._counts)
            return (present + self._first).astype(np.float64), self._counts[present]
        values, counts = np.unique(self._sample.thinned()[0], return_counts=True)
        return values, counts.astype(np.int64)


# Rules, edges and names --------------------------------------------------------------------------


@dataclass(frozen=True)
class Quantile:
    """Bins with about equally many records.

    Edge j is the value of rank floor(n j / bins) among n values in ascending order (rank 0 is
    the smallest), so that bin j begins with a value that occurs.  A value that fills more than
    one bin has one bin of its own; there are then fewer bins.  Where a sample has but one of the
    values, the bins are those of `Width`.
    """

    bins: int

    def edges(self, numbers: Collector) -> tuple[float, ...]:
        """Return the edges for these numbers; none where they cannot differ."""
        values, counts = numbers.distinct()
        starts = _starts(np.cumsum(counts), self.bins)
        inner = _inside(numbers, [numbers.decimal(values[start]) for start in starts])
        return _closed(numbers, inner) if inner else Width(self.bins).edges(numbers)


@dataclass(frozen=True)
class Width:
    """Bins of the same width between the smallest and the largest value.

    Edge j is low + j (high - low) / bins, raised to an integer where all values are whole:
    the bins then hold the same values, and there are fewer where two edges meet.
    """

    bins: int

    def edges(self, numbers: Collector) -> tuple[float, ...]:
        """Return the edges for these numbers; none where they cannot differ."""
        inner = _inside(numbers, [self._edge(numbers, number) for number in range(1, self.bins)])
        if numbers.low == numbers.high or (self.bins > 1 and not inner):
            return ()
        return _closed(numbers, inner)

    def _edge(self, numbers: Collector, number: int) -> float:
        left = self.bins - number
        if numbers.whole:
            return float(-(-(int(numbers.low) * left + int(numbers.high) * number) // self.bins))
        return numbers.low * (left / self.bins) + numbers.high * (number / self.bins)


@dataclass(frozen=True)
class Edges:
    """Bins with given edges; -inf and inf are allowed at the ends."""

    given: tuple[float, ...]


@dataclass(frozen=True)
class Keep:
    """No bins: every number is a category of its own."""


BinningRule: TypeAlias = Quantile | Width | Edges | Keep


def _starts(running: NDArray[np.int64], bins: int) -> list[int]:
    """Return the positions in the distinct values where bins begin, ascending, without the first.

    `running` are the running counts of the distinct values.  A position met twice belongs to a
    value that fills a bin: the next one begins right behind it.
    """
    total = int(running[-1])
    ranks = [total * bin_ // bins for bin_ in range(1, bins)]
    starts = [0]
    crowded = True
    for position in np.searchsorted(running, ranks, side="right").tolist():
        if position > starts[-1]:
            starts.append(position)
            crowded = True
        elif position == starts[-1] and crowded and position + 1 < len(running):
            starts.append(position + 1)
            crowded = False
        elif position == starts[-1]:
            crowded = True
    return starts[1:]


def _inside(numbers: Collector, edges: Sequence[float]) -> list[float]:
    """Return, ascending, the edges that have numbers on either side.

    Integers from 2^53 on may be closer together than floats, and then have no edge between them.
    """
    return sorted({edge for edge in edges if numbers.low < edge <= numbers.high})


def _closed(numbers: Collector, inner: list[float]) -> tuple[float, ...]:
    """Return all edges: the inner ones with the smallest number and one that closes the last bin.

    That is the largest number, or where it has a bin of its own, something above.  An integer that
    no float is has the next float outside it as its edge, so that all numbers are covered.
    """
    low, top = _at_most(numbers.low), -_at_most(-numbers.high)
    if inner and inner[-1] >= top:
        beyond = top + (1.0 if numbers.whole else (top - low) / 100)
        top = max(beyond, math.nextafter(top, math.inf))
    edges = [low, *inner, top]
    return tuple(edges if numbers.whole else _readable(edges))


def _at_most(number: float | int) -> float:
    """Return the largest float that is not above a number."""
    near = float(number)
    return near if near <= number else math.nextafter(near, -math.inf)


def _readable(edges: Sequence[float]) -> list[float]:
    """Return edges with few digits: each moves by less than 1% of the narrower bin beside it.

    Edges move down, the last one up, so a bin keeps the value that it begins with and all values
    stay covered.
    """
    with np.errstate(over="ignore"):
        widths = np.diff(edges)
    beside = np.minimum(np.concatenate([widths[:1], widths]), np.concatenate([widths, widths[-1:]]))
    rounded = [_rounded(e, w, ROUND_FLOOR) for e, w in zip(edges, beside, strict=True)]
    rounded[-1] = _rounded(edges[-1], beside[-1], ROUND_CEILING)
    return rounded if all(a < b for a, b in pairwise(rounded)) else [*edges]


def _rounded(edge: float, width: float, direction: str) -> float:
    if not math.isfinite(width):
        return edge
    step = Decimal((0, (1,), math.floor(math.log10(width)) - FINEST))
    return float(Decimal(edge).quantize(step, direction, Context(prec=400, Emin=-9999, Emax=9999)))


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the bins between edges.

    Examples
    --------
    >>> bin_labels([17, 26, 90]), bin_labels([float("-inf"), 10, 50, float("inf")])
    (('[17, 26)', '[26, 90]'), ('< 10', '[10, 50)', '>= 50'))
    """
    last = len(edges) - 2
    return tuple(_label(edges[i], edges[i + 1], i == last) for i in range(last + 1))


def _label(low: float, high: float, last: bool) -> str:
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"< {number_label(float(high))}"
    if math.isinf(high):
        return f">= {number_label(float(low))}"
    return f"[{number_label(float(low))}, {number_label(float(high))}{']' if last else ')'}"
