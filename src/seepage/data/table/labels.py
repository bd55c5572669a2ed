"""How a value is named, so that every engine and file format names it alike.

A value is known by its key: a number, a text, or None where it is missing.  Its label says what it
is, and two values are one where their labels are.

The label of a number is the decimal number that it is, so equal numbers have one label whatever
their type (3, 3.0, the decimal 3.00 and the CSV field ` 3.0`), and different ones have two.  A
float is its exact value where that is whole and below 2^64, as if it were an integer; any other
float is the shortest decimal that rounds to it: 0.1 is the decimal 0.1.

A moment with a zone is named in UTC, so its label says which instant it is, and does not depend on
the zone in which a file or a session writes it.
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
from seepage.errors import TableError

Number: TypeAlias = int | float | Decimal
"""A number; a `Decimal` where no integer or float is it."""

Key: TypeAlias = Number | str | None

NUMBER = re.compile(r"[+-]?(?:([0-9]+)|[0-9]+\.[0-9]*|\.[0-9]+|(?:inf|infinity))", re.IGNORECASE)
SCIENTIFIC = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]{1,9}")
MOMENT = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?"
)
BOOLEANS = {word: word.lower() for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
LONGEST_WHOLE = 40
"""Integers of so many digits are written out, unless a float is the same number."""

DIGITS_OF_FLOATS = 15
"""No two decimals with so many digits are one float."""

EXACT = 2**53
"""Integers below are exact in double precision."""

WIDE = 2**64
"""Whole floats below are their exact value, as the integers of the same size are."""

EXACTLY = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def field_key(text: str | None) -> Key:
    """Return what a field of a text file stands for, blanks around it aside.

    An empty field, `NaN` and `nan` are missing, a decimal number is that number, however many
    digits it has, `True`, `TRUE` and `true` are `true`, a moment is in its ISO form, and anything
    else is itself.  A number with an exponent is the float of which it is the shortest text, if
    any.

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
    return BOOLEANS.get(word) or moment_label(word)


def _plain_number(word: str, *, digits_only: bool) -> Number:
    """Return the number that a field without an exponent spells."""
    if digits_only and len(word) <= LONGEST_WHOLE:
        return int(word)
    if len(word) <= DIGITS_OF_FLOATS:
        return float(word)
    exact = Decimal(word)
    return exact if _is_whole(exact) else _float_or_decimal(exact)


def _float_or_decimal(exact: Decimal) -> float | Decimal:
    """Return the float whose shortest text means this number, or the number itself."""
    near = float(exact)
    return near if Decimal(repr(near)) == exact else exact


def _is_whole(number: Decimal) -> bool:
    return number.is_finite() and number == number.to_integral_value()


def moment_label(text: str) -> str:
    """Return a date or time of day in its shortest ISO form, and any other text as it is.

    A date and time with a zone is in UTC.

    Examples
    --------
    >>> moment_label("2020-01-02 00:00:00.000"), moment_label("2020-01-02 03:04:05.600+0100")
    ('2020-01-02', '2020-01-02T02:04:05.6+00:00')
    """
    parts = MOMENT.fullmatch(text)
    if not parts:
        return text
    date, clock, fraction, zone = parts.groups(default="")
    fraction = fraction.rstrip("0").rstrip(".")
    if zone:
        with suppress(ValueError):  # no zone is a day or more from UTC
            zone = time.fromisoformat(f"00:00{zone}").isoformat()[8:]
    if date and zone:
        with suppress(ValueError, OverflowError):  # no calendar has leap seconds, or the year 0
            moment = datetime.fromisoformat(f"{date}T{clock}{zone}").astimezone(UTC)
            return f"{moment.replace(tzinfo=None).isoformat()}{fraction}+00:00"
    if date and clock + fraction + zone == "00:00:00":
        return str(date)
    return f"{date}T{clock}{fraction}{zone}" if date else f"{clock}{fraction}{zone}"


def is_number(key: Key) -> TypeGuard[Number]:
    """Return whether a key is a number."""
    return isinstance(key, (int, float, Decimal))


