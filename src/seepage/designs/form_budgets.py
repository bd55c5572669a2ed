"""One budget for each attribute of a form: more precision within the same limits.

Maximise sum_j prices_j / v_j(eps_j) subject to T_k(eps) <= limit_k for every attribute k of the
table: a sequence of linear programs within a trust region, each answer drawn back along the ray
to budget 0, on which totals fall, until every total is within its limit.
"""

from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.designs.equal_budgets import largest_within
from seepage.designs.form_counts import FormTable
from seepage.designs.form_problem import FittedForm, FormProblem

STEP = 1e-4
"""Relative step of the differences."""

SMALLEST = 1e-2
"""Share of the largest budget below which none is tried; a form without the attribute is better."""

FIRST, LAST = 0.25, 0.01
"""Trust region as a share of each budget: where it starts, and where the search ends."""

BETTER = 1e-5


def refine(problem: FormProblem, form: FittedForm, prices: Floats) -> FittedForm:
    """Return the form with budgets that gain at least as much at some prices.

    A form whose totals are coarser than the scorer's stays as it is.
    """
    if len(form.attributes) == 1 or form.guarantee != problem.scorer.guarantee:
        return form
    table = problem.scorer.table(form.attributes)
    epsilons, trust = form.epsilons, FIRST
    gain = _gain(problem, table, epsilons, prices)
    while trust >= LAST:
        wished = _step(problem, table, epsilons, prices, trust)
        found = _drawn_back(problem, table, wished)
        value = _gain(problem, table, found, prices)
        if value > gain * (1 + BETTER):
            epsilons, gain = found, value
        else:
            trust /= 2.5
    return problem.fitted(table, epsilons)


def _gain(problem: FormProblem, table: FormTable, epsilons: Floats, prices: Floats) -> float:
    return float(problem.precisions.row(table.attributes, epsilons.tolist()) @ prices)


def _step(
    problem: FormProblem, table: FormTable, epsilons: Floats, prices: Floats, trust: float
) -> Floats:
    """Return the best budgets by the linearised gain and totals."""
    from scipy.optimize import linprog

    solve: Any = linprog
    bound = np.isfinite(problem.limits)
    now = problem.scorer.totals(table, epsilons)[bound]
    gain = _gain(problem, table, epsilons, prices)
    slopes, gains = np.empty((len(now), len(epsilons))), np.empty(len(epsilons))
    for place, epsilon in enumerate(epsilons.tolist()):
        moved = epsilons.copy()
        moved[place] = epsilon * (1 + STEP)
        width = moved[place] - epsilon
        slopes[:, place] = (problem.scorer.totals(table, moved)[bound] - now) / width
        gains[place] = (_gain(problem, table, moved, prices) - gain) / width
    caps = problem.caps[list(table.attributes)]
    least = np.maximum(problem.least[list(table.attributes)], SMALLEST * caps)
    low = np.minimum(np.maximum(least - epsilons, -trust * epsilons), 0.0)
    high = np.maximum(np.minimum(caps - epsilons, trust * epsilons), 0.0)
    rows, slack = slopes, problem.limits[bound] - now
    if problem.record_limit < np.inf:
        rows = np.vstack([rows, np.ones(len(epsilons))])
        slack = np.append(slack, problem.record_limit - epsilons.sum())
    answer = solve(
        -gains / max(np.abs(gains).max(), 1e-300),
        A_ub=rows,
        b_ub=np.maximum(slack, 0.0),
        bounds=np.stack([low, high], axis=1),
        method="highs",
    )
    return epsilons + answer.x if answer.status == 0 else epsilons


def _drawn_back(problem: FormProblem, table: FormTable, wished: Floats) -> Floats:
    """Return the largest multiple of some budgets that keeps the limits, none above its cap."""
    caps = problem.caps[list(table.attributes)]

    def scaled(share: float) -> Floats:
        return np.minimum(wished * share, caps)

    def excess(share: float) -> float:
        budgets = scaled(share)
        return problem.excess(problem.scorer.totals(table, budgets), budgets)

    return scaled(largest_within(excess, 1.05, 1e-7))
