"""Secure noise on a grid for additive mechanisms: its law, its scale, and how often it misleads.

The last bits of floating-point noise can reveal what it was added to [Mironov 2012].  Here a
noisy entry is an integer number of cells, drawn from integer thresholds, so its probabilities are
exact fractions and so is the budget it realises.  Entries of a one-hot vector are 0 or 1; both
grids map onto themselves when 0 and 1 trade places (cell c becomes `mirror - c`), so one law serves
both.

The tail of the normal distribution, and the noise that (epsilon, delta) asks for: double precision
cannot tell delta = 1e-12 at epsilon 0, nor delta at epsilon 700, where a tail of 1e-300 is
multiplied by e^700.  Arb (python-flint) gives certified bounds; it is imported only here and when
needed, since loading it takes longer than `decimal`, which serves all other mechanisms.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from seepage._numerics import UNIT, Floats, Integers
from seepage.mechanisms.exact_probabilities import CERTAIN, exp_below
from seepage.mechanisms.randomness import Randomness

SPARE = 2.0**-30
"""The share of delta that the noise leaves unused, for what drawing from a grid adds."""

DELTA_DIGITS = 25
"""Digits of delta that decide about sigma."""

GUARD_BITS = 96
"""Bits beyond those asked for, which roundings may spoil."""

LAPLACE_CELLS = 10
"""The Laplace scale is at least 2^10 cells wide: the variance is that of the density to 1e-7."""

GAUSSIAN_CELLS = 5
"""The standard deviation is at least 2^5 cells wide: the variance is larger by a share of 1e-4."""

MAX_FRACTION_BITS = 52
"""The finest grid: 2^-52, what a double between 1 and 2 can hold."""

WHOLE_RANGE = 8.0
"""Whole parts up to this many scales are drawn bit by bit; farther ones, rare, by counting."""

CLAMP = 12
"""Standard deviations that the table reaches to; noise beyond them has a chance of 1e-32."""

LEAD = 32
"""Bits of a draw that decide all but a few of a million draws from a table."""


def threshold(odds: Fraction) -> int:
    """Return the least chance out of 2^64 of an event with at most these odds against it.

    Examples
    --------
    >>> threshold(Fraction(1)) == 2**63, threshold(Fraction(10**30))
    (True, 1)
    """
    return math.ceil(CERTAIN / (1 + odds))


def odds_against(chance: int) -> Fraction:
    """Return the odds against an event with this chance out of 2^64."""
    return Fraction(CERTAIN - chance, chance)


class NoiseGrid(ABC):
    """Noise in cells of a grid, for the entries of one-hot vectors.

    Cell `mirror` - c stands to 1 as cell c stands to 0.
    """

    mirror: int

    @abstractmethod
    def draw(self, source: Randomness, size: int) -> Integers:
        """Return so many independent draws around 0, in cells."""

    @abstractmethod
    def values(self, cells: Integers) -> Floats:
        """Return the entries that stand in these cells."""

    def one_hot(self, codes: Integers, k: int, source: Randomness) -> Floats:
        """Return noisy one-hot vectors: draws around 0, the true entry's mirrored to around 1."""
        cells = self.draw(source, len(codes) * k).reshape(-1, k)
        every = np.arange(len(codes))
        cells[every, codes] = self.mirror - cells[every, codes]
        return self.values(cells)


