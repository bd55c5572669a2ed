"""Bins: rules against brute force, ties, rounding, names; numbers gathered for their edges."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seepage.data.table import bins as module
from seepage.data.table.bins import (
    Collector,
    Edges,
    Keep,
    Quantile,
    Width,
    bin_labels,
    priorities,
)
from seepage.data.table.options import read_rule
from seepage.errors import InputError

whole_columns = st.lists(st.integers(-50, 50), min_size=2, max_size=60)
real_columns = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=60)


def spread_of(numbers):
    collector = Collector()
    collector.add(np.asarray(numbers, dtype=float), priorities(0, len(numbers)))
    return collector


def counts(numbers, edges):
    return np.histogram(numbers, bins=edges)[0]


@given(whole_columns, st.integers(1, 12))
def test_quantile_bins_cover_ascend_and_are_filled(numbers, bins):
    edges = Quantile(bins).edges(spread_of(numbers))
    if min(numbers) == max(numbers):
        assert edges == ()
        return
    assert all(a < b for a, b in pairwise(edges))
    assert len(edges) - 1 <= bins or (bins == 1 and len(edges) == 2)
    assert edges[0] == min(numbers)
    assert max(numbers) <= edges[-1] <= max(numbers) + 1
    assert (counts(numbers, edges) > 0).all()


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=80, unique=True), st.integers(1, 9))
def test_quantile_bins_of_distinct_numbers_are_even(numbers, bins):
    edges = Quantile(bins).edges(spread_of(numbers))
    filled = counts(numbers, edges)
    ranks = [len(numbers) * j // bins for j in range(bins + 1)]
    expected = [b - a for a, b in pairwise(ranks) if b > a]
    assert filled.tolist() == expected


def test_a_common_value_has_a_bin_of_its_own():
    gains = [0] * 90 + [114, 200, 300, 400, 500, 600, 700, 800, 900, 99_999]
    assert Quantile(10).edges(spread_of(gains)) == (0, 114, 99_999)
    middle = [1, 2, 3, 4] + [40] * 90 + [50, 60, 70, 80, 90, 99]
    assert Quantile(5).edges(spread_of(middle)) == (1, 40, 50, 99)
    top = list(range(10)) + [100] * 90
    edges = Quantile(10).edges(spread_of(top))
    assert edges[-2:] == (100, 101)
    assert counts(top, edges)[-1] == 90


def test_the_first_edge_is_the_smallest_number_and_the_last_the_largest():
    ages = np.random.default_rng(0).integers(17, 91, 1000)
    edges = Quantile(10).edges(spread_of(ages))
    assert (edges[0], edges[-1]) == (ages.min(), ages.max())
    assert len(edges) == 11
    assert abs(counts(ages, edges) - 100).max() < 25


@given(real_columns, st.integers(1, 9))
@settings(max_examples=200)
def test_fractional_edges_cover_and_are_readable(numbers, bins):
    spread = spread_of(numbers)
    assume(not spread.whole and spread.low < spread.high)
    for rule in (Quantile(bins), Width(bins)):
        edges = rule.edges(spread)
        assert all(a < b for a, b in pairwise(edges))
        assert edges[0] <= min(numbers)
        assert max(numbers) <= edges[-1]
        assert counts(numbers, edges).sum() == len(numbers)


def test_fractional_edges_have_few_digits():
    normal = np.random.default_rng(3).normal(size=10_000)
    for rule in (Quantile(10), Width(8)):
        labels = bin_labels(rule.edges(spread_of(normal)))
        assert max(map(len, labels)) <= len("[-1.2345, -0.8765)")
    filled = counts(normal, Quantile(10).edges(spread_of(normal)))
    assert abs(filled - 1000).max() <= 20


def test_a_bin_keeps_the_value_it_begins_with():
    numbers = [0.1234567] * 30 + [0.7654321] * 30 + [0.9] * 30
    edges = Quantile(3).edges(spread_of(numbers))
    assert counts(numbers, edges).tolist() == [30, 30, 30]


@given(whole_columns | st.lists(st.integers(0, 6), min_size=2), st.integers(1, 12))
def test_width_bins_of_whole_numbers_are_those_of_numpy(numbers, bins):
    low, high = min(numbers), max(numbers)
    edges = Width(bins).edges(spread_of(numbers))
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
    edges = Width(4).edges(spread_of([-1.7e308, 0.5, 1.7e308]))
    assert all(map(math.isfinite, edges))
    assert len(edges) == 5
    assert len(Quantile(2).edges(spread_of([-1.7e308, 0.5, 1.7e308]))) == 3
    tiny = Width(2).edges(spread_of([5e-324, 1.5e-323]))
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
        ("none", Keep()),
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
        (0, "from 1 to"),
        ("quantile:0", "from 1 to"),
        (2.5, "integer"),
        (True, "integer"),
        ([1], "at least two edges"),
        ([1, 1], "ascending"),
        ([2, 1], "ascending"),
        ([0, math.nan], "ascending"),
        ([0, "a"], "must be a number"),
    ],
)
def test_bad_rules_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        read_rule(given)


def collect(values, cuts):
    collector = Collector()
    for begin, end in zip([0, *cuts], [*cuts, len(values)], strict=True):
        collector.add(values[begin:end], priorities(begin, end - begin))
    return collector


def test_priorities_do_not_depend_on_the_batch():
    whole = priorities(0, 1000)
    np.testing.assert_array_equal(np.concatenate([priorities(0, 7), priorities(7, 993)]), whole)
    assert len(np.unique(whole)) == 1000


def test_priorities_look_uniform():
    share = priorities(0, 100_000) / 2.0**64
    assert np.histogram(share, bins=10, range=(0, 1))[0] == pytest.approx(10_000, abs=500)
    assert abs(np.corrcoef(share[1:], share[:-1])[0, 1]) < 0.01


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16, np.float32, np.float64])
def test_whole_numbers_are_counted_exactly(kind):
    values = np.random.default_rng(5).integers(0, 100, 5000).astype(kind)
    values[4000:] += kind(20)
    collector = collect(values, [10, 11, 3000])
    found, counts = collector.distinct()
    expected, expected_counts = np.unique(values, return_counts=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(counts, expected_counts)
    assert collector.whole


def test_int8_extremes_do_not_wrap():
    values = np.array([-128, 127, -128], dtype=np.int8)
    found, counts = collect(values, [1]).distinct()
    assert found.tolist() == [-128, 127]
    assert counts.tolist() == [2, 1]


def test_few_fractions_are_exact():
    values = np.random.default_rng(6).normal(size=5000)
    found, counts = collect(values, [100]).distinct()
    np.testing.assert_array_equal(found, np.sort(values))
    assert counts.sum() == 5000


def test_a_sample_is_bounded_and_does_not_depend_on_batches(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 500)
    monkeypatch.setattr(module, "FEWEST", 500)
    values = np.random.default_rng(7).normal(size=20_000)
    one, other = collect(values, []), collect(values, list(range(300, 20_000, 300)))
    np.testing.assert_array_equal(one.distinct()[0], other.distinct()[0])
    assert one.distinct()[1].sum() == 500
    assert (one.low, one.high) == (values.min(), values.max())
    assert other._sample.kept <= 1000


def test_sampled_quantiles_are_near_the_exact_ones():
    values = np.random.default_rng(8).exponential(size=1_200_000)
    edges = Quantile(10).edges(collect(values, [400_000, 800_000]))
    shares = np.histogram(values, bins=edges)[0] / len(values)
    assert abs(shares - 0.1).max() < 0.005
    assert edges[0] <= values.min()
    assert values.max() <= edges[-1]


def test_wide_whole_numbers_are_sampled():
    values = np.array([0, 10**9, 5, 5])
    collector = collect(values, [2])
    assert collector.whole
    assert collector.distinct()[0].tolist() == [0, 5, 10**9]
