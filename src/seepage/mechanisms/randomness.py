"""Where mechanisms get their randomness: one stream of bytes, drawn and compared as integers.

A chance is a whole number T out of 2^64: an event with chance T happens when a uniform 64-bit
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
from fractions import Fraction
from typing import Union

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage.errors import InputError

__all__ = ["Randomness", "chance", "exp_below", "log_above", "randomness"]

CERTAIN = 1 << 64
"""The chance of an event that always happens."""

Seed = Union[int, np.random.Generator, "Randomness", None]


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
        raw = os.urandom(count) if self.generator is None else self.generator.bytes(count)
        return np.frombuffer(raw, dtype=np.uint8)

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

        Lemire's multiplication: the upper half of x * limit, for a 32-bit x, rejecting the few x
        whose lower half would make one result likelier.
        """
        if not 1 <= limit <= 1 << 32:
            raise InputError(f"limit must be from 1 to 2^32, got {limit}")
        result = np.empty(size, dtype=np.int64)
        pending = np.arange(size)
        biased = np.uint64((1 << 32) % limit)
        while len(pending):
            draws = self.bytes(4 * len(pending)).view("<u4").astype(np.uint64)
            products = draws * np.uint64(limit)
            result[pending] = products >> np.uint64(32)
            pending = pending[(products & np.uint64(0xFFFFFFFF)) < biased]
        return result


def randomness(rng: Seed, secure: bool) -> Randomness:
    """Return the operating system's randomness, or that of a seed or generator."""
    if secure:
        if rng is not None:
            raise InputError("secure=True draws from the operating system and takes no rng")
        return Randomness(None)
    if isinstance(rng, Randomness):
        return rng
    return Randomness(np.random.default_rng(rng))


def exp_below(epsilon: float) -> Fraction:
    """Return a fraction at most e^epsilon, within 3 units in the last place up to epsilon 700.

    Beyond 700 it is e^700, still a lower bound, and far finer than any chance out of 2^64.

    Examples
    --------
    >>> exp_below(0.0) == 1 < exp_below(1e-9) < exp_below(800.0)
    True
    """
    value = math.exp(min(epsilon, 700.0))
    for _ in range(2):
        value = math.nextafter(value, 0.0)
    return max(Fraction(value), Fraction(1))


def chance(probability: Fraction) -> int:
    """Return a probability as a threshold out of 2^64, rounded down.

    Examples
    --------
    >>> chance(Fraction(1, 2)) == 2**63
    True
    """
    return math.floor(probability * CERTAIN)


def log_above(ratio: Fraction) -> float:
    """Return ln(ratio) rounded up, for a positive fraction of any size.

    Examples
    --------
    >>> log_above(Fraction(1)), log_above(Fraction(2)) >= 0.6931471805599453
    (0.0, True)
    """
    if Fraction(1, 2) < ratio < 2:
        value = math.log1p(float(ratio - 1))
        return value + abs(value) * 2.0**-50
    logarithms = math.log(ratio.numerator), math.log(ratio.denominator)
    return logarithms[0] - logarithms[1] + sum(logarithms) * 2.0**-50
