"""Shares with a smaller largest error at nearly the least mean error."""

import numpy as np
import pytest
from scipy.optimize import minimize

from seepage.designs.forms.a_optimal import best_shares, evaluate
from seepage.designs.forms.balanced_shares import MAX_COST, balanced_shares


def random_forms(seed, forms=12, questions=6):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0.1, 1.0, (forms, questions))
    rows *= rng.random((forms, questions)) < 0.4
    return np.vstack([rows, np.diag(rng.uniform(0.3, 1.0, questions))])


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_error_falls_and_the_mean_stays(seed):
    rows = random_forms(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, rows.shape[1])
    best = best_shares(rows, weights, np.ones(len(rows)), 1e-6)
    found = balanced_shares(rows, weights, weights, best, best.objective)
    mean = evaluate(rows, weights, found).objective
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    assert mean <= best.objective * (1 + MAX_COST) * (1 + 1e-9)
    before = (weights / (best.shares @ rows)).max()
    after = (weights / (found @ rows)).max()
    assert after <= before
    least = _least_largest(rows, weights, best)
    assert after <= 1.06 * least


def _least_largest(rows, weights, best):
    """Return the least largest error within the cost, by a general solver."""
    highest = best.objective * (1 + MAX_COST)

    def errors(point):
        return weights / (np.abs(point[:-1]) @ rows + 1e-12)

    start = np.append(best.shares, errors(np.append(best.shares, 0)).max())
    constraints = [
        {"type": "eq", "fun": lambda point: point[:-1].sum() - 1},
        {"type": "ineq", "fun": lambda point: point[-1] - errors(point)},
        {"type": "ineq", "fun": lambda point: 1 - errors(point).sum() / highest},
    ]
    bounds = [(0, 1)] * len(rows) + [(0, None)]
    found = minimize(
        lambda point: point[-1],
        start,
        constraints=constraints,
        bounds=bounds,
        method="SLSQP",
        options={"maxiter": 500},
    )
    return found.x[-1]


def test_a_quantity_that_is_left_out_is_not_balanced():
    rows = np.array([[1.0, 0.0], [0.0, 0.01]])
    weights = np.array([1.0, 1.0])
    best = best_shares(rows, weights, np.ones(2), 1e-6)
    found = balanced_shares(rows, weights, np.array([1.0, 0.0]), best, best.objective)
    assert found[0] >= best.shares[0]


def test_equal_errors_stay_as_they_are():
    rows = np.eye(3)
    best = best_shares(rows, np.ones(3), np.ones(3), 1e-9)
    found = balanced_shares(rows, np.ones(3), np.ones(3), best, best.objective)
    assert found == pytest.approx(best.shares)
