"""What every registered mechanism must keep.  A new one is tested the day it is
registered.

Do the probabilities it states describe what it draws, and do its budget, its estimates
and its attack follow from them?  Truth comes from enumerating every report of small
alphabets; entries of vector reports are continuous, there the likelihood ratios of
drawn reports are compared.  Leakage is in test_contract_leakage; odd columns, bad
input, files and randomness in test_contract_columns.
"""

import itertools
import math

import numpy as np
import pytest
from contract import (
    DELTA,
    EPSILONS,
    IMPOSSIBLE,
    MATRIX,
    NAMES,
    PLAUSIBLE,
    every_mechanism,
    likelihoods,
    make,
    other_budgets,
)
from scipy.stats import binomtest, chi2

from seepage.mechanisms.contract_check import check_mechanism, every_report
from seepage.mechanisms.reports import VectorReports


def test_the_registry_holds_every_mechanism_of_the_paper_and_the_approximate_ones() -> (
    None
):
    paper = {"grr", "rappor", "oue", "exp", "blh", "olh", "she", "ss"}
    assert set(NAMES) >= paper | {
        "hadamard",
        "basic-rappor",
        "approximate-grr",
        "approximate-sue",
        "gauss",
    }


@every_mechanism
def test_every_mechanism_passes_the_check_that_users_run(name: str) -> None:
    assert check_mechanism(make(name, 4, 1.0) if name == MATRIX else name) == {}


# Probabilities ------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_probabilities_of_all_reports_sum_to_one(name: str, k: int) -> None:
    tested = make(name, k, 1.0)
    for group in every_report(tested, seeds=3):
        assert likelihoods(tested, group).sum(axis=0) == pytest.approx(1.0, rel=1e-12)


@every_mechanism
@pytest.mark.parametrize("secure", [False, True])
def test_reports_are_as_likely_as_stated_and_no_other_way(
    name: str, secure: bool
) -> None:
    """E[(P(y given v) / P(y given u))^s] under value u is 1 at s = 1, less below, more
    above.
    """
    tested = make(name, 3, 1.0)
    count = 120_000
    reports = tested.perturb(np.zeros(count, dtype=int), None if secure else 21)
    logarithms = tested.log_likelihood(reports)
    for other in (1, 2):
        ratio = logarithms[:, other] - logarithms[:, 0]
        scores = {}
        for power in (0.7, 1.0, 1.3):
            sample = np.exp(power * ratio)
            scores[power] = (sample.mean() - 1) / (sample.std() / math.sqrt(count))
        assert scores[0.7] < -5 < scores[1.0] < 5 < scores[1.3]


# Budgets ------------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("k", [1, 2, 5, 100])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_drawn_distribution_is_within_the_stated_budget(
    name: str, k: int, epsilon: float
) -> None:
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
def test_epsilon_and_delta_follow_from_the_probabilities(
    name: str, epsilon: float
) -> None:
    """By enumeration: the largest log-ratio, or the largest excess over e^epsilon."""
    tested = make(name, 3, epsilon)
    if tested.reports is VectorReports:
        witnesses = [tested.report_of(likely) for likely in np.eye(3, dtype=bool)]
        groups = [likelihoods(tested, report) for report in witnesses]
    else:
        groups = [
            likelihoods(tested, group) for group in every_report(tested, seeds=20)
        ]
    pairs = list(itertools.permutations(range(3), 2))
    if tested.delta == 0:
        largest = max(
            float(np.log(g[:, u] / g[:, v]).max()) for g in groups for u, v in pairs
        )
        assert largest == pytest.approx(tested.epsilon, rel=1e-9)
    elif tested.reports is not VectorReports:
        growth = math.exp(tested.epsilon)
        excess = [
            np.maximum(g[:, u] - growth * g[:, v], 0).sum()
            for g in groups
            for u, v in pairs
        ]
        assert max(excess) == pytest.approx(tested.delta, rel=1e-9)


