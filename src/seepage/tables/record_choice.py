"""One record per person: the choice among the records of each identifier."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._core.arrays import Booleans
from seepage._core.errors import TableError
from seepage.counting.record_samples import RandomPart
from seepage.tables.column import encoded, record_name
from seepage.tables.labels import field_key

Keys = NDArray[np.uint64]


class RecordChoice:
    """Selects records during a scan: the first one of every person, and those outside a
    part.

    A person is identified by a 64-bit key: an integer is its own key, other identifiers
    are hashed. Two people with the same key (probability 3e-8 among a million people)
    count as one person, so that no person counts twice.  Memory: 8 bytes per person.

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
    >>> choice.kept_records(pa.RecordBatch.from_pydict({"id": [7, 8, 7]})).tolist()
    [True, True, False]
    >>> choice.kept_records(pa.RecordBatch.from_pydict({"id": [9, 8]}), 3).tolist()
    [True, False]
    """

    def __init__(
        self,
        person: str | None = None,
        *,
        fields: bool = False,
        part: RandomPart | None = None,
    ) -> None:
        """Begin to choose one record of each person."""
        self.person = person
        self._fields = fields
        self._part = part
        self._seen: list[Keys] = []

    def keys(self, batch: pa.RecordBatch, first: int) -> Keys | None:
        """Return the 64-bit keys of the people of a batch, of whom one record is
        chosen; None if every record is.

        A missing identifier raises a TableError; `first` is the number of records
        before the batch.
        """
        if self.person is None:
            return None
        array = batch.column(self.person)
        if pa.types.is_integer(array.type) and not array.null_count:
            integers = np.asarray(array.to_numpy(zero_copy_only=False))
            return integers.astype(np.int64).view(np.uint64)
        indices, values = encoded(array)
        hashes = [_hash(value, self._fields) for value in values.to_pylist()]
        keys = pa.array(hashes, pa.uint64()).take(indices)
        if keys.null_count:
            missing = keys.is_null().to_numpy(zero_copy_only=False)
            raise TableError(
                f"{record_name(first + int(np.argmax(missing)))}: column "
                f"{self.person!r} is missing, and person must be known in every "
                "record; leave such records out"
            )
        return np.asarray(keys.to_numpy())

    def kept_records(
        self, batch: pa.RecordBatch, first: int = 0, kept: Booleans | None = None
    ) -> Booleans | None:
        """Return the mask of the records of a batch that are chosen, one of each
        person; None for all.

        Parameters
        ----------
        batch
            The batch, with the identifying column if there is one.
        first
            The number of records before the batch.
        kept
            Mask of the records that are not dropped; None for all.
        """
        keys = self.keys(batch, first)
        rows = batch.num_rows
        if self._part is not None:
            priorities = self._part.priorities(keys, first, rows)
            outside = priorities >= np.uint64(self._part.threshold)
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
        """Add a sorted run of new people's keys to the choice; runs of similar length
        are merged, so O(log n) remain.
        """
        if len(keys):
            self._seen.append(keys)
        while len(self._seen) > 1 and len(self._seen[-2]) <= 2 * len(self._seen[-1]):
            self._seen[-2:] = [np.sort(np.concatenate(self._seen[-2:]))]


def _hash(value: Any, fields: bool) -> int | None:
    """Return the key of a person of whom a record is chosen from the identifier, None
    if it is missing.
    """
    if value is None or value != value:  # NaN
        return None
    if fields and field_key(value) is None:
        return None
    text = value.strip() if isinstance(value, str) else str(value)
    digest = hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
    return int.from_bytes(digest, "little")
