"""Arrow types of columns: numbers, texts, and all those that can be coded."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from seepage._core.errors import Setting, TableError


@contextmanager
def readable(name: str, kind: pa.DataType) -> Iterator[None]:
    """Turn Arrow's errors of reading a column into a TableError of one line that names
    it and its type.
    """
    try:
        yield
    except pa.ArrowNotImplementedError:
        raise TableError(
            f"column {name!r} must hold text, numbers, dates or booleans, got {kind}; "
            "drop it (",
            Setting("drop"),
            ") or turn it into text",
        ) from None
    except UnicodeDecodeError:
        raise TableError(f"column {name!r} holds text that is not UTF-8") from None


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is that of numbers; booleans are none."""
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
    return any(is_of(kind) for is_of in tests)


def is_text_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is that of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def plain_array(array: pa.Array) -> pa.Array:
    """Return an array in one of the Arrow types that are labelled, or a dictionary of
    such.

    Extension types and views of strings become strings, half-precision floats single
    ones, short decimals longer ones, and the null type float64, all missing.
    """
    if pa.types.is_dictionary(array.type):
        values = plain_array(array.dictionary)
        if values is array.dictionary:
            return array
        return pa.DictionaryArray.from_arrays(array.indices, values)
    if isinstance(array, pa.ExtensionArray) and is_text_type(array.type.storage_type):
        return array.storage
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_decimal(array.type) and array.type.bit_width < 128:
        return array.cast(pa.decimal128(array.type.precision, array.type.scale))
    if pa.types.is_float16(array.type):
        return array.cast(pa.float32())
    return array


def can_be_coded(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type can be coded: texts, numbers, booleans,
    times.
    """
    is_kind = pa.types
    if is_kind.is_date(kind) or is_kind.is_time(kind) or is_kind.is_timestamp(kind):
        return True
    return is_text_type(kind) or is_number_type(kind) or is_kind.is_boolean(kind)
