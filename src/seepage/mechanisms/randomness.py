"""Where mechanisms get their randomness: one stream of bytes, drawn and compared as integers.

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
from fractions import Fraction
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Integers
from seepage.errors import InputError

__all__ = ["Randomness", "chance", "randomness"]

CERTAIN = 1 << 64
"""The chance of an event that always happens."""

SHORT_LIMIT = 1 << 10
"""Up to this limit `below` draws from 16 bits; at most one draw in 64 is made again."""

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


def randomness(rng: Seed, secure: bool) -> Randomness:
    """Return the operating system's randomness, or that of a seed or generator."""
    if secure:
        if rng is not None:
            raise InputError("secure=True draws from the operating system and takes no rng")
        return Randomness(None)
    if isinstance(rng, Randomness):
        return rng
    return Randomness(_checks.generator(rng, "rng"))


def chance(probability: Fraction) -> int:
    """Return a probability as a threshold out of 2^64, rounded down.

    Examples
    --------
    >>> chance(Fraction(1, 2)) == 2**63
    True
    """
    return math.floor(probability * CERTAIN)
