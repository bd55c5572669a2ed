"""Leakage of a channel as a function of epsilon, by mechanism, and the inverse of its
bound.
"""

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
from seepage._core.text import delta_text
from seepage.channel.channel import Channel, as_matrix
from seepage.channel.domain import Attribute
from seepage.leakage.bound import leakage_bound, saturation
from seepage.leakage.delta import hockey_stick_profile, invert_profile
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.release import make_release


@dataclass(frozen=True, eq=False, repr=False)
class LeakageCurve(Result):
    """The leakage at several budgets, and the limit of its bound as epsilon grows.

    Parameters
    ----------
    epsilons, values, deltas
        Budgets, the leakage at each, and the delta with which it holds.
    saturation
        ln max over u, x, x' of G[x,u] / G[x',u]: the limit of the bound as epsilon
        grows; infinite where a source value excludes a target value.
    pair
        The names "source -> target", for the chart.
    mechanism
        The mechanism's name; None for the bound over all.
    paper_deltas
        For the bound, the paper's f* at each budget, never below the delta: (l, f*) is
        what Algorithm 2 returns.
    """

    epsilons: Floats
    values: Floats
    deltas: Floats
    saturation: float
    pair: str = "source -> target"
    mechanism: str | None = None
    paper_deltas: Floats | None = None

    def _headline(self) -> str:
        """Return leakages by budget in one line."""
        budgets = f"{len(self.epsilons)} budgets"
        if len(self.epsilons) == 1:
            budgets = "1 budget"
        of = ""
        if self.mechanism is not None:
            of = f"{self.mechanism}, "
        return (
            f"LeakageCurve({self.pair}, {of}{budgets}{self._delta_text}, "
            f"saturation {self.saturation:.4g})"
        )

    @property
    def _delta_text(self) -> str:
        """The largest delta of a leakage curve in words; "" if all are 0."""
        return delta_text(float(self.deltas.max(initial=0.0)))

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of leakages by budget in long form."""
        return {
            "epsilon": self.epsilons.tolist(),
            "leakage": self.values.tolist(),
            "delta": self.deltas.tolist(),
        }

    def chart(self) -> Any:
        """Return the leakage curve as an Altair chart, with its saturation level."""
        from seepage.charts.leakage_curves import curve_chart

        order = np.argsort(self.epsilons)
        title = "Leakage bound"
        if self.mechanism is not None:
            title = f"Leakage of {self.mechanism}"
        return curve_chart(
            self.epsilons[order].tolist(),
            self.values[order].tolist(),
            self.saturation,
            title=f"{title}, {self.pair}{self._delta_text}",
        )


def leakage_curve(
    channel: Channel | ArrayLike,
    epsilons: Sequence[float] | Floats,
    *,
    mechanism: str | type[Mechanism] | None = None,
    delta: Any = 0.0,
) -> LeakageCurve:
    """Return the leakage at each of several budgets, a curve.

    Parameters
    ----------
    channel
        G = P(source given target), m target values by t source values.
    epsilons
        The budgets, in any order.
    mechanism
        A registered name or a class, whose budget varies; by default the bound over all
        mechanisms.
    delta
        Delta of (epsilon, delta)-LDP, at every budget.

    Notes
    -----
    One `leakage_bound` per budget, O(m^2 t), or one leakage of the mechanism.

    Examples
    --------
    >>> import seepage as sp
    >>> curve = sp.leakage_curve([[0.9, 0.1], [0.2, 0.8]], [0, 1, 10, 700])
    >>> curve.values.round(3).tolist(), round(curve.saturation, 3)
    ([0.0, 0.706, 2.079, 2.079], 2.079)
    >>> curve = sp.leakage_curve(
    ...     [[0.9, 0.1], [0.2, 0.8]], [1, 2], mechanism="approximate-grr", delta=0.01
    ... )
    >>> curve.values.round(3).tolist(), curve.deltas.round(4).tolist()
    ([0.706, 1.316], [0.006, 0.0043])
    """
    matrix = as_matrix(channel)
    budgets = [checks.epsilon(value) for value in checks.items(epsilons, "epsilons")]
    slack = checks.delta(delta)
    pair = "source -> target"
    source = Attribute("source", tuple(map(str, range(matrix.shape[1]))))
    if isinstance(channel, Channel):
        pair = f"{channel.output.name} -> {channel.given.name}"
        source = channel.output
    releases = [
        make_release(
            source,
            epsilon=budget,
            delta=slack,
            mechanism=_at_budget(mechanism, source.size, budget, slack),
        )
        for budget in budgets
    ]
    leakages = [release.leakage(channel, "report") for release in releases]
    paper_deltas = None
    if mechanism is None:
        paper_deltas = np.array([leakage.paper_delta for leakage in leakages])
    return LeakageCurve(
        epsilons=np.array(budgets, dtype=np.float64),
        values=np.array([leakage.value for leakage in leakages], dtype=np.float64),
        deltas=np.array([leakage.delta for leakage in leakages], dtype=np.float64),
        saturation=saturation(matrix),
        pair=pair,
        mechanism=mechanism if isinstance(mechanism, str | None) else mechanism.name,
        paper_deltas=paper_deltas,
    )


def _at_budget(mechanism: Any, size: int, epsilon: float, delta: float) -> Any:
    """Return the mechanism of a point of the curve: its name, or the object of a class
    at a budget.
    """
    if mechanism is None or isinstance(mechanism, str):
        return mechanism
    if isinstance(mechanism, type) and issubclass(mechanism, Mechanism):
        return mechanism.create(size, epsilon, delta)
    hint = ": its budget varies, which that of an object does not"
    raise checks.violation("mechanism", "a name or a class", mechanism, hint)


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
    One evaluation of the profile, O(m^2 t), and a check of the result; while its bound
    exceeds `leakage` by rounding, it is computed again for a slightly smaller leakage.

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
