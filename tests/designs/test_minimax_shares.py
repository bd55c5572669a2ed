"""Shares of forms whose largest error is the least, and designs that use them."""

import numpy as np
import pytest
from scipy.optimize import linprog

import seepage as sp
from benchmarks.search import rare_illness, traits
from seepage.designs.forms.form_pool import FormPool
from seepage.designs.forms.minimax_shares import minimax_shares


def random_forms(seed, forms=12, questions=6):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0.1, 1.0, (forms, questions))
    rows *= rng.random((forms, questions)) < 0.4
    return np.vstack([rows, np.diag(rng.uniform(0.3, 1.0, questions))])


def least_largest(rows, scale):
    """Max t with P_j >= c_j t over the simplex, a linear program; error 1 / t."""
    forms = len(rows)
    found = linprog(
        np.append(np.zeros(forms), -1.0),
        A_ub=np.column_stack([-rows.T, scale]),
        b_ub=np.zeros(rows.shape[1]),
        A_eq=[[1.0] * forms + [0.0]],
        b_eq=[1.0],
    )
    return 1 / found.x[-1]


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_error_is_that_of_a_linear_program(seed):
    rows = random_forms(seed)
    scale = np.random.default_rng(seed).uniform(0.5, 2.0, rows.shape[1])
    scale[0] = 0.0
    start = np.full(len(rows), 1 / len(rows))
    found = minimax_shares(rows, scale, np.ones(len(scale)) * (scale > 0), start, 300)
    least = least_largest(rows[:, 1:], scale[1:])
    assert least * (1 - 1e-9) <= found.largest <= 1.01 * least
    assert found.largest <= least * (1 + found.gap) * (1 + 1e-9)
    assert found.gap < 0.05
    assert found.shares.sum() == pytest.approx(1)


def survey(*, columns):
    return sp.make_survey(4_000).select(columns)


TABLES = {
    "answers of unequal shares": lambda: survey(
        columns=["age", "region", "employment", "income", "medication", "screen"]
    ),
    "many": lambda: sp.make_survey(3_000),
    "rare illness": rare_illness,
    "traits": traits,
    "two": lambda: survey(columns=["coffee", "condition"]),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_largest_error_needs_no_more_people_than_the_mean(name):
    settings = {"limit": 2.0, "shape": "never", "effort": 0.1}
    mean = sp.design(TABLES[name](), **settings)
    largest = sp.design(TABLES[name](), objective="largest", **settings)
    assert largest.people_for(0.03) <= mean.people_for(0.03)


def test_a_question_of_little_importance_is_still_asked():
    """Its form has few people, and is not dropped; no warning is an error here."""
    settings = {"importance": {"coffee": 0.003, "*": 1.0}, "largest": 1}
    plan = sp.design(
        survey(columns=["coffee", "condition", "screen"]),
        2.0,
        objective="largest",
        shape="never",
        effort=0.05,
        **settings,
    )
    assert {name for form in plan.forms for name in form.attributes} == {
        "coffee",
        "condition",
        "screen",
    }


def test_a_search_for_the_largest_error_that_is_stopped_at_once_is_repeated(
    monkeypatch,
):
    """Its plan is that of the search for the mean, which has the stated rounds."""
    settings = {"objective": "largest", "shape": "never", "effort": 0.1}
    table = survey(columns=["age", "coffee", "income", "screen"])

    def interrupt(pool):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FormPool, "minimise_largest", interrupt)
        stopped = sp.design(table, 2.0, **settings)
    search = stopped.provenance.settings["design"]
    assert search["ended"] == "interrupted"
    again = sp.design(table, 2.0, rounds=search["rounds"], **settings)
    assert again.digest == stopped.digest
