"""Histogram encoding: report the one-hot vector of a value, with noise on every entry.

`SHE` adds Laplace noise, `Gaussian` (`gaussian.py`) normal noise.

The last bits of floating-point noise can reveal what it was added to [Mironov 2012].
So without `rng` the noise is drawn on a grid: a noisy entry is an integer number of
cells, drawn by comparing the operating system's bytes with integer thresholds.  Its
probabilities are exact fractions, and `realised_epsilon` and `realised_delta` state
what they satisfy.  Entries of a one-hot vector are 0 or 1; a grid maps onto itself when
0 and 1 trade places (cell c becomes `mirror - c`), so that one distribution serves
both.

With a seed the noise is a NumPy double, for research: fast, but not secure.  Neither
protects against timing, since a draw may be rejected and repeated, or against access to
memory.
"""

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_probabilities import (
    CERTAIN,
    exp_below,
    float_above,
    log_above,
)
from seepage.mechanisms.randomness import Randomness, guess_supported
from seepage.mechanisms.reports import VectorReports

if TYPE_CHECKING:
    from seepage.mechanisms.gaussian import GaussianGrid


MAX_ENTRY = 1e150
"""Largest magnitude of an entry whose likelihood is computed: its square is a
double."""


BLOCK = 1 << 15
"""Entries per block, so that they stay in the cache."""


MIN_EPSILON = 2.0**-48
"""Smaller budgets count as 0: their noise would not fit a double."""


UNIFORM_OFFSET = 0.5 - 2.0**-54
"""Subtracted from NumPy's uniform multiples of 2^-53 in [0, 1): symmetric around 0,
never 0."""


LAPLACE_CELLS = 10
"""The Laplace scale is at least 2^10 cells wide: the variance is that of the density to
1e-7."""


MAX_FRACTION_BITS = 52
"""The finest grid: 2^-52, what a double between 1 and 2 can hold."""


WHOLE_RANGE = 8.0
"""Integer parts up to this many scales are drawn bit by bit; larger ones, rare, by
counting."""


