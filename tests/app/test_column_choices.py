"""What is decided about columns, as keywords of reading."""

import pytest

from seepage._core.errors import InputError
from seepage.app.column_choices import (
    ColumnChoice,
    answers_by_value,
    bin_rule,
    reading_keywords,
    role_keywords,
    shown_bins,
)

MERGES = (("1", "1 or 2"), ("2", "1 or 2"))


def test_each_way_of_reading_is_an_option():
    choices = {
        "a": ColumnChoice("ask", "labels"),
        "b": ColumnChoice("ask", "numbers", bins="quantile:5"),
        "c": ColumnChoice("protect", "scale", scale=("low", "high")),
        "d": ColumnChoice("ask", missing=("?",)),
        "e": ColumnChoice("never", missing=("?",)),
        "f": ColumnChoice("ask", "scale", scale=("1", "2"), merges=MERGES),
    }
    assert reading_keywords(choices) == {
        "bins": {"a": "none", "b": "quantile:5", "f": "none"},
        "missing_markers": {"d": ("?",)},
        "order": {"c": ("low", "high")},
        "merges": {"f": {"1": "1 or 2", "2": "1 or 2"}},
    }


@pytest.mark.parametrize(
    ("same_as", "answers"),
    [
        ({}, []),
        ({"a": "a"}, []),
        ({"b": "a"}, ["a or b", "a or b", "c", "d"]),
        ({"d": "b", "b": "a"}, ["a or b or d", "a or b or d", "c", "a or b or d"]),
        ({"a": "b", "b": "a"}, ["a or b", "a or b", "c", "d"]),
        ({"a": "c", "b": "d"}, ["a or c", "b or d", "a or c", "b or d"]),
    ],
)
def test_merged_values_are_one_answer(same_as, answers):
    merges = answers_by_value("abcd", same_as, has_others=False)
    assert [answer for _, answer in merges] == answers
    choice = ColumnChoice("ask", merges=merges)
    firsts = [answers.index(answer) for answer in answers]
    if answers:
        assert [choice.merged_with(v) for v in "abcd"] == ["abcd"[i] for i in firsts]
    assert choice.is_read_as_proposed == (not answers)


def test_values_beside_merged_ones_are_one_answer():
    merges = answers_by_value("ab", {"a": "b"}, has_others=True)
    assert merges[-1] == ("*", "(other)")


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
