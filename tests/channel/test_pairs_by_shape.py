"""Functions over all pairs of one shape equal their definitions for single pairs."""

import cProfile
import math
import pstats
from itertools import combinations, permutations

import numpy as np
import pyarrow.parquet as pq
import pytest

import seepage as sp
from bincount_oracle import count_codes
from kernels import counted_by
from seepage._core.errors import DomainError
from seepage.channel import pairs as module
from seepage.channel.domain import Attribute, Domain
from seepage.channel.pairs import (
    PairCounts,
    pair_index,
    pair_offsets,
    pairs_by_shape,
    put_stack,
    stacked,
)
from seepage.counting.accumulate import PairAccumulator
from seepage.leakage.bound import relaxation
from seepage.leakage.pair_leak import Leak

SIZES = (2, 3, 2, 1, 7, 2, 3, 30, 2, 7, 1, 2, 3)
ROWS = 900


def domain_of(sizes):
    return Domain(
        Attribute(f"c{place}", tuple(f"{place % 3}:{code}" for code in range(size)))
        for place, size in enumerate(sizes)
    )


def codes_of(sizes, rows=ROWS, seed=4):
    """Columns that hang together through a hidden one; the largest code never
    occurs.
    """
    generator = np.random.default_rng(seed)
    hidden = generator.integers(0, 3, rows)
    drawn = [generator.integers(0, max(1, size - 1), rows) for size in sizes]
    return [
        np.where(
            generator.random(rows) < 0.5, column, hidden % max(1, size - 1)
        ).astype(np.uint8)
        for column, size in zip(drawn, sizes, strict=True)
    ]


def table_of(codes, sizes, a, b):
    table = np.zeros((sizes[a], sizes[b]), dtype=int)
    np.add.at(table, (codes[a], codes[b]), 1)
    return table


@pytest.fixture(params=[module.CELLS_AT_ONCE, 40, 1], ids=["whole", "parts", "single"])
def pairs(request, monkeypatch):
    """A table of mixed shapes, in stacks of many pairs, of some, and of one."""
    monkeypatch.setattr(module, "CELLS_AT_ONCE", request.param)
    with counted_by("numpy"):
        return count_codes(codes_of(SIZES), domain_of(SIZES))


def test_every_pair_comes_once_with_its_shape(monkeypatch):
    for limit in (1, 10, 1 << 20):
        monkeypatch.setattr(module, "CELLS_AT_ONCE", limit)
        found = []
        rooms = [size + size % 2 for size in SIZES]
        for places, first, second in pairs_by_shape(SIZES, rooms):
            both = zip(first, second, strict=True)
            shapes = {(SIZES[a], SIZES[b], rooms[a], rooms[b]) for a, b in both}
            assert len(shapes) == 1
            assert len(places) == 1 or len(places) * math.prod(min(shapes)[2:]) <= limit
            assert places.tolist() == pair_index(first, second, len(SIZES)).tolist()
            found += zip(places.tolist(), first.tolist(), second.tolist(), strict=True)
        numbered = enumerate(combinations(range(len(SIZES)), 2))
        assert sorted(found) == [(place, a, b) for place, (a, b) in numbered]


def test_one_attribute_has_no_pairs():
    assert list(pairs_by_shape((4,))) == []
    assert pair_offsets((4,)).tolist() == [0]


def test_offsets_are_running_sums_of_cells():
    cells = [a * b for a, b in combinations(SIZES, 2)]
    assert pair_offsets(SIZES).tolist() == [
        sum(cells[:end]) for end in range(len(cells) + 1)
    ]
    assert pair_offsets((60_000, 60_000, 2)).tolist()[1] == 60_000**2, (
        "no overflow at 32 bits"
    )


@pytest.mark.parametrize("begins", [[0, 6, 12], [6], [12, 0], [0, 12], []])
def test_stacked_arrays_equal_slices_of_the_flat_array(begins):
    flat = np.arange(18)
    places = np.array(begins, dtype=np.int64)
    stack = stacked(flat, places, 2, 3)
    assert stack.tolist() == [
        np.arange(b, b + 6).reshape(2, 3).tolist() for b in begins
    ]
    put_stack(flat, places, stack + 100)
    changed = {place for begin in begins for place in range(begin, begin + 6)}
    assert flat.tolist() == [place + 100 * (place in changed) for place in range(18)]


def test_counts_of_mixed_shapes_equal_their_definition(pairs):
    codes = codes_of(SIZES)
    for a, b in combinations(range(len(SIZES)), 2):
        assert pairs.table(a, b).tolist() == table_of(codes, SIZES, a, b).tolist()


def test_growing_and_reordered_codes_equal_their_definition(pairs):
    """Batches whose alphabets differ, then values in another order than their codes."""
    codes = codes_of(SIZES)
    generator = np.random.default_rng(0)
    shards = [PairAccumulator(len(SIZES)) for _ in range(2)]
    for shard, part in zip(shards, (slice(0, 7), slice(7, None)), strict=True):
        some = [column[part] for column in codes]
        shard.add(some, [int(column.max()) + 1 for column in some])
    shards[0].merge(shards[1])
    orders = [generator.permutation(size) for size in SIZES]
    found = shards[0].counts(pairs.domain, orders)
    for a, b in combinations(range(len(SIZES)), 2):
        expected = table_of(codes, SIZES, a, b)[np.ix_(orders[a], orders[b])]
        assert found.table(a, b).tolist() == expected.tolist()


