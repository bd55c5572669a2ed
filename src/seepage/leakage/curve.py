"""Leakage against epsilon, and the way back: the budget at which a leakage is reached."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Floats, round_down
from seepage.data.channel import Channel
from seepage.errors import InputError
from seepage.leakage.bound import leakage_bound
from seepage.leakage.likely_sets import best_of_all, best_singleton, profile
from seepage.leakage.operands import Operand, SparseLike, as_operand, is_sparse
from seepage.leakage.sparse import sparse_profile, sparse_saturation

__all__ = ["LeakageCurve", "epsilon_for_leakage", "leakage_curve"]


@dataclass(frozen=True, eq=False)
class LeakageCurve:
    """The leakage bound at several budgets, and the level at which it saturates.

    Parameters
    ----------
    epsilons, values
        Budgets and the leakage bound at each.
    saturation
        ln max over u, x, x' of G[x,u] / G[x',u]: what the leakage rises to as epsilon grows;
        infinite where a source value excludes a target value.
    pair
        The direction, for the chart.
    """

    epsilons: Floats
    values: Floats
    saturation: float
    pair: str = "source -> target"

    def chart(self) -> Any:
        """Return the curve as an Altair chart, with its saturation level."""
        from seepage.charts.results import curve_chart

        order = np.argsort(self.epsilons)
        return curve_chart(
            self.epsilons[order].tolist(), self.values[order].tolist(), self.saturation, self.pair
        )


def leakage_curve(
    G: Channel | ArrayLike | SparseLike, epsilons: Sequence[float] | Floats
) -> LeakageCurve:
    """Return the leakage bound at each of several budgets.

    Parameters
    ----------
    G
        P(source given target), m target values by t source values; sparse as in
        `leakage_bound`.
    epsilons
        The budgets, in any order.

    Notes
    -----
    Costs one `leakage_bound` a budget, O(m^2 t).

    Examples
    --------
    >>> import seepage as sp
    >>> curve = sp.leakage_curve([[0.9, 0.1], [0.2, 0.8]], [0, 1, 10, 700])
    >>> curve.values.round(3).tolist(), round(curve.saturation, 3)
    ([0.0, 0.706, 2.079, 2.079], 2.079)
    """
    matrix = as_operand(G, "channel")
    budgets = np.array([_checks.epsilon(value) for value in epsilons], dtype=np.float64)
    if is_sparse(matrix) or not len(budgets):
        values = np.array([leakage_bound(matrix, budget).value for budget in budgets])
    else:
        stack = np.broadcast_to(matrix, (len(budgets), *matrix.shape))
        values = best_of_all(stack, budgets).value
    pair = f"{G.output.name} -> {G.given.name}" if isinstance(G, Channel) else "source -> target"
    return LeakageCurve(budgets, values, _saturation(matrix), pair)


def _saturation(matrix: Operand) -> float:
    """Return the level to which the bound rises as epsilon grows, rounded up."""
    if is_sparse(matrix):
        return sparse_saturation(matrix)
    return float(best_singleton(matrix[None], np.array([math.inf])).value[0])


def _profile(matrix: Operand, value: float) -> float:
    return sparse_profile(matrix, value) if is_sparse(matrix) else profile(matrix, value)[0]


def epsilon_for_leakage(G: Channel | ArrayLike | SparseLike, leakage: Any) -> float:
    """Return the largest epsilon whose leakage bound is at most `leakage`, rounded down.

    eps(l) = ln(1 + (e^l - 1) / E(e^l)), E the hockey-stick profile [theory: The bound].

    Parameters
    ----------
    G
        P(source given target), m target values by t source values; sparse as in
        `leakage_bound`.
    leakage
        The allowed leakage l, at least 0.

    Returns
    -------
    float
        A budget whose `leakage_bound` does not exceed `leakage`; infinite where no budget does
        (a leakage at or above the saturation level, or a source independent of the target).

    Notes
    -----
    One pass over the profile, O(m^2 t), then the answer is checked; while rounding leaves its
    bound above `leakage`, it is computed again for a slightly smaller one.

    Examples
    --------
    >>> import seepage as sp
    >>> budget = sp.epsilon_for_leakage([[0.9, 0.1], [0.2, 0.8]], 0.5)
    >>> round(budget, 4), sp.leakage_bound([[0.9, 0.1], [0.2, 0.8]], budget).value <= 0.5
    (0.7038, True)
    """
    matrix = as_operand(G, "channel")
    allowed = _checks.real(leakage, "leakage")
    if not allowed >= 0:
        raise InputError(f"leakage must be at least 0, got {leakage!r}")
    if allowed >= _saturation(matrix):
        return math.inf
    goal, step = round_down(allowed, 3 * matrix.shape[1] + 8), 2.0**-50
    while goal > 0:
        share = _profile(matrix, goal)
        budget = _invert(goal, share) if share > 0 else math.inf
        if budget < math.inf and leakage_bound(matrix, budget).value <= allowed:
            return budget
        goal, step = max(0.0, goal * (1 - step)), 2 * step
    return 0.0


def _invert(leakage: float, share: float) -> float:
    """Return ln(1 + (e^l - 1)/E) for l > 0, rounded down, without overflow."""
    quotient = leakage + math.log(-math.expm1(-leakage)) - math.log(share)
    return round_down(float(np.logaddexp(0.0, quotient)), 40)
