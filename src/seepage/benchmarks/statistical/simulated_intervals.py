"""Corrected estimate and confidence interval of the leakage from a simulated
collection.

The plug-in estimate is the maximum of many noisy log-ratios, hence biased upward,
strongly so for rare target values.  Two corrections:

*Pooling.*  A report depends on the target only through the source, so the reports of
all records with source value u, whatever their target value, estimate the same row of
the channel:

    C^[u, y] = reports y of source value u / all reports of u,    W^ = G C^,

with G[x, u] = n[x, u] / n[x] of the table itself.  A target value with one record has
50 reports of its own at 50 replicas, but its row of W^ uses those of all records with
the same source value: a mean squared error 10 to 1,000 times smaller, from the same
simulated reports.

*Maximum of many.*  For j = (x, x', y) let l_j = ln W^[x, y] - ln W^[x', y], with limits
l_j - down_j(a) and l_j + up_j(a) at one-sided level a.  The leakage is the maximum of
the true values, so [Chernozhukov, Lee and Rosen 2013, "Intersection bounds"]

* upper = max_j l_j + up_j(alpha/2) needs no correction: it must hold for the true
  maximum only;
* lower = max_j l_j - down_j(a / K) must hold for all j that may attain the maximum; K
  of them are left after screening out those below the maximum at simultaneous level
  alpha/20;
* corrected = max_j l_j - down_j(1 - 2^(-1/K)): the median of the largest of K errors is
  subtracted, so that it exceeds the true leakage with probability at most 1/2.

The limits of one log-ratio combine those of its two cells, which share reports [Zou and
Donner 2008]: down_j^2 = d^2 + u^2 - 2 rho d u, with d the distance of the first cell to
its lower and u of the second to its upper limit, and rho their correlation.  A cell
with relative variance 1/e has the limits of a Poisson count of e [Garwood 1936], exact
for small e.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.rounding import UNIT
from seepage.benchmarks.statistical.simulated_collection import Collection

MANY_REPORTS = 1e5
"""Count from which Wilson and Hilferty's normal approximation is accurate to 1e-9."""


SCREENING = 20.0
"""Screening out log-ratios that cannot be the maximum takes 1/20 of alpha."""


LOWER = -1
"""Sign of a lower limit's distance from the estimate."""


UPPER = 1
"""Sign of an upper limit's distance from the estimate."""


RATIOS_PER_BLOCK = 1 << 18
"""Log-ratios computed at once, so that memory does not grow with the alphabets."""


