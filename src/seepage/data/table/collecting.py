"""What is collected about a table in bounded memory: samples of records, numbers for bin edges.

Both are made from batches or shards of a table in any order, and merged.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.table.labels import single_number
from seepage.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from seepage.data.table.column import Column
    from seepage.data.table.sources import Source


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


def take_numbers(
    column: "Column", array: "pa.Array", ranks: Priorities | None, collector: Collector | None
) -> Booleans | None:
    """Give the numbers of a batch to their collector; return which are missing, None for none."""
    from seepage.data.table.numbers import numbers_of

    values, missing = numbers_of(array, column.markers)
    if collector is not None and ranks is not None:
        there = slice(None) if missing is None else ~missing
        collector.add(values[there], ranks[there])
    return missing


def collect_numbers(
    source: "Source", columns: "Sequence[Column]", first: int = 0, shares: Sequence[float] = ()
) -> list[Collector | None]:
    """Return the numbers of some columns of a table or shard, for their bin edges.

    Parameters
    ----------
    source, columns
        The records and the columns; only these are read, once.
    first
        The number of records of the table before the source.
    shares
        The share of the numbers of each column that is kept, of what is not counted one by one;
        all by default.

    Returns
    -------
    list
        The numbers of each column; None for a column of a text file that turned out to hold
        words too, whose values stay categories.
    """
    from seepage.data.table.coders import unpacked
    from seepage.data.table.numbers import NotANumber

    found: list[Collector | None] = [Collector(share) for share in shares or [1.0] * len(columns)]
    before = first
    for batch in source.batches([column.source for column in columns]):
        ranks = priorities(before, batch.num_rows)
        for place, column in enumerate(columns):
            if found[place] is None:
                continue
            try:
                take_numbers(column, unpacked(batch.column(column.source)), ranks, found[place])
            except NotANumber as problem:
                if column.named:
                    raise column.not_a_number(problem, before) from None
                column.settle((), stray=problem.word)
                found[place] = None
        before += batch.num_rows
        if all(numbers is None for numbers in found):
            break
    return found


def edges_of(column: "Column", numbers: Collector) -> tuple[float, ...]:
    """Return the bin edges of a column from its numbers; none where it has no number."""
    if numbers.low > numbers.high:
        return ()
    if column.given_edges:
        return column.given_edges
    if not (math.isfinite(numbers.low) and math.isfinite(numbers.high)):
        raise TableError(
            f"column {column.name!r} has infinite numbers; give it bins with the edges -inf, 0, "
            "inf, for example"
        )
    return column.rule.edges(numbers)
