"""Distinct records, or a uniform sample of records, from batches of codes; both merge.

Records are the columns of an array of shape (attributes, records).
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Codes, Integers
from seepage.data import Domain
from seepage.data.table import DataOptions
from seepage.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from seepage.data.table.scan import CodedBatch
    from seepage.data.table.sources import Source


Priorities: TypeAlias = NDArray[np.uint64]

MIN_BUFFER = 2**18
"""Records buffered before a sample is thinned, or records are made distinct."""

MAX_PART = 1 << 18
"""Maximum number of records of a random part."""

SEED = 20_240_607
"""Seed of the priorities: the same table has the same bin edges every time."""


class DistinctRecords:
    """All distinct records with their multiplicities.

    The buffer is reduced to distinct records whenever it has doubled, so memory grows
    with the number of distinct records only; O(n log n) for n records.
    """

    def __init__(self) -> None:
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
        """Add a batch: the fields of `CodedBatch`; alphabets may grow from batch to
        batch.
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
        """Return the state to pickle, reduced to distinct records."""
        if self.seen:
            self.rows()
        return self.__dict__


def own_seed(purpose: str, rng: int) -> int:
    """Return a seed for one purpose: NumPy's stream of `rng` itself may have made the
    table.

    Examples
    --------
    >>> own_seed("sample", 0) != own_seed("part", 0) != 0
    True
    """
    digest = hashlib.blake2b(f"{purpose} {rng}".encode(), digest_size=8).digest()
    return int.from_bytes(digest)


def record_priorities(first: int, count: int, seed: int = SEED) -> Priorities:
    """Return a pseudo-random 64-bit priority for each of `count` records from index
    `first` on.

    A priority depends on the record's index in the table and the seed alone, so the n
    records of lowest priority are a uniform sample that does not depend on how the
    table is cut into batches.
    """
    return np.asarray(
        np.random.PCG64(seed).advance(first).random_raw(count), dtype=np.uint64
    )


@dataclass(frozen=True)
class RandomPart:
    """A random part of the records of a table, or of its people with all their records.

    Parameters
    ----------
    seed
        The seed of the priorities, of records by index or of people by key.
    threshold
        A record belongs to the part if its priority is below; the share is threshold /
        2^64.
    """

    seed: int
    threshold: int

    def priorities(self, keys: Priorities | None, first: int, rows: int) -> Priorities:
        """Return the priorities of a batch's records.

        Parameters
        ----------
        keys
            The keys of their people; None if every record is a person of its own.
        first, rows
            The number of records before the batch, and in it.
        """
        if keys is None:
            return record_priorities(first, rows, self.seed)
        mixed = keys + np.uint64(self.seed * 0x9E3779B97F4A7C15 % 2**64)  # SplitMix64
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def part_share(records: int) -> float:
    """Return the share of a random part: a fifth of fewer than 20,000 records, else a
    twentieth.
    """
    return 1 / 5 if records < 20_000 else 1 / 20


def read_part(
    source: "Source", names: Sequence[str], person: str | None, rng: int, *, whole: bool
) -> "tuple[pa.Table, RandomPart]":
    """Return the records of a random part, one of each person, and the part.

    It is the share of `part_share`, and less where that is more than `MAX_PART`;
    `whole`: all, up to `MAX_PART`.
    """
    import pyarrow as pa

    from seepage.data.table.scan import RecordChoice

    threshold = 2**64
    part = RandomPart(own_seed("part", rng), threshold)
    choice = RecordChoice(person, fields=source.fields)
    kept = list[tuple["pa.RecordBatch", Priorities]]()
    rows = 0
    for batch in source.batches(names if person is None else [*names, person]):
        kept.append(
            (batch, part.priorities(choice.keys(batch, rows), rows, batch.num_rows))
        )
        rows += batch.num_rows
        if not whole:
            threshold = min(threshold, int(part_share(rows) * 2**64))
        kept = _below(threshold, kept)
        while sum(len(priorities) for _, priorities in kept) > MAX_PART:
            threshold //= 2
            kept = _below(threshold, kept)
    if not rows:
        raise TableError("the table has no records")
    if not kept:
        raise TableError(
            f"{rows:,} records are too few to fix the answers on a part of them; declare a domain"
        )
    masks = [choice.chosen(batch) for batch, _ in kept]
    chosen = [
        b if mask is None else b.filter(mask)
        for (b, _), mask in zip(kept, masks, strict=True)
    ]
    return pa.Table.from_batches(chosen).select(names), replace(
        part, threshold=threshold
    )


