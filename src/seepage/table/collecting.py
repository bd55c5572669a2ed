"""The numbers of a column, gathered in bounded memory to find its bin edges."""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Floats, Integers

__all__ = ["SAMPLE", "Collector", "priorities"]

Priorities: TypeAlias = NDArray[np.uint64]

SAMPLE = 2**18
"""Records whose fractional numbers are kept; with no more records the quantiles are exact."""

HISTOGRAM = 2**16
"""The widest span of whole numbers that are counted one by one, whatever their number."""

EXACT = 2**53
"""Whole numbers below are exact in double precision."""

SEED = 20_240_607
"""Fixes which records are sampled: the same table has the same edges every time."""


def priorities(first: int, count: int) -> Priorities:
    """Return a pseudo-random 64-bit number for each record, by its number in the table alone.

    The records with the smallest numbers are a uniform sample of the table that does not depend
    on how it is cut in batches.
    """
    return np.asarray(np.random.PCG64(SEED).advance(first).random_raw(count), dtype=np.uint64)


class Collector:
    """What bin edges need to know about the numbers of one column.

    Smallest and largest value are exact.  Whole numbers within a span of 65,536 are counted one
    by one; of others a uniform sample of 262,144 is kept, so a quantile is off by about 0.1% of
    the records (one standard deviation) at most.

    Attributes
    ----------
    low, high
        The smallest and the largest number so far; infinite and crossed before the first.
    whole
        Whether all numbers so far are whole.
    """

    def __init__(self) -> None:
        self.low = math.inf
        self.high = -math.inf
        self.whole = True
        self._single = False
        self._first = 0
        self._counts: Integers | None = np.zeros(0, dtype=np.int64)
        self._values: list[Floats] = []
        self._ranks: list[Priorities] = []
        self._kept = 0
        self._bar: int | None = None

    def add(self, values: NDArray[Any], ranks: Priorities) -> None:
        """Take numbers (none of them NaN) with the priorities of their records."""
        if not len(values):
            return
        self._single = values.dtype == np.float32
        low, high = self.decimal(values.min()), self.decimal(values.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.whole and values.dtype.kind == "f":
            self.whole = math.isfinite(low + high) and bool((values == np.floor(values)).all())
        self._count(values)
        self._sample(values, ranks)

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

    def decimal(self, value: float) -> float:
        """Return a value as the shortest decimal that means it in the column's own precision."""
        return float(str(np.float32(value))) if self._single else float(value)

    def distinct(self) -> tuple[Floats, Integers]:
        """Return the values (all, or of the sample) in ascending order, and their counts."""
        if self._counts is not None:
            present = np.flatnonzero(self._counts)
            return (present + self._first).astype(np.float64), self._counts[present]
        self._thin()
        values, counts = np.unique(self._values[0], return_counts=True)
        return values, counts.astype(np.int64)
