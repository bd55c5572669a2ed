"""Batches add up, alphabets grow, accumulators merge."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bincount_oracle import by_bincount, domain_of
from kernels import KERNELS, counted_by
from seepage._core.errors import DomainError
from seepage.channel.domain import Attribute, Domain
from seepage.counting.accumulate import PairAccumulator
from seepage.counting.pair_cells import PairCells


@st.composite
def growing_batches(draw):
    """Batches whose sizes never shrink, and the same rows as one table."""
    columns = draw(st.integers(1, 5))
    sizes = draw(st.lists(st.integers(1, 3), min_size=columns, max_size=columns))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    batches = []
    for _ in range(draw(st.integers(1, 5))):
        rows = draw(st.integers(0, 150))
        growth = draw(st.lists(st.sampled_from([0, 0, 1, 9, 290]), min_size=columns))
        sizes = [size + more for size, more in zip(sizes, growth, strict=False)]
        codes = [
            generator.integers(0, size, rows).astype(
                np.uint8 if size < 256 else np.uint16
            )
            for size in sizes
        ]
        batches.append((codes, tuple(sizes)))
    return batches


def joined(batches):
    return [
        np.concatenate(parts)
        for parts in zip(*(codes for codes, _ in batches), strict=True)
    ]


@settings(max_examples=60, deadline=None)
@given(batches=growing_batches(), data=st.data())
def test_growing_batches_equal_bincount(batches, data):
    accumulator = PairAccumulator(len(batches[0][1]))
    for codes, sizes in batches:
        with counted_by(data.draw(st.sampled_from(KERNELS))):
            accumulator.add(codes, sizes)
    domain = domain_of(batches[-1][1])
    assert accumulator.rows == sum(len(codes[0]) for codes, _ in batches)
    assert accumulator.counts(domain) == by_bincount(joined(batches), domain)


@settings(max_examples=40, deadline=None)
@given(batches=growing_batches(), cut=st.integers(0, 5), forth=st.booleans())
def test_merging_equals_counting_at_once(batches, cut, forth):
    domain = domain_of(batches[-1][1])
    shards = [PairAccumulator(len(domain)), PairAccumulator(len(domain))]
    for place, (codes, sizes) in enumerate(batches):
        shards[place < cut].add(codes, sizes)
    first, second = shards if forth else reversed(shards)
    first.merge(pickle.loads(pickle.dumps(second)))
    assert first.counts(domain) == by_bincount(joined(batches), domain)


def test_only_the_counts_are_pickled():
    columns = 300
    accumulator = PairAccumulator(columns)
    with counted_by("numba"):
        accumulator.add([np.arange(5) % 2] * columns, [2] * columns)
    cells = 4 * columns * (columns - 1) // 2
    assert 8 * cells < len(pickle.dumps(accumulator)) < 8.1 * cells


def test_shards_of_pair_counts_add_up():
    domain = domain_of((3, 4, 2))
    generator = np.random.default_rng(5)
    codes = [generator.integers(0, size, 1000) for size in domain.sizes]
    shards = []
    for part in (slice(0, 300), slice(300, 1000)):
        accumulator = PairAccumulator(3)
        accumulator.add([column[part] for column in codes], domain.sizes)
        shards.append(accumulator.counts(domain))
    assert shards[0] + shards[1] == by_bincount(codes, domain)


def test_counts_follow_the_order_of_the_domain():
    accumulator = PairAccumulator(2)
    accumulator.add([np.array([0, 1, 2, 2]), np.array([0, 0, 1, 0])], (3, 2))
    domain = Domain([Attribute("a", ("x", "y", "z")), Attribute("b", ("no", "yes"))])
    pairs = accumulator.counts(domain, [np.array([2, 0, 1]), np.array([1, 0])])
    assert pairs.table("a", "b").tolist() == [[1, 1], [0, 1], [0, 1]]
    assert pairs.marginal("b").tolist() == [1, 3]


def test_counting_goes_on_after_counts_were_taken():
    accumulator = PairAccumulator(2)
    domain = domain_of((2, 3))
    batch = [np.array([0, 1]), np.array([2, 0])]
    accumulator.add(batch, (2, 3))
    before = accumulator.counts(domain)
    accumulator.add(batch, (2, 3))
    assert accumulator.counts(domain) == before + before


def test_values_never_seen_have_zero_counts():
    accumulator = PairAccumulator(2)
    accumulator.add([np.array([0]), np.array([0])], (1, 1))
    pairs = accumulator.counts(domain_of((2, 3)))
    assert pairs.unseen("c1") == ("v1", "v2")
    assert pairs.records == 1


def test_an_empty_accumulator():
    pairs = PairAccumulator(3).counts(domain_of((2, 1, 3)))
    assert pairs.records == 0
    assert not pairs.counts.any()


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int64, np.uint32, np.uint64, np.bool_, ">u2"]
)
def test_any_type_of_integers(dtype):
    codes = [np.array([0, 1, 1, 0]).astype(dtype), np.array([1, 1, 0, 0]).astype(dtype)]
    accumulator = PairAccumulator(2)
    accumulator.add(codes, (2, 2))
    assert accumulator.counts(domain_of((2, 2))).counts.tolist() == [1, 1, 1, 1]


def test_columns_need_not_be_contiguous():
    matrix = np.random.default_rng(3).integers(0, 3, (500, 4), dtype=np.uint8)
    for kernel in ("numpy", "numba"):
        accumulator = PairAccumulator(4)
        with counted_by(kernel):
            accumulator.add(list(matrix.T), (3,) * 4)
        domain = domain_of((3,) * 4)
        assert accumulator.counts(domain) == by_bincount(list(matrix.T), domain)


def test_columns_need_not_be_aligned():
    codes = np.random.default_rng(4).integers(0, 300, 1000).astype(np.uint16)
    odd = np.frombuffer(b"x" + codes.tobytes(), dtype=np.uint16, offset=1)
    assert not odd.flags.aligned
    domain = domain_of((300, 300))
    accumulator = PairAccumulator(2)
    with counted_by("numba"):
        accumulator.add([odd, codes], domain.sizes)
    assert accumulator.counts(domain) == by_bincount([codes, codes], domain)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_codes_beyond_the_alphabet_raise(kernel):
    with (
        counted_by(kernel),
        pytest.raises(DomainError, match=r"column 0 must be below 2, got 2"),
    ):
        PairAccumulator(2).add([np.array([0, 2]), np.array([0, 0])], (2, 2))


def test_alphabets_beyond_sixteen_bits_raise():
    with pytest.raises(DomainError, match=r"at most 65,536 values, got 65,537"):
        PairAccumulator(1).add([np.array([0])], (65_537,))


@pytest.mark.parametrize("most", [255, 256, 257])
def test_wide_codes_are_not_cut_to_a_byte(most):
    """The narrowest type is chosen by the largest code; 256 is the first that needs two
    bytes.
    """
    codes = [np.array([0, most, most]), np.array([1, 0, 1])]
    domain = domain_of((most + 1, 2))
    accumulator = PairAccumulator(2)
    accumulator.add(codes, domain.sizes)
    assert accumulator.counts(domain) == by_bincount(codes, domain)


def test_more_cells_than_memory_raise():
    with pytest.raises(
        DomainError, match=r"2 attributes of up to 60,000 values .* coarser bins"
    ):
        PairAccumulator(2).add([np.array([0]), np.array([0])], (60_000, 60_000))


def test_growth_leaves_room():
    cells = PairCells((2, 2)).with_room((8, 2))
    assert cells.capacities == (10, 2)
    assert PairCells((1, 1)).with_room((8, 2)).capacities == (8, 2)
    assert cells.with_room((10, 1)) is cells


def test_growth_leaves_no_room_beyond_the_limit(monkeypatch):
    monkeypatch.setattr("seepage.counting.pair_cells.MAX_PAIR_CELLS", 100)
    assert PairCells((5, 5)).with_room((9, 9)).capacities == (9, 9)
    with pytest.raises(DomainError, match=r"up to 11 values have 110 pair cells"):
        PairCells((5, 5)).with_room((11, 10))


def test_growing_is_copied_seldom():
    cells = PairCells((1, 1))
    copies = 0
    for size in range(1, 1000):
        grown = cells.with_room((size, 2))
        copies += grown is not cells
        cells = grown
    assert copies < 40
