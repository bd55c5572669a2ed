"""What shards found, put together in any order: the domain and the counts of the whole
table.
"""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage._core.errors import TableError
from seepage.counting.spark import engine
from seepage.counting.spark.shards import Input
from seepage.tables.frames import open_frame
from seepage.tables.table_options import DataOptions

ROWS = 240


def table(seed, numbers=8):
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "word": pa.array(
                draw.choice(["b", "10", "9", "A"], ROWS), mask=draw.random(ROWS) < 0.1
            ),
            "truth": pa.array(draw.random(ROWS) < 0.5, mask=draw.random(ROWS) < 0.05),
            "number": pa.array(
                draw.integers(-3, numbers, ROWS), mask=draw.random(ROWS) < 0.1
            ),
            "half": draw.choice([0.5, 1.0, 20.0], ROWS),
        }
    )


def joined(parts, order):
    """Parts merged two by two, in an order of a random kind."""
    left = [pickle.loads(part) for part in parts]
    draw = np.random.default_rng(order)
    while len(left) > 1:
        one = left.pop(draw.integers(len(left)))
        other = left.pop(draw.integers(len(left)))
        one.merge(other)
        left.append(pickle.loads(pickle.dumps(one)))
    return left[0]


def counted(whole, cuts, order=0, **options):
    """The counts by Spark's tasks on the parts of a table, and the number of jobs."""
    jobs = []

    def run(table, columns, work):
        jobs.append(columns)
        sent = []
        for begin, end in pairwise([0, *sorted(cuts), len(whole)]):
            sent.append(
                pickle.dumps(work(open_frame(whole.slice(begin, end - begin)), begin))
            )
        return joined(sent, order)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "run", run)
        patch.setattr(
            engine, "open_input", lambda data: Input(None, tuple(whole.column_names))
        )
        return engine.count_with_spark(whole, DataOptions(**options)), len(jobs)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 50),
    cuts=st.lists(st.integers(0, ROWS), max_size=4),
    order=st.integers(0, 2**32),
    missing=st.sampled_from(["category", "drop"]),
)
def test_any_cut_and_order_gives_the_counts_of_the_whole(seed, cuts, order, missing):
    whole = table(seed)
    assert counted(whole, cuts, order, missing=missing) == (
        sp.count_pairs(whole, missing=missing),
        1,
    )


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=4),
    order=st.integers(0, 2**32),
    missing=st.sampled_from(["category", "drop"]),
)
def test_any_cut_and_order_finds_the_columns_that_need_bins(cuts, order, missing):
    whole = table(1, numbers=90)
    expected = sp.count_pairs(whole, missing=missing)
    assert [bool(attribute.edges) for attribute in expected.domain] == [
        False,
        False,
        True,
        False,
    ]
    assert counted(whole, cuts, order, missing=missing) == (expected, 3)


@pytest.mark.parametrize(
    "bins", [None, [0, 30, 60], {"n": [0, 30, 60]}, {"n": "width:2"}]
)
def test_numbers_of_all_shards_together_need_bins(bins):
    whole = pa.table({"n": np.arange(60)})
    jobs = 1 if bins == {"n": [0, 30, 60]} else 3
    assert counted(whole, [30], bins=bins) == (sp.count_pairs(whole, bins=bins), jobs)


def test_bin_edges_of_many_columns_are_found_in_several_jobs(monkeypatch):
    monkeypatch.setattr(engine, "SUMMARISED", 2)
    whole = pa.table({name: np.arange(60) + i for i, name in enumerate("abc")})
    assert counted(whole, [20]) == (sp.count_pairs(whole), 4)


@pytest.mark.parametrize("order", range(4))
def test_too_many_values_raise_as_with_the_local_engine_before_all_are_in_memory(order):
    whole = pa.table({"w": [f"word {number}" for number in range(200)]})
    with pytest.raises(TableError) as here:
        sp.count_pairs(whole, max_values=30)
    with pytest.raises(TableError) as there:
        counted(whole, range(20, 200, 20), order, max_values=30)
    assert str(here.value) == str(there.value)


@pytest.mark.parametrize(("cut", "jobs"), [(30, 1), (60, 3)])
def test_numbers_that_floats_cannot_tell_apart_are_categories(cut, jobs):
    whole = pa.table({"n": [*range(60), 2**53 + 1]})
    expected = sp.count_pairs(whole)
    assert not expected.domain["n"].edges
    assert counted(whole, [cut]) == (expected, jobs)


@pytest.mark.parametrize("order", range(4))
def test_a_shard_whose_records_are_all_dropped_changes_nothing(order):
    whole = pa.table({"a": pa.array([1, 2, None, None, 1]), "b": [1, 1, 2, 3, 2]})
    found, _ = counted(whole, [2, 4], order, missing="drop")
    assert found == sp.count_pairs(whole, missing="drop")


def test_numbers_missing_only_before_a_column_needs_bins_have_a_category():
    first = pa.array([1, None, 2], pa.int64())
    later = pa.array(np.arange(60))
    whole = pa.table({"n": pa.chunked_array([first, later])})
    found, _ = counted(whole, [])
    assert found == sp.count_pairs(whole)
    assert found.domain["n"].values[-1] == "(missing)"


def test_numbers_that_are_all_equal_are_categories_though_binned_by_name():
    whole = pa.table({"x": [5, 5, None], "y": pa.array([None] * 3, pa.float64())})
    bins = {"x": 4, "y": "width:3"}
    assert counted(whole, [1], bins=bins) == (sp.count_pairs(whole, bins=bins), 1)
