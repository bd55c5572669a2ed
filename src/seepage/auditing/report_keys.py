r"""Keys of reports: by type and exact representation, as the adversary receives them.

Two reports have one key only if nobody can tell them apart: `1` and `"1"`, `0.0` and
`-0.0`, `"a"` and `"a\0"` are different reports.  A key is a text, as Python or
JavaScript would write the report.
"""

import ast
import dataclasses
import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from seepage._core.errors import InputError, escaped
from seepage._core.number_grammar import number_of_text

EXACT_BY_REPR = (
    int,
    bool,
    complex,
    str,
    bytes,
    bytearray,
    Decimal,
    Fraction,
    datetime,
    date,
    time,
    timedelta,
    UUID,
)
"""Types whose `repr` tells all values apart."""


SEQUENCES: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
}
"""Types of several reports together, with their brackets."""


NUMPY_SCALAR = re.compile(r"np\.\w+\((.*)\)", re.DOTALL)
"""Key of a scalar of NumPy, with that of the same Python value inside."""


LONG_NUMBERS = (np.dtype(np.longdouble).name, np.dtype(np.clongdouble).name)
"""Names of NumPy's numbers of more digits than Python's."""


NAN_BITS = struct.pack(">d", math.nan)
"""The bits of the usual NaN."""


# Texts of Python objects --------------------------------------------------------------


def exact_text(report: Any) -> str:
    r"""Return the exact text of a report, the key that differs for other types or
    values.

    Raises an InputError for an object of which no text tells all values apart.

    Examples
    --------
    >>> [exact_text(report) for report in (1, 1.0, True, "1", b"1", None)]
    ['1', '1.0', 'True', "'1'", "b'1'", 'None']
    >>> exact_text([0.0, -0.0]), exact_text("a\0"), exact_text({"k": (1,)})
    ('[0.0, -0.0]', "'a\\x00'", "{'k': (1)}")
    """
    try:
        return _exact_text(report)
    except RecursionError:
        raise InputError("a report must not contain itself") from None


def _exact_text(report: Any) -> str:
    """Return the exact text of a report, or of one of its items, for its key."""
    kind = type(report)
    if report is None or kind in EXACT_BY_REPR:
        return repr(report)
    if kind is float:
        return _float_text(report)
    if kind in SEQUENCES:
        return _sequence_text(report, SEQUENCES[kind])
    if kind is dict:
        return _mapping_text(report)
    if isinstance(report, Enum):
        return f"{kind.__qualname__}.{report.name}"
    if isinstance(report, (np.generic, np.ndarray)):
        return _numpy_text(report)
    return _text_of_subclass(report)


def _float_text(number: float) -> str:
    """Return a float as the exact text of a report's key, with the bits of an unusual
    NaN.
    """
    bits = struct.pack(">d", number)
    if math.isnan(number) and bits != NAN_BITS:
        return f"nan({bits.hex()})"
    return repr(number)


def _sequence_text(reports: Any, brackets: tuple[str, str]) -> str:
    """Return a list or tuple as the exact text of a report's key, in brackets."""
    texts = [_exact_text(report) for report in reports]
    if isinstance(reports, (set, frozenset)):
        texts.sort()
    return f"{brackets[0]}{', '.join(texts)}{brackets[1]}"


def _mapping_text(report: Mapping[Any, Any]) -> str:
    """Return a mapping as the exact text of a report's key, its keys in their order,
    which an adversary sees.
    """
    items = [f"{_exact_text(key)}: {_exact_text(report[key])}" for key in report]
    return f"{{{', '.join(items)}}}"


def _numpy_text(report: Any) -> str:
    """Return a NumPy array or number as the exact text of a report's key."""
    name = report.dtype.name
    if report.dtype.kind not in "biufcSU":
        raise _no_report(report)
    if name in LONG_NUMBERS:
        raise _no_report(report)
    if isinstance(report, np.ndarray):
        return f"array({_exact_text(report.tolist())}, {report.dtype.str!r})"
    return f"np.{name}({_exact_text(report.item())})"


def _text_of_subclass(report: Any) -> str:
    """Return the exact text of a report's key where its class is the randomiser's own,
    with its name.
    """
    content = _text_of_parts(report)
    if content is None:
        content = _text_of_scalar(report)
    return f"{type(report).__qualname__}({content})"


def _text_of_parts(report: Any) -> str | None:
    """Return the exact text of the parts of a report for its key; None if it has no
    parts.
    """
    if dataclasses.is_dataclass(report) and not isinstance(report, type):
        fields = [field.name for field in dataclasses.fields(report)]
        return _mapping_text({field: getattr(report, field) for field in fields})
    for kind, brackets in SEQUENCES.items():
        if isinstance(report, kind):
            return _sequence_text(report, brackets)
    if isinstance(report, frozenset):
        return _sequence_text(report, SEQUENCES[set])
    if isinstance(report, dict):
        return _mapping_text(report)
    return None


