"""Uniform random samples and parts of records, the same for the same seed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._core.arrays import Booleans

if TYPE_CHECKING:
    import pyarrow as pa


Priorities: TypeAlias = NDArray[np.uint64]


MIN_BUFFER = 2**18
"""Records buffered before a sample is thinned, or records are made distinct."""


MAX_PART = 1 << 18
"""Maximum number of records of a random part."""


SEED = 20_240_607
"""Seed of the priorities: the same table has the same bin edges every time."""


def own_seed(purpose: str, rng: int) -> int:
    """Return a seed for one purpose of sampling records: NumPy's stream of `rng` itself
    may have made the table.

    Examples
    --------
    >>> own_seed("sample", 0) != own_seed("part", 0) != 0
    True
    """
    digest = hashlib.blake2b(f"{purpose} {rng}".encode(), digest_size=8).digest()
    return int.from_bytes(digest)


def record_priorities(first: int, count: int, seed: int = SEED) -> Priorities:
    """Return a pseudo-random 64-bit priority for each of `count` records, by which
    samples choose.

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
        """Return the priorities of a batch's records, by which a random part is chosen.

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
    """Return the share of the records in a random part: a fifth of fewer than 20,000,
    else a twentieth.
    """
    if records < 20_000:
        return 1 / 5
    return 1 / 20


def below_share(
    threshold: int, kept: Sequence[tuple["pa.RecordBatch", Priorities]]
) -> list[tuple["pa.RecordBatch", Priorities]]:
    """Return the records of a random part, of priorities below a threshold, without
    empty batches.
    """
    limit = np.uint64(min(threshold, 2**64 - 1))
    inside = list[tuple["pa.RecordBatch", Priorities]]()
    for batch, priorities in kept:
        is_below = priorities < limit
        if is_below.any():
            inside.append((batch.filter(is_below), priorities[is_below]))
    return inside


class PrioritySample:
    """The records of lowest priority: a uniform sample without replacement.

    Parameters
    ----------
    size
        The number of records kept.
    """

    def __init__(self, size: int) -> None:
        """Begin a sample of the records of lowest priority."""
        self.kept = 0
        self._size = size
        self._threshold: int | None = None
        self._values: list[NDArray[Any]] = []
        self._priorities: list[Priorities] = []

    def candidates(self, priorities: Priorities) -> Booleans | slice:
        """Return which records of these priorities may still enter the sample."""
        if self._threshold is None:
            return slice(None)
        return priorities < np.uint64(self._threshold)

    def add(self, values: NDArray[Any], priorities: Priorities) -> None:
        """Add records, along the last axis of `values`, with their priorities."""
        self._values.append(values)
        self._priorities.append(priorities)
        self.kept += len(priorities)
        if self.kept > max(2 * self._size, MIN_BUFFER):
            self.thinned()

    def merge(self, other: "PrioritySample") -> None:
        """Add the sample of records of another part of the table."""
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
        self._values = [values]
        self._priorities = [priorities]
        self.kept = len(priorities)
        return values, priorities

    def __getstate__(self) -> dict[str, Any]:
        """Return the sample of records to pickle, after thinning."""
        if self.kept:
            self.thinned()
        return self.__dict__
