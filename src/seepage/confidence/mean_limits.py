"""Distribution-free confidence limits of a population mean or quantile from a sample.

These limits are one-sided and wrong with probability at most e^-c for every
distribution: for records drawn independently, and for records drawn without replacement
[theory-population: One statement].

* `clopper_pearson`: a proportion, from the exact binomial tail (in
  `proportion_limits`);
* `kl_upper`, `kl_lower`: the mean of any variable in [0, 1], from the
  Chernoff-Hoeffding inequality;
* `kl_inf_interval`: the mean of a variable with a known empirical distribution,
  narrower where its variance is small.

The latter two are optima over a free parameter, *every value of which* gives a valid
limit.  So an iteration that stops early gives a wider limit, never a wrong one.  All
these limits are moved outwards by the relative `GUARD`, which is far above their
rounding errors.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from seepage._core.arrays import Floats

GUARD = 1e-11
"""Relative amount by which every limit is rounded outwards."""


MAX_SLOPE = 600.0
"""Largest exponent h of Chernoff's inequality: e^h must be a float."""


ROUNDS = 6
"""Iterations; each about doubles the number of correct digits."""


LINE_ROUNDS = 3
"""Iterations for the slopes of lines, which need not touch exactly."""


class ConfidenceLimits(NamedTuple):
    """Lower and upper limits, of one shape."""

    lower: Floats
    upper: Floats


def _as_floats(*arrays: ArrayLike) -> list[Floats]:
    """Return the arguments of limits of means as arrays of floats."""
    floats = [np.asarray(array, dtype=np.float64) for array in arrays]
    return list(np.broadcast_arrays(*floats))


def kl_upper(mean: ArrayLike, radius: ArrayLike, rounds: int = ROUNDS) -> Floats:
    """Return the upper limit of a mean, max {q : kl(mean, q) <= radius}, kl the
    Bernoulli relative entropy, rounded up.

    With radius c/n an upper limit of the mean of a variable in [0, 1] from n
    observations, wrong with probability at most e^-c [Hoeffding 1963, theorem 1].

    Notes
    -----
    For every h, kl(a, q) >= -h a - ln(1 - q (1 - e^-h)), so

        q <= (1 - e^(-h a - r)) / (1 - e^-h).

    The best h is ln(q (1 - a)/(a (1 - q))) at the limit q itself, found by iteration.

    Examples
    --------
    >>> kl_upper([0.0, 0.1, 1.0], 0.01).round(4).tolist()
    [0.01, 0.1477, 1.0]
    """
    a, r = _as_floats(mean, radius)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        limit = _chernoff(a, r, upper_slope(a, 1.0 - a, r, rounds))
        limit = np.where(a <= 0, -np.expm1(-r), limit)
    return np.where(a >= 1, 1.0, np.minimum(limit * (1 + GUARD), 1.0))


def kl_lower(mean: ArrayLike, radius: ArrayLike, rounds: int = ROUNDS) -> Floats:
    """Return the lower limit of a mean, min {q : kl(mean, q) <= radius}, rounded down:
    1 - kl_upper(1 - mean, radius).

    Examples
    --------
    >>> kl_lower([0.0, 0.1, 1.0], 0.01).round(4).tolist()
    [0.0, 0.0629, 0.99]
    """
    a, r = _as_floats(mean, radius)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        h = upper_slope(1.0 - a, a, r, rounds)
        limit = np.expm1(h * a - r) / np.expm1(h)
        limit = np.where(a >= 1, np.exp(-r), limit)
    return np.where(a <= 0, 0.0, np.maximum(limit, 0.0) * (1 - GUARD))


def kl_interval(
    means: Floats, totals: ArrayLike, c: float, rounds: int = ROUNDS
) -> ConfidenceLimits:
    """Return the limits `kl_lower` and `kl_upper` of means of n observations each; 0
    and 1 where n = 0.
    """
    n = np.asarray(totals)
    radius = c / np.maximum(n, 1)
    lower = kl_lower(means, radius, rounds)
    upper = kl_upper(means, radius, rounds)
    return ConfidenceLimits(np.where(n > 0, lower, 0.0), np.where(n > 0, upper, 1.0))


def _chernoff(a: Floats, r: Floats, h: Floats) -> Floats:
    """Return Chernoff's upper limit of a mean, (1 - e^(-h a - r))/(1 - e^-h), valid for
    every h > 0.
    """
    return np.asarray(np.expm1(-(h * a + r)) / np.expm1(-h))


