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
    return ConfidenceLimits(
        lower=binomial_confidence_limit(counts, totals, c, above=False),
        upper=binomial_confidence_limit(counts, totals, c, above=True),
    )


def binomial_confidence_limit(
    counts: ArrayLike, totals: ArrayLike, c: ArrayLike, above: bool
) -> Floats:
    """Return the upper limits of proportions by `clopper_pearson` if `above`, else the
    lower ones.
    """
    k, n, level = np.broadcast_arrays(
        np.asarray(counts, dtype=np.float64),
        np.asarray(totals, dtype=np.float64),
        np.asarray(c, dtype=np.float64),
    )
    limit = np.full(k.shape, float(above))
    exact = (n > 0) & (n <= MAX_BINOMIAL) & (level <= MAX_C)
    if exact.any():
        alpha = -np.expm1(-np.exp(-level[exact]))
        tail = _upper_limit if above else _lower_limit
        limit[exact] = tail(k[exact], (n - k)[exact], alpha)
    rest = ~exact & (n > 0)
    if rest.any():
        kl_limit = kl_upper if above else kl_lower
        limit[rest] = kl_limit(k[rest] / n[rest], level[rest] / n[rest])
    if above:
        return np.minimum(limit * (1 + GUARD), 1.0)
    return limit * (1 - GUARD)


def _lower_limit(hits: Floats, misses: Floats, alpha: Floats) -> Floats:
    """Return the lower limit of a proportion, p with P(Binomial(n, p) >= hits) = alpha;
    0 without a hit.
    """
    limit = np.zeros(hits.shape)
    all_hits = (hits > 0) & (misses == 0)
    limit[all_hits] = np.exp(np.log(alpha[all_hits]) / hits[all_hits])
    inner = (hits > 0) & (misses > 0)
    if inner.any():
        from scipy.special import betaincinv

        limit[inner] = betaincinv(hits[inner], misses[inner] + 1, alpha[inner])
    return limit


def _upper_limit(hits: Floats, misses: Floats, alpha: Floats) -> Floats:
    """Return the upper limit of a proportion, p with P(Binomial(n, p) <= hits) = alpha;
    1 without a miss.
    """
    limit = np.ones(hits.shape)
    no_hits = (hits == 0) & (misses > 0)
    limit[no_hits] = -np.expm1(np.log(alpha[no_hits]) / misses[no_hits])
    inner = (hits > 0) & (misses > 0)
    if inner.any():
        from scipy.special import betainccinv

        limit[inner] = betainccinv(hits[inner] + 1, misses[inner], alpha[inner])
    return limit


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
    k, rest, alpha = np.broadcast_arrays(
        np.asarray(hits, dtype=np.float64), np.asarray(misses, dtype=np.float64), level
    )
    return ConfidenceLimits(
        lower=_lower_limit(k, rest, alpha),
        upper=_upper_limit(k, rest, alpha),
    )


def quantile_intervals(samples: Floats, levels: Iterable[float], beta: float) -> Floats:
    """Return quantiles of each row with limits from those of proportions: rows by
    levels by (quantile, low, high).

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
