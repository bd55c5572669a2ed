"""Columns to codes: one coder per column, fed with one Arrow array per batch.

A coder never looks at a value twice where it can help it: integers and dictionary entries
go through a lookup table, and columns that are codes already are passed on as views.

What an Arrow column holds, and the coder for it.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Integers
from seepage.data.table.arrow_numbers import (
    Codes,
    code_type,
    exact_numbers,
    is_number_type,
    present,
)
from seepage.data.table.labels import (
    Alphabet,
    Key,
    OutsideDomain,
    field_key,
    moment_label,
    single_number,
)
from seepage.errors import TableError

Table: TypeAlias = NDArray[np.uint16]
KeysOf: TypeAlias = Callable[[pa.Array], list[Key]]

UNSEEN = 2**16 - 1
"""Stands in a lookup table for an entry without a code; 255 where the table is narrowed."""

WIDEST = 2**16
"""The widest span of integers that a lookup table covers."""

WHOLE_LIMIT = 2**31
"""Floats below are looked up as integers where all of a batch are whole."""


class CategoryCoder:
    """What the coders of categories share: an alphabet, and lookup tables into it."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet

    def code(self, array: pa.Array) -> Codes:
        """Return the code of each entry."""
        raise NotImplementedError

    def _look_up(
        self, table: Table, entries: pa.Array, keys: Callable[[Integers], list[Key]]
    ) -> Codes:
        """Return `table[entries]`; entries met for the first time are given codes in the table.

        Parameters
        ----------
        table
            The codes of the entries, `UNSEEN` where they have none yet.
        entries
            Positions in the table; null is missing.
        keys
            Returns the keys of positions in the table.
        """
        absent = self._code_of_missing(entries) if entries.null_count else None
        codes = _take(table, entries, self.alphabet.size, absent)
        unseen = np.iinfo(codes.dtype).max
        if codes.max() == unseen:
            rows = np.flatnonzero(codes == unseen)
            self._admit(table, entries.take(pa.array(rows)).to_numpy(), rows, keys)
            codes = _take(table, entries, self.alphabet.size, absent)
        return codes

    def _admit(
        self,
        table: Table,
        entries: NDArray[Any],
        rows: Integers,
        keys: Callable[[Integers], list[Key]],
    ) -> None:
        """Give codes to new entries, ascending; in a given domain the first row comes first."""
        first = np.full(len(table), -1, dtype=np.int64)
        first[entries[::-1]] = rows[::-1]
        new = np.flatnonzero(first >= 0)
        if self.alphabet.given:
            new = new[np.argsort(first[new])]
        for entry, key in zip(new, keys(new), strict=True):
            table[entry] = self._code_of(key, int(first[entry]))

    def _code_of(self, key: Key, row: int) -> int:
        try:
            return self.alphabet.code(key)
        except OutsideDomain as problem:
            problem.position = row
            raise

    def _code_of_missing(self, array: pa.Array) -> int:
        if self.alphabet.missing is not None:
            return self.alphabet.missing
        return self._code_of(None, int(np.argmin(present(array))))


def _take(table: Table, entries: pa.Array, size: int, absent: int | None) -> Codes:
    narrow = table if size >= np.iinfo(np.uint8).max else table.astype(np.uint8)
    codes = pc.take(pa.array(narrow), entries, boundscheck=False)
    if absent is not None:
        codes = codes.fill_null(absent)
    return np.asarray(codes.to_numpy(zero_copy_only=True))


class WordCoder(CategoryCoder):
    """Codes anything that Arrow can encode as a dictionary, one small dictionary per batch.

    Parameters
    ----------
    alphabet
        The column's values.
    keys
        Returns the keys of an array of the column's type.
    """

    def __init__(self, alphabet: Alphabet, keys: KeysOf) -> None:
        super().__init__(alphabet)
        self._keys = keys
        self._words: pa.Array | None = None
        self._table: Table = np.zeros(0, dtype=np.uint16)

    def code(self, array: pa.Array) -> Codes:
        """Return the code of each entry."""
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        words = encoded.dictionary
        if self._words is None or not words.equals(self._words):
            self._words, self._table = words, np.full(len(words), UNSEEN, dtype=np.uint16)
        return self._look_up(
            self._table, encoded.indices, lambda entries: self._keys(words.take(pa.array(entries)))
        )


