"""Logarithms of ratios, with the conventions for zero that are used everywhere.

* An outcome that no input can produce (0/0) is excluded from maxima over outcomes.
* An outcome possible under one input and impossible under another is an infinite ratio.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.rounding import ROOT_SCALE, round_up

LARGE_EPSILON = 690.0
"""Above this exp(epsilon) nears overflow; callers then use another formula."""


# Likelihood ratios --------------------------------------------------------------------


def quotient(upper: Floats, lower: Floats) -> Floats:
    """Return the ratio upper / lower; 0 for 0/0, infinite for a positive number over
    0.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = upper / lower
    return np.where(upper == 0, 0.0, ratio)


def pair_log_ratios(upper: Floats, lower: Floats) -> Floats:
    """Return ln max over reports y of upper_x(y) / lower_x'(y), for each pair (x, x')
    of values.

    Parameters
    ----------
    upper, lower
        Upper and lower bounds of p(y given x), one row per report y and one column per
        value x of one target; twice the same array if the likelihoods are known.
    """
    columns = range(upper.shape[1])
    ratios = [quotient(upper[:, [x]], lower).max(axis=0, initial=0.0) for x in columns]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(ratios))


def largest_log_ratio(
    upper: Floats,
    lower: Floats,
    starts: Integers,
    guard: float | Floats,
    occurs: Booleans | None = None,
) -> Floats:
    """Return ln max over reports y and values x != x' of upper_x(y) / lower_x'(y), by
    target.

    Parameters
    ----------
    upper, lower
        Upper and lower bounds of p(y given x): the last axis has the values x of all
        targets, concatenated, the others have the reports y.  If the likelihoods are
        known, twice the same array.
    starts
        The index of each target's first value.
    guard
        Absolute rounding error of a log-ratio of the bounds, see `rounding`; or one per
        target.
    occurs
        Mask, broadcast against the bounds, of the values to compare; all by default.

    Returns
    -------
    Floats
        One logarithm per target, rounded up by more than its own and the bounds'
        rounding errors; 0 for a target with a single value.

    Examples
    --------
    >>> from seepage._core.rounding import rounding
    >>> known, starts = np.array([[0.9, 0.2, 0.5], [0.1, 0.8, 0.5]]), np.array([0, 2])
    >>> largest_log_ratio(known, known, starts, rounding([2])).round(4).tolist()
    [2.0794, 0.0]
    """
    known = upper is lower
    sizes = np.diff(starts, append=upper.shape[-1])
    if occurs is not None:
        upper = np.where(occurs, upper, 0.0)
        lower = np.where(occurs, lower, np.inf)
    if known:  # x = x' has ratio 1
        highest = np.maximum.reduceat(upper, starts, axis=-1)
        ratios = quotient(highest, np.minimum.reduceat(lower, starts, axis=-1))
        largest = ratios.reshape(-1, len(starts)).max(axis=0, initial=1.0)
    else:
        largest = _largest_of_different(upper, lower, starts, sizes)
    return np.where(sizes > 1, round_up(np.log(largest), 8) + guard, 0.0)


def _largest_of_different(
    upper: Floats, lower: Floats, starts: Integers, sizes: Integers
) -> Floats:
    """Return the largest ratio upper_x(y) / lower_x'(y) over y and x != x', at least 1,
    by target.
    """
    largest = np.ones(len(starts))
    for size in np.unique(sizes[sizes > 1]).tolist():
        targets = np.flatnonzero(sizes == size)
        columns = starts[targets][:, None] + np.arange(size)
        high = upper[..., columns]
        low = lower[..., columns]
        first, second = (-np.partition(-high, 1, axis=-1)[..., i] for i in (0, 1))
        least, next_least = (np.partition(low, 1, axis=-1)[..., i] for i in (0, 1))
        different = np.maximum(quotient(second, least), quotient(first, next_least))
        same_value = high.argmax(axis=-1) == low.argmin(axis=-1)
        ratios = np.where(same_value, different, quotient(first, least))
        ratios_by_target = ratios.reshape(-1, len(targets))
        largest[targets] = ratios_by_target.max(axis=0, initial=1.0)
    return largest


@lru_cache(maxsize=256)
def one_minus_exp(epsilon: float) -> float:
    """Return 1 - e^-eps for log-ratios, as NumPy computes it for arrays."""
    return float(-np.expm1(-epsilon))


def log_ratio(difference: ArrayLike, smaller: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return ln (1 + lambda A) / (1 + lambda B), with A = B + difference and lambda =
    e^eps - 1.

    Parameters
    ----------
    difference
        A - B >= -B, summed from its parts, so that small leakages keep their relative
        precision.
    smaller
        B >= 0.
    epsilon
        The budget eps >= 0, broadcast against the other two; it may be infinite.

    Notes
    -----
    With w = exp(-eps) the ratio is 1 + (1 - w)(A - B) / (w + (1 - w) B), evaluated with
    a few roundings.  Where that quotient overflows (eps above 700 and B near 0) it is
    the difference `logaddexp(-eps, ln A) - logaddexp(-eps, ln B)`.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    gap = np.asarray(difference, dtype=np.float64)
    low = np.asarray(smaller, dtype=np.float64)
    weight = -np.expm1(-eps)
    floor = (np.exp(-eps / 2) * ROOT_SCALE) ** 2
    scale = weight * ROOT_SCALE**2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = scale * gap / (floor + scale * low)
        ratio = np.log1p(quotient)
        if np.isfinite(quotient).all():
            return np.asarray(ratio)
        of_logs = np.logaddexp(-eps, np.log(low + gap)) - np.logaddexp(
            -eps, np.log(low)
        )
    return np.where(gap == 0, 0.0, np.where(np.isinf(quotient), of_logs, ratio))
