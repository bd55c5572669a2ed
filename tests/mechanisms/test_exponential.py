"""The exponential mechanism, with 0/1 and with any utility, against sixty-digit arithmetic."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seepage.data.channel import Channel
from seepage.data.domain import Attribute
from seepage.errors import InputError
from seepage.mechanisms import Exponential, UtilityExponential
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.exact_probabilities import exp_below, integer_thresholds, largest_ratio
from seepage.mechanisms.randomness import Randomness, draw_outputs
from seepage.mechanisms.reports import Reports, ValueReports

DISTANCE = -np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
WIDE = np.array([[3.0, 1.0, 0.0, 0.5, 0.0], [0.0, 2.0, 0.0, 0.5, 1.0], [1.0, 0.0, 3.0, 0.5, 0.0]])
NARROW = np.array([[1.0, 0.0], [0.5, 0.2], [0.0, 1.0]])
LOPSIDED = np.array([[-30.0, 0.0], [-31.0, 1.0]])
UTILITIES = {"distance": DISTANCE, "wide": WIDE, "narrow": NARROW, "lopsided": LOPSIDED}
EPSILONS = [0.0, 1e-12, 1e-3, 1.0, 50.0, 700.0, 800.0]


def exact_channel(utility, epsilon):
    """Return the paper's probabilities with sixty digits."""
    rows = np.asarray(utility).tolist()
    with localcontext(prec=60):
        columns = [[Decimal(cell) for cell in column] for column in zip(*rows, strict=True)]
        sensitivity = max(max(column) - min(column) for column in columns)
        scores = [
            [(Decimal(epsilon) * Decimal(cell) / (2 * sensitivity)).exp() for cell in row]
            for row in rows
        ]
        return [[cell / sum(row) for cell in row] for row in scores]


def exact_leakage(G, channel):
    """Return ln max_y max_x W / min_x W with sixty digits, rows of G scaled to sum to 1."""
    with localcontext(prec=60):
        rows = [[Decimal(cell) for cell in row] for row in G.tolist()]
        rows = [[cell / sum(row) for cell in row] for row in rows]
        columns = list(zip(*channel, strict=True))
        seen = [[sum(g * c for g, c in zip(row, y, strict=True)) for row in rows] for y in columns]
        return max((max(y) / min(y)).ln() for y in seen)


def random_utility(seed, k, outputs):
    return np.random.default_rng(seed).normal(size=(k, outputs))


# 0/1 utility -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 128])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_default_utility_is_grr_at_half_the_budget(k, epsilon):
    mechanism, half = Exponential(k, epsilon), GRR(k, epsilon / 2)
    assert np.array_equal(mechanism.channel(), half.channel())
    assert mechanism.epsilon == half.epsilon == (epsilon / 2 if k > 1 else 0)
    assert mechanism.realised_epsilon == half.realised_epsilon <= epsilon / 2
    codes = np.arange(5000) % k
    assert np.array_equal(mechanism.perturb(codes, 3).values, half.perturb(codes, 3).values)
    assert mechanism.describe() == {"mechanism": "exp", "k": k, "epsilon": epsilon}


@pytest.mark.parametrize("k", [2, 3, 6])
def test_the_default_utility_is_the_identity_matrix(k):
    short, long = Exponential(k, 1.4), UtilityExponential(np.eye(k), 1.4)
    assert np.allclose(short.channel(), long.channel(), rtol=1e-14)
    assert long.epsilon == pytest.approx(short.epsilon, rel=1e-11)
    assert long.hit_rate == pytest.approx(short.hit_rate, rel=1e-13)
    assert long.bits == short.bits
    G = np.random.default_rng(k).dirichlet(np.ones(k), size=3)
    assert long.leakage(G).value == pytest.approx(short.leakage(G).value, rel=1e-11)
    assert np.allclose(long.variance(100, np.full(k, 1 / k)), short.variance(100, 1 / k))
    assert np.allclose(long.variance(100), short.variance(100))
    assert np.allclose(long.variance(100, 0.3), short.variance(100, 0.3))


