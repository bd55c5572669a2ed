"""Categorical columns to codes: one coder per column, called with one Arrow array per batch.

Integers and dictionary entries are coded by a lookup table, so each distinct value is parsed once;
columns of integers that equal their codes are returned as views.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans, Codes, Integers
from seepage.data.table.labels import (
    Alphabet,
    Key,
    OutsideDomain,
    code_type,
    datetime_label,
    field_key,
    single_number,
)
from seepage.errors import Setting, TableError

Table: TypeAlias = NDArray[np.uint16]
KeysOf: TypeAlias = Callable[[pa.Array], list[Key]]

UNSEEN = 2**16 - 1
"""Lookup table entry of a value without a code; 255 in a table narrowed to uint8."""

MAX_TABLE = 2**16
"""Maximum length of a lookup table: the span of the integers that it covers."""

INTEGER_LIMIT = 2**31
"""Floats of smaller magnitude are looked up as integers if all of a batch are integers."""


class CategoryCoder:
    """Codes any type that Arrow can dictionary-encode, with one dictionary per batch.

    Parameters
    ----------
    alphabet
        The column's values.
    keys
        Function from an array of the column's type to the keys of its entries.
    """

    def __init__(self, alphabet: Alphabet, keys: KeysOf) -> None:
        self.alphabet = alphabet
        self._keys = keys
        self._dictionary: pa.Array | None = None
        self._entry_codes: Table = np.zeros(0, dtype=np.uint16)

    def code(self, array: pa.Array) -> Codes:
        """Return the code of each entry."""
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        values = encoded.dictionary
        if self._dictionary is None or not values.equals(self._dictionary):
            self._dictionary = values
            self._entry_codes = np.full(len(values), UNSEEN, dtype=np.uint16)
        return self._look_up(
            self._entry_codes,
            encoded.indices,
            lambda entries: self._keys(values.take(pa.array(entries))),
        )

    def _look_up(
        self, table: Table, entries: pa.Array, keys: Callable[[Integers], list[Key]]
    ) -> Codes:
        """Return `table[entries]`; new entries are first given codes in the table.

        Parameters
        ----------
        table
            The codes of the entries, `UNSEEN` for those without a code.
        entries
            Indices into the table; null means missing.
        keys
            Function from indices into the table to their keys.
        """
        missing = self._code_of_missing(entries) if entries.null_count else None
        codes = _take(table, entries, self.alphabet.size, missing)
        unseen = np.iinfo(codes.dtype).max
        if codes.max() == unseen:
            rows = np.flatnonzero(codes == unseen)
            self._admit(table, entries.take(pa.array(rows)).to_numpy(), rows, keys)
            codes = _take(table, entries, self.alphabet.size, missing)
        return codes

    def _admit(
        self,
        table: Table,
        entries: NDArray[Any],
        rows: Integers,
        keys: Callable[[Integers], list[Key]],
    ) -> None:
        """Give codes to new entries, ascending; in a given domain in the order of their first row.

        Then the first row with a value outside the domain is the one that raises.
        """
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


def _take(table: Table, entries: pa.Array, size: int, missing: int | None) -> Codes:
    narrow = table if size >= np.iinfo(np.uint8).max else table.astype(np.uint8)
    codes = pc.take(pa.array(narrow), entries, boundscheck=False)
    if missing is not None:
        codes = codes.fill_null(missing)
    return np.asarray(codes.to_numpy(zero_copy_only=True))


class NumberCoder(CategoryCoder):
    """Codes numbers: integers by a lookup table, others by their dictionary.

    Parameters
    ----------
    alphabet
        The column's values.
    keys
        Function from an array of the column's type to the keys of its entries.
    names
        Labels of 0, 1, ... if they stand for something else: `("false", "true")`.
    """

    def __init__(self, alphabet: Alphabet, keys: KeysOf, names: Sequence[str] = ()) -> None:
        super().__init__(alphabet, keys)
        self._names = names
        self._lowest = 0
        self._table: Table = np.zeros(0, dtype=np.uint16)
        self._identity = 0  # length of the prefix of the table with table[i] == i

    def code(self, array: pa.Array) -> Codes:
        """Return the code of each entry."""
        numbers = _nan_to_null(exact_numbers(array))
        if not numbers.null_count:
            return self._code_present(numbers)
        mask = present(numbers)
        codes = np.zeros(len(numbers), dtype=np.uint16)
        try:
            codes[mask] = self._code_present(numbers.drop_null()) if mask.any() else 0
        except OutsideDomain as problem:
            problem.position = int(np.flatnonzero(mask)[problem.position])
            raise
        np.putmask(codes, ~mask, self._code_of_missing(numbers))
        return codes.astype(code_type(self.alphabet.size + 1))

    def _code_present(self, numbers: pa.Array) -> Codes:
        """Return the codes of an array without nulls."""
        if pa.types.is_decimal(numbers.type):
            return super().code(numbers)
        integers = _as_integers(numbers.to_numpy(zero_copy_only=True))
        codes = None if integers is None else self._code_integers(integers)
        return super().code(numbers) if codes is None else codes

    def _code_integers(self, values: NDArray[Any]) -> Codes | None:
        """Return the codes of integers, None if their span exceeds the lookup table."""
        indices = self._indices(values)
        top = indices.max()
        if top >= len(self._table):
            if not self._widen(int(values.min()), int(values.max())):
                return None
            indices = self._indices(values)
        elif top < self._identity:
            return indices.astype(code_type(self.alphabet.size), copy=False)
        size = self.alphabet.size
        codes = self._look_up(self._table, pa.array(indices), self._keys_at)
        if self.alphabet.size > size:
            differing = np.flatnonzero(self._table != np.arange(len(self._table)))
            self._identity = int(differing[0]) if len(differing) else len(self._table)
        return codes

    def _indices(self, values: NDArray[Any]) -> Codes:
        """Return the table indices, values - lowest, modulo 2^bits: those below wrap around."""
        kind = np.dtype(f"u{values.dtype.itemsize}")
        raw = values.view(kind)
        return raw - kind.type(self._lowest % 2 ** (8 * kind.itemsize)) if self._lowest else raw

    def _widen(self, low: int, high: int) -> bool:
        """Extend the table to the integers low to high; return False if it would be too long."""
        if len(self._table):
            low = min(low, self._lowest)
            high = max(high, self._lowest + len(self._table) - 1)
        if high - low >= MAX_TABLE:
            return False
        wider = np.full(high - low + 1, UNSEEN, dtype=np.uint16)
        if len(self._table):
            start = self._lowest - low
            wider[start : start + len(self._table)] = self._table
            self._identity = self._identity if start == 0 else 0
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


def _as_integers(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return numbers as integers if all are (floats of magnitude below 2^31), else None."""
    if values.dtype.kind in "iu":
        return values
    if not (values.min() > -INTEGER_LIMIT and values.max() < INTEGER_LIMIT):
        return None
    integers = values.astype(np.int32)
    return integers if np.array_equal(integers, values) else None


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is numeric; booleans are not."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def exact_numbers(array: pa.Array) -> pa.Array:
    """Return numbers, unchanged in value, in a type that coders accept.

    Booleans become 0 and 1, half-precision floats single, and decimals of scale 0 int64 if they
    fit.  Other decimals stay decimals: as floats, different ones could become equal.
    """
    if pa.types.is_boolean(array.type):
        return array.cast(pa.uint8()) if array.null_count else pa.array(bits(array))
    if pa.types.is_float16(array.type):
        return array.cast(pa.float32())
    if not pa.types.is_decimal(array.type):
        return array
    if array.type.bit_width < 128:
        array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    integers = cast_or_none(array, pa.int64()) if array.type.scale <= 0 else None
    return array if integers is None else integers


