"""The largest ratio of confidence limits over likely sets."""

import math

import numpy as np
from numpy.typing import ArrayLike

from seepage._core.arrays import Floats, Integers
from seepage._core.log_ratios import log_ratio
from seepage.confidence.mean_limits import ConfidenceLimits
from seepage.confidence.proportion_limits import clopper_pearson

BATCH = 12
"""Sets whose limits are computed at once."""


def set_limits(
    masses: ConfidenceLimits, contrast: ArrayLike, paired: bool
) -> ConfidenceLimits:
    """Return limits of the largest log-ratio of each likely set, from those of the
    set's mass in each row.

    Parameters
    ----------
    masses
        Limits of masses, shape (..., m, sets).
    contrast
        The contrast of the report, broadcast against the result, shape (..., sets).
    paired
        Whether the limits are those of the set or its complement, whichever are larger.
    """
    low, high = masses
    if paired:
        low = np.concatenate([masses.lower, 1.0 - masses.upper], axis=-1)
        high = np.concatenate([masses.upper, 1.0 - masses.lower], axis=-1)
    lower = _largest_ratios(low, high, contrast)
    upper = _largest_ratios(high, low, contrast)
    shape = (*low.shape[:-2], 1 + paired, -1)
    return ConfidenceLimits(
        lower=lower.reshape(shape).max(axis=-2), upper=upper.reshape(shape).max(axis=-2)
    )


def _largest_ratios(high: Floats, low: Floats, contrast: ArrayLike) -> Floats:
    """Return, for each set (last axis), the largest log-ratio of `high[x]` to
    `low[x']`, x != x'.

    The two largest `high` and the two smallest `low` suffice: at most one row has both
    extremes.
    """

    def ratio(above: Floats, below: Floats) -> Floats:
        """Return the log-ratio of two masses of a likely set."""
        below = np.maximum(below, 0.0)
        return log_ratio(np.minimum(above, 1.0) - below, below, contrast)

    top = high.argmax(axis=-2)
    bottom = low.argmin(axis=-2)
    first = high.max(axis=-2)
    last = low.min(axis=-2)
    ratios = ratio(first, last)
    same = top == bottom
    if not same.any():
        return ratios
    rows = np.arange(high.shape[-2])[:, None]
    second = np.where(rows == top[..., None, :], -np.inf, high).max(axis=-2)
    next_last = np.where(rows == bottom[..., None, :], np.inf, low).min(axis=-2)
    different = np.maximum(ratio(second, last), ratio(first, next_last))
    return np.where(same, different, ratios)


def ranked_limits(
    hits: Floats, totals: Integers, c: float, contrast: float, paired: bool
) -> tuple[float, float]:
    """Return the limits of the log-ratios of many likely sets of one pair; hits of
    shape (m, sets).

    Sets are ranked by simple limits, which are fast and never narrower than binomial
    ones.  The upper limit is exact: binomial limits are computed of all sets whose
    simple ones exceed the largest ratio so far.  The lower limit is the largest of the
    sets computed: any set gives a valid one.
    """
    people = totals[:, None]
    simple = set_limits(
        _simple_limits(hits, people, c + math.exp(-c)), contrast, paired
    )
    sets = largest_of_rows(simple.lower, BATCH)
    bounds = simple.upper
    bounds[sets] = -np.inf
    remaining = np.argsort(-bounds)
    lower = 0.0
    upper = 0.0
    while len(sets):
        masses = clopper_pearson(hits[:, sets], people, c)
        exact = set_limits(masses, contrast, paired)
        lower = max(lower, float(exact.lower.max()))
        upper = max(upper, float(exact.upper.max()))
        remaining = remaining[bounds[remaining] > upper]
        sets = remaining[:BATCH]
        remaining = remaining[BATCH:]
    return lower, upper


def largest_of_rows(values: Floats, count: int) -> Integers:
    """Return the indices of the `count` sets with the largest values, in no particular
    order.
    """
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, count)[:count]


def _simple_limits(hits: Floats, totals: Integers, c: float) -> ConfidenceLimits:
    """Return limits of the masses of sets that contain those of `kl_lower` and
    `kl_upper`, by elementary inequalities.

    kl(a, q) is the integral of (s - a)/(s (1 - s)) over s from a to q, so at least (q -
    a)^2/(2 v) with v the largest s (1 - s) there: q (1 - q), where that keeps q below
    1/2, or a (1 - a), or 1/4.
    """
    people = np.maximum(totals, 1)
    a = hits / people
    r = c / people
    root = np.sqrt(r * (r + 2 * a * (1.0 - a)))
    upper = _simple_upper_limit(a, r, root)
    complement = _simple_upper_limit(1.0 - a, r, root)
    empty = totals == 0
    lower = np.where(empty, 0.0, np.maximum(1.0 - complement, 0.0))
    return ConfidenceLimits(lower, np.where(empty, 1.0, np.minimum(upper, 1.0)))


def _simple_upper_limit(a: Floats, r: Floats, root: Floats) -> Floats:
    """Return an upper limit of the mass of a set, the smaller of two, `root` = sqrt(r
    (r + 2 a (1 - a))).

    The q with (q - a)^2 = 2 r q (1 - q), unless it exceeds 1/2; and a + sqrt(2 r v), v
    the largest s (1 - s) for s from a to 1.
    """
    wilson = (a + r + root) / (1 + 2 * r)
    s = np.maximum(a, 0.5)
    return np.minimum(wilson + (wilson > 0.5), a + np.sqrt(2 * r * (s * (1.0 - s))))
