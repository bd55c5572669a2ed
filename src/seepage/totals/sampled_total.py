"""`sampled`: totals for any number of attributes, with a delta and a stated confidence.

With P_x the law of all reports given X_k = x, an attribute's total is (L, delta) where

    E over y ~ P_x of (1 - exp(L - loss(y)))+ <= delta  for all x, x',
    loss(y) = ln p(y given x) / p(y given x')   [theory-totals].

Reports are drawn once for all targets; p(y given x) is a sum over the whole table,
exact for the table's own joint distribution.  Only the expectation over reports is
estimated, by importance sampling: half of the people are drawn from the table's
distribution, the other half, stratified, from the people with a given value, for target
values that would have too few draws.  A report then has density

    q(y) = sum over records r of q(r) p(y given r),   q(r) = P(r) g(r),

g(r) = n_0/n + sum over values x of r of (n_x/n) / P(x), for n_0 plain draws and n_x
draws among the people with x.  Every report serves every target with the weight p(y
given x) / q(y), which never exceeds W(x) = 1 / (P(x) min over records r with x of
g(r)).
"""

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.nearest_distribution import nearest_distribution
from seepage._core.progress import Progress
from seepage.channel.records import Records
from seepage.mechanisms.release import Release, View
from seepage.totals.drawn_reports import (
    Draws,
    draw_indices,
    draw_log_likelihoods,
    report_sums,
    rounding_error,
    simulated_mechanisms,
    value_counts,
    value_indices,
    value_offsets,
)

if TYPE_CHECKING:
    from seepage.totals.total_settings import TotalSettings


ROUNDING_SHARE = 1e-9
"""Share of the allowed mean left unused, above the rounding error of sums over
reports."""


PLAIN_SHARE = 0.5
"""Share of the people drawn from the table's own distribution."""


DRAW_MARGIN = 1.5
"""Extra draws raise a value's expected draws to at least this multiple of the necessary
number."""


def sampled_totals(
    data: Records, released: Sequence[Release], view: View, settings: "TotalSettings"
) -> tuple[Floats, list[str], int]:
    """Return an (L, delta) total for every attribute, valid at once with probability
    `confidence`.

    Parameters
    ----------
    data, released, view
        The table, how each attribute is released, and what the adversary keeps.
    settings
        The `target_delta` of every total; the `confidence` 1 - beta, the probability
        over the drawn reports that all totals hold, at least; the number n of
        `reports`; `seed` and `progress`.

    Returns
    -------
    tuple[Floats, list[str], int]
        The smallest L that can be certified for each attribute, in nats, infinite if
        there is none; the attributes that have values with too few draws, followed by
        these values; and the approximate number of reports that would certify every
        value.

    Notes
    -----
    The mean over reports of Z = (p_x - e^L p_x')+ / (q W(x)), between 0 and 1,
    estimates E / W(x).  By Hoeffding's inequality in its sharpest form [Hoeffding 1963,
    Theorem 1], P(mean <= m) <= exp(-n kl(m, mu)) for mu >= m, for independent draws
    that need not be identically distributed: if the mean is at most the m with kl(m,
    delta / W) = ln(1/beta') / n, then E <= delta except with probability beta'.  beta'
    = beta / (number of ordered pairs of values of all targets), a union bound.  Z
    decreases in L, so the smallest such L needs no further correction: were it too
    small, the test would have failed at every fixed L between it and the right one.

    Cost: n times the number of distinct records likelihoods, each with one exponential
    and a column of two matrix products; memory for blocks of them and for n times the
    number of values.
    """
    starts = value_offsets(data.domain)[:-1]
    sizes = np.add.reduceat(value_counts(data) > 0, starts, dtype=np.int64)
    pairs = max(1, int((sizes * (sizes - 1)).sum()))
    delta = settings.target_delta
    reports = settings.reports
    level = math.log(pairs / (1 - settings.confidence))
    needed = level / -math.log1p(-delta)
    draws = draw_reports(data, released, view, reports, needed=needed, rng=settings.rng)
    weights = report_weights(data, draws, settings.progress)
    upper_bounds = max_weights(data, draws)
    guard = rounding_error(data, draws)
    values = []
    rare = []
    for target, start in enumerate(starts):
        attribute = data.domain[target]
        seen = start + np.flatnonzero(data.marginal(target))
        thresholds = [
            max_sample_mean(delta / upper_bounds[x], level / reports) for x in seen
        ]
        loss = _max_loss(weights[seen], thresholds, upper_bounds[seen])
        values.append(loss + guard if loss > 0 else 0.0)
        uncertified = [
            repr(attribute.values[x - start])
            for x, threshold in zip(seen, thresholds, strict=True)
            if threshold is None
        ]
        if uncertified:
            shown = ", ".join(uncertified[:3])
            if len(uncertified) > 3:
                shown += ", ..."
            rare.append(f"{attribute.name!r} ({shown})")
    return np.array(values), rare, sufficient_reports(data, needed)


