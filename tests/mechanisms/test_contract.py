"""What every registered mechanism must keep.  A new one is tested the day it is registered.

Do the probabilities it states describe what it draws, and do its budget, its estimates, its
attack and its leakage follow from them?  Truth comes from enumerating every report of small
alphabets.  Entries of vector reports are continuous; there the densities are integrated and
extreme reports tried.  Odd columns, bad input, files and randomness are in
test_contract_columns.
"""

import itertools
import math

import numpy as np
import pytest
from contract import (
    DELTA,
    EPSILONS,
    IMPOSSIBLE,
    NAMES,
    PLAUSIBLE,
    every_mechanism,
    every_report,
    likelihoods,
    make,
    told,
)
from scipy.stats import chi2

from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.mechanisms.reports import Reports, VectorReports

CHANNEL = np.array([[0.55, 0.2, 0.15, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])

ANY_SET = [name for name in NAMES if make(name, 4, 1.0).likely_sets.kind == "all"]


def test_the_registry_holds_every_mechanism_of_the_paper_and_the_approximate_ones() -> None:
    paper = {"grr", "rappor", "oue", "exp", "blh", "olh", "she", "ss"}
    assert set(NAMES) >= paper | {"approximate-grr", "approximate-sue", "gauss"}


# Probabilities -----------------------------------------------------------------------------------


def integrated(tested: Mechanism) -> np.ndarray:
    """The total of the density of vector reports under each value, by the trapezoidal rule."""
    width = 12 * math.sqrt(float(tested.variance(1)))
    axis = np.linspace(-width, width, 20_001 if tested.k == 1 else 801)
    points = np.array(list(itertools.product(axis, repeat=tested.k)))
    density = np.exp(tested.log_likelihood(VectorReports(tested.describe(), points)))
    return density.sum(axis=0) * (axis[1] - axis[0]) ** tested.k


@every_mechanism
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_probabilities_of_all_reports_sum_to_one(name: str, k: int) -> None:
    tested = make(name, k, 1.0)
    if tested.reports is VectorReports:
        if k <= 2:
            assert integrated(tested) == pytest.approx(1.0, abs=1e-3)
        return
    for group in every_report(tested, seeds=3):
        assert likelihoods(tested, group).sum(axis=0) == pytest.approx(1.0, rel=1e-12)


@every_mechanism
@pytest.mark.parametrize("secure", [False, True])
def test_reports_are_as_likely_as_stated_and_no_other_way(name: str, secure: bool) -> None:
    """E[(P(y given v) / P(y given u))^s] under value u is 1 at s = 1, less below, more above."""
    tested, count = make(name, 3, 1.0), 40_000
    reports = tested.perturb(np.zeros(count, dtype=int), None if secure else 21, secure=secure)
    logarithms = tested.log_likelihood(reports)
    for other in (1, 2):
        ratio = logarithms[:, other] - logarithms[:, 0]
        scores = {}
        for power in (0.7, 1.0, 1.3):
            sample = np.exp(power * ratio)
            scores[power] = (sample.mean() - 1) / (sample.std() / math.sqrt(count))
        assert scores[0.7] < -5 < scores[1.0] < 5 < scores[1.3]


# Budgets -----------------------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("k", [1, 2, 5, 100])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_drawn_keeps_the_stated_budget(name: str, k: int, epsilon: float) -> None:
    tested = make(name, k, epsilon)
    assert 0 <= tested.realised_epsilon <= tested.epsilon <= epsilon
    assert 0 <= tested.delta <= (DELTA if tested.approximate else 0)
    assert tested.approximate == (tested.delta > 0) or k == 1
    if k == 1:
        assert tested.epsilon == tested.delta == 0
    elif 1e-3 <= epsilon <= 5 and tested.delta == 0:
        assert tested.realised_epsilon == pytest.approx(tested.epsilon, rel=1e-6)


@every_mechanism
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 5.0])
def test_epsilon_and_delta_follow_from_the_probabilities(name: str, epsilon: float) -> None:
    """By enumeration: the largest log-ratio, or the largest excess over e^epsilon."""
    tested = make(name, 3, epsilon)
    if tested.reports is VectorReports:
        witnesses = [tested.witness_report(likely) for likely in np.eye(3, dtype=bool)]
        groups = [likelihoods(tested, [report]) for report in witnesses]
    else:
        groups = [likelihoods(tested, group) for group in every_report(tested, seeds=20)]
    pairs = list(itertools.permutations(range(3), 2))
    if tested.delta == 0:
        largest = max(float(np.log(g[:, u] / g[:, v]).max()) for g in groups for u, v in pairs)
        assert largest == pytest.approx(tested.epsilon, rel=1e-9)
    elif tested.reports is not VectorReports:
        growth = math.exp(tested.epsilon)
        excess = [np.maximum(g[:, u] - growth * g[:, v], 0).sum() for g in groups for u, v in pairs]
        assert max(excess) == pytest.approx(tested.delta, rel=1e-9)


