"""One budget for each attribute: the most useful ones within the limits.

minimise    sum_i w_i V_i(eps_i)
subject to  eps_i + sum_j L(j -> i; eps_j) <= limit_i       [theory-totals: Calibration]

V_i is the variance that the attribute's mechanism has in closed form, summed over its values.
L and its slope are closed form too, so the solver (SLSQP) gets exact gradients.  What it returns
is drawn towards the equal budgets, which are feasible, until every total is within its limit.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from seepage._numerics import Floats
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.equal_budgets import evaluator, excess_of, largest_within, matrix_at
from seepage.designs.problem import Problem
from seepage.mechanisms import mechanism, registered
from seepage.totals.result import direct

__all__ = ["budgets_for_each", "weighted_variance"]

SMALLEST = 1e-6
"""No budget is tried below this share of its limit: variances grow without bound."""

STEP = 1e-5
"""Relative step of the derivative of a variance, a smooth function of one budget."""

ROUNDS = 200


def weighted_variance(
    pairs: PairCounts, problem: Problem, weights: Floats, epsilons: Floats
) -> float:
    """Return the weighted sum of the estimators' variances at some budgets."""
    parts = _variances(pairs, problem, epsilons)
    used = problem.collected
    return float((weights[used] * parts[used]).sum())


def budgets_for_each(
    data: PairCounts | Records,
    problem: Problem,
    guarantee: str,
    weights: Floats,
    equal: Floats,
    options: Mapping[str, Any],
) -> Floats:
    """Return budgets whose weighted variance is at most that of the equal ones.

    Under another guarantee than `independent` the solver's direction is found with the sum of
    leakages at a limit that the guarantee's own equal budget attains, then drawn back until the
    guarantee holds.  Where equal budgets tell nothing, or nothing has a variance, they stay.
    """
    pairs = data if isinstance(data, PairCounts) else data.pairs()
    if not 0 < weighted_variance(pairs, problem, weights, equal) < np.inf:
        return equal
    limits = _surrogate_limits(pairs, problem, guarantee, equal)
    wished = _solve(pairs, problem, weights, equal, limits)
    evaluate = evaluator(data, problem, guarantee, options)

    def between(share: float) -> Floats:
        return problem.epsilons(equal + share * (wished - equal))

    share = largest_within(lambda s: excess_of(problem, evaluate(between(s))), 1.0)
    found = between(share)
    better = weighted_variance(pairs, problem, weights, found) < weighted_variance(
        pairs, problem, weights, equal
    )
    return found if better else equal


def _surrogate_limits(pairs: PairCounts, problem: Problem, guarantee: str, equal: Floats) -> Floats:
    """Return limits for the sum of leakages that allow the equal budgets and little more."""
    if guarantee == "independent":
        return problem.limits
    limited = np.isfinite(problem.limits)
    sums = equal_sums(pairs, problem, equal)
    return np.where(limited, sums[limited].max(), np.inf)


def equal_sums(pairs: PairCounts, problem: Problem, epsilons: Floats) -> Floats:
    """Return the sum of leakages of each attribute."""
    return evaluator(pairs, problem, "independent", {})(epsilons)


def _solve(
    pairs: PairCounts, problem: Problem, weights: Floats, equal: Floats, limits: Floats
) -> Floats:
    from scipy.optimize import minimize

    solve: Any = minimize
    free = np.flatnonzero(problem.collected)
    bound = np.flatnonzero(np.isfinite(limits))
    scale = weighted_variance(pairs, problem, weights, equal)

    def every_budget(part: Floats) -> Floats:
        epsilons = np.zeros(len(problem.domain))
        epsilons[free] = part
        return epsilons

    def cost(part: Floats) -> tuple[float, Floats]:
        epsilons = every_budget(part)
        now = weighted_variance(pairs, problem, weights, epsilons) / scale
        return now, _variance_slopes(pairs, problem, weights, epsilons)[free] / scale

    def slack(part: Floats) -> Floats:
        return limits[bound] - equal_sums(pairs, problem, every_budget(part))[bound]

    def slack_slopes(part: Floats) -> Floats:
        return -_total_slopes(pairs, problem, every_budget(part))[np.ix_(bound, free)]

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


def _total_slopes(pairs: PairCounts, problem: Problem, epsilons: Floats) -> Floats:
    """Return d total_i / d eps_j: the slope of each leakage times that of the contrast."""
    matrix = matrix_at(pairs, problem, epsilons)
    slopes = matrix.slopes * _contrast_slopes(problem, epsilons)[None, :]
    own = [_difference(_direct_of(problem, i), epsilons[i]) for i in range(len(epsilons))]
    return slopes + np.diag(own)


def _contrast_slopes(problem: Problem, epsilons: Floats) -> Floats:
    """Return how fast the contrast of each attribute's report grows with its epsilon."""
    result = np.ones(len(epsilons))
    for index, (attribute, name) in enumerate(zip(problem.domain, problem.mechanism, strict=True)):
        if name is None or problem.public[index]:
            continue

        def contrast(epsilon: float, k: int = attribute.size, name: str = name) -> float:
            sets = mechanism(name, k, epsilon).likely_sets
            return epsilon if sets is None else sets.contrast

        result[index] = _difference(contrast, epsilons[index])
    return result


def _direct_of(problem: Problem, index: int) -> Callable[[float], float]:
    """Return what the attribute's own report says about it, as a function of its budget."""
    from seepage.leakage.release import Release

    name, k = problem.mechanism[index], problem.domain[index].size
    if problem.public[index]:
        return lambda epsilon: 0.0

    def dpl(epsilon: float) -> float:
        made = None if name is None else mechanism(name, k, epsilon)
        return direct(Release(epsilon, 0.0, made), "report")[0]

    return dpl


def _difference(function: Callable[[float], float], at: float) -> float:
    """Return a derivative by a central difference."""
    step = STEP * (at or STEP)
    low = max(at - step, 0.0)
    return (function(at + step) - function(low)) / (at + step - low)


def _variances(pairs: PairCounts, problem: Problem, epsilons: Floats) -> Floats:
    """Return each attribute's variance, summed over its values, for one report."""
    result = np.zeros(len(epsilons))
    for index in np.flatnonzero(problem.collected):
        shares = pairs.marginals[index] / pairs.records
        result[index] = _variance(problem, int(index), float(epsilons[index]), shares)
    return result


def _variance(problem: Problem, index: int, epsilon: float, shares: Floats) -> float:
    """Return the variance of the named mechanism, or the least of all pure ones."""
    k, name = problem.domain[index].size, problem.mechanism[index]
    if name is not None:
        return float(mechanism(name, k, epsilon).variance(1, shares).sum())
    pure = [key for key, family in registered().items() if not family.approximate]
    return min(float(mechanism(key, k, epsilon).variance(1, shares).sum()) for key in pure)


def _variance_slopes(
    pairs: PairCounts, problem: Problem, weights: Floats, epsilons: Floats
) -> Floats:
    result = np.zeros(len(epsilons))
    for index in np.flatnonzero(problem.collected):
        shares = pairs.marginals[index] / pairs.records

        def variance(epsilon: float, index: int = int(index), shares: Floats = shares) -> float:
            return _variance(problem, index, epsilon, shares)

        result[index] = weights[index] * _difference(variance, float(epsilons[index]))
    return result
