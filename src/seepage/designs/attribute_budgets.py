"""One budget for each attribute: the most useful ones within the limits.

minimise    sum_i w_i V_i(eps_i)
subject to  eps_i + sum_j L(j -> i; eps_j) <= limit_i       [theory-totals: Calibration]

V_i is the variance that the attribute's mechanism has in closed form, summed over its values.
L and its slope are closed form too, so the solver (SLSQP) gets exact gradients.  What it returns
is drawn towards the equal budgets, which are feasible, until every total is within its limit.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.designs.equal_budgets import Problem, largest_within
from seepage.errors import InputError
from seepage.leakage.release import Release
from seepage.mechanisms import mechanism, registered
from seepage.totals.result import direct_leakage

SMALLEST = 1e-6
"""No budget is tried below this share of its limit: variances grow without bound."""

STEP = 1e-5
"""Relative step of the derivative of a variance, a smooth function of one budget."""

ROUNDS = 200


def weighted_variance(problem: Problem, weights: Floats, epsilons: Floats) -> float:
    """Return the weighted sum of the estimators' variances at some budgets."""
    used = np.flatnonzero(problem.collected).tolist()
    parts = np.array([_least_variance(problem, j, float(epsilons[j]))[0] for j in used])
    return float((weights[used] * parts).sum())


def budgets_for_each(problem: Problem, weights: Floats, equal: Floats) -> Floats:
    """Return budgets whose weighted variance is at most that of the equal ones.

    Under another guarantee than `independent` the solver's direction is found with the sum of
    leakages at a limit that the guarantee's own equal budget attains, then drawn back until the
    guarantee holds.  Where equal budgets tell nothing, or nothing has a variance, they stay.
    """
    before = weighted_variance(problem, weights, equal)
    if not 0 < before < np.inf:
        return equal
    wished = _solve(problem, weights, equal, _limits_of_sums(problem, equal), before)

    def between(share: float) -> Floats:
        return problem.epsilons(equal + share * (wished - equal))

    share = largest_within(lambda s: problem.excess(problem.totals(between(s))), 1.0)
    found = between(share)
    return found if weighted_variance(problem, weights, found) < before else equal


def _limits_of_sums(problem: Problem, equal: Floats) -> Floats:
    """Return limits for the sum of leakages that allow the equal budgets and little more."""
    if problem.guarantee == "independent":
        return problem.limits
    limited = np.isfinite(problem.limits)
    return np.where(limited, problem.independent(equal)[limited].max(), np.inf)


def _solve(
    problem: Problem, weights: Floats, equal: Floats, limits: Floats, scale: float
) -> Floats:
    from scipy.optimize import minimize

    solve: Any = minimize
    free = np.flatnonzero(problem.collected)
    bound = np.flatnonzero(np.isfinite(limits))

    def every_budget(part: Floats) -> Floats:
        epsilons = np.zeros(len(problem.domain))
        epsilons[free] = part
        return epsilons

    def cost(part: Floats) -> tuple[float, Floats]:
        found = map(partial(_variance_and_slope, problem), free.tolist(), part.tolist())
        values, slopes = np.array(list(found)).T
        return float((weights[free] * values).sum()) / scale, weights[free] * slopes / scale

    def slack(part: Floats) -> Floats:
        return limits[bound] - problem.independent(every_budget(part))[bound]

    def slack_slopes(part: Floats) -> Floats:
        return -total_slopes(problem, every_budget(part))[np.ix_(bound, free)]

    lowest = np.maximum(problem.least[free], SMALLEST * np.minimum(limits, problem.most)[free])
    highest = np.maximum(np.minimum(limits, problem.most)[free], lowest)
    answer = solve(
        cost,
        np.clip(equal[free], lowest, highest),
        jac=True,
        bounds=list(zip(lowest, highest, strict=True)),
        constraints={"type": "ineq", "fun": slack, "jac": slack_slopes},
        method="SLSQP",
        options={"maxiter": ROUNDS, "ftol": 1e-10},
    )
    return every_budget(np.clip(answer.x, lowest, highest))


def total_slopes(problem: Problem, epsilons: Floats) -> Floats:
    """Return d total_i / d eps_j: the slope of each leakage times that of the contrast."""
    contrasts, own = np.ones(len(epsilons)), np.zeros(len(epsilons))
    for index in np.flatnonzero(~problem.public).tolist():
        contrasts[index] = _difference(partial(_contrast, problem, index), epsilons[index])
        own[index] = _difference(partial(_own, problem, index), epsilons[index])
    return problem.matrix(epsilons).slopes * contrasts[None, :] + np.diag(own)


def _released(problem: Problem, index: int, epsilon: float) -> Release:
    name, k = problem.mechanism[index], problem.domain[index].size
    return Release(epsilon, 0.0, None if name is None else mechanism(name, k, epsilon))


def _contrast(problem: Problem, index: int, epsilon: float) -> float:
    """Return the contrast of an attribute's report, where it is two-level, else its epsilon."""
    sets = _released(problem, index, epsilon).sets("report")
    return epsilon if sets is None else sets.contrast


def _own(problem: Problem, index: int, epsilon: float) -> float:
    """Return what the attribute's own report says about it."""
    return direct_leakage(_released(problem, index, epsilon), "report")[0]


def _difference(function: Callable[[float], float], at: float) -> float:
    """Return a derivative by a central difference."""
    step = STEP * (at or STEP)
    low = max(at - step, 0.0)
    return (function(at + step) - function(low)) / (at + step - low)


def _variance_and_slope(problem: Problem, index: int, epsilon: float) -> tuple[float, float]:
    """Return the least variance at a budget, and the slope of the mechanism that attains it."""
    value, name = _least_variance(problem, index, epsilon)
    return value, _difference(lambda at: _least_variance(problem, index, at, name)[0], epsilon)


def _least_variance(
    problem: Problem, index: int, epsilon: float, name: str | None = None
) -> tuple[float, str]:
    """Return one report's variance, summed over the values, and the mechanism that attains it.

    Of the mechanism given by name, else of the attribute's own, else of the best one with delta 0.
    """
    k, chosen = problem.domain[index].size, name or problem.mechanism[index]
    shares = problem.pairs.marginals[index] / problem.pairs.records
    pure = [key for key, family in registered().items() if not family.approximate]
    names = pure if chosen is None else [chosen]
    if not names:
        raise InputError("no pure mechanism is registered")
    return min((float(mechanism(n, k, epsilon).variance(1, shares).sum()), n) for n in names)
