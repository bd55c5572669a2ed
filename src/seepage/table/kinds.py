"""What an Arrow column holds, and the coder for it."""

import pyarrow as pa

from seepage.errors import TableError
from seepage.table.alphabet import Alphabet
from seepage.table.coding import BooleanCoder, Coder, NumberCoder, WordCoder
from seepage.table.labels import Key, field_key, moment_label, single_number
from seepage.table.numbers import is_number_type

__all__ = ["category_coder", "unpacked"]


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


def category_coder(name: str, kind: pa.DataType, alphabet: Alphabet, *, fields: bool) -> Coder:
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
        return BooleanCoder(alphabet)
    if is_number_type(kind):
        return NumberCoder(alphabet, _number_keys)
    if pa.types.is_dictionary(kind) or _is_text(kind):
        return WordCoder(alphabet, _texts)
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return WordCoder(alphabet, _moments)
    raise TableError(
        f"column {name!r} holds {kind}, which is no text, number, date or truth value; "
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
