"""Shares with a smaller largest error at nearly the least mean error."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize

import seepage as sp
from seepage.designs.forms.a_optimal_shares import best_shares, evaluate
from seepage.designs.forms.balanced_shares import MAX_COST, balanced_shares
from seepage.designs.forms.form_pool import MAX_PRUNING_COST, MIN_SHARES, FormPool


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


def skewed_table(people=4_000):
    """Five answers of which one is common, and coins that follow them."""
    rng = np.random.default_rng(3)
    columns = {}
    for number in range(3):
        answers = rng.choice(5, people, p=[0.8, 0.05, 0.05, 0.05, 0.05])
        columns[f"many{number}"] = answers.astype(str)
        follows = rng.random(people) < np.where(answers > 0, 0.6, 0.5)
        columns[f"few{number}"] = np.where(follows, "yes", "no")
    return pa.table(columns)


def test_the_least_precise_answers_of_questions_are_alike(monkeypatch):
    """The number of people follows from the largest variance of an answer, which is
    above the mean of its question where an answer is common.
    """
    records = sp.Records.from_data(skewed_table())
    balanced = sp.design(records, 2.0, scope="table", shape="never", effort=0.2)
    monkeypatch.setattr("seepage.designs.forms.balanced_shares.MAX_COST", 0.0)
    least = sp.design(records, 2.0, scope="table", shape="never", effort=0.2)
    assert balanced.people_for(0.03) < least.people_for(0.03)


def pool_of(seed, questions=8, forms=60):
    """Return a pool of random forms of two to four questions, and of one each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, questions)
    rows = np.zeros((forms, questions))
    for row in rows:
        asked = rng.integers(2, 5)
        places = rng.choice(questions, asked, replace=False)
        row[places] = rng.uniform(0.8, 1.25, asked) * asked**-0.8
    rows = np.vstack([rows, np.eye(questions)]) / sizes
    precisions = SimpleNamespace(
        quantities=[(j,) for j in range(questions)],
        largest_to_mean=lambda _, __: 1.0,
    )
    problem = SimpleNamespace(
        precisions=precisions,
        importance=np.ones(questions),
        scale=None,
        domain=SimpleNamespace(sizes=tuple(sizes.tolist())),
    )
    pool = FormPool(problem)
    pool.rows = rows
    pool.shares = np.full(len(rows), 1 / len(rows))
    return pool


@pytest.mark.parametrize("seed", [4, 35, 114, 146])
def test_no_form_is_for_a_thousandth_of_the_people(seed):
    """Forms that the least mean needs, and its balance hardly, are dropped too."""
    pool = pool_of(seed)
    best = pool.solve_master(1e-4, 20_000)
    everything = np.ones(len(pool.shares), dtype=np.bool_)
    all_forms = pool._balanced(everything, best, pool._scale())
    before = pool._largest(all_forms)
    final = pool.final_solution()
    shares = pool.shares[pool.shares > 0]
    assert shares.min() >= MIN_SHARES[-1]
    assert pool._largest(pool.shares) <= before * (1 + MAX_PRUNING_COST)
    assert final.objective <= best.objective * (1 + MAX_COST) * (1 + 1e-9)
