"""`Gathered`: the numbers of a column, found in many places and put together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage.table.collecting import EXACT, HISTOGRAM, SAMPLE, Collector

__all__ = ["Gathered", "share_of"]

SPARE = 1.1
"""So many times the sample is kept at first, that it is complete in spite of chance."""


def share_of(rows: int | None) -> float:
    """Return the share of a table's records that holds the sample of those of lowest priority."""
    return 1.0 if rows is None else min(1.0, SPARE * SAMPLE / max(rows, 1))


class Gathered(Collector):
    """A `Collector` that merges: the same edges, wherever the numbers were.

    The sample is of the records of lowest priority in the whole table, so the edges are those
    that one machine finds.  With n records, each shard keeps those whose priority is among the
    lowest 1.1 x 262,144 / n of all possible ones; that fewer than 262,144 are among them is less
    likely than 10^-500.

    Parameters
    ----------
    share
        The share of priorities that is kept.
    """

    def __init__(self, share: float = 1.0) -> None:
        super().__init__()
        if share < 1.0:
            self._bar = int(share * 2.0**64)

    def merge(self, other: "Gathered") -> None:
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
        bars = [bar for bar in (self._bar, other._bar) if bar is not None]
        self._bar = min(bars, default=None)
        if self._kept > 2 * SAMPLE:
            self._thin()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent: the sample thinned."""
        if self._values:
            self._thin()
        return self.__dict__

    def __setstate__(self, state: dict[str, NDArray[Any]]) -> None:
        self.__dict__.update(state)