# Any utility: probabilities ----------------------------------------------------------------------


@pytest.mark.parametrize("name", UTILITIES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_channel_is_the_papers(name, epsilon):
    mechanism = UtilityExponential(UTILITIES[name], epsilon)
    exact = exact_channel(UTILITIES[name], epsilon)
    assert np.allclose(mechanism.channel(), np.array(exact, dtype=float), rtol=1e-11, atol=1e-300)
    assert np.allclose(mechanism.channel().sum(axis=1), 1)
    with localcontext(prec=60):
        true = max((max(column) / min(column)).ln() for column in zip(*exact, strict=True))
    assert Decimal(mechanism.epsilon) >= true - Decimal("1e-50")
    assert mechanism.epsilon <= float(true) + epsilon * 1e-11
    assert mechanism.epsilon <= epsilon * (1 + 1e-11)


def test_sensitivity_compares_values_and_not_outputs():
    assert UtilityExponential([[0.0, 100.0], [1.0, 100.5]], 1.0).sensitivity == 1.0
    assert UtilityExponential(DISTANCE, 1.0).sensitivity == 3.0


def test_an_asymmetric_utility_has_its_full_budget():
    assert UtilityExponential(LOPSIDED, 1.0).epsilon > 0.999
    assert UtilityExponential(np.eye(2), 1.0).epsilon == pytest.approx(0.5)


def test_rows_that_differ_by_a_constant_have_epsilon_0_up_to_rounding():
    mechanism = UtilityExponential([[0.0, 1.0], [5.0, 6.0]], 2.0)
    assert mechanism.epsilon < 1e-11
    assert mechanism.leakage(np.eye(2)).value < 1e-11
    assert mechanism.realised_epsilon <= mechanism.epsilon


# Any utility: draws ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(1, 6),
    st.sampled_from(EPSILONS),
    st.sampled_from([0.1, 1.0, 1e3]),
)
def test_integer_thresholds_are_within_the_budget(seed, k, outputs, epsilon, range_of_outputs):
    utility = random_utility(seed, k, outputs)
    utility = utility + range_of_outputs * np.random.default_rng(seed).normal(size=outputs)
    mechanism = UtilityExponential(utility, epsilon)
    chances = mechanism.thresholds
    assert (chances.sum(axis=1) == 2**64).all()
    assert (chances >= 0).all()
    assert largest_ratio(chances) <= exp_below(epsilon)
    assert largest_ratio(chances) <= exp_below(mechanism.epsilon)
    assert mechanism.realised_epsilon <= min(epsilon, mechanism.epsilon)
    if mechanism.epsilon >= 1e-3:
        error = np.abs((chances / 2**64).astype(float) - mechanism.channel()).sum(axis=1)
        assert error.max() < 1e-7 / min(1.0, mechanism.epsilon)


def test_a_limit_of_one_leaves_the_average_row():
    chances = integer_thresholds(np.array([[0.75, 0.25], [0.25, 0.75]]), Fraction(1))
    assert chances.tolist() == [[1 << (64 - 1)] * 2] * 2


def test_a_channel_beyond_the_limit_is_drawn_within_it():
    chances = integer_thresholds(np.array([[1.0, 0.0], [0.0, 1.0]]), Fraction(3))
    assert 1 < largest_ratio(chances) <= 3


def test_outputs_too_rare_to_round_have_equal_thresholds():
    utility = np.array([[0.0, 40.0, -0.7], [0.3, 40.0, 0.3]])
    mechanism = UtilityExponential(utility, 2.0)
    assert mechanism.channel()[:, [0, 2]].max() < 2.0**-32
    assert mechanism.realised_epsilon == 0.0
    assert mechanism.epsilon > 0.9


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("name", ["distance", "wide", "narrow"])
def test_reports_follow_the_channel_and_no_other_budget(name, secure):
    utility = UTILITIES[name]
    k, outputs = utility.shape
    codes = np.arange(100_000 * k) % k
    seed = None if secure else 5
    reports = UtilityExponential(utility, 1.0).perturb(codes, seed)
    table = np.bincount(codes * outputs + reports.values, minlength=k * outputs)

    def p_value(epsilon):
        expected = UtilityExponential(utility, epsilon).channel().ravel() * 100_000
        return stats.chi2.sf(((table - expected) ** 2 / expected).sum(), k * (outputs - 1))

    assert p_value(1.0) > 1e-6
    assert p_value(0.7) < 1e-12
    assert p_value(1.3) < 1e-12