# Estimates ----------------------------------------------------------------------------


@every_mechanism
def test_estimates_are_unbiased_and_their_standard_errors_right(name: str) -> None:
    tested = make(name, 4, 1.5)
    rows = 400
    runs = 500
    codes = np.tile(np.repeat([0, 1, 3], [200, 120, 80]), runs)
    truth = np.array([0.5, 0.3, 0.0, 0.2])
    reports = tested.perturb(codes, 31)
    runs_of = [tested.estimate(reports[i * rows : (i + 1) * rows]) for i in range(runs)]
    errors = np.array([run.frequencies - truth for run in runs_of])
    spreads = np.array([run.standard_errors for run in runs_of])
    assert (
        np.abs(errors.mean(axis=0)) < 5 * spreads.mean(axis=0) / math.sqrt(runs)
    ).all()
    assert np.sqrt(tested.variance(rows, truth)) == pytest.approx(
        spreads.mean(axis=0), rel=0.05
    )
    squares = np.square(errors / spreads).sum(axis=0)
    for square in squares:
        assert two_sided(square, runs) > PLAUSIBLE
        assert (
            max(two_sided(square / factor**2, runs) for factor in (0.7, 1.3))
            < IMPOSSIBLE
        )


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
    tested = make(name, 3, 2.0)
    codes = np.arange(1000) % 3
    batches = [
        tested.perturb(codes[start : start + 300], 5) for start in range(0, 1000, 300)
    ]
    assert [len(batch) for batch in batches] == [300, 300, 300, 100]
    tallies = np.sum([tested.tally(batch) for batch in batches], axis=0)
    whole = tested.estimate(iter(batches))
    assert whole.records == 1000
    np.testing.assert_allclose(whole.frequencies, tested.frequencies(tallies, 1000))


# The attack ---------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("k", [2, 5])
def test_guesses_follow_the_inferred_channel_and_no_other(name: str, k: int) -> None:
    tested = make(name, k, 2.0)
    count = 40_000
    codes = np.repeat(np.arange(k), count)
    guesses = tested.infer(tested.perturb(codes, 41), 42).reshape(k, count)
    seen = np.array([np.bincount(row, minlength=k) for row in guesses])
    assert fit(seen, tested.inferred_channel(), count) > PLAUSIBLE
    for factor in other_budgets(name):
        assert (
            fit(seen, make(name, k, factor * 2.0).inferred_channel(), count)
            < IMPOSSIBLE
        )


def fit(seen: np.ndarray, channel: np.ndarray, count: int) -> float:
    expected = channel * count
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    return float(chi2.sf(statistic, seen.shape[0] * (seen.shape[1] - 1)))


@every_mechanism
def test_guesses_of_a_large_alphabet_hit_as_often_as_stated(name: str) -> None:
    k = 20
    epsilon = 1.5
    count = 80_000
    codes = np.arange(count) % k

    def plausible(budget: float) -> float:
        tested = make(name, k, budget)
        hits = np.sum(tested.infer(tested.perturb(codes, 43), 44) == codes)
        return binomtest(int(hits), count, make(name, k, epsilon).hit_rate).pvalue

    assert plausible(epsilon) > PLAUSIBLE
    assert (
        max(plausible(factor * epsilon) for factor in other_budgets(name)) < IMPOSSIBLE
    )


@every_mechanism
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [1, 2, 50])
def test_inferred_channel_is_a_channel_at_every_budget(
    name: str, k: int, epsilon: float
) -> None:
    tested = make(name, k, epsilon)
    channel = tested.inferred_channel()
    assert channel.shape == (k, k)
    assert channel.min() >= 0
    assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    if tested.guess_sets is not None:
        assert np.diag(channel) == pytest.approx(tested.hit_rate, abs=1e-12)
    assert tested.hit_rate >= 1 / k - 1e-12
    if tested.delta == 0 and tested.guess_sets is not None:
        assert tested.guess_contrast <= tested.epsilon + 1e-12 * k
