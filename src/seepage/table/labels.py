"""How a value is named, so that every engine and file format names it alike.

A value is known by its key: a number, a text, or None where it is missing.  Equal numbers are one
key whatever their type (3, 3.0 and the CSV field ` 3.0`), and a key has one label.
"""

import math
import re
from typing import TypeAlias

from seepage.domain import MISSING

__all__ = ["Key", "field_key", "is_number", "key_label", "moment_label", "number_label", "sort_key"]

Key: TypeAlias = int | float | str | None

NUMBER = re.compile(r"[+-]?(?:([0-9]+)|[0-9]+\.[0-9]*|\.[0-9]+|(?:inf|infinity))", re.IGNORECASE)
SCIENTIFIC = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+")
MOMENT = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
    r"(?:(Z)|([+-][0-9]{2}):?([0-9]{2}))?"
)
BOOLEANS = {word: word.lower() for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
LONGEST_WHOLE = 40
"""Longer digit strings are read in double precision."""

LARGEST_PLAIN = 1e16
"""Whole numbers from here on are written with an exponent, as Python does."""


def field_key(text: str | None) -> Key:
    """Return what a field of a text file stands for, blanks around it aside.

    An empty field and `NaN` are missing, a decimal number is that number, `True`, `TRUE` and
    `true` are `true`, a moment is in its ISO form, and anything else is itself.

    Examples
    --------
    >>> [field_key(text) for text in ("3.0", "1e3", " Male ", "FALSE", "")]
    [3.0, 1000.0, 'Male', 'false', None]
    """
    word = "" if text is None else text.strip()
    if word in ("", "NaN", MISSING):
        return None
    plain = NUMBER.fullmatch(word)
    if plain:
        return int(word) if plain[1] and len(word) <= LONGEST_WHOLE else float(word)
    if SCIENTIFIC.fullmatch(word):
        return float(word)
    return BOOLEANS.get(word) or moment_label(word)


def moment_label(text: str) -> str:
    """Return a date or time of day in its shortest ISO form, and any other text as it is.

    Examples
    --------
    >>> moment_label("2020-01-02 00:00:00.000"), moment_label("2020-01-02 03:04:05.600+0100")
    ('2020-01-02', '2020-01-02T03:04:05.6+01:00')
    """
    parts = MOMENT.fullmatch(text)
    if not parts:
        return text
    date, time, fraction, zulu, hours, minutes = parts.groups()
    time += (fraction or "").rstrip("0").rstrip(".")
    zone = "+00:00" if zulu else f"{hours}:{minutes}" if hours else ""
    if date and time == "00:00:00" and not zone:
        return str(date)
    return f"{date}T{time}{zone}" if date else f"{time}{zone}"


def is_number(key: Key) -> bool:
    """Return whether a key is a number."""
    return isinstance(key, (int, float))


def number_label(number: int | float) -> str:
    """Return a number as text, whole ones without a decimal point.

    Examples
    --------
    >>> number_label(3.0), number_label(-0.0), number_label(0.1), number_label(10**20)
    ('3', '0', '0.1', '100000000000000000000')
    """
    if isinstance(number, int):
        return str(number)
    whole = math.isfinite(number) and number.is_integer() and abs(number) < LARGEST_PLAIN
    return str(int(number)) if whole else repr(float(number))


def key_label(key: Key) -> str:
    """Return the label of a key: the name of the value in its domain."""
    if key is None:
        return MISSING
    return key if isinstance(key, str) else number_label(key)


def sort_key(key: Key) -> tuple[int, float | int, str]:
    """Return the place of a key among others: numbers ascending, then text, missing last."""
    if key is None:
        return 2, 0, ""
    return (1, 0, key) if isinstance(key, str) else (0, key, "")
