"""The bound on leakage from epsilon and delta (Algorithm 2), its curve and inverse; delta(l)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import LARGE_EPSILON, UNIT, Floats, delta_text, round_down, round_up
from seepage._results import Result
from seepage.data.channel import Channel, as_matrix
from seepage.errors import InputError
from seepage.leakage import Leakage
from seepage.leakage.likely_sets import LikelySets, profile, two_level_leakage


def leakage_bound(
    channel: Channel | ArrayLike,
    epsilon: Any,
    *,
    delta: Any = 0.0,
    c_min: Any = None,
) -> Leakage:
    """Return the largest leakage about a target of any (epsilon, delta)-LDP mechanism.

    exp(l) = max over x, x', S of (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),
    lambda = e^epsilon - 1, G_x(S) the sum of G[x, u] over u in S   [theory: The bound].

    Parameters
    ----------
    channel
        G = P(source given target): m target values by t source values; a `Channel` or a matrix.
    epsilon, delta
        The budget of the mechanism that releases the source.
    c_min
        A lower bound on P(report given value), over all reports and values.  With it the mechanism
        is pure at eps' = ln(e^epsilon + delta / c_min), and the leakage has delta 0.

    Returns
    -------
    Leakage
        `value` is l, between 0 and epsilon, rounded up; 0 iff epsilon is 0 or all rows are equal,
        epsilon iff two rows have disjoint support.  `delta` is the certified delta' =
        delta (e^l - 1)/(e^epsilon - 1), `paper_delta` the paper's f* = delta A, never smaller.
        The witness holds the two target values and S; `profile()` is delta as a function of l.

    Notes
    -----
    Dinkelbach's iteration on the hockey-stick profile, O(m^2 t); see `leakage.likely_sets`.

    Examples
    --------
    >>> import seepage as sp
    >>> joint = [[0.2, 0, 0, 0], [0, 0.2, 0, 0], [0.1, 0.15, 0.03, 0.02], [0.1, 0.15, 0.03, 0.02]]
    >>> G = [[cell / sum(row) for cell in row] for row in joint]
    >>> found = sp.leakage_bound(G, epsilon=1.0)
    >>> found.value, found.witness.likelier, found.witness.other, found.witness.likely
    (1.0, 0, 1, (0,))

    With a delta the leakage is a pair; if no report is less likely than 1/4, it is pure:

    >>> G = [[0.9, 0.1], [0.8, 0.2]]
    >>> for how in ({}, {"c_min": 0.25}):
    ...     found = sp.leakage_bound(G, 1.0, delta=0.01, **how)
    ...     print(round(found.value, 4), round(found.delta, 6))
    0.1368 0.000853
    0.1394 0.0
    """
    budget, slack = _checks.epsilon(epsilon), _checks.delta(delta)
    if c_min is not None:
        least = _checks.inner_probability(c_min, "c_min")
        raised = float(np.logaddexp(budget, math.log(slack / least))) if slack else budget
        budget, slack = round_up(raised, 8), 0.0
    sets = LikelySets("all", budget)
    found, matrix = two_level_leakage(channel, sets, slack), as_matrix(channel)
    pure = saturation(matrix) if slack else found.value
    curve = partial(delta_at, matrix, pure, partial(budget_profile, budget, slack))
    return replace(found, delta_at=curve)


def saturation(matrix: Floats) -> float:
    """Return the limit of the bound as epsilon grows, ln max G[x,u] / G[x',u], rounded up.

    Infinite where a source value is possible under some target values only.
    """
    return LikelySets("singletons", math.inf).best_pair(matrix).value


# The bound as a function of epsilon, and its inverse ---------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class LeakageCurve(Result):
    """The leakage bound at several budgets, and its limit as epsilon grows.

    Parameters
    ----------
    epsilons, values
        Budgets and the leakage bound at each.
    saturation
        ln max over u, x, x' of G[x,u] / G[x',u]: the limit of the leakage as epsilon grows;
        infinite where a source value excludes a target value.
    pair
        The names "source -> target", for the chart.
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


def leakage_curve(channel: Channel | ArrayLike, epsilons: Sequence[float] | Floats) -> LeakageCurve:
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
        [_checks.epsilon(value) for value in _checks.items(epsilons, "epsilons")], dtype=np.float64
    )
    values = np.array([leakage_bound(matrix, budget).value for budget in budgets])
    if not isinstance(channel, Channel):
        return LeakageCurve(budgets, values, saturation(matrix))
    pair = f"{channel.output.name} -> {channel.given.name}"
    return LeakageCurve(budgets, values, saturation(matrix), pair)


def epsilon_for_leakage(channel: Channel | ArrayLike, leakage: Any) -> float:
    """Return the largest epsilon whose leakage bound is at most `leakage`, rounded down.

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
        A budget whose `leakage_bound` does not exceed `leakage`; infinite where no bound does (a
        leakage at or above the saturation level, or a source independent of the target).

    Notes
    -----
    One evaluation of the profile, O(m^2 t), and a check of the result; while its bound exceeds
    `leakage` by rounding, it is computed again for a slightly smaller leakage.

    Examples
    --------
    >>> import seepage as sp
    >>> budget = sp.epsilon_for_leakage([[0.9, 0.1], [0.2, 0.8]], 0.5)
    >>> round(budget, 4), sp.leakage_bound([[0.9, 0.1], [0.2, 0.8]], budget).value <= 0.5
    (0.7038, True)
    """
    matrix = as_matrix(channel)
    allowed = _checks.real(leakage, "leakage")
    if not allowed >= 0:
        raise _checks.violation("leakage", "at least 0", leakage)
    if allowed >= saturation(matrix):
        return math.inf
    aim, step = round_down(allowed, 3 * matrix.shape[1] + 8), 2.0**-50
    while aim > 0:
        excess = profile(matrix, aim)
        budget = _invert_profile(aim, excess) if excess > 0 else math.inf
        if budget < math.inf and leakage_bound(matrix, budget).value <= allowed:
            return budget
        aim, step = max(0.0, aim * (1 - step)), 2 * step
    return 0.0


