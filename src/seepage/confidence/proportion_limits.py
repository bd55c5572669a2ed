"""Confidence limits of a proportion: Clopper and Pearson, and order statistics."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from seepage._core.arrays import Floats
from seepage.confidence.mean_limits import GUARD, ConfidenceLimits, kl_lower, kl_upper

MAX_BINOMIAL = 10**9
"""Largest n for which binomial tails are inverted; beyond, the kl limits are used."""


MAX_C = 200.0
"""Largest c for which binomial tails are inverted; beyond, the kl limits are used."""


def clopper_pearson(
    counts: ArrayLike, totals: ArrayLike, c: ArrayLike
) -> ConfidenceLimits:
    """Return limits of proportions from counts, each wrong with probability at most
    e^-c.

    The upper limit p solves P(Binomial(n, p) <= k) = alpha, the lower one P(... >= k) =
    alpha [Clopper and Pearson 1934], with alpha = 1 - exp(-e^-c), slightly below e^-c:
    so they hold for samples drawn without replacement too [theory-population: One
    statement].

    Parameters
    ----------
    counts, totals
        k and n, integers with 0 <= k <= n, broadcast against each other.
    c
        At least ln 4.

    Notes
    -----
    With n = 0 the limits are 0 and 1.  About 2 microseconds for each limit.

    Examples
    --------
    >>> clopper_pearson([0, 5, 10], 10, np.log(40)).upper.round(4).tolist()
    [0.3094, 0.8135, 1.0]
    """
    lower, upper = (
        binomial_confidence_limit(counts, totals, c, above) for above in (False, True)
    )
    return ConfidenceLimits(lower, upper)


def binomial_confidence_limit(
    counts: ArrayLike, totals: ArrayLike, c: ArrayLike, above: bool
) -> Floats:
    """Return the upper limits of `clopper_pearson` if `above`, else the lower ones."""
    parts = (np.asarray(part, dtype=np.float64) for part in (counts, totals, c))
    k, n, level = np.broadcast_arrays(*parts)
    limit = np.full(k.shape, float(above))
    exact = (n > 0) & (n <= MAX_BINOMIAL) & (level <= MAX_C)
    extreme = exact & (k == (0 if above else n))
    inner = exact & (k > 0) & (k < n)
    power = np.log(_alpha(level[extreme])) / n[extreme]
    limit[extreme] = -np.expm1(power) if above else np.exp(power)
    if inner.any():
        from scipy.special import betainccinv, betaincinv

        hits = k[inner]
        misses = (n - k)[inner]
        alpha = _alpha(level[inner])
        if above:
            limit[inner] = betainccinv(hits + 1, misses, alpha)
        else:
            limit[inner] = betaincinv(hits, misses + 1, alpha)
    rest = ~exact & (n > 0)
    if rest.any():
        kl_limit = kl_upper if above else kl_lower
        limit[rest] = kl_limit(k[rest] / n[rest], level[rest] / n[rest])
    return np.minimum(limit * (1 + GUARD), 1.0) if above else limit * (1 - GUARD)


def _alpha(c: Floats) -> Floats:
    """Return 1 - exp(-e^-c), the error probability of one limit."""
    return np.asarray(-np.expm1(-np.exp(-c)))


def proportion_interval(
    hits: ArrayLike, misses: ArrayLike, level: float
) -> ConfidenceLimits:
    """Return the textbook limits of proportions [Clopper and Pearson 1934], for
    independent draws.

    Each limit is wrong with probability at most `level`.  Unlike those of
    `clopper_pearson` they are not rounded outwards and need not hold for samples drawn
    without replacement.

    Parameters
    ----------
    hits, misses
        Numbers of draws that count and that do not, broadcast against each other; sums
        of weights in [0, 1] need not be integers.
    level
        The one-sided error probability.

    Examples
    --------
    >>> proportion_interval([0, 5, 10], [10, 5, 0], 0.025).upper.round(4).tolist()
    [0.3085, 0.8129, 1.0]
    """
    k, rest = (np.asarray(part, dtype=np.float64) for part in (hits, misses))
    return ConfidenceLimits(
        _lower_proportion(k, rest, level), 1.0 - _lower_proportion(rest, k, level)
    )


def _lower_proportion(hits: Floats, misses: Floats, level: float) -> Floats:
    from scipy.special import betaincinv

    some = hits > 0
    return np.where(
        some, betaincinv(np.where(some, hits, 1.0), misses + 1.0, level), 0.0
    )


def quantile_intervals(samples: Floats, levels: Iterable[float], beta: float) -> Floats:
    """Return quantiles of each row with limits: rows by levels by (quantile, low,
    high).

    Samples are independent and at least 0; the limits of one quantile are wrong with
    probability at most beta.  The l-th smallest of n draws exceeds the q quantile with
    probability at most P(Bin(n, q) < l), and the u-th is below it with probability at
    most P(Bin(n, q) >= u): l is the largest and u the smallest integer for which these
    are at most beta / 2; if there is no such draw, the limit is 0 or infinity.

    Examples
    --------
    >>> quantile_intervals(np.arange(100.0)[None], [0.5], 0.05).tolist()
    [[[49.0, 39.0, 60.0]]]
    """
    from scipy.special import bdtr, bdtrc

    count = samples.shape[1]
    ends = ((0, 0), (0.0, np.inf))
    padded = np.pad(np.sort(samples, axis=1), ((0, 0), (1, 1)), constant_values=ends)
    indices = np.arange(count)
    results = []
    for level in levels:
        low = int(np.count_nonzero(bdtr(indices, count, level) <= beta / 2))
        high = 1 + int(np.count_nonzero(bdtrc(indices, count, level) > beta / 2))
        middle = max(1, int(np.ceil(level * count - 1e-9)))
        results.append(padded[:, [middle, low, min(high, count + 1)]])
    return np.stack(results, axis=1)
