"""Unary encodings against their formulas, every report enumerated, and simulation."""

import itertools
import math
import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seepage._core.errors import InputError
from seepage.mechanisms.reports import BitReports
from seepage.mechanisms.unary import OUE, RAPPOR, ApproximateSUE

EPSILONS = [0.0, 1e-12, 1e-3, 1 / 3, 1.0, 7.7, 50.0, 700.0, 800.0]
DELTAS = [0.0, 1e-18, 1e-9, 0.01, 0.5, 0.999]
PURE = [RAPPOR, OUE]


def power_of_e(value):
    with localcontext(prec=100):
        return Fraction(Decimal(value).exp())


def odds(p, q):
    return p * (1 - q) / (q * (1 - p))


def every_report(mechanism):
    bits = np.array(list(itertools.product([False, True], repeat=mechanism.k)))
    return BitReports(mechanism.describe(), BitReports.pack(bits)), bits


def random_channel(seed, rows, columns):
    return np.random.default_rng(seed).dirichlet(np.full(columns, 0.4), size=rows)


def exact_hit_and_miss(p, q, k):
    """Return P(guess = 0 given 0) and P(guess = 1 given 0) over all reports, in
    fractions.
    """
    hit = miss = Fraction(0)
    for bits in itertools.product([0, 1], repeat=k):
        chance = p if bits[0] else 1 - p
        for bit in bits[1:]:
            chance *= q if bit else 1 - q
        chosen = bits if any(bits) else (1,) * k
        hit += chance * Fraction(chosen[0], sum(chosen))
        miss += chance * Fraction(chosen[1], sum(chosen))
    return hit, miss


# What it promises ---------------------------------------------------------------------


@pytest.mark.parametrize("family", PURE)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon_comes_from_the_probabilities(family, epsilon):
    mechanism = family(7, epsilon)
    assert mechanism.epsilon == mechanism.likely_sets.contrast == epsilon
    assert mechanism.delta == 0
    ratio = odds(mechanism.true, mechanism.other)
    assert ratio <= power_of_e(epsilon) <= ratio * (1 + Fraction(1, 10**37))


@pytest.mark.parametrize("family", PURE)
@pytest.mark.parametrize("epsilon", [*EPSILONS, 1e-30, 20.0, 44.0, 1e6])
def test_the_drawn_distribution_is_within_the_stated_epsilon(family, epsilon):
    mechanism = family(7, epsilon)
    p, q = mechanism.drawn
    assert 0 < q <= p < 1
    assert odds(p, q) <= odds(mechanism.true, mechanism.other) <= power_of_e(epsilon)
    assert mechanism.realised_epsilon <= mechanism.epsilon <= epsilon
    if 1e-6 < epsilon < 20:
        assert mechanism.realised_epsilon == pytest.approx(epsilon, rel=1e-9)


def test_a_wrong_parameterisation_is_detected():
    mechanism = OUE(4, 1.0)
    mechanism.true = Fraction(3, 4)
    assert mechanism.epsilon == pytest.approx(1 + math.log(3))
    assert mechanism.realised_epsilon == pytest.approx(1 + math.log(3))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_probabilities_are_the_textbook_ones(epsilon):
    half = math.exp(epsilon / 2)
    assert RAPPOR(9, epsilon).support == pytest.approx(
        (half / (half + 1), 1 / (half + 1))
    )
    assert OUE(9, epsilon).support == pytest.approx((0.5, 1 / (math.exp(epsilon) + 1)))


@pytest.mark.parametrize("family", PURE)
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1.0, 50.0, 800.0])
def test_likelihoods_of_all_reports(family, k, epsilon):
    mechanism = family(k, epsilon)
    reports, bits = every_report(mechanism)
    likelihood = mechanism.log_likelihood(reports)
    assert np.exp(likelihood).sum(axis=0) == pytest.approx(np.ones(k), rel=1e-12)
    if k > 1:
        widest = (likelihood.max(axis=1) - likelihood.min(axis=1)).max()
        assert widest == pytest.approx(epsilon, rel=1e-9, abs=1e-13)
    p = mechanism.true
    q = mechanism.other
    for value in range(k):
        for row, report in enumerate(bits[:8]):
            chance = Fraction(1)
            for index, bit in enumerate(report):
                one = p if index == value else q
                chance *= one if bit else 1 - one
            logarithm = math.log(chance.numerator) - math.log(chance.denominator)
            assert likelihood[row, value] == pytest.approx(
                logarithm, rel=1e-12, abs=1e-11
            )


