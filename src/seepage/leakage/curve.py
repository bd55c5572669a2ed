"""Leakage against epsilon, and the way back: the budget at which a leakage is reached."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Floats, round_down
from seepage._results import Result
from seepage.data.channel import Channel, SparseLike, as_dense_or_sparse, is_sparse
from seepage.errors import InputError
from seepage.leakage.bound import channel_profile, leakage_bound, saturation
from seepage.leakage.likely_sets import best_of_all

__all__ = ["LeakageCurve", "epsilon_for_leakage", "leakage_curve"]


@dataclass(frozen=True, eq=False, repr=False)
class LeakageCurve(Result):
    """The leakage bound at several budgets, and the level at which it saturates.

    Parameters
    ----------
    epsilons, values
        Budgets and the leakage bound at each.
    saturation
        ln max over u, x, x' of G[x,u] / G[x',u]: the limit of the leakage as epsilon grows;
        infinite where a source value excludes a target value.
    pair
        The direction, for the chart.
    """

    epsilons: Floats
    values: Floats
    saturation: float
    pair: str = "source -> target"

    def _headline(self) -> str:
        budgets = f"{len(self.epsilons)} budget{'s' if len(self.epsilons) != 1 else ''}"
        return f"LeakageCurve({self.pair}, {budgets}, saturation {self.saturation:.4g})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {"epsilon": self.epsilons.tolist(), "leakage": self.values.tolist()}

    def chart(self) -> Any:
        """Return the curve as an Altair chart, with its saturation level."""
        from seepage.charts.results import curve_chart

        order = np.argsort(self.epsilons)
        return curve_chart(
            self.epsilons[order].tolist(), self.values[order].tolist(), self.saturation, self.pair
        )


def leakage_curve(
    channel: Channel | ArrayLike | SparseLike, epsilons: Sequence[float] | Floats
) -> LeakageCurve:
    """Return the leakage bound at each of several budgets.

    Parameters
    ----------
    channel
        G = P(source given target), m target values by t source values; sparse as in
        `leakage_bound`.
    epsilons
        The budgets, in any order.

    Notes
    -----
    One `leakage_bound` per budget, O(m^2 t).

    Examples
    --------
    >>> import seepage as sp
    >>> curve = sp.leakage_curve([[0.9, 0.1], [0.2, 0.8]], [0, 1, 10, 700])
    >>> curve.values.round(3).tolist(), round(curve.saturation, 3)
    ([0.0, 0.706, 2.079, 2.079], 2.079)
    """
    matrix = as_dense_or_sparse(channel)
    budgets = np.array([_checks.epsilon(value) for value in epsilons], dtype=np.float64)
    if is_sparse(matrix) or not len(budgets):
        values = np.array([leakage_bound(matrix, budget).value for budget in budgets])
    else:
        stack = np.broadcast_to(matrix, (len(budgets), *matrix.shape))
        values = best_of_all(stack, budgets).value
    if not isinstance(channel, Channel):
        return LeakageCurve(budgets, values, saturation(matrix))
    pair = f"{channel.output.name} -> {channel.given.name}"
    return LeakageCurve(budgets, values, saturation(matrix), pair)


def epsilon_for_leakage(channel: Channel | ArrayLike | SparseLike, leakage: Any) -> float:
    """Return the largest epsilon whose leakage bound is at most `leakage`, rounded down.

    eps(l) = ln(1 + (e^l - 1) / E(e^l)), E the hockey-stick profile [theory: The bound].

    Parameters
    ----------
    channel
        G = P(source given target), m target values by t source values; sparse as in
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
    matrix = as_dense_or_sparse(channel)
    allowed = _checks.real(leakage, "leakage")
    if not allowed >= 0:
        raise InputError(f"leakage must be at least 0, got {leakage!r}")
    if allowed >= saturation(matrix):
        return math.inf
    goal, step = round_down(allowed, 3 * matrix.shape[1] + 8), 2.0**-50
    while goal > 0:
        share = channel_profile(matrix, goal)
        budget = _invert(goal, share) if share > 0 else math.inf
        if budget < math.inf and leakage_bound(matrix, budget).value <= allowed:
            return budget
        goal, step = max(0.0, goal * (1 - step)), 2 * step
    return 0.0


def _invert(leakage: float, share: float) -> float:
    """Return ln(1 + (e^l - 1)/E) for l > 0, rounded down, without overflow."""
    quotient = leakage + math.log(-math.expm1(-leakage)) - math.log(share)
    return round_down(float(np.logaddexp(0.0, quotient)), 40)
