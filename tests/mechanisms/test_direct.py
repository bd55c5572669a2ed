"""GRR and approximate GRR against their formulas, exactly and by simulation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from contract import read, write
from scipy import stats

from seepage._core.errors import InputError
from seepage.mechanisms.direct import (
    GRR,
    ApproximateGRR,
    DirectResponse,
    true_probability,
)
from seepage.mechanisms.exact_probabilities import CERTAIN, exp_below
from seepage.mechanisms.reports import ValueReports

EPSILONS = [0.0, 1e-12, 1e-3, 1 / 3, 1.0, 7.7, 50.0, 700.0, 800.0]
SIZES = [2, 3, 7, 128, 1000]


def drawn(mechanism):
    """Return the p and q that the threshold realises, in exact fractions."""
    keep = Fraction(mechanism.keep, CERTAIN)
    other = (1 - keep) / mechanism.k
    return keep + other, other


def random_channel(seed, rows, columns):
    return np.random.default_rng(seed).dirichlet(np.full(columns, 0.4), size=rows)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 7.7, 50.0])
def test_grr_has_the_probabilities_of_the_paper(k, epsilon):
    growth = math.exp(epsilon)
    channel = GRR(k, epsilon).channel()
    assert channel.shape == (k, k)
    assert np.allclose(np.diag(channel), growth / (k - 1 + growth), rtol=1e-13)
    assert np.allclose(channel[0, 1:], 1 / (k - 1 + growth), rtol=1e-12)
    assert np.allclose(channel, channel.T)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_recomputed_budget_is_the_stated_one(k, epsilon):
    mechanism = GRR(k, epsilon)
    assert mechanism.epsilon == epsilon
    assert mechanism.delta == 0.0
    assert mechanism.guess_contrast == epsilon


def test_a_wrong_parameterisation_is_detected():
    class Careless(GRR):
        def __init__(self, k, epsilon):
            DirectResponse.__init__(
                self, k, true_probability(k - 1, epsilon), epsilon=epsilon
            )

    class CarelessApproximate(ApproximateGRR):
        def __init__(self, k, epsilon, delta):
            true = true_probability(k, epsilon) + Fraction(delta) * 2
            DirectResponse.__init__(self, k, true, epsilon=epsilon, delta=delta)

    assert Careless(5, 1.0).epsilon > 1.2
    assert CarelessApproximate(5, 1.0, 0.01).delta > 0.02


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_drawn_distribution_is_within_the_budget_in_exact_fractions(k, epsilon):
    mechanism = GRR(k, epsilon)
    true, other = drawn(mechanism)
    assert true + (k - 1) * other == 1
    assert 1 <= true / other <= exp_below(epsilon)
    assert mechanism.realised_epsilon <= epsilon
    if 1e-3 <= epsilon <= 7.7:
        assert mechanism.realised_epsilon == pytest.approx(epsilon, rel=1e-12)


def test_epsilon_zero_is_exactly_uniform():
    true, other = drawn(GRR(3, 0.0))
    assert true == other == Fraction(1, 3)
    assert GRR(3, 0.0).realised_epsilon == 0.0


def test_large_budgets_stay_finite():
    mechanism = GRR(4, 800.0)
    report = mechanism.report_of(np.array([False, True, False, False]))
    assert mechanism.log_likelihood(report).tolist() == [[-800.0, 0.0, -800.0, -800.0]]
    assert 40 < mechanism.realised_epsilon < 50
    codes = np.arange(4).repeat(100)
    assert mechanism.perturb(codes, 1).values.tolist() == codes.tolist()


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("k", [2, 3, 16])
def test_reports_follow_the_channel_and_no_other_budget(k, secure):
    count = 60_000 * k
    codes = np.arange(count) % k
    seed = None if secure else 11
    reports = GRR(k, 1.0).perturb(codes, seed).values
    table = np.bincount(codes * k + reports, minlength=k * k)

    def p_value(epsilon):
        expected = GRR(k, epsilon).channel().ravel() * count / k
        return stats.chi2.sf(((table - expected) ** 2 / expected).sum(), k * (k - 1))

    assert p_value(1.0) > 1e-6
    assert p_value(0.7) < 1e-12
    assert p_value(1.3) < 1e-12


@pytest.mark.parametrize("k", [2, 3, 7, 1000])
@pytest.mark.parametrize("delta", [0.0, 1e-18, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_approximate_grr_has_the_stated_epsilon_and_delta(k, epsilon, delta):
    mechanism = ApproximateGRR(k, epsilon, delta)
    assert mechanism.epsilon == epsilon
    assert mechanism.delta == delta
    assert mechanism.contrast >= epsilon
    true, other = drawn(mechanism)
    assert true - exp_below(epsilon) * other <= Fraction(delta)
    assert mechanism.realised_epsilon <= epsilon


@pytest.mark.parametrize("k", [2, 3, 4])
def test_delta_is_the_worst_set_of_reports(k):
    mechanism = ApproximateGRR(k, 0.8, 0.03)
    first, second = mechanism.channel()[:2]
    sets = [
        list(s) for size in range(k + 1) for s in itertools.combinations(range(k), size)
    ]
    worst = max(first[s].sum() - math.exp(0.8) * second[s].sum() for s in sets)
    assert worst == pytest.approx(0.03, rel=1e-12)
    growth = math.exp(0.8)
    assert mechanism.hit_rate == pytest.approx(
        (growth + (k - 1) * 0.03) / (growth + k - 1)
    )


def test_the_relaxed_leakage_stays_below_epsilon_where_the_pure_one_does_not():
    mechanism = ApproximateGRR(3, 1.0, 0.05)
    G = np.eye(3)
    assert mechanism.pure_leakage(G).value == pytest.approx(mechanism.contrast)
    assert mechanism.pure_leakage(G).value > 1.05
    relaxed = mechanism.leakage(G)
    assert relaxed.value == pytest.approx(1.0)
    assert relaxed.delta == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("k", "dtype"), [(2, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")]
)
def test_reports_use_the_smallest_integers(k, dtype, tmp_path):
    mechanism = GRR(k, 1.0)
    reports = mechanism.perturb(np.arange(0, k, max(1, k // 50)), 3)
    assert reports.values.dtype == np.dtype(dtype)
    assert reports.values.max() < k
    write(reports, tmp_path / "reports.parquet")
    again = read(tmp_path / "reports.parquet")
    assert mechanism.infer(again).tolist() == reports.values.tolist()


def test_a_matrix_that_is_too_large_raises():
    with pytest.raises(InputError, match="inferred_channel"):
        GRR(5000, 1.0).channel()


def test_damaged_reports_raise():
    mechanism = GRR(4, 1.0)
    origin = mechanism.describe()
    for values in (np.array([1, 77], dtype=np.uint8), np.array([-1]), np.array([0.5])):
        damaged = ValueReports(origin, values)
        for use in (mechanism.estimate, mechanism.infer, mechanism.log_likelihood):
            with pytest.raises(InputError, match="from 0 to 3") as caught:
                use(damaged)
            assert "77" not in str(caught.value)