def number_label(number: Number) -> str:
    """Return a number as text: the decimal number that it is, whole ones without a point.

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
        return str(int(number)) if _is_integer(number) else repr(float(number))
    if isinstance(number, int):
        return str(number) if -WIDE < number < WIDE else _decimal_label(Decimal(number))
    return _decimal_label(number)


def _is_integer(number: float) -> bool:
    """Return whether a float is meant to its last digit, as an integer would be."""
    return abs(number) < WIDE and number.is_integer()


def _decimal_label(number: Decimal) -> str:
    whole = _is_whole(number)
    if whole and -WIDE < number < WIDE:
        return str(int(number))
    key = _float_or_decimal(number)
    if isinstance(key, float):
        return repr(key)
    if whole and number.adjusted() < LONGEST_WHOLE:
        return str(int(number))
    return str(number.normalize(EXACTLY)).lower()


def single_number(number: Any) -> float:
    """Return a number in single precision (of NumPy) as the float that has its label.

    Examples
    --------
    >>> import numpy as np
    >>> single_number(np.float32(0.1)), single_number(np.float32(2**40))
    (0.1, 1099511627776.0)
    """
    plain = float(number)
    return plain if _is_integer(plain) else float(str(number))


def key_label(key: Key) -> str:
    """Return the label of a key: the name of the value in its domain."""
    if key is None:
        return MISSING
    return key if isinstance(key, str) else number_label(key)


def sort_key(key: Key) -> tuple[int, int | Decimal, str]:
    """Return the index of a key among others: numbers ascending, then text, missing last."""
    if key is None:
        return 2, 0, ""
    return (1, 0, key) if isinstance(key, str) else (0, Decimal(number_label(key)), "")


class ManyNumbers(Exception):  # noqa: N818
    """A column has more numbers than there may be categories of numbers: it needs bins."""


class OutsideDomain(Exception):  # noqa: N818
    """A value has no code: it is not in the given domain, or outside the bins.

    Attributes
    ----------
    position
        Its index, counted from the batch's start.
    missing
        Whether it is a missing value.
    """

    def __init__(self, position: int = 0, *, missing: bool = False) -> None:
        super().__init__(position, missing)
        self.position = position
        self.missing = missing


def labels_of(markers: Iterable[str]) -> frozenset[str]:
    """Return the labels that stand for missing values, from what an option lists."""
    return frozenset({MISSING, *(key_label(field_key(marker)) for marker in markers)})


@dataclass(eq=False)
class FoundAlphabet:
    """Codes in the order in which the values are found.

    Parameters
    ----------
    name
        The column's name, for messages.
    few
        More numbers than this raise `ManyNumbers`, unless some value is no number; None for any.
    most
        More values than this raise an error.
    markers
        Labels that stand for a missing value.
    unbinned
        Why a column of numbers has no bins, and what helps, for messages.
    """

    name: str
    _: KW_ONLY
    few: int | None
    most: int
    markers: frozenset[str]
    unbinned: str | None = None

    given: ClassVar[bool] = False
    outside: ClassVar[None] = None

    def __post_init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._keys: list[Key] = []
        self._words = 0

    @property
    def size(self) -> int:
        """The number of values so far, the missing one included."""
        return len(self._codes)

    @property
    def missing(self) -> int | None:
        """The code of missing values, None before the first one."""
        return self._codes.get(MISSING)

    def code(self, key: Key) -> int:
        """Return the code of a value: the next one where it was not met before."""
        label = key_label(key)
        if label in self.markers:
            label, key = MISSING, None
        if label not in self._codes:
            self._codes[label] = len(self._codes)
            self._keys.append(key)
            self._words += isinstance(key, str)
            self._check_number()
        return self._codes[label]

    def merge(self, other: "FoundAlphabet") -> Integers:
        """Take the values found in another part of the table; return their codes here."""
        return np.array([self.code(key) for key in other._keys], dtype=np.int64)

    def _check_number(self) -> None:
        values = self.size - (MISSING in self._codes)
        if self.few is not None and values > self.few and not self._words:
            raise ManyNumbers
        if values > self.most:
            raise TableError(
                f"column {self.name!r} has more than {self.most:,} values; {self._ways_out()}"
            )

    def _ways_out(self) -> str:
        ways = "drop it (drop) or raise the limit (max_values)"
        if self.unbinned is not None:
            return f"{self.unbinned} {ways}"
        return ways if self._words else f"bin it (bins), {ways}"

    def attribute(self, seen: Booleans | None = None) -> tuple[Attribute, Integers]:
        """Return the values (numbers, text, missing last) and their codes.

        `seen` says, where records with missing values were dropped, which codes are left.
        """
        found = list(enumerate(self._keys))
        if seen is not None:
            found = [(code, key) for code, key in found if key is not None and seen[code]]
        found.sort(key=lambda pair: sort_key(pair[1]))
        codes = np.array([code for code, _ in found], dtype=np.int64)
        return Attribute(self.name, tuple(key_label(key) for _, key in found)), codes


@dataclass(eq=False)
class GivenAlphabet:
    """The codes of a given attribute; a value outside it raises `OutsideDomain`.

    Where the attribute has the value "(other)", values outside have its code, and so have missing
    values unless they have a category of their own.

    Parameters
    ----------
    known
        The attribute of the domain.
    markers
        Labels that stand for a missing value.
    dropping
        Whether records with missing values are dropped: missing then needs no category, and has
        the code behind the last.  The next one is for values outside the domain, until it is
        known whether their records are dropped, see `Column.check_inside`.
    pooling
        Whether "(other)" is for values outside.
    """

    known: Attribute
    _: KW_ONLY
    markers: frozenset[str]
    dropping: bool
    pooling: bool = True

    given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.outside: int | None = None
        self._codes = {value: code for code, value in enumerate(self.known.values)}
        self._other = self._codes.get(OTHER) if self.pooling else None
        if self.dropping:
            self._codes.setdefault(MISSING, self.known.size)

    @property
    def size(self) -> int:
        """The number of codes: of the values, and of what is in records to be dropped."""
        return self.known.size + (2 if self.outside is not None else 0)

    @property
    def missing(self) -> int | None:
        """The code of missing values, None where they are outside the domain."""
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
        """Return the given attribute, and its codes as they are."""
        return self.known, np.arange(self.known.size, dtype=np.int64)


Alphabet: TypeAlias = FoundAlphabet | GivenAlphabet
"""The codes of a column's values."""
