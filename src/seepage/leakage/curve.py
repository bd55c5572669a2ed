"""Leakage of a channel as a function of epsilon, and its inverse."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.results import Result
from seepage._core.rounding import round_down
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.bound import leakage_bound, saturation
from seepage.leakage.delta import hockey_stick_profile, invert_profile


@dataclass(frozen=True, eq=False, repr=False)
class LeakageCurve(Result):
    """The leakage bound at several budgets, and its limit as epsilon grows.

    Parameters
    ----------
    epsilons, values
        Budgets and the leakage bound at each.
    saturation
        ln max over u, x, x' of G[x,u] / G[x',u]: the limit of the leakage as epsilon
        grows; infinite where a source value excludes a target value.
    pair
        The names "source -> target", for the chart.
    """

    epsilons: Floats
    values: Floats
    saturation: float
    pair: str = "source -> target"

    def _headline(self) -> str:
        budgets = f"{len(self.epsilons)} budgets"
        if len(self.epsilons) == 1:
            budgets = "1 budget"
        return f"LeakageCurve({self.pair}, {budgets}, saturation {self.saturation:.4g})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {"epsilon": self.epsilons.tolist(), "leakage": self.values.tolist()}

    def chart(self) -> Any:
        """Return the curve as an Altair chart, with its saturation level."""
        from seepage.charts.leakage_curves import curve_chart

        order = np.argsort(self.epsilons)
        return curve_chart(
            self.epsilons[order].tolist(),
            self.values[order].tolist(),
            self.saturation,
            self.pair,
        )


def leakage_curve(
    channel: Channel | ArrayLike, epsilons: Sequence[float] | Floats
) -> LeakageCurve:
    """Return the leakage bound at each of several budgets.

    Parameters
    ----------
    channel
        G = P(source given target), m target values by t source values.
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
    matrix = as_matrix(channel)
    budgets = np.array(
        [checks.epsilon(value) for value in checks.items(epsilons, "epsilons")],
        dtype=np.float64,
    )
    values = np.array([leakage_bound(matrix, budget).value for budget in budgets])
    if not isinstance(channel, Channel):
        return LeakageCurve(budgets, values, saturation(matrix))
    pair = f"{channel.output.name} -> {channel.given.name}"
    return LeakageCurve(budgets, values, saturation(matrix), pair)


def epsilon_for_leakage(channel: Channel | ArrayLike, leakage: Any) -> float:
    """Return the largest epsilon whose leakage bound is at most `leakage`, rounded
    down.

    eps(l) = ln(1 + (e^l - 1) / E(e^l)), E the hockey-stick profile [theory: The bound].

    Parameters
    ----------
    channel
        G = P(source given target), m target values by t source values.
    leakage
        The allowed leakage l, at least 0.

    Returns
    -------
    float
        A budget whose `leakage_bound` does not exceed `leakage`; infinite where no
        bound does (a leakage at or above the saturation level, or a source independent
        of the target).

    Notes
    -----
    One evaluation of the profile, O(m^2 t), and a check of the result; while its bound exceeds
    `leakage` by rounding, it is computed again for a slightly smaller leakage.

    Examples
    --------
    >>> import seepage as sp
    >>> budget = sp.epsilon_for_leakage([[0.9, 0.1], [0.2, 0.8]], 0.5)
    >>> (
    ...     round(budget, 4),
    ...     sp.leakage_bound([[0.9, 0.1], [0.2, 0.8]], budget).value <= 0.5,
    ... )
    (0.7038, True)
    """
    matrix = as_matrix(channel)
    allowed = checks.real(leakage, "leakage")
    if not allowed >= 0:
        raise checks.violation("leakage", "at least 0", leakage)
    if allowed >= saturation(matrix):
        return math.inf
    aim = round_down(allowed, 3 * matrix.shape[1] + 8)
    step = 2.0**-50
    while aim > 0:
        excess = hockey_stick_profile(matrix, aim)
        budget = invert_profile(aim, excess) if excess > 0 else math.inf
        if budget < math.inf and leakage_bound(matrix, budget).value <= allowed:
            return budget
        aim = max(0.0, aim * (1 - step))
        step = 2 * step
    return 0.0