# Estimates ---------------------------------------------------------------------------------------


@every_mechanism
def test_estimates_are_unbiased_and_their_standard_errors_right(name: str) -> None:
    tested, rows, runs = make(name, 4, 1.5), 1000, 500
    codes = np.tile(np.repeat([0, 1, 3], [500, 300, 200]), runs)
    truth = np.array([0.5, 0.3, 0.0, 0.2])
    reports = tested.perturb(codes, 31)
    runs_of = [tested.estimate(reports[i * rows : (i + 1) * rows]) for i in range(runs)]
    errors = np.array([run.frequencies - truth for run in runs_of])
    spreads = np.array([run.standard_errors for run in runs_of])
    assert (np.abs(errors.mean(axis=0)) < 5 * spreads.mean(axis=0) / math.sqrt(runs)).all()
    assert np.sqrt(tested.variance(rows, truth)) == pytest.approx(spreads.mean(axis=0), rel=0.05)
    squares = np.square(errors / spreads).sum(axis=0)
    for square in squares:
        assert two_sided(square, runs) > PLAUSIBLE
        assert max(two_sided(square / factor**2, runs) for factor in (0.7, 1.3)) < IMPOSSIBLE


def two_sided(square: float, freedom: int) -> float:
    return float(2 * min(chi2.cdf(square, freedom), chi2.sf(square, freedom)))


@every_mechanism
def test_consistent_estimates_are_distributions_and_say_so(name: str) -> None:
    tested = make(name, 5, 1.0)
    reports = tested.perturb([0, 0, 0, 4], 3)
    consistent = tested.estimate(reports, consistent=True)
    assert consistent.consistent
    assert not tested.estimate(reports).consistent
    assert consistent.frequencies.min() >= 0
    assert consistent.frequencies.sum() == pytest.approx(1)


@every_mechanism
def test_batches_give_the_estimate_of_the_whole(name: str) -> None:
    tested, codes = make(name, 3, 2.0), np.arange(1000) % 3
    batches = list(tested.perturb_batches(codes, 5, rows=300))
    assert [len(batch) for batch in batches] == [300, 300, 300, 100]
    tallies = np.sum([tested.tally(batch) for batch in batches], axis=0)
    whole = tested.estimate(iter(batches))
    assert whole.records == 1000
    np.testing.assert_allclose(whole.frequencies, tested._frequencies(tallies, 1000))


# The attack --------------------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("k", [2, 5])
def test_guesses_follow_the_inferred_channel_and_no_other(name: str, k: int) -> None:
    tested, count = make(name, k, 2.0), 40_000
    codes = np.repeat(np.arange(k), count)
    guesses = tested.infer(tested.perturb(codes, 41), 42).reshape(k, count)
    seen = np.array([np.bincount(row, minlength=k) for row in guesses])
    assert fit(seen, tested.inferred_channel(), count) > PLAUSIBLE
    for factor in (0.7, 1.3):
        assert fit(seen, make(name, k, factor * 2.0).inferred_channel(), count) < IMPOSSIBLE


