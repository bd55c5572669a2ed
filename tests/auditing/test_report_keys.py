"""Keys of reports tell apart what an adversary can tell apart."""

import dataclasses
import enum
import math
import struct
from collections import namedtuple
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from seepage.auditing.report_keys import (
    encoded_report,
    exact_text,
    javascript_key,
    python_key,
    shown_keys,
    whole_text,
)

Pair = namedtuple("Pair", "x y")


class Colour(enum.IntEnum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int


class Name(str):
    __slots__ = ()


UNUSUAL_NAN = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0]

DIFFERENT = [
    None,
    "None",
    "null",
    True,
    1,
    1.0,
    "1",
    "01",
    "1.0",
    b"1",
    1 + 0j,
    Decimal(1),
    Decimal("1.0"),
    Fraction(1),
    0.0,
    -0.0,
    math.nan,
    UNUSUAL_NAN,
    math.inf,
    2.0**53,
    2**53,
    2**53 + 1,
    "a",
    "a\0",
    "\ud800",
    "\\ud800",
    "",
    " ",
    [1],
    "[1]",
    (1,),
    [1.0],
    [True],
    {1},
    frozenset([1]),
    {"k": 1},
    {"k": "1"},
    {"k": 1, "l": 2},
    {"l": 2, "k": 1},
    [],
    [[]],
    [[], []],
    Pair(1, 2),
    (1, 2),
    Colour.RED,
    Point(1),
    Point(2),
    Name("a"),
    datetime(2026, 1, 1, tzinfo=UTC),
    np.float32(0.1),
    0.1,
    np.int64(1),
    np.array([1]),
    np.array([1], dtype=np.int8),
]


def test_different_reports_have_different_texts():
    texts = [exact_text(report) for report in DIFFERENT]
    assert len(set(texts)) == len(DIFFERENT)
    shown = shown_keys([python_key(text) for text in texts])
    assert len(set(shown)) == len(DIFFERENT)
    assert all(text.isprintable() for text in shown)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
)
REPORTS = st.recursive(
    SCALARS,
    lambda parts: (
        st.lists(parts) | st.tuples(parts, parts) | st.dictionaries(st.text(), parts)
    ),
    max_leaves=5,
)


def identical(one, other):
    """Whether two reports are the same in type and value, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    if isinstance(one, dict):
        return identical(list(one.items()), list(other.items()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(identical, one, other))
    return one == other


@given(REPORTS, REPORTS)
def test_equal_texts_are_of_identical_reports(one, other):
    assert (exact_text(one) == exact_text(other)) == identical(one, other)


@given(REPORTS)
def test_what_is_sent_is_the_same_text(report):
    assert whole_text(encoded_report(report)) == exact_text(report)


@given(st.lists(st.text(st.characters(exclude_categories=())), unique=True))
def test_shown_texts_are_printable_and_different(texts):
    shown = shown_keys([python_key(exact_text(text)) for text in texts])
    assert len(set(shown)) == len(texts)
    assert all(text.isprintable() for text in shown)


def test_keys_of_javascript():
    assert javascript_key('"\\ud800"').spelling == "\ud800"
    assert math.copysign(1, javascript_key("-0").number) == -1
    assert math.isnan(javascript_key("NaN").number)
    assert javascript_key("Infinity").number == math.inf
    assert not javascript_key("null").is_text


class Opaque:
    pass


def test_what_no_text_tells_apart_is_no_report():
    cyclic = []
    cyclic.append(cyclic)
    for report in (Opaque(), cyclic, np.longdouble(1), len):
        with pytest.raises(sp.InputError, match="a report must"):
            exact_text(report)
