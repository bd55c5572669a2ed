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
        "columns": ("a", "b", "c", "d"),
        "bins": {"a": "none", "b": "quantile:5"},
        "missing_markers": {"d": ("?",)},
        "order": {"c": ("low", "high")},
    }
    assert role_keywords(choices) == {"left_out": ("c",)}


def test_two_persons_are_one_line():
    choices = {"a": ColumnChoice("person"), "b": ColumnChoice("person")}
    with pytest.raises(InputError, match="at most one column"):
        reading_keywords(choices)


@pytest.mark.parametrize("text", ["0, 18, 65.5", "quantile:5"])
def test_bins_are_shown_as_entered(text):
    assert shown_bins(bin_rule(text)) == text