def test_draws_select_the_interval_of_the_word():
    quarter = 1 << (64 - 2)
    chances = np.array([[quarter, 0, 3 * quarter], [4 * quarter, 0, 0]], dtype=object)

    class Scripted(Randomness):
        def words(self, count):
            return np.array([0, quarter - 1, quarter, 4 * quarter - 1] * 2, dtype=np.uint64)

    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert draw_outputs(chances, codes, Scripted(None)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


# Any utility: estimates --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["distance", "wide"])
def test_estimates_are_unbiased_and_standard_errors_right(name):
    mechanism = UtilityExponential(UTILITIES[name], 4.0)
    truth = np.array([0.5, 0.3, 0.2, 0.0])[: mechanism.k]
    codes = np.repeat(np.arange(mechanism.k), np.round(truth * 5000).astype(int))
    runs = [mechanism.estimate(mechanism.perturb(codes, seed)) for seed in range(300)]
    scores = np.array([(run.frequencies - truth) / run.standard_errors for run in runs])
    assert np.abs(scores.mean(axis=0)).max() < 5 / math.sqrt(len(runs))
    spread = scores.std(axis=0)
    assert (np.abs(spread - 1) < 0.2).all()
    assert not (np.abs(0.7 * spread - 1) < 0.2).any()
    assert not (np.abs(1.3 * spread - 1) < 0.2).all()


def test_the_variance_is_that_of_the_weights_under_the_truth():
    mechanism = UtilityExponential(WIDE, 3.0)
    channel, weights = mechanism.channel(), mechanism._inverse
    assert np.allclose(channel @ weights, np.eye(3), atol=1e-12)
    truth = np.array([0.6, 0.3, 0.1])
    expected = [
        sum(truth[u] * np.cov(weights[:, v], aweights=channel[u], ddof=0) for u in range(3)) / 50
        for v in range(3)
    ]
    assert np.allclose(mechanism.variance(50, truth), expected)


def test_more_outputs_than_values_are_weighted_by_how_often_they_occur():
    mechanism = UtilityExponential(WIDE, 3.0)
    plain = np.linalg.pinv(mechanism.channel())
    uniform = np.full(3, 1 / 3)
    plain_variance = uniform @ (mechanism.channel() @ plain**2) - uniform
    assert mechanism.variance(1, uniform).sum() < plain_variance.sum()


def test_batches_add_up():
    mechanism = UtilityExponential(DISTANCE, 2.0)
    reports = mechanism.perturb(np.arange(1000) % 4, 1)
    whole = mechanism.estimate(reports)
    parts = mechanism.estimate([reports[:300], reports[300:]])
    assert np.allclose(whole.frequencies, parts.frequencies)
    assert parts.records == 1000


@pytest.mark.parametrize("utility", [NARROW, [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]])
def test_a_matrix_of_deficient_rank_raises(utility):
    mechanism = UtilityExponential(utility, 1.0)
    with pytest.raises(InputError, match="must have full row rank"):
        mechanism.estimate(mechanism.perturb([0, 1, 2], 1))


def test_epsilon_zero_is_not_estimated():
    mechanism = UtilityExponential(DISTANCE, 0.0)
    with pytest.raises(InputError):
        mechanism.estimate(mechanism.perturb([0, 1, 2], 1))


@pytest.mark.parametrize("frequency", [[0.5, 0.5], [[0.1]]])
def test_a_frequency_of_another_shape_raises(frequency):
    with pytest.raises(InputError, match="one number or 4"):
        UtilityExponential(DISTANCE, 1.0).variance(10, frequency)


# Any utility: the adversary ----------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.integers(2, 5),
    st.integers(1, 5),
    st.sampled_from([1e-12, 1e-3, 1.0, 20.0, 300.0]),
)
def test_leakage_is_never_below_the_exact_one(seed, rows, k, outputs, epsilon):
    utility = random_utility(seed, k, outputs)
    G = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), size=rows)
    mechanism = UtilityExponential(utility, epsilon)
    exact = exact_leakage(G, exact_channel(utility, epsilon))
    found = mechanism.leakage(G)
    assert Decimal(found.value) >= exact - Decimal("1e-50")
    assert found.value <= float(exact) + 1e-11 * epsilon
    assert found.value <= mechanism.epsilon
    if found.witness is not None and epsilon <= 20:
        likelihood = np.exp(mechanism.log_likelihood(found.witness.report)[0])
        first, second = G[found.witness.likelier], G[found.witness.other]
        ratio = math.log(first @ likelihood) - math.log(second @ likelihood)
        assert found.value == pytest.approx(ratio, rel=1e-9, abs=1e-12)
        assert int(likelihood.argmax()) in found.witness.likely


