"""Exact probabilities: e^epsilon as a fraction, chances out of 2^64, and draws with them.

Mechanisms keep their probabilities as `Fraction`s, so that the epsilon they promise can be
recomputed from them without cancellation at any budget.  Powers of e are irrational; they enter
through `exp_below`, 40 digits and never above the truth, and leave through `log_above`, 80 digits
and never below it.  The difference is far below one unit in the last place of a double, so a
budget of at least 1e-20 comes back as the very number that went in.

A chance is an integer T out of 2^64: an event with chance T happens when a uniform 64-bit
integer is below T, so its probability is T / 2^64 exactly and the epsilon that a mechanism
realises can be computed in exact fractions.  Thresholds are rounded so that it never exceeds the
stated one.  Research and deployment differ only in the source of the bytes: a seeded NumPy
`Generator`, or the operating system.

What this protects against: the leaks of floating-point noise [Mironov 2012], predictable seeds,
biased choices by remainder.  What it does not: timing, memory and power side channels, a
compromised operating system.
"""

import math
import os
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.errors import InputError

EXP_DIGITS = 40

LOG_DIGITS = 80

ROOT_BITS = 128

MAX_EPSILON = 10_000
"""Larger budgets are drawn, and stated, as this one."""

CERTAIN = 1 << 64
"""The chance of an event that always happens."""

ROWS = 1 << 16
"""Reports handled at once, so that memory does not grow with the column."""

RARE = 2.0**-32
"""An output rarer than this for every value is drawn alike for all of them."""

Thresholds = NDArray[Any]
"""Python integers, one row per value and one column per output; each row sums to 2^64."""

SHORT_LIMIT = 1 << 10
"""Up to this limit `below` draws from 16 bits; at most one draw in 64 is made again."""

Seed = Union[int, np.random.Generator, "Randomness", None]
"""A seed or generator gives the same draws again; None draws from the operating system."""


# Exponentials and logarithms of exact fractions, rounded to the safe side ------------------------


def exp_below(epsilon: float) -> Fraction:
    """Return a fraction at most e^epsilon, and less by a relative 2e-39 at most.

    A budget above 10,000 counts as 10,000: still a lower bound.

    Examples
    --------
    >>> exp_below(0.0) == 1 < exp_below(1e-12) < exp_below(800.0)
    True
    """
    with localcontext(prec=EXP_DIGITS):
        value = Decimal(min(_checks.epsilon(epsilon), MAX_EPSILON)).exp().next_minus()
    return max(Fraction(value), Fraction(1))


def log_above(ratio: Fraction) -> float:
    """Return the smallest double that is not below ln(ratio), for a positive fraction.

    Examples
    --------
    >>> log_above(Fraction(1)), log_above(exp_below(1e-12)), log_above(exp_below(700.0))
    (0.0, 1e-12, 700.0)
    """
    if ratio == 1:
        return 0.0
    with localcontext(prec=LOG_DIGITS):
        return float_above(_logarithm(ratio).next_plus())


