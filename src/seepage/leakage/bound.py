"""The bound on the leakage of a channel under any mechanism (Algorithm 2), and its
relaxation.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.rounding import UNIT, round_up
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.delta import (
    budget_profile,
    delta_from_profile,
    hockey_stick_profile,
)
from seepage.leakage.leakage import Leakage, named_witness
from seepage.leakage.likely_sets import CELL_ROUNDINGS, LikelySets
from seepage.leakage.uncertain_rows import uncertain_leakage
from seepage.leakage.uncertainty import row_radii


def leakage_bound(
    channel: Channel | ArrayLike,
    epsilon: Any,
    *,
    delta: Any = 0.0,
    c_min: Any = None,
    uncertainty: Any = 0.0,
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
        has delta 0.  Without it no leakage below the saturation level holds with
        delta 0.
    uncertainty
        The total variation distance from the channel's within which the rows lie, one
        for all or one for each target value; by default 0, the channel itself.  The
        leakage is then the largest over all such rows.

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
    Dinkelbach's iteration on the hockey-stick profile, O(m^2 t); see
    `leakage.dinkelbach`. With uncertainty exact up to 12 source values, O(m^2 2^t), and
    beyond an upper bound, O(m^2 t log t); see `leakage.uncertain_rows`.

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
    >>> leakage = sp.leakage_bound(G, epsilon=1.0)
    >>> leakage.value, leakage.witness
    (1.0, Witness(likelier=0, other=1, likely=(0,), report=None))

    With a delta the leakage is a pair; if no report is less likely than 1/4, it is
    pure:

    >>> G = [[0.9, 0.1], [0.8, 0.2]]
    >>> for c_min in (None, 0.25):
    ...     leakage = sp.leakage_bound(G, 1.0, delta=0.01, c_min=c_min)
    ...     print(round(leakage.value, 4), round(leakage.delta, 6))
    0.1368 0.000853
    0.1394 0.0

    If the rows are known only up to a distance, as those of another year:

    >>> [round(sp.leakage_bound(G, 1.0, uncertainty=r).value, 3) for r in (0, 0.05)]
    [0.137, 0.275]
    """
    budget = checks.epsilon(epsilon)
    slack = checks.delta(delta)
    if c_min is not None:
        least = checks.inner_probability(c_min, "c_min")
        budget = pure_budget(budget, slack, least)
        slack = 0.0
    matrix = as_matrix(channel)
    if type(uncertainty) is float and uncertainty == 0:
        return _leakage_of_matrix(matrix, channel, budget, slack)
    radii = row_radii(uncertainty, len(matrix))
    if not np.count_nonzero(radii):
        return _leakage_of_matrix(matrix, channel, budget, slack)
    return uncertain_leakage(channel, radii, LikelySets("all", budget), delta=slack)


def pure_budget(epsilon: float, delta: float, c_min: float) -> float:
    """Return the bound's budget eps' = ln(e^epsilon + delta / c_min), rounded up: the
    epsilon of a mechanism whose reports all have a probability of at least c_min.
    """
    if delta == 0:
        return round_up(epsilon, 8)
    return round_up(float(np.logaddexp(epsilon, math.log(delta / c_min))), 8)


def relaxation(channel: Floats, value: float, epsilon: float, delta: float) -> float:
    """Return the delta' that goes with a leakage bound: the channel from target to
    report is (value, delta')-LDP.

    delta' = delta (e^l - 1)/(e^eps - 1) = delta E(e^l) [theory: The certified delta]:
    the optimum over all (eps, delta)-LDP mechanisms, and never above the paper's delta
    A.  At epsilon 0 it is delta times the largest total variation distance between two
    rows, at an infinite one delta. Rounded up; a positive delta' stays positive even
    where it underflows.
    """
    if delta == 0 or math.isinf(epsilon):
        return delta
    share = _relaxation_share(channel, value, epsilon)
    if share == 0 and value == 0:
        return 0.0
    operations = 2 * channel.shape[1] + math.ceil(epsilon)
    return min(delta, math.nextafter(round_up(delta * share, operations), math.inf))


def _relaxation_share(channel: Floats, value: float, epsilon: float) -> float:
    """Return (e^l - 1)/(e^eps - 1), the bound's share of delta; at epsilon 0 the
    largest total variation distance.
    """
    if epsilon > 0:
        return math.exp(value - epsilon) * math.expm1(-value) / math.expm1(-epsilon)
    distance = hockey_stick_profile(channel, 0.0)
    if distance == 0:
        return 0.0
    return distance + 2 * CELL_ROUNDINGS * UNIT


def bounded_leakage(G: Channel | ArrayLike, epsilon: float, delta: float) -> Leakage:
    """Return the bound on the leakage of any (epsilon, delta)-LDP mechanism, see
    `leakage_bound`.
    """
    return _leakage_of_matrix(as_matrix(G), G, epsilon, delta)


def _leakage_of_matrix(
    matrix: Floats, G: Channel | ArrayLike, epsilon: float, delta: float
) -> Leakage:
    """Return the bound on the leakage of the matrix of G, whose values are named as G
    names them.
    """
    best = LikelySets("all", epsilon).best_pair(matrix)
    certified = relaxation(matrix, best.value, epsilon, delta)
    witness = None
    paper_delta = 0.0
    if best.value > 0:
        witness = named_witness(G, best.likelier, best.other, best.likely)
        if delta > 0:
            paper_delta = delta * float(matrix[best.likelier][best.likely].sum())
    profile = partial(
        delta_from_profile,
        matrix,
        partial(budget_profile, epsilon, delta),
        pure=saturation(matrix) if delta else best.value,
    )
    return Leakage(
        best.value,
        witness,
        delta=certified,
        paper_delta=max(certified, paper_delta),
        delta_at=profile,
    )


def relaxed_leakage(
    channel: Channel | ArrayLike,
    pure: Leakage,
    delta_at: Callable[[float], float],
    *,
    epsilon: float,
    delta: float,
) -> Leakage:
    """Return the leakage of a known mechanism with a delta, as a pair (l, delta): at
    most the bound.

    The pair has l = bound(epsilon), what a pure mechanism of the same epsilon could
    tell, and its delta(l); or (pure, 0) where the supremum over all reports is no
    larger.

    Parameters
    ----------
    channel
        G = P(source given target).
    pure
        The supremum over all reports, which may be far above epsilon, or infinite.
    delta_at
        The delta of a leakage, see `delta_of_reports` and `delta_from_profile`.
    epsilon, delta
        Those of the mechanism.
    """
    if delta == 0:
        return replace(pure, delta_at=delta_at)
    bound = bounded_leakage(channel, epsilon, delta)
    if bound.value >= pure.value:
        return replace(pure, delta_at=delta_at)
    return replace(
        bound, delta=min(bound.delta, delta_at(bound.value)), delta_at=delta_at
    )


def saturation(matrix: Floats) -> float:
    """Return the limit of the bound as epsilon grows, ln max G[x,u] / G[x',u], rounded
    up.

    Infinite where a source value is possible under some target values only.
    """
    return LikelySets("singletons", math.inf).best_pair(matrix).value
