"""Texts of options become the values of keywords."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core.errors import InputError
from seepage.cli.parsing import as_half_width, parse_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        (" a , b,", ["a", "b"]),
        (",,a", ["a"]),
        ('"age, in years",sex', ["age, in years", "sex"]),
        ('a, "b, ""c""" ,d', ["a", 'b, "c"', "d"]),
        ('5" pipe,x', ['5" pipe', "x"]),
        ('"a" b, c', ['"a" b', "c"]),
        ('"open, b', ['"open', "b"]),
        ('" a"', [" a"]),
        ('""', ['""']),
    ],
)
def test_names_have_commas_between(text, names):
    assert parse_names(None, None, text) == names


@given(st.lists(st.text(min_size=1)))
def test_any_name_can_be_quoted(names):
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    assert parse_names(None, None, quoted) == names


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("2", 0.02),
        ("2%", 0.02),
        ("2 %", 0.02),
        ("2 points", 0.02),
        ("1 point", 0.01),
        ("0.5pp", 0.005),
        ("0.02", 0.02),
        (".2", 0.2),
        ("0.2 percentage points", 0.002),
        ("12.5", 0.125),
    ],
)
def test_half_widths_with_and_without_units(text, share):
    assert as_half_width(text, "--precision") == share


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("0.5", "may mean 0.5 points or 50 points: say '0.5 points' or 50%"),
        ("0.0001", "'0.0001' means 0.01 points; write 2%"),
        ("80", "from 0.05 to 50 percentage points"),
        ("0%", "from 0.05 to 50 percentage points"),
        ("-2", "from 0.05 to 50 percentage points"),
        ("2 percent", "such as 2, 2%, '2 points' or 0.02"),
        ("2_0", "such as 2"),
        ("nan", "such as 2"),
        ("", "such as 2"),
    ],
)
def test_what_a_half_width_can_hardly_mean_is_asked_back(text, asked):
    with pytest.raises(InputError) as caught:
        as_half_width(text, "--precision")
    assert asked in str(caught.value)
