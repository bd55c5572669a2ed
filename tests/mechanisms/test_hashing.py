"""Local hashing against its formulas, every split of small alphabets, and
simulation.
"""

import itertools
import math
import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from contract import read, write
from scipy import stats

from seepage._core.errors import InputError
from seepage.mechanisms.hashing import BLH, MAX_BUCKETS, OLH, LocalHashing, bucket_of
from seepage.mechanisms.reports import HashReports

EPSILONS = [0.0, 1e-12, 1e-3, 1 / 3, 1.0, 7.7, 50.0, 700.0, 800.0]
FAMILIES = [BLH, OLH]


class ThreeBuckets(LocalHashing):
    """Local hashing whose buckets are no power of 2 at any budget."""

    name = "three-buckets"

    def __init__(self, k, epsilon):
        super().__init__(k, epsilon, 3)


def power_of_e(value):
    with localcontext(prec=100):
        return Fraction(Decimal(value).exp())


def reports_of(mechanism, seeds, buckets):
    return HashReports(
        mechanism.describe(),
        np.asarray(seeds, dtype=np.uint64),
        np.asarray(buckets, dtype=np.uint16),
    )


def random_channel(seed, rows, columns):
    return np.random.default_rng(seed).dirichlet(np.full(columns, 0.4), size=rows)


# What it promises ---------------------------------------------------------------------


@pytest.mark.parametrize("family", [*FAMILIES, ThreeBuckets])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon_comes_from_the_probabilities(family, epsilon):
    mechanism = family(7, epsilon)
    right = mechanism.true
    wrong = (1 - mechanism.true) / (mechanism.buckets - 1)
    assert (
        right / wrong
        <= power_of_e(epsilon)
        <= right / wrong * (1 + Fraction(1, 10**37))
    )
    assert mechanism.epsilon == mechanism.likely_sets.contrast == epsilon
    assert mechanism.delta == 0


@pytest.mark.parametrize("family", [*FAMILIES, ThreeBuckets])
@pytest.mark.parametrize("epsilon", [*EPSILONS, 1e-30, 20.0, 44.0, 1e6])
def test_the_drawn_distribution_is_within_the_stated_epsilon(family, epsilon):
    mechanism = family(7, epsilon)
    drawn = mechanism.drawn[0]
    assert Fraction(1, mechanism.buckets) <= drawn <= mechanism.true < 1
    ratio = drawn * (mechanism.buckets - 1) / (1 - drawn)
    assert 1 <= ratio <= power_of_e(epsilon)
    assert mechanism.realised_epsilon <= mechanism.epsilon <= epsilon
    if 1e-6 < epsilon < 20:
        assert mechanism.realised_epsilon == pytest.approx(epsilon, rel=1e-9)


def test_a_wrong_parameterisation_is_detected():
    mechanism = OLH(4, 1.0)
    mechanism.true = Fraction(3, 4)
    assert mechanism.epsilon == pytest.approx(math.log(9))
    assert mechanism.realised_epsilon == pytest.approx(math.log(9))


@pytest.mark.parametrize(
    ("epsilon", "buckets"),
    [
        (0.0, 2),
        (0.4, 2),
        (0.5, 3),
        (1.0, 4),
        (3.0, 21),
        (11.0, 59_875),
        (11.1, 65_536),
        (700, 65_536),
    ],
)
def test_the_number_of_buckets(epsilon, buckets):
    mechanism = OLH(5, epsilon)
    assert mechanism.buckets == buckets
    assert mechanism.bits == 64 + math.ceil(math.log2(buckets))
    assert BLH(5, epsilon).buckets == 2


@pytest.mark.parametrize("buckets", [1, 0, MAX_BUCKETS + 1, 2.5])
def test_an_invalid_number_of_buckets_raises(buckets):
    with pytest.raises(InputError, match="buckets must be"):
        LocalHashing(4, 1.0, buckets)


@pytest.mark.parametrize("family", [*FAMILIES, ThreeBuckets])
@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1.0, 5.0, 800.0])
def test_likelihoods_of_all_buckets(family, epsilon):
    mechanism = family(5, epsilon)
    for seed in range(5):
        every = np.arange(mechanism.buckets)
        likelihood = mechanism.log_likelihood(
            reports_of(mechanism, np.full(len(every), seed), every)
        )
        assert np.exp(likelihood).sum(axis=0) == pytest.approx(np.ones(5), rel=1e-11)
        own = bucket_of(np.uint64(seed), np.arange(5), mechanism.buckets)
        others = (own + np.uint64(1)) % np.uint64(mechanism.buckets)
        gain = likelihood[own, range(5)] - likelihood[others, range(5)]
        assert gain == pytest.approx(np.full(5, epsilon), abs=1e-12)


