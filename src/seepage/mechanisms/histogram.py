"""SHE and the Gaussian mechanism: a one-hot vector with Laplace or normal noise.

With a seed the noise is a NumPy double, for research: fast, but its last bits can betray the
value [Mironov 2012].  With `secure=True` it is drawn on a grid from the operating system's bytes
by comparing integers (`seepage.mechanisms.noise`); `realised_epsilon` and `realised_delta` say
what that promises, in exact arithmetic, and are the same numbers however a report was drawn.
Not protected by either: timing, since now and then a draw needs another round, and memory.
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.additive import HistogramEncoding
from seepage.mechanisms.exact_math import (
    LARGEST_EPSILON,
    SPARE,
    float_above,
    gaussian_delta,
    gaussian_sigma,
    log_above,
)
from seepage.mechanisms.noise import GaussianGrid, LaplaceGrid
from seepage.mechanisms.reports import VectorReports

__all__ = ["SHE", "Gaussian"]

LEAST_EPSILON = 2.0**-48
"""A smaller budget of SHE counts as 0: its noise would not fit a double."""

LEAST_DELTA = 1e-280
"""A smaller delta of the Gaussian mechanism is refused: parts of it would not be doubles."""

CENTRE = 0.5 - 2.0**-54
"""What makes NumPy's uniform multiples of 2^-53 from 0 to below 1 symmetric and never 0."""

TELLING = 700.0
"""How many nats the witness of the Gaussian mechanism speaks for its value."""


class SHE(HistogramEncoding):
    """Summation with histogram encoding: Laplace(2/eps) noise on each entry [paper, Appendix A].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The privacy budget.  Below 2^-48 it counts as 0, where the report is the zero vector.

    Notes
    -----
    With b = 2/eps, an entry's log-likelihood ratio is (|y| - |y - 1|)/b: -1/b for all y <= 0 and
    1/b for all y >= 1.  Two entries differ between two values, so epsilon = 2/b.  At the extremes
    any set of values can be the likely one, and the leakage of the whole report equals the bound
    [theory: Whole reports].

    Examples
    --------
    >>> mechanism = SHE(4, epsilon=1.0)
    >>> mechanism.epsilon, round(mechanism.hit_rate, 4), float(mechanism.variance(100_000))
    (1.0, 0.3713, 8e-05)
    >>> reports = mechanism.perturb([0] * 70_000 + [1] * 20_000 + [3] * 10_000, rng=7)
    >>> mechanism.estimate(reports, consistent=True).frequencies.round(1).tolist()
    [0.7, 0.2, 0.0, 0.1]
    """

    name = "she"

    def __init__(self, k: int, epsilon: float) -> None:
        super().__init__(k)
        self._stated = _checks.epsilon(epsilon)
        enough = self._stated >= LEAST_EPSILON
        self.scale = float_above(2 / Fraction(self._stated)) if enough else math.inf

    @property
    def epsilon(self) -> float:
        """The privacy budget 2/b, recomputed from the noise's scale b and rounded up."""
        told = self.k > 1 and math.isfinite(self.scale)
        return float_above(2 / Fraction(self.scale)) if told else 0.0

    @property
    def realised_epsilon(self) -> float:
        """The epsilon of the grid that `secure=True` draws from."""
        if self.grid is None or self.k == 1:
            return 0.0
        return log_above(self.grid.worst**2)

    def describe(self) -> dict[str, Any]:
        """Return name, k and the stated epsilon."""
        return {"mechanism": self.name, "k": self.k, "epsilon": self._stated}

    @property
    def noise_variance(self) -> float:
        """The variance 2 b^2 = 8/eps^2 of the noise on one entry."""
        return 2 * self.scale * self.scale

    @cached_property
    def grid(self) -> LaplaceGrid | None:
        """The grid of `secure=True`; None at epsilon 0."""
        return None if math.isinf(self.scale) else LaplaceGrid(1 / self.scale)

    def _fill(self, block: Floats, generator: np.random.Generator) -> None:
        generator.random(out=block)
        block -= CENTRE
        sizes = np.abs(block)
        sizes *= 2
        np.log(sizes, out=sizes)
        sizes *= -self.scale
        np.copysign(sizes, block, out=block)

    def _evidence(self, vectors: Floats) -> Floats:
        return np.asarray(np.clip(2 * vectors - 1, -1.0, 1.0) / self.scale)

    def _around_zero(self, vectors: Floats) -> Floats:
        if math.isinf(self.scale):
            return np.zeros(len(vectors))
        distance = np.abs(vectors).sum(axis=1) / self.scale
        return np.asarray(-distance - self.k * math.log(2 * self.scale))

    @cached_property
    def _miss_rate(self) -> float:
        """The sum over y < 0, 0 < y < 1 and y > 1 of the integral of f(y - 1)(1 - F(y)^(k-1)).

        With w = exp(-1/b) and v = exp(-y/b), F is 1 - v/2 above 0 and each part has a closed form;
        the middle one is w/4 times the sum over i < k - 1 of
        J_i = integral from w to 1 of (1 - v/2)^i / v dv = 1/b - d_1 - ... - d_i, where
        d_j = ((1 - w/2)^j - 2^-j)/j, and which is at most (1 - w/2)^i / b.  O(k), to 1e-14.
        """
        if self.k == 1:
            return 0.0
        rate = 1 / self.scale
        shrink, order = math.exp(-rate), np.arange(1, self.k - 1)
        powers = np.exp(order * math.log1p(-shrink / 2))
        steps = -powers * np.expm1(-order * math.log1p(-math.expm1(-rate))) / order
        parts = np.clip(rate - np.cumsum(steps), 0.0, rate * powers)
        below = shrink / 2 * (1 - 2.0 ** (1 - self.k) / self.k)
        return below + shrink / 4 * (rate + float(parts.sum())) + _missed_above(shrink, self.k)

    @property
    def likely_sets(self) -> LikelySets:
        """Any set: the likely values have entries of at least 1, the others of at most 0."""
        return LikelySets("all", self.epsilon)

    def witness_report(self, likely: Booleans) -> VectorReports:
        """Return the report with 1 for the likely values and 0 for the others."""
        return self._report(np.where(likely, 1.0, 0.0))


