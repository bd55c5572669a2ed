"""The hockey-stick profile of a channel, and the delta at a leakage."""

import math
from collections.abc import Callable

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.log_ratios import LARGE_EPSILON
from seepage._core.rounding import UNIT, round_down, round_up


def hockey_stick_profile(channel: Floats, log_ratio: float) -> float:
    """Return a channel's delta E(H) = max over x, x' of sum_u max(0, G[x,u] - H
    G[x',u]) at H = exp(log_ratio).

    The *hockey-stick profile* of a channel determines its leakage at every budget:
    exp(leakage) is the unique H >= 1 with lambda E(H) = H - 1.
    """
    if log_ratio < LARGE_EPSILON:
        rise = np.expm1(log_ratio) * channel
    else:
        rise = np.where(channel > 0, np.inf, 0.0)
    return max(
        float(np.maximum(row - channel - rise, 0.0).sum(axis=1).max())
        for row in channel
    )


def budget_profile(epsilon: float, delta: float, other: float) -> float:
    """Return the delta profile of a budget: the largest delta at the epsilon `other` of
    any (epsilon, delta)-LDP mechanism.

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


def delta_of_reports(
    channel: Floats, transition: Floats, leakage: float, pure: float = math.inf
) -> float:
    """Return the delta for which the channel from target to report is (leakage,
    delta)-LDP, for a known transition matrix.

    The hockey-stick divergence: max over x, x' of sum_y max(0, W[x, y] - e^l W[x', y]),
    W = G C, rounded up.

    Parameters
    ----------
    channel
        G = P(source given target).
    transition
        C = P(report given source).
    leakage
        The leakage l, at least 0.
    pure
        The leakage from which on delta is 0.
    """
    if leakage >= pure:
        return 0.0
    reports = np.asarray(channel @ transition)
    guard = 2 * (len(transition) + 8) * UNIT
    low = np.exp(min(leakage, LARGE_EPSILON)) * (1 - guard) * reports
    gains = (
        np.maximum((1 + guard) * row - low, 0.0).sum(axis=1).max() for row in reports
    )
    return min(1.0, round_up(float(max(gains)), transition.shape[1]))


def delta_from_profile(
    channel: Floats,
    privacy_profile: Callable[[float], float],
    leakage: float,
    pure: float = math.inf,
) -> float:
    """Return the delta for which the channel from target to report is (leakage,
    delta)-LDP, from the mechanism's delta as a function of its epsilon.

    E(e^l) times the mechanism's delta at eps(l) = ln(1 + (e^l - 1)/E(e^l)), the budget
    whose bound is l [theory: The certified delta].  Rounded up.  The other parameters
    are those of `delta_of_reports`.
    """
    if leakage >= pure:
        return 0.0
    rounding = 2 * (channel.shape[1] + 16) * UNIT
    excess = min(1.0, hockey_stick_profile(channel, leakage) + rounding)
    epsilon = invert_profile(leakage, excess) if leakage > 0 else 0.0
    return float(round_up(excess * privacy_profile(epsilon), 8))


def invert_profile(leakage: float, excess: float) -> float:
    """Return the leakage factor ln(1 + (e^l - 1)/E) at which a delta profile has E =
    excess, rounded down, without overflow.
    """
    log_quotient = leakage + math.log(-math.expm1(-leakage)) - math.log(excess)
    return round_down(float(np.logaddexp(0.0, log_quotient)), 40)
