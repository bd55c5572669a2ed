"""Leakage of one channel: exact, the bound over all mechanisms, its curve and inverse;
delta(l).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import UNIT, Floats, log_ratio, round_down, round_up
from seepage._results import Result, delta_text
from seepage.data import Channel, as_matrix
from seepage.errors import ChannelError, InputError
from seepage.leakage import Leakage, named_witness
from seepage.leakage.release import bounded_leakage, saturation
from seepage.leakage.solver import delta_at, invert_profile, profile

COLUMN_EXPONENT = 400
"""Binary exponent of the largest entry of each scaled column: away from underflow."""

MAX_PRODUCT_CELLS = 1 << 24
"""Cells of the product W in memory at a time: 128 MB."""


def exact_leakage(channel: Channel | ArrayLike, mechanism: Any) -> Leakage:
    """Return the exact leakage about a target when its source is released through a
    mechanism.

    CPL = ln max_y ( max_x W[x, y] / min_x W[x, y] ),  W = G C   [theory].

    Parameters
    ----------
    channel
        G = P(source given target): m target values by t source values; a `Channel` or a
        matrix.
    mechanism
        C = P(report given source), the mechanism's transition matrix, likewise: t
        source values by r reports; or a `Mechanism`, whose own closed form is used.

    Returns
    -------
    Leakage
        The value in nats, rounded up, with the two target values and the report y that
        attain it; for a mechanism with a delta the pair (l, delta), see
        `Mechanism.leakage`. A report that no target value can produce is excluded; one
        that is possible under one and impossible under another makes the leakage
        infinite.

    Notes
    -----
    One product and a maximum and minimum for each report, O(m t r), in blocks of reports, so that
    memory does not grow with m r.  The paper loops over all pairs of target values, O(m^2 t^2), and
    its listing takes a row of C where its equation takes the column of the report y; the column is
    right, since the adversary observes y.

    With c the smallest entry of a column, W = c + G (C - c): the part common to all
    inputs is not rounded, so a report that is independent of the input leaks exactly 0.

    Examples
    --------
    >>> import seepage as sp
    >>> randomised_response = [[0.75, 0.25], [0.25, 0.75]]
    >>> found = sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], randomised_response)
    >>> round(found.value, 4), found.witness.report
    (0.7732, 1)

    >>> round(sp.exact_leakage([[0.9, 0.1], [0.2, 0.8]], sp.GRR(2, 1.0)).value, 4)
    0.7063
    """
    if callable(getattr(mechanism, "leakage", None)):
        return mechanism.leakage(channel)  # type: ignore[no-any-return]
    correlation = as_matrix(channel, "channel")
    transition = as_matrix(mechanism, "mechanism")
    _check_axes(channel, mechanism, correlation, transition)
    if (correlation == correlation[0]).all():
        return Leakage(0.0, None)
    step = max(1, MAX_PRODUCT_CELLS // max(correlation.shape[0], transition.shape[0]))
    best = (0.0, 0, 0, 0)
    for start in range(0, transition.shape[1], step):
        columns = _scaled_columns(transition[:, start : start + step])
        candidate = largest_mixed_ratio(correlation, *columns)
        if candidate[0] > best[0]:
            best = (*candidate[:3], start + candidate[3])
    value, likelier, other, report = best
    if likelier == other:
        return Leakage(value, None)
    column = transition[:, report]
    name = mechanism.output.values[report] if isinstance(mechanism, Channel) else report
    witness = named_witness(channel, likelier, other, column == column.max(), name)
    curve = partial(delta_at, correlation, value, transition)
    return Leakage(value, witness, delta_at=curve)


def _scaled_columns(mechanism: Floats) -> tuple[Floats, Floats]:
    """Return the excess over the smallest entry of each column, and that entry; columns
    scaled.
    """
    exponents = COLUMN_EXPONENT - np.frexp(mechanism.max(axis=0))[1]
    columns = np.ldexp(mechanism, exponents)
    common = columns.min(axis=0)
    columns -= common
    return columns, common


def largest_mixed_ratio(
    correlation: Floats, excess: Floats, common: Floats
) -> tuple[float, int, int, int]:
    """Return the largest log-ratio of two rows of W = common + G excess: value, x, x'
    and column.

    Rounded up.  Infinite where only the smaller likelihood is 0, and 0 where the report
    is equally likely under all inputs.  The rounding errors of a sum of products and of
    its cells move the logarithm by at most that many units of the share excess /
    (common + excess), which is added.
    """
    mixed = correlation @ excess
    high = mixed.max(axis=0)
    low = mixed.min(axis=0)
    ratios = log_ratio(high - low, common + low, np.inf)
    with np.errstate(invalid="ignore"):
        guard = 2 * (len(excess) + 8) * UNIT * (high / (common + high))
    ratios = np.where(high > 0, round_up(ratios, 8) + guard, 0.0)
    index = int(ratios.argmax())
    rows = int(mixed[:, index].argmax()), int(mixed[:, index].argmin())
    return float(ratios[index]), *rows, index


def _check_axes(
    channel: Any, mechanism: Any, correlation: Floats, transition: Floats
) -> None:
    if (
        isinstance(channel, Channel)
        and isinstance(mechanism, Channel)
        and channel.output != mechanism.given
    ):
        raise ChannelError(
            f"the source of channel is {channel.output.name!r} but mechanism perturbs "
            f"{mechanism.given.name!r}; they must be the same attribute"
        )
    if correlation.shape[1] != transition.shape[0]:
        raise ChannelError(
            f"channel has {correlation.shape[1]} source values but mechanism has "
            f"{transition.shape[0]} rows; they must be equal"
        )


# The bound as a function of epsilon, and its inverse ----------------------------------


def leakage_bound(
    channel: Channel | ArrayLike, epsilon: Any, *, delta: Any = 0.0, c_min: Any = None
) -> Leakage:
    """Return the largest leakage about a target of any (epsilon, delta)-LDP mechanism.

    exp(l) = max over x, x', S of (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),
    lambda = e^epsilon - 1, G_x(S) the sum of G[x, u] over u in S   [theory: The bound].

    Parameters
    ----------
    channel
        G = P(source given target): m target values by t source values; a `Channel` or a
        matrix.
    epsilon, delta
        The budget of the mechanism that releases the source.
    c_min
        A lower bound on P(report given value), over all reports and values.  With it
        the mechanism is pure at eps' = ln(e^epsilon + delta / c_min), and the leakage
        has delta 0.

    Returns
    -------
    Leakage
        `value` is l, between 0 and epsilon, rounded up; 0 iff epsilon is 0 or all rows
        are equal, epsilon iff two rows have disjoint support.  `delta` is the certified
        delta' = delta (e^l - 1)/(e^epsilon - 1), `paper_delta` the paper's f* = delta
        A, never smaller. The witness holds the two target values and S; `profile()` is
        delta as a function of l.

    Notes
    -----
    Dinkelbach's iteration on the hockey-stick profile, O(m^2 t); see `leakage.release`.

    Examples
    --------
    >>> import seepage as sp
    >>> joint = [
    ...     [0.2, 0, 0, 0],
    ...     [0, 0.2, 0, 0],
    ...     [0.1, 0.15, 0.03, 0.02],
    ...     [0.1, 0.15, 0.03, 0.02],
    ... ]
    >>> G = [[cell / sum(row) for cell in row] for row in joint]
    >>> found = sp.leakage_bound(G, epsilon=1.0)
    >>> found.value, found.witness.likelier, found.witness.other, found.witness.likely
    (1.0, 0, 1, (0,))

    With a delta the leakage is a pair; if no report is less likely than 1/4, it is
    pure:

    >>> G = [[0.9, 0.1], [0.8, 0.2]]
    >>> for how in ({}, {"c_min": 0.25}):
    ...     found = sp.leakage_bound(G, 1.0, delta=0.01, **how)
    ...     print(round(found.value, 4), round(found.delta, 6))
    0.1368 0.000853
    0.1394 0.0
    """
    budget = _checks.epsilon(epsilon)
    slack = _checks.delta(delta)
    if c_min is not None:
        least = _checks.inner_probability(c_min, "c_min")
        raised = (
            float(np.logaddexp(budget, math.log(slack / least))) if slack else budget
        )
        budget = round_up(raised, 8)
        slack = 0.0
    return bounded_leakage(channel, budget, slack)


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
        budgets = f"{len(self.epsilons)} budget{'s' if len(self.epsilons) != 1 else ''}"
        return f"LeakageCurve({self.pair}, {budgets}, saturation {self.saturation:.4g})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {"epsilon": self.epsilons.tolist(), "leakage": self.values.tolist()}

    def chart(self) -> Any:
        """Return the curve as an Altair chart, with its saturation level."""
        from seepage.charts.panels import curve_chart

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
        [_checks.epsilon(value) for value in _checks.items(epsilons, "epsilons")],
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
    allowed = _checks.real(leakage, "leakage")
    if not allowed >= 0:
        raise _checks.violation("leakage", "at least 0", leakage)
    if allowed >= saturation(matrix):
        return math.inf
    aim = round_down(allowed, 3 * matrix.shape[1] + 8)
    step = 2.0**-50
    while aim > 0:
        excess = profile(matrix, aim)
        budget = invert_profile(aim, excess) if excess > 0 else math.inf
        if budget < math.inf and leakage_bound(matrix, budget).value <= allowed:
            return budget
        aim = max(0.0, aim * (1 - step))
        step = 2 * step
    return 0.0


# Delta as a function of the leakage ---------------------------------------------------

PROFILE_POINTS = 65
"""Points of a profile from 0 to twice the leakage."""


@dataclass(frozen=True, eq=False, repr=False)
class LeakageProfile(Result):
    """Delta as a function of the leakage: the channel to the report is (l,
    delta(l))-LDP.

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


def leakage_profile(
    leakage: Leakage, leakages: Sequence[float] | None
) -> LeakageProfile:
    """Return the profile of a leakage, see `Leakage.profile`."""
    if leakage.delta_at is None:
        raise InputError("this leakage has no profile: it is 0, or a saved bound")
    if leakages is None:
        end = 2 * leakage.value if math.isfinite(leakage.value) else 10.0
        chosen = np.linspace(0.0, end, PROFILE_POINTS)
    else:
        chosen = np.array(
            [_checks.epsilon(v, "leakages") for v in _checks.items(leakages, "l")]
        )
    deltas = np.array([leakage.delta_at(float(value)) for value in chosen])
    return LeakageProfile(chosen, deltas, (leakage.value, leakage.delta))