# Approximate symmetric unary encoding -------------------------------------------------


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_approximate_sue_has_the_stated_epsilon_and_delta(epsilon, delta):
    mechanism = ApproximateSUE(6, epsilon, delta)
    assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-15)
    assert mechanism.epsilon <= epsilon
    assert mechanism.delta == pytest.approx(delta, rel=1e-15)
    assert mechanism.delta <= delta
    assert mechanism.likely_sets.contrast >= epsilon * (1 - 1e-15)
    growth = power_of_e(epsilon)
    for p, q in ((mechanism.true, mechanism.other), mechanism.drawn):
        assert p + q == 1
        assert p**2 - growth * q**2 <= Fraction(delta)
    assert mechanism.realised_epsilon <= mechanism.epsilon


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.5])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0])
def test_approximate_sue_follows_the_formula(epsilon, delta):
    with localcontext(prec=60):
        growth = Decimal(epsilon).exp()
        slack = Decimal(delta)
        p = (growth - (growth * (1 - slack) + slack).sqrt()) / (growth - 1)
    mechanism = ApproximateSUE(6, epsilon, delta)
    assert float(mechanism.true) == pytest.approx(float(p), rel=1e-15)
    assert float(mechanism.other) == pytest.approx(float(1 - p), rel=1e-14)


def test_approximate_sue_at_its_limits():
    for epsilon in EPSILONS:
        pure = RAPPOR(5, epsilon)
        relaxed = ApproximateSUE(5, epsilon, 0.0)
        assert float(relaxed.other) == pytest.approx(float(pure.other), rel=1e-15)
    assert ApproximateSUE(5, 0.0, 0.2).support == pytest.approx((0.6, 0.4))
    assert ApproximateSUE(5, 1e-9, 0.2).support == pytest.approx((0.6, 0.4), rel=1e-8)
    assert ApproximateSUE(5, 0.0, 0.0).epsilon == 0


@pytest.mark.parametrize("k", [2, 3, 4])
def test_delta_is_the_worst_set_of_reports(k):
    mechanism = ApproximateSUE(k, 0.8, 0.03)
    reports, _ = every_report(mechanism)
    chances = np.exp(mechanism.log_likelihood(reports))
    excess = np.maximum(chances[:, 0] - math.exp(0.8) * chances[:, 1], 0).sum()
    assert excess == pytest.approx(0.03, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 5))
def test_the_relaxed_leakage_holds_except_with_probability_delta(seed, rows, k):
    G = random_channel(seed, rows, k)
    mechanism = ApproximateSUE(k, 0.7, 0.05)
    relaxed = mechanism.leakage(G)
    assert relaxed.value <= mechanism.pure_leakage(G).value * (1 + 1e-12)
    seen = G @ np.exp(mechanism.log_likelihood(every_report(mechanism)[0])).T
    for first, second in itertools.permutations(seen, 2):
        excess = np.maximum(first - math.exp(relaxed.value) * second, 0).sum()
        assert excess <= relaxed.delta + 1e-14
    for value in (0.0, 0.1, 0.4, 1.0):
        exact = max(
            np.maximum(x - math.exp(value) * y, 0).sum() for x in seen for y in seen
        )
        assert exact <= relaxed.delta_at(value) + 1e-14


# What it does -------------------------------------------------------------------------


@pytest.mark.parametrize("family", PURE)
@pytest.mark.parametrize("secure", [False, True])
def test_drawn_bits_have_the_stated_probabilities(family, secure):
    k = 70
    n = 20_000
    epsilon = 1.0
    mechanism = family(k, epsilon)
    codes = np.arange(n) % k
    bits = mechanism.perturb(codes, None if secure else 3).bits()
    true = bits[np.arange(n), codes].sum()
    others = bits.sum() - true

    def plausible(candidate):
        p, q = candidate.support
        return min(
            stats.binomtest(int(true), n, p).pvalue,
            stats.binomtest(int(others), n * (k - 1), q).pvalue,
        )

    assert plausible(mechanism) > 1e-6
    assert plausible(family(k, 0.7 * epsilon)) < 1e-9
    assert plausible(family(k, 1.3 * epsilon)) < 1e-9


