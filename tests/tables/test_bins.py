"""Bins: rules against brute force, ties, rounding, labels."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seepage._core.errors import InputError
from seepage.counting.record_samples import record_priorities
from seepage.tables.bins import (
    NO_BINS,
    Edges,
    Quantile,
    Width,
    read_rule,
)
from seepage.tables.labels import bin_labels
from seepage.tables.number_summary import NumberSummary

whole_columns = st.lists(st.integers(-50, 50), min_size=2, max_size=60)
real_columns = st.lists(
    st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=60
)


def summary_of(numbers):
    summary = NumberSummary()
    summary.add(np.asarray(numbers, dtype=float), record_priorities(0, len(numbers)))
    return summary


def counts(numbers, edges):
    return np.histogram(numbers, bins=edges)[0]


@given(whole_columns, st.integers(1, 12))
def test_quantile_bins_cover_ascend_and_are_filled(numbers, bins):
    edges = Quantile(bins).edges(summary_of(numbers))
    if min(numbers) == max(numbers):
        assert edges == ()
        return
    assert all(a < b for a, b in pairwise(edges))
    assert len(edges) - 1 <= bins or (bins == 1 and len(edges) == 2)
    assert edges[0] == min(numbers)
    assert max(numbers) <= edges[-1] <= max(numbers) + 1
    assert (counts(numbers, edges) > 0).all()


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=80, unique=True),
    st.integers(1, 9),
)
def test_quantile_bins_of_distinct_numbers_are_even(numbers, bins):
    edges = Quantile(bins).edges(summary_of(numbers))
    filled = counts(numbers, edges)
    ranks = [len(numbers) * j // bins for j in range(bins + 1)]
    expected = [b - a for a, b in pairwise(ranks) if b > a]
    assert filled.tolist() == expected


def test_a_common_value_has_a_bin_of_its_own():
    gains = [0] * 90 + [114, 200, 300, 400, 500, 600, 700, 800, 900, 99_999]
    assert Quantile(10).edges(summary_of(gains)) == (0, 114, 99_999)
    middle = [1, 2, 3, 4] + [40] * 90 + [50, 60, 70, 80, 90, 99]
    assert Quantile(5).edges(summary_of(middle)) == (1, 40, 50, 99)
    top = list(range(10)) + [100] * 90
    edges = Quantile(10).edges(summary_of(top))
    assert edges[-2:] == (100, 101)
    assert counts(top, edges)[-1] == 90


def test_the_first_edge_is_the_smallest_number_and_the_last_the_largest():
    ages = np.random.default_rng(0).integers(17, 91, 1000)
    edges = Quantile(10).edges(summary_of(ages))
    assert (edges[0], edges[-1]) == (ages.min(), ages.max())
    assert len(edges) == 11
    assert abs(counts(ages, edges) - 100).max() < 25


@given(real_columns, st.integers(1, 9))
@settings(max_examples=200)
def test_fractional_edges_cover_and_are_readable(numbers, bins):
    spread = summary_of(numbers)
    assume(not spread.integral and spread.low < spread.high)
    for rule in (Quantile(bins), Width(bins)):
        edges = rule.edges(spread)
        assert all(a < b for a, b in pairwise(edges))
        assert edges[0] <= min(numbers)
        assert max(numbers) <= edges[-1]
        assert counts(numbers, edges).sum() == len(numbers)


def test_fractional_edges_have_few_digits():
    normal = np.random.default_rng(3).normal(size=10_000)
    for rule in (Quantile(10), Width(8)):
        labels = bin_labels(rule.edges(summary_of(normal)))
        assert max(map(len, labels)) <= len("[-1.2345, -0.8765)")
    filled = counts(normal, Quantile(10).edges(summary_of(normal)))
    assert abs(filled - 1000).max() <= 20


def test_a_bin_keeps_the_value_it_begins_with():
    numbers = [0.1234567] * 30 + [0.7654321] * 30 + [0.9] * 30
    edges = Quantile(3).edges(summary_of(numbers))
    assert counts(numbers, edges).tolist() == [30, 30, 30]


@given(whole_columns | st.lists(st.integers(0, 6), min_size=2), st.integers(1, 12))
def test_width_bins_of_integers_are_those_of_numpy(numbers, bins):
    low = min(numbers)
    high = max(numbers)
    edges = Width(bins).edges(summary_of(numbers))
    if low == high:
        assert edges == ()
        return
    assert all(edge == int(edge) for edge in edges)
    by_rule = [sum(x >= edge for edge in edges[1:-1]) for x in numbers]
    exact = [low * bins + j * (high - low) for j in range(1, bins)]  # edges times bins
    by_hand = [sum(x * bins >= edge for edge in exact) for x in numbers]
    same_rule = [[a == b for b in by_rule] for a in by_rule]
    same_hand = [[a == b for b in by_hand] for a in by_hand]
    assert same_rule == same_hand


def test_width_of_extreme_numbers_does_not_overflow():
    edges = Width(4).edges(summary_of([-1.7e308, 0.5, 1.7e308]))
    assert all(map(math.isfinite, edges))
    assert len(edges) == 5
    assert len(Quantile(2).edges(summary_of([-1.7e308, 0.5, 1.7e308]))) == 3
    tiny = Width(2).edges(summary_of([5e-324, 1.5e-323]))
    assert all(a < b for a, b in pairwise(tiny))


def test_labels():
    inf = float("inf")
    assert bin_labels([0, 0.5, 1]) == ("[0, 0.5)", "[0.5, 1]")
    assert bin_labels([-inf, 0, inf]) == ("< 0", ">= 0")
    assert bin_labels([-inf, inf]) == ("any number",)
    assert bin_labels([1, inf]) == (">= 1",)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (None, Quantile(10)),
        (7, Quantile(7)),
        ("7", Quantile(7)),
        ("quantile", Quantile(10)),
        ("quantile:3", Quantile(3)),
        ("width:8", Width(8)),
        ("width", Width(10)),
        ("none", NO_BINS),
        ([0, 18, 65], Edges((0.0, 18.0, 65.0))),
        (np.array([-np.inf, 0, np.inf]), Edges((-math.inf, 0.0, math.inf))),
    ],
)
def test_rules(given, rule):
    assert read_rule(given) == rule


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("quantil:3", "did you mean 'quantile'"),
        ("width:-1", "'width:8'"),
        ("width:", "'width:8'"),
        (0, "from 1 to 65534"),
        ("quantile:0", "from 1 to 65534"),
        (2.5, "integer"),
        (True, "integer"),
        ([1], "at least two edges"),
        ([1, 1], "ascending"),
        ([2, 1], "ascending"),
        ([0, math.nan], "ascending"),
        ([0, "a"], "must be a number"),
    ],
)
def test_invalid_binning_rules_raise(given, message):
    with pytest.raises(InputError, match=message):
        read_rule(given)
