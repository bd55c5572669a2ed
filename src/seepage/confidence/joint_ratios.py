"""Upper confidence limits of ratios of means, by one joint statement for each ratio.

A ratio m_x/m_x' is at most upper_x/lower_x', two limits that each err with probability
at most e^-c.  A joint statement is narrower unless one of the two groups is far
smaller: the wealths of a bet on each mean, both mixtures over bets as for
`kl_inf_interval`, are independent, so their product has expectation at most 1, and with
probability at least 1 - e^-c

    n K+(P, m_x) + n' K-(P', m_x') <= C = c + ln R(n) + ln R(n'),

K+ and K- the relative entropies from the samples to the nearest distributions with
these means.  The limit is the largest ratio in this convex region [theory-certificate:
One statement for a ratio].
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from seepage._core.arrays import Booleans, Floats, Integers
from seepage.confidence.mean_limits import (
    ConfidenceLimits,
    kl_inf_interval,
    mixture_radius,
)

SHARING_ROUNDS = 5
"""Iterations for how C is shared by the two means; each gives a valid limit."""


BET_ROUNDS = 4
"""Iterations of Newton's method for a bet; any bet gives a valid limit."""


LEAST_SHARE = 1e-3
"""Least share of C for each of the two means."""


OUTWARDS = 1e-9
"""Relative amount by which a joint limit is rounded up, far above its rounding error.
"""


FIRST_STATEMENTS = 16
"""Statements of each target whose limits are computed first, by their screening
limits."""


MAX_BATCH = 1 << 15
"""Statements whose limits are computed in one call."""


class PeopleOfValue(NamedTuple):
    """People with one value, for a number of statements.

    Attributes
    ----------
    shares
        Their empirical distribution over the weights, one row per statement.
    people
        Their number.
    low, high
        The range of the weights.
    """

    shares: Floats
    people: Floats
    low: Floats
    high: Floats

    def mean_limits(self, weights: Floats, c: float) -> ConfidenceLimits:
        """Return limits of the mean of one of the two groups of a ratio, each wrong
        with probability at most e^-c.
        """
        radius = mixture_radius(self.people, c)
        return kl_inf_interval(
            weights, self.shares, radius, self.low, self.high, rounds=BET_ROUNDS
        )


def regrets(people: Floats) -> Floats:
    """Return ln R(n), the price of the mixture over bets of a joint ratio; 0 for n = 0.

    Examples
    --------
    >>> regrets(np.array([0.0, 100.0])).round(2).tolist()
    [0.0, 2.88]
    """
    number = np.maximum(people, 1.0)
    return np.where(people > 0, mixture_radius(number, 0.0) * number, 0.0)


def joint_is_narrower(first: Floats, second: Floats, c: float) -> Booleans:
    """Return where a joint limit of a ratio is expected to be narrower than two limits.

    By the numbers of people alone, so that it may be chosen: for small radii the log of
    a mean moves by the root of its radius, and a joint radius is shared in the best
    way.

    Parameters
    ----------
    first, second
        The numbers of people of the two groups.
    c
        The joint statement errs with probability at most e^-c; each of two limits with
        half of it.

    Examples
    --------
    >>> joint_is_narrower(np.array([50.0, 1000.0]), np.array([9e4, 1000.0]), 11.0)
    array([False,  True])
    """
    known = (first > 0) & (second > 0)
    n = np.maximum(first, 1.0)
    m = np.maximum(second, 1.0)
    joint = (c + regrets(n) + regrets(m)) * (1 / n + 1 / m)
    level = c + math.log(2)
    apart = np.sqrt((level + regrets(n)) / n) + np.sqrt((level + regrets(m)) / m)
    return np.asarray(known & (np.sqrt(joint) < apart))


