"""The largest equal budgets whose totals are within the limits."""

from collections.abc import Callable
from dataclasses import replace

from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage.calibration.calibration_problem import CalibrationProblem
from seepage.calibration.largest_budget import bisected_budget, largest_budget
from seepage.totals.total_result import TotalLeakage

TOLERANCE = 1e-9
"""Accuracy of a budget in nats; relative to the limit if that is below 1."""

SAMPLED_TOLERANCE = 1e-2
"""Accuracy of a budget relative to the limit, where totals are computed on sampled
reports."""

MAX_CONFIRMATIONS = 20
"""Maximum number of fresh samples drawn to confirm sampled budgets."""

LOWERING = 0.97
"""Factor of budgets that were not confirmed."""


def equal_budgets(problem: CalibrationProblem) -> Floats:
    """Return the largest equal budgets whose totals stay within the limits.

    The total is continuous and increasing in the budget, so a root search finds the
    budget to `TOLERANCE`; for `sampled` to `SAMPLED_TOLERANCE`, as `confirmed_budgets`
    must still confirm it.  No attribute gets more than its own limit.  For the
    population every limit holds at the budget found: the family is fixed beforehand
    [theory-certificate: Families].
    """

    def excess(budget: float) -> float:
        """Return the excess of the totals at equal budgets."""
        return problem.excess(problem.totals(problem.equal(budget)).values)

    maximum = problem.max_budget
    if problem.steps:
        return problem.equal(bisected_budget(excess, maximum, problem.steps))
    if problem.guarantee == "sampled":
        tolerance = SAMPLED_TOLERANCE * maximum
    else:
        tolerance = TOLERANCE * min(maximum, 1.0)
    return problem.equal(largest_budget(excess, maximum, tolerance))


def confirmed_budgets(
    problem: CalibrationProblem,
    epsilons: Floats,
    totals_at: Callable[..., TotalLeakage] | None = None,
) -> tuple[Floats, TotalLeakage]:
    """Return equal budgets that `sampled` confirms on reports not used to choose them,
    and their totals.

    The search evaluates all budgets on one sample of reports; only an independent
    sample may confirm them, and only its totals are reported.  Budgets that are not
    confirmed are lowered by 3%.  The j-th confirmation has error probability beta /
    2^j, so by the union bound all hold with confidence 1 - beta, which is reported
    whichever attempt succeeds.

    Parameters
    ----------
    problem
        The constraints; its settings have the confidence 1 - beta and the seed.
    epsilons
        The budgets to confirm.
    totals_at
        Returns the totals at some budgets for keywords `rng` and `confidence`; by
        default those of the problem.
    """
    evaluate = totals_at or problem.totals
    confidence = problem.settings.confidence
    seed = problem.settings.rng
    for attempt in range(1, MAX_CONFIRMATIONS + 1):
        totals = evaluate(
            epsilons,
            rng=None if seed is None else seed + attempt,
            confidence=1 - (1 - confidence) / 2**attempt,
        )
        if problem.excess(totals.values) <= 0:
            return epsilons, replace(totals, confidence=confidence)
        epsilons = problem.scaled(epsilons, LOWERING)
    raise InputError(
        "no sampled total was confirmed within its limit; use more reports"
    )