def _invert_profile(leakage: float, excess: float) -> float:
    """Return ln(1 + (e^l - 1)/E) for l > 0 and E = excess, rounded down, without overflow."""
    log_quotient = leakage + math.log(-math.expm1(-leakage)) - math.log(excess)
    return round_down(float(np.logaddexp(0.0, log_quotient)), 40)


# Delta as a function of the leakage ---------------------------------------------------------------

PROFILE_POINTS = 65
"""Points of a profile from 0 to twice the leakage."""


@dataclass(frozen=True, eq=False, repr=False)
class LeakageProfile(Result):
    """Delta as a function of the leakage: the channel to the report is (l, delta(l))-LDP.

    Parameters
    ----------
    leakages, deltas
        The leakages l in nats and the delta of each, rounded up.
    point
        The leakage and delta that are shown elsewhere: one point of the curve.
    """

    leakages: Floats
    deltas: Floats
    point: tuple[float, float]

    def _headline(self) -> str:
        value, delta = self.point
        shown = f"{value:.4g}{delta_text(delta) or ', delta 0'}"
        return f"LeakageProfile({len(self.leakages)} points; shown elsewhere: leakage {shown})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {"leakage": self.leakages.tolist(), "delta": self.deltas.tolist()}

    def chart(self) -> Any:
        """Return delta against the leakage as an Altair chart, with the point marked."""
        from seepage.charts.panels import profile_chart

        return profile_chart(self.leakages.tolist(), self.deltas.tolist(), self.point)


def leakage_profile(leakage: Leakage, leakages: Sequence[float] | None) -> LeakageProfile:
    """Return the profile of a leakage, see `Leakage.profile`."""
    if leakage.delta_at is None:
        raise InputError("this leakage has no profile: it is 0, or a saved bound")
    if leakages is None:
        end = 2 * leakage.value if math.isfinite(leakage.value) else 10.0
        chosen = np.linspace(0.0, end, PROFILE_POINTS)
    else:
        chosen = np.array([_checks.epsilon(v, "leakages") for v in _checks.items(leakages, "l")])
    deltas = np.array([leakage.delta_at(float(value)) for value in chosen])
    return LeakageProfile(chosen, deltas, (leakage.value, leakage.delta))


def budget_profile(epsilon: float, delta: float, other: float) -> float:
    """Return the largest delta at epsilon `other` of any (epsilon, delta)-LDP mechanism.

    delta + (1 - delta)(e^eps - e^e)+ / (e^eps + 1) [Kairouz, Oh and Viswanath 2015].

    Examples
    --------
    >>> round(budget_profile(1.0, 0.0, 0.0), 4), budget_profile(1.0, 0.01, 1.0)
    (0.4621, 0.01)
    """
    if other >= epsilon:
        return delta
    share = -math.expm1(other - epsilon) / (1 + math.exp(-epsilon))
    return min(1.0, round_up(delta + (1 - delta) * share, 8))


def delta_at(
    matrix: Floats, pure: float, how: Floats | Callable[[float], float], leakage: float
) -> float:
    """Return the delta for which the channel from target to report is (leakage, delta)-LDP.

    Parameters
    ----------
    matrix
        G = P(source given target).
    pure
        The leakage from which on delta is 0.
    how
        C = P(report given source); or, where that is not known, the mechanism's delta as a function
        of its epsilon.
    leakage
        The leakage l, at least 0.

    Notes
    -----
    With C, the hockey-stick divergence: max over x, x' of sum_y max(0, W[x, y] - e^l W[x', y]),
    W = G C.  Else E(e^l) times the mechanism's delta at eps(l) = ln(1 + (e^l - 1)/E(e^l)), the
    budget whose bound is l [theory: The certified delta].  Rounded up.
    """
    if leakage >= pure:
        return 0.0
    if isinstance(how, np.ndarray):
        reports, guard = np.asarray(matrix @ how), 2 * (len(how) + 8) * UNIT
        low = np.exp(min(leakage, LARGE_EPSILON)) * (1 - guard) * reports
        gains = (np.maximum((1 + guard) * row - low, 0.0).sum(axis=1).max() for row in reports)
        return min(1.0, round_up(float(max(gains)), how.shape[1]))
    excess = min(1.0, profile(matrix, leakage) + 2 * (matrix.shape[1] + 16) * UNIT)
    budget = _invert_profile(leakage, excess) if leakage > 0 else 0.0
    return float(round_up(excess * how(budget), 8))


def relaxed_leakage(
    channel: Channel | ArrayLike,
    pure: Leakage,
    budget: tuple[float, float],
    curve: Callable[[float], float],
) -> Leakage:
    """Return the leakage of a known mechanism with a delta, as a pair (l, delta).

    The pair has l = bound(epsilon), what a pure mechanism of the same epsilon could tell, and its
    delta(l); or (pure, 0) where the supremum over all reports is no larger.

    Parameters
    ----------
    channel
        G = P(source given target).
    pure
        The supremum over all reports, which may be far above epsilon, or infinite.
    budget
        Epsilon and delta of the mechanism.
    curve
        Delta as a function of the leakage, see `delta_at`.
    """
    if budget[1]:
        bound = two_level_leakage(channel, LikelySets("all", budget[0]), budget[1])
        if bound.value < pure.value:
            delta = min(bound.delta, curve(bound.value))
            return replace(bound, delta=delta, delta_at=curve)
    return replace(pure, delta_at=curve)
