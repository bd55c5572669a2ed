"""Exact draws from random bytes: events, uniform integers, outputs, set bits and ties.

Every draw compares integers (see `exact_probabilities`), so its probabilities are exact.  Research
and deployment differ only in the source of the bytes: a seeded NumPy `Generator`, or the operating
system.

This protects against the leaks of floating-point noise [Mironov 2012], predictable seeds and the
bias of remainders.  It does not protect against timing, memory and power side channels, or a
compromised operating system.
"""

import os
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.errors import InputError
from seepage.mechanisms.exact_probabilities import CERTAIN, Thresholds

ROWS = 1 << 16
"""Reports per batch, so that memory does not grow with the column."""

SHORT_LIMIT = 1 << 10
"""Up to this limit `below` draws from 16 bits and rejects at most one draw in 64."""

Seed = Union[int, np.random.Generator, "Randomness", None]
"""A seed or generator gives the same draws again; None draws from the operating system."""


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


def guess_supported(words: NDArray[np.uint64], k: int, source: Randomness) -> Integers:
    """Return one guess for each report, uniform among its set bits, or among all k without any.

    The paper's attack on a report that supports a set of values [paper, Appendix B].

    Parameters
    ----------
    words
        One row per report: the supported values, packed as in `BitReports`.
    k
        The alphabet size.
    source
        Where the choices come from; they are unbiased.

    Notes
    -----
    The number of set bits s is counted, a rank below s drawn, and the set bit of that rank found:
    first its word, then its place in the word by halving.  O(n k / 64) for n reports.

    Examples
    --------
    >>> words = np.array([[0b100], [0b101], [0]], dtype=np.uint64)
    >>> first, second, third = guess_supported(words, 3, Randomness(np.random.default_rng(1)))
    >>> first == 2, second in (0, 2), third in (0, 1, 2)
    (np.True_, True, True)
    """
    if not len(words):
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(np.bitwise_count(words), axis=1, dtype=np.int64)
    supported = ends[:, -1]
    ranks = _below_each(np.where(supported > 0, supported, k), source)
    column = np.minimum((ends <= ranks[:, None]).sum(axis=1), words.shape[1] - 1)
    every = np.arange(len(words))
    word = words[every, column]
    before = ends[every, column] - np.bitwise_count(word)
    return np.where(supported > 0, 64 * column + _set_bit(word, ranks - before), ranks)


def _below_each(limits: Integers, source: Randomness) -> Integers:
    """Return one unbiased draw below each limit; few of the limits differ."""
    draws = np.empty(len(limits), dtype=np.int64)
    for limit in np.unique(limits):
        rows = np.flatnonzero(limits == limit)
        draws[rows] = source.below(int(limit), len(rows))
    return draws


def _set_bit(words: NDArray[np.uint64], ranks: Integers) -> Integers:
    """Return the index of the set bit with this rank, counted from the least significant."""
    index = np.zeros(len(words), dtype=np.int64)
    for half in (32, 16, 8, 4, 2, 1):
        below = np.bitwise_count(words & np.uint64((1 << half) - 1)).astype(np.int64)
        upper = ranks >= below
        ranks = np.where(upper, ranks - below, ranks)
        words = np.where(upper, words >> np.uint64(half), words)
        index += np.where(upper, half, 0)
    return index


def argmax_random_ties(scores: Floats, source: Randomness) -> Integers:
    """Return the column of the largest score of each row, a random one where several are equal."""
    chosen = scores.argmax(axis=1)
    equal = scores == scores[np.arange(len(scores)), chosen][:, None]
    tied = np.flatnonzero(np.count_nonzero(equal, axis=1) > 1)
    if len(tied):
        keys = source.words(len(tied) * scores.shape[1]).reshape(len(tied), -1) | np.uint64(1)
        chosen[tied] = np.where(equal[tied], keys, np.uint64(0)).argmax(axis=1)
    return np.asarray(chosen)