class Region(NamedTuple):
    """The region of two means that one joint statement leaves, for each statement.

    Attributes
    ----------
    gaps, heights
        The distances of the weights from the largest weight of the first group, and
        from the smallest one of the second.
    above, below
        The people whose mean is m, and those whose mean is m'.
    total
        C.
    """

    gaps: Floats
    heights: Floats
    above: PeopleOfValue
    below: PeopleOfValue
    total: Floats

    @classmethod
    def of(
        cls, weights: Floats, above: PeopleOfValue, below: PeopleOfValue, c: float
    ) -> "Region":
        """Return the joint region of two means, whose statement is wrong with
        probability at most e^-c.
        """
        return cls(
            np.maximum(above.high[:, None] - weights, 0.0),
            np.maximum(weights - below.low[:, None], 0.0),
            above,
            below,
            c + regrets(above.people) + regrets(below.people),
        )

    def largest(self) -> Floats:
        """Return the upper limit of the first mean m of a ratio with all of C."""
        nu, distance = _bet(
            self.gaps, self.above.shares, self.total / self.above.people
        )
        high = self.above.high
        return np.asarray(np.minimum(high + nu - distance, high))

    def smallest(self) -> Floats:
        """Return the lower limit of the second mean m' of a ratio with all of C."""
        nu, height = _bet(
            self.heights, self.below.shares, self.total / self.below.people
        )
        low = self.below.low
        return np.asarray(np.maximum(low - nu + height, low))

    def boundary(self, share: Floats) -> "BoundaryPoint":
        """Return the point of the joint region's boundary where the first mean has a
        share of C.
        """
        n = self.above.people
        m = self.below.people
        nu, distance = _bet(self.gaps, self.above.shares, share * self.total / n)
        mu, height = _bet(self.heights, self.below.shares, (1 - share) * self.total / m)
        mean = self.above.high + nu - distance
        least = self.below.low - mu + height
        return BoundaryPoint(mean, least, distance / n, height / m)


class BoundaryPoint(NamedTuple):
    """A point (m, m') of the boundary of a region.

    Attributes
    ----------
    mean, least
        The two means.
    steep, flat
        By how much m grows, and m' falls, as its part of C grows.
    """

    mean: Floats
    least: Floats
    steep: Floats
    flat: Floats

    @property
    def slope(self) -> Floats:
        """Slope of the joint region's tangent: m <= mean + slope (m' - least) in the
        whole region.
        """
        return self.steep / self.flat

    def better_share(self, share: Floats, first: Floats, second: Floats) -> Floats:
        """Return the first mean's share of C in a joint ratio, if first times its
        growth is to be second times that of m'.
        """
        gain = (self.steep * first) ** 2 * share
        other = (self.flat * second) ** 2 * (1 - share)
        both = gain + other
        share = np.divide(gain, both, out=np.full_like(both, 0.5), where=both > 0)
        return np.asarray(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))


def joint_log_ratios(
    weights: Floats, above: PeopleOfValue, below: PeopleOfValue, c: float
) -> Floats:
    """Return joint upper limits of the ratio ln m/m', each wrong with probability at
    most e^-c.

    Parameters
    ----------
    weights
        The weights, above 0; the same for all statements, or one row for each.
    above, below
        The people whose mean is m, and those whose mean is m'.
    c
        The level.

    Notes
    -----
    For any bets nu, nu' the region is within the convex set

        n (A - ln(nu - m)) + n' (B - ln(nu' + m')) <= C,

    A and B the means of ln(nu - w) and ln(nu' + w), and this set is on one side of its
    tangent at any point of its boundary.  The largest m/m' on that side, for m' in the
    range, is a limit: valid for every choice of bets and point, and the exact one for
    the best.  All of them follow from one event, so the smallest is taken.

    Examples
    --------
    Of 1,000 people each, 300 and 200 have the weight 1, the others e^-1.

    >>> weights = np.array([1.0, np.exp(-1.0)])
    >>> low, high = weights[1:], weights[:1]
    >>> people = np.array([1000.0])
    >>> more = PeopleOfValue(np.array([[0.3, 0.7]]), people, low, high)
    >>> fewer = PeopleOfValue(np.array([[0.2, 0.8]]), people, low, high)
    >>> joint_log_ratios(weights, more, fewer, 10.0).round(3).tolist()
    [0.256]
    """
    region = Region.of(weights, above, below, c)
    smallest = region.smallest()
    ratio = region.largest() / smallest
    share = below.people / (above.people + below.people)
    for _ in range(SHARING_ROUNDS):
        point = region.boundary(share)
        excess = point.mean - point.slope * point.least
        tangent = point.slope + np.maximum(excess / smallest, excess / below.high)
        ratio = np.fmin(ratio, tangent)
        share = point.better_share(
            share,
            1 / np.maximum(point.mean, below.low),
            1 / np.maximum(point.least, below.low),
        )
    return np.asarray(np.log(ratio * (1 + OUTWARDS)))