class HistogramEncoding(Mechanism):
    """Report the one-hot vector of a value with independent noise on each entry.

    The noise has mean 0, so the mean of the reports is an unbiased estimate of the
    frequencies. The likelihood of value v is that of the zero vector times the
    likelihood ratio of entry v between 1 and 0.
    """

    reports = VectorReports

    reach: float
    """Magnitude that the noise exceeds with probability below 1e-40."""

    noise_variance: float
    """The variance of the noise on one entry."""

    @property
    def bits(self) -> float:
        """The size of one report of histogram encoding: k doubles."""
        return 64.0 * self.k

    @property
    @abstractmethod
    def grid(self) -> "LaplaceGrid | GaussianGrid | None":
        """The grid of a histogram's secure noise; None where every report is the zero
        vector.
        """

    @abstractmethod
    def _fill(self, block: Floats, generator: np.random.Generator) -> None:
        """Fill a block of histogram entries with noise."""

    def draw(self, codes: Integers, source: Randomness) -> VectorReports:
        """Return histograms, noisy one-hot vectors: on the grid, or as doubles for a
        NumPy generator.

        A grid draws the noisy 0 in cells; the noisy 1 is `mirror` less such a draw, and
        cell c represents `origin` + c `step`.
        """
        vectors = np.zeros((len(codes), self.k))
        grid = self.grid
        rows = max(1, BLOCK // self.k)
        if grid is None:
            return VectorReports(self.describe(), vectors)
        for start in range(0, len(codes), rows):
            block = vectors[start : start + rows]
            own = np.arange(len(block)), codes[start : start + rows]
            if source.generator is None:
                cells = grid.draw(source, block.size).reshape(block.shape)
                cells[own] = grid.mirror - cells[own]
                block[:] = grid.origin + cells * grid.step
            else:
                self._fill(block, source.generator)
                block[own] += 1.0
        return VectorReports(self.describe(), vectors)

    def contributions(self, reports: VectorReports) -> Floats:
        """Return the reported histogram vectors; 1 for k = 1."""
        self.check_drawn(reports)
        if self.k == 1:
            return np.ones((len(reports), 1))
        return reports.vectors

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return the histogram's noise variance over n, for every frequency; 0 for k =
        1.
        """
        count = checks.integer(n, "n", 1, checks.MAX_RECORDS)
        share = checks.probabilities(frequency, "frequency")
        if self.k == 1:
            return np.zeros(share.shape)
        return np.full(share.shape, self.noise_variance / count)

    def check_reports(self, reports: Any) -> None:
        """Raise where reports are not of this histogram encoding, or not vectors of k
        numbers.
        """
        super().check_reports(reports)
        if reports.vectors.ndim != 2 or reports.vectors.shape[1] != self.k:
            raise InputError(
                f"reports must hold vectors of {self.k} numbers", parameter="reports"
            )

    def check_drawn(self, reports: Any) -> None:
        """Raise where an entry of a histogram is outside [-reach, 1 + reach], or
        NaN.
        """
        self.check_reports(reports)
        reports.check_within(-self.reach, 1 + self.reach)

    def guess(self, reports: VectorReports, source: Randomness) -> Integers:
        """Return the value with the largest entry of the histogram, equal entries at
        random [paper, Appendix B].

        With a uniform prior its posterior is the largest.  Laplace noise has the same
        likelihood ratio for every entry above 1, so posteriors tie; all rules for ties
        have the same hit rate.
        """
        reports.check_within(-MAX_ENTRY, MAX_ENTRY)
        vectors = reports.vectors
        return guess_supported(vectors == vectors.max(axis=1, keepdims=True), source)


class SHE(HistogramEncoding):
    """Summation with histogram encoding: Laplace(2/eps) noise on each entry [paper,
    Appendix A].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The privacy budget.  Below 2^-48 it counts as 0, where the report is the zero
        vector.

    Notes
    -----
    With b = 2/eps, an entry's log-likelihood ratio is (|y| - |y - 1|)/b: -1/b for all y
    <= 0 and 1/b for all y >= 1.  Two entries differ between two values, so that epsilon
    is 2/b.  At the extremes any set of values can be the likely one, and the leakage of
    the whole report equals the bound [theory: Whole reports].

    Examples
    --------
    >>> mechanism = SHE(4, epsilon=1.0)
    >>> (
    ...     mechanism.epsilon,
    ...     round(mechanism.hit_rate, 4),
    ...     float(mechanism.variance(100_000)),
    ... )
    (1.0, 0.3713, 8e-05)
    >>> reports = mechanism.perturb([0] * 70_000 + [1] * 20_000 + [3] * 10_000, rng=7)
    >>> mechanism.estimate(reports, consistent=True).frequencies.round(1).tolist()
    [0.7, 0.2, 0.0, 0.1]
    """

    name = "she"

    def __init__(self, k: int, epsilon: float) -> None:
        """Set the scale of the Laplace noise of a histogram (SHE)."""
        super().__init__(k, epsilon=epsilon)
        stated = self.parameters["epsilon"]
        positive = stated >= MIN_EPSILON
        self.scale = float_above(2 / Fraction(stated)) if positive else math.inf
        self.noise_variance = 2 * self.scale * self.scale  # 8/eps^2
        # P(|noise| > 100 b) = e^-100; P(|noise| > 4) = 2^-256 even where b is tiny.
        self.reach = 100 * self.scale + 4 if positive else 0.0

    @property
    def epsilon(self) -> float:
        """The privacy budget 2/b, recomputed from the scale b of a histogram's Laplace
        noise and rounded up.
        """
        if self.k == 1 or math.isinf(self.scale):
            return 0.0
        return float_above(2 / Fraction(self.scale))

    @property
    def realised_epsilon(self) -> float:
        """The epsilon of a histogram's secure Laplace noise on its grid, rounded up."""
        if self.grid is None or self.k == 1:
            return 0.0
        return log_above(self.grid.worst**2)

    @cached_property
    def grid(self) -> "LaplaceGrid | None":
        """The grid of a histogram's secure Laplace noise; None at epsilon 0."""
        if math.isinf(self.scale):
            return None
        return LaplaceGrid(1 / self.scale)

    def _fill(self, block: Floats, generator: np.random.Generator) -> None:
        """Fill a block of histogram entries with Laplace noise."""
        generator.random(out=block)
        block -= UNIFORM_OFFSET
        sizes = np.abs(block)
        sizes *= 2
        np.log(sizes, out=sizes)
        sizes *= -self.scale
        np.copysign(sizes, block, out=block)

    def log_likelihood(self, reports: VectorReports) -> Floats:
        """Return a noisy histogram's ln P(report given u) less that of noise around the
        zero vector.
        """
        self.check_reports(reports)
        reports.check_within(-MAX_ENTRY, MAX_ENTRY)
        return np.asarray(np.clip(2 * reports.vectors - 1, -1.0, 1.0) / self.scale)

    @cached_property
    def miss_rate(self) -> float:
        """The probability 1 - a that another entry of the histogram is the largest, in
        closed form.

        1 - a = integral of f(y - 1)(1 - F(y)^(k-1)) dy, f and F the noise's density and
        distribution function [theory: The paper's attacker]: the sum of its parts over
        y < 0, 0 < y < 1 and y > 1.

        With w = exp(-1/b) and v = exp(-y/b), F is 1 - v/2 above 0 and each part has a
        closed form; the middle one is w/4 times the sum over i < k - 1 of J_i =
        integral from w to 1 of (1 - v/2)^i / v dv = 1/b - d_1 - ... - d_i, where d_j =
        ((1 - w/2)^j - 2^-j)/j, and which is at most (1 - w/2)^i / b.  O(k), to 1e-14.
        """
        if self.k == 1:
            return 0.0
        rate = 1 / self.scale
        shrink = math.exp(-rate)
        order = np.arange(1, self.k - 1)
        powers = np.exp(order * math.log1p(-shrink / 2))
        steps = -powers * np.expm1(-order * math.log1p(-math.expm1(-rate))) / order
        parts = np.clip(rate - np.cumsum(steps), 0.0, rate * powers)
        below = 1 - 2.0 ** (1 - self.k) / self.k
        above = _missed_above(shrink, self.k)
        return shrink / 2 * below + shrink / 4 * (rate + float(parts.sum())) + above

    @property
    def likely_sets(self) -> LikelySets:
        """Any set: the likely values have histogram entries of at least 1, the others
        of at most 0.
        """
        return LikelySets("all", self.epsilon)

    def report_of(self, likely: Booleans) -> VectorReports:
        """Return the histogram with 1 for the likely values and 0 for the others."""
        return VectorReports(self.describe(), np.where(likely, 1.0, 0.0)[None])


class LaplaceGrid:
    """Exact discrete Laplace noise of scale b on the grid of 2^-m, with unbounded
    support.

    Parameters
    ----------
    shift_budget
        1/b, above 2^-49: the largest change of an entry's log-likelihood under a shift
        by 1.

    Notes
    -----
    The magnitude of discrete Laplace noise is geometric, and the bits of a geometric
    variable are independent: bit j is set with odds exp(2^j / (b 2^m)) against it.  The
    m fraction bits and the lower integer bits are drawn in this way; the part beyond
    `WHOLE_RANGE` scales is a count of Bernoulli trials without upper limit, so that
    every report is possible under every value.  A negative zero is rejected.

    A shift by 1 keeps the fraction bits and adds 1 to the integer part: a carry clears
    the integer bits below c and sets bit c.  Each threshold is rounded so that no carry
    changes the likelihood by more than a factor e^(1/b).  Between 0 and 1 the shift
    turns a fraction into its complement: all bits but the lowest set one can flip,
    which changes the likelihood by their odds.  `worst` is the largest of all these
    factors, an exact fraction.
    """

    def __init__(self, shift_budget: float) -> None:
        """Choose the grid on which a histogram's Laplace noise is drawn."""
        allowed = exp_below(shift_budget)
        width = math.frexp(shift_budget)[1] + LAPLACE_CELLS
        self.fraction_bits = min(max(0, width), MAX_FRACTION_BITS)
        scaled = [math.ldexp(shift_budget, j) for j in range(-self.fraction_bits, 0)]
        self.chances = [threshold(exp_below(exponent)) for exponent in scaled]
        worst = math.prod(map(odds_against, self.chances[1:]), start=Fraction(1))
        carried = Fraction(1)
        reach = shift_budget
        while reach < WHOLE_RANGE:
            self.chances.append(threshold(allowed * carried))
            odds = odds_against(self.chances[-1])
            worst = max(worst, odds / carried, carried / odds)
            carried = carried * odds
            reach = 2 * reach
        self.farther = math.ceil(CERTAIN / (allowed * carried))
        self.worst = max(worst, Fraction(CERTAIN, self.farther) / carried)
        self.mirror = 1 << self.fraction_bits
        self.origin = 0.0
        self.step = 2.0**-self.fraction_bits

    def draw(self, source: Randomness, size: int) -> Integers:
        """Return `size` independent draws of a histogram's Laplace noise around 0, in
        cells.
        """
        cells = np.empty(size, dtype=np.int64)
        pending = np.arange(size)
        while len(pending):
            magnitude = self._magnitude(source, len(pending))
            negative = source.happens(CERTAIN // 2, len(pending))
            cells[pending] = np.where(negative, -magnitude, magnitude)
            pending = pending[negative & (magnitude == 0)]
        return cells

    def _magnitude(self, source: Randomness, size: int) -> Integers:
        """Return `size` independent geometric magnitudes of a histogram's noise, in
        cells.
        """
        magnitude = np.zeros(size, dtype=np.int64)
        for index, chance in enumerate(self.chances):
            magnitude |= source.happens(chance, size).astype(np.int64) << index
        counting = np.arange(size)
        while len(counting):
            counting = counting[source.happens(self.farther, len(counting))]
            magnitude[counting] += 1 << len(self.chances)
        return magnitude


def threshold(odds: Fraction) -> int:
    """Return a histogram's smallest threshold out of 2^64 of a noise event with at most
    these odds against it.

    Examples
    --------
    >>> threshold(Fraction(1)) == 2**63, threshold(Fraction(10**30))
    (True, 1)
    """
    return math.ceil(CERTAIN / (1 + odds))


def odds_against(chance: int) -> Fraction:
    """Return the odds (1 - p)/p against a noise event of a histogram with threshold p
    2^64.
    """
    return Fraction(CERTAIN - chance, chance)


def _missed_above(shrink: float, k: int) -> float:
    """Return the part 1/2 - (1 - (1 - w/2)^k)/(k w) of a histogram's miss rate, by its
    power series where terms cancel.

    Simulations reproduce bit for bit, so its last bits matter.
    """
    if k * shrink > 1:
        return 0.5 + math.expm1(k * math.log1p(-shrink / 2)) / (k * shrink)
    total = 0.0
    term = 0.5
    for order in range(1, 20):
        term *= -(k - order) / (order + 1) * shrink / 2
        total -= term
    return total
