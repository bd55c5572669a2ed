"""Labels and numbers of values, the same for every engine and format, and alphabets of columns.

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
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Codes, Integers
from seepage.data.domain import ALL_OTHERS, MISSING, OTHER, Attribute
from seepage.errors import Setting, TableError, Text

if TYPE_CHECKING:
    import pyarrow as pa

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


def integer_key(number: int) -> float | str:
    """Return the key of an integer of 64 bits: a string if no float equals it."""
    return float(number) if int(float(number)) == number else str(number)


def is_beyond_floats(key: Key) -> bool:
    """Return whether a key is a number that no float equals, and therefore a string."""
    return isinstance(key, str) and bool(NUMBER.fullmatch(key)) and abs(float(key)) >= EXACT


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


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where they are missing or the field is a text.

    `missing` and `texts` are masks, None if no entry is.
    """

    values: NDArray[Any]
    missing: Booleans | None
    texts: Booleans | None


def numbers_of(array: "pa.Array", markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or of the fields of a text file.

    Nulls, NaN and the `markers` are missing.  What floats cannot represent is a text.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    texts = None
    if pa.types.is_decimal(array.type) or _beyond_floats(array):
        array = array.cast(pa.string())
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array, texts = _parsed(array, markers)
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    marked = [values == key for key in map(field_key, markers) if isinstance(key, float)]
    if values.dtype.kind == "f" and len(values) and np.isnan(values.max()):
        marked.append(np.isnan(values))
    for mask in marked:
        if mask.any():
            missing = mask if missing is None else missing | mask
    if missing is not None and texts is not None:
        missing = missing & ~texts
    return Numbers(values, missing, texts)


def _beyond_floats(array: "pa.Array") -> bool:
    """Return whether an array has integers that floats may not represent."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.type not in (pa.int64(), pa.uint64()) or array.null_count == len(array):
        return False
    low, high = pc.min_max(array).as_py().values()
    return bool(max(-low, high) > EXACT)


def _parsed(fields: "pa.Array", markers: frozenset[str]) -> "tuple[pa.Array, Booleans | None]":
    """Return the numbers of fields, null where missing, and the mask of those that are texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = pc.utf8_trim_whitespace(fields).cast(pa.float64())
        if np.abs(numbers.fill_null(0).to_numpy()).max(initial=0) < EXACT:
            return numbers, None
    except pa.ArrowInvalid:
        pass
    encoded = fields.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    is_text = [isinstance(key, str) and key not in markers for key in keys]
    floats = pa.array([key if isinstance(key, float) else None for key in keys], pa.float64())
    texts = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return floats.take(encoded.indices), texts if texts.any() else None


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """Return the dtype of codes: uint8 for fewer than 256 values, else uint16."""
    return np.uint8 if size < 256 else np.uint16


class ManyNumbers(Exception):  # noqa: N818
    """A numeric column has more than `few` distinct numbers and needs bins."""


@dataclass(eq=False)
class Alphabet:
    """The codes of a column's values: those of a given attribute, or 0, 1, ... as they are found.

    Parameters
    ----------
    name
        The column's name, for messages.
    markers
        Labels that mean missing.
    given
        The attribute to code in; None if values are found.  Missing values without a category have
        the code k = `given.size`, other values without a code k + 1.
    other
        If the given attribute has this value, it stands for values without a code, and for missing
        ones without a category unless they are dropped.
    dropping
        Whether records with missing values are dropped.
    few
        Maximum number of distinct numbers found, unless some value is not a number; more raise
        `ManyNumbers`.  None for no maximum.
    max_values
        Maximum number of values found; more raise a TableError.
    unbinned
        Why a numeric column has no bins, and a hint, for messages.
    """

    name: str
    _: KW_ONLY
    markers: frozenset[str]
    given: Attribute | None = None
    other: str = OTHER
    dropping: bool = False
    few: int | None = None
    max_values: int = 0
    unbinned: Text | None = None

    def __post_init__(self) -> None:
        values = () if self.given is None else self.given.values
        self._codes = {value: code for code, value in enumerate(values)}
        merged = () if self.given is None else self.given.merged
        self._codes |= {value: self._codes[label] for value, label in merged if value != ALL_OTHERS}
        self._keys: list[Key] = []
        self._texts = 0
        self._seen: set[int] = set()

    @property
    def size(self) -> int:
        """Number of values found so far, or of the codes of a given attribute."""
        return len(self._keys) if self.given is None else self.given.size + 2

    @property
    def missing(self) -> int | None:
        """Code of missing values, None if none was found."""
        without = None if self.given is None else self.given.size
        return self._codes.get(MISSING, without)

    @property
    def outside(self) -> int:
        """Code of values that a given attribute does not have."""
        assert self.given is not None
        return self._codes.get(self.other, self.given.size + 1)

    def code(self, key: Key) -> int:
        """Return the code of a value; a new value gets the next code."""
        label = key_label(key)
        if label in self.markers:
            label, key = MISSING, None
        if label in self._codes:
            return self._codes[label]
        if self.given is None:
            return self._found(label, key)
        if key is None and (self.dropping or self.other not in self._codes):
            return self.given.size
        return self.outside

    def _found(self, label: str, key: Key) -> int:
        self._codes[label] = len(self._keys)
        self._keys.append(key)
        self._texts += isinstance(key, str)
        values = len(self._keys) - (MISSING in self._codes)
        if self.few is not None and values > self.few and not self._texts:
            raise ManyNumbers
        if values > self.max_values:
            raise TableError(
                f"column {self.name!r} has more than {self.max_values:,} values; ", self._hint()
            )
        return self._codes[label]

    def _hint(self) -> Text:
        hint = Text(
            "drop it (", Setting("drop"), ") or raise the limit (", Setting("max_values"), ")"
        )
        if any(map(is_beyond_floats, self._keys)):
            return Text("bins cannot hold its numbers, which floats cannot tell apart; ", hint)
        if self.unbinned is not None:
            return Text(self.unbinned, " ", hint)
        return hint if self._texts else Text("bin it (", Setting("bins"), "), ", hint)

    def see(self, codes: Codes) -> None:
        """Note the codes of records that are not dropped."""
        if len(self._seen) < self.size:
            self._seen.update(np.flatnonzero(np.bincount(codes)).tolist())

    def merge(self, other: "Alphabet") -> None:
        """Add the values found in another part of the table."""
        codes = [self.code(key) for key in other._keys]
        self._seen.update(codes[code] for code in other._seen)

    def attribute(self) -> tuple[Attribute, Integers]:
        """Return the attribute (numbers, strings, missing last) and the codes of its values.

        If records with missing values are dropped, it has the values seen in the others.
        """
        if self.given is not None:
            return self.given, np.arange(self.given.size)
        pairs = list(enumerate(self._keys))
        if self.dropping:
            pairs = [(code, key) for code, key in pairs if key is not None and code in self._seen]
        pairs.sort(key=lambda pair: sort_key(pair[1]))
        codes = np.array([code for code, _ in pairs], dtype=np.int64)
        return Attribute(self.name, tuple(key_label(key) for _, key in pairs)), codes
