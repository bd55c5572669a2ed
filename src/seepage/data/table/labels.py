"""Labels of values, the same for every engine and file format, and the alphabets of columns.

A value is identified by its key: a number, a string, or None if missing.  Its label is a string;
two values are the same category if and only if their labels are equal.

The label of a number is its decimal expansion, so equal numbers have one label whatever their type
(3, 3.0, the decimal 3.00 and the CSV field ` 3.0`), and different numbers have different labels.
The label of a float that is an integer below 2^64 is its exact value; that of any other float is
the shortest decimal that rounds to it: 0.1 has the label of the decimal 0.1.

A timestamp with a time zone is labelled in UTC: its label identifies the instant, whatever the zone
of the file or the session.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime, time
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, ClassVar, TypeAlias, TypeGuard

import numpy as np

from seepage._numerics import Booleans, Integers
from seepage.data.domain import MISSING, OTHER, Attribute
from seepage.errors import Setting, TableError, Text

Number: TypeAlias = int | float | Decimal
"""A number; a `Decimal` only if no int or float has the same label."""

Key: TypeAlias = Number | str | None

NUMBER = re.compile(r"[+-]?(?:([0-9]+)|[0-9]+\.[0-9]*|\.[0-9]+|(?:inf|infinity))", re.IGNORECASE)
SCIENTIFIC = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]{1,9}")
DATETIME = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?"
)
BOOLEANS = {word: word.lower() for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
MAX_INTEGER_DIGITS = 40
"""Integers of at most so many digits are written out, unless a float has the same value."""

FLOAT_DIGITS = 15
"""Decimals of at most so many digits are different floats if they differ."""

EXACT = 2**53
"""Integers below are exact in double precision."""

EXACT_LABELS = 2**64
"""Floats below that are integers have their exact value as label, like integers."""

EXACT_CONTEXT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def field_key(text: str | None) -> Key:
    """Return the key of a field of a text file, surrounding blanks stripped.

    An empty field, `NaN` and `nan` are missing; a decimal number is that number, with any number of
    digits; `True`, `TRUE` and `true` are `true`; dates and times are in ISO form; anything else is
    the string itself.  A number with an exponent is the float whose shortest `repr` equals it, else
    a `Decimal`.

    Examples
    --------
    >>> [field_key(text) for text in ("3.0", "1e3", " Male ", "FALSE", "")]
    [3.0, 1000.0, 'Male', 'false', None]
    """
    word = "" if text is None else text.strip()
    if word in ("", "NaN", "nan", MISSING):
        return None
    plain = NUMBER.fullmatch(word)
    if plain:
        return _plain_number(word, digits_only=plain[1] is not None)
    if SCIENTIFIC.fullmatch(word):
        return _float_or_decimal(Decimal(word))
    return BOOLEANS.get(word) or datetime_label(word)


def _plain_number(word: str, *, digits_only: bool) -> Number:
    """Return the number of a field without an exponent."""
    if digits_only and len(word) <= MAX_INTEGER_DIGITS:
        return int(word)
    if len(word) <= FLOAT_DIGITS:
        return float(word)
    exact = Decimal(word)
    return exact if _is_integral(exact) else _float_or_decimal(exact)


def _float_or_decimal(exact: Decimal) -> float | Decimal:
    """Return the float whose shortest `repr` equals this decimal, else the decimal."""
    near = float(exact)
    return near if Decimal(repr(near)) == exact else exact


def _is_integral(number: Decimal) -> bool:
    return number.is_finite() and number == number.to_integral_value()


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


def is_number(key: Key) -> TypeGuard[Number]:
    """Return whether a key is a number."""
    return isinstance(key, (int, float, Decimal))


def number_label(number: Number) -> str:
    """Return the label of a number: its decimal expansion, integers without a point.

    Examples
    --------
    >>> number_label(3.0), number_label(-0.0), number_label(Decimal("0.10")), number_label(1e-7)
    ('3', '0', '0.1', '1e-07')
    >>> number_label(2**63 + 5), number_label(2.0**63), number_label(1e30)
    ('9223372036854775813', '9223372036854775808', '1e+30')
    >>> number_label(Decimal("12345678901234567.010"))
    '12345678901234567.01'
    """
    if isinstance(number, float):
        return str(int(number)) if _has_exact_label(number) else repr(float(number))
    if isinstance(number, int):
        exact = -EXACT_LABELS < number < EXACT_LABELS
        return str(number) if exact else _decimal_label(Decimal(number))
    return _decimal_label(number)


def _has_exact_label(number: float) -> bool:
    """Return whether a float is an integer below 2^64, labelled by its exact value."""
    return abs(number) < EXACT_LABELS and number.is_integer()


def _decimal_label(number: Decimal) -> str:
    integral = _is_integral(number)
    if integral and -EXACT_LABELS < number < EXACT_LABELS:
        return str(int(number))
    key = _float_or_decimal(number)
    if isinstance(key, float):
        return repr(key)
    if integral and number.adjusted() < MAX_INTEGER_DIGITS:
        return str(int(number))
    return str(number.normalize(EXACT_CONTEXT)).lower()


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


def sort_key(key: Key) -> tuple[int, int | Decimal, str]:
    """Return the sort key of a value's key: numbers ascending, then strings, missing last."""
    if key is None:
        return 2, 0, ""
    return (1, 0, key) if isinstance(key, str) else (0, Decimal(number_label(key)), "")


class ManyNumbers(Exception):  # noqa: N818
    """A numeric column has more than `few` distinct numbers and needs bins."""