class LaplaceGrid(NoiseGrid):
    """Discrete Laplace noise of scale b on the grid of 2^-m, exactly and without end.

    Parameters
    ----------
    shift_budget
        1/b: how much a shift by 1 may change the log-likelihood of an entry, above 2^-49.

    Notes
    -----
    The magnitude of discrete Laplace noise is geometric, and the bits of a geometric variable are
    independent: bit j is set with odds exp(2^j / (b 2^m)) against it.  The m fraction bits and
    the lower whole bits are drawn so; what is beyond `WHOLE_RANGE` scales is counted in trials,
    which has no end and so leaves no report that only one value can produce.  A negative zero is
    drawn again.

    A shift by 1 keeps the fraction bits and adds 1 to the whole part: a carry clears the whole
    bits below c and sets bit c.  Each threshold is rounded so that no carry changes the
    likelihood by more than e^(1/b).  Between 0 and 1 the shift turns a fraction into its
    complement: all bits but the lowest one set can flip, which changes it by their odds.
    `worst` is the largest of all these changes, an exact fraction.
    """

    def __init__(self, shift_budget: float) -> None:
        allowed = exp_below(shift_budget)
        width = math.frexp(shift_budget)[1] + LAPLACE_CELLS
        self.fraction_bits = min(max(0, width), MAX_FRACTION_BITS)
        scaled = [math.ldexp(shift_budget, j) for j in range(-self.fraction_bits, 0)]
        self.chances = [threshold(exp_below(exponent)) for exponent in scaled]
        worst = math.prod(map(odds_against, self.chances[1:]), start=Fraction(1))
        carried, reach = Fraction(1), shift_budget
        while reach < WHOLE_RANGE:
            self.chances.append(threshold(allowed * carried))
            odds = odds_against(self.chances[-1])
            worst = max(worst, odds / carried, carried / odds)
            carried, reach = carried * odds, 2 * reach
        self.farther = math.ceil(CERTAIN / (allowed * carried))
        self.worst = max(worst, Fraction(CERTAIN, self.farther) / carried)
        self.mirror = 1 << self.fraction_bits

    def draw(self, source: Randomness, size: int) -> Integers:
        """Return so many independent draws around 0, in cells."""
        cells = np.empty(size, dtype=np.int64)
        pending = np.arange(size)
        while len(pending):
            magnitude = self._magnitude(source, len(pending))
            negative = source.happens(CERTAIN // 2, len(pending))
            cells[pending] = np.where(negative, -magnitude, magnitude)
            pending = pending[negative & (magnitude == 0)]
        return cells

    def _magnitude(self, source: Randomness, size: int) -> Integers:
        magnitude = np.zeros(size, dtype=np.int64)
        for index, chance in enumerate(self.chances):
            magnitude |= source.happens(chance, size).astype(np.int64) << index
        counting = np.arange(size)
        while len(counting):
            counting = counting[source.happens(self.farther, len(counting))]
            magnitude[counting] += 1 << len(self.chances)
        return magnitude

    def values(self, cells: Integers) -> Floats:
        """Return the entries that stand in these cells."""
        return np.asarray(cells / float(self.mirror))


class GaussianGrid(NoiseGrid):
    """Gaussian noise rounded to a grid, from a table of exact integer thresholds.

    Parameters
    ----------
    sigma
        The standard deviation.
    slack
        What the table may add to the delta of the noise itself, above 0.

    Notes
    -----
    Rounding is a post-processing, so noise rounded to any grid keeps the (epsilon, delta) of the
    density; no shift need be an integer number of cells, and the grid can be as coarse as the noise
    is wide.  That is why this is not the discrete Gaussian of [Canonne, Kamath and Steinke 2020],
    whose cells cannot be wider than the shift.  Cell c stands for 1/2 + c `step`; the last cells,
    12 sigma away, stand for all that is beyond them, again a post-processing.

    A draw of `bits` random bits is compared with the distribution function at the cells' edges,
    as integers out of 2^bits.  Both tails keep so many digits d that no cell's probability
    is off by more than a share of h = 200 10^-d, two entries' by 2.01 h; the delta of any law
    that close to one with delta is at most delta + 5 h, at every epsilon.  `added` = 10^(3-d).
    """

    mirror = 0

    def __init__(self, sigma: float, slack: float) -> None:
        digits = math.ceil(3 - math.log10(slack))
        self.added = Fraction(1000, 10**digits)
        self.step = math.ldexp(1.0, math.frexp(sigma)[1] - 1 - GAUSSIAN_CELLS)
        self.edge = math.ceil((0.5 + CLAMP * sigma) / self.step) + 1
        farthest = (0.5 + self.edge * self.step) / sigma
        rarest = math.log2(10) * digits + math.log2(math.e) * farthest**2 / 2 + 12
        self.bits = LEAD * math.ceil(rarest / LEAD)
        self.thresholds = self._table(sigma, digits)
        self.leads = np.array([t >> (self.bits - LEAD) for t in self.thresholds], dtype=np.uint32)

    def _table(self, sigma: float, digits: int) -> list[int]:
        """Return 2^bits times the distribution function at the upper edge of each cell."""
        units, half, thresholds = 2**self.bits, Fraction(1, 2), []
        for cell in range(-self.edge, self.edge):
            edge = (half + (cell + half) * Fraction(self.step)) / Fraction(sigma)
            beyond = math.floor(normal_tail(abs(edge), digits)[0] * units)
            thresholds.append(beyond if edge < 0 else units - beyond)
        return thresholds

    def draw(self, source: Randomness, size: int) -> Integers:
        """Return so many independent draws around 0, in cells."""
        words = source.bytes(4 * size).view("<u4")
        indices = np.searchsorted(self.leads, words, side="right")
        undecided = np.flatnonzero(self.leads[np.maximum(indices, 1) - 1] == words)
        for index in undecided:
            rest = int.from_bytes(source.bytes((self.bits - LEAD) // 8).tobytes(), "little")
            whole = (int(words[index]) << (self.bits - LEAD)) | rest
            indices[index] = bisect_right(self.thresholds, whole)
        return np.asarray(indices - self.edge, dtype=np.int64)

    def values(self, cells: Integers) -> Floats:
        """Return the entries that stand in these cells."""
        return np.asarray(0.5 + cells * self.step)


# The tail of the normal distribution -------------------------------------------------------------


def normal_tail(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return bounds on P(Z > x) of a standard normal Z, a share of 10^-digits apart at most.

    The bounds are certified: interval arithmetic of Arb [Johansson 2017].

    Examples
    --------
    >>> low, high = normal_tail(Fraction(2), 20)
    >>> f"{float(low):.16f}", low < high < low * (1 + Fraction(1, 10**20))
    ('0.0227501319481792', True)
    """
    from flint import arb, ctx, fmpq

    with ctx.workprec(_bits(digits)):
        ball = (arb(fmpq(x.numerator, x.denominator)) / arb(2).sqrt()).erfc() / 2
        return _exactly(ball.lower()), _exactly(ball.upper())


def gaussian_delta(epsilon: float, sigma: float, digits: int) -> Fraction:
    """Return the delta of Gaussian noise on a one-hot vector, rounded up by 10^-digits at most.

    delta = Phi(D/(2 sigma) - eps sigma/D) - e^eps Phi(-D/(2 sigma) - eps sigma/D), with D = sqrt 2
    the distance between two one-hot vectors [Balle and Wang 2018, Theorem 8].

    Examples
    --------
    >>> f"{float(gaussian_delta(1.0, 1.0, 20)):.6f}"
    '0.286208'
    """
    from flint import arb, ctx

    with ctx.workprec(_bits(digits)):
        near, far = 1 / (2 * arb(sigma)), arb(epsilon) * arb(sigma) / 2
        likely, unlikely = (far - near).erfc(), (far + near).erfc()
        return _exactly(((likely - arb(epsilon).exp() * unlikely) / 2).upper())


def _bits(digits: int) -> int:
    return math.ceil(digits * math.log2(10)) + GUARD_BITS


def _exactly(bound: Any) -> Fraction:
    """Return an exact number of Arb as a fraction."""
    mantissa, exponent = map(int, bound.man_exp())
    return mantissa * Fraction(2) ** exponent


@lru_cache(maxsize=1024)
def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the least noise with which the Gaussian mechanism is (epsilon, delta)-LDP.

    The delta of `gaussian_delta` falls as sigma grows; bisection finds sigma to 12 digits, and
    the end that keeps delta, with 2^-30 of it to spare, is returned.

    Examples
    --------
    >>> f"{gaussian_sigma(1.0, 1e-6):.6f}"
    '5.974598'
    """
    limit = Fraction(delta) * Fraction(1 - SPARE)
    digits = math.ceil(-math.log10(delta)) + DELTA_DIGITS

    def keeps(sigma: float) -> bool:
        return gaussian_delta(epsilon, sigma, digits) <= limit

    high = 1.0
    while not keeps(high):
        high *= 2
    low = high / 2
    while keeps(low):
        low, high = low / 2, low
    while high - low > 4096 * UNIT * high:
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


# Probability that the largest entry is not the true one -------------------------------------------


def laplace_miss_rate(scale: float, k: int) -> float:
    """Return the probability that Laplace noise makes another than the true entry the largest.

    The sum over y < 0, 0 < y < 1 and y > 1 of the integral of f(y - 1)(1 - F(y)^(k-1)), f and F
    the density and distribution function of the noise with scale b.

    With w = exp(-1/b) and v = exp(-y/b), F is 1 - v/2 above 0 and each part has a closed form;
    the middle one is w/4 times the sum over i < k - 1 of
    J_i = integral from w to 1 of (1 - v/2)^i / v dv = 1/b - d_1 - ... - d_i, where
    d_j = ((1 - w/2)^j - 2^-j)/j, and which is at most (1 - w/2)^i / b.  O(k), to 1e-14.
    """
    if k == 1:
        return 0.0
    rate = 1 / scale
    shrink, order = math.exp(-rate), np.arange(1, k - 1)
    powers = np.exp(order * math.log1p(-shrink / 2))
    steps = -powers * np.expm1(-order * math.log1p(-math.expm1(-rate))) / order
    parts = np.clip(rate - np.cumsum(steps), 0.0, rate * powers)
    below = shrink / 2 * (1 - 2.0 ** (1 - k) / k)
    return below + shrink / 4 * (rate + float(parts.sum())) + _missed_above(shrink, k)


def _missed_above(shrink: float, k: int) -> float:
    """Return 1/2 - (1 - (1 - w/2)^k)/(k w), by its series where that would cancel."""
    if k * shrink > 1:
        return 0.5 + math.expm1(k * math.log1p(-shrink / 2)) / (k * shrink)
    total, term = 0.0, 0.5
    for order in range(1, 20):
        term *= -(k - order) / (order + 1) * shrink / 2
        total -= term
    return total


def normal_miss_rate(sigma: float, k: int) -> float:
    """Return the probability that normal noise makes another than the true entry the largest.

    The integral of phi(z) (1 - Phi(z + 1/sigma)^(k-1)), by the trapezoidal rule.  The integrand is
    smooth and dies out like phi, so steps of 1/32 up to z = 40 are right to double precision.
    """
    from scipy.special import log_ndtr

    z = np.arange(-40 * 32, 40 * 32 + 1) / 32
    missed = -np.expm1((k - 1) * log_ndtr(z + 1 / sigma))
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return float(density @ missed) / 32
