"""Keys and labels of values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.table.labels import field_key, key_label, moment_label, number_label, sort_key


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("3", "3"),
        ("3.0", "3"),
        ("+3", "3"),
        (" 3 ", "3"),
        ("007", "7"),
        ("-0.0", "0"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("1E-2", "0.01"),
        ("inf", "inf"),
        ("-Infinity", "-inf"),
        ("12345678901234567890", "12345678901234567890"),
        ("1" * 50, repr(float("1" * 50))),
        ("", "(missing)"),
        ("   ", "(missing)"),
        ("NaN", "(missing)"),
        (None, "(missing)"),
        ("(missing)", "(missing)"),
        ("nan", "nan"),
        ("NA", "NA"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1,5", "1,5"),
        ("٣", "٣"),
        ("TRUE", "true"),
        ("False", "false"),
        ("tRUE", "tRUE"),
        ("2020-01-02 00:00:00", "2020-01-02"),
        ("2020-01-02T00:00:00.000000", "2020-01-02"),
        ("2020-01-02", "2020-01-02"),
        ("?", "?"),
    ],
)
def test_fields(text, label):
    assert key_label(field_key(text)) == label


@given(st.floats(allow_nan=False))
def test_a_number_is_found_again_from_its_label(number):
    assert field_key(number_label(number)) == number
    assert field_key(repr(number)) == number


@given(st.integers())
def test_whole_numbers_of_any_type_have_one_label(number):
    assert number_label(number) == str(number)
    if abs(number) < 10**15:
        assert number_label(float(number)) == str(number)


def test_numbers_that_differ_have_labels_that_differ():
    near = 0.1 + 0.2
    assert number_label(near) != number_label(0.3)
    assert number_label(1e16) == "1e+16"
    assert number_label(math.inf) == "inf"


def test_moments():
    assert moment_label("2020-01-02 03:04:05.060") == "2020-01-02T03:04:05.06"
    assert moment_label("2020-01-02 00:00:00Z") == "2020-01-02T00:00:00+00:00"
    assert moment_label("2020-01-02T00:00:00+0130") == "2020-01-02T00:00:00+01:30"
    assert moment_label("03:04:00.000") == "03:04:00"
    assert moment_label("2020-1-2 03:04:05") == "2020-1-2 03:04:05"


def test_numbers_come_before_text_and_missing_last():
    keys = ["b", None, 10, 2.5, "a", -1]
    assert sorted(keys, key=sort_key) == [-1, 2.5, 10, "a", "b", None]
