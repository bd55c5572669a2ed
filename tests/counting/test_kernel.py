"""Both kernels count exactly what numpy.bincount counts, whatever the plan."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.counting.kernel import count_batch, count_with_numba
from seepage.counting.kernel_numpy import count_with_numpy
from seepage.counting.pair_cells import PairCells
from seepage.counting.schedule import compiled_pays, schedule_pairs

KERNELS = [count_with_numpy, count_with_numba]
LIMITS = [0.0, 3.0, 40.0, 500.0, np.inf]


def random_codes(sizes, rows, seed=0):
    generator = np.random.default_rng(seed)
    return [
        generator.integers(0, size, rows).astype(np.uint8 if size <= 256 else np.uint16)
        for size in sizes
    ]


def assert_counts(codes, sizes, cells):
    """Compare with bincount, leaving out code 0, which the kernels leave undefined."""
    for column, (own, size) in enumerate(zip(codes, sizes, strict=True)):
        expected = np.bincount(own, minlength=size)
        np.testing.assert_array_equal(cells.marginal(column)[1:size], expected[1:])
    for a, b in combinations(range(len(sizes)), 2):
        joint = codes[a].astype(np.int64) * sizes[b] + codes[b]
        expected = np.bincount(joint, minlength=sizes[a] * sizes[b]).reshape(
            sizes[a], sizes[b]
        )
        found = cells.table(a, b)[1 : sizes[a], 1 : sizes[b]]
        np.testing.assert_array_equal(found, expected[1:, 1:])


@st.composite
def coded_tables(draw):
    sizes = draw(
        st.lists(
            st.one_of(
                st.integers(1, 5), st.sampled_from([17, 64, 255, 256, 257, 1200])
            ),
            min_size=1,
            max_size=6,
        )
    )
    rows = draw(st.one_of(st.integers(1, 200), st.sampled_from([4096, 16384, 16385])))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    skew = draw(st.sampled_from([1, 4, 50]))
    codes = []
    for size in sizes:
        wide = size > 256 or draw(st.booleans())
        drawn = (generator.random(rows) ** skew * size).astype(
            np.uint16 if wide else np.uint8
        )
        codes.append(drawn)
    return codes, sizes


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=60, deadline=None)
@given(table=coded_tables(), limit=st.sampled_from(LIMITS), spare=st.integers(0, 2))
def test_equals_bincount(kernel, table, limit, spare):
    codes, sizes = table
    cells = PairCells([size + spare for size in sizes])
    assert kernel(codes, sizes, schedule_pairs(tuple(sizes), limit), cells) == -1
    assert_counts(codes, sizes, cells)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 65535, 65536, 65537, 150_001])
@pytest.mark.parametrize("limit", [0.0, 100.0, np.inf])
def test_rows_around_every_block_boundary(kernel, rows, limit):
    sizes = [2, 40, 3, 300, 1, 2, 7]
    codes = random_codes(sizes, rows)
    cells = PairCells(sizes)
    assert kernel(codes, sizes, schedule_pairs(tuple(sizes), limit), cells) == -1
    assert_counts(codes, sizes, cells)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rows", [500, 8000, 70_000])
@pytest.mark.parametrize("spare", [0, 3])
def test_triples_small_and_large(kernel, rows, spare):
    """Histograms of three columns, of two with four, two and one copies, and of one."""
    sizes = [20, 19, 41, 300, 38, 2, 40, 90, 50]
    codes = random_codes(sizes, rows)
    cells = PairCells([size + spare for size in sizes])
    plan = schedule_pairs(tuple(sizes), 0.0)
    assert len(plan.grouped[0]) > 2
    assert len(plan.grouped[1]) > 2
    assert kernel(codes, sizes, plan, cells) == -1
    assert_counts(codes, sizes, cells)


@pytest.mark.parametrize("kernel", KERNELS)
def test_many_bitmaps(kernel):
    sizes = [250] * 6
    codes = random_codes(sizes, 40_000)
    cells = PairCells(sizes)
    assert kernel(codes, sizes, schedule_pairs(tuple(sizes), np.inf), cells) == -1
    assert_counts(codes, sizes, cells)


@pytest.mark.parametrize("kernel", KERNELS)
def test_constant_and_extreme_columns(kernel):
    rows = 70_000
    codes = [
        np.zeros(rows, np.uint8),
        np.full(rows, 255, np.uint8),
        np.full(rows, 1199, np.uint16),
        np.arange(rows).astype(np.uint8),
    ]
    sizes = [1, 256, 1200, 256]
    for limit in LIMITS:
        cells = PairCells(sizes)
        assert kernel(codes, sizes, schedule_pairs(tuple(sizes), limit), cells) == -1
        assert_counts(codes, sizes, cells)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("limit", [0.0, np.inf])
@pytest.mark.parametrize("row", [0, 99_999])
def test_code_beyond_its_size_is_found(kernel, limit, row):
    sizes = [3, 2, 300]
    codes = random_codes(sizes, 100_000)
    codes[1][row] = 2
    assert (
        kernel(codes, sizes, schedule_pairs(tuple(sizes), limit), PairCells(sizes)) == 1
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_no_rows_change_nothing(compiled):
    cells = PairCells((2, 3))
    nothing = [np.zeros(0, np.uint8), np.zeros(0, np.uint16)]
    assert count_batch(nothing, (2, 3), cells, compiled=compiled) == -1
    assert not cells.marginals.any()
    assert not cells.tables.any()


def test_counts_are_added_to_what_is_there():
    sizes = [4, 5, 2]
    cells = PairCells([4, 5, 2])
    codes = random_codes(sizes, 9_000)
    for compiled in (False, True, True):
        assert count_batch(codes, sizes, cells, compiled=compiled) == -1
    assert_counts([np.tile(column, 3) for column in codes], sizes, cells)


def test_compiled_pays_for_large_work_only(monkeypatch):
    monkeypatch.delitem(
        __import__("sys").modules,
        "seepage.counting.kernel_numba",
        raising=False,
    )
    assert not compiled_pays(200_000, [2] * 40)
    assert not compiled_pays(50_000, [20] * 15)
    assert compiled_pays(5_000_000, [20] * 27)
    assert compiled_pays(1_000_000_000, [2, 2])