# What it does -------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*FAMILIES, ThreeBuckets])
@pytest.mark.parametrize("secure", [False, True])
def test_drawn_buckets_have_the_stated_probabilities(family, secure):
    n = 60_000
    epsilon = 1.0
    mechanism = family(9, epsilon)
    g = mechanism.buckets
    codes = np.arange(n) % 9
    reports = mechanism.perturb(codes, None if secure else 3)
    own = bucket_of(reports.seeds, codes, g).astype(np.int64)
    pairs = np.bincount(own * g + reports.buckets, minlength=g * g)

    def plausible(budget):
        growth = math.exp(budget)
        expected = (np.ones((g, g)) + (growth - 1) * np.eye(g)) / (g * (growth + g - 1))
        return stats.chisquare(pairs, n * expected.ravel()).pvalue

    assert plausible(epsilon) > 1e-6
    assert plausible(0.7 * epsilon) < 1e-9
    assert plausible(1.3 * epsilon) < 1e-9
    assert len(np.unique(reports.seeds)) == n
    high = (reports.seeds >> np.uint64(58)).astype(np.int64)
    assert stats.chisquare(np.bincount(high)).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_variances_are_the_textbook_ones(epsilon):
    growth = math.exp(epsilon)
    optimum = 4 * growth / (growth - 1) ** 2
    assert OLH(9, epsilon).variance(100) * 100 == pytest.approx(optimum, rel=0.02)
    binary = ((growth + 1) / (growth - 1)) ** 2
    assert BLH(9, epsilon).variance(100) * 100 == pytest.approx(binary)
    assert np.isinf(BLH(9, 0.0).variance(100))


def test_tallies_count_the_values_of_each_bucket():
    mechanism = OLH(300, 2.0)
    reports = mechanism.perturb(np.arange(2000) % 300, 1)
    found = bucket_of(reports.seeds[:, None], np.arange(300), mechanism.buckets)
    expected = (found == reports.buckets[:, None]).sum(axis=0)
    assert mechanism.tally(reports).tolist() == expected.tolist()
    parts = [reports[:700], reports[700:]]
    assert np.array_equal(
        mechanism.estimate(parts).frequencies, mechanism.estimate(reports).frequencies
    )


def test_memory_beyond_the_reports_is_bounded():
    mechanism = OLH(128, 1.0)
    tracemalloc.start()
    reports = mechanism.perturb(np.zeros(300_000, dtype=np.int64), 1)
    mechanism.estimate(reports)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < reports.seeds.nbytes + reports.buckets.nbytes + 16 * 2**20


# What an adversary makes of it --------------------------------------------------------


def exact_hit(right, k, g):
    """Return P(guess = 0 given 0) over all assignments of values to buckets, in
    fractions.
    """
    hit = Fraction(0)
    for assigned in itertools.product(range(g), repeat=k):
        for reported in range(g):
            same = reported == assigned[0]
            chance = (right if same else (1 - right) / (g - 1)) / g**k
            inside = [value for value in range(k) if assigned[value] == reported]
            if same:
                hit += chance / len(inside)
            elif not inside:
                hit += chance / k
    return hit


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("mechanism", [BLH, OLH, ThreeBuckets])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 2.0])
def test_the_hit_rate_over_all_assignments(mechanism, k, epsilon):
    family = mechanism(k, epsilon)
    expected = exact_hit(family.true, k, family.buckets)
    assert family.hit_rate == pytest.approx(float(expected), rel=1e-13)


def test_guesses_lie_in_the_reported_bucket():
    mechanism = OLH(130, 3.0)
    reports = mechanism.perturb(np.arange(5000) % 130, 1)
    guesses = mechanism.infer(reports, 2)
    found = bucket_of(reports.seeds[:, None], np.arange(130), mechanism.buckets)
    inside = found == reports.buckets[:, None]
    some = inside.any(axis=1)
    assert 0 < some.sum() < 5000
    assert inside[some, guesses[some]].all()
    assert len(np.unique(guesses[~some])) > 1


# Edges --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "dtype"), [(1.0, "u1"), (5.5, "u1"), (6.0, "u2"), (50.0, "u2")]
)
def test_reports_use_the_smallest_integers_and_survive_a_file(epsilon, dtype, tmp_path):
    mechanism = OLH(1000, epsilon)
    reports = mechanism.perturb(np.arange(300), 2)
    assert reports.buckets.dtype == np.dtype(dtype)
    write(reports, tmp_path / "reports.parquet")
    again = read(tmp_path / "reports.parquet")
    assert np.array_equal(again.seeds, reports.seeds)
    assert np.array_equal(mechanism.tally(again), mechanism.tally(reports))
    assert np.array_equal(mechanism.infer(again, 1), mechanism.infer(reports, 1))


def test_damaged_reports_raise():
    mechanism = OLH(4, 1.0)
    damaged = reports_of(mechanism, [1, 2], [0, 77])
    for use in (
        mechanism.estimate,
        mechanism.infer,
        mechanism.log_likelihood,
        mechanism.tally,
    ):
        with pytest.raises(InputError, match="buckets below 4") as caught:
            use(damaged)
        assert "77" not in str(caught.value)
