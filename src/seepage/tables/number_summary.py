"""`NumberSummary`: range and distribution of the numbers of one column."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._core.arrays import Floats, Integers
from seepage.counting.record_samples import Priorities, PrioritySample
from seepage.tables.labels import single_number

SAMPLE_SIZE = 2**18
"""Records whose numbers are kept; tables with no more have exact quantiles."""


MAX_COUNTED = 2**16
"""Maximum number of distinct numbers that are counted one by one."""


class NumberSummary:
    """Range and distribution of the numbers of one column, from which bin edges follow.

    Minimum and maximum are exact.  Up to 65,536 distinct numbers are counted one by
    one; of more a uniform sample of 262,144 records is kept, so the rank of a quantile
    is off by at most about 0.1% of the records (one standard deviation).

    Parts of a table are summarised separately and merged.  The sample consists of the
    records of lowest priority in the whole table, so the edges do not depend on the
    parts.

    Attributes
    ----------
    low, high
        Minimum and maximum so far; `inf` and `-inf` before the first number.
    stray
        A value that is not a number that floats can represent, set by the caller; None
        if all are.
    integral
        Whether all numbers so far are integers, of any type (3.0 is one).
    """

    def __init__(self) -> None:
        """Begin a summary of a column's numbers."""
        self.low = math.inf
        self.high = -math.inf
        self.stray: str | None = None
        self.integral = True
        self._single = False
        self._counted: tuple[Floats, Integers] | None = (
            np.zeros(0),
            np.zeros(0, dtype=np.int64),
        )
        self._sample = PrioritySample(SAMPLE_SIZE)

    def add(self, values: NDArray[Any], priorities: Priorities) -> None:
        """Add numbers to the summary, none of them NaN, with the priorities of their
        records.
        """
        if not len(values):
            return
        self._single = values.dtype == np.float32
        low = self.decimal(values.min())
        high = self.decimal(values.max())
        self.low = min(self.low, low)
        self.high = max(self.high, high)
        if self.integral and not math.isfinite(low + high):
            self.integral = False
        if self.integral:
            self.integral = bool((values == np.floor(values)).all())
        if self._counted is not None:
            self._count(*np.unique(values, return_counts=True))
        candidates = self._sample.candidates(priorities)
        self._sample.add(values[candidates].astype(np.float64), priorities[candidates])

    def _count(self, values: NDArray[Any], counts: Integers) -> None:
        """Add the counts of distinct numbers to the summary; too many are not counted
        any more.
        """
        assert self._counted is not None
        known, known_counts = self._counted
        both = np.append(known, values)
        distinct, places = np.unique(both, return_inverse=True)
        weights = np.append(known_counts, counts)
        totals = np.bincount(places, weights).astype(np.int64)
        self._counted = None
        if len(distinct) <= MAX_COUNTED:
            self._counted = (distinct, totals)

    def merge(self, other: "NumberSummary") -> None:
        """Add the summary of the numbers of another part of the table."""
        self.low = min(self.low, other.low)
        self.high = max(self.high, other.high)
        self.stray = self.stray or other.stray
        self.integral = self.integral and other.integral
        self._single = self._single or other._single
        if self._counted is None or other._counted is None:
            self._counted = None
        else:
            self._count(*other._counted)
        self._sample.merge(other._sample)

    def decimal(self, value: float) -> float:
        """Return the shortest decimal that rounds to a summarised number in the
        precision of the column.
        """
        if self._single:
            return single_number(np.float32(value))
        return float(value)

    def distinct(self) -> tuple[Floats, Integers]:
        """Return the distinct numbers of the summary, all or those of its sample,
        ascending, and their counts.
        """
        if self._counted is not None:
            return self._counted
        values, counts = np.unique(self._sample.thinned()[0], return_counts=True)
        return values, counts.astype(np.int64)
