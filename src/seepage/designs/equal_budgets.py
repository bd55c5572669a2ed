"""Solving for a budget: the largest one whose total stays within the limit, never above it.

Finding budgets: equal ones, one for each attribute, and what a witness says of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.problem import Problem
from seepage.errors import InputError
from seepage.leakage.matrix import LeakageMatrix, leakage_matrix
from seepage.totals import TotalLeakage, total_leakage
from seepage.totals.composition import independent_totals

__all__ = [
    "Budgets",
    "Calibration",
    "Evaluate",
    "confirmed",
    "equal_budgets",
    "excess_of",
    "largest_within",
    "totals_at",
]

STEPS = 200


def largest_within(excess: Callable[[float], float], most: float, tolerance: float = 1e-9) -> float:
    """Return the largest budget up to `most` whose excess over the limit is not positive.

    Parameters
    ----------
    excess
        The largest total minus its limit, at a budget; it does not fall as the budget grows.
    most
        A budget that need not be exceeded.
    tolerance
        How far below the true answer the result may lie; it is never above.

    Notes
    -----
    Regula falsi (the Illinois rule) inside a bracket whose lower end always satisfies the limit,
    with a bisection whenever it does not halve the bracket: about ten evaluations for smooth
    totals, at most fifty for any.

    Examples
    --------
    >>> found = largest_within(lambda budget: 3 * budget - 1, most=1.0)
    >>> 1 / 3 - 1e-9 <= found <= 1 / 3
    True
    """
    low, at_low = 0.0, excess(0.0)
    if at_low > 0:
        raise InputError(
            f"no budget fits: with nothing collected a total is {at_low:.4g} above its limit"
        )
    high, at_high = most, excess(most)
    if at_high <= 0:
        return most
    for _ in range(STEPS):
        width = high - low
        if width <= tolerance:
            break
        for share in (_falsi(at_low, at_high), 0.5):
            middle = low + (high - low) * share
            if not low < middle < high:
                continue
            found = excess(middle)
            if found <= 0:
                low, at_low = middle, found
            else:
                high, at_high = middle, found
            if high - low <= width / 2:
                break
    return low


def _falsi(at_low: float, at_high: float) -> float:
    """Return where the chord crosses 0, as a share of the bracket, kept off its ends."""
    if at_high == float("inf") or at_low == float("-inf"):
        return 0.5
    return min(max(-at_low / (at_high - at_low), 1e-3), 1 - 1e-3)


Budgets = Literal["equal", "per-attribute"]

TOLERANCE = 1e-9
"""To what a budget is found; where the limit is below 1, to what share of it."""

SAMPLED_TOLERANCE = 1e-2
"""To what share of the limit a budget is found where each evaluation draws its own sample."""

ATTEMPTS = 20
"""Fresh samples that may be drawn to confirm a sampled budget, each lower than the last."""

Evaluate = Callable[[Floats], Floats]
"""The total of each attribute at the budgets of all."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Budgets that keep every total within its limit, and what they rest on.

    Parameters
    ----------
    problem
        What was asked.
    epsilons
        The budget of each attribute; 0 for those not collected.
    totals
        Every attribute's total at these budgets, with the guarantee's name and kind.
    budgets
        `"equal"` or `"per-attribute"`.
    gain
        For budgets per attribute: the weighted variance with equal budgets over that with these.
    audit
        What a search for refuting reports found, after an assumption; None if none was made.
    dropped
        Attributes to drop, in this order, when the smallest useful budgets do not fit.
    notes
        What a reader must know besides.
    """

    problem: Problem
    epsilons: Floats
    totals: TotalLeakage
    budgets: Budgets
    gain: float | None = None
    audit: Any = None
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def binding(self) -> str:
        """The attribute whose total is nearest to its limit."""
        slack = self.problem.limits - self.totals.values
        return self.problem.domain.names[int(np.argmin(slack))]


def totals_at(
    data: PairCounts | Records,
    problem: Problem,
    guarantee: str,
    epsilons: Floats,
    options: Mapping[str, Any],
) -> TotalLeakage:
    """Return every attribute's total at some budgets, under a guarantee."""
    budgets = dict(zip(problem.domain.names, epsilons.tolist(), strict=True))
    return total_leakage(
        data, budgets, mechanism=problem.mechanisms, guarantee=guarantee, **options
    )


