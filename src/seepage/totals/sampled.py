"""`sampled`: totals for any number of attributes, with a delta and a stated confidence.

With P_x the law of all reports given X_k = x, an attribute's total is (L, delta) where

    E over y ~ P_x of (1 - exp(L - loss(y)))+ <= delta  for all x, x',
    loss(y) = ln p(y given x) / p(y given x')   [theory-totals].

Reports are drawn once for all targets; p(y given x) is a sum over the whole table, exact for the
table's own joint distribution.  What is statistical is only the expectation over reports.

Half of the people are drawn from the table as it is.  The other half go to target values that
would have too few: people are drawn from those who have the value.  A report then has density

    q(y) = sum over records r of q(r) p(y given r),   q(r) = P(r) g(r),

g(r) = n_0/n + sum over boosted values x of r of (n_x/n) / P(x), for n_0 plain draws and n_x
boosted ones.  Every report serves every target with the weight p(y given x) / q(y), which never
exceeds W(x) = 1 / (P(x) min over records r with x of g(r)).
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage._results import Progress
from seepage.data.records import Records
from seepage.leakage import Release
from seepage.leakage.release import View
from seepage.totals.drawn_reports import (
    Draws,
    drawn,
    offsets,
    perturbed,
    report_sums,
    rounding_of,
    simulated,
    value_counts,
)

SPARE = 1e-9
"""The share of the allowed mean left unused, for rounding in sums over reports."""

PLAIN_SHARE = 0.5
"""The share of people drawn from the table as it is."""

ROOM = 1.5
"""A value is worth boosting if it can have this many times the draws that it needs at least."""


class Sampled(NamedTuple):
    """What was found for each attribute.

    Parameters
    ----------
    values
        The smallest L that can be certified; infinite where there is none.
    rare
        The attributes that have values with too few draws, with these values.
    enough
        About how many reports would certify every value.
    """

    values: Floats
    rare: list[str]
    enough: int


def sampled_totals(
    data: Records,
    released: Sequence[Release],
    view: View,
    *,
    delta: float,
    confidence: float,
    reports: int,
    seed: int | np.random.Generator | None,
    progress: Progress | None = None,
) -> Sampled:
    """Return for every attribute an L that holds with delta, all at once with this confidence.

    Parameters
    ----------
    data, released, view
        The table, how it is released and what the adversary keeps.
    delta
        The delta of every total.
    confidence
        1 - beta: with at least this probability over the drawn reports all totals hold.
    reports
        The number of reports n to draw.
    seed
        The same seed gives the same totals.
    progress
        Called with the records done and in all.

    Notes
    -----
    The mean over reports of Z = (p_x - e^L p_x')+ / (q W(x)), between 0 and 1, estimates
    E / W(x).  By Hoeffding's inequality in its sharpest form [Hoeffding 1963, Theorem 1],
    P(mean <= m) <= exp(-n kl(m, mu)) for mu >= m, independent draws that need not be alike: if
    the mean is at most the m with kl(m, delta / W) = ln(1/beta') / n, E is at most delta but for
    beta'.  beta' = beta / (number of ordered pairs of values of all targets).  Z falls as L
    grows, so the smallest such L needs no further correction: were it too small, the test would
    have failed at every fixed L between it and the right one.

    Cost: n times the distinct records likelihoods, each with one exponential and a column of two
    matrix products; memory for blocks of them and for n times the number of values.
    """
    begins = offsets(data.domain)[:-1]
    sizes = np.add.reduceat(value_counts(data) > 0, begins, dtype=np.int64)
    pairs = max(1, int((sizes * (sizes - 1)).sum()))
    level = math.log(pairs / (1 - confidence))
    needed = level / -math.log1p(-delta)
    draws = draw_reports(data, released, view, reports, needed, seed)
    weighted = report_weights(data, draws, progress)
    most, guard = ceilings(data, draws), rounding_of(data, draws)
    values, rare = [], []
    for target, begin in enumerate(begins):
        attribute, seen = data.domain[target], begin + np.flatnonzero(data.marginal(target))
        limits = [largest_mean(delta / most[x], level / reports) for x in seen]
        found = _largest_loss(weighted[seen], limits, most[seen])
        values.append(found + guard if found > 0 else 0.0)
        few = [
            repr(attribute.values[x - begin])
            for x, m in zip(seen, limits, strict=True)
            if m is None
        ]
        if few:
            shown = ", ".join(few[:3]) + (", ..." if len(few) > 3 else "")
            rare.append(f"{attribute.name!r} ({shown})")
    return Sampled(np.array(values), rare, reports_enough(data, needed))


def report_weights(data: Records, draws: Draws, progress: Progress | None = None) -> Floats:
    """Return p(y given x) / q(y) of every value x of every attribute (rows) and report y."""
    sums = report_sums(data, draws, progress)
    weights = sums[:-1]
    weights /= np.maximum(value_counts(data), 1)[:, None]
    weights /= sums[-1] / data.records
    return weights


def _largest_loss(weighted: Floats, limits: Sequence[float | None], ceilings: Floats) -> float:
    """Return the largest L over ordered pairs of values, infinite where one has no limit."""
    if len(weighted) < 2:
        return 0.0
    largest = 0.0
    for first, (limit, ceiling) in enumerate(zip(limits, ceilings, strict=True)):
        if limit is None:
            return math.inf
        allowed = limit * ceiling * (1 - SPARE)
        for other in np.delete(weighted, first, axis=0):
            largest = max(largest, smallest_loss(weighted[first], other, allowed))
    return largest


def largest_mean(mean: float, rate: float) -> float | None:
    """Return the largest m <= mean with kl(m, mean) >= rate, rounded down; None for none.

    kl(m, mu) = m ln(m / mu) + (1 - m) ln((1 - m) / (1 - mu)).

    Examples
    --------
    >>> largest_mean(0.01, 8 / 20_000)
    0.007...
    >>> largest_mean(0.01, 8 / 500) is None
    True
    """
    if -math.log1p(-mean) < rate:
        return None
    low, high = 0.0, mean
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _divergence(middle, mean) >= rate else (low, middle)
    return low


def _divergence(low: float, high: float) -> float:
    if low == 0:
        return -math.log1p(-high)
    return low * math.log(low / high) + (1 - low) * math.log((1 - low) / (1 - high))


def smallest_loss(upper: Floats, lower: Floats, allowed: float) -> float:
    """Return the smallest L >= 0 with mean of (upper - e^L lower)+ at most `allowed`.

    Parameters
    ----------
    upper, lower
        p(y given x) / q(y) and p(y given x') / q(y) of each report.
    allowed
        The largest mean.

    Notes
    -----
    Sorted by upper / lower, the sum is A - h B over the first reports, with h = e^L between the
    ratio of the last one in and the first one out: O(n log n).

    Examples
    --------
    >>> round(smallest_loss(np.array([2.0, 1.0]), np.array([0.5, 1.0]), 0.1), 4)
    1.2809
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(upper > 0, upper / lower, 0.0)
    order = np.argsort(-ratios, kind="stable")
    ratios = ratios[order]
    above, below = np.cumsum(upper[order]), np.cumsum(lower[order])
    room = allowed * len(upper)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left = above - np.where(below > 0, np.append(ratios[1:], 0.0) * below, 0.0)
        crossing = np.flatnonzero(left > room)
        if not len(crossing):
            return 0.0
        last = int(crossing[0])
        h = (above[last] - room) / below[last]
    return max(0.0, float(np.log(h)))


# How many people are drawn for which value ------------------------------------------------------


def draw_reports(
    data: Records,
    released: Sequence[Release],
    view: View,
    count: int,
    needed: float,
    seed: int | np.random.Generator | None,
) -> Draws:
    """Draw so many reports.

    Parameters
    ----------
    data
        The table.
    released
        How each attribute is released.
    view
        What the adversary keeps.
    count
        The number of reports n.
    needed
        The fewest draws n / W(x) with which a value can be certified.
    seed
        The same seed gives the same reports.
    """
    mechanisms = simulated(data.domain, released, count)
    generator = _checks.generator(seed)
    extra = _boosts(data, count, needed)
    people = _people(data, count - int(extra.sum()), extra, generator)
    logarithms = perturbed(data, mechanisms, view, people, generator)
    return Draws(logarithms, _density(data, extra, count))


def _shares(data: Records) -> Floats:
    """Return P(x) of every value of every attribute, one after the other."""
    return np.asarray(value_counts(data) / data.records)


def _boosts(data: Records, count: int, needed: float) -> Integers:
    """Return how many people to draw for each value beside the plain draws.

    Targets are taken in the order of what it costs to give each of their values `ROOM` times
    the draws needed, as long as half of the reports suffice; their values are then all filled
    up to one level, so that every report is spent.
    """
    shares, begins = _shares(data), offsets(data.domain)
    plain = math.floor(PLAIN_SHARE * count)
    budget = count - plain
    costs = np.add.reduceat(_missing(shares, plain, needed), begins[:-1])
    cheapest = np.argsort(costs, kind="stable")
    affordable = cheapest[np.cumsum(costs[cheapest]) <= budget]
    served = np.repeat(np.isin(np.arange(len(costs)), affordable), data.domain.sizes)
    served &= shares > 0
    extra = np.zeros(len(shares), dtype=np.int64)
    extra[served] = np.floor(_water_filling(plain * shares[served], float(budget)))
    return extra


def _missing(shares: Floats, plain: int, needed: float) -> Floats:
    """Return how many draws each value lacks beside the plain ones."""
    lacking = np.maximum(ROOM * needed - plain * shares, 0.0)
    return np.where(shares > 0, lacking, 0.0)


def reports_enough(data: Records, needed: float) -> int:
    """Return about how many reports give every value of every attribute the draws it needs."""
    shares = _shares(data)
    most = math.ceil(2 * ROOM * needed * len(shares) / PLAIN_SHARE)

    def enough(count: int) -> bool:
        plain = math.floor(PLAIN_SHARE * count)
        return float(_missing(shares, plain, needed).sum()) <= count - plain

    return 1 + bisect_left(range(1, most), True, key=enough)


def _water_filling(heights: Floats, volume: float) -> Floats:
    """Return the water-filling allocation: heights are raised to one level, by a volume in all."""
    if not len(heights):
        return heights
    ascending = np.sort(heights)
    numbers = np.arange(1, len(heights) + 1)
    levels = (volume + np.cumsum(ascending)) / numbers
    wet = int(np.flatnonzero(levels > ascending)[-1]) if volume > 0 else 0
    return np.asarray(np.maximum(levels[wet] - heights, 0.0))


def _people(data: Records, plain: int, extra: Integers, generator: np.random.Generator) -> Integers:
    """Return the drawn people as positions of distinct records."""
    chosen = [drawn(data.weights, np.arange(len(data)), plain, generator)]
    begins = offsets(data.domain)
    for value in np.flatnonzero(extra):
        target = int(np.searchsorted(begins, value, side="right")) - 1
        having = np.flatnonzero(data.column(target) == value - begins[target])
        chosen.append(drawn(data.weights[having], having, int(extra[value]), generator))
    return np.concatenate(chosen)


def _density(data: Records, extra: Integers, count: int) -> Floats:
    """Return g(r) = q(r) / P(r) of each distinct record."""
    shares = _shares(data)
    gains = np.divide(extra, shares * count, out=np.zeros_like(shares), where=shares > 0)
    density = np.full(len(data), 1 - int(extra.sum()) / count)
    for target, begin in enumerate(offsets(data.domain)[:-1]):
        density += gains[begin + data.column(target).astype(np.int64)]
    return density


def ceilings(data: Records, draws: Draws) -> Floats:
    """Return W(x) = 1 / (P(x) min of g over the records with x); infinite where x never occurs."""
    shares = _shares(data)
    least = np.full(len(shares), np.inf)
    for target, begin in enumerate(offsets(data.domain)[:-1]):
        np.minimum.at(least, begin + data.column(target).astype(np.int64), draws.density)
    with np.errstate(invalid="ignore"):
        return np.where(shares > 0, 1 / (least * shares), np.inf)
