"""One budget per attribute: those with the lowest weighted variance within the limits.

minimise    sum_i w_i V_i(eps_i)
subject to  eps_i + sum_j L(j -> i; eps_j) <= limit_i       [theory-totals: Calibration]

V_i is the closed-form variance of the attribute's mechanism, summed over its values.  L and its
derivative are closed forms too, so the solver (SLSQP) gets exact gradients.  Its solution is moved
towards the equal budgets, which are feasible, or scaled down, until every total is within its
limit.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.designs.equal_budgets import Problem, largest_within
from seepage.leakage.release import Release
from seepage.mechanisms import mechanism, registered
from seepage.totals.result import direct_leakage

MIN_BUDGET_SHARE = 1e-6
"""Lower bound of a budget relative to its limit: variances diverge at budget 0."""

RELATIVE_STEP = 1e-5
"""Step of a central difference relative to the budget; the function is smooth in the budget."""

MAX_ITERATIONS = 200
"""Maximum number of iterations of SLSQP."""


def weighted_variance(problem: Problem, weights: Floats, epsilons: Floats) -> float:
    """Return the weighted sum of the estimators' variances at some budgets."""
    collected = np.flatnonzero(problem.collected).tolist()
    variances = [_lowest_variance(problem, j, float(epsilons[j]))[0] for j in collected]
    return float((weights[collected] * np.array(variances)).sum())


def budgets_for_each(problem: Problem, weights: Floats, equal: Floats) -> Floats:
    """Return budgets whose weighted variance is at most that of the equal ones.

    Under another guarantee than `independent` the solver constrains the sum of leakages, at a
    limit that the equal budgets attain; its solution is then moved towards the equal budgets, and
    scaled down, until the totals under the guarantee are within the limits; the one with the lower
    variance counts.  Equal budgets are returned if their weighted variance is infinite or 0.
    """
    before = weighted_variance(problem, weights, equal)
    if not 0 < before < np.inf:
        return equal
    solution = _solve(problem, weights, equal, _limits_of_sums(problem, equal), before)
    lowest = np.minimum(problem.least, equal)

    def towards_equal(share: float) -> Floats:
        return problem.epsilons(np.maximum(equal + share * (solution - equal), lowest))

    def scaled(factor: float) -> Floats:
        return np.maximum(problem.scaled(solution, factor), lowest)

    def largest_feasible(path: Callable[[float], Floats]) -> Floats:
        return path(largest_within(lambda s: problem.excess(problem.totals(path(s))), 1.0))

    candidates = (equal, largest_feasible(towards_equal), largest_feasible(scaled))
    return min(candidates, key=lambda budgets: weighted_variance(problem, weights, budgets))


def _limits_of_sums(problem: Problem, equal: Floats) -> Floats:
    """Return limits of the sums of leakages: the largest sum at the equal budgets."""
    if problem.guarantee == "independent":
        return problem.limits
    limited = np.isfinite(problem.limits)
    return np.where(limited, problem.independent(equal)[limited].max(), np.inf)


def _solve(
    problem: Problem, weights: Floats, equal: Floats, limits: Floats, scale: float
) -> Floats:
    """Return the solution of the program above by SLSQP, from the equal budgets; cost / scale."""
    from scipy.optimize import minimize

    solve: Any = minimize
    free = np.flatnonzero(problem.collected)
    limited = np.flatnonzero(np.isfinite(limits))

    def all_budgets(budgets: Floats) -> Floats:
        epsilons = np.zeros(len(problem.domain))
        epsilons[free] = budgets
        return epsilons

    def cost(budgets: Floats) -> tuple[float, Floats]:
        pairs = map(partial(_variance_and_slope, problem), free.tolist(), budgets.tolist())
        values, slopes = np.array(list(pairs)).T
        return float((weights[free] * values).sum()) / scale, weights[free] * slopes / scale

    def slack(budgets: Floats) -> Floats:
        return limits[limited] - problem.independent(all_budgets(budgets))[limited]

    def slack_slopes(budgets: Floats) -> Floats:
        return -total_slopes(problem, all_budgets(budgets))[np.ix_(limited, free)]

    caps = np.minimum(limits, problem.max_budget)[free]
    lowest = np.maximum(problem.least[free], MIN_BUDGET_SHARE * caps)
    highest = np.maximum(caps, lowest)
    answer = solve(
        cost,
        np.clip(equal[free], lowest, highest),
        jac=True,
        bounds=list(zip(lowest, highest, strict=True)),
        constraints={"type": "ineq", "fun": slack, "jac": slack_slopes},
        method="SLSQP",
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-10},
    )
    return all_budgets(np.clip(answer.x, lowest, highest))


def total_slopes(problem: Problem, epsilons: Floats) -> Floats:
    """Return d total_i / d eps_j, by the chain rule through the contrast of report j.

    Off the diagonal d L(j -> i) / d contrast_j times d contrast_j / d eps_j; on the diagonal the
    derivative of the leakage of the attribute's own report is added.
    """
    contrast_slopes, own_slopes = np.ones(len(epsilons)), np.zeros(len(epsilons))
    for index in np.flatnonzero(~problem.public).tolist():
        contrast_slopes[index] = _derivative(partial(_contrast, problem, index), epsilons[index])
        own_slopes[index] = _derivative(partial(_own_leakage, problem, index), epsilons[index])
    return problem.matrix(epsilons).slopes * contrast_slopes[None, :] + np.diag(own_slopes)


def _release(problem: Problem, index: int, epsilon: float) -> Release:
    name, k = problem.mechanism[index], problem.domain[index].size
    return Release(epsilon, 0.0, None if name is None else mechanism(name, k, epsilon))


def _contrast(problem: Problem, index: int, epsilon: float) -> float:
    """Return the contrast of an attribute's report if it is two-level, else its epsilon."""
    sets = _release(problem, index, epsilon).sets("report")
    return epsilon if sets is None else sets.contrast


def _own_leakage(problem: Problem, index: int, epsilon: float) -> float:
    """Return the leakage of an attribute's own report about it, in nats."""
    return direct_leakage(_release(problem, index, epsilon), "report")[0]


def _derivative(function: Callable[[float], float], at: float) -> float:
    """Return the derivative by a central difference; one-sided at 0."""
    step = RELATIVE_STEP * (at or RELATIVE_STEP)
    low = max(at - step, 0.0)
    return (function(at + step) - function(low)) / (at + step - low)


def _variance_and_slope(problem: Problem, index: int, epsilon: float) -> tuple[float, float]:
    """Return the lowest variance at a budget, and its derivative for the same mechanism."""
    value, name = _lowest_variance(problem, index, epsilon)
    return value, _derivative(lambda at: _lowest_variance(problem, index, at, name)[0], epsilon)


def _lowest_variance(
    problem: Problem, index: int, epsilon: float, name: str | None = None
) -> tuple[float, str]:
    """Return the variance of one report, summed over the values, and the mechanism's name.

    The mechanism is the one given by name, else the attribute's, else the best pure one.
    """
    k, fixed = problem.domain[index].size, name or problem.mechanism[index]
    shares = problem.pairs.marginals[index] / problem.pairs.records
    pure = [key for key, family in registered().items() if not family.approximate]
    names = pure if fixed is None else [fixed]
    return min((float(mechanism(n, k, epsilon).variance(1, shares).sum()), n) for n in names)