def cast_or_none(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return an array cast to another type, None if that cannot represent all its numbers."""
    try:
        return array.cast(kind)
    except pa.ArrowInvalid:
        return None


def bits(array: pa.Array) -> NDArray[np.uint8]:
    """Return an Arrow boolean array without nulls as uint8 zeros and ones."""
    start = array.offset % 8
    packed = np.frombuffer(array.buffers()[1], np.uint8, offset=array.offset // 8)
    return np.unpackbits(packed, count=start + len(array), bitorder="little")[start:]


def present(array: pa.Array) -> Booleans:
    """Return which entries of an Arrow array are not null."""
    return bits(pc.is_valid(array)).view(np.bool_)


def unpacked(array: pa.Array) -> pa.Array:
    """Return an array in one of the types that coders accept.

    Extension types and views of strings become strings, dictionaries of other types are decoded,
    and the null type becomes float64, all missing.
    """
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if isinstance(array, pa.ExtensionArray) and _is_text(array.type.storage_type):
        return array.storage
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_dictionary(array.type) and not _is_text(array.type.value_type):
        values = unpacked(array.dictionary)
        if _is_text(values.type):
            return pa.DictionaryArray.from_arrays(array.indices, values)
        return values.take(array.indices)
    return array


def category_coder(
    name: str, kind: pa.DataType, alphabet: Alphabet, *, fields: bool
) -> CategoryCoder:
    """Return the coder of a categorical column.

    Parameters
    ----------
    name
        The column's name, for messages.
    kind
        The Arrow type of its unpacked arrays.
    alphabet
        The codes of its values.
    fields
        Whether it consists of fields of a text file.
    """
    if fields:
        return CategoryCoder(alphabet, _field_keys)
    if pa.types.is_boolean(kind):
        return NumberCoder(alphabet, _number_keys, names=("false", "true"))
    if is_number_type(kind):
        return NumberCoder(alphabet, _number_keys)
    if pa.types.is_dictionary(kind) or _is_text(kind):
        return CategoryCoder(alphabet, _texts)
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return CategoryCoder(alphabet, _datetime_keys)
    raise TableError(
        f"column {name!r} must hold text, numbers, dates or booleans, got {kind}; drop it (",
        Setting("drop"),
        ") or turn it into text",
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(values: pa.Array) -> list[Key]:
    return list(values.to_pylist())


def _field_keys(values: pa.Array) -> list[Key]:
    return [field_key(text) for text in values.to_pylist()]


def _datetime_keys(values: pa.Array) -> list[Key]:
    """Return dates and times in ISO form; timestamps with a time zone in UTC."""
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    texts = values.cast(pa.string()).to_pylist()
    return [None if text is None else datetime_label(text) for text in texts]


def _number_keys(values: pa.Array) -> list[Key]:
    """Return numbers; single-precision ones as the shortest decimal that rounds to them."""
    if pa.types.is_float32(values.type):
        return [single_number(number) for number in values.to_numpy()]
    return list(values.to_pylist())
