"""GRR and approximate GRR against their formulas, in exact fractions and by simulation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seepage.errors import InputError
from seepage.mechanisms.direct import GRR, ApproximateGRR, DirectResponse, truthful
from seepage.mechanisms.exact import exp_below
from seepage.mechanisms.randomness import CERTAIN
from seepage.mechanisms.reports import ValueReports, load_reports

EPSILONS = [0.0, 1e-12, 1e-3, 1 / 3, 1.0, 7.7, 50.0, 700.0, 800.0]
SIZES = [2, 3, 7, 128, 1000]


def drawn(mechanism):
    """Return the p and q that the threshold realises, in exact fractions."""
    keep = Fraction(mechanism._keep, CERTAIN)
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


def test_a_wrong_parameterisation_shows():
    class Careless(GRR):
        def __init__(self, k, epsilon):
            self._stated = epsilon
            DirectResponse.__init__(self, k, truthful(k - 1, epsilon))

    class CarelessApproximate(ApproximateGRR):
        def __init__(self, k, epsilon, delta):
            self._stated, self._relaxation = epsilon, delta
            DirectResponse.__init__(self, k, truthful(k, epsilon) + Fraction(delta) * 2)

    assert Careless(5, 1.0).epsilon > 1.2
    assert CarelessApproximate(5, 1.0, 0.01).delta > 0.02


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_drawn_keeps_the_budget_in_exact_fractions(k, epsilon):
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
    report = mechanism.witness_report(np.array([False, True, False, False]))
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
    reports = GRR(k, 1.0).perturb(codes, seed, secure=secure).values
    table = np.bincount(codes * k + reports, minlength=k * k)

    def p_value(epsilon):
        expected = GRR(k, epsilon).channel().ravel() * count / k
        return stats.chi2.sf(((table - expected) ** 2 / expected).sum(), k * (k - 1))

    assert p_value(1.0) > 1e-6
    assert p_value(0.7) < 1e-12
    assert p_value(1.3) < 1e-12


@pytest.mark.parametrize(
    "mechanism", [GRR(5, 1.0), ApproximateGRR(5, 0.5, 0.1)], ids=lambda found: found.name
)
def test_estimates_are_unbiased_and_standard_errors_right(mechanism):
    truth = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    codes = np.repeat(np.arange(5), (truth * 2000).astype(int))
    runs = [mechanism.estimate(mechanism.perturb(codes, seed)) for seed in range(400)]
    scores = np.array([(run.frequencies - truth) / run.standard_errors for run in runs])
    assert np.abs(scores.mean(axis=0)).max() < 5 / math.sqrt(len(runs))
    spread = scores.std()
    assert 0.9 < spread < 1.1
    assert not 0.9 < spread * 0.7 < 1.1
    assert not 0.9 < spread * 1.3 < 1.1


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.sampled_from([0.0, 0.3, 2, 40])
)
def test_leakage_is_the_largest_ratio_of_any_report(seed, rows, k, epsilon):
    G = random_channel(seed, rows, k)
    for mechanism in (GRR(k, epsilon), ApproximateGRR(k, epsilon, 0.05)):
        seen = G @ mechanism.channel()
        expected = np.log(seen.max(axis=0) / seen.min(axis=0)).max()
        found = mechanism.leakage(G)
        assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-13)
        if found.witness is None:
            assert found.value == 0
            continue
        likelihood = np.exp(mechanism.log_likelihood(found.witness.report)[0])
        assert np.flatnonzero(likelihood > likelihood.min()).tolist() == list(found.witness.likely)
        first, second = G[found.witness.likelier], G[found.witness.other]
        ratio = math.log(first @ likelihood) - math.log(second @ likelihood)
        assert found.value == pytest.approx(ratio, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("k", [2, 3, 7, 1000])
@pytest.mark.parametrize("delta", [0.0, 1e-18, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_approximate_grr_states_its_own_pair(k, epsilon, delta):
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
    sets = [list(s) for size in range(k + 1) for s in itertools.combinations(range(k), size)]
    worst = max(first[s].sum() - math.exp(0.8) * second[s].sum() for s in sets)
    assert worst == pytest.approx(0.03, rel=1e-12)
    growth = math.exp(0.8)
    assert mechanism.hit_rate == pytest.approx((growth + (k - 1) * 0.03) / (growth + k - 1))


def test_the_relaxed_leakage_stays_below_epsilon_where_the_pure_one_does_not():
    mechanism = ApproximateGRR(3, 1.0, 0.05)
    G = np.eye(3)
    assert mechanism.leakage(G).value == pytest.approx(mechanism.contrast)
    assert mechanism.leakage(G).value > 1.05
    relaxed = mechanism.relaxed_leakage(G)
    assert relaxed.value == pytest.approx(1.0)
    assert relaxed.relaxation == pytest.approx(0.05)


@pytest.mark.parametrize("mechanism", [GRR(1, 2.0), ApproximateGRR(1, 2.0, 0.1)])
def test_one_value_tells_nothing(mechanism):
    reports = mechanism.perturb([0, 0, 0], 1)
    assert (mechanism.epsilon, mechanism.delta, mechanism.realised_epsilon) == (0.0, 0.0, 0.0)
    assert mechanism.estimate(reports).frequencies.tolist() == [1.0]
    assert mechanism.estimate(reports).standard_errors.tolist() == [0.0]
    assert mechanism.infer(reports).tolist() == [0, 0, 0]
    assert mechanism.leakage([[1.0], [1.0]]).value == 0
    assert mechanism.channel().tolist() == [[1.0]]
    assert mechanism.log_likelihood(reports).tolist() == [[0.0]] * 3
    assert mechanism.bits == 0


@pytest.mark.parametrize(
    ("k", "dtype"), [(2, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")]
)
def test_reports_use_the_smallest_integers(k, dtype, tmp_path):
    mechanism = GRR(k, 1.0)
    reports = mechanism.perturb(np.arange(0, k, max(1, k // 50)), 3)
    assert reports.values.dtype == np.dtype(dtype)
    assert reports.values.max() < k
    reports.save(tmp_path / "reports.parquet")
    again = load_reports(tmp_path / "reports.parquet")
    assert mechanism.infer(again).tolist() == reports.values.tolist()


def test_batches_and_the_whole_column_agree():
    mechanism = GRR(7, 1.0)
    codes = np.arange(150_000) % 7
    parts = [batch.values for batch in mechanism.perturb_batches(codes, 5)]
    assert len(parts) == 3
    assert np.array_equal(np.concatenate(parts), mechanism.perturb(codes, 5).values)
    assert not np.array_equal(
        mechanism.perturb(codes, 6).values, mechanism.perturb(codes, 5).values
    )


def test_an_empty_column_gives_no_reports():
    mechanism = GRR(4, 1.0)
    reports = mechanism.perturb([], 1)
    assert len(reports) == len(mechanism.infer(reports)) == 0
    with pytest.raises(InputError, match="without reports"):
        mechanism.estimate(reports)


def test_a_matrix_that_is_too_large_is_refused():
    with pytest.raises(InputError, match="inferred_channel"):
        GRR(5000, 1.0).channel()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1.0), "k must be"),
        ((2.5, 1.0), "k must be"),
        ((4, math.nan), "epsilon must be"),
        ((4, -1.0), "epsilon must be"),
        ((4, math.inf), "epsilon must be"),
        ((4, "1"), "epsilon must be"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        GRR(*arguments)
    with pytest.raises(InputError, match=message):
        ApproximateGRR(*arguments, 0.1)


@pytest.mark.parametrize("delta", [-0.1, 1.0, 5, math.nan])
def test_bad_deltas_are_refused(delta):
    with pytest.raises(InputError, match="delta must be"):
        ApproximateGRR(4, 1.0, delta)


def test_foreign_or_damaged_reports_are_refused():
    mechanism = GRR(4, 1.0)
    origin = mechanism.describe()
    with pytest.raises(InputError, match="must come from"):
        mechanism.estimate(GRR(4, 2.0).perturb([0], 1))
    with pytest.raises(InputError, match="must come from"):
        mechanism.infer(ApproximateGRR(4, 1.0, 0.1).perturb([0], 1))
    for values in (np.array([1, 77], dtype=np.uint8), np.array([-1]), np.array([0.5])):
        damaged = ValueReports(origin, values)
        for use in (mechanism.estimate, mechanism.infer, mechanism.log_likelihood):
            with pytest.raises(InputError, match="from 0 to 3") as caught:
                use(damaged)
            assert "77" not in str(caught.value)


def test_codes_outside_the_domain_are_refused_without_echo():
    for codes in ([0, 4], [-1, 0], [0.5], [[0]], ["secret"]):
        with pytest.raises(InputError) as caught:
            GRR(4, 1.0).perturb(codes, 1)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("likely", [[True, True, False], [False] * 3, [True, False]])
def test_only_singletons_have_a_witness(likely):
    with pytest.raises(InputError, match="exactly one of 3"):
        GRR(3, 1.0).witness_report(np.array(likely))
