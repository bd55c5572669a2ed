"""What is decided about columns, as keywords of reading."""

import pytest

from seepage._core.errors import InputError
from seepage.app.column_choices import (
    ColumnChoice,
    bin_rule,
    reading_keywords,
    role_keywords,
    shown_bins,
)


def test_each_way_of_reading_is_an_option():
    choices = {
        "a": ColumnChoice("ask", "labels"),
        "b": ColumnChoice("ask", "numbers", bins="quantile:5"),
        "c": ColumnChoice("protect", "scale", scale=("low", "high")),
        "d": ColumnChoice("ask", missing=("?",)),
        "e": ColumnChoice("never", missing=("?",)),
    }
    assert reading_keywords(choices) == {
        "bins": {"a": "none", "b": "quantile:5"},
        "missing_markers": {"d": ("?",)},
        "order": {"c": ("low", "high")},
    }


@pytest.mark.parametrize(
    ("proposed", "role", "keywords"),
    [
        ("ask", "ask", {}),
        ("ask", "protect", {"left_out": ("a",)}),
        ("ask", "never", {"drop": ("a",)}),
        ("ask", "known", {"known": ("a",)}),
        ("ask", "public", {"public": ("a",)}),
        ("ask", "person", {}),  # said where the table is read
        ("protect", "protect", {}),
        ("protect", "ask", {"keep": ("a",)}),
        ("protect", "known", {"known": ("a",), "keep": ("a",)}),
        ("never", "never", {}),
        ("never", "ask", {"keep": ("a",)}),
        ("never", "protect", {"left_out": ("a",), "keep": ("a",)}),
        ("never", "person", {}),
    ],
)
def test_a_role_is_said_where_it_is_not_the_proposed_one(proposed, role, keywords):
    assert role_keywords({"a": ColumnChoice(role)}, {"a": proposed}) == keywords


def test_two_persons_are_one_line():
    choices = {"a": ColumnChoice("person"), "b": ColumnChoice("person")}
    with pytest.raises(InputError, match="at most one column"):
        reading_keywords(choices)


@pytest.mark.parametrize("text", ["0, 18, 65.5", "quantile:5"])
def test_bins_are_shown_as_entered(text):
    assert shown_bins(bin_rule(text)) == text