def report_weights(
    data: Records, draws: Draws, progress: Progress | None = None
) -> Floats:
    """Return the weights p(y given x) / q(y) of sampled reports, one row per value x of
    any attribute, one column per y.
    """
    sums = report_sums(data, draws, progress)
    weights = sums[:-1]
    weights /= np.maximum(value_counts(data), 1)[:, None]
    weights /= sums[-1] / data.records
    return weights


def _max_loss(
    weights: Floats, thresholds: Sequence[float | None], upper_bounds: Floats
) -> float:
    """Return the largest sampled total over ordered pairs of values; infinite if a
    value has no threshold.
    """
    if len(weights) < 2:
        return 0.0
    largest = 0.0
    for first, (threshold, bound) in enumerate(
        zip(thresholds, upper_bounds, strict=True)
    ):
        if threshold is None:
            return math.inf
        allowed = threshold * bound * (1 - ROUNDING_SHARE)
        for other in np.delete(weights, first, axis=0):
            largest = max(largest, min_loss(weights[first], other, allowed))
    return largest


def max_sample_mean(mean: float, rate: float) -> float | None:
    """Return the largest mean m <= mean of sampled reports with kl(m, mean) >= rate,
    rounded down; None if there is none.

    kl(m, mu) = m ln(m / mu) + (1 - m) ln((1 - m) / (1 - mu)).

    Examples
    --------
    >>> max_sample_mean(0.01, 8 / 20_000)
    0.007...
    >>> max_sample_mean(0.01, 8 / 500) is None
    True
    """
    if -math.log1p(-mean) < rate:
        return None
    low = 0.0
    high = mean
    for _ in range(200):
        middle = (low + high) / 2
        if _kl(middle, mean) >= rate:
            low = middle
        else:
            high = middle
    return low


def _kl(m: float, mu: float) -> float:
    """Return the relative entropy of two means of sampled reports in [0, 1]."""
    return m * math.log(m / mu) + (1 - m) * math.log((1 - m) / (1 - mu))