def _missed_above(shrink: float, k: int) -> float:
    """Return 1/2 - (1 - (1 - w/2)^k)/(k w), by its series where that would cancel."""
    if k * shrink > 1:
        return 0.5 + math.expm1(k * math.log1p(-shrink / 2)) / (k * shrink)
    total, term = 0.0, 0.5
    for order in range(1, 20):
        term *= -(k - order) / (order + 1) * shrink / 2
        total -= term
    return total


class Gaussian(HistogramEncoding):
    """The analytic Gaussian mechanism: normal noise on the one-hot vector [Balle and Wang 2018].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The privacy budget; above 10,000 it counts as 10,000.
    delta
        The relaxation, from 1e-280 to below 1.  It cannot be 0: normal noise has no pure budget.

    Notes
    -----
    Two one-hot vectors are sqrt 2 apart, and sigma is the least noise that keeps delta at epsilon
    (`exact_math`).  An entry's log-likelihood ratio (y - 1/2)/sigma^2 has no limit,
    so a report can single out one value as clearly as one likes: `leakage` is the level
    ln max_u G[x,u]/G[x',u] that this approaches and never reaches, infinite where a value occurs
    under one target value only.  Its witness is a report within e^-700 of that.  What holds but
    for delta' is `relaxed_leakage`.

    Examples
    --------
    >>> mechanism = Gaussian(4, epsilon=1.0, delta=1e-6)
    >>> round(mechanism.sigma, 4), mechanism.epsilon, mechanism.delta <= 1e-6
    (5.9746, 1.0, True)
    >>> reports = mechanism.perturb([0] * 90_000 + [1] * 10_000, rng=7)
    >>> mechanism.estimate(reports, consistent=True).frequencies.round(1).tolist()
    [0.9, 0.1, 0.0, 0.0]
    """

    name = "gauss"
    approximate = True

    def __init__(self, k: int, epsilon: float, delta: float) -> None:
        super().__init__(k)
        self._stated = _checks.epsilon(epsilon), _checks.delta(delta)
        if self._stated[1] < LEAST_DELTA:
            raise InputError(
                f"delta of the Gaussian mechanism must be at least {LEAST_DELTA}, got {delta!r}; "
                "for a delta of 0 use SHE"
            )
        self._budget = min(self._stated[0], float(LARGEST_EPSILON))
        self.sigma = gaussian_sigma(self._budget, self._stated[1])

    @property
    def epsilon(self) -> float:
        """The epsilon at which `delta` is computed; 0 for one value."""
        return self._budget if self.k > 1 else 0.0

    @property
    def delta(self) -> float:
        """The relaxation at this epsilon, recomputed from sigma and rounded up."""
        return self._recomputed_delta if self.k > 1 else 0.0

    @cached_property
    def _recomputed_delta(self) -> float:
        digits = 20 - math.floor(math.log10(self._stated[1]))
        exact = gaussian_delta(self._budget, self.sigma, digits)
        return float_above(exact + 2 * Decimal(10) ** -digits)

    @property
    def realised_epsilon(self) -> float:
        """The same epsilon: the grid that `secure=True` draws from adds to delta alone."""
        return self.epsilon

    @property
    def realised_delta(self) -> float:
        """The delta of the grid that `secure=True` draws from, at most the stated one."""
        return float_above(Fraction(self.delta) + self.grid.added) if self.k > 1 else 0.0

    def describe(self) -> dict[str, Any]:
        """Return name, k and the stated epsilon and delta."""
        epsilon, delta = self._stated
        return {"mechanism": self.name, "k": self.k, "epsilon": epsilon, "delta": delta}

    @property
    def noise_variance(self) -> float:
        """The variance sigma^2 of the noise on one entry."""
        return self.sigma * self.sigma

    @cached_property
    def grid(self) -> GaussianGrid:
        """The grid of `secure=True`, made in about 0.1 s when first needed."""
        return GaussianGrid(self.sigma, self._stated[1] * SPARE / 4)

    def _fill(self, block: Floats, generator: np.random.Generator) -> None:
        generator.standard_normal(out=block)
        block *= self.sigma

    def _evidence(self, vectors: Floats) -> Floats:
        return np.asarray((vectors - 0.5) / self.sigma / self.sigma)

    def _around_zero(self, vectors: Floats) -> Floats:
        squares = np.square(vectors / self.sigma).sum(axis=1)
        density = math.log(self.sigma) + math.log(2 * math.pi) / 2
        return np.asarray(-squares / 2 - self.k * density)

    @cached_property
    def _miss_rate(self) -> float:
        """The integral of phi(z) (1 - Phi(z + 1/sigma)^(k-1)), by the trapezoidal rule.

        The integrand is smooth and dies out like phi, so the rule with steps of 1/32 up to
        z = 40 is right to double precision.
        """
        from scipy.special import log_ndtr

        z = np.arange(-40 * 32, 40 * 32 + 1) / 32
        missed = -np.expm1((self.k - 1) * log_ndtr(z + 1 / self.sigma))
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return float(density @ missed) / 32

    @property
    def likely_sets(self) -> LikelySets:
        """One value, by a contrast without limit; an alphabet of one tells nothing."""
        return LikelySets("singletons", math.inf if self.k > 1 else 0.0)

    def witness_report(self, likely: Booleans) -> VectorReports:
        """Return a report that speaks for the likely values with 700 nats."""
        return self._report(np.where(likely, TELLING * self.sigma * self.sigma, 0.0))
