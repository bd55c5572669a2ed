"""Arrow arrays to NumPy numbers, without a copy where the memory allows it."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.table.labels import field_key, is_number, key_label

__all__ = [
    "NotANumber",
    "Numbers",
    "bits",
    "is_number_type",
    "numbers_of",
    "plain_numbers",
    "present",
]


class NotANumber(Exception):  # noqa: N818
    """A field of a text file that is no number.

    Attributes
    ----------
    position
        Its place, counted from the batch's start.
    word
        The field.
    """

    def __init__(self, position: int, word: str) -> None:
        super().__init__(position, word)
        self.position = position
        self.word = word


class Numbers(NamedTuple):
    """The numbers of a batch; where `missing` is set, the number beside it means nothing."""

    values: NDArray[Any]
    missing: Booleans | None


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds numbers (booleans are none)."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def plain_numbers(array: pa.Array) -> pa.Array:
    """Return integers and floats as they are; decimals and half floats in a wider type."""
    if pa.types.is_decimal(array.type):
        return array.cast(pa.float64(), safe=False)
    return array.cast(pa.float32()) if pa.types.is_float16(array.type) else array


def bits(array: pa.Array) -> NDArray[np.uint8]:
    """Return an Arrow boolean array without nulls as 0s and 1s."""
    start = array.offset % 8
    packed = np.frombuffer(array.buffers()[1], np.uint8, offset=array.offset // 8)
    return np.unpackbits(packed, count=start + len(array), bitorder="little")[start:]


def present(array: pa.Array) -> Booleans:
    """Return which entries of an Arrow array are not null."""
    return bits(pc.is_valid(array)).view(np.bool_)


def numbers_of(array: pa.Array, markers: frozenset[str]) -> Numbers:
    """Return the numbers of an array of numbers, or of the fields of a text file.

    Nulls, NaN and the marked numbers are missing.  A field that is no number raises
    `NotANumber`.
    """
    numeric = plain_numbers(array) if is_number_type(array.type) else _parsed(array, markers)
    missing = None
    if numeric.null_count:
        missing = ~present(numeric)
        numeric = numeric.fill_null(0)
    values = numeric.to_numpy(zero_copy_only=True)
    for strange in _strange(values, markers):
        missing = strange if missing is None else missing | strange
    return Numbers(values, missing)


def _strange(values: NDArray[Any], markers: frozenset[str]) -> list[Booleans]:
    """Return masks of the values that stand for a missing one."""
    masks = []
    if values.dtype.kind == "f" and len(values) and np.isnan(values.max()):
        masks.append(np.isnan(values))
    marked = [key for key in map(field_key, markers) if is_number(key)]
    masks.extend(values == key for key in marked)
    return [mask for mask in masks if mask.any()]


def _parsed(fields: pa.Array, markers: frozenset[str]) -> pa.Array:
    """Return fields as floats, read as `field_key` reads them."""
    try:
        numeric = pc.utf8_trim_whitespace(fields).cast(pa.float64())
    except pa.ArrowInvalid:
        return _parsed_one_by_one(fields, markers)
    if len(numeric) > numeric.null_count and pc.any(pc.is_nan(numeric)).as_py():
        return _parsed_one_by_one(fields, markers)
    return numeric


def _parsed_one_by_one(fields: pa.Array, markers: frozenset[str]) -> pa.Array:
    encoded = fields.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    keys = [None if key is None or key_label(key) in markers else key for key in keys]
    words = [entry for entry, key in enumerate(keys) if isinstance(key, str)]
    if words:
        entries = encoded.indices.fill_null(-1).to_numpy()
        position = int(np.argmax(np.isin(entries, words)))
        raise NotANumber(position, str(keys[entries[position]]))
    numbers = [None if key is None else float(key) for key in keys]
    return pc.take(pa.array(numbers, pa.float64()), encoded.indices)
