"""The level of an upper limit of a maximum, and the shortcuts that it does not allow.

The simulated plans make one statement, that a ratio of two shares is at most a limit,
which they violate by a hair: the second share is known nearly exactly, so each is
certified with a probability close to the e^-c of one limit.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from seepage._core.errors import InputError
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.confidence.proportion_limits import clopper_pearson

RUNS = 400
PEOPLE = np.array([400, 400_000])
PART = PEOPLE // 5
SHARES = np.array([0.42, 0.3])
LIMIT = math.log(SHARES[0] / SHARES[1]) - 1e-9


def most(share, runs=RUNS):
    """Return as many of the runs as this share exceeds with probability 1e-4."""
    return int(binom.ppf(1 - 1e-4, runs, share))


def fewest(share):
    return int(binom.ppf(1e-4, RUNS, share))


def drawn(plans, seed, people=PEOPLE, runs=RUNS):
    """Return the people counted for each statement: shape (runs, plans, 2)."""
    rng = np.random.default_rng(seed)
    return rng.binomial(people, SHARES, size=(runs, plans, 2))


def split(plans, seeds, seed):
    """Return the counts of random fifths of the people, and of the rest of each: shape
    (runs, seeds, plans, 2).

    Each seed splits the same table once, for all plans.
    """
    rng = np.random.default_rng(seed)
    people = PEOPLE[0]
    yes = rng.random((RUNS, plans, people)) < SHARES[0]
    ranks = rng.random((RUNS, seeds, people)).argsort(axis=-1)
    chosen = ranks < PART[0]
    known = rng.binomial(PEOPLE[1], SHARES[1], size=(RUNS, 1, plans))
    known = np.broadcast_to(known, (RUNS, seeds, plans))
    part = np.stack(
        [
            chosen.astype(float) @ yes.astype(float).swapaxes(1, 2),
            rng.hypergeometric(known, PEOPLE[1] - known, PART[1]),
        ],
        axis=-1,
    )
    table = np.stack(
        [np.broadcast_to(yes.sum(axis=2)[:, None], known.shape), known], -1
    )
    return part, table - part


def upper_limits(counts, level, people=PEOPLE):
    """Return the upper limits of the log-ratios."""
    limits = clopper_pearson(counts, np.broadcast_to(people, counts.shape), level)
    return np.log(limits.upper[..., 0]) - np.log(limits.lower[..., 1])


def seeming_best(counts, number):
    """Return the counts of the plans with the smallest ratio in the sample, by run."""
    order = np.argsort(counts[..., 0] / counts[..., 1], axis=1)[:, :number]
    return np.take_along_axis(counts, order[..., None], axis=1)


def some_certified(counts, families, confidence=0.95, people=PEOPLE):
    """Return in how many runs at least one of the plans is certified."""
    level = level_of_maxima(families, confidence)
    return int((upper_limits(counts, level, people) <= LIMIT).any(axis=1).sum())


def test_the_level_counts_families_and_nothing_else():
    assert level_of_maxima(1, 0.95) == pytest.approx(math.log(40))
    assert level_of_maxima(455, 0.95) == pytest.approx(math.log(2 * 455 / 0.05))
    assert level_of_maxima(3, 0.99) == pytest.approx(math.log(600))


def test_limits_of_shares_without_replacement_need_a_least_level():
    assert level_of_maxima(1, 0.3) == pytest.approx(math.log(4))


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_a_confidence_is_between_0_and_1(confidence):
    with pytest.raises(InputError, match="above 0 and below 1"):
        level_of_maxima(1, confidence)


def test_one_plan_is_wrongly_certified_as_often_as_one_limit_errs():
    """And not less than half as often: its level wastes nothing."""
    found = some_certified(drawn(1, 1), 1)
    assert fewest(0.0125) <= found <= most(0.05)


def test_further_statements_only_prevent_a_certificate():
    """All of a plan's limits pass, whether it has one statement or forty."""
    limits = upper_limits(drawn(40, 2), level_of_maxima(1, 0.95))
    passed = [(limits[:, :count] <= LIMIT).all(axis=1) for count in (1, 10, 40)]
    wrong = [int(one.sum()) for one in passed]
    assert most(0.05) >= wrong[0] >= wrong[1] >= wrong[2]


@pytest.mark.parametrize("plans", [40, 400, pytest.param(4000, marks=pytest.mark.slow)])
def test_the_best_of_many_is_not_one_plan(plans):
    counts = drawn(plans, 3)
    alone = some_certified(seeming_best(counts, 1), 1)
    assert alone > most(0.3)
    assert some_certified(counts, plans) <= most(0.05)


def test_counting_only_what_was_tested_is_not_enough():
    best = seeming_best(drawn(400, 4), 10)
    assert some_certified(best, 10) > most(0.1)
    assert some_certified(best, 400) <= most(0.05)


def test_a_list_that_goes_on_after_failures_counts_them():
    """Tested until the sixth failure: at most six wrong plans get their chance."""
    counts = drawn(6, 5)
    assert some_certified(counts, 1, 0.8) > most(0.2)
    assert some_certified(counts, 6, 0.8) <= most(0.2)


def test_a_list_that_goes_on_to_its_third_failure_counts_three():
    """Many people, so that each limit errs with nearly the probability that it may."""
    runs = 10_000
    people = np.array([40_000, 400_000_000])
    counts = drawn(3, 10, people, runs)
    assert some_certified(counts, 1, people=people) > most(0.05, runs)
    assert some_certified(counts, 3, people=people) <= most(0.05, runs)


@pytest.mark.parametrize("totals", [10, 40, 100])
def test_totals_that_are_read_singly_are_claims_of_their_own(totals):
    counts = drawn(totals, 6)
    truth = math.log(SHARES[0] / SHARES[1])

    def too_low(families):
        level = level_of_maxima(families, 0.95)
        return int((upper_limits(counts, level) < truth).any(axis=1).sum())

    assert too_low(1) > most(0.05)
    assert too_low(totals) <= most(0.05)


def test_the_largest_of_all_totals_needs_one_claim():
    limits = upper_limits(drawn(40, 7), level_of_maxima(1, 0.95))
    truth = math.log(SHARES[0] / SHARES[1])
    assert int((limits.max(axis=1) < truth).sum()) <= most(0.05)


def test_the_smaller_of_two_limits_is_a_choice():
    """Two samples of the same people, each certified: the better one errs too often."""
    counts = drawn(5, 8)
    assert some_certified(counts, 1, 0.9) > most(0.1)
    assert some_certified(counts, 5, 0.9) <= most(0.1)


def test_the_best_of_twenty_seeds_for_the_part_is_a_choice():
    """The plan that looks best on a fifth of the table is certified on the rest: by one
    seed as one plan, but the best result of twenty counts all of them.
    """
    part, rest = split(40, 20, 9)
    best = (part[..., 0] / part[..., 1]).argmin(axis=2)
    chosen = np.take_along_axis(rest, best[..., None, None], axis=2)[:, :, 0]
    people = PEOPLE - PART
    assert some_certified(chosen[:, :1], 1, people=people) <= most(0.05)
    assert some_certified(chosen, 1, people=people) > most(0.05)
    assert some_certified(chosen, 20, people=people) <= most(0.05)