def float_above(value: Fraction | Decimal) -> float:
    """Return the smallest double that is not below an exact value.

    Examples
    --------
    >>> float_above(Fraction(1, 4)), float_above(Fraction(1, 10)) > Fraction(1, 10)
    (0.25, True)
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= Fraction(value) else math.nextafter(nearest, math.inf)


def log_nearest(ratio: Fraction) -> float:
    """Return the double nearest to ln(ratio), for a positive fraction.

    Examples
    --------
    >>> log_nearest(Fraction(1, 10**400))
    -921.0340371976183
    """
    with localcontext(prec=LOG_DIGITS):
        return float(_logarithm(ratio))


def _logarithm(ratio: Fraction) -> Decimal:
    return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def square_root_below(value: Fraction) -> Fraction:
    """Return a fraction at most the root of a value of at least 1, and less by 2^-128 at most.

    Examples
    --------
    >>> square_root_below(Fraction(9))
    Fraction(3, 1)
    """
    scaled = value.numerator * 4**ROOT_BITS // value.denominator
    return Fraction(math.isqrt(scaled), 2**ROOT_BITS)


# Chances out of 2^64, and draws with them --------------------------------------------------------


def chance(probability: Fraction) -> int:
    """Return a probability as a threshold out of 2^64, rounded down.

    Examples
    --------
    >>> chance(Fraction(1, 2)) == 2**63
    True
    """
    return math.floor(probability * CERTAIN)


def chance_above(probability: Fraction) -> int:
    """Return a probability as a threshold out of 2^64, rounded up."""
    return CERTAIN - chance(1 - probability)


class Randomness:
    """A source of uniform bytes and the exact draws made from them.

    Parameters
    ----------
    generator
        A NumPy generator for research; None for the operating system's randomness.
    """

    def __init__(self, generator: np.random.Generator | None) -> None:
        self.generator = generator

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return so many uniform bytes."""
        if self.generator is None:
            return np.frombuffer(os.urandom(count), dtype=np.uint8)
        words = self.generator.integers(0, CERTAIN, -(-count // 8), dtype=np.uint64)
        return words.astype("<u8", copy=False).view(np.uint8)[:count]

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return so many uniform 64-bit integers."""
        return self.bytes(8 * count).view("<u8").astype(np.uint64, copy=False)

    def happens(self, threshold: int, shape: int | tuple[int, ...]) -> Booleans:
        """Return independent events, each true with probability exactly threshold / 2^64.

        One random byte decides all but one case in 256; only those draw the other seven.
        """
        size = int(np.prod(shape))
        if threshold >= CERTAIN or threshold <= 0:
            return np.full(shape, threshold >= CERTAIN)
        lead, rest = threshold >> 56, threshold & ((1 << 56) - 1)
        first = self.bytes(size)
        outcome = first < lead
        undecided = np.flatnonzero(first == lead)
        outcome[undecided] = (self.words(len(undecided)) >> np.uint64(8)) < np.uint64(rest)
        return outcome.reshape(shape)

    def below(self, limit: int, size: int) -> Integers:
        """Return independent uniform integers from 0 to limit - 1, without bias.

        Lemire's multiplication: the upper half of x * limit, for a 16-bit or 32-bit x, rejecting
        the few x whose lower half would make one result likelier.
        """
        if not 1 <= limit <= 1 << 32:
            raise InputError(f"limit must be from 1 to 2^32, got {limit}")
        result = np.empty(size, dtype=np.int64)
        fits, again = self._multiply(limit, size)
        result[:] = fits
        while len(again):
            fits, rejected = self._multiply(limit, len(again))
            result[again] = fits
            again = again[rejected]
        return result

    def _multiply(self, limit: int, size: int) -> tuple[NDArray[Any], Integers]:
        """Return so many draws below a limit, and the places of those to reject."""
        wide: Any = np.uint32 if limit <= SHORT_LIMIT else np.uint64
        width = wide().itemsize // 2
        span = 1 << 8 * width
        products = self.bytes(width * size).view(f"<u{width}").astype(wide) * wide(limit)
        biased = span % limit
        lower = products & wide(span - 1)
        rejected = np.flatnonzero(lower < wide(biased)) if biased else np.zeros(0, dtype=np.int64)
        return products >> wide(8 * width), rejected


def randomness(rng: Seed) -> Randomness:
    """Return the randomness of a seed or generator; that of the operating system for None."""
    if rng is None or isinstance(rng, Randomness):
        return rng or Randomness(None)
    return Randomness(_checks.generator(rng, "rng"))


# Rows of thresholds ------------------------------------------------------------------------------


def whole_chances(channel: Floats, limit: Fraction) -> Thresholds:
    """Return integer chances near a channel whose ratios within each column keep a limit exactly.

    Parameters
    ----------
    channel
        P(output given value), rows summing to 1 up to rounding.
    limit
        The largest ratio allowed, at least 1.

    Returns
    -------
    Thresholds
        One row per value, each summing to 2^64.

    Notes
    -----
    The channel is mixed with a share t of its average row, t the smallest of 0, 2^-52, 2^-51,
    ..., 1 that keeps the limit once rounded; t = 1 always does.  A channel that keeps the limit
    up to rounding needs a t of about the rounding over ln(limit).  Outputs rarer than 2^-32 get
    the same chance for all values, since rounding alone would tell these apart.

    Examples
    --------
    >>> chances = whole_chances(np.array([[0.75, 0.25], [0.25, 0.75]]), Fraction(3))
    >>> chances.sum(axis=1).tolist() == [2**64, 2**64], largest_ratio(chances)
    (True, Fraction(3, 1))
    """
    channel = np.where(channel.max(axis=0) < RARE, channel.mean(axis=0), channel)
    average = channel.mean(axis=0)
    for share in (0.0, *(2.0**exponent for exponent in range(-52, 0))):
        chances = _round_rows((1 - share) * channel + share * average)
        if _keeps(chances, limit):
            return chances
    return _round_rows(np.tile(average, (len(channel), 1)))


def _round_rows(channel: Floats) -> Thresholds:
    """Return integer chances; what rounding leaves goes to the likeliest output."""
    chances = exact_cells(int, np.floor(channel * CERTAIN))
    every, likeliest = np.arange(len(chances)), channel.argmax(axis=1)
    chances[every, likeliest] += CERTAIN - chances.sum(axis=1)
    return chances


def exact_cells(make: Callable[[Any], Any], matrix: NDArray[Any]) -> Thresholds:
    """Return each cell as an exact Python number."""
    return np.asarray(np.frompyfunc(make, 1, 1)(matrix))


def _column_range(chances: Thresholds) -> "zip[tuple[Any, Any]]":
    return zip(chances.max(axis=0).tolist(), chances.min(axis=0).tolist(), strict=True)


def _keeps(chances: Thresholds, limit: Fraction) -> bool:
    """Say whether each column's largest chance is at most `limit` times its smallest, exactly."""
    above, below = limit.numerator, limit.denominator
    return all(high * below <= low * above for high, low in _column_range(chances))


def largest_ratio(chances: Thresholds) -> Fraction:
    """Return the largest exact ratio within a column; an output without any chance is left out."""
    return max(Fraction(high, low) for high, low in _column_range(chances) if high)


def draw_outputs(chances: Thresholds, codes: Integers, source: Randomness) -> Integers:
    """Return one output for each code, each with exactly its chance out of 2^64.

    A uniform 64-bit integer is looked up in the running sums of its row; O(log r) each for r
    outputs, in blocks so that memory does not grow beyond the outputs.
    """
    ends = np.minimum(np.cumsum(chances, axis=1), CERTAIN - 1).astype(np.uint64)
    last = chances.shape[1] - 1 - (chances > 0)[:, ::-1].argmax(axis=1)
    outputs = np.empty(len(codes), dtype=np.int64)
    for begin in range(0, len(codes), ROWS):
        block = codes[begin : begin + ROWS]
        words = source.words(len(block))
        order = np.argsort(block, kind="stable")
        borders = np.searchsorted(block[order], np.arange(len(chances) + 1))
        for value in np.flatnonzero(np.diff(borders)):
            rows = order[borders[value] : borders[value + 1]]
            indices = np.searchsorted(ends[value], words[rows], side="right")
            outputs[begin + rows] = np.minimum(indices, last[value])
    return outputs