def excess_of(problem: Problem, totals: Floats) -> float:
    """Return how far the worst total is above its limit; negative where all are within."""
    limited = np.isfinite(problem.limits)
    return float((totals[limited] - problem.limits[limited]).max())


def equal_budgets(
    data: PairCounts | Records, problem: Problem, guarantee: str, options: Mapping[str, Any]
) -> Floats:
    """Return the largest equal budgets whose totals stay within the limits.

    The total is continuous and increasing in the budget, so it is solved for to 1e-9, and to a
    hundredth of the limit for `sampled`, whose answer `confirmed` must still confirm.
    """
    evaluate, most = evaluator(data, problem, guarantee, options), problem.most
    found = largest_within(
        lambda budget: excess_of(problem, evaluate(problem.epsilons(_all(problem, budget)))),
        most,
        SAMPLED_TOLERANCE * most if guarantee == "sampled" else TOLERANCE * min(most, 1.0),
    )
    return problem.epsilons(_all(problem, found))


def evaluator(
    data: PairCounts | Records, problem: Problem, guarantee: str, options: Mapping[str, Any]
) -> Evaluate:
    """Return the totals as a function of the budgets, by the shortest way.

    The sum of leakages needs only one matrix, so 40 attributes take milliseconds.
    """
    pairs = data if isinstance(data, PairCounts) else data.pairs()
    if guarantee == "independent":
        return lambda epsilons: independent_totals(matrix_at(pairs, problem, epsilons))[0]
    return lambda epsilons: totals_at(data, problem, guarantee, epsilons, options).values


def matrix_at(pairs: PairCounts, problem: Problem, epsilons: Floats) -> LeakageMatrix:
    """Return the leakage matrix at some budgets."""
    return leakage_matrix(pairs, epsilons, mechanism=problem.mechanisms)


def _all(problem: Problem, budget: float) -> Floats:
    """Return one budget for all, but to none more than its own limit."""
    return np.asarray(np.minimum(np.full(len(problem.domain), budget), problem.limits))


def confirmed(
    data: PairCounts | Records, problem: Problem, epsilons: Floats, options: Mapping[str, Any]
) -> tuple[Floats, TotalLeakage]:
    """Return budgets that `sampled` confirms on reports not used to choose them, and their totals.

    The search looks at one set of reports over and over; only a fresh set may confirm, and only
    its totals may be stated.  Budgets that are not confirmed are lowered by 3%.  The j-th
    confirmation may be wrong with probability beta / 2^j, so all together hold with 1 - beta:
    that is stated whichever of them succeeds, for it was they that chose which.
    """
    confidence = _checks.probability(options.get("confidence", 0.95), "confidence")
    seed = options.get("seed", 0)
    for attempt in range(1, ATTEMPTS + 1):
        sure = 1 - (1 - confidence) / 2**attempt
        fresh = {**options, "seed": None if seed is None else seed + attempt, "confidence": sure}
        totals = totals_at(data, problem, "sampled", epsilons, fresh)
        if excess_of(problem, totals.values) <= 0:
            return epsilons, replace(totals, confidence=confidence)
        epsilons = scaled(problem, epsilons, 0.97)
    raise InputError("no sampled total was confirmed within its limit; use more reports")


def scaled(problem: Problem, base: Floats, share: float) -> Floats:
    """Return budgets in the same proportions, none above its own limit."""
    return problem.epsilons(np.minimum(base * share, problem.limits))
