"""Distinct records, or a uniform sample of records, from batches of codes; both merge.

Records are the columns of an array of shape (attributes, records).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._core.arrays import Booleans, Codes, Integers
from seepage.counting.record_samples import (
    MIN_BUFFER,
    PrioritySample,
    record_priorities,
)


class DistinctRecords:
    """All distinct records with their multiplicities.

    The buffer is reduced to distinct records whenever it has doubled, so memory grows
    with the number of distinct records only; O(n log n) for n records.
    """

    def __init__(self) -> None:
        """Begin to gather distinct records."""
        self.seen = 0
        self._buffer: list[tuple[Codes, Integers]] = []
        self._sizes: tuple[int, ...] = ()
        self._limit = MIN_BUFFER

    def add(
        self,
        codes: Sequence[NDArray[Any]],
        sizes: Sequence[int],
        first: int,
        kept: Booleans | None,
    ) -> None:
        """Add a batch to the distinct records: the fields of `CodedBatch`; alphabets
        may grow from batch to batch.
        """
        columns = np.stack(codes)
        ones = np.ones(columns.shape[1], dtype=np.int64)
        self._append(distinct(columns, ones, sizes), sizes, len(ones))

    def merge(self, other: "DistinctRecords") -> None:
        """Add the distinct records of another part of the table."""
        if other.seen:
            self._append(other.rows(), other._sizes, other.seen)

    def _append(
        self, part: tuple[Codes, Integers], sizes: Sequence[int], seen: int
    ) -> None:
        """Append packed distinct records, and reduce all of them once they are many."""
        self.seen += seen
        self._sizes = tuple(sizes)
        self._buffer.append(part)
        if sum(len(weights) for _, weights in self._buffer) > self._limit:
            self._limit = max(MIN_BUFFER, 2 * len(self.rows()[1]))

    def rows(self) -> tuple[Codes, Integers]:
        """Return the distinct records, shape (attributes, records), and their
        multiplicities.
        """
        columns = np.concatenate([codes for codes, _ in self._buffer], axis=1)
        weights = np.concatenate([weights for _, weights in self._buffer])
        self._buffer = [distinct(columns, weights, self._sizes)]
        return self._buffer[0]

    def __getstate__(self) -> dict[str, Any]:
        """Return the distinct records to pickle, reduced to different ones."""
        if self.seen:
            self.rows()
        return self.__dict__


class RecordSample:
    """A uniform sample of records without replacement.

    The records of lowest pseudo-random priority are kept; a priority depends on the
    record's index in the table and the seed alone, so the sample does not depend on
    batches and shards.

    Parameters
    ----------
    size
        The number of records kept.
    seed
        The seed of the priorities.
    """

    def __init__(self, size: int, seed: int) -> None:
        """Begin to draw a sample of records, of which the distinct ones are kept."""
        self.seen = 0
        self._seed = seed
        self._sample = PrioritySample(size)
        self._sizes: tuple[int, ...] = ()

    def add(
        self,
        codes: Sequence[NDArray[Any]],
        sizes: Sequence[int],
        first: int,
        kept: Booleans | None,
    ) -> None:
        """Add a batch to a sample of distinct records: the fields of `CodedBatch`;
        alphabets may grow.
        """
        rows = len(codes[0])
        if kept is not None:
            rows = len(kept)
        priorities = record_priorities(first, rows, self._seed)
        if kept is not None:
            priorities = priorities[kept]
        self.seen += len(priorities)
        self._sizes = tuple(sizes)
        candidates = self._sample.candidates(priorities)
        self._sample.add(
            np.stack([column[candidates] for column in codes]), priorities[candidates]
        )

    def merge(self, other: "RecordSample") -> None:
        """Add the sampled distinct records of another part of the table."""
        if other.seen:
            self.seen += other.seen
            self._sizes = other._sizes
            self._sample.merge(other._sample)

    def rows(self) -> tuple[Codes, Integers]:
        """Return the distinct records of a sample, shape (attributes, records), and
        multiplicities.
        """
        columns, priorities = self._sample.thinned()
        return distinct(columns, np.ones(len(priorities), dtype=np.int64), self._sizes)


def pack(columns: Codes, sizes: Sequence[int]) -> list[NDArray[np.uint64]]:
    """Return records packed to find distinct ones: mixed-radix integers in as few
    64-bit words as possible.

    The most significant word is first, so lexicographic order of the words is that of
    the records.

    Parameters
    ----------
    columns
        The codes, shape (attributes, records).
    sizes
        The alphabet sizes.

    Examples
    --------
    >>> pack(np.array([[1, 0], [2, 1]], dtype=np.uint8), [2, 3])
    [array([5, 1], dtype=uint64)]
    """
    words: list[NDArray[np.uint64]] = []
    room = 0
    for column, size in zip(columns, sizes, strict=True):
        if room < size:
            words.append(column.astype(np.uint64))
            room = (1 << 64) // size
            continue
        words[-1] *= np.uint64(size)
        words[-1] += column
        room //= size
    return words


def runs(keys: list[NDArray[np.uint64]]) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the permutation that sorts packed records, and the mask of the distinct
    ones in it.
    """
    order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
    starts = np.zeros(len(order), dtype=np.bool_)
    starts[:1] = True
    for word in keys:
        ordered = word[order]
        starts[1:] |= ordered[1:] != ordered[:-1]
    return order, starts


def distinct(
    columns: Codes, weights: Integers, sizes: Sequence[int]
) -> tuple[Codes, Integers]:
    """Return the distinct records, shape (attributes, records), and the sums of their
    weights.
    """
    positive = weights > 0
    if not positive.all():
        columns = columns[:, positive]
        weights = weights[positive]
    if not len(weights):
        return columns, weights
    order, starts = runs(pack(columns, sizes))
    first = np.flatnonzero(starts)
    return columns[:, order[first]], np.add.reduceat(weights[order], first)
