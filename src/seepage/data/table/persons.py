"""One record per person: the first in the order of the table that is not dropped.

A person is known by a 64-bit key: an integer by itself, anything else by a hash.  Two people with
the same key (a chance of 3 in 10^8 among a million) count as one, so that no person counts twice.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage.data.table.arrow_numbers import present
from seepage.data.table.coders import unpacked
from seepage.data.table.column import Column
from seepage.data.table.labels import field_key
from seepage.data.table.options import TableOptions
from seepage.data.table.scan import TableScan
from seepage.data.table.sources import Source
from seepage.errors import TableError

Keys = NDArray[np.uint64]


class FirstOfPerson:
    """The first record of every person; memory grows with the number of people, 8 bytes each.

    Parameters
    ----------
    column
        The column that says whose record it is.
    fields
        Whether it holds fields of a text file.

    Attributes
    ----------
    keys
        The people whose records were chosen last.

    Examples
    --------
    >>> choice = FirstOfPerson("id")
    >>> choice.chosen(pa.array([7, 8, 7]), 0, 3, None).tolist()
    [True, True, False]
    >>> choice.chosen(pa.array([9, 8]), 3, 2, None).tolist()
    [True, False]
    """

    def __init__(self, column: str, *, fields: bool = False) -> None:
        self.column: str | None = column
        self._fields = fields
        self.reset()

    def reset(self) -> None:
        """Forget everybody."""
        self._met: list[Keys] = []
        self.keys: Keys = np.zeros(0, dtype=np.uint64)

    def chosen(
        self, people: pa.Array | None, first: int, rows: int, kept: Booleans | None
    ) -> Booleans:
        """Return which records of a batch are the first of a person.

        Parameters
        ----------
        people
            The column of the batch.
        first, rows
            The number of records before the batch, and in it.
        kept
            Which of them are not dropped; None for all.
        """
        assert people is not None
        keys = person_keys(people, str(self.column), first, fields=self._fields)
        indices = np.arange(rows) if kept is None else np.flatnonzero(kept)
        distinct, begins = np.unique(keys[indices], return_index=True)
        new = np.ones(len(distinct), dtype=np.bool_)
        for met in self._met:
            at = np.minimum(np.searchsorted(met, distinct), len(met) - 1)
            new &= met[at] != distinct
        mask = np.zeros(rows, dtype=np.bool_)
        mask[indices[begins[new]]] = True
        self.keys = keys[mask]
        self._meet(distinct[new])
        return mask

    def _meet(self, keys: Keys) -> None:
        """Remember people; sorted runs are joined once they are as long as the one before."""
        if len(keys):
            self._met.append(keys)
        while len(self._met) > 1 and len(self._met[-2]) <= 2 * len(self._met[-1]):
            self._met[-2:] = [np.sort(np.concatenate(self._met[-2:]))]


@dataclass(eq=False)
class FirstRecords:
    """The first record of every person in some shards of a table, each by its number.

    Parameters
    ----------
    person
        The column that says whose record it is, for messages.
    keys, numbers
        Each person, once, and the number of the first record.
    """

    person: str
    keys: Keys
    numbers: Integers

    most: ClassVar[int] = 1 << 24
    """More people raise an error: 256 MB of keys and numbers."""

    def __post_init__(self) -> None:
        if len(self.keys) > self.most:
            raise TableError(
                f"person {self.person!r} has more than {self.most:,} people, which is more than "
                "Spark's tasks share; keep one record per person before, as a DataFrame"
            )

    def merge(self, other: "FirstRecords") -> None:
        """Take the people of other shards; the order does not matter."""
        keys = np.concatenate([self.keys, other.keys])
        numbers = np.concatenate([self.numbers, other.numbers])
        order = np.lexsort((numbers, keys))
        keys, numbers = keys[order], numbers[order]
        first = np.ones(len(keys), dtype=np.bool_)
        first[1:] = keys[1:] != keys[:-1]
        self.keys, self.numbers = keys[first], numbers[first]
        self.__post_init__()


def first_records(
    source: Source, columns: Sequence[Column], options: TableOptions, first: int, person: str
) -> FirstRecords:
    """Return the people of a shard that is coded in a domain, with their first records."""
    choice = FirstOfPerson(person)
    keys, numbers = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.int64)]
    for batch in TableScan(source, columns, options, first, choice).batches():
        rows = np.arange(len(choice.keys)) if batch.kept is None else np.flatnonzero(batch.kept)
        keys.append(choice.keys)
        numbers.append(batch.first + rows)
    return FirstRecords(person, np.concatenate(keys), np.concatenate(numbers))


class NumberedRecords:
    """The records with given numbers."""

    column: str | None = None

    def __init__(self, numbers: Integers) -> None:
        self._numbers = np.sort(numbers)

    def reset(self) -> None:
        """Begin again; nothing to forget."""

    def chosen(
        self, people: pa.Array | None, first: int, rows: int, kept: Booleans | None
    ) -> Booleans:
        """Return which records of a batch have one of the numbers; see `FirstOfPerson.chosen`."""
        begin, end = np.searchsorted(self._numbers, [first, first + rows])
        mask = np.zeros(rows, dtype=np.bool_)
        mask[self._numbers[begin:end] - first] = True
        return mask if kept is None else mask & kept


RecordChoice: TypeAlias = FirstOfPerson | NumberedRecords
"""Chooses records while a table is scanned, by the column that it names, if any."""


def person_keys(array: pa.Array, name: str, before: int = 0, *, fields: bool = False) -> Keys:
    """Return the key of each record's person; a missing one raises an error.

    Parameters
    ----------
    array
        The column of a batch.
    name, before
        Its name and the number of records before the batch, for messages.
    fields
        Whether it holds fields of a text file, where an empty field is missing.
    """
    plain = unpacked(array)
    if pa.types.is_integer(plain.type) and not plain.null_count:
        return np.asarray(plain.to_numpy(zero_copy_only=False)).astype(np.int64).view(np.uint64)
    encoded = plain if pa.types.is_dictionary(plain.type) else plain.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    there = np.array([_is_person(word, fields) for word in words] or [False], dtype=np.bool_)
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    missing = ~present(encoded) | ~there[indices]
    if missing.any():
        number = before + int(np.argmax(missing)) + 1
        raise TableError(
            f"record {number:,}: column {name!r} is missing, and person must be known in every "
            "record; leave such records out"
        )
    hashes = np.array([_hash(word) for word in words], dtype=np.uint64)
    return np.asarray(hashes[indices])


def _is_person(word: Any, fields: bool) -> bool:
    if word is None or word != word:
        return False
    return not fields or field_key(word) is not None


def _hash(word: Any) -> int:
    text = word.strip() if isinstance(word, str) else str(word)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
