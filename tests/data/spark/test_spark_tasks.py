"""What shards found, put together in any order: the domain and the counts of the whole table."""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage.data.domain import Domain
from seepage.data.spark import tasks as spark_found
from seepage.data.spark.tasks import find_values, only_binned, partial_domain
from seepage.data.table import sampling
from seepage.data.table.options import TableOptions
from seepage.data.table.sampling import NumberSummary, record_priorities, share_of
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


def shards(whole, cuts, options, share=1.0):
    """What each part of a table finds, as executors send it."""
    bounds = [0, *sorted(cuts), len(whole)]
    for begin, end in pairwise(bounds):
        part = whole.slice(begin, end - begin)
        yield pickle.dumps(find_values(open_frame(part), options, begin, share))


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
    assert partial_domain(found, whole.column_names, options, 1.0).counts == sp.count_pairs(
        whole, missing=missing
    )


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=4),
    order=st.integers(0, 2**32),
    missing=st.sampled_from(["category", "drop"]),
)
def test_any_cut_and_order_finds_the_columns_that_need_bins(cuts, order, missing):
    whole, options = table(1, numbers=90), TableOptions(missing=missing, few=20)
    parts = list(shards(whole, cuts, options))
    known = partial_domain(joined(parts, order), whole.column_names, options, 0.25)
    filled = [found for found in map(pickle.loads, parts) if found.rows]
    everywhere = all(found.columns[2].needs_edges for found in filled)
    assert known.counts is None
    assert known.pending == ({} if everywhere else {whole.column_names[2]: 0.25})
    if not everywhere:
        late = only_binned(options, whole.column_names, known.pending)
        found = joined(shards(whole, cuts, late), order)
        known.attributes |= partial_domain(found, whole.column_names, late, 1.0).attributes
    expected = sp.count_pairs(whole, missing=missing, few=20).domain
    assert known.attributes == {attribute.name: attribute for attribute in expected}


def test_numbers_of_all_shards_together_need_bins():
    whole, options = pa.table({"n": np.arange(60)}), TableOptions(few=50)
    found = joined(shards(whole, [30], options), 0)
    assert found.columns[0].needs_edges
    assert found.counts is None
    assert found.columns[0].alphabet is None


@pytest.mark.parametrize("order", range(4))
def test_too_many_values_raise_as_with_the_local_engine_before_all_are_in_memory(order):
    whole = pa.table({"w": [f"word {number}" for number in range(200)]})
    options = TableOptions(max_values=30)
    parts = list(shards(whole, range(20, 200, 20), options))
    with pytest.raises(TableError) as here:
        sp.count_pairs(whole, max_values=30)
    with pytest.raises(TableError) as there:
        joined(parts, order)
    assert str(here.value) == str(there.value)


def test_too_many_cells_are_counted_later(monkeypatch):
    whole, options = table(2), TableOptions()
    parts = list(shards(whole, [50, 100], options))
    monkeypatch.setattr(spark_found, "MAX_CELLS", 20)
    found = joined(parts, 0)
    assert found.counts is None
    known = partial_domain(found, whole.column_names, options, 1.0)
    assert known.counts is None
    assert Domain(known.attributes.values()) == sp.count_pairs(whole).domain


def test_no_record_is_left():
    whole = pa.table({"a": pa.array([None, 1, None]), "b": pa.array([1, None, 2])})
    options = TableOptions(missing="drop")
    found = joined(shards(whole, [1], options), 0)
    with pytest.raises(TableError, match=r"^no record is left: all 3 have a missing value$"):
        partial_domain(found, whole.column_names, options, 1.0)
    with pytest.raises(TableError, match=r"^the table has no records$"):
        partial_domain(joined(shards(whole.slice(0, 0), [], options), 0), ["a", "b"], options, 1.0)


@pytest.mark.parametrize("order", range(4))
def test_a_shard_whose_records_are_all_dropped_changes_nothing(order):
    whole = pa.table({"a": pa.array([1, 2, None, None, 1]), "b": [1, 1, 2, 3, 2]})
    options = TableOptions(missing="drop")
    found = joined(shards(whole, [2, 4], options), order)
    assert (found.rows, found.kept) == (5, 3)
    known = partial_domain(found, whole.column_names, options, 1.0)
    assert known.counts == sp.count_pairs(whole, missing="drop")


def test_a_share_of_all_records_does_not_suffice_where_numbers_are_missing(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_SIZE", 1000)
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

    short = gathered(share_of(rows))
    assert not short.complete
    assert short.wider_share == share_of(int(there.sum()))
    enough = gathered(short.wider_share)
    assert enough.complete
    assert [part.tolist() for part in enough.distinct()] == [p.tolist() for p in whole.distinct()]
    assert gathered(1e-9).wider_share == share_of(int(there.sum()))
    unlucky = NumberSummary(share_of(5000))
    unlucky.add(values[:5000], np.full(5000, 2**64 - 1, dtype=np.uint64))
    assert not unlucky.complete
    assert unlucky.wider_share == 1.0


def test_numbers_missing_only_before_a_column_needs_bins_have_a_category():
    first, later = pa.array([1, None, 2], pa.int64()), pa.array(np.arange(60))
    whole, options = pa.table({"n": pa.chunked_array([first, later])}), TableOptions()
    found = joined(shards(whole, [], options), 0)
    known = partial_domain(found, ["n"], options, 1.0)
    assert known.pending == {"n": 1.0}
    late = only_binned(options, ["n"], known.pending)
    known = partial_domain(joined(shards(whole, [], late), 0), ["n"], late, 1.0)
    assert known.attributes["n"] == sp.count_pairs(whole).domain["n"]
    assert known.attributes["n"].values[-1] == "(missing)"
