"""Arrow arrays of any type to labelled types, dictionaries, keys and numbers."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.data.table.labels import EXACT, Key, field_key, single_number
from seepage.errors import Setting, TableError

BYTES = {
    pa.int8(): pa.array(np.arange(256, dtype=np.uint8).view(np.int8)),
    pa.uint8(): pa.array(np.arange(256, dtype=np.uint8)),
    pa.bool_(): pa.array([False, True]),
}
"""Types of one byte, and their values in the order of their bits."""


@contextmanager
def readable(name: str, kind: pa.DataType) -> Iterator[None]:
    """Turn errors of reading a column into a TableError of one line that names it."""
    try:
        yield
    except pa.ArrowNotImplementedError:
        raise TableError(
            f"column {name!r} must hold text, numbers, dates or booleans, got {kind}; drop it (",
            Setting("drop"),
            ") or turn it into text",
        ) from None
    except UnicodeDecodeError:
        raise TableError(f"column {name!r} holds text that is not UTF-8") from None


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is numeric; booleans are not."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_text_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a string."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def plain(array: pa.Array) -> pa.Array:
    """Return an array in one of the types that are labelled, or a dictionary of such.

    Extension types and views of strings become strings, half-precision floats single ones, short
    decimals longer ones, and the null type float64, all missing.
    """
    if pa.types.is_dictionary(array.type):
        values = plain(array.dictionary)
        same = values is array.dictionary
        return array if same else pa.DictionaryArray.from_arrays(array.indices, values)
    if isinstance(array, pa.ExtensionArray) and is_text_type(array.type.storage_type):
        return array.storage
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_decimal(array.type) and array.type.bit_width < 128:
        return array.cast(pa.decimal128(array.type.precision, array.type.scale))
    return array.cast(pa.float32()) if pa.types.is_float16(array.type) else array


def encoded(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return an array as indices and the dictionary of its values."""
    if array.type in BYTES:
        bits = array.cast(pa.uint8()) if array.type == pa.bool_() else array.view(pa.uint8())
        return bits, BYTES[array.type]
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    return array.indices, array.dictionary


def keys_of(values: pa.Array, *, fields: bool) -> Iterable[Key]:
    """Return the keys of values; `fields` says that strings are fields of a text file.

    A value that is neither a string nor a float means what its text means in such a file.
    """
    kind = values.type
    if pa.types.is_floating(kind):
        numbers = values.to_numpy(zero_copy_only=False)
        return (None if np.isnan(number) else single_number(number) for number in numbers)
    if is_text_type(kind) and not fields:
        return list(values.to_pylist())
    is_time = pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind)
    if not (is_time or is_text_type(kind) or is_number_type(kind) or pa.types.is_boolean(kind)):
        raise pa.ArrowNotImplementedError(f"no keys of {kind}")
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(pa.timestamp(kind.unit, "UTC"))
    return map(field_key, values.cast(pa.string()).to_pylist())


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where they are missing or a text, and masks of these."""

    values: NDArray[Any]
    missing: Booleans
    texts: Booleans


def numbers_of(array: pa.Array, markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or of the fields of a text file, as floats.

    Nulls, NaN and the `markers` are missing.  What floats cannot represent is a text.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    texts = np.zeros(len(array), dtype=np.bool_)
    try:
        if pa.types.is_integer(array.type):
            array = array.cast(pa.float64())
    except pa.ArrowInvalid:  # beyond 2^53
        array = array.cast(pa.string())
    if not pa.types.is_floating(array.type):
        array, texts = _parsed(array.cast(pa.large_string()), markers)
    values = array.fill_null(np.nan).to_numpy(zero_copy_only=False)
    missing = np.isnan(values)
    for key in map(field_key, markers):
        if isinstance(key, float):
            missing |= values == key
    return Numbers(values, missing & ~texts, texts)


def _parsed(fields: pa.Array, markers: frozenset[str]) -> tuple[pa.Array, Booleans]:
    """Return the numbers of fields, null where missing, and the mask of those that are texts."""
    try:
        numbers = pc.utf8_trim_whitespace(fields).cast(pa.float64())
        if np.abs(numbers.fill_null(0).to_numpy()).max(initial=0) < EXACT:
            return numbers, np.zeros(len(fields), dtype=np.bool_)
    except pa.ArrowInvalid:
        pass
    encoded = fields.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    is_text = [isinstance(key, str) and key not in markers for key in keys]
    floats = pa.array([key if isinstance(key, float) else None for key in keys], pa.float64())
    texts = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return floats.take(encoded.indices), texts
