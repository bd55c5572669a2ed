"""A-optimal shares against a convex solver and the equivalence theorem."""

import numpy as np
import pytest
from scipy.optimize import minimize

import seepage as sp
from seepage.designs.forms.a_optimal_shares import best_shares, evaluate
from seepage.designs.report_precision import FAMILIES, Precisions
from seepage.mechanisms.mechanism_registry import BUILT_IN


def solved(precisions, weights):
    """The least objective by SLSQP from several starts."""

    def objective(pi):
        return float((weights / (np.abs(pi) @ precisions)).sum())

    rng = np.random.default_rng(0)
    best = np.inf
    for _ in range(4):
        start = rng.dirichlet(np.ones(len(precisions)))
        answer = minimize(
            objective,
            start,
            bounds=[(1e-9, 1)] * len(precisions),
            constraints={"type": "eq", "fun": lambda pi: pi.sum() - 1},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        best = min(best, answer.fun)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_shares_reach_the_optimum_of_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    precisions = np.vstack([np.eye(4), rng.random((8, 4)) * (rng.random((8, 4)) < 0.6)])
    weights = rng.random(4) + 0.1
    found = best_shares(precisions, weights, np.ones(len(precisions)), 1e-6, 100_000)
    best = solved(precisions, weights)
    assert found.gap <= 1.01e-6
    assert best * (1 - 1e-6) <= found.objective <= best * (1 + 2e-5)
    assert found.shares.sum() == pytest.approx(1)


def test_the_gap_bounds_the_distance_from_the_optimum_anywhere():
    rng = np.random.default_rng(7)
    precisions = rng.random((9, 5)) + 0.01
    weights = np.ones(5)
    best = best_shares(precisions, weights, np.ones(9), 1e-8, 200_000).objective
    for _ in range(50):
        at = evaluate(precisions, weights, rng.dirichlet(np.ones(9)))
        assert best * (1 - 1e-9) <= at.objective <= (1 + at.gap) * best * (1 + 1e-9)


def test_updates_never_raise_the_objective():
    rng = np.random.default_rng(11)
    precisions = rng.random((6, 4))
    weights = rng.random(4)
    shares = np.full(6, 1 / 6)
    last = np.inf
    for _ in range(50):
        found = best_shares(precisions, weights, shares, 0.0, 1)
        assert found.objective <= last * (1 + 1e-12)
        shares = found.shares
        last = found.objective


def test_shares_of_single_attributes_are_in_closed_form():
    """pi_j ~ sqrt(w_j v_j), A-optimal SMP."""
    variances = np.array([1.0, 4.0, 25.0])
    weights = np.array([1.0, 2.0, 0.5])
    found = best_shares(np.diag(1 / variances), weights, np.ones(3), 1e-9, 100_000)
    best = np.sqrt(weights * variances)
    np.testing.assert_allclose(found.shares, best / best.sum(), rtol=1e-4)


def test_a_quantity_that_no_form_asks_makes_the_objective_infinite():
    assert evaluate(np.array([[1.0, 0.0]]), np.ones(2), np.ones(1)).objective == np.inf
    assert (
        evaluate(np.array([[1.0, 0.0]]), np.array([1.0, 0.0]), np.ones(1)).objective
        == 1
    )


@pytest.mark.parametrize("k", [2, 3, 7, 40, 200])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.7, 1.5, 3.0, 6.0, 16.0])
def test_no_other_pure_mechanism_is_more_precise(k, epsilon):
    counts = np.random.default_rng(k).geometric(0.05, k)
    domain = sp.Domain([sp.Attribute("a", tuple(map(str, range(k))))])
    precisions = Precisions(
        sp.Records(domain, np.repeat(np.arange(k), counts)[:, None])
    )
    pure = [family for family in BUILT_IN if not family.approximate]
    made = [family.create(k, epsilon) for family in pure]
    noise = {one.name: one.variance(1, precisions.frequencies[0]).sum() for one in made}
    name = precisions.best_mechanism(0, epsilon)
    assert len(noise) > len(FAMILIES)
    assert noise[name] <= min(noise.values()) * (1 + 1e-8)
    expected = 1 / (noise[name] + 1 - (precisions.frequencies[0] ** 2).sum())
    assert precisions.best(0, epsilon) == pytest.approx(expected)