@pytest.mark.parametrize("axis", [0, 1])
def test_a_wrong_sum_is_found_in_any_table(pairs, axis):
    """One record is moved to the next row or column of each table in turn."""
    offsets = pair_offsets(SIZES)
    for place, (a, b) in enumerate(combinations(range(len(SIZES)), 2)):
        if (SIZES[a], SIZES[b])[axis] == 1:
            continue
        counts = pairs.counts.copy()
        table = counts[offsets[place] : offsets[place + 1]].reshape(SIZES[a], SIZES[b])
        table[0, 0] -= 1
        table[(1, 0) if axis == 0 else (0, 1)] += 1
        with pytest.raises(DomainError, match=f"table of 'c{a}' and 'c{b}' must sum"):
            PairCounts(pairs.domain, pairs.marginals, counts)


def test_selected_tables_equal_single_ones(pairs):
    chosen = np.random.default_rng(2).permutation(len(SIZES))[:-2].tolist()
    found = pairs.select(chosen)
    for (i, a), (j, b) in combinations(enumerate(chosen), 2):
        assert found.table(i, j).tolist() == pairs.table(a, b).tolist()
    with pytest.raises(DomainError, match="twice"):
        pairs.select([0, 1, 0])


def test_files_list_cells_by_pair(pairs, tmp_path):
    pairs.save(tmp_path / "mixed")
    expected = []
    for a, left in enumerate(pairs.domain):
        for b, right in enumerate(pairs.domain):
            for (i, j), count in np.ndenumerate(
                pairs.table(a, b) if a <= b else np.zeros((0, 0))
            ):
                if count:
                    expected.append(
                        (left.name, right.name, left.values[i], right.values[j], count)
                    )
    rows = pq.read_table(tmp_path / "mixed").to_pylist()
    assert [tuple(row.values())[:5] for row in rows] == expected
    assert PairCounts.load(tmp_path / "mixed") == pairs


@pytest.mark.parametrize("mechanism", [None, "grr", "oue", "ss"])
def test_matrix_equals_single_leakages_to_the_last_bit(pairs, mechanism):
    budgets = np.linspace(0.0, 2.0, len(SIZES))
    matrix = sp.leakage_matrix(pairs, budgets, mechanism=mechanism)
    for target, source in permutations(range(len(SIZES)), 2):
        assert matrix.values[target, source] == matrix[target, source].value
    ranked = sorted(
        ((-matrix.values[t, s], t, s) for t, s in permutations(range(len(SIZES)), 2)),
    )
    names = pairs.domain.names
    assert matrix.strongest(9) == [
        Leak(names[t], names[s], -value) for value, t, s in ranked[:9]
    ]


def test_relaxations_equal_single_ones_to_the_last_bit(pairs):
    budgets = [0.0, 1.0] * 6 + [3.0]
    deltas = [0.0, 1e-6, 1e-3] * 4 + [0.5]
    matrix = sp.leakage_matrix(pairs, budgets, delta=deltas)
    for target, source in permutations(range(len(SIZES)), 2):
        expected = relaxation(
            pairs.channel(target, source).matrix,
            float(matrix.values[target, source]),
            budgets[source],
            deltas[source],
        )
        assert matrix.deltas[target, source] == expected


def _calls(attributes, folder):
    """Return how many functions Python calls from records to totals, by step."""
    domain, codes = domain_of((2,) * attributes), codes_of((2,) * attributes, 100)
    calls = {}
    kept = {}

    def measured(name, step):
        profile = cProfile.Profile()
        kept[name] = profile.runcall(step)
        calls[name] = pstats.Stats(profile).total_calls

    with counted_by("numpy"):
        measured("count", lambda: count_codes(codes, domain))
    pairs = kept["count"]
    measured("merge", lambda: pairs + pairs)
    measured("select", lambda: pairs.select(domain.names[::-1]))
    measured("save", lambda: pairs.save(folder / "wide"))
    measured("load", lambda: PairCounts.load(folder / "wide"))
    measured("matrix", lambda: sp.leakage_matrix(pairs, 1.0, mechanism="grr").values)
    measured(
        "total",
        lambda: sp.total_leakage(pairs, 1.0, mechanism="grr", guarantee="independent"),
    )
    return calls


def test_no_step_calls_a_function_for_each_pair(tmp_path):
    """Four times the attributes have sixteen times the pairs; calls grow with
    attributes.
    """
    _calls(8, tmp_path)
    few = _calls(40, tmp_path)
    many = _calls(160, tmp_path)
    grown = {name: many[name] / few[name] for name in few}
    assert all(growth < 6 for growth in grown.values()), grown
