"""A plan counts every pair once, by bitmaps where they are cheaper."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.counting.schedule import PACK_COST, TRIPLE_CELLS, schedule_pairs


def compared_pairs(plan):
    """Return the pairs of columns whose bitmaps are compared."""
    pairs = []
    for place, (column, stop) in enumerate(zip(plan.packed, plan.stop, strict=True)):
        for other in range(place):
            if plan.first[other + 1] <= stop:
                pairs.append(tuple(sorted((int(column), int(plan.packed[other])))))
            else:
                assert plan.first[other] >= stop, "a column is compared in part"
    return pairs


@given(
    sizes=st.lists(st.integers(1, 1200), min_size=1, max_size=12),
    limit=st.sampled_from([0.0, 1.0, 50.0, 370.0, 5000.0, np.inf]),
)
def test_every_pair_is_counted_exactly_once(sizes, limit):
    plan = schedule_pairs(tuple(sizes), limit)
    counted = [*compared_pairs(plan), *map(tuple, plan.tallied.tolist())]
    assert sorted(counted) == list(combinations(range(len(sizes)), 2))
    assert plan.first[-1] == sum(sizes[column] - 1 for column in plan.packed)
    assert plan.comparisons == sum(
        (sizes[a] - 1) * (sizes[b] - 1) for a, b in compared_pairs(plan)
    )


@given(
    sizes=st.lists(st.integers(1, 300), min_size=2, max_size=10),
    limit=st.sampled_from([1.0, 50.0, 370.0]),
)
def test_no_compared_pair_costs_more_than_a_histogram(sizes, limit):
    plan = schedule_pairs(tuple(sizes), limit)
    assert all(
        (sizes[a] - 1) * (sizes[b] - 1) <= limit for a, b in compared_pairs(plan)
    )


def test_binary_columns_are_all_compared():
    plan = schedule_pairs((2,) * 40, 370.0)
    assert plan.comparisons == 780
    assert not len(plan.tallied)


def test_large_column_is_packed_only_where_many_pairs_gain():
    assert 0 not in schedule_pairs((200, 2), 370.0).packed
    assert 0 in schedule_pairs((200, *(2,) * 30), 370.0).packed


def test_one_column_needs_no_bitmap():
    plan = schedule_pairs((5,), 370.0)
    assert not len(plan.packed)
    assert not len(plan.tallied)


@pytest.mark.parametrize("size", [2, 10, 100])
def test_a_column_is_packed_only_if_that_saves_time(size):
    """Half the saving of the only pair must exceed what the bitmaps cost."""
    limit = (size - 1) * (size - 1) + 2 * PACK_COST * (size - 1)
    assert len(schedule_pairs((size, size), limit + 1).packed) == 2
    assert len(schedule_pairs((size, size), limit - 1).packed) == 0


@given(
    sizes=st.lists(st.integers(1, 80), min_size=1, max_size=14),
    limit=st.sampled_from([0.0, 50.0, 370.0]),
)
def test_triples_and_pairs_cover_what_is_tallied_exactly_once(sizes, limit):
    plan = schedule_pairs(tuple(sizes), limit)
    triples, pairs = plan.grouped
    covered = [*map(tuple, pairs.tolist())]
    for a, b, c in triples.tolist():
        assert a < b < c
        assert sizes[a] * sizes[b] * sizes[c] <= TRIPLE_CELLS
        covered += [(a, b), (a, c), (b, c)]
    assert sorted(covered) == sorted(map(tuple, plan.tallied.tolist()))


def test_most_pairs_of_many_columns_are_in_triples():
    triples, pairs = schedule_pairs((20,) * 30, 100.0).grouped
    assert 3 * len(triples) > 9 * len(pairs)


def test_large_alphabets_are_in_no_triple():
    triples, pairs = schedule_pairs((1000,) * 5, 100.0).grouped
    assert not len(triples)
    assert len(pairs) == 10


def test_two_large_columns_with_bitmaps_are_tallied_all_the_same():
    plan = schedule_pairs((30, *(2,) * 20, 30), 370.0)
    assert {0, 21} <= set(plan.packed.tolist())
    assert plan.tallied.tolist() == [[0, 21]]
