"""One record per person, the first that is not dropped, and random parts of a table.

A person is identified by a 64-bit key: an integer is its own key, other identifiers are hashed.
Two people with the same key (probability 3e-8 among a million people) count as one person, so that
no person counts twice.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.data.counting.distinct import own_seed, record_priorities
from seepage.data.table.sources import Source
from seepage.data.table.values import encoded, field_key
from seepage.errors import TableError

Keys = NDArray[np.uint64]

SMALL_TABLE, LARGE_PART, SMALL_PART = 20_000, 1 / 5, 1 / 20
"""Below this number of records the part is the larger share of them, else the smaller."""

MAX_PART = 1 << 18
"""Maximum number of records of the part."""


@dataclass(frozen=True)
class RandomPart:
    """A random part of the records of a table, or of its people with all their records.

    Parameters
    ----------
    seed
        The seed of the priorities, of records by index or of people by key.
    threshold
        A record belongs to the part if its priority is below; the share is threshold / 2^64.
    """

    seed: int
    threshold: int

    def priorities(self, keys: Keys | None, first: int, rows: int) -> Keys:
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


class RecordChoice:
    """Selects records during a scan: the first one of every person, and those outside a part.

    Memory: 8 bytes per person.

    Parameters
    ----------
    person
        The column that identifies the person; None for all records.
    fields
        Whether it consists of fields of a text file.
    part
        A random part that is left out; None for none.

    Examples
    --------
    >>> choice = RecordChoice("id")
    >>> choice.chosen(pa.RecordBatch.from_pydict({"id": [7, 8, 7]})).tolist()
    [True, True, False]
    >>> choice.chosen(pa.RecordBatch.from_pydict({"id": [9, 8]}), 3).tolist()
    [True, False]
    """

    def __init__(
        self, person: str | None = None, *, fields: bool = False, part: RandomPart | None = None
    ) -> None:
        self.person = person
        self._fields = fields
        self._part = part
        self._seen: list[Keys] = []

    def keys(self, batch: pa.RecordBatch, first: int) -> Keys | None:
        """Return the keys of the people of a batch; None if every record is chosen."""
        if self.person is None:
            return None
        return person_keys(batch.column(self.person), self.person, first, fields=self._fields)

    def chosen(
        self, batch: pa.RecordBatch, first: int = 0, kept: Booleans | None = None
    ) -> Booleans | None:
        """Return the mask of the chosen records of a batch; None for all.

        Parameters
        ----------
        batch
            The batch, with the identifying column if there is one.
        first
            The number of records before the batch.
        kept
            Mask of the records that are not dropped; None for all.
        """
        keys, rows = self.keys(batch, first), batch.num_rows
        if self._part is not None:
            outside = self._part.priorities(keys, first, rows) >= np.uint64(self._part.threshold)
            kept = outside if kept is None else kept & outside
        if keys is None:
            return kept
        indices = np.arange(rows) if kept is None else np.flatnonzero(kept)
        distinct, first_index = np.unique(keys[indices], return_index=True)
        new = np.ones(len(distinct), dtype=np.bool_)
        for run in self._seen:
            nearest = np.minimum(np.searchsorted(run, distinct), len(run) - 1)
            new &= run[nearest] != distinct
        self._add(distinct[new])
        mask = np.zeros(rows, dtype=np.bool_)
        mask[indices[first_index[new]]] = True
        return None if mask.all() else mask

    def _add(self, keys: Keys) -> None:
        """Add a sorted run of new keys; runs of similar length are merged, so O(log n) remain."""
        if len(keys):
            self._seen.append(keys)
        while len(self._seen) > 1 and len(self._seen[-2]) <= 2 * len(self._seen[-1]):
            self._seen[-2:] = [np.sort(np.concatenate(self._seen[-2:]))]


def read_part(
    source: Source, names: Sequence[str], person: str | None, rng: int, *, whole: bool
) -> tuple[pa.Table, RandomPart]:
    """Return the records of a random part, one of each person, and the part.

    A fifth while fewer than 20,000 records were read, then a twentieth, and less where that is
    more than `MAX_PART`; `whole`: all, up to `MAX_PART`.
    """
    threshold = int((1.0 if whole else LARGE_PART) * 2**64)
    part, choice = (
        RandomPart(own_seed("part", rng), 2**64),
        RecordChoice(person, fields=source.fields),
    )
    kept, rows = list[tuple[pa.RecordBatch, Keys]](), 0
    for batch in source.batches(names if person is None else [*names, person]):
        kept.append((batch, part.priorities(choice.keys(batch, rows), rows, batch.num_rows)))
        rows += batch.num_rows
        if rows >= SMALL_TABLE and not whole:
            threshold = min(threshold, int(SMALL_PART * 2**64))
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
        b if mask is None else b.filter(mask) for (b, _), mask in zip(kept, masks, strict=True)
    ]
    return pa.Table.from_batches(chosen).select(names), replace(part, threshold=threshold)


def _below(
    threshold: int, kept: Sequence[tuple[pa.RecordBatch, Keys]]
) -> list[tuple[pa.RecordBatch, Keys]]:
    """Return the records of priorities below a threshold, and these, without empty batches."""
    limit = np.uint64(min(threshold, 2**64 - 1))
    inside = ((batch.filter(found < limit), found[found < limit]) for batch, found in kept)
    return [(batch, found) for batch, found in inside if len(found)]


def person_keys(array: pa.Array, name: str, before: int = 0, *, fields: bool = False) -> Keys:
    """Return the 64-bit key of each record's person; a missing identifier raises a TableError.

    Parameters
    ----------
    array
        The identifying column of a batch.
    name, before
        Its name and the number of records before the batch, for messages.
    fields
        Whether it consists of fields of a text file, where an empty field is missing.
    """
    if pa.types.is_integer(array.type) and not array.null_count:
        return np.asarray(array.to_numpy(zero_copy_only=False)).astype(np.int64).view(np.uint64)
    indices, values = encoded(array)
    hashes = [_hash(value, fields) for value in values.to_pylist()]
    keys = pa.array(hashes, pa.uint64()).take(indices)
    if keys.null_count:
        missing = keys.is_null().to_numpy(zero_copy_only=False)
        number = before + int(np.argmax(missing)) + 1
        raise TableError(
            f"record {number:,}: column {name!r} is missing, and person must be known in every "
            "record; leave such records out"
        )
    return np.asarray(keys.to_numpy())


def _hash(value: Any, fields: bool) -> int | None:
    """Return the key of an identifier, None if it is missing."""
    if value is None or value != value or (fields and field_key(value) is None):
        return None
    text = value.strip() if isinstance(value, str) else str(value)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
