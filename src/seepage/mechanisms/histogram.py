"""Histogram encoding: report the one-hot vector of a value, with noise on every entry.

`SHE` adds Laplace noise, `Gaussian` normal noise.  Without `rng` the noise is drawn on a grid from
the operating system's bytes by comparing integers (`seepage.mechanisms.noise`);
`realised_epsilon` and `realised_delta` state what that satisfies, in exact arithmetic.  With a
seed the noise is a NumPy double, for research: fast, but its last bits can reveal the value
[Mironov 2012].  Neither protects against timing, since a draw may need another round, or against
access to memory.
"""

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.data.channel import as_matrix
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_probabilities import MAX_EPSILON, float_above, log_above
from seepage.mechanisms.noise import (
    SPARE,
    GaussianGrid,
    LaplaceGrid,
    NoiseGrid,
    gaussian_delta,
    gaussian_sigma,
    laplace_miss_rate,
    normal_miss_rate,
)
from seepage.mechanisms.randomness import Randomness, Seed, argmax_random_ties, randomness
from seepage.mechanisms.reports import VectorReports

MIN_EPSILON = 2.0**-48
"""A smaller budget of SHE counts as 0: its noise would not fit a double."""

MIN_DELTA = 1e-280
"""A smaller delta of the Gaussian mechanism raises: parts of it would not be doubles."""

CENTRE = 0.5 - 2.0**-54
"""What makes NumPy's uniform multiples of 2^-53 from 0 to below 1 symmetric and never 0."""

TELLING = 700.0
"""How many nats the witness of the Gaussian mechanism speaks for its value."""

MOST = 1e150
"""The largest entry whose likelihood is computed: its square is a double."""

BLOCK = 1 << 15
"""Entries handled at once, so that they stay in the cache."""