def test_leakage_names_its_witness():
    job, age = Attribute("job", ("a", "b")), Attribute("age", ("young", "old", "oldest"))
    G = Channel(np.array([[0.9, 0.1, 0.0], [0.0, 0.4, 0.6]]), given=job, output=age)
    mechanism = UtilityExponential(DISTANCE[:3, :3], 2.0)
    witness = mechanism.leakage(G).witness
    assert (witness.likelier, witness.other, witness.likely) == ("a", "b", ("young",))
    assert witness.report.values.tolist() == [0]


@pytest.mark.parametrize("epsilon", [50.0, 700.0, 800.0, 3000.0])
def test_leakage_of_large_budgets_is_finite_and_not_too_low(epsilon):
    mechanism = UtilityExponential(np.eye(3), epsilon)
    assert mechanism.leakage(np.eye(3)).value == pytest.approx(epsilon / 2)
    value = mechanism.leakage([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]).value
    assert epsilon / 2 - math.log(2) < value <= mechanism.epsilon
    if epsilon < 1000:
        assert value == pytest.approx(epsilon / 2 - math.log(2), rel=1e-9)


def test_equal_rows_leak_nothing():
    assert UtilityExponential(DISTANCE, 5.0).leakage(np.full((3, 4), 0.25)).value == 0
    assert UtilityExponential(DISTANCE, 0.0).leakage(np.eye(4)).value == 0
    with pytest.raises(InputError, match="must have 4 columns"):
        UtilityExponential(DISTANCE, 1.0).leakage(np.eye(3))


@pytest.mark.parametrize("name", UTILITIES)
def test_the_guess_and_its_channel(name):
    mechanism = UtilityExponential(UTILITIES[name], 3.0)
    k = mechanism.k
    codes = np.arange(50_000 * k) % k
    guesses = mechanism.infer(mechanism.perturb(codes, 9))
    seen = np.bincount(codes * k + guesses, minlength=k * k).reshape(k, k) / 50_000
    assert np.abs(seen - mechanism.inferred_channel()).max() < 0.015
    assert mechanism.hit_rate == pytest.approx(np.diag(mechanism.inferred_channel()).mean())
    assert mechanism.guess_sets is None
    assert mechanism.likely_sets is None


def test_guesses_are_the_report_or_the_likeliest_value():
    square = UtilityExponential(DISTANCE, 1.0)
    every = ValueReports(square.describe(), np.arange(4, dtype=np.uint8))
    assert square.infer(every).tolist() == [0, 1, 2, 3]
    wide = UtilityExponential(WIDE, 1.0)
    every = ValueReports(wide.describe(), np.arange(5, dtype=np.uint8))
    expected = wide.channel().argmax(axis=0).tolist()
    assert wide.infer(every).tolist() == expected
    assert np.allclose(wide.log_likelihood(every), np.log(wide.channel().T))