def upper_slope(a: Floats, b: Floats, r: Floats, rounds: int = ROUNDS) -> Floats:
    """Return an approximation of the h that minimises Chernoff's upper limit of a mean,
    for 0 < a < 1.

    Parameters
    ----------
    a, b
        The mean and 1 - a, given separately so that neither loses precision near 0.
    r
        The radius.

    Notes
    -----
    Starts from the largest of several elementary lower bounds on 1 - q.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        a = np.maximum(a, 1e-300)
        b = np.maximum(b, 1e-300)
        log_odds = np.log(b) - np.log(a)
        start = b * np.exp(-(r - a * np.log(np.minimum(a, 1.0))) / b)
        start = np.maximum(start, b - r - np.sqrt(r * r + 2 * a * r))
        start = np.where(a >= 0.5, np.maximum(start, b - np.sqrt(2 * r * a * b)), start)
        wilson = (a + r + np.sqrt(r * (r + 2 * a * b))) / (1 + 2 * r)
        start = np.where(wilson <= 0.5, np.maximum(start, 1.0 - wilson), start)
        q = np.maximum(1.0 - start, a)
        one_minus_q = np.clip(start, 1e-300, b)
        for _ in range(rounds):
            h = np.clip(np.log(q) - np.log(one_minus_q) + log_odds, 1e-12, MAX_SLOPE)
            q = np.clip(_chernoff(a, r, h), a, 1.0)
            one_minus_q = np.clip(np.expm1(h * b - r) / np.expm1(h), 1e-300, b)
    return np.asarray(
        np.clip(np.log(q) - np.log(one_minus_q) + log_odds, 1e-12, MAX_SLOPE)
    )


def tangent_lines(
    above: ArrayLike, below: ArrayLike, radius: ArrayLike, radius_below: ArrayLike
) -> tuple[Floats, Floats]:
    """Return lines above `kl_upper` and below `kl_lower` of all means, tangent at the
    given ones.

    kl_upper(a, r) <= (1 - e^(-h a0 - r) (1 - h (a - a0)))/(1 - e^-h) for every h > 0,
    and kl_lower(b, r) = 1 - kl_upper(1 - b, r).

    Returns
    -------
    tuple[Floats, Floats]
        The constants and the slopes in the mean; rows: the lines above, and those
        below.
    """
    a, b, r, r_below = _as_floats(above, below, radius, radius_below)
    mean = np.stack([a, 1.0 - b])
    level = np.stack([r, r_below])
    h = upper_slope(mean, np.stack([1.0 - a, b]), level, LINE_ROUNDS)
    exponent = h * mean + level
    width = -np.expm1(-h)
    power = np.exp(-exponent)
    slope = np.where(mean < 1, power * h / width, 0.0)
    top = np.where(
        a < 1, (-np.expm1(-exponent[0]) - power[0] * h[0] * a) / width[0], 1.0
    )
    # numerator and denominator divided by e^h, so that e^(h b) cannot overflow
    bottom = np.where(
        b > 0, (power[1] * (1 - h[1] * b) - np.exp(-h[1])) / width[1], 0.0
    )
    constant = np.stack([top, bottom])
    outwards = GUARD * np.array([1.0, -1.0]).reshape(2, *[1] * a.ndim)
    guarded = constant + outwards * (np.abs(constant) + slope * np.stack([a, b]))
    return guarded, slope * (1 + outwards)


def mixture_radius(totals: ArrayLike, c: ArrayLike) -> Floats:
    """Return the radius of limits of means, r = (c + ln(sqrt(pi) Gamma(n + 1)/Gamma(n +
    1/2)))/n, rounded up.

    The logarithm is the regret of a mixture over all constant bets against the best of
    them [Cover and Ordentlich 1996].  Infinite for n = 0.
    """
    from scipy.special import gammaln

    n = np.asarray(totals, dtype=np.float64)
    with np.errstate(divide="ignore"):
        # Gamma(n + 1)/Gamma(n + 1/2) <= sqrt(n + 1/2) [Gautschi]; logarithms cancel for
        # large n
        regret = np.where(
            n > 1e6, 0.5 * np.log(n + 0.5), gammaln(n + 1) - gammaln(n + 0.5)
        )
        radius = (np.asarray(c) + 0.5 * math.log(math.pi) + regret + 1e-8) / n
    return np.asarray(radius * (1 + GUARD))


def kl_inf_interval(
    weights: ArrayLike,
    shares: ArrayLike,
    radius: ArrayLike,
    least: ArrayLike,
    most: ArrayLike,
    *,
    rounds: int = ROUNDS,
) -> ConfidenceLimits:
    """Return limits of the mean of weights in [least, most], from their empirical
    distribution.

    The largest and the smallest mean of any distribution Q on [least, most] with
    relative entropy KL(shares, Q) <= radius, rounded outwards: with `mixture_radius`
    each is wrong with probability at most e^-c [theory-population: One statement].

    Parameters
    ----------
    weights
        The distinct weights w_i, along the last axis.
    shares
        Their empirical probabilities p_i, along the last axis; broadcast against the
        weights.
    radius, least, most
        The radius r and the range of the weights; broadcast to the shape of the result.
    rounds
        Iterations of Newton's method.

    Notes
    -----
    The upper limit is min over nu >= most of nu - exp(sum p_i ln(nu - w_i) - r), the
    lower one max over nu >= -least of exp(sum p_i ln(nu + w_i) - r) - nu: convex
    problems in one variable, and every nu gives a valid limit.  About 5 iterations of
    Newton's method over all weights.

    Examples
    --------
    >>> found = kl_inf_interval(
    ...     [0.5, 1.0], [0.9, 0.1], mixture_radius(1000, 5.0), 0.0, 1.0
    ... )
    >>> round(float(found.lower), 3), round(float(found.upper), 3)
    (0.532, 0.573)
    """
    w, p = _as_floats(weights, shares)
    shape = np.broadcast_shapes(
        w.shape[:-1], np.shape(radius), np.shape(least), np.shape(most)
    )
    r = np.broadcast_to(np.asarray(radius, np.float64), shape)
    low = np.broadcast_to(np.asarray(least, np.float64), shape)
    high = np.broadcast_to(np.asarray(most, np.float64), shape)
    infinite = ~np.isfinite(r)
    r = np.where(infinite, 1.0, r)
    upper = high - _mean_below(np.maximum(high[..., None] - w, 0.0), p, r, rounds)
    lower = low + _mean_below(np.maximum(w - low[..., None], 0.0), p, r, rounds)
    guard = GUARD * (np.abs(low) + np.abs(high))
    upper = np.where(infinite, high, np.clip(upper + guard * (upper < high), low, high))
    lower = np.where(infinite, low, np.clip(lower - guard * (lower > low), low, high))
    return ConfidenceLimits(np.asarray(lower), np.asarray(upper))


def _mean_below(gaps: Floats, p: Floats, r: Floats, rounds: int) -> Floats:
    """Return the lower limit of a mean, max over nu >= 0 of exp(sum p_i ln(nu + g_i) -
    r) - nu, for gaps g_i >= 0.

    At the maximum phi(nu) = sum p_i ln(nu + g_i) + ln sum p_i / (nu + g_i) equals r.
    For large nu phi is about variance / (2 nu^2), so Newton's method solves phi^(-1/2)
    = r^(-1/2).
    """
    mean = (p * gaps).sum(axis=-1)
    variance = (p * gaps * gaps).sum(axis=-1) - mean * mean
    nu = np.sqrt(np.maximum(variance, 0.0) / (2 * r))
    best = np.zeros(np.shape(mean))
    tiny = 1e-300 + 1e-14 * gaps.max(axis=-1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for iteration in range(rounds):
            nu = np.maximum(nu, tiny)
            shifted = nu[..., None] + gaps
            logarithm = np.einsum("...i,...i", p, np.log(shifted))
            best = np.fmax(best, np.exp(logarithm - r) - nu)
            if iteration == rounds - 1:
                break
            inverse = 1.0 / shifted
            first = np.einsum("...i,...i", p, inverse)
            second = np.einsum("...i,...i,...i", p, inverse, inverse)
            phi = logarithm + np.log(first)
            step = -2 * phi / (first - second / first) * (np.sqrt(phi / r) - 1)
            nu = np.where(np.isfinite(step), nu + np.maximum(step, -0.9 * nu), nu)
        log_mean = np.where(p > 0, p * np.log(gaps), 0.0).sum(axis=-1)
        best = np.fmax(best, np.exp(log_mean - r))  # at nu = 0
    return np.asarray(np.minimum(best, mean))
