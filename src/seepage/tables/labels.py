"""Labels of values: keys of fields, numbers, times and intervals as text."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, time
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Booleans
from seepage._core.number_grammar import NUMBER
from seepage.channel.domain import MISSING
from seepage.tables.arrow_types import plain_array

EDGE_DIGITS = 2
"""Edges of fractional numbers are rounded to 10^-2 of the order of the bins beside
them."""


def readable_edges(edges: Sequence[float]) -> list[float]:
    """Return edges whose labels have few digits, each moved by less than 1% of the
    narrower bin beside it.

    Edges are rounded down and the last one up, so a bin keeps the value that it begins
    with and all values stay covered.
    """
    with np.errstate(over="ignore"):
        widths = np.diff(edges)
    beside = np.minimum(
        np.concatenate([widths[:1], widths]), np.concatenate([widths, widths[-1:]])
    )
    rounded = list[float]()
    for edge, width in zip(edges, beside, strict=True):
        rounded.append(_rounded(edge, width, ROUND_FLOOR))
    rounded[-1] = _rounded(edges[-1], beside[-1], ROUND_CEILING)
    are_ascending = all(low < high for low, high in pairwise(rounded))
    return rounded if are_ascending else list(edges)


def _rounded(edge: float, width: float, direction: str) -> float:
    """Return an edge with few digits for its label, rounded in a direction."""
    if not math.isfinite(width):
        return edge
    step = Decimal((0, (1,), math.floor(math.log10(width)) - EDGE_DIGITS))
    return float(
        Decimal(edge).quantize(
            step, direction, Context(prec=400, Emin=-9999, Emax=9999)
        )
    )


def roundest(low: float, high: float, *, integral: bool) -> float:
    """Return the roundest number for a label, above `low` and at most `high`, an
    integer if all are.

    A multiple of 5, 2.5, 2 or 1 times as large a power of ten as possible.

    Examples
    --------
    >>> roundest(17, 23, integral=True), roundest(0.21, 0.29, integral=False)
    (20.0, 0.25)
    """
    power = math.ceil(math.log10(max(abs(low), abs(high), high - low))) + 1
    for exponent in range(power, power - 20, -1):
        for factor in (5, 2.5, 2, 1):
            unit = factor * 10.0**exponent
            number = float(math.floor(high / unit) * unit)
            if low < number <= high and (number.is_integer() or not integral):
                return round(number, max(0, 1 - exponent))
    return float(high)


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the labels of the bins between edges.

    Examples
    --------
    >>> bin_labels([17, 26, 90]), bin_labels([float("-inf"), 10, 50, float("inf")])
    (('[17, 26)', '[26, 90]'), ('< 10', '[10, 50)', '>= 50'))
    """
    last = len(edges) - 2
    labels = list[str]()
    for index, (low, high) in enumerate(pairwise(edges)):
        labels.append(_bin_label(low, high, is_last=index == last))
    return tuple(labels)


def _bin_label(low: float, high: float, *, is_last: bool) -> str:
    """Return the label of one bin."""
    if math.isinf(low) and math.isinf(high):
        return "any number"
    if math.isinf(low):
        return f"< {number_label(high)}"
    if math.isinf(high):
        return f">= {number_label(low)}"
    bracket = "]" if is_last else ")"
    return f"[{number_label(low)}, {number_label(high)}{bracket}"


DATETIME = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?"
)
"""Dates with times, or times alone: date, clock, fraction of a second, time zone."""


BOOLEANS = {
    word: word.lower() for word in ("true", "True", "TRUE", "false", "False", "FALSE")
}
"""Texts that are booleans, and the label of each."""


EXACT = 2**53
"""Integers below are exact in double precision."""


EXACT_LABELS = 2**64
"""Floats below that are integers have their exact value as label, like integers."""


MAX_LABELLED = 10**400
"""Integers from here on have no label: no float is as large, no table has them."""


