"""Confidence limits of single cells, as distances on the logarithmic scale."""

import numpy as np

from seepage._numerics import Floats, Integers

__all__ = ["poisson_distances", "sampling_distances"]

MANY_REPORTS = 1e5
"""From so many reports on, Wilson and Hilferty's normal approximation is exact to 1e-9."""


def poisson_distances(reports: Floats, level: float) -> tuple[Floats, Floats]:
    """Return how far a count's lower and upper limits are from it, in logarithms.

    [Garwood 1936]: the limits of a Poisson count e at one-sided level a are the a-quantile of
    Gamma(e) and the (1 - a)-quantile of Gamma(e + 1).  A count of 0 has no lower limit, and its
    upper one, -ln a, is measured from half a report.

    Parameters
    ----------
    reports
        Counts, not necessarily whole: e reports have the relative variance 1/e.
    level
        The one-sided level a.

    Examples
    --------
    >>> down, up = poisson_distances(np.array([0.0, 10.0, 1e6]), 0.025)
    >>> down.round(4).tolist(), up.round(4).tolist()
    ([inf, 0.7349, 0.002], [1.9985, 0.6092, 0.002])
    """
    from scipy.special import gammainccinv, gammaincinv, ndtri

    down, up = np.full(reports.shape, np.inf), np.full(reports.shape, np.log(-2.0 * np.log(level)))
    few = (reports > 0) & (reports < MANY_REPORTS)
    count = reports[few]
    with np.errstate(divide="ignore"):
        down[few] = -np.log(gammaincinv(count, level) / count)
    up[few] = np.log(gammainccinv(count + 1.0, level) / count)
    many = reports >= MANY_REPORTS
    count, deviation = reports[many], -ndtri(level)
    down[many] = -3.0 * np.log1p(-1.0 / (9.0 * count) - deviation / (3.0 * np.sqrt(count)))
    shape = count + 1.0
    root = -1.0 / (9.0 * shape) + deviation / (3.0 * np.sqrt(shape))
    up[many] = 3.0 * np.log1p(root) + np.log1p(1.0 / count)
    return down, up


def sampling_distances(table: Integers, channel: Floats, level: float) -> tuple[Floats, Floats]:
    """Return how far W[x, y] of the population may be from the table's own, in logarithms.

    The n[x] records of target value x are a sample: C[u, y] is a number between low = min_u
    C[u, y] and high = max_u C[u, y], and W[x, y] its mean.  Scaled to [0, 1] it has the limits
    of a binomial share [Clopper and Pearson 1934]: exact where C[u, y] takes two values only, as
    for the guess of every symmetric mechanism, and wider than needed otherwise.  A cell with
    W[x, y] = 0 has no logarithm to start from; its distances are 0.

    Parameters
    ----------
    table
        Records, target value by source value; no row is empty.
    channel
        P(report given source value).
    level
        The one-sided level.

    Examples
    --------
    >>> table, channel = np.array([[90, 10], [10, 90]]), np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> down, up = sampling_distances(table, channel, 0.025)
    >>> down.round(3).tolist(), up.round(3).tolist()
    ([[0.056, 0.089], [0.089, 0.056]], [[0.036, 0.12], [0.12, 0.036]])
    """
    from scipy.special import betaincinv

    totals = table.sum(axis=1, keepdims=True).astype(np.float64)
    low, high = channel.min(axis=0), channel.max(axis=0)
    width = high - low
    own = (table @ channel) / totals
    scaled = np.divide(own - low, width, out=np.zeros_like(own), where=width > 0)
    hits = totals * np.clip(scaled, 0.0, 1.0)
    misses = totals - hits
    least = np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1.0), misses + 1.0, level), 0.0)
    tail = betaincinv(np.where(misses > 0, misses, 1.0), hits + 1.0, level)
    most = np.where(misses > 0, 1.0 - tail, 1.0)
    known = own > 0
    reference = np.log(np.where(known, own, 1.0))
    with np.errstate(divide="ignore"):
        down = reference - np.log(low + width * least)
        up = np.log(low + width * most) - reference
    return np.where(known, np.maximum(down, 0.0), 0.0), np.where(known, np.maximum(up, 0.0), 0.0)
