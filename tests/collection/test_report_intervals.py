"""Each limit of a leakage misses as often as it may, and no more: sides, halves, correlation."""

import numpy as np
import pytest
from scipy import stats

from plan_examples import collected, plan_for, table_of
from seepage.collection.estimated_pairs import PairTerms, estimate_pairs
from seepage.collection.report_leakage import _combined, _limits, _weights, leakage_interval
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.matrix import leakage_matrix


def intervals(joint, draws, confidence, epsilon=2.0):
    """Return the exact leakage, and so many intervals of it, shape (draws, 3)."""
    pairs, codes = table_of(joint)
    plan = plan_for(pairs, epsilon, "grr")
    sets, rng = plan.mechanisms["b"].likely_sets, np.random.default_rng(17)
    found = [
        leakage_interval(
            estimate_pairs(plan, collected(plan, codes, rng)).terms(0, 1), sets, confidence
        )
        for _ in range(draws)
    ]
    return leakage_matrix(pairs, 0.0, mechanism=plan.mechanisms)["a", "b"].value, np.array(found)


def test_each_side_misses_half_of_the_time_that_both_may():
    """One pair of values stands out, so that nothing hides behind a choice among many."""
    draws, alpha = 300, 0.3
    truth, found = intervals([[9000, 1000], [5000, 5000]], draws, 1 - alpha)
    most = stats.binom(draws, alpha / 2).isf(1e-4) / draws
    assert most < 0.25
    assert 0.05 < (found[:, 2] < truth).mean() <= most
    assert 0.05 < (found[:, 1] > truth).mean() <= most


def test_choosing_among_many_pairs_does_not_raise_the_lower_limit():
    """Of independent attributes every pair leaks nothing, and some seem to."""
    draws, alpha = 60, 0.4
    truth, found = intervals(np.full((5, 5), 400), draws, 1 - alpha, epsilon=3.0)
    assert truth == 0
    assert (found[:, 1] > 0).mean() <= stats.binom(draws, alpha / 2).isf(1e-4) / draws


def noisy_terms(rng, noise):
    """Return terms of 3 by 2 values in 12 groups, with the noise of one-hot reports."""
    joint = np.array([[40.0, 8.0], [20.0, 30.0], [6.0, 9.0]])
    groups = joint + rng.normal(0.0, noise, (12, 3, 2))
    groups -= (groups - joint).mean(axis=(1, 2), keepdims=True)
    return PairTerms(groups, groups.sum(axis=2), groups.sum(axis=(1, 2)))


@pytest.mark.parametrize("noise", [1.0, 4.0, 12.0])
def test_limits_combine_the_far_ends_of_both_weights(noise):
    """Zou and Donner's rule inside of what is possible; the very ends where one is cut off."""
    sets, rng = LikelySets("singletons", 1.5), np.random.default_rng(3)
    seen = set()
    for _ in range(20):
        terms = noisy_terms(rng, noise)
        orders = np.broadcast_to(np.arange(2), (3, 2))
        found = _limits(terms, 0, orders, sets, 0.05)
        w = _weights(terms, orders, sets, 0.05)
        for x, s in ((1, 0), (1, 1), (2, 0), (2, 1)):
            ends = [(w.logarithm - w.down)[:, s], (w.logarithm + w.up)[:, s]]
            low, high = ends[0][0] - ends[1][x], ends[1][0] - ends[0][x]
            if w.unclipped[0, s] and w.unclipped[x, s]:
                shared = np.corrcoef(w.residuals[:, 0, s], w.residuals[:, x, s])[0, 1]
                middle = w.logarithm[0, s] - w.logarithm[x, s]
                down, up = (
                    np.sqrt(a**2 + b**2 - 2 * shared * a * b)
                    for a, b in ((w.down[0, s], w.up[x, s]), (w.up[0, s], w.down[x, s]))
                )
                low, high = middle - down, middle + up
            seen.add(bool(w.unclipped[0, s] and w.unclipped[x, s]))
            assert found.lower[x, s] == pytest.approx(low, abs=1e-9)
            assert found.upper[x, s] == pytest.approx(high, abs=1e-9)
    assert seen == ({True, False} if noise > 10 else {True})


def test_a_distance_without_end_stays_so():
    far, none, apart = np.array([np.inf]), np.array([0.0]), np.array([-1.0])
    assert _combined(far, none, apart) == _combined(none, far, apart) == np.inf