def joint_excesses(
    weights: Floats,
    above: PeopleOfValue,
    below: PeopleOfValue,
    c: float,
    factors: Floats,
) -> Floats:
    """Return joint upper limits of m - f m', each wrong with probability at most e^-c.

    Parameters
    ----------
    weights, above, below, c
        As in `joint_log_ratios`.
    factors
        f >= 0 of each statement.

    Notes
    -----
    The largest m - f m' of the region of `joint_log_ratios`, by tangents likewise.

    Examples
    --------
    The limit e^0.256 of the ratio in `joint_log_ratios` is that where m - f m' is 0:

    >>> weights = np.array([1.0, np.exp(-1.0)])
    >>> low, high = weights[1:], weights[:1]
    >>> people = np.array([1000.0])
    >>> more = PeopleOfValue(np.array([[0.3, 0.7]]), people, low, high)
    >>> fewer = PeopleOfValue(np.array([[0.2, 0.8]]), people, low, high)
    >>> found = joint_excesses(weights, more, fewer, 10.0, np.exp([0.2, 0.3]))
    >>> found.round(3).tolist()
    [0.033, -0.027]
    """
    region = Region.of(weights, above, below, c)
    smallest = region.smallest()
    excess = region.largest() - factors * smallest
    share = below.people / (above.people + below.people)
    ones = np.ones_like(share)
    for _ in range(SHARING_ROUNDS):
        point = region.boundary(share)
        line = point.mean - point.slope * point.least
        rest = point.slope - factors
        tangent = line + np.maximum(rest * smallest, rest * below.high)
        excess = np.fmin(excess, tangent)
        share = point.better_share(share, ones, factors)
    return np.asarray(excess + OUTWARDS * (above.high + factors * below.high))


def separate_log_ratios(
    weights: Floats, above: PeopleOfValue, below: PeopleOfValue, c: float
) -> Floats:
    """Return upper limits of the ratio ln m/m' from two limits, wrong with probability
    at most 2 e^-c.
    """
    upper, lower = _two_limits(weights, above, below, c)
    return np.asarray(np.log(upper / lower))


def separate_excesses(
    weights: Floats,
    above: PeopleOfValue,
    below: PeopleOfValue,
    c: float,
    factors: Floats,
) -> Floats:
    """Return upper limits of m - f m' from two limits, not jointly, wrong with
    probability at most 2 e^-c.
    """
    upper, lower = _two_limits(weights, above, below, c)
    return np.asarray(upper - factors * lower)


def _two_limits(
    weights: Floats, above: PeopleOfValue, below: PeopleOfValue, c: float
) -> tuple[Floats, Floats]:
    """Return an upper limit of m and a lower one of m', the two means of a ratio, each
    wrong with probability at most e^-c.
    """
    upper = above.mean_limits(weights, c).upper
    lower = below.mean_limits(weights, c).lower
    return upper, lower


