"""The number that each interval stands for in a mean: the mean within it, on the part.

With f_v the share of interval v and mu_v the mean of the numbers in it, the mean of a
column is M = sum_v f_v mu_v.  Reports give the shares; the part that fixed the answers
gives mu_v, with an error of its own that is independent of the reports.  An interval of
the mean is widened by

    sum_v f_v^2 s_v^2 / n_v,

s_v^2 the variance of the n_v numbers of the part in interval v.  Midpoints are off by
years of age and hours of work, and open intervals have none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage.channel.domain import Attribute
from seepage.channel.no_answer import MIN_SHARE_RECORDS
from seepage.tables.number_summary import NumberSummary


@dataclass(frozen=True)
class IntervalMoments:
    """The numbers of one interval, or of several beside each other.

    Parameters
    ----------
    people
        How many there are.
    total, squares
        Their sum and the sum of their squares.
    """

    people: int
    total: float
    squares: float

    def joined(self, other: "IntervalMoments") -> "IntervalMoments":
        """Return the moments of the numbers of two intervals."""
        return IntervalMoments(
            self.people + other.people,
            self.total + other.total,
            self.squares + other.squares,
        )

    @property
    def mean(self) -> float:
        """The mean of the numbers of an interval, its score."""
        return self.total / self.people

    @property
    def deviation(self) -> float:
        """The standard deviation of the numbers of an interval, for its score's
        error.
        """
        if self.people < 2:
            return 0.0
        excess = self.squares - self.total * self.mean
        return math.sqrt(max(excess, 0.0) / (self.people - 1))


def with_scores(attribute: Attribute, numbers: NumberSummary | None) -> Attribute:
    """Return a binned attribute with the means within its intervals, and their errors.

    Unchanged where the part has fewer than 20 numbers, or infinite ones.

    Parameters
    ----------
    attribute
        The attribute, as reported.
    numbers
        The numbers of the part.

    Notes
    -----
    A plan's file goes to every client.  So the mean of an interval with fewer than 20
    numbers, which could be those of single people, is that of the numbers in it and
    beside it, the nearer ones first, with their standard deviation as its error; and
    each mean is rounded to a digit of its error.

    Examples
    --------
    >>> days = NumberSummary()
    >>> days.add(np.repeat([0, 1, 2, 9], 50), np.zeros(200, dtype=np.uint64))
    >>> binned = Attribute("days", ("0", "1 or more"), (-math.inf, 1, math.inf))
    >>> with_scores(binned, days).scores, with_scores(binned, days).score_errors
    ((0.0, 4.0), (0.0, 0.3))
    """
    if numbers is None or len(attribute.edges) != attribute.answers + 1:
        return attribute  # no intervals, or "(missing)" is an answer of its own
    values, counts = numbers.distinct()
    if int(counts.sum()) < MIN_SHARE_RECORDS or not np.isfinite(values).all():
        return attribute
    moments = _moments(attribute.edges, values, counts)
    scores = list[float]()
    errors = list[float]()
    for index, of_interval in enumerate(moments):
        error = of_interval.deviation / math.sqrt(max(of_interval.people, 1))
        if of_interval.people < MIN_SHARE_RECORDS:
            of_interval = _pooled(moments, index)
            error = of_interval.deviation
        scores.append(_rounded(of_interval.mean, error))
        errors.append(_rounded_up(error))
    if len(set(scores)) == 1:
        return attribute
    return replace(attribute, scores=tuple(scores), score_errors=tuple(errors))


def _moments(
    edges: Sequence[float], values: Floats, counts: Integers
) -> list[IntervalMoments]:
    """Return the moments of the numbers of each interval; the last one includes its
    end.
    """
    inner = np.array(edges[1:-1])
    inside = (values >= edges[0]) & (values <= edges[-1])
    place = np.searchsorted(inner, values, side="right")
    moments = list[IntervalMoments]()
    for index in range(len(edges) - 1):
        here = inside & (place == index)
        people = counts[here]
        numbers = values[here]
        moments.append(
            IntervalMoments(
                int(people.sum()),
                float(people @ numbers),
                float(people @ numbers**2),
            )
        )
    return moments


def _pooled(moments: Sequence[IntervalMoments], index: int) -> IntervalMoments:
    """Return the moments of an interval and of those beside it, until they are of
    enough numbers.
    """
    pooled = moments[index]
    for distance in range(1, len(moments)):
        for beside in (index - distance, index + distance):
            is_needed = pooled.people < MIN_SHARE_RECORDS
            if is_needed and 0 <= beside < len(moments):
                pooled = pooled.joined(moments[beside])
    return pooled


def _step(error: float) -> float:
    """Return the power of ten of the first digit of a score's error."""
    return 10.0 ** math.floor(math.log10(error))


def _rounded(mean: float, error: float) -> float:
    """Return the score of an interval, a mean rounded to the first digit of its
    error.
    """
    if error <= 0:
        return mean
    step = _step(error)
    return float(f"{round(mean / step) * step:.12g}")


def _rounded_up(error: float) -> float:
    """Return an interval's score error, with that of its mean's two digits, rounded
    up.
    """
    if error <= 0:
        return 0.0
    step = _step(error)
    whole = math.hypot(error, step / math.sqrt(12))
    digit = _step(whole) / 10
    return float(f"{math.ceil(whole / digit) * digit:.12g}")


def integer_midpoints(labels: Sequence[str], edges: Sequence[float]) -> Floats | None:
    """Return the midpoints of intervals of integers as scores, "12 to 14" of 12 <= x <
    15.

    None unless the labels say that all are.

    Examples
    --------
    >>> integer_midpoints(["12 to 14", "15"], [12, 15, 16]).tolist()
    [13.0, 15.0]
    """
    midpoints = list[float]()
    for label, (low, high) in zip(labels, pairwise(edges), strict=True):
        if not (math.isfinite(low) and math.isfinite(high)):
            return None
        last = high - 1
        expected = f"{low:g} to {last:g}" if low < last else f"{low:g}"
        if label != expected:
            return None
        midpoints.append((low + last) / 2)
    return np.array(midpoints)