def min_loss(upper: Floats, lower: Floats, allowed: float) -> float:
    """Return the smallest sampled total L >= 0 with mean of (upper - e^L lower)+ at
    most `allowed`.

    Parameters
    ----------
    upper, lower
        p(y given x) / q(y) and p(y given x') / q(y) of each report.
    allowed
        The maximum of the mean.

    Notes
    -----
    With reports sorted by upper / lower, decreasing, the sum is A - h B over a prefix,
    h = e^L between the ratios of the last report of the prefix and the next: O(n log
    n).

    Examples
    --------
    >>> round(min_loss(np.array([2.0, 1.0]), np.array([0.5, 1.0]), 0.1), 4)
    1.2809
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(upper > 0, upper / lower, 0.0)
    order = np.argsort(-ratios, kind="stable")
    ratios = ratios[order]
    above = np.cumsum(upper[order])
    below = np.cumsum(lower[order])
    max_sum = allowed * len(upper)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sums = above - np.where(below > 0, np.append(ratios[1:], 0.0) * below, 0.0)
        crossing = np.flatnonzero(sums > max_sum)
        if not len(crossing):
            return 0.0
        last = int(crossing[0])
        h = (above[last] - max_sum) / below[last]
    return max(0.0, float(np.log(h)))


# Stratified draws ---------------------------------------------------------------------


def draw_reports(
    data: Records,
    released: Sequence[Release],
    view: View,
    count: int,
    *,
    needed: float,
    rng: int | np.random.Generator | None,
) -> Draws:
    """Draw `count` report tuples for sampled totals, with extra draws for rare values.

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
        The minimum number of draws n / W(x) with which a value can be certified.
    rng
        The same seed gives the same reports.
    """
    mechanisms = simulated_mechanisms(data.domain, released, count)
    generator = checks.generator(rng)
    extra = _extra_draws(data, count, needed)
    people = _draw_people(data, count - int(extra.sum()), extra, generator)
    logarithms = draw_log_likelihoods(data, mechanisms, view, people, generator)
    return Draws(logarithms, _density(data, extra, count))


def _shares(data: Records) -> Floats:
    """Return the share P(x) of every value x for sampled totals, those of all
    attributes concatenated.
    """
    return np.asarray(value_counts(data) / data.records)


def _extra_draws(data: Records, count: int, needed: float) -> Integers:
    """Return the number n_x of extra reports sampled among the people with each value
    x.

    Attributes are served in the order of the extra draws that they need
    (`_missing_draws`), as long as the draws that are not plain suffice; water-filling
    then allots all of these to the values of the attributes served.
    """
    shares = _shares(data)
    starts = value_offsets(data.domain)
    plain = math.floor(PLAIN_SHARE * count)
    available = count - plain
    costs = np.add.reduceat(_missing_draws(shares, plain, needed), starts[:-1])
    ascending = np.argsort(costs, kind="stable")
    affordable = ascending[np.cumsum(costs[ascending]) <= available]
    served = np.repeat(np.isin(np.arange(len(costs)), affordable), data.domain.sizes)
    served &= shares > 0
    extra = np.zeros(len(shares), dtype=np.int64)
    if served.any():  # water-filling: (level - heights)+ with sum `available`
        heights = plain * shares[served] / available
        extra[served] = np.floor(available * nearest_distribution(-heights))
    return extra


def _missing_draws(shares: Floats, plain: int, needed: float) -> Floats:
    """Return the samples that each value needs in addition to its expected share of
    `plain` ones.
    """
    missing = np.maximum(DRAW_MARGIN * needed - plain * shares, 0.0)
    return np.where(shares > 0, missing, 0.0)


def sufficient_reports(data: Records, needed: float) -> int:
    """Return approximately the number of sampled reports with which every value can be
    certified.
    """
    shares = _shares(data)
    enough = 2 * DRAW_MARGIN * needed * len(shares) / PLAIN_SHARE

    def is_sufficient(count: int) -> bool:
        """Return whether so many sampled reports are enough for every value."""
        plain = math.floor(PLAIN_SHARE * count)
        return float(_missing_draws(shares, plain, needed).sum()) <= count - plain

    high = math.ceil(min(enough, sys.float_info.max))
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        if is_sufficient(middle):
            high = middle
        else:
            low = middle
    return high


def _draw_people(
    data: Records, plain: int, extra: Integers, generator: np.random.Generator
) -> Integers:
    """Draw people for sampled totals, plain ones and `extra` ones by value; return
    indices of distinct records.
    """
    people = [draw_indices(data.weights, np.arange(len(data)), plain, generator)]
    starts = value_offsets(data.domain)
    for value in np.flatnonzero(extra):
        target = int(np.searchsorted(starts, value, side="right")) - 1
        records = np.flatnonzero(data.column(target) == value - starts[target])
        people.append(
            draw_indices(data.weights[records], records, int(extra[value]), generator)
        )
    return np.concatenate(people)


def _density(data: Records, extra: Integers, count: int) -> Floats:
    """Return the density g(r) = q(r) / P(r) by which records are sampled."""
    shares = _shares(data)
    gains = np.divide(
        extra, shares * count, out=np.zeros_like(shares), where=shares > 0
    )
    return np.asarray(
        1 - int(extra.sum()) / count + gains[value_indices(data)].sum(axis=1)
    )


def max_weights(data: Records, draws: Draws) -> Floats:
    """Return the largest weight of sampled reports W(x) = 1 / (P(x) min of g over the
    records with x); infinite if x never occurs.
    """
    shares = _shares(data)
    minimum = np.full(len(shares), np.inf)
    np.minimum.at(minimum, value_indices(data), draws.density[:, None])
    with np.errstate(invalid="ignore"):
        return np.where(shares > 0, 1 / (minimum * shares), np.inf)
