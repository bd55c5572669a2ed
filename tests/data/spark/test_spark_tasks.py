"""What shards found, put together in any order: the domain and the counts of the whole table."""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage.data.counting.distinct import record_priorities
from seepage.data.spark import engine
from seepage.data.spark.engine import edges_of_all, find_values, summarise
from seepage.data.table import bins
from seepage.data.table.bins import NumberSummary, share_of
from seepage.data.table.options import TableOptions
from seepage.data.table.sources import open_frame
from seepage.errors import TableError

ROWS = 240


def table(seed, numbers=8):
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "word": pa.array(
                draw.choice(["b", "10", "9", "A"], ROWS), mask=draw.random(ROWS) < 0.1
            ),
            "truth": pa.array(draw.random(ROWS) < 0.5, mask=draw.random(ROWS) < 0.05),
            "number": pa.array(draw.integers(-3, numbers, ROWS), mask=draw.random(ROWS) < 0.1),
            "half": draw.choice([0.5, 1.0, 20.0], ROWS),
        }
    )


def parts(whole, cuts):
    """The parts of a table, and the index of the first record of each."""
    for begin, end in pairwise([0, *sorted(cuts), len(whole)]):
        yield open_frame(whole.slice(begin, end - begin)), begin


def shards(whole, cuts, options):
    """What each part of a table finds, as executors send it."""
    return [pickle.dumps(find_values(part, first, options)) for part, first in parts(whole, cuts)]


def edges(whole, cuts, options, found, order=0):
    """The bin edges of the columns that need them."""
    binned = [column for column in found.parts if column.needs_edges]
    sent = [summarise(part, first, binned, 1.0) for part, first in parts(whole, cuts)]
    return edges_of_all(binned, joined(map(pickle.dumps, sent), order))


def joined(parts, order):
    """Parts merged two by two, in an order of a random kind."""
    left = [pickle.loads(part) for part in parts]
    draw = np.random.default_rng(order)
    while len(left) > 1:
        one, other = left.pop(draw.integers(len(left))), left.pop(draw.integers(len(left)))
        one.merge(other)
        left.append(pickle.loads(pickle.dumps(one)))
    return left[0]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 50),
    cuts=st.lists(st.integers(0, ROWS), max_size=4),
    order=st.integers(0, 2**32),
    missing=st.sampled_from(["category", "drop"]),
)
def test_any_cut_and_order_gives_the_counts_of_the_whole(seed, cuts, order, missing):
    whole, options = table(seed), TableOptions(missing=missing)
    found = joined(shards(whole, cuts, options), order)
    assert found.in_domain({})[1] == sp.count_pairs(whole, missing=missing)


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=4),
    order=st.integers(0, 2**32),
    missing=st.sampled_from(["category", "drop"]),
)
def test_any_cut_and_order_finds_the_columns_that_need_bins(cuts, order, missing):
    whole, options = table(1, numbers=90), TableOptions(missing=missing)
    found = joined(shards(whole, cuts, options), order)
    assert [part.needs_edges for part in found.parts] == [False, False, True, False]
    domain, counts = found.in_domain(edges(whole, cuts, options, found, order))
    assert counts is None
    assert domain == sp.count_pairs(whole, missing=missing).domain


def test_numbers_of_all_shards_together_need_bins():
    whole, options = pa.table({"n": np.arange(60)}), TableOptions()
    found = joined(shards(whole, [30], options), 0)
    assert found.parts[0].needs_edges
    domain, counts = found.in_domain(edges(whole, [30], options, found))
    assert (domain, counts) == (sp.count_pairs(whole).domain, None)
    given = TableOptions(bins=[0, 30, 60])
    domain, counts = joined(shards(whole, [30], given), 0).in_domain({"n": (0.0, 30.0, 60.0)})
    assert (domain["n"].edges, counts) == ((0, 30, 60), None)


@pytest.mark.parametrize("order", range(4))
def test_too_many_values_raise_as_with_the_local_engine_before_all_are_in_memory(order):
    whole = pa.table({"w": [f"word {number}" for number in range(200)]})
    options = TableOptions(max_values=30)
    found = shards(whole, range(20, 200, 20), options)
    with pytest.raises(TableError) as here:
        sp.count_pairs(whole, max_values=30)
    with pytest.raises(TableError) as there:
        joined(found, order)
    assert str(here.value) == str(there.value)


def test_too_many_cells_are_counted_later(monkeypatch):
    whole, options = table(2), TableOptions()
    found = shards(whole, [50, 100], options)
    monkeypatch.setattr(engine, "MAX_FOUND_CELLS", 20)
    found = joined(found, 0)
    assert found.counts is None
    assert found.in_domain({}) == (sp.count_pairs(whole).domain, None)


@pytest.mark.parametrize("order", range(4))
def test_a_shard_whose_records_are_all_dropped_changes_nothing(order):
    whole = pa.table({"a": pa.array([1, 2, None, None, 1]), "b": [1, 1, 2, 3, 2]})
    options = TableOptions(missing="drop")
    found = joined(shards(whole, [2, 4], options), order)
    assert (found.rows, found.kept) == (5, 3)
    assert found.in_domain({})[1] == sp.count_pairs(whole, missing="drop")


def test_a_share_of_all_records_does_not_suffice_where_numbers_are_missing(monkeypatch):
    monkeypatch.setattr(bins, "SAMPLE_SIZE", 1000)
    rows = 20_000
    ranks, values = record_priorities(0, rows), np.random.default_rng(4).normal(size=rows)
    there = np.arange(rows) % 3 == 0
    whole = NumberSummary()
    whole.add(values[there], ranks[there])

    def gathered(share):
        parts = [NumberSummary(share) for _ in range(4)]
        for number, part in enumerate(parts):
            mine = there & (np.arange(rows) // 5000 == number)
            part.add(values[mine], ranks[mine])
        for part in parts[1:]:
            parts[0].merge(pickle.loads(pickle.dumps(part)))
        return parts[0]

    assert not gathered(share_of(rows)).complete
    enough = gathered(engine.WIDENING * share_of(rows))
    assert enough.complete
    assert [part.tolist() for part in enough.distinct()] == [p.tolist() for p in whole.distinct()]
    assert not gathered(1e-9).complete
    unlucky = NumberSummary(share_of(5000))
    unlucky.add(values[:5000], np.full(5000, 2**64 - 1, dtype=np.uint64))
    assert not unlucky.complete


def test_numbers_missing_only_before_a_column_needs_bins_have_a_category():
    first, later = pa.array([1, None, 2], pa.int64()), pa.array(np.arange(60))
    whole, options = pa.table({"n": pa.chunked_array([first, later])}), TableOptions()
    found = joined(shards(whole, [], options), 0)
    domain, _ = found.in_domain(edges(whole, [], options, found))
    assert domain == sp.count_pairs(whole).domain
    assert domain["n"].values[-1] == "(missing)"
