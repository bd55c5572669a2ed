"""Values of any type: their keys and labels, the same for every engine and format; their arrays.

A value is identified by its key: a number, a string, or None if missing.  Its label is a string;
two values are the same category if and only if their labels are equal.

Numbers are floats.  Equal numbers have one label whatever their type (3, 3.0, the decimal 3.00 and
the CSV field ` 3.0`): the digits of an integer below 2^64, else the shortest decimal that rounds to
the float.  A decimal of magnitude below 2^53 is the nearest float.  Floats cannot tell larger
numbers apart: one that no float equals is a string.

A timestamp with a time zone is labelled in UTC: its label identifies the instant, whatever the zone
of the file or the session.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.data import MISSING
from seepage.errors import Setting, TableError

Key: TypeAlias = float | str | None

NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,9})?|inf|infinity)", re.IGNORECASE
)
DATETIME = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?"
)
BOOLEANS = {word: word.lower() for word in ("true", "True", "TRUE", "false", "False", "FALSE")}

EXACT = 2**53
"""Integers below are exact in double precision."""

EXACT_LABELS = 2**64
"""Floats below that are integers have their exact value as label, like integers."""


def field_key(text: str | None) -> Key:
    """Return the key of a field of a text file, surrounding blanks stripped.

    An empty field, `NaN` and `nan` are missing; a decimal number is that number; `True`, `TRUE`
    and `true` are `true`; dates and times are in ISO form; anything else is the string itself, and
    so is a number from 2^53 on that no float equals.

    Examples
    --------
    >>> [field_key(text) for text in ("3.0", "1e3", " Male ", "FALSE", "")]
    [3.0, 1000.0, 'Male', 'false', None]
    >>> field_key("9007199254740993")
    '9007199254740993'
    """
    word = "" if text is None else text.strip()
    if word in ("", "NaN", "nan", MISSING):
        return None
    if NUMBER.fullmatch(word):
        number = float(word)
        scientific = "e" in word.lower()
        written = repr(number) if scientific else number_label(number)
        if abs(number) < EXACT or Decimal(written) == Decimal(word):
            return number
        return word.rstrip("0").rstrip(".") if "." in word and not scientific else word
    return BOOLEANS.get(word) or datetime_label(word)


def datetime_label(text: str) -> str:
    """Return a date or time in its shortest ISO form, and any other string unchanged.

    A date and time with a time zone is converted to UTC.

    Examples
    --------
    >>> datetime_label("2020-01-02 00:00:00.000"), datetime_label("2020-01-02 03:04:05.600+0100")
    ('2020-01-02', '2020-01-02T02:04:05.6+00:00')
    """
    parts = DATETIME.fullmatch(text)
    if not parts:
        return text
    date, clock, fraction, zone = parts.groups(default="")
    fraction = fraction.rstrip("0").rstrip(".")
    if zone:
        with suppress(ValueError):  # offsets from UTC are below 24 hours
            zone = time.fromisoformat(f"00:00{zone}").isoformat()[8:]
    if date and zone:
        with suppress(ValueError, OverflowError):  # datetime has no leap seconds and no year 0
            moment = datetime.fromisoformat(f"{date}T{clock}{zone}").astimezone(UTC)
            return f"{moment.replace(tzinfo=None).isoformat()}{fraction}+00:00"
    if date and clock + fraction + zone == "00:00:00":
        return str(date)
    return f"{date}T{clock}{fraction}{zone}" if date else f"{clock}{fraction}{zone}"


def number_label(number: float) -> str:
    """Return the label of a number: its shortest decimal, integers without a point.

    Examples
    --------
    >>> number_label(3.0), number_label(-0.0), number_label(0.1), number_label(1e-7)
    ('3', '0', '0.1', '1e-07')
    >>> number_label(2.0**63), number_label(1e30)
    ('9223372036854775808', '1e+30')
    """
    return str(int(number)) if _has_exact_label(number) else repr(float(number))


def _has_exact_label(number: float) -> bool:
    """Return whether a float is an integer below 2^64, labelled by its exact value."""
    return abs(number) < EXACT_LABELS and float(number).is_integer()


def single_number(number: Any) -> float:
    """Return a `np.float32` as the float with its label: the shortest decimal that rounds to it.

    Examples
    --------
    >>> import numpy as np
    >>> single_number(np.float32(0.1)), single_number(np.float32(2**40))
    (0.1, 1099511627776.0)
    """
    double = float(number)
    return double if _has_exact_label(double) else float(str(number))


def key_label(key: Key) -> str:
    """Return the label of a key: the value's name in the domain."""
    if key is None:
        return MISSING
    return key if isinstance(key, str) else number_label(key)


def sort_key(key: Key) -> tuple[int, float, str]:
    """Return the sort key of a value's key: numbers ascending, then strings, missing last."""
    if key is None:
        return 2, 0.0, ""
    return (1, 0.0, key) if isinstance(key, str) else (0, key, "")


def marker_labels(markers: Iterable[str]) -> frozenset[str]:
    """Return the labels that mean missing, from the fields that `missing_markers` lists."""
    return frozenset({MISSING, *(key_label(field_key(marker)) for marker in markers)})


# Arrow arrays ------------------------------------------------------------------------------------

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
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
    return any(is_of(kind) for is_of in tests)


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
    """Return an array as indices and the dictionary of its values, in a type that is labelled."""
    array = plain(array)
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
    array = plain(array)
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
    indices, values = encoded(fields)
    keys = [field_key(text) for text in values.to_pylist()]
    is_text = [isinstance(key, str) and key not in markers for key in keys]
    floats = pa.array([key if isinstance(key, float) else None for key in keys], pa.float64())
    texts = np.isin(indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return floats.take(indices), texts