class Ratios(NamedTuple):
    """Likelihoods of reports (first axis) under the values of targets (second axis).

    Attributes
    ----------
    weights
        The weights, the last axis of the shares: the same for all reports, or one row
        for each.
    shares
        Their empirical distribution among the people with a value.
    people
        The number of people with each value.
    low, high
        The range of the weights.
    """

    weights: Floats
    shares: Floats
    people: Floats
    low: Floats
    high: Floats

    def group(self, reports: Integers, values: Integers) -> PeopleOfValue:
        """Return the people of one value in some statements on ratios."""
        return PeopleOfValue(
            self.shares[reports, values],
            self.people[values],
            self.low[reports, values],
            self.high[reports, values],
        )

    def weights_of(self, reports: Integers) -> Floats:
        """Return the weights of the reports of some statements on ratios."""
        return self.weights if self.weights.ndim == 1 else self.weights[reports]

    def log_ratios(
        self, reports: Integers, first: Integers, second: Integers, c: float
    ) -> Floats:
        """Return the limits of some likelihood ratios, joint where that is narrower.

        Each is wrong with probability at most 2 e^-c.
        """
        return self._limits(
            reports,
            first,
            second,
            c,
            joint_limits=joint_log_ratios,
            separate_limits=separate_log_ratios,
        )

    def excesses(
        self,
        reports: Integers,
        first: Integers,
        second: Integers,
        c: float,
        factors: Floats,
    ) -> Floats:
        """Return limits of m - f m', joint where that is narrower, f a factor of each
        statement.
        """
        return self._limits(
            reports,
            first,
            second,
            c,
            joint_limits=joint_excesses,
            separate_limits=separate_excesses,
            factors=[factors],
        )

    def _limits(
        self,
        reports: Integers,
        first: Integers,
        second: Integers,
        c: float,
        *,
        joint_limits: Callable[..., Floats],
        separate_limits: Callable[..., Floats],
        factors: Sequence[Floats] = (),
    ) -> Floats:
        """Return the limits of some statements on ratios: joint where that is narrower,
        else by two limits.
        """
        limits = np.zeros(len(reports))
        joint_level = c - math.log(2)
        joint = joint_is_narrower(self.people[first], self.people[second], joint_level)
        for mask, limits_of, level in (
            (joint, joint_limits, joint_level),
            (~joint, separate_limits, c),
        ):
            if mask.any():
                limits[mask] = limits_of(
                    self.weights_of(reports[mask]),
                    self.group(reports[mask], first[mask]),
                    self.group(reports[mask], second[mask]),
                    level,
                    *(each[mask] for each in factors),
                )
        return limits

    def bounds(self, starts: Integers, c: float, rounds: int) -> ConfidenceLimits:
        """Return limits of each likelihood that bound all joint ratios about each
        target.

        With a radius that is at least that of every joint statement.
        """
        price = regrets(self.people)
        highest = np.maximum.reduceat(price, starts)
        sizes = np.diff(starts, append=len(self.people))
        with np.errstate(divide="ignore"):
            radius = (c + price + np.repeat(highest, sizes)) / self.people
        weights = self.weights if self.weights.ndim == 1 else self.weights[:, None]
        return kl_inf_interval(
            weights, self.shares, radius, self.low, self.high, rounds=rounds
        )


def largest_joint_ratios(
    ratios: Ratios,
    starts: Integers,
    c: float,
    *,
    rounds: int,
    enough: Floats | None = None,
    own: Floats | None = None,
) -> Floats:
    """Return the largest joint limit of a log-ratio of each target, over reports and
    pairs of values; at least 0.

    Parameters
    ----------
    ratios
        The likelihoods.
    starts
        The index of each target's first value.
    c
        Each limit is wrong with probability at most 2 e^-c.
    rounds
        Iterations of Newton's method for the screening limits.
    enough
        What is asked of each target: a bound on all of its limits is returned in their
        place if it is at most that.  By default the largest limit always.
    own
        Of a single target, what is added to the log-ratio of each pair of values.

    Notes
    -----
    Two limits with a radius that is at least that of every statement bound all of them
    from above.  Of each target the statements with the largest bounds are computed, and
    then those whose bounds are above the largest limit so far.
    """
    number = len(ratios.people)
    bounds = ratios.bounds(starts, c, rounds)
    upper = np.log(bounds.upper)
    lower = np.log(bounds.lower)
    spread = [
        _differences(upper[:, values], lower[:, values], own)
        for values in map(slice, starts, [*starts[1:], number])
    ]
    best = np.zeros(len(starts))
    if enough is not None:
        bound = np.array([bounds.max() for bounds in spread])
        passed = bound <= enough
        best[passed] = bound[passed]
    opening = [
        _largest(bounds, least, FIRST_STATEMENTS)
        for bounds, least in zip(spread, best.tolist(), strict=True)
    ]
    _raise_to(best, ratios, starts, opening, c=c, own=own)
    rest = [
        np.flatnonzero(bounds > least)
        for bounds, least in zip(spread, best.tolist(), strict=True)
    ]
    _raise_to(best, ratios, starts, rest, c=c, own=own)
    return best