def test_witness_reports_exist_for_the_likeliest_values_only():
    mechanism = UtilityExponential(DISTANCE, 1.0)
    report = mechanism.witness_report(np.array([True, False, False, False]))
    assert mechanism.log_likelihood(report)[0].argmax() == 0
    with pytest.raises(InputError, match="the most likely values of some output"):
        mechanism.witness_report(np.array([True, False, True, False]))


# Edges -------------------------------------------------------------------------------------------


def test_one_value_has_no_leakage():
    mechanism = UtilityExponential([[1.0, 5.0, 2.0]], 3.0)
    reports = mechanism.perturb([0] * 30, 1)
    assert (mechanism.epsilon, mechanism.realised_epsilon) == (0.0, 0.0)
    assert np.allclose(mechanism.channel(), 1 / 3)
    assert mechanism.estimate(reports).frequencies == pytest.approx([1.0])
    assert mechanism.infer(reports).tolist() == [0] * 30
    assert mechanism.leakage([[1.0], [1.0]]).value == 0
    assert mechanism.hit_rate == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 800.0])
def test_tiny_and_huge_utilities_are_scaled(epsilon):
    for scale in (1e-310, 1e-300, 1e300):
        mechanism = UtilityExponential(scale * np.eye(3), epsilon)
        assert np.allclose(mechanism.channel(), Exponential(3, epsilon).channel())
    mechanism = UtilityExponential([[1e300, 0.0], [1e300, 1e-300]], epsilon)
    assert np.isfinite(mechanism.channel()).all()
    assert mechanism.realised_epsilon <= mechanism.epsilon


def test_an_empty_column_gives_no_reports():
    mechanism = UtilityExponential(WIDE, 1.0)
    reports = mechanism.perturb([], 1)
    assert len(reports) == len(mechanism.infer(reports)) == 0


def test_reports_are_identified_by_their_utility(tmp_path):
    mechanism = UtilityExponential(DISTANCE, 1.0)
    reports = mechanism.perturb(np.arange(40) % 4, 1)
    reports.save(tmp_path / "reports.parquet")
    again = Reports.load(tmp_path / "reports.parquet")
    assert mechanism.infer(again).tolist() == reports.values.tolist()
    assert np.array_equal(
        UtilityExponential(DISTANCE + 0.0, 1.0).perturb([1] * 50, 2).values,
        mechanism.perturb([1] * 50, 2).values,
    )
    for other in (UtilityExponential(2 * DISTANCE, 1.0), UtilityExponential(DISTANCE, 1.1)):
        with pytest.raises(InputError, match="must come from"):
            other.infer(again)


def test_damaged_reports_raise():
    mechanism = UtilityExponential(WIDE, 1.0)
    damaged = ValueReports(mechanism.describe(), np.array([5], dtype=np.uint8))
    for use in (mechanism.estimate, mechanism.infer, mechanism.log_likelihood):
        with pytest.raises(InputError, match="from 0 to 4"):
            use(damaged)


@pytest.mark.parametrize(
    ("utility", "message"),
    [
        ([1.0, 2.0], "utility must be"),
        ([[]], "utility must be"),
        ([[1.0, math.nan], [0.0, 1.0]], "utility must be"),
        ([[1.0, math.inf], [0.0, 1.0]], "utility must be"),
        ("secret", "utility must be"),
        ([["secret"]], "utility must be"),
        ([[1.0, 2.0], [1.0, 2.0]], "two values must differ"),
        ([[1e308, 0.0], [-1e308, 0.0]], "finite range"),
    ],
)
def test_invalid_utilities_raise(utility, message):
    with pytest.raises(InputError, match=message) as caught:
        UtilityExponential(utility, 1.0)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf, "1"])
def test_invalid_budgets_raise(epsilon):
    with pytest.raises(InputError, match="epsilon must be"):
        Exponential(4, epsilon)
    with pytest.raises(InputError, match="epsilon must be"):
        UtilityExponential(DISTANCE, epsilon)