def _below(
    threshold: int, kept: Sequence[tuple["pa.RecordBatch", Priorities]]
) -> list[tuple["pa.RecordBatch", Priorities]]:
    """Return the records of priorities below a threshold, and these, without empty
    batches.
    """
    limit = np.uint64(min(threshold, 2**64 - 1))
    inside = (
        (batch.filter(found < limit), found[found < limit]) for batch, found in kept
    )
    return [(batch, found) for batch, found in inside if len(found)]


class PrioritySample:
    """The records of lowest priority: a uniform sample without replacement.

    Parameters
    ----------
    size
        The number of records kept.
    """

    def __init__(self, size: int) -> None:
        self.kept = 0
        self._size = size
        self._threshold: int | None = None
        self._values: list[NDArray[Any]] = []
        self._priorities: list[Priorities] = []

    def candidates(self, priorities: Priorities) -> Booleans | slice:
        """Return which records of these priorities may still enter the sample."""
        return (
            slice(None)
            if self._threshold is None
            else priorities < np.uint64(self._threshold)
        )

    def add(self, values: NDArray[Any], priorities: Priorities) -> None:
        """Add records, along the last axis of `values`, with their priorities."""
        self._values.append(values)
        self._priorities.append(priorities)
        self.kept += len(priorities)
        if self.kept > max(2 * self._size, MIN_BUFFER):
            self.thinned()

    def merge(self, other: "PrioritySample") -> None:
        """Add the sample of another part of the table."""
        if other.kept:
            self.add(*other.thinned())

    def thinned(self) -> tuple[NDArray[Any], Priorities]:
        """Drop all but the records of lowest priority; return these and their
        priorities.
        """
        values = np.concatenate(self._values, axis=-1)
        priorities = np.concatenate(self._priorities)
        if len(priorities) > self._size:
            lowest = np.argpartition(priorities, self._size)
            self._threshold = int(priorities[lowest[self._size]])
            lowest = lowest[: self._size]
            values = values[..., lowest]
            priorities = priorities[lowest]
        self._values, self._priorities, self.kept = (
            [values],
            [priorities],
            len(priorities),
        )
        return values, priorities

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, after thinning."""
        if self.kept:
            self.thinned()
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
        """Add a batch: the fields of `CodedBatch`; alphabets may grow from batch to
        batch.
        """
        priorities = record_priorities(
            first, len(codes[0] if kept is None else kept), self._seed
        )
        priorities = priorities if kept is None else priorities[kept]
        self.seen += len(priorities)
        self._sizes = tuple(sizes)
        candidates = self._sample.candidates(priorities)
        self._sample.add(
            np.stack([column[candidates] for column in codes]), priorities[candidates]
        )

    def merge(self, other: "RecordSample") -> None:
        """Add the sample of another part of the table."""
        if other.seen:
            self.seen += other.seen
            self._sizes = other._sizes
            self._sample.merge(other._sample)

    def rows(self) -> tuple[Codes, Integers]:
        """Return the sample's distinct records, shape (attributes, records), and
        multiplicities.
        """
        columns, priorities = self._sample.thinned()
        return distinct(columns, np.ones(len(priorities), dtype=np.int64), self._sizes)


Gathering: TypeAlias = DistinctRecords | RecordSample
"""Records of a table gathered from batches, mergeable with those of other parts."""


def gather_local(
    data: Any,
    options: DataOptions,
    new_gathering: Callable[[], Gathering],
    part: RandomPart | None = None,
) -> tuple[Domain, int, Codes, Integers]:
    """Return the domain of a table, the number of its records, and the gathered ones.

    These in codes of the domain, shape (attributes, records), and their multiplicities.

    Parameters
    ----------
    data
        A frame, or the path of a file, folder or glob.
    options
        The table options.
    new_gathering
        Constructor of an empty `DistinctRecords` or `RecordSample`.
    part
        Records that are left out; None for none.
    """
    from seepage.data.table.scan import open_scan

    def gather(batches: "Iterator[CodedBatch]") -> Gathering:
        gathering = new_gathering()
        for batch in batches:
            gathering.add(*batch)
        return gathering

    scan = open_scan(data, options, part)
    gathered = scan.read(gather, options.progress)
    domain, orders = scan.finish()
    if not gathered.seen:
        raise TableError(
            "no record is left beside the part that fixed the answers; declare a domain"
        )
    rows, weights = gathered.rows()
    for row, order in zip(rows, orders, strict=True):
        final = np.zeros(int(order.max()) + 1, dtype=rows.dtype)
        final[order] = np.arange(len(order))
        row[:] = final[row]
    return domain, gathered.seen, rows, weights


def pack(columns: Codes, sizes: Sequence[int]) -> list[NDArray[np.uint64]]:
    """Return records as mixed-radix integers, in as few 64-bit words as possible.

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
    """Return the permutation that sorts packed records, and the mask of first
    occurrences in it.
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