def _text_of_scalar(report: Any) -> str:
    """Return the exact text of a report for its key: a number, a text or bytes; any
    other raises.
    """
    if isinstance(report, float):
        return _float_text(float(report))
    for base in (int, str, bytes):
        if isinstance(report, base):
            return base.__repr__(report)
    raise _no_report(report)


def _no_report(report: Any) -> InputError:
    """Return the error for an object that has no key, as it cannot be a report of a
    randomiser.
    """
    return InputError(
        "a report must be a number, a text, bytes, None, or a list, tuple, set or "
        f"mapping of these, got {type(report).__qualname__}; "
        "return what reaches the adversary"
    )


# Reports of other processes -----------------------------------------------------------


EncodedReport = str | list[str]
"""The exact text of a report; of a vector its two brackets, and the texts of its parts.
"""


BRACKETS = 2
"""Number of brackets before the parts of a vector."""


def encoded_report(report: Any) -> EncodedReport:
    """Return a report, with the text of its key, as it is sent from a child process.

    Examples
    --------
    >>> encoded_report([1, "a"]), encoded_report("a")
    (['[', ']', '1', "'a'"], "'a'")
    """
    if type(report) in (list, tuple):
        left, right = SEQUENCES[type(report)]
        return [left, right, *map(exact_text, report)]
    if isinstance(report, np.ndarray) and report.ndim == 1:
        exact_text(report[:0])  # raises for a type that is no report
        parts = map(exact_text, report.tolist())
        return ["array([", f"], {report.dtype.str!r})", *parts]
    return exact_text(report)


def whole_text(report: EncodedReport) -> str:
    """Return the exact text of the key of a report that a child process sent."""
    if isinstance(report, str):
        return report
    return f"{report[0]}{', '.join(report[BRACKETS:])}{report[1]}"


# Keys ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportKey:
    """A report by type and exact representation.

    Parameters
    ----------
    exact
        Its text, different for any other report.
    spelling
        A text itself, without quotes; for anything else the text of its value, without
        the type of NumPy.
    number
        The number that it is or spells; NaN if it is none.
    is_text
        Whether it is a text.
    """

    exact: str
    spelling: str
    number: float
    is_text: bool

    @property
    def is_tidy(self) -> bool:
        """Whether the text of a report's key is recognisable without quotes."""
        if not self.spelling or self.spelling != self.spelling.strip():
            return False
        return self.spelling.isprintable() and self.spelling[0] not in "'\""

    @property
    def sort_key(self) -> tuple[bool, float, str]:
        """The order of the keys of reports: numbers, then all others by their
        spelling.
        """
        if math.isnan(self.number):
            return True, 0.0, self.spelling
        return False, self.number, self.exact


def python_key(exact: str) -> ReportKey:
    """Return the key of a report of Python with this exact text.

    Examples
    --------
    >>> python_key("'00'")
    ReportKey(exact="'00'", spelling='00', number=0.0, is_text=True)
    >>> python_key("np.int64(3)").spelling
    '3'
    """
    spelling = exact
    scalar = NUMPY_SCALAR.fullmatch(exact)
    if scalar is not None:
        spelling = scalar[1]
    is_text = spelling[0] in "'\""
    if is_text:
        spelling = str(ast.literal_eval(spelling))
    return ReportKey(exact, spelling, _number(spelling), is_text)


def javascript_key(exact: str) -> ReportKey:
    """Return the key of a report of JavaScript with this exact text.

    Examples
    --------
    >>> javascript_key('"red"').spelling, javascript_key("-0").number
    ('red', -0.0)
    """
    spelling = exact
    is_text = exact.startswith('"')
    if is_text:
        spelling = json.loads(exact)
    return ReportKey(exact, spelling, _number(spelling), is_text)


def _number(text: str) -> float:
    """Return the number that the text of a report's key spells; NaN if it spells
    none.
    """
    number = number_of_text(text)
    return math.nan if number is None else number


def shown_keys(keys: Sequence[ReportKey]) -> tuple[str, ...]:
    r"""Return keys of reports as they are printed: texts alone without quotes, if these
    are tidy.

    Examples
    --------
    >>> texts = [python_key(exact_text(text)) for text in ("no", "yes", "\x1b[2J")]
    >>> shown_keys(texts)
    ('no', 'yes', "'\\x1b[2J'")
    >>> shown_keys([python_key("'1'"), python_key("1")])
    ("'1'", '1')
    """
    texts_alone = all(key.is_text for key in keys)
    shown = []
    for key in keys:
        if texts_alone and key.is_tidy:
            shown.append(key.spelling)
        else:
            shown.append(escaped(key.exact))
    return tuple(shown)
