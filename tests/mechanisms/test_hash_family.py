"""The hash family: uniform, independent, rich in splits; and the tests can tell a bad
one.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from seepage.mechanisms.hashing import MAX_BUCKETS, bucket_of

BUCKETS = [2, 3, 4, 5, 17]
LEVEL = 1e-7
"""Below this p-value a family is rejected; some ten thousand tests are made here."""


def random_seeds(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def values_to_hash(kind):
    if kind == "sequential":
        return np.arange(24, dtype=np.uint64)
    if kind == "powers":
        return np.uint64(1) << np.arange(24, dtype=np.uint64)
    return np.random.default_rng(7).integers(0, 2**63, 24, dtype=np.uint64)


def multiply_shift(seeds, values, buckets):
    """A family that is proven pairwise independent, but splits successive values
    poorly.
    """
    odd = (seeds * np.uint64(0xD1342543DE82EF95)) | np.uint64(1)
    mixed = odd * values.astype(np.uint64) + seeds
    return (mixed >> np.uint64(16)) * np.uint64(buckets) >> np.uint64(48)


def remainder(seeds, values, buckets):
    """A family whose values are uniform each, but not independent."""
    return (seeds % np.uint64(2**32) + values) % np.uint64(buckets)


def worst_value(family, seeds, values, buckets):
    """Return the smallest chi-square p-value over the values' own counts."""
    found = family(seeds[:, None], values, buckets).astype(np.int64)
    return min(
        stats.chisquare(np.bincount(row, minlength=buckets)).pvalue for row in found.T
    )


def worst_pair(family, seeds, values, buckets):
    """Return the smallest chi-square p-value over all pairs of values."""
    found = np.ascontiguousarray(
        family(seeds[:, None], values, buckets).T.astype(np.int64)
    )
    cells, expected = buckets**2, len(seeds) / buckets**2
    largest = max(
        ((np.bincount(first * buckets + second, minlength=cells) - expected) ** 2).sum()
        for first, second in itertools.combinations(found, 2)
    )
    return stats.chi2.sf(largest / expected, cells - 1)


def worst_split(family, seeds, values, buckets):
    """Return the chi-square p-value of all assignments of the values to buckets."""
    found = family(seeds[:, None], values, buckets).astype(np.int64)
    codes = found @ buckets ** np.arange(len(values))
    return stats.chisquare(np.bincount(codes, minlength=buckets ** len(values))).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("buckets", BUCKETS)
@pytest.mark.parametrize("kind", ["sequential", "powers", "random"])
@pytest.mark.parametrize("seeds", ["random", "successive"])
def test_values_and_pairs_are_uniform_throughout(buckets, kind, seeds):
    test_values_and_pairs_are_uniform(buckets, kind, seeds)


@pytest.mark.parametrize("buckets", [2, 17])
@pytest.mark.parametrize(
    ("kind", "seeds"), [("sequential", "random"), ("random", "successive")]
)
def test_values_and_pairs_are_uniform(buckets, kind, seeds):
    chosen = (
        random_seeds(30_000)
        if seeds == "random"
        else np.arange(30_000, dtype=np.uint64)
    )
    values = values_to_hash(kind)
    assert worst_value(bucket_of, chosen, values, buckets) > LEVEL
    assert worst_pair(bucket_of, chosen, values, buckets) > LEVEL


@pytest.mark.parametrize(
    ("k", "buckets"), [(1, 17), (2, 17), (3, 5), (5, 3), (5, 4), (10, 2)]
)
@pytest.mark.parametrize("begin", [0, 1000, 2**40])
def test_every_split_of_a_small_alphabet_is_as_likely(k, buckets, begin):
    values = np.arange(begin, begin + k, dtype=np.uint64)
    assert worst_split(bucket_of, random_seeds(100_000, k), values, buckets) > LEVEL


def test_far_apart_values_and_a_long_alphabet():
    values = np.array([0, 1, 63, 64, 999, 65_535, 2**32, 2**63], dtype=np.uint64)
    assert worst_split(bucket_of, random_seeds(100_000, 5), values, 2) > LEVEL


def test_the_tests_reject_bad_families():
    seeds, values = random_seeds(30_000), values_to_hash("sequential")
    assert worst_value(remainder, seeds, values, 3) > LEVEL
    assert worst_pair(remainder, seeds, values, 3) < LEVEL
    assert worst_split(multiply_shift, random_seeds(100_000), values[:10], 2) < LEVEL

    def slightly_biased(seeds, values, buckets):
        found = bucket_of(seeds, values, buckets)
        moved = bucket_of(seeds ^ np.uint64(0x5555), values, 20) == 0
        return np.where(moved, np.uint64(0), found)

    def slightly_dependent(seeds, values, buckets):
        shared = bucket_of(seeds, np.uint64(2**50), 6) == 0
        return np.where(
            shared,
            bucket_of(seeds, np.uint64(2**51), buckets),
            bucket_of(seeds, values, buckets),
        )

    for buckets in BUCKETS:
        assert worst_value(slightly_biased, seeds, values, buckets) < LEVEL
        assert worst_pair(slightly_dependent, seeds, values, buckets) < LEVEL
        assert worst_value(slightly_dependent, seeds, values, buckets) > LEVEL


@pytest.mark.parametrize("buckets", [2, 3, 5, 17, 1000, MAX_BUCKETS])
def test_buckets_are_equal_intervals_up_to_one_of_48_bits(buckets):
    """The mixing is a bijection, so the intervals' lengths are the buckets'
    probabilities.
    """
    ends = [-(-bucket * 2**48 // buckets) for bucket in range(buckets + 1)]
    lengths = {after - before for before, after in itertools.pairwise(ends)}
    assert max(lengths) - min(lengths) <= 1
    for bucket in range(0, buckets, max(1, buckets // 50)):
        for upper in (ends[bucket], ends[bucket + 1] - 1):
            assert upper * buckets >> 48 == bucket


def test_the_mixing_is_a_bijection():
    """Both steps can be undone, so over uniform seeds one value's hash is exactly
    uniform.
    """

    def mix(x):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ x >> shift) * factor % 2**64
        return x

    def unmix(x):
        for shift, factor in ((27, 0x94D049BB133111EB), (30, 0xBF58476D1CE4E5B9)):
            x = x * pow(factor, -1, 2**64) % 2**64
            x ^= x >> shift ^ x >> 2 * shift
        return x

    for seed, value in itertools.product(random_seeds(50).tolist(), (0, 1, 977)):
        state = (seed + (value + 1) * 0x9E3779B97F4A7C15) % 2**64
        assert unmix(mix(state)) == state
        expected = (mix(state) >> 16) * 17 >> 48
        assert bucket_of(np.uint64(seed), value, 17).tolist() == [expected]


def test_the_definition_is_fixed():
    """Reports in files are read back by these very buckets."""
    seeds = np.array([[0], [1], [2**64 - 1]], dtype=np.uint64)
    assert bucket_of(seeds, [0, 1, 2, 3, 1000], 17).tolist() == [
        [15, 7, 0, 16, 2],
        [9, 12, 16, 7, 7],
        [15, 15, 3, 7, 12],
    ]


def test_the_upper_bits_are_those_of_splitmix64():
    """Its first outputs from seed 0 are e220a8397b1dcdaf, 6e789e6aa1b965f4,
    06c45d188009454f.
    """
    assert bucket_of(np.uint64(0), [0, 1, 2], 2**16).tolist() == [
        0xE220,
        0x6E78,
        0x06C4,
    ]