class OutsideDomain(Exception):  # noqa: N818
    """A value without a code: not in the given domain, or outside the bins.

    Attributes
    ----------
    position
        Its index in the batch.
    missing
        Whether it is a missing value.
    """

    def __init__(self, position: int = 0, *, missing: bool = False) -> None:
        super().__init__(position, missing)
        self.position = position
        self.missing = missing


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """Return the dtype of codes: uint8 for fewer than 256 values, else uint16."""
    return np.uint8 if size < 256 else np.uint16


def marker_labels(markers: Iterable[str]) -> frozenset[str]:
    """Return the labels that mean missing, from the fields that `missing_markers` lists."""
    return frozenset({MISSING, *(key_label(field_key(marker)) for marker in markers)})


@dataclass(eq=False)
class FoundAlphabet:
    """An alphabet that grows: codes 0, 1, ... in the order in which values are first seen.

    Parameters
    ----------
    name
        The column's name, for messages.
    few
        Maximum number of distinct numbers, unless some value is not a number; more raise
        `ManyNumbers`.  None for no maximum.
    max_values
        Maximum alphabet size; more values raise a TableError.
    markers
        Labels that mean missing.
    unbinned
        Why a numeric column has no bins, and a hint, for messages.
    """

    name: str
    _: KW_ONLY
    few: int | None
    max_values: int
    markers: frozenset[str]
    unbinned: str | None = None

    given: ClassVar[bool] = False
    outside: ClassVar[None] = None

    def __post_init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._keys: list[Key] = []
        self._strings = 0

    @property
    def size(self) -> int:
        """Number of values so far, including missing."""
        return len(self._codes)

    @property
    def missing(self) -> int | None:
        """Code of missing values, None before the first one."""
        return self._codes.get(MISSING)

    def code(self, key: Key) -> int:
        """Return the code of a value; a new value gets the next code."""
        label = key_label(key)
        if label in self.markers:
            label, key = MISSING, None
        if label not in self._codes:
            self._codes[label] = len(self._codes)
            self._keys.append(key)
            self._strings += isinstance(key, str)
            self._check_size()
        return self._codes[label]

    def merge(self, other: "FoundAlphabet") -> Integers:
        """Add the values of another part of the table; return their codes in this alphabet."""
        return np.array([self.code(key) for key in other._keys], dtype=np.int64)

    def _check_size(self) -> None:
        values = self.size - (MISSING in self._codes)
        if self.few is not None and values > self.few and not self._strings:
            raise ManyNumbers
        if values > self.max_values:
            raise TableError(
                f"column {self.name!r} has more than {self.max_values:,} values; ", self._hint()
            )

    def _hint(self) -> Text:
        hint = Text(
            "drop it (", Setting("drop"), ") or raise the limit (", Setting("max_values"), ")"
        )
        if self.unbinned is not None:
            return Text(self.unbinned, " ", hint)
        return hint if self._strings else Text("bin it (", Setting("bins"), "), ", hint)

    def attribute(self, seen: Booleans | None = None) -> tuple[Attribute, Integers]:
        """Return the attribute (numbers, strings, missing last) and the codes of its values.

        `seen`, given if records with missing values were dropped, masks the codes that remain.
        """
        pairs = list(enumerate(self._keys))
        if seen is not None:
            pairs = [(code, key) for code, key in pairs if key is not None and seen[code]]
        pairs.sort(key=lambda pair: sort_key(pair[1]))
        codes = np.array([code for code, _ in pairs], dtype=np.int64)
        return Attribute(self.name, tuple(key_label(key) for _, key in pairs)), codes


@dataclass(eq=False)
class GivenAlphabet:
    """The alphabet of a given attribute; a value outside it raises `OutsideDomain`.

    If the attribute has the value `other`, values outside have its code, and so have missing values
    unless the attribute has a category for them.

    Parameters
    ----------
    known
        The attribute of the domain.
    markers
        Labels that mean missing.
    dropping
        Whether records with missing values are dropped.  Missing then needs no category and has
        the temporary code k = `known.size`; values outside the domain have k + 1 until it is known
        whether their records are dropped, see `Column.check_inside`.
    other
        The value that stands for values outside, if the attribute has it.
    """

    known: Attribute
    _: KW_ONLY
    markers: frozenset[str]
    dropping: bool
    other: str = OTHER

    given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.outside: int | None = None
        self._codes = {value: code for code, value in enumerate(self.known.values)}
        self._other = self._codes.get(self.other)
        if self.dropping:
            self._codes.setdefault(MISSING, self.known.size)

    @property
    def size(self) -> int:
        """Number of codes, including the temporary ones."""
        return self.known.size + (2 if self.outside is not None else 0)

    @property
    def missing(self) -> int | None:
        """Code of missing values, None if they are outside the domain."""
        return self._codes.get(MISSING)

    def code(self, key: Key) -> int:
        """Return the code of a value."""
        label = key_label(key)
        if label in self.markers:
            label = MISSING
        code = self._codes.get(label, self._other)
        if code is not None:
            return code
        if not self.dropping:
            raise OutsideDomain(missing=label == MISSING)
        self.outside = self.known.size + 1
        return self.outside

    def attribute(self, seen: Booleans | None = None) -> tuple[Attribute, Integers]:
        """Return the given attribute and its codes 0, 1, ..."""
        return self.known, np.arange(self.known.size, dtype=np.int64)


Alphabet: TypeAlias = FoundAlphabet | GivenAlphabet
"""The codes of a column's values."""
