"""Numbers of Arrow arrays, or of fields of text files, as NumPy arrays without loss."""

from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.data.table.labels import (
    EXACT,
    Number,
    field_key,
    is_number,
    key_label,
    number_label,
)


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """Return the dtype of codes: uint8 for fewer than 256 values, else uint16."""
    return np.uint8 if size < 256 else np.uint16


class NotANumber(Exception):  # noqa: N818
    """A field of a text file that is not a number.

    Attributes
    ----------
    position
        Its index in the batch.
    word
        The field's text.
    """

    def __init__(self, position: int, word: str) -> None:
        super().__init__(position, word)
        self.position = position
        self.word = word


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where `missing` is true; None if none is missing."""

    values: NDArray[Any]
    missing: Booleans | None


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
    whole = _cast_or_none(array, pa.int64()) if array.type.scale <= 0 else None
    return array if whole is None else whole


def _plain_numbers(array: pa.Array) -> pa.Array:
    """Return numbers in a type of NumPy: decimals that are not integers as the nearest floats."""
    numbers = exact_numbers(array)
    if not pa.types.is_decimal(numbers.type):
        return numbers
    whole = _cast_or_none(numbers, pa.uint64()) if numbers.type.scale <= 0 else None
    # through strings: Arrow's direct cast of decimals to floats is wrong by one ulp in 1 of 7 cases
    return numbers.cast(pa.string()).cast(pa.float64()) if whole is None else whole


def _cast_or_none(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
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


def numbers_of(array: pa.Array, markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or of the fields of a text file.

    Nulls, NaN and numbers among the `markers` are missing.  A field that is not a number raises
    `NotANumber`.
    """
    marked = [key for key in map(field_key, markers) if is_number(key)]
    if pa.types.is_decimal(array.type):
        numeric, marked = _plain_numbers(_unmarked(array, marked)), []
    elif is_number_type(array.type):
        numeric = _plain_numbers(array)
    elif any(isinstance(key, Decimal) or abs(key) >= EXACT for key in marked):
        numeric, marked = _parsed_one_by_one(array, markers), []
    else:
        numeric = _parsed(array, markers)
    missing = None
    if numeric.null_count:
        missing = ~present(numeric)
        numeric = numeric.fill_null(0)
    values = numeric.to_numpy(zero_copy_only=True)
    for mask in _missing_masks(values, marked):
        missing = mask if missing is None else missing | mask
    return Numbers(values, missing)


def _unmarked(decimals: pa.Array, marked: list[Number]) -> pa.Array:
    """Return decimals with the marked numbers replaced by null."""
    for key in marked:
        try:
            marker = pa.scalar(Decimal(number_label(key)), decimals.type)
        except pa.ArrowInvalid:
            continue  # the type cannot represent the marker
        decimals = pc.if_else(pc.equal(decimals, marker), pa.scalar(None, decimals.type), decimals)
    return decimals


def _missing_masks(values: NDArray[Any], marked: list[Number]) -> list[Booleans]:
    """Return one nonempty mask for NaN and for each marked number that occurs."""
    masks = []
    if values.dtype.kind == "f" and len(values) and np.isnan(values.max()):
        masks.append(np.isnan(values))
    for key in marked:
        if isinstance(key, float) or (isinstance(key, int) and values.dtype.kind != "f"):
            masks.append(values == key)
        elif isinstance(key, int) and float(key) == key:
            masks.append(values == np.float64(key))
    return [mask for mask in masks if mask.any()]


def _parsed(fields: pa.Array, markers: frozenset[str]) -> pa.Array:
    """Return fields as the numbers of `field_key`: floats, integers from 2^53 on as integers."""
    trimmed = pc.utf8_trim_whitespace(fields)
    numeric = _cast_or_none(trimmed, pa.float64())
    if numeric is None:
        return _parsed_one_by_one(fields, markers)
    if numeric.null_count == len(numeric):
        return numeric
    if pc.any(pc.is_nan(numeric)).as_py():
        return _parsed_one_by_one(fields, markers)
    if pc.max(pc.abs(numeric)).as_py() < EXACT:
        return numeric
    integers = (_cast_or_none(trimmed, kind) for kind in (pa.int64(), pa.uint64()))
    return next((array for array in integers if array is not None), numeric)


def _parsed_one_by_one(fields: pa.Array, markers: frozenset[str]) -> pa.Array:
    """Return fields as numbers, each distinct field parsed by `field_key`."""
    encoded = fields.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    keys = [None if key is None or key_label(key) in markers else key for key in keys]
    words = [entry for entry, key in enumerate(keys) if isinstance(key, str)]
    if words:
        entries = encoded.indices.fill_null(-1).to_numpy()
        position = int(np.argmax(np.isin(entries, words)))
        raise NotANumber(position, str(keys[entries[position]]))
    return pc.take(_narrowest([key for key in keys if not isinstance(key, str)]), encoded.indices)


def _narrowest(numbers: list[Number | None]) -> pa.Array:
    """Return numbers as floats; if all are integers and some reach 2^53, as int64 or uint64."""
    integers = [number for number in numbers if isinstance(number, int)]
    if (
        len(integers) == len(numbers) - numbers.count(None)
        and max(map(abs, integers), default=0) >= EXACT
    ):
        for kind in (np.int64, np.uint64):
            if np.iinfo(kind).min <= min(integers) and max(integers) <= np.iinfo(kind).max:
                return pa.array(numbers, pa.from_numpy_dtype(kind))
    return pa.array([None if number is None else float(number) for number in numbers], pa.float64())
