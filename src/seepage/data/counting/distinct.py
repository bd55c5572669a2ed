"""Records as codes, made distinct or sampled: from any number of batches, on any machine.

A record is a column of an array with one row per attribute.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage._results import Progress
from seepage.data.counting.kernel import Codes
from seepage.data.domain import Domain
from seepage.data.table.options import TableOptions
from seepage.data.table.sampling import MIN_BUFFER, PrioritySample, priorities
from seepage.data.table.scan import CodedBatch, open_scan
from seepage.errors import TableError


class DistinctRecords:
    """All distinct records, and how often each occurs.

    Batches are joined and made distinct whenever they have doubled what is held, so memory grows
    with the distinct records only; O(n log n) for n records.

    Parameters
    ----------
    most
        More bytes raise an error, where given.
    """

    def __init__(self, most: int | None = None) -> None:
        self.seen = 0
        self._most = most
        self._held: list[tuple[Codes, Integers]] = []
        self._sizes: tuple[int, ...] = ()
        self._count = 0
        self._limit = MIN_BUFFER

    def add(
        self, codes: Sequence[NDArray[Any]], sizes: Sequence[int], first: int, kept: Booleans | None
    ) -> None:
        """Take a batch.

        Parameters
        ----------
        codes
            One array per attribute.
        sizes
            The number of codes of each attribute; it may grow from batch to batch.
        first
            The number of records of the table before the batch.
        kept
            Which records of the batch are in `codes`; None where all are.
        """
        columns = np.stack(codes)
        ones = np.ones(columns.shape[1], dtype=np.int64)
        self._take(distinct(columns, ones, sizes), sizes, len(ones))

    def merge(self, other: "DistinctRecords") -> None:
        """Take the distinct records of another part."""
        if other.seen:
            self._take(other.rows(), other._sizes, other.seen)

    def _take(self, part: tuple[Codes, Integers], sizes: Sequence[int], seen: int) -> None:
        self.seen += seen
        self._sizes = tuple(sizes)
        self._held.append(part)
        self._count += part[0].shape[1]
        if self._count > self._limit:
            self._join()
            self._limit = max(MIN_BUFFER, 2 * self._count)

    def _join(self) -> None:
        columns = np.concatenate([codes for codes, _ in self._held], axis=1)
        weights = np.concatenate([weights for _, weights in self._held])
        self._held = [distinct(columns, weights, self._sizes)]
        self._count = self._held[0][0].shape[1]
        if self._most is not None:
            self._check(sum(part.nbytes for part in self._held[0]), self._most)

    def _check(self, size: int, most: int) -> None:
        if size > most:
            raise TableError(
                f"{self._count:,} of {self.seen:,} records are distinct, which is more than "
                f"{most / 1e9:.3g} GB; take a sample (sample=...), fewer columns or coarser bins"
            )

    def rows(self) -> tuple[Codes, Integers]:
        """Return the distinct records, one row per attribute, and how often each occurs."""
        self._join()
        return self._held[0]

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent: the distinct records."""
        if self.seen:
            self._join()
        return self.__dict__


class RecordSample:
    """A uniform sample of records, without replacement.

    Every record has a pseudo-random priority by its number in the table; those of lowest priority
    are kept.  The same seed gives the same sample, however the table is cut.

    Parameters
    ----------
    size
        The number of records kept.
    seed
        Fixes the priorities.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.seen = 0
        self._seed = seed
        self._sample = PrioritySample(size)
        self._sizes: tuple[int, ...] = ()

    def add(
        self, codes: Sequence[NDArray[Any]], sizes: Sequence[int], first: int, kept: Booleans | None
    ) -> None:
        """Take a batch, as `DistinctRecords.add` does."""
        ranks = priorities(first, len(codes[0] if kept is None else kept), self._seed)
        ranks = ranks if kept is None else ranks[kept]
        self.seen += len(ranks)
        self._sizes = tuple(sizes)
        low = self._sample.candidates(ranks)
        self._sample.add(np.stack([column[low] for column in codes]), ranks[low])

    def merge(self, other: "RecordSample") -> None:
        """Take the sample of another part."""
        if other.seen:
            self.seen += other.seen
            self._sizes = other._sizes
            self._sample.merge(other._sample)

    def rows(self) -> tuple[Codes, Integers]:
        """Return the distinct records of the sample, one row per attribute, and their numbers."""
        columns, ranks = self._sample.thinned()
        return distinct(columns, np.ones(len(ranks), dtype=np.int64), self._sizes)


Gathering: TypeAlias = DistinctRecords | RecordSample
"""What is kept of the records of a table, from batches or from other parts of the table."""


def gather_local(
    data: Any,
    options: TableOptions,
    start: Callable[[], Gathering],
    progress: Progress | None = None,
) -> tuple[Domain, Gathering, tuple[Codes, Integers]]:
    """Return the domain of a table, what gathered its records, and these in codes of the domain.

    Parameters
    ----------
    data
        A frame, or the path of a file, folder or glob.
    options
        How the table is read.
    start
        Begins to gather: all distinct records, or a sample.
    progress
        Called with the records read so far and the records in all, None where not known.
    """

    def gather(batches: Iterator[CodedBatch]) -> Gathering:
        kept = start()
        for batch in batches:
            kept.add(*batch)
        return kept

    scan = open_scan(data, options)
    kept = scan.read(gather, progress)
    domain, orders = scan.finish()
    rows, weights = kept.rows()
    for row, order in zip(rows, orders, strict=True):
        ranks = np.zeros(int(order.max()) + 1, dtype=rows.dtype)
        ranks[order] = np.arange(len(order))
        row[:] = ranks[row]
    return domain, kept, (rows, weights)


def pack(columns: Codes, sizes: Sequence[int]) -> list[NDArray[np.uint64]]:
    """Return records as numbers in mixed radix, in as few 64-bit words as they need.

    Words are in order of significance, so that comparing them compares the records with the
    first column leading.

    Parameters
    ----------
    columns
        One row per column of codes.
    sizes
        The columns' alphabet sizes.

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
    """Return the order that sorts records, and where in it a new one begins."""
    order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
    starts = np.zeros(len(order), dtype=np.bool_)
    starts[:1] = True
    for word in keys:
        ordered = word[order]
        starts[1:] |= ordered[1:] != ordered[:-1]
    return order, starts


def distinct(columns: Codes, weights: Integers, sizes: Sequence[int]) -> tuple[Codes, Integers]:
    """Return the distinct records, one row per attribute, and the sums of their weights."""
    kept = weights > 0
    if not kept.all():
        columns, weights = columns[:, kept], weights[kept]
    if not len(weights):
        return columns, weights
    order, starts = runs(pack(columns, sizes))
    first = np.flatnonzero(starts)
    return columns[:, order[first]], np.add.reduceat(weights[order], first)
