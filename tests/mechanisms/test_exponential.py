"""The exponential mechanism, and that of any utility as a transition matrix, in sixty
digits.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seepage._core.errors import InputError
from seepage.channel.channel import Channel
from seepage.channel.domain import Attribute
from seepage.mechanisms.direct import GRR, Exponential
from seepage.mechanisms.exact_probabilities import integer_thresholds, largest_ratio
from seepage.mechanisms.randomness import Randomness, draw_outputs
from seepage.mechanisms.reports import ValueReports
from strategies import exponential

DISTANCE = -np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
WIDE = np.array(
    [[3.0, 1.0, 0.0, 0.5, 0.0], [0.0, 2.0, 0.0, 0.5, 1.0], [1.0, 0.0, 3.0, 0.5, 0.0]]
)
NARROW = np.array([[1.0, 0.0], [0.5, 0.2], [0.0, 1.0]])
LOPSIDED = np.array([[-30.0, 0.0], [-31.0, 1.0]])
UTILITIES = {"distance": DISTANCE, "wide": WIDE, "narrow": NARROW, "lopsided": LOPSIDED}
EPSILONS = [0.0, 1e-12, 1e-3, 1.0, 50.0, 700.0, 800.0]


def exact_channel(mechanism):
    """Return the probabilities that are drawn, with sixty digits."""
    with localcontext(prec=60):
        rows = mechanism.thresholds.tolist()
        return [[Decimal(cell) / Decimal(2**64) for cell in row] for row in rows]


def exact_leakage(G, channel):
    """Return ln max_y max_x W / min_x W with sixty digits, rows of G scaled to sum to
    1.
    """
    with localcontext(prec=60):
        rows = [[Decimal(cell) for cell in row] for row in G.tolist()]
        rows = [[cell / sum(row) for cell in row] for row in rows]
        columns = list(zip(*channel, strict=True))
        seen = [
            [sum(g * c for g, c in zip(row, y, strict=True)) for row in rows]
            for y in columns
        ]
        return max((max(y) / min(y)).ln() for y in seen if max(y))


def random_utility(seed, k, outputs):
    return np.random.default_rng(seed).normal(size=(k, outputs))


# 0/1 utility --------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 128])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_default_utility_is_grr_at_half_the_budget(k, epsilon):
    mechanism = Exponential(k, epsilon)
    half = GRR(k, epsilon / 2)
    assert np.array_equal(mechanism.channel(), half.channel())
    assert mechanism.epsilon == half.epsilon == (epsilon / 2 if k > 1 else 0)
    assert mechanism.realised_epsilon == half.realised_epsilon <= epsilon / 2
    codes = np.arange(5000) % k
    assert np.array_equal(
        mechanism.perturb(codes, 3).values, half.perturb(codes, 3).values
    )
    assert mechanism.describe() == {"mechanism": "exp", "k": k, "epsilon": epsilon}


# Any utility: probabilities -----------------------------------------------------------


# Any utility: draws -------------------------------------------------------------------


def test_a_limit_of_one_leaves_the_average_row():
    chances = integer_thresholds(np.array([[0.75, 0.25], [0.25, 0.75]]), Fraction(1))
    assert chances.tolist() == [[1 << (64 - 1)] * 2] * 2


def test_a_channel_beyond_the_limit_is_drawn_within_it():
    chances = integer_thresholds(np.array([[1.0, 0.0], [0.0, 1.0]]), Fraction(3))
    assert 1 < largest_ratio(chances) <= 3


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("name", ["distance", "wide", "narrow"])
def test_reports_follow_the_channel_and_no_other_budget(name, secure):
    utility = UTILITIES[name]
    k, outputs = utility.shape
    codes = np.arange(100_000 * k) % k
    seed = None if secure else 5
    reports = exponential(utility, 1.0).perturb(codes, seed)
    table = np.bincount(codes * outputs + reports.values, minlength=k * outputs)

    def p_value(epsilon):
        expected = exponential(utility, epsilon).channel().ravel() * 100_000
        return stats.chi2.sf(
            ((table - expected) ** 2 / expected).sum(), k * (outputs - 1)
        )

    assert p_value(1.0) > 1e-6
    assert p_value(0.7) < 1e-12
    assert p_value(1.3) < 1e-12


def test_draws_select_the_interval_of_the_word():
    quarter = 1 << (64 - 2)
    chances = np.array([[quarter, 0, 3 * quarter], [4 * quarter, 0, 0]], dtype=object)

    class Scripted(Randomness):
        def words(self, count):
            return np.array(
                [0, quarter - 1, quarter, 4 * quarter - 1] * 2, dtype=np.uint64
            )

    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert draw_outputs(chances, codes, Scripted(None)).tolist() == [
        0,
        0,
        2,
        2,
        0,
        0,
        0,
        0,
    ]


# Any utility: estimates ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["distance", "wide"])
def test_estimates_are_unbiased_and_standard_errors_right(name):
    mechanism = exponential(UTILITIES[name], 4.0)
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
    mechanism = exponential(WIDE, 3.0)
    channel = mechanism.channel()
    weights = mechanism._inverse
    assert np.allclose(channel @ weights, np.eye(3), atol=1e-12)
    truth = np.array([0.6, 0.3, 0.1])
    expected = [
        sum(
            truth[u] * np.cov(weights[:, v], aweights=channel[u], ddof=0)
            for u in range(3)
        )
        / 50
        for v in range(3)
    ]
    assert np.allclose(mechanism.variance(50, truth), expected)


def test_more_outputs_than_values_are_weighted_by_how_often_they_occur():
    mechanism = exponential(WIDE, 3.0)
    plain = np.linalg.pinv(mechanism.channel())
    uniform = np.full(3, 1 / 3)
    plain_variance = uniform @ (mechanism.channel() @ plain**2) - uniform
    assert mechanism.variance(1, uniform).sum() < plain_variance.sum()


def test_batches_add_up():
    mechanism = exponential(DISTANCE, 2.0)
    reports = mechanism.perturb(np.arange(1000) % 4, 1)
    whole = mechanism.estimate(reports)
    parts = mechanism.estimate([reports[:300], reports[300:]])
    assert np.allclose(whole.frequencies, parts.frequencies)
    assert parts.records == 1000


@pytest.mark.parametrize(
    "utility", [NARROW, [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]]
)
def test_a_matrix_of_deficient_rank_raises(utility):
    mechanism = exponential(utility, 1.0)
    with pytest.raises(InputError, match="must have full row rank"):
        mechanism.estimate(mechanism.perturb([0, 1, 2], 1))


def test_epsilon_zero_is_not_estimated():
    mechanism = exponential(DISTANCE, 0.0)
    with pytest.raises(InputError):
        mechanism.estimate(mechanism.perturb([0, 1, 2], 1))


@pytest.mark.parametrize("frequency", [[0.5, 0.5], [[0.1]]])
def test_a_frequency_of_another_shape_raises(frequency):
    with pytest.raises(InputError, match="one number or 4"):
        exponential(DISTANCE, 1.0).variance(10, frequency)


# Any utility: the adversary -----------------------------------------------------------


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
    mechanism = exponential(utility, epsilon)
    exact = exact_leakage(G, exact_channel(mechanism))
    found = mechanism.leakage(G)
    assert Decimal(found.value) >= exact - Decimal("1e-50")
    assert found.value <= float(exact) + 1e-11 * epsilon
    assert found.value <= mechanism.epsilon
    if found.witness is not None and epsilon <= 20:
        likelihood = np.exp(mechanism.log_likelihood(found.witness.report)[0])
        first = G[found.witness.likelier]
        second = G[found.witness.other]
        ratio = math.log(first @ likelihood) - math.log(second @ likelihood)
        assert found.value == pytest.approx(ratio, rel=1e-9, abs=1e-12)
        assert int(likelihood.argmax()) in found.witness.likely


def test_leakage_names_its_witness():
    job = Attribute("job", ("a", "b"))
    age = Attribute("age", ("young", "old", "oldest"))
    G = Channel(np.array([[0.9, 0.1, 0.0], [0.0, 0.4, 0.6]]), given=job, output=age)
    mechanism = exponential(DISTANCE[:3, :3], 2.0)
    witness = mechanism.leakage(G).witness
    assert (witness.likelier, witness.other, witness.likely) == ("a", "b", ("young",))
    assert witness.report.values.tolist() == [0]


def test_equal_rows_leak_nothing():
    assert exponential(DISTANCE, 5.0).leakage(np.full((3, 4), 0.25)).value == 0
    assert exponential(DISTANCE, 0.0).leakage(np.eye(4)).value == 0
    with pytest.raises(InputError, match="must have 4 columns"):
        exponential(DISTANCE, 1.0).leakage(np.eye(3))


@pytest.mark.parametrize("name", UTILITIES)
def test_the_guess_and_its_channel(name):
    mechanism = exponential(UTILITIES[name], 3.0)
    k = mechanism.k
    codes = np.arange(50_000 * k) % k
    guesses = mechanism.infer(mechanism.perturb(codes, 9))
    seen = np.bincount(codes * k + guesses, minlength=k * k).reshape(k, k) / 50_000
    assert np.abs(seen - mechanism.inferred_channel()).max() < 0.015
    assert mechanism.hit_rate == pytest.approx(
        np.diag(mechanism.inferred_channel()).mean()
    )
    assert mechanism.guess_sets is None
    assert mechanism.likely_sets is None


def test_guesses_are_the_report_or_the_likeliest_value():
    square = exponential(DISTANCE, 1.0)
    every = ValueReports(square.describe(), np.arange(4, dtype=np.uint8))
    assert square.infer(every).tolist() == [0, 1, 2, 3]
    wide = exponential(WIDE, 1.0)
    every = ValueReports(wide.describe(), np.arange(5, dtype=np.uint8))
    expected = wide.channel().argmax(axis=0).tolist()
    assert wide.infer(every).tolist() == expected
    assert np.allclose(wide.log_likelihood(every), np.log(wide.channel().T))


# Edges --------------------------------------------------------------------------------


def test_one_value_has_no_leakage():
    mechanism = exponential([[1.0, 5.0, 2.0]], 3.0)
    reports = mechanism.perturb([0] * 30, 1)
    assert (mechanism.epsilon, mechanism.realised_epsilon) == (0.0, 0.0)
    assert mechanism.estimate(reports).frequencies == pytest.approx([1.0])
    assert mechanism.infer(reports).tolist() == [0] * 30
    assert mechanism.leakage([[1.0], [1.0]]).value == 0
    assert mechanism.hit_rate == pytest.approx(1.0)


def test_an_empty_column_gives_no_reports():
    mechanism = exponential(WIDE, 1.0)
    reports = mechanism.perturb([], 1)
    assert len(reports) == len(mechanism.infer(reports)) == 0


def test_damaged_reports_raise():
    mechanism = exponential(WIDE, 1.0)
    damaged = ValueReports(mechanism.describe(), np.array([5], dtype=np.uint8))
    for use in (mechanism.estimate, mechanism.infer, mechanism.log_likelihood):
        with pytest.raises(InputError, match="from 0 to 4"):
            use(damaged)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf, "1"])
def test_invalid_budgets_raise(epsilon):
    with pytest.raises(InputError, match="epsilon must be"):
        Exponential(4, epsilon)