def test_bits_are_independent():
    bits = RAPPOR(3, 1.0).perturb(np.zeros(60_000, dtype=int), 5).bits()
    patterns = np.bincount(bits @ [1, 2, 4], minlength=8)
    p, q = RAPPOR(3, 1.0).support
    expected = [
        np.prod(
            [
                one if bit else 1 - one
                for bit, one in zip(report, (p, q, q), strict=True)
            ]
        )
        for report in ([n & 1, n >> 1 & 1, n >> 2 & 1] for n in range(8))
    ]
    assert stats.chisquare(patterns, 60_000 * np.array(expected)).pvalue > 1e-5


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_oue_has_the_least_variance_for_rare_values(epsilon):
    growth = math.exp(epsilon)
    rare = OUE(9, epsilon).variance(100)
    assert rare == pytest.approx(4 * growth / (100 * (growth - 1) ** 2))
    assert rare <= RAPPOR(9, epsilon).variance(100)
    assert np.isinf(RAPPOR(9, 0.0).variance(100))


def test_tallies_of_batches_add_up():
    mechanism = OUE(100, 1.0)
    codes = np.arange(70_000) % 100
    reports = mechanism.perturb(codes, 1)
    assert mechanism.tally(reports).tolist() == reports.bits().sum(axis=0).tolist()
    parts = [reports[:1000], reports[1000:]]
    assert np.array_equal(
        mechanism.estimate(parts).frequencies, mechanism.estimate(reports).frequencies
    )
    assert mechanism.estimate(iter(parts)).records == 70_000


def test_memory_beyond_the_reports_is_bounded():
    mechanism = OUE(128, 1.0)
    codes = np.zeros(300_000, dtype=np.int64)
    tracemalloc.start()
    reports = mechanism.perturb(codes, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < reports.words.nbytes + 16 * 2**20


# What an adversary makes of it --------------------------------------------------------


@pytest.mark.parametrize("family", PURE)
@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [1e-12, 0.5, 3.0, 50.0, 300.0, 700.0])
def test_the_hit_rate_over_all_reports(family, k, epsilon):
    mechanism = family(k, epsilon)
    hit, miss = exact_hit_and_miss(mechanism.true, mechanism.other, k)
    assert mechanism.hit_rate == pytest.approx(float(hit), rel=1e-13)
    contrast = math.log(hit.numerator * miss.denominator) - math.log(
        hit.denominator * miss.numerator
    )
    assert mechanism.guess_contrast == pytest.approx(contrast, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("k", [16, 128, 5000])
def test_the_hit_rate_follows_the_formula(k):
    p, q = OUE(k, 1.0).support
    formula = p * (1 - (1 - q) ** k) / (k * q) + (1 - p) * (1 - q) ** (k - 1) / k
    assert OUE(k, 1.0).hit_rate == pytest.approx(formula, rel=1e-10)


def test_guesses_of_unary_encodings_at_epsilon_0_are_uniform():
    assert RAPPOR(4, 0.0).hit_rate == pytest.approx(0.25)
    assert RAPPOR(4, 0.0).guess_contrast == 0
    assert OUE(1, 3.0).guess_contrast == 0


# Edges --------------------------------------------------------------------------------


def test_damaged_reports_raise():
    mechanism = OUE(4, 1.0)
    spare = BitReports(mechanism.describe(), np.array([[0b10001]], dtype=np.uint64))
    wide = BitReports(mechanism.describe(), np.zeros((1, 2), dtype=np.uint64))
    for use in (
        mechanism.estimate,
        mechanism.infer,
        mechanism.log_likelihood,
        mechanism.tally,
    ):
        with pytest.raises(InputError, match="bits below 4"):
            use(spare)
        with pytest.raises(InputError, match="must have 1 words, got 2"):
            use(wide)
