"""Sets of values as packed bits: count each value's bits, and choose one value of each set."""

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Integers
from seepage.mechanisms.randomness import Randomness

__all__ = ["count_bits", "guess_supported"]


def count_bits(words: NDArray[np.uint64], k: int) -> Integers:
    """Return how many rows set each of the first k bits.

    Every eighth bit of a word is moved to the lowest place of its byte; 255 words then add up
    without a byte's overflow, so that one addition counts for eight values.  O(n k / 8) word
    operations for n reports, in blocks that fit the cache.

    Examples
    --------
    >>> count_bits(np.array([[0b110], [0b100]], dtype=np.uint64), 3).tolist()
    [0, 1, 2]
    """
    width = words.shape[1]
    side = max(1, 256 // width)
    totals = np.zeros((width, 8, 8), dtype=np.int64)
    for begin in range(0, len(words), 255 * side):
        block = words[begin : begin + 255 * side]
        if len(block) < 255 * side:
            block = np.pad(block, ((0, 255 * side - len(block)), (0, 0)))
        stack = block.reshape(255, side * width)
        for place in range(8):
            sums = ((stack >> np.uint64(place)) & np.uint64(0x0101010101010101)).sum(axis=0)
            octets = sums.astype("<u8", copy=False).view(np.uint8).reshape(side, width, 8)
            totals[:, :, place] += octets.sum(axis=0, dtype=np.int64)
    return totals.ravel()[:k]


def guess_supported(words: NDArray[np.uint64], k: int, source: Randomness) -> Integers:
    """Return one guess for each report, uniform among its set bits, or among all k without any.

    The paper's attack on a report that supports a set of values [paper, Appendix B].

    Parameters
    ----------
    words
        One row a report: the supported values, packed as in `BitReports`.
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
    """Return the place of the set bit with this rank, counted from the least significant."""
    place = np.zeros(len(words), dtype=np.int64)
    for half in (32, 16, 8, 4, 2, 1):
        below = np.bitwise_count(words & np.uint64((1 << half) - 1)).astype(np.int64)
        upper = ranks >= below
        ranks = np.where(upper, ranks - below, ranks)
        words = np.where(upper, words >> np.uint64(half), words)
        place += np.where(upper, half, 0)
    return place
