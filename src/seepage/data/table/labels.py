"""Keys and labels of values, the same for every engine and format.

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
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias

from seepage.data import MISSING

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
