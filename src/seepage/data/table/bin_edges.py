"""The numbers of a column, gathered in bounded memory to find its bin edges.

The pass over a table that finds the bin edges of some of its columns.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Floats, Integers
from seepage.data.table.bins import Edges
from seepage.data.table.coders import unpacked
from seepage.data.table.column import Column
from seepage.data.table.labels import single_number
from seepage.data.table.numbers import NotANumber, numbers_of
from seepage.data.table.sources import Source
from seepage.errors import TableError

__all__ = ["SAMPLE", "Collector", "Priorities", "edges_of", "find_edges", "priorities", "share_of"]

Priorities: TypeAlias = NDArray[np.uint64]

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
        self._values: list[Floats] = []
        self._ranks: list[Priorities] = []
        self._kept = 0
        self._seen = 0
        self._share = share
        self._bar = int(share * 2.0**64) if share < 1.0 else None

    @property
    def complete(self) -> bool:
        """Whether nothing is missing from the sample: its share held the records it is made of."""
        return self._counts is not None or self._kept >= min(SAMPLE, self._seen)

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
        self._count(values)
        self._sample(values, ranks)

    def _exact(self, value: Any) -> float | int:
        return int(value) if isinstance(value, np.integer) else self.decimal(value)

    def _count(self, values: NDArray[Any]) -> None:
        if self._counts is None:
            return
        far = max(-self.low, self.high) >= EXACT
        if far or not self.whole or self.high - self.low >= HISTOGRAM:
            self._counts = None
            return
        first, size = int(self.low), int(self.high - self.low) + 1
        if first != self._first or size != len(self._counts):
            wider = np.zeros(size, dtype=np.int64)
            shift = self._first - first if len(self._counts) else 0
            wider[shift : shift + len(self._counts)] = self._counts
            self._first, self._counts = first, wider
        self._counts += np.bincount(values.astype(np.int64) - first, minlength=size)

    def _sample(self, values: NDArray[Any], ranks: Priorities) -> None:
        self._seen += len(values)
        if self._bar is not None:
            chosen = ranks < np.uint64(self._bar)
            values, ranks = values[chosen], ranks[chosen]
        self._values.append(values.astype(np.float64))
        self._ranks.append(ranks)
        self._kept += len(values)
        if self._kept > 2 * SAMPLE:
            self._thin()

    def _thin(self) -> None:
        """Keep the `SAMPLE` records of lowest priority."""
        values, ranks = np.concatenate(self._values), np.concatenate(self._ranks)
        if len(values) > SAMPLE:
            lowest = np.argpartition(ranks, SAMPLE)
            self._bar = int(ranks[lowest[SAMPLE]])
            values, ranks = values[lowest[:SAMPLE]], ranks[lowest[:SAMPLE]]
        self._values, self._ranks, self._kept = [values], [ranks], len(values)

    def merge(self, other: "Collector") -> None:
        """Add the numbers of another part of the table."""
        if other.low > other.high:
            return
        if self.low > self.high:
            self.__dict__.update(other.__dict__)
            return
        first, theirs = self._first, other._first
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.whole = self.whole and other.whole
        self._single = self._single or other._single
        far = max(-self.low, self.high) >= EXACT or self.high - self.low >= HISTOGRAM
        if self._counts is None or other._counts is None or far or not self.whole:
            self._counts = None
        else:
            wider = np.zeros(int(self.high - self.low) + 1, dtype=np.int64)
            self._first = int(self.low)
            for begin, counts in ((first, self._counts), (theirs, other._counts)):
                wider[begin - self._first :][: len(counts)] += counts
            self._counts = wider
        self._values = [*self._values, *other._values]
        self._ranks = [*self._ranks, *other._ranks]
        self._kept += other._kept
        self._seen += other._seen
        bars = [bar for bar in (self._bar, other._bar) if bar is not None]
        self._bar = min(bars, default=None)
        if self._kept > 2 * SAMPLE:
            self._thin()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent: the sample thinned."""
        if self._values:
            self._thin()
        return self.__dict__

    def decimal(self, value: float) -> float:
        """Return a value as the shortest decimal that means it in the column's own precision."""
        return single_number(np.float32(value)) if self._single else float(value)

    def distinct(self) -> tuple[Floats, Integers]:
        """Return the values (all, or of the sample) in ascending order, and their counts."""
        if self._counts is not None:
            present = np.flatnonzero(self._counts)
            return (present + self._first).astype(np.float64), self._counts[present]
        self._thin()
        values, counts = np.unique(self._values[0], return_counts=True)
        return values, counts.astype(np.int64)


def find_edges(source: Source, columns: Sequence[Column]) -> None:
    """Settle the bins of columns, reading these columns of the whole table once.

    A column of a text file that also has fields that are no numbers stays a column of
    categories, unless the options bin it by name: then it is refused.  So does a column with one
    number only, and one of numbers that are closer together than floats.
    """
    pending = {}
    for column in columns:
        if isinstance(column.rule, Edges) and not column.fields:
            column.settle(column.rule.given)
        else:
            pending[column.source] = (column, Collector())
    if pending:
        _collect(source, pending)
    for column, collector in pending.values():
        column.settle(edges_of(column, collector))


def _collect(source: Source, pending: dict[str, tuple[Column, Collector]]) -> None:
    """Feed the collectors; columns that turn out to hold words are settled and taken out."""
    before = 0
    for batch in source.batches(list(pending)):
        ranks = priorities(before, batch.num_rows)
        for name in list(pending):
            column, collector = pending[name]
            try:
                values, missing = numbers_of(unpacked(batch.column(name)), column.markers)
            except NotANumber as refusal:
                if column.named:
                    raise column.not_a_number(refusal, before) from None
                column.settle((), stray=refusal.word)
                del pending[name]
                continue
            if missing is None:
                collector.add(values, ranks)
            else:
                collector.add(values[~missing], ranks[~missing])
        before += batch.num_rows
        if not pending:
            return


def edges_of(column: Column, collector: Collector) -> tuple[float, ...]:
    """Return the bin edges of a column from its numbers; none where it has no number."""
    if collector.low > collector.high:
        return ()
    if isinstance(column.rule, Edges):
        return column.rule.given
    if not (math.isfinite(collector.low) and math.isfinite(collector.high)):
        raise TableError(
            f"column {column.name!r} has infinite numbers; give its edges, e.g. "
            f"bins={{{column.name!r}: [-inf, 0, inf]}}"
        )
    return column.rule.edges(collector)