class HistogramEncoding(Mechanism):
    """Report the one-hot vector of a value with independent noise on each entry.

    The mean of the reports is an unbiased estimate of the frequencies, since the noise has mean
    0.  An adversary weighs value v by `_evidence`, how much likelier entry v is around 1 than
    around 0.
    """

    reports = VectorReports

    reach: float
    """The magnitude that noise exceeds with a chance below 1e-40 only."""

    @property
    def bits(self) -> float:
        """The size of one report: k doubles."""
        return 64.0 * self.k

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of the noise on one entry."""

    @property
    @abstractmethod
    def grid(self) -> NoiseGrid | None:
        """The grid of secure noise; None where every report is the zero vector."""

    @abstractmethod
    def _fill(self, block: Floats, generator: np.random.Generator) -> None:
        """Write noise into a block of entries."""

    @abstractmethod
    def _evidence(self, vectors: Floats) -> Floats:
        """Return ln P(entry given 1) - ln P(entry given 0) of each entry."""

    @abstractmethod
    def _around_zero(self, vectors: Floats) -> Floats:
        """Return the log-density of each report if no entry were 1."""

    def draw(self, codes: Integers, source: Randomness) -> VectorReports:
        """Return noisy one-hot vectors: from the grid, or for a NumPy generator as doubles."""
        vectors = np.empty((len(codes), self.k))
        rows = max(1, BLOCK // self.k)
        for begin in range(0, len(codes), rows):
            block, own = vectors[begin : begin + rows], codes[begin : begin + rows]
            if self.grid is None:
                block[:] = 0.0
            elif source.generator is None:
                block[:] = self.grid.one_hot(own, self.k, source)
            else:
                self._fill(block, source.generator)
                block[np.arange(len(own)), own] += 1.0
        return VectorReports(self.describe(), vectors)

    def contributions(self, reports: VectorReports) -> Floats:
        """Return the vectors themselves; with one value, 1."""
        self.check_drawn(reports)
        return reports.vectors if self.k > 1 else np.ones((len(reports), 1))

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return the variance of one entry's noise over n, at any frequency; 0 for one value."""
        count = _checks.integer(n, "n", 1, _checks.MAX_RECORDS)
        share = _checks.probabilities(frequency, "frequency")
        return np.full(share.shape, self.noise_variance / count if self.k > 1 else 0.0)

    def check_reports(self, reports: Any) -> None:
        """Raise where reports are not of this very mechanism, or not vectors of k numbers."""
        super().check_reports(reports)
        if reports.vectors.ndim != 2 or reports.vectors.shape[1] != self.k:
            raise InputError(f"reports must hold vectors of {self.k} numbers")

    def check_drawn(self, reports: Any) -> None:
        """Raise where an entry is farther from 0 and 1 than noise reaches, or is no number."""
        self.check_reports(reports)
        reports.check_within(-self.reach, 1 + self.reach)

    def infer(self, reports: Any, rng: Seed = None, prior: ArrayLike | None = None) -> Integers:
        """Return the value with the largest posterior for each report [paper, Appendix B].

        Parameters
        ----------
        reports
            Reports of this very mechanism.
        rng
            A seed or generator, for entries that tie exactly, as they do on a grid.
        prior
            The paper's P_V: a distribution over the k values; uniform if None.

        Notes
        -----
        Laplace noise has the same likelihood ratio for every entry above 1, so posteriors tie;
        among tied values the one with the largest entry is guessed.  No rule among tied values
        is better than another, so this has the hit rate of any Bayes-optimal guess, and with a
        uniform prior it is the value with the largest entry.
        """
        self.check_reports(reports)
        log_prior = None if prior is None else self._log_prior(prior)
        reports.check_within(-MOST, MOST)
        vectors, source = reports.vectors, randomness(rng)
        guesses = np.empty(len(vectors), dtype=np.int64)
        rows = max(1, BLOCK // self.k)
        for begin in range(0, len(vectors), rows):
            scores = vectors[begin : begin + rows]
            if log_prior is not None:
                posterior = self._evidence(scores) + log_prior
                best = posterior.max(axis=1, keepdims=True)
                scores = np.where(posterior == best, scores, -np.inf)
            guesses[begin : begin + rows] = argmax_random_ties(scores, source)
        return guesses

    def _log_prior(self, prior: ArrayLike) -> Floats:
        probabilities = as_matrix(np.atleast_2d(np.asarray(prior)), "prior")
        if probabilities.shape != (1, self.k):
            raise InputError(f"prior must hold {self.k} probabilities, one for each value")
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probabilities[0]))

    @cached_property
    def hit_rate(self) -> float:
        """The probability a = integral of f(y - 1) F(y)^(k-1) dy that the true entry is largest.

        f and F are the noise's density and distribution function [theory: The paper's attacker].
        """
        return 1.0 - self.miss_rate

    def log_likelihood(self, reports: VectorReports) -> Floats:
        """Return the log-density of each report, one column per value u."""
        self.check_reports(reports)
        reports.check_within(-MOST, MOST)
        return self._around_zero(reports.vectors)[:, None] + self._evidence(reports.vectors)

    def _report(self, vector: Floats) -> VectorReports:
        if vector.shape != (self.k,):
            raise InputError(f"likely must say yes or no for each of {self.k} values")
        return VectorReports(self.describe(), vector[None].astype(np.float64))


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
        super().__init__(k, epsilon=epsilon)
        stated = self.parameters["epsilon"]
        enough = stated >= MIN_EPSILON
        self.scale = float_above(2 / Fraction(stated)) if enough else math.inf
        # Chances: e^-100 of 100 b, and 2^-256 of 4 even where b is tiny.
        self.reach = 100 * self.scale + 4 if enough else 0.0

    @property
    def epsilon(self) -> float:
        """The privacy budget 2/b, recomputed from the noise's scale b and rounded up."""
        told = self.k > 1 and math.isfinite(self.scale)
        return float_above(2 / Fraction(self.scale)) if told else 0.0

    @property
    def realised_epsilon(self) -> float:
        """The epsilon of the grid that secure noise is drawn from."""
        if self.grid is None or self.k == 1:
            return 0.0
        return log_above(self.grid.worst**2)

    @property
    def noise_variance(self) -> float:
        """The variance 2 b^2 = 8/eps^2 of the noise on one entry."""
        return 2 * self.scale * self.scale

    @cached_property
    def grid(self) -> LaplaceGrid | None:
        """The grid of secure noise; None at epsilon 0."""
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
    def miss_rate(self) -> float:
        """The probability 1 - a that another entry is the largest, in closed form."""
        return laplace_miss_rate(self.scale, self.k)

    @property
    def likely_sets(self) -> LikelySets:
        """Any set: the likely values have entries of at least 1, the others of at most 0."""
        return LikelySets("all", self.epsilon)

    def witness_report(self, likely: Booleans) -> VectorReports:
        """Return the report with 1 for the likely values and 0 for the others."""
        return self._report(np.where(likely, 1.0, 0.0))


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
    (`gaussian_sigma`).  An entry's log-likelihood ratio (y - 1/2)/sigma^2 has no limit,
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
        super().__init__(k, epsilon=epsilon, delta=delta)
        if self.parameters["delta"] < MIN_DELTA:
            raise InputError(
                f"delta of the Gaussian mechanism must be at least {MIN_DELTA}, got {delta!r}; "
                "for a delta of 0 use SHE"
            )
        self._budget = min(self.parameters["epsilon"], float(MAX_EPSILON))
        self.sigma = gaussian_sigma(self._budget, self.parameters["delta"])
        self.reach = 16 * self.sigma + 1  # the grid ends at 12 sigma, NumPy's noise below 14

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
        digits = 20 - math.floor(math.log10(self.parameters["delta"]))
        return float_above(gaussian_delta(self._budget, self.sigma, digits))

    @property
    def realised_epsilon(self) -> float:
        """The same epsilon: the grid of secure noise adds to delta alone."""
        return self.epsilon

    @property
    def realised_delta(self) -> float:
        """The delta of the grid of secure noise, at most the stated one."""
        return float_above(Fraction(self.delta) + self.grid.added) if self.k > 1 else 0.0

    @property
    def noise_variance(self) -> float:
        """The variance sigma^2 of the noise on one entry."""
        return self.sigma * self.sigma

    @cached_property
    def grid(self) -> GaussianGrid:
        """The grid of secure noise, made when first needed."""
        return GaussianGrid(self.sigma, self.parameters["delta"] * SPARE / 4)

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
    def miss_rate(self) -> float:
        """The probability 1 - a that another entry is the largest, by quadrature."""
        return normal_miss_rate(self.sigma, self.k)

    @property
    def likely_sets(self) -> LikelySets:
        """One value, by a contrast without limit; an alphabet of one tells nothing."""
        return LikelySets("singletons", math.inf if self.k > 1 else 0.0)

    def witness_report(self, likely: Booleans) -> VectorReports:
        """Return a report that speaks for the likely values with 700 nats."""
        return self._report(np.where(likely, TELLING * self.sigma * self.sigma, 0.0))