def poisson_distances(reports: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the log-distances of simulated counts to their lower and upper confidence
    limits.

    [Garwood 1936]: the limits of a Poisson count e at one-sided level a are the
    a-quantile of Gamma(e) and the (1 - a)-quantile of Gamma(e + 1).  A count of 0 has
    no lower limit, and its upper one, -ln a, is measured from half a report.

    Parameters
    ----------
    reports
        Effective counts, not necessarily integers: a count e has relative variance 1/e.
    level
        The one-sided level a.

    Examples
    --------
    >>> down, up = poisson_distances(np.array([0.0, 10.0, 1e6]), 0.025)
    >>> down.round(4).tolist(), up.round(4).tolist()
    ([inf, 0.7349, 0.002], [1.9985, 0.6092, 0.002])
    """
    from scipy.special import gammainccinv, gammaincinv, ndtri

    down = np.full(reports.shape, np.inf)
    up = np.full(reports.shape, np.log(-2.0 * np.log(level)))
    few = (reports > 0) & (reports < MANY_REPORTS)
    count = reports[few]
    with np.errstate(divide="ignore"):
        down[few] = -np.log(gammaincinv(count, level) / count)
    up[few] = np.log(gammainccinv(count + 1.0, level) / count)
    many = reports >= MANY_REPORTS
    count = reports[many]
    deviation = -ndtri(level)
    down[many] = -3.0 * np.log1p(
        -1.0 / (9.0 * count) - deviation / (3.0 * np.sqrt(count))
    )
    shape = count + 1.0
    root = -1.0 / (9.0 * shape) + deviation / (3.0 * np.sqrt(shape))
    up[many] = 3.0 * np.log1p(root) + np.log1p(1.0 / count)
    return down, up


class Interval(NamedTuple):
    """A corrected estimate and its confidence interval, in nats."""

    corrected: float
    lower: float
    upper: float


def interval(collection: Collection, confidence: float) -> Interval:
    """Return the corrected estimate and the confidence interval of a simulated
    collection's leakage.

    Parameters
    ----------
    collection
        The simulated collection.
    confidence
        The minimum probability that the interval covers the table's own leakage.

    Notes
    -----
    See the module for the method.  Nothing is clipped to epsilon.  The upper limit is
    infinite if a possible report was never observed with some target value.  Costs O(l
    m^2 t) with m target values, t source values and l reports.
    """
    cells = Cells(collection)
    targets, reports = cells.logarithms.shape
    if targets < 2 or collection.channel.shape[1] < 2:
        return Interval(0.0, 0.0, 0.0)
    if not reports:
        return Interval(0.0, 0.0, np.inf)
    alpha = 1.0 - confidence
    screening = alpha / SCREENING
    rounding = 16.0 * collection.table.shape[1] * UNIT
    level = screening / (reports * targets * (targets - 1))
    threshold = cells.largest(level, LOWER)  # log-ratios below it cannot be the maximum
    candidates = 0
    for part in cells.limits(level, UPPER):
        candidates += int(np.count_nonzero(part >= threshold))
    candidates = max(1, candidates)
    median_level = 0.5
    if candidates > 1:
        median_level = 1.0 - 0.5 ** (1.0 / candidates)
    lower = cells.largest((alpha / 2 - screening) / candidates, LOWER)
    upper = np.inf
    if cells.complete:
        upper = cells.largest(alpha / 2, UPPER)
    return Interval(
        corrected=max(0.0, cells.largest(median_level, LOWER)),
        lower=max(0.0, lower - rounding),
        upper=max(0.0, upper + rounding),
    )


class Cells:
    """The cells (x, y) of the pooled estimate W^: values, variances and covariances.

    Attributes
    ----------
    correlation
        G[x, u], for source values that occur.
    shares, variances, effective_counts
        W^[x, y] = G C^, Var W^[x, y], and the Poisson count of the same relative
        variance.
    spread
        Var C^[u, y], from counts with half a report added, so that none is 0.
    logarithms
        ln W^[x, y]; for an empty cell that of half a report.
    complete
        Whether every report that the channel can give was observed.
    """

    def __init__(self, collection: Collection) -> None:
        """Compute what the intervals of a simulated collection's log-ratios need of
        each cell.
        """
        used = collection.table.any(axis=0)
        seen = collection.pooled.any(axis=0)
        possible = (collection.channel[used] > 0).any(axis=0)
        self.complete = bool((seen == possible).all())
        table = collection.table
        reports = float(collection.replicas) * table.sum(axis=0)[used, None]  # r n[u]
        pooled = collection.pooled[np.ix_(used, seen)].astype(np.float64)
        smooth = (pooled + 0.5) / (reports + 1.0)
        self.correlation = table[:, used] / table.sum(axis=1, keepdims=True)
        self.shares = self.correlation @ (pooled / reports)
        self.spread = smooth * (1.0 - smooth) / reports
        self.variances = self.correlation**2 @ self.spread
        empty = self.shares <= 0
        self.effective_counts = np.where(empty, 0.0, self.shares**2 / self.variances)
        half = np.repeat(
            0.5 * self.correlation**2 @ (1.0 / reports), self.shares.shape[1], 1
        )
        self.logarithms = np.log(np.where(empty, half, self.shares))

    def limits(self, level: float, side: int) -> Iterator[Floats]:
        """Yield blocks of the lower or upper limits of all simulated log-ratios, shape
        (y, x, x').

        At level 1/2 they are the log-ratios themselves.  Entries with x = x' are minus
        infinity.
        """
        first, second = poisson_distances(self.effective_counts, level)
        if side == UPPER:
            first, second = second, first
        same = np.eye(len(self.shares), dtype=np.bool_)
        step = max(1, RATIOS_PER_BLOCK // same.size)
        for start in range(0, self.shares.shape[1], step):
            part = slice(start, start + step)
            limits = _pairwise(self.logarithms[:, part], np.subtract)
            if level < 0.5:
                correlations = self._correlations(part)
                limits += side * _combine(first[:, part], second[:, part], correlations)
            limits[:, same] = -np.inf
            yield limits

    def _correlations(self, part: slice) -> Floats:
        """Return the correlation of the simulated W^[x, y] and W^[x', y], shape (y, x,
        x').
        """
        weighted = self.correlation * self.spread[:, part].T[:, None, :]
        joint = weighted @ self.correlation.T
        deviations = np.sqrt(self.variances[:, part])
        correlations = joint / _pairwise(deviations, np.multiply)
        return np.asarray(np.clip(correlations, -1.0, 1.0))

    def largest(self, level: float, side: int) -> float:
        """Return the largest lower or upper limit of all simulated log-ratios."""
        return max(float(part.max()) for part in self.limits(level, side))


def _pairwise(cells: Floats, operation: Callable[[Floats, Floats], Floats]) -> Floats:
    """Return operation(cells[x, y], cells[x', y]) on simulated cells, shape (y, x,
    x').
    """
    columns = cells.T
    return operation(columns[:, :, None], columns[:, None, :])


def _combine(first: Floats, second: Floats, rho: Floats) -> Floats:
    """Return the distance of an interval's difference from those of its two terms [Zou
    and Donner 2008].

    Parameters
    ----------
    first, second
        Distances of the first and the second term, cells (x, y).
    rho
        The terms' correlation, (y, x, x').
    """
    d = first.T[:, :, None]
    u = second.T[:, None, :]
    with np.errstate(invalid="ignore"):  # NaN: one of the distances is infinite
        square = np.maximum(d**2 + u**2 - 2.0 * rho * d * u, 0.0)
    return np.asarray(np.where(np.isnan(square), np.inf, np.sqrt(square)))
