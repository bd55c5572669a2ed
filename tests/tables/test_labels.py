"""Keys and labels of values."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.tables.column import key_label, sort_key
from seepage.tables.labels import datetime_label, field_key, number_label


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
        ("1" * 50, "1" * 50),
        ("1" * 5000, "1" * 5000),
        ("1" + "0" * 30, "1e+30"),
        ("10000000000000000", "10000000000000000"),
        ("1e16", "10000000000000000"),
        ("1.152921504606847e+18", "1152921504606846976"),
        ("1152921504606847000", "1152921504606847000"),
        ("1152921504606847000.0", "1152921504606847000"),
        ("12345678901234567.010", "12345678901234567.01"),
        ("9007199254740993", "9007199254740993"),
        ("0.10", "0.1"),
        ("0.100000000000000000", "0.1"),
        ("0.10000000000000001", "0.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("1e400", "1e400"),
        ("-1e-400", "0"),
        ("0e7", "0"),
        ("1e9999999999", "1e9999999999"),
        ("", "(missing)"),
        ("   ", "(missing)"),
        ("NaN", "(missing)"),
        (None, "(missing)"),
        ("(missing)", "(missing)"),
        ("nan", "(missing)"),
        ("Nan", "Nan"),
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
def test_a_number_is_recovered_from_its_label(number):
    assert field_key(number_label(number)) == number
    assert field_key(repr(number)) == number


@given(st.integers(-(2**64) + 1, 2**64 - 1))
def test_integers_of_any_type_have_one_label(number):
    assert key_label(field_key(str(number))) == str(number)
    assert isinstance(field_key(str(number)), float) == (float(number) == number)
    if float(number) == number:
        assert number_label(float(number)) == str(number)


@given(st.decimals(-(10**11), 10**11, places=4))
def test_a_label_parses_to_its_number(number):
    label = key_label(field_key(str(number)))
    assert Decimal(label) == number
    assert key_label(field_key(label)) == label
    assert key_label(field_key(f"{number:e}")) == label


@given(st.floats(allow_nan=False))
def test_the_label_of_a_float_is_read_as_that_float(number):
    label = number_label(number)
    assert float(label) == number
    assert key_label(field_key(label)) == key_label(field_key(repr(number))) == label


def test_numbers_that_differ_have_labels_that_differ():
    near = 0.1 + 0.2
    assert number_label(near) != number_label(0.3)
    assert number_label(1e16) == "10000000000000000"
    assert number_label(2.0**64) == "1.8446744073709552e+19"
    assert number_label(1e30) == "1e+30"
    assert number_label(math.inf) == "inf"


def test_dates_and_times():
    assert datetime_label("2020-01-02 03:04:05.060") == "2020-01-02T03:04:05.06"
    assert datetime_label("2020-01-02 00:00:00Z") == "2020-01-02T00:00:00+00:00"
    assert datetime_label("2020-01-02T00:00:00+0130") == "2020-01-01T22:30:00+00:00"
    assert (
        datetime_label("2020-01-02T23:00:00.5-01:30") == "2020-01-03T00:30:00.5+00:00"
    )
    assert datetime_label("2020-01-02 01:00:00+01") == "2020-01-02T00:00:00+00:00"
    assert datetime_label("1900-01-01 05:41:16+05:41:16") == "1900-01-01T00:00:00+00:00"
    assert datetime_label("2020-01-02 01:00:00+99:00") == "2020-01-02T01:00:00+99:00"
    assert datetime_label("03:04:05+01:00") == "03:04:05+01:00"
    assert datetime_label("03:04:05Z") == "03:04:05+00:00"
    assert datetime_label("03:04:05-0130") == "03:04:05-01:30"
    assert datetime_label("03:04:00.000") == "03:04:00"
    assert datetime_label("03:04:05-00:00") == "03:04:05+00:00"
    assert datetime_label("03:04:05+013000") == "03:04:05+01:30"
    assert datetime_label("2020-1-2 03:04:05") == "2020-1-2 03:04:05"


def test_invalid_timestamps_keep_their_zone():
    assert datetime_label("2016-12-31 23:59:60Z") == "2016-12-31T23:59:60+00:00"
    assert datetime_label("2020-02-30 00:00:00+01:00") == "2020-02-30T00:00:00+01:00"
    assert datetime_label("0001-01-01 00:00:00+01:00") == "0001-01-01T00:00:00+01:00"


def test_numbers_come_before_text_and_missing_last():
    keys = ["b", None, 10.0, 2.5, "a", -1.0, -math.inf]
    assert sorted(keys, key=sort_key) == [-math.inf, -1, 2.5, 10, "a", "b", None]