def largest_joint_excess(
    ratios: Ratios, starts: Integers, c: float, limits: Floats
) -> float:
    """Return the largest joint limit of (m - e^l m')/(e^l - 1) over reports and pairs
    of values of a target, at least 0; l is the target's own limit.

    Parameters
    ----------
    ratios, starts, c
        As in `largest_joint_ratios`.
    limits
        l of each target.

    Notes
    -----
    Mixing reports with the neutral one, t w + 1 - t, maps each mean m to t m + 1 - t,
    so the ratio of two is at most e^l if and only if t (1 + (m - e^l m')/(e^l - 1)) <=
    1. Statements are computed in the order of their bounds, as in
    `largest_joint_ratios`.
    """
    bounds = ratios.bounds(starts, c, BET_ROUNDS)
    sizes = np.diff(starts, append=len(ratios.people))
    first = np.concatenate(
        [
            start + np.repeat(np.arange(k), k)
            for start, k in zip(starts, sizes, strict=True)
        ]
    )
    second = np.concatenate(
        [
            start + np.tile(np.arange(k), k)
            for start, k in zip(starts, sizes, strict=True)
        ]
    )
    pairs = first != second
    first = first[pairs]
    second = second[pairs]
    raised = np.repeat(np.expm1(limits), sizes * (sizes - 1))
    factors = 1 + raised
    excess = bounds.upper[:, first] - factors * bounds.lower[:, second]
    bound = (excess / raised).ravel()
    best = 0.0
    order = np.argsort(-bound)
    done = 0
    batch = FIRST_STATEMENTS * len(starts)
    while done < len(order) and bound[order[done]] > best:
        flat = order[done : done + batch]
        flat = flat[bound[flat] > best]
        reports, pair = np.divmod(flat, len(first))
        excesses = ratios.excesses(reports, first[pair], second[pair], c, factors[pair])
        best = max(best, float((excesses / raised[pair]).max()))
        done += batch
        batch = MAX_BATCH
    return best


def _differences(upper: Floats, lower: Floats, own: Floats | None) -> Floats:
    """Return bounds of the joint ratios as differences of logarithms, flat: reports by
    pairs of values; 0 for a value and itself.
    """
    differences = upper[:, :, None] - lower[:, None, :]
    if own is not None:
        differences += own
    diagonal = np.arange(upper.shape[1])
    differences[:, diagonal, diagonal] = 0.0
    return differences.ravel()


def _largest(bounds: Floats, least: float, count: int) -> Integers:
    """Return the indices of the largest bounds of ratios, of those above the least."""
    if len(bounds) > count:
        indices = np.argpartition(-bounds, count)[:count]
    else:
        indices = np.arange(len(bounds))
    return indices[bounds[indices] > least]


def _raise_to(
    best: Floats,
    ratios: Ratios,
    starts: Integers,
    statements: Sequence[Integers],
    *,
    c: float,
    own: Floats | None,
) -> None:
    """Raise each target's largest joint ratio to those of its statements, by flat
    index.
    """
    sizes = np.diff(starts, append=len(ratios.people))
    target = np.repeat(np.arange(len(starts)), list(map(len, statements)))
    flat = np.concatenate(statements)
    reports, pair = np.divmod(flat, sizes[target] ** 2)
    first, second = np.divmod(pair, sizes[target])
    for begin in range(0, len(flat), MAX_BATCH):
        batch = slice(begin, begin + MAX_BATCH)
        place = starts[target[batch]]
        limits = ratios.log_ratios(
            reports[batch], place + first[batch], place + second[batch], c
        )
        if own is not None:
            limits = limits + own[first[batch], second[batch]]
        np.maximum.at(best, target[batch], limits)


def _bet(gaps: Floats, p: Floats, r: Floats) -> tuple[Floats, Floats]:
    """Return the bet nu of a joint region, and exp(sum p ln(nu + g) - r) for the gaps
    g.

    By the iteration of `kl_inf_interval`, for the nu at which the distance of the limit
    from nu is largest.
    """
    mean = (p * gaps).sum(axis=-1)
    variance = (p * gaps * gaps).sum(axis=-1) - mean * mean
    nu = np.sqrt(np.maximum(variance, 0.0) / (2 * r))
    tiny = 1e-300 + 1e-12 * gaps.max(axis=-1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(BET_ROUNDS):
            nu = np.maximum(nu, tiny)
            shifted = nu[..., None] + gaps
            logarithm = (p * np.log(shifted)).sum(axis=-1)
            first = (p / shifted).sum(axis=-1)
            second = (p / shifted**2).sum(axis=-1)
            phi = logarithm + np.log(first)
            step = -2 * phi / (first - second / first) * (np.sqrt(phi / r) - 1)
            nu = np.where(np.isfinite(step), nu + np.maximum(step, -0.9 * nu), nu)
    nu = np.maximum(nu, tiny)
    logarithm = (p * np.log(nu[..., None] + gaps)).sum(axis=-1)
    return nu, np.exp(logarithm - r)