def fit(seen: np.ndarray, channel: np.ndarray, count: int) -> float:
    expected = channel * count
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    return float(chi2.sf(statistic, seen.shape[0] * (seen.shape[1] - 1)))


@every_mechanism
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [1, 2, 50])
def test_inferred_channel_is_a_channel_at_every_budget(name: str, k: int, epsilon: float) -> None:
    tested = make(name, k, epsilon)
    channel = tested.inferred_channel()
    assert channel.shape == (k, k)
    assert channel.min() >= 0
    assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert np.diag(channel) == pytest.approx(tested.hit_rate, abs=1e-12)
    assert tested.hit_rate >= 1 / k - 1e-12
    if tested.delta == 0:
        assert tested.guess_contrast <= tested.epsilon + 1e-12 * k


# Leakage -----------------------------------------------------------------------------------------


def telling_reports(tested: Mechanism) -> list[Reports]:
    """Every report, or for vectors the extreme ones and some that are drawn."""
    if tested.reports is not VectorReports:
        return [report for group in every_report(tested, seeds=400) for report in group]
    sets = [np.array(likely) for likely in itertools.product([False, True], repeat=tested.k)]
    drawn = tested.perturb(np.arange(200) % tested.k, 51)
    return [*map(tested.witness_report, sets), *(drawn[row : row + 1] for row in range(200))]


@every_mechanism
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_leakage_is_the_most_that_any_report_tells(name: str, epsilon: float) -> None:
    tested = make(name, 4, epsilon)
    leakage = tested.leakage(CHANNEL)
    most = max(told(tested, report, CHANNEL) for report in telling_reports(tested))
    assert most == pytest.approx(leakage.value, rel=1e-9)
    assert leakage.value >= most - 1e-12
    if tested.delta == 0:
        assert leakage.value <= tested.epsilon


@every_mechanism
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_witness_report_attains_the_leakage(name: str, epsilon: float) -> None:
    tested = make(name, 4, epsilon)
    leakage = tested.leakage(CHANNEL)
    witness = leakage.witness
    logarithms = tested.log_likelihood(witness.report)[0]
    likely = set(np.flatnonzero(np.isclose(logarithms, logarithms.max())).tolist())
    assert likely == set(witness.likely)
    rows = CHANNEL @ np.exp(logarithms - logarithms.max())
    attained = math.log(rows[witness.likelier] / rows[witness.other])
    assert attained == pytest.approx(leakage.value, rel=1e-9)


@pytest.mark.parametrize("name", ANY_SET)
def test_leakage_equals_the_bound_where_any_set_can_be_likely(name: str) -> None:
    tested = make(name, 4, 1.0)
    growth = math.expm1(tested.likely_sets.contrast)
    bound = max(
        math.log((1 + growth * x[list(s)].sum()) / (1 + growth * y[list(s)].sum()))
        for x, y in itertools.permutations(CHANNEL, 2)
        for size in range(5)
        for s in itertools.combinations(range(4), size)
    )
    assert tested.leakage(CHANNEL).value == pytest.approx(bound, rel=1e-12)


@every_mechanism
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_leakage_at_the_limits(name: str, epsilon: float) -> None:
    tested = make(name, 3, epsilon)
    equal = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]
    apart = [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert tested.leakage(equal).value == 0
    assert make(name, 1, epsilon).leakage([[1.0], [1.0]]).value == 0
    contrast = tested.leakage(apart).value
    relaxed = tested.relaxed_leakage(apart)
    assert relaxed.value == pytest.approx(tested.epsilon)
    assert relaxed.relaxation == pytest.approx(tested.delta, rel=1e-9)
    if tested.delta == 0:
        assert 0 <= contrast <= tested.epsilon
    else:
        assert contrast > tested.epsilon


@every_mechanism
def test_leakage_refuses_a_channel_of_other_columns(name: str) -> None:
    with pytest.raises(InputError, match="4 columns"):
        make(name, 4, 1.0).leakage([[0.5, 0.5], [0.2, 0.8]])
