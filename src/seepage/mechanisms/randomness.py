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
    """A source of uniform random bytes, with exact draws.

    Parameters
    ----------
    generator
        A NumPy generator for research; None for the operating system's secure generator.
    """

    def __init__(self, generator: np.random.Generator | None) -> None:
        self.generator = generator

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return `count` uniform bytes."""
        if self.generator is None:
            return np.frombuffer(os.urandom(count), dtype=np.uint8)
        words = self.generator.integers(0, CERTAIN, -(-count // 8), dtype=np.uint64)
        return words.astype("<u8", copy=False).view(np.uint8)[:count]

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` uniform 64-bit integers."""
        return self.bytes(8 * count).view("<u8").astype(np.uint64, copy=False)

    def happens(self, threshold: int, shape: int | tuple[int, ...]) -> Booleans:
        """Return independent events, each true with probability exactly threshold / 2^64.

        One random byte decides all but one event in 256, for which seven more bytes are drawn.
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

        Lemire's method: the upper half of x * limit, for a 16-bit or 32-bit x, rejecting the few x
        whose lower half would bias the result.
        """
        if not 1 <= limit <= 1 << 32:
            raise InputError(f"limit must be from 1 to 2^32, got {limit}", parameter="limit")
        result = np.empty(size, dtype=np.int64)
        draws, pending = self._multiply(limit, size)
        result[:] = draws
        while len(pending):
            draws, rejected = self._multiply(limit, len(pending))
            result[pending] = draws
            pending = pending[rejected]
        return result

    def _multiply(self, limit: int, size: int) -> tuple[NDArray[Any], Integers]:
        """Return `size` draws below a limit, and the indices of those to reject."""
        wide: Any = np.uint32 if limit <= SHORT_LIMIT else np.uint64
        width = wide().itemsize // 2
        span = 1 << 8 * width
        products = self.bytes(width * size).view(f"<u{width}").astype(wide) * wide(limit)
        biased = span % limit
        lower = products & wide(span - 1)
        rejected = np.flatnonzero(lower < wide(biased)) if biased else np.zeros(0, dtype=np.int64)
        return products >> wide(8 * width), rejected


def randomness(rng: Seed, name: str = "rng") -> Randomness:
    """Return a source for a seed or generator; for None, the operating system."""
    if rng is None or isinstance(rng, Randomness):
        return rng or Randomness(None)
    return Randomness(_checks.generator(rng, name))


def draw_outputs(thresholds: Thresholds, codes: Integers, source: Randomness) -> Integers:
    """Return one output for each code, with exactly the probabilities thresholds / 2^64.

    A uniform 64-bit integer is looked up in the cumulative sums of its row, O(log r) for r
    outputs; in blocks, so that memory does not grow beyond the outputs.
    """
    ends = np.minimum(np.cumsum(thresholds, axis=1), CERTAIN - 1).astype(np.uint64)
    last = thresholds.shape[1] - 1 - (thresholds > 0)[:, ::-1].argmax(axis=1)
    outputs = np.empty(len(codes), dtype=np.int64)
    for start in range(0, len(codes), ROWS):
        block = codes[start : start + ROWS]
        words = source.words(len(block))
        order = np.argsort(block, kind="stable")
        boundaries = np.searchsorted(block[order], np.arange(len(thresholds) + 1))
        for value in np.flatnonzero(np.diff(boundaries)):
            rows = order[boundaries[value] : boundaries[value + 1]]
            indices = np.searchsorted(ends[value], words[rows], side="right")
            outputs[start + rows] = np.minimum(indices, last[value])
    return outputs


def guess_supported(words: NDArray[np.uint64], k: int, source: Randomness) -> Integers:
    """Return one guess for each report: a uniform set bit, or a uniform value if no bit is set.

    The paper's attack on a report that supports a set of values [paper, Appendix B].

    Parameters
    ----------
    words
        One row per report: the supported values, packed as in `BitReports`.
    k
        The alphabet size.
    source
        The source of randomness; the choice is unbiased.

    Notes
    -----
    The set bits s are counted, a rank below s is drawn, and the set bit of that rank is located:
    first its word, then its index in the word by bisection.  O(n k / 64) for n reports.

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
    rows = np.arange(len(words))
    word = words[rows, column]
    before = ends[rows, column] - np.bitwise_count(word)
    return np.where(supported > 0, 64 * column + _set_bit(word, ranks - before), ranks)


def _below_each(limits: Integers, source: Randomness) -> Integers:
    """Return one unbiased draw below each limit, one call per distinct limit."""
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
    """Return the argmax of each row; ties are broken uniformly at random."""
    chosen = scores.argmax(axis=1)
    equal = scores == scores[np.arange(len(scores)), chosen][:, None]
    tied = np.flatnonzero(np.count_nonzero(equal, axis=1) > 1)
    if len(tied):
        keys = source.words(len(tied) * scores.shape[1]).reshape(len(tied), -1) | np.uint64(1)
        chosen[tied] = np.where(equal[tied], keys, np.uint64(0)).argmax(axis=1)
    return np.asarray(chosen)