def field_key(text: str | None) -> float | str | None:
    """Return the label's key of a field of a text file, surrounding blanks stripped
    (see `column`).

    An empty field, `NaN` and `nan` are missing; a decimal number is that number;
    `True`, `TRUE` and `true` are `true`; dates and times are in ISO form; anything else
    is the string itself, and so is a number from 2^53 on that no float equals.

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
        return _key_of_number(word)
    return BOOLEANS.get(word) or datetime_label(word)


def _key_of_number(word: str) -> float | str:
    """Return the number that a label's word spells, or the text of one that no float
    equals.
    """
    number = float(word)
    is_scientific = "e" in word.lower()
    written = repr(number) if is_scientific else number_label(number)
    if abs(number) < EXACT or Decimal(written) == Decimal(word):
        return number
    if "." in word and not is_scientific:
        return word.rstrip("0").rstrip(".")
    return word


def datetime_label(text: str) -> str:
    """Return a date or time in its shortest ISO form, and any other string unchanged.

    A date and time with a time zone is converted to UTC: the label identifies the
    instant, whatever the zone of the file or the session.

    Examples
    --------
    >>> (
    ...     datetime_label("2020-01-02 00:00:00.000"),
    ...     datetime_label("2020-01-02 03:04:05.600+0100"),
    ... )
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
    if date and zone and clock < "24":
        # datetime has no leap seconds and no year 0; from Python 3.13 on it has 24:00
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(f"{date}T{clock}{zone}").astimezone(UTC)
            return f"{moment.replace(tzinfo=None).isoformat()}{fraction}+00:00"
    if date and clock + fraction + zone == "00:00:00":
        return str(date)
    separator = "T" if date else ""
    return f"{date}{separator}{clock}{fraction}{zone}"


def number_label(number: float) -> str:
    """Return the label of a number: its shortest decimal, integers without a point.

    Examples
    --------
    >>> number_label(3.0), number_label(-0.0), number_label(0.1), number_label(1e-7)
    ('3', '0', '0.1', '1e-07')
    >>> number_label(2.0**63), number_label(1e30)
    ('9223372036854775808', '1e+30')
    """
    if _has_exact_label(number):
        return str(int(number))
    return repr(float(number))


def value_label(value: Any) -> str:
    """Return the label of a value that a caller names: a text, a number or a boolean.

    Examples
    --------
    >>> [value_label(value) for value in ("1", 1, 1.0, True, np.int64(3))]
    ['1', '1', '1', 'true', '3']
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return BOOLEANS[str(value)]
    if isinstance(value, int):
        if abs(value) >= MAX_LABELLED:
            raise checks.violation("a value", "an integer below 10^400", value)
        return str(value)
    if isinstance(value, float):
        return number_label(value)
    return checks.text(value, "a value")


def _has_exact_label(number: float) -> bool:
    """Return whether a float is an integer below 2^64, labelled by its exact value."""
    return abs(number) < EXACT_LABELS and float(number).is_integer()


def single_number(number: Any) -> float:
    """Return a `np.float32` as the float of its label: the shortest decimal that rounds
    to it.

    Examples
    --------
    >>> import numpy as np
    >>> single_number(np.float32(0.1)), single_number(np.float32(2**40))
    (0.1, 1099511627776.0)
    """
    double = float(number)
    if _has_exact_label(double):
        return double
    return float(str(number))


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where they are missing or a text, and masks of
    these.
    """

    values: NDArray[Any]
    missing: Booleans
    texts: Booleans


def numbers_of(array: pa.Array, markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or those that the labels of a text file's
    fields spell, as floats.

    Nulls, NaN and the `markers` are missing.  What floats cannot represent is a text.
    """
    array = plain_array(array)
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
    """Return the numbers that labels of fields spell, null where missing, and the mask
    of those that are texts.
    """
    try:
        numbers = pc.utf8_trim_whitespace(fields).cast(pa.float64())
        if np.abs(numbers.fill_null(0).to_numpy()).max(initial=0) < EXACT:
            return numbers, np.zeros(len(fields), dtype=np.bool_)
    except pa.ArrowInvalid:
        pass
    coded = fields.dictionary_encode()
    keys = [field_key(text) for text in coded.dictionary.to_pylist()]
    is_text = [isinstance(key, str) and key not in markers for key in keys]
    floats = pa.array(
        [key if isinstance(key, float) else None for key in keys], pa.float64()
    )
    texts = np.isin(coded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return floats.take(coded.indices), texts
