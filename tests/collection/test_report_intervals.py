"""Each limit of a leakage misses as often as it may, and no more: sides and halves."""

import numpy as np
from scipy import stats

from plan_examples import collected, pair_terms, plan_for, table_of
from seepage.collection.report_leakage import leakage_interval
from seepage.leakage.matrix import leakage_matrix


def intervals(joint, draws, confidence, epsilon=2.0):
    """Return the exact leakage, and so many intervals of it, shape (draws, 3)."""
    pairs, codes = table_of(joint)
    plan = plan_for(pairs, epsilon, "grr")
    sets = plan.mechanisms["b"].likely_sets
    rng = np.random.default_rng(17)
    found = [
        leakage_interval(
            pair_terms(plan, collected(plan, codes, rng), "a", "b"), sets, confidence
        )
        for _ in range(draws)
    ]
    return leakage_matrix(pairs, 0.0, mechanism=plan.mechanisms)[
        "a", "b"
    ].value, np.array(found)


def test_each_side_misses_half_of_the_time_that_both_may():
    """One pair of values stands out, so that nothing hides behind a choice among
    many.
    """
    draws = 300
    alpha = 0.3
    truth, found = intervals([[9000, 1000], [5000, 5000]], draws, 1 - alpha)
    most = stats.binom(draws, alpha / 2).isf(1e-4) / draws
    assert most < 0.25
    assert 0.05 < (found[:, 2] < truth).mean() <= most
    assert 0.05 < (found[:, 1] > truth).mean() <= most


def test_choosing_among_many_pairs_does_not_raise_the_lower_limit():
    """Of independent attributes every pair leaks nothing, and some seem to."""
    draws = 60
    alpha = 0.4
    truth, found = intervals(np.full((5, 5), 400), draws, 1 - alpha, epsilon=3.0)
    assert truth == 0
    assert (found[:, 1] > 0).mean() <= stats.binom(draws, alpha / 2).isf(1e-4) / draws
