"""Texts of options become the values of keywords."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.cli.parsing import parse_names


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
