"""Randomness of the operating system or of a seed, and draws with exact
probabilities.
"""

import os
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Booleans, Integers
from seepage._core.errors import InputError
from seepage.mechanisms.exact_probabilities import CERTAIN, Thresholds

ROWS = 1 << 16
"""Reports per batch, so that memory does not grow with the column."""


SHORT_LIMIT = 1 << 10
"""Up to this limit `below` draws from 16 bits and rejects at most one draw in 64."""


Seed = Union[int, np.random.Generator, "Randomness", None]
"""A seed or generator gives the same draws again; None draws from the operating
system."""


# Random bytes, and draws from them ----------------------------------------------------


class Randomness:
    """A source of uniform random bytes, with exact draws.

    Parameters
    ----------
    generator
        A NumPy generator for research; None for the operating system's secure
        generator.
    """

    def __init__(self, generator: np.random.Generator | None) -> None:
        """Take random bits from a generator; for None, from the operating system."""
        self.generator = generator

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return `count` uniform random bytes."""
        if self.generator is None:
            return np.frombuffer(os.urandom(count), dtype=np.uint8)
        words = self.generator.integers(0, CERTAIN, -(-count // 8), dtype=np.uint64)
        return words.astype("<u8", copy=False).view(np.uint8)[:count]

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` uniform random 64-bit integers."""
        return self.bytes(8 * count).view("<u8").astype(np.uint64, copy=False)

    def happens(self, threshold: int, shape: int | tuple[int, ...]) -> Booleans:
        """Return independent random events, each true with probability exactly
        threshold / 2^64.

        One random byte decides all but one event in 256, for which seven more bytes are
        drawn.
        """
        size = int(np.prod(shape))
        if threshold >= CERTAIN or threshold <= 0:
            return np.full(shape, threshold >= CERTAIN)
        lead = threshold >> 56
        rest = threshold & ((1 << 56) - 1)
        first = self.bytes(size)
        outcome = first < lead
        undecided = np.flatnonzero(first == lead)
        outcome[undecided] = (self.words(len(undecided)) >> np.uint64(8)) < np.uint64(
            rest
        )
        return outcome.reshape(shape)

    def below(self, limit: int, size: int) -> Integers:
        """Return independent uniform random integers from 0 to limit - 1, without bias.

        Lemire's method: the upper half of x * limit, for a 16-bit or 32-bit x,
        rejecting the few x whose lower half would bias the result.
        """
        if not 1 <= limit <= 1 << 32:
            raise InputError(
                f"limit must be from 1 to 2^32, got {limit}", parameter="limit"
            )
        result = np.empty(size, dtype=np.int64)
        pending = np.arange(size)
        while len(pending):
            draws, rejected = self._multiply(limit, len(pending))
            result[pending] = draws
            pending = pending[rejected]
        return result

    def _multiply(self, limit: int, size: int) -> tuple[NDArray[Any], Integers]:
        """Return `size` random draws below a limit, and the indices of those to
        reject.
        """
        wide: Any = np.uint32 if limit <= SHORT_LIMIT else np.uint64
        width = wide().itemsize // 2
        span = 1 << 8 * width
        products = self.bytes(width * size).view(f"<u{width}").astype(wide) * wide(
            limit
        )
        biased = span % limit
        lower = products & wide(span - 1)
        rejected = np.zeros(0, dtype=np.int64)
        if biased:
            rejected = np.flatnonzero(lower < wide(biased))
        return products >> wide(8 * width), rejected


def randomness(rng: Seed, name: str = "rng") -> Randomness:
    """Return a source of random bits for a seed or generator; for None, the operating
    system.
    """
    if rng is None or isinstance(rng, Randomness):
        return rng or Randomness(None)
    return Randomness(checks.generator(rng, name))


def draw_outputs(
    thresholds: Thresholds, codes: Integers, source: Randomness
) -> Integers:
    """Return one random output for each code, with exactly the probabilities thresholds
    / 2^64.

    A uniform 64-bit integer is looked up in the cumulative sums of its row, O(log r)
    for r outputs; in blocks, so that memory does not grow beyond the outputs.
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


def guess_supported(sets: Booleans, source: Randomness) -> Integers:
    """Return one random guess for each report: a uniform supported value, or any value
    if none is.

    The paper's attack on a report that supports a set of values [paper, Appendix B].

    Parameters
    ----------
    sets
        The supported values: one row per report, one column per value.
    source
        The source of randomness; the choice is unbiased.

    Examples
    --------
    >>> sets = np.array(
    ...     [[False, False, True], [True, False, True], [False, False, False]]
    ... )
    >>> first, second, third = guess_supported(
    ...     sets, Randomness(np.random.default_rng(1))
    ... )
    >>> first == 2, second in (0, 2), third in (0, 1, 2)
    (np.True_, True, True)
    """
    sets = sets | ~sets.any(axis=1, keepdims=True)
    counts = np.cumsum(sets, axis=1, dtype=np.int32)
    ranks = np.empty(len(sets), dtype=np.int32)
    for limit in np.unique(counts[:, -1]):
        rows = np.flatnonzero(counts[:, -1] == limit)
        ranks[rows] = source.below(int(limit), len(rows))
    return np.asarray((counts > ranks[:, None]).argmax(axis=1))
