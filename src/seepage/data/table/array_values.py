"""Values of Arrow arrays: as entries of a dictionary with their keys, and as numbers in bins."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans, Codes
from seepage.data.table.labels import (
    EXACT,
    Key,
    code_type,
    datetime_label,
    field_key,
    integer_key,
    is_number,
    single_number,
)

FEW_EDGES = 100
"""Maximum number of edges for which comparing with each is faster than a binary search."""

BYTES = {
    pa.int8(): pa.array(np.arange(256, dtype=np.uint8).view(np.int8)),
    pa.uint8(): pa.array(np.arange(256, dtype=np.uint8)),
    pa.bool_(): pa.array([False, True]),
}
"""Types of one byte, and their values in the order of their bits."""


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
    """Return the keys of values; `fields` says that strings are fields of a text file."""
    kind = values.type
    if is_text_type(kind):
        return map(field_key, values.to_pylist()) if fields else values.to_pylist()
    if pa.types.is_decimal(kind):
        return (None if entry is None else field_key(str(entry)) for entry in values.to_pylist())
    if pa.types.is_boolean(kind):
        return (None if entry is None else str(entry).lower() for entry in values.to_pylist())
    if pa.types.is_integer(kind):
        return (None if entry is None else integer_key(entry) for entry in values.to_pylist())
    if pa.types.is_floating(kind):
        number = single_number if pa.types.is_float32(kind) else float
        numbers = values.to_numpy(zero_copy_only=False)
        return (None if np.isnan(entry) else number(entry) for entry in numbers)
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            values = values.cast(pa.timestamp(kind.unit, "UTC"))
        texts = values.cast(pa.string()).to_pylist()
        return (None if text is None else datetime_label(text) for text in texts)
    raise pa.ArrowNotImplementedError(f"no keys of {kind}")


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where they are missing or the field is a text.

    `missing` and `texts` are masks, None if no entry is.
    """

    values: NDArray[Any]
    missing: Booleans | None
    texts: Booleans | None


def numbers_of(array: pa.Array, markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or of the fields of a text file.

    Nulls, NaN and the `markers` are missing.  What floats cannot represent is a text.
    """
    array = plain(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    texts = None
    if pa.types.is_decimal(array.type) or _beyond_floats(array):
        array = array.cast(pa.string())
    if not is_number_type(array.type):
        array, texts = _parsed(array, markers)
    missing = ~present(array) if array.null_count else None
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    marked = [values == key for key in map(field_key, markers) if is_number(key)]
    if values.dtype.kind == "f" and len(values) and np.isnan(values.max()):
        marked.append(np.isnan(values))
    for mask in marked:
        if mask.any():
            missing = mask if missing is None else missing | mask
    if missing is not None and texts is not None:
        missing = missing & ~texts
    return Numbers(values, missing, texts)


def _beyond_floats(array: pa.Array) -> bool:
    """Return whether an array has integers that floats may not represent."""
    if array.type not in (pa.int64(), pa.uint64()) or array.null_count == len(array):
        return False
    low, high = pc.min_max(array).as_py().values()
    return bool(max(-low, high) > EXACT)


def _parsed(fields: pa.Array, markers: frozenset[str]) -> tuple[pa.Array, Booleans | None]:
    """Return the numbers of fields, null where missing, and the mask of those that are texts."""
    try:
        numbers = pc.utf8_trim_whitespace(fields).cast(pa.float64())
        if np.abs(numbers.fill_null(0).to_numpy()).max(initial=0) < EXACT:
            return numbers, None
    except pa.ArrowInvalid:
        pass
    encoded = fields.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    is_text = [isinstance(key, str) and key not in markers for key in keys]
    floats = pa.array([key if is_number(key) else None for key in keys], pa.float64())
    texts = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return floats.take(encoded.indices), texts if texts.any() else None


def present(array: pa.Array) -> Booleans:
    """Return which entries of an Arrow array are not null."""
    return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False))


def bins_of(values: NDArray[Any], inner: tuple[float, ...]) -> Codes:
    """Return the bin of each value: the number of inner edges that are at most the value."""
    kind = code_type(len(inner) + 4)
    if len(inner) > FEW_EDGES:
        edges = np.array(inner, values.dtype if values.dtype.kind == "f" else np.float64)
        return np.asarray(np.searchsorted(edges, values, side="right").astype(kind))
    codes = np.zeros(len(values), dtype=kind)
    for edge in inner:
        codes += values >= _comparable(edge, values.dtype)
    return codes


def _comparable(edge: float, kind: np.dtype[Any]) -> Any:
    """Return an edge in the type of the values: for integers x >= edge means x >= ceil(edge)."""
    if kind.kind == "f":
        return kind.type(edge)
    return math.ceil(edge) if math.isfinite(edge) else edge


def outside_edges(values: NDArray[Any], edges: tuple[float, ...]) -> Booleans | None:
    """Return the mask of numbers outside the edges, None if all are inside."""
    kind = values.dtype
    low, high = (kind.type(e) if kind.kind == "f" else e for e in (edges[0], edges[-1]))
    if not len(values) or (values.min() >= low and values.max() <= high):
        return None
    return np.asarray((values < low) | (values > high))
