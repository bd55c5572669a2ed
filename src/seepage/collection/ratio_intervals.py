"""Confidence intervals of ratios and of functions of two estimated shares.

A share r = a / m, a the cell and m its group, has the 95 % interval of those r for
which

    (a - r m)^2 <= z^2 (Var(a - r m) + (r m - a)(1 - 2 r) / n),

that of Fieller [1954], with the sampling part of the variance taken at r instead of the
estimate: without noise it is Wilson's score interval, and with noise a normal one, so
that it also covers shares near 0 and 1, where a normal interval on the scale of shares
fails without noise, and one on the logit scale with noise.  It is the whole range if m
is not significantly above 0.

Functions of two shares (difference, ratio, odds ratio) have the range of their values
over the pairs of shares that are within z in the same sense jointly: e' V^-1 e <= z^2
with e = (a1 - r1 m1, a2 - r2 m2) and V its covariance.  Where everything is precise
this is the interval of the delta method; where a group or a share may be 0, it is
wider, up to the whole range.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from seepage._core.arrays import Floats
from seepage.collection.estimated_cells import NORMAL_QUANTILE, Estimated

GRID = 301
"""Number of values of each share at which functions of two shares are compared."""


class SharePair(NamedTuple):
    """Two estimated shares a1 / m1 and a2 / m2, by (a1, m1, a2, m2) and their
    covariance.
    """

    estimates: Floats
    covariance: Floats
    sampling: float

    def function(self, function: Callable[[Any, Any], Any], bounded: bool) -> Estimated:
        """Return a function of the two shares, such as their ratio, with its standard
        error and interval.
        """
        a = self.estimates[::2]
        m = self.estimates[1::2]
        shares = np.divide(a, m, out=np.full(2, np.nan), where=m != 0)
        if bounded:
            shares = np.clip(shares, 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(function(*shares))
            slopes = _ratio_slopes(function, shares)
            gradient = np.ravel(np.column_stack([slopes / m, -slopes * shares / m]))
            variance = float(gradient @ self.covariance @ gradient)
            values = function(*self._plausible())
        error = float(np.sqrt(max(0.0, variance)))
        values = values[~np.isnan(values)]
        return Estimated(value, error, (float(values.min()), float(values.max())))

    def _plausible(self) -> tuple[Floats, Floats]:
        """Return pairs of shares of a ratio that are within z of the estimates
        jointly.
        """
        c = self.covariance
        z = NORMAL_QUANTILE
        a = self.estimates[::2]
        m = self.estimates[1::2]
        aa = c[[0, 2], [0, 2]]
        am = c[[0, 2], [1, 3]]
        mm = c[[1, 3], [1, 3]]
        box = within_unit(ratio_intervals(a, m, aa, am, mm, sampling=self.sampling))
        axes = [np.linspace(low, high, GRID) for low, high in box]
        first, second = np.meshgrid(*axes)
        residuals = []
        variances = []
        for j, r in enumerate((first, second)):
            residual = a[j] - r * m[j]
            square = aa[j] - 2 * r * am[j] + r**2 * mm[j]
            residuals.append(residual)
            variances.append(square - self.sampling * residual * (1 - 2 * r))
        cross = c[0, 2] - second * c[0, 3] - first * c[1, 2] + first * second * c[1, 3]
        determinant = variances[0] * variances[1] - cross**2
        distance = (
            residuals[0] ** 2 * variances[1]
            - 2 * residuals[0] * residuals[1] * cross
            + residuals[1] ** 2 * variances[0]
        )
        within = distance <= z**2 * determinant
        within |= distance == distance.min()
        return first[within], second[within]


def _ratio_slopes(function: Callable[[Any, Any], Any], shares: Floats) -> Floats:
    """Return the derivatives of a ratio, a function of two shares, by complex steps,
    exact to rounding.
    """
    step = 1e-30
    first = function(shares[0] + 1j * step, shares[1] + 0j)
    second = function(shares[0] + 0j, shares[1] + 1j * step)
    return np.array([first.imag / step, second.imag / step])


def ratio_intervals(
    a: Floats,
    m: Floats,
    aa: Floats,
    am: Floats,
    mm: Floats,
    *,
    sampling: float,
    quantile: float = NORMAL_QUANTILE,
) -> Floats:
    """Return the limits of the ratios a / m in the last axis; infinite if m is not
    significantly above 0.

    Parameters
    ----------
    a, m, aa, am, mm
        The estimates, and Var(a), Cov(a, m), Var(m).
    sampling
        1 / n of shares, whose sampling variance is taken at each share; 0 for other
        ratios.
    quantile
        The number of standard errors to each side.
    """
    square = quantile**2
    leading = m**2 - square * (mm - 2.0 * sampling * m)
    half = a * m + square * (sampling * (m / 2.0 + a) - am)
    constant = a**2 - square * (aa - sampling * a)
    bounded = (m > 0) & (m**2 > square * mm) & (leading > 0)
    root = np.sqrt(np.maximum(half**2 - leading * constant, 0.0))
    divisor = np.where(bounded, leading, 1.0)
    limits = [
        np.where(bounded, (half + sign * root) / divisor, sign * np.inf)
        for sign in (-1, 1)
    ]
    return np.stack(limits, axis=-1)


def within_unit(intervals: Floats) -> Floats:
    """Return intervals of ratios that are shares, cut to [0, 1], unless nothing is left
    of them.
    """
    cut = np.clip(intervals, 0.0, 1.0)
    outside = (intervals[:, 1] < 0.0) | (intervals[:, 0] > 1.0)
    return np.where(outside[:, None], intervals, cut)