class NumberCoder(CategoryCoder):
    """Codes numbers as categories: whole ones by a table from the lowest on, others as words.

    Parameters
    ----------
    alphabet
        The column's values.
    keys
        Returns the keys of an array of the column's type.
    names
        What 0, 1, ... are called, where they are no numbers: those of false and true.
    """

    def __init__(self, alphabet: Alphabet, keys: KeysOf, names: Sequence[str] = ()) -> None:
        super().__init__(alphabet)
        self._words = WordCoder(alphabet, keys)
        self._names = names
        self._lowest = 0
        self._table: Table = np.zeros(0, dtype=np.uint16)
        self._straight = 0

    def code(self, array: pa.Array) -> Codes:
        """Return the code of each entry."""
        numbers = _nan_to_null(exact_numbers(array))
        if not numbers.null_count:
            return self._code_full(numbers)
        there = present(numbers)
        codes = np.zeros(len(numbers), dtype=np.uint16)
        try:
            codes[there] = self._code_full(numbers.drop_null()) if there.any() else 0
        except OutsideDomain as problem:
            problem.position = int(np.flatnonzero(there)[problem.position])
            raise
        np.putmask(codes, ~there, self._code_of_missing(numbers))
        return codes.astype(code_type(self.alphabet.size + 1))

    def _code_full(self, numbers: pa.Array) -> Codes:
        if pa.types.is_decimal(numbers.type):
            return self._words.code(numbers)
        whole = _whole(numbers.to_numpy(zero_copy_only=True))
        codes = None if whole is None else self._code_whole(whole)
        return self._words.code(numbers) if codes is None else codes

    def _code_whole(self, values: NDArray[Any]) -> Codes | None:
        """Return the codes of integers, None where their span is too wide for a table."""
        steps = self._steps(values)
        top = steps.max()
        if top >= len(self._table):
            if not self._widen(int(values.min()), int(values.max())):
                return None
            steps = self._steps(values)
        elif top < self._straight:
            return steps.astype(code_type(self.alphabet.size), copy=False)
        size = self.alphabet.size
        codes = self._look_up(self._table, pa.array(steps), self._keys_at)
        if self.alphabet.size > size:
            bent = np.flatnonzero(self._table != np.arange(len(self._table)))
            self._straight = int(bent[0]) if len(bent) else len(self._table)
        return codes

    def _steps(self, values: NDArray[Any]) -> Codes:
        """Return values - lowest, modulo 2^bits: those below the lowest become very large."""
        kind = np.dtype(f"u{values.dtype.itemsize}")
        steps = values.view(kind)
        return steps - kind.type(self._lowest % 2 ** (8 * kind.itemsize)) if self._lowest else steps

    def _widen(self, low: int, high: int) -> bool:
        """Let the table cover these numbers too; return whether its span allows it."""
        if len(self._table):
            low = min(low, self._lowest)
            high = max(high, self._lowest + len(self._table) - 1)
        if high - low >= WIDEST:
            return False
        wider = np.full(high - low + 1, UNSEEN, dtype=np.uint16)
        if len(self._table):
            start = self._lowest - low
            wider[start : start + len(self._table)] = self._table
            self._straight = self._straight if start == 0 else 0
        self._lowest, self._table = low, wider
        return True

    def _keys_at(self, entries: Integers) -> list[Key]:
        numbers = [int(entry) + self._lowest for entry in entries]
        return [self._names[number] if self._names else number for number in numbers]


def _nan_to_null(numbers: pa.Array) -> pa.Array:
    if not pa.types.is_floating(numbers.type):
        return numbers
    values = numbers.fill_null(0).to_numpy(zero_copy_only=True)
    if not np.isnan(values.max()):
        return numbers
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, numbers.type), numbers)


def _whole(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return numbers as integers if all are whole (and floats moderate), else None."""
    if values.dtype.kind in "iu":
        return values
    if not (values.min() > -WHOLE_LIMIT and values.max() < WHOLE_LIMIT):
        return None
    integers = values.astype(np.int32)
    return integers if np.array_equal(integers, values) else None


def unpacked(array: pa.Array) -> pa.Array:
    """Return an array in one of the types that coders take.

    Extensions of text and views of text become text, dictionaries of anything else plain, and
    a column without any value, which has no type, one of numbers that are all missing.
    """
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if isinstance(array, pa.ExtensionArray) and _is_text(array.type.storage_type):
        return array.storage
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_dictionary(array.type) and not _is_text(array.type.value_type):
        words = unpacked(array.dictionary)
        if _is_text(words.type):
            return pa.DictionaryArray.from_arrays(array.indices, words)
        return words.take(array.indices)
    return array


def category_coder(
    name: str, kind: pa.DataType, alphabet: Alphabet, *, fields: bool
) -> CategoryCoder:
    """Return the coder of a column whose values are categories.

    Parameters
    ----------
    name
        The column's name, for messages.
    kind
        The Arrow type of its unpacked arrays.
    alphabet
        Gives codes to the values.
    fields
        Whether it holds fields of a text file.
    """
    if fields:
        return WordCoder(alphabet, _field_keys)
    if pa.types.is_boolean(kind):
        return NumberCoder(alphabet, _number_keys, names=("false", "true"))
    if is_number_type(kind):
        return NumberCoder(alphabet, _number_keys)
    if pa.types.is_dictionary(kind) or _is_text(kind):
        return WordCoder(alphabet, _texts)
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return WordCoder(alphabet, _moments)
    raise TableError(
        f"column {name!r} holds {kind}, which is no text, number, date or boolean; "
        "drop it (drop) or turn it into text"
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(words: pa.Array) -> list[Key]:
    return list(words.to_pylist())


def _field_keys(words: pa.Array) -> list[Key]:
    return [field_key(text) for text in words.to_pylist()]


def _moments(words: pa.Array) -> list[Key]:
    """Return moments in ISO form; those with a zone, whichever it is, in UTC."""
    if pa.types.is_timestamp(words.type) and words.type.tz is not None:
        words = words.cast(pa.timestamp(words.type.unit, "UTC"))
    texts = words.cast(pa.string()).to_pylist()
    return [None if text is None else moment_label(text) for text in texts]


def _number_keys(words: pa.Array) -> list[Key]:
    """Return numbers; those in single precision as the shortest decimal that means them."""
    if pa.types.is_float32(words.type):
        return [single_number(number) for number in words.to_numpy()]
    return list(words.to_pylist())
