"""`sampled`: totals for any number of attributes, with a delta and a stated confidence.

With P_x the law of all reports given X_k = x, an attribute's total is (L, delta) where

    E over y ~ P_x of (1 - exp(L - loss(y)))+ <= delta  for all x, x',
    loss(y) = ln p(y given x) / p(y given x')   [theory-totals].

Reports are drawn once for all targets; p(y given x) is a sum over the whole table, exact for the
table's own joint distribution.  What is statistical is only the expectation over reports.

p(y given x) = sum over people with x of prod_i p(y_i given value of i), divided by their number;
and q(y), the same sum over all people, weighted as they were drawn.  All targets share one matrix
of records by reports, which is never held as a whole.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._numerics import UNIT, Floats, Integers
from seepage._results import Progress
from seepage.data.records import Records
from seepage.leakage import Release
from seepage.leakage.release import View
from seepage.totals.sampled_reports import (
    IMPOSSIBLE,
    Draws,
    draw_reports,
    offsets,
    reports_enough,
)

SPARE = 1e-9
"""The share of the allowed mean left unused, for rounding in sums over reports."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """What was found for each attribute.

    Parameters
    ----------
    values
        The smallest L that can be certified; infinite where there is none.
    rare
        For each attribute the values that have too few draws.
    enough
        About how many reports would certify every value.
    """

    values: Floats
    rare: list[Integers]
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
    sizes = [int(np.count_nonzero(data.marginal(k))) for k in range(len(data.domain))]
    pairs = max(1, sum(size * (size - 1) for size in sizes))
    level = math.log(pairs / (1 - confidence))
    needed = level / -math.log1p(-delta)
    draws = draw_reports(data, released, view, reports, needed, seed)
    densities, own = report_densities(data, draws, progress)
    guard = rounding_of(data, draws)
    values, rare = [], []
    for target, begin in enumerate(offsets(data.domain)[:-1]):
        seen = begin + np.flatnonzero(data.marginal(target))
        limits = [largest_mean(delta / draws.ceilings[x], level / reports) for x in seen]
        weighted = densities[seen] / own
        found = _largest_loss(weighted, limits, draws.ceilings[seen])
        values.append(found + guard if found > 0 else 0.0)
        rare.append(np.array([x - begin for x, m in zip(seen, limits, strict=True) if m is None]))
    return Sampled(np.array(values), rare, reports_enough(data, needed))


def _largest_loss(weighted: Floats, limits: Sequence[float | None], ceilings: Floats) -> float:
    """Return the largest L over ordered pairs of values, infinite where one has no limit."""
    if len(weighted) < 2:
        return 0.0
    largest = 0.0
    for first, (limit, ceiling) in enumerate(zip(limits, ceilings, strict=True)):
        if limit is None:
            return math.inf
        for second in range(len(weighted)):
            if first != second:
                allowed = limit * ceiling * (1 - SPARE)
                largest = max(largest, smallest_loss(weighted[first], weighted[second], allowed))
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


# Likelihoods of the drawn reports, summed over the table ---------------------------------------

RECORDS = 2048
REPORTS = 2048
"""Likelihoods handled at once by NumPy: a block of records by reports, 32 MB."""

COMPILED_FROM = 1 << 27
"""From this many likelihoods on, loading the compiled kernel pays."""

LOWEST = -1e300
"""Below any logarithm of a likelihood but that of 0, and finite."""

WIDEST_SPREAD = 600.0
"""Products of likelihoods no more than e^-600 apart neither overflow nor vanish."""


def report_densities(
    data: Records, draws: Draws, progress: Progress | None = None
) -> tuple[Floats, Floats]:
    """Return p(y given x) of every value x of every attribute, and q(y).

    Rows are the values of all attributes one after the other, columns reports.  Each report has
    an unknown factor of its own, the same for all values and for q: only ratios mean something.

    Notes
    -----
    One likelihood for each distinct record and report: about 1 ns each where the compiled kernel
    is used (large work, budgets of moderate sum), 10 to 20 ns in NumPy.
    """
    sums = report_sums(data, draws, progress)
    people = np.concatenate([data.marginal(k) for k in range(len(data.domain))])
    return sums[:-1] / np.maximum(people, 1)[:, None], sums[-1] / data.records


def report_sums(data: Records, draws: Draws, progress: Progress | None = None) -> Floats:
    """Return the sums over people, one row per value, and that for q as the last row."""
    spread = float(_spreads(data, draws).max()) if draws.count else 0.0
    if len(data) * draws.count >= COMPILED_FROM and spread <= WIDEST_SPREAD:
        from seepage.totals.compiled_sums import sums_by_value

        return sums_by_value(data, draws, progress)
    return sums_in_blocks(data, draws, progress)


def _spreads(data: Records, draws: Draws) -> Floats:
    """Return for each report how far two records under which it is possible can be apart."""
    begins = offsets(data.domain)[:-1]
    high = np.maximum.reduceat(draws.logarithms, begins)
    possible = np.where(draws.logarithms > IMPOSSIBLE, draws.logarithms, np.inf)
    low = np.minimum.reduceat(possible, begins)
    return np.asarray((high - low).sum(axis=0))


def sums_in_blocks(data: Records, draws: Draws, progress: Progress | None) -> Floats:
    """Return the sums over people, one row per value, and that for q as the last row.

    The logarithm of the matrix is a product of the records' indicators with the reports'
    log-likelihoods; its product with the value indicators sums it over the people who have each
    value.  A report is scaled by its likeliest record so far, so that no exponential overflows
    and none that counts is lost.
    """
    begins, sizes = offsets(data.domain), data.domain.sizes
    values = int(begins[-1])
    kept = np.delete(np.arange(values), begins[:-1])
    relative = draws.logarithms - np.repeat(draws.logarithms[begins[:-1]], sizes, axis=0)
    relative = np.ascontiguousarray(relative[kept])
    sums = np.zeros((values + 1, draws.count))
    scale = np.full(draws.count, -np.inf)
    places = data.codes.astype(np.int64) + begins[:-1]
    for begin in range(0, len(data), RECORDS):
        rows = slice(begin, begin + RECORDS)
        indicators = _indicators(places[rows], values)
        weights = data.weights[rows].astype(np.float64)
        adding = np.vstack([indicators.T * weights, weights * draws.density[rows]])
        chosen = np.ascontiguousarray(indicators[:, kept])
        for first in range(0, draws.count, REPORTS):
            block = slice(first, first + REPORTS)
            logarithms = chosen @ relative[:, block]
            if draws.left_out is not None:
                _leave_out(logarithms, draws.left_out[block] - begin, weights)
            _add_block(logarithms, adding, sums[:, block], scale[block])
        if progress is not None:
            progress(min(begin + RECORDS, len(data)), len(data))
    return sums


def _indicators(places: Integers, values: int) -> Floats:
    """Return 1 where a record (row) has a value (column)."""
    indicators = np.zeros((len(places), values))
    np.put_along_axis(indicators, places, 1.0, axis=1)
    return indicators


def _leave_out(logarithms: Floats, records: Integers, weights: Floats) -> None:
    """Take one person of each report's record out of a block: (w - 1)/w of its likelihood."""
    reports = np.flatnonzero((records >= 0) & (records < len(weights)))
    rows = records[reports]
    with np.errstate(divide="ignore"):
        logarithms[rows, reports] += np.log1p(-1 / weights[rows])


def _add_block(logarithms: Floats, adding: Floats, sums: Floats, scale: Floats) -> None:
    """Add a block of records to the sums of a block of reports, in place."""
    highest = np.maximum(scale, np.maximum(logarithms.max(axis=0), LOWEST))
    logarithms -= highest
    np.exp(logarithms, out=logarithms)
    sums *= np.exp(scale - highest)
    sums += adding @ logarithms
    scale[:] = highest


def rounding_of(data: Records, draws: Draws) -> float:
    """Return more than the rounding error of a loss.

    A likelihood is a sum over the distinct records of exponentials whose arguments are sums
    over the attributes; a loss is the ratio of two.  What stands for the logarithm of 0 is as
    much a term of those sums as any other.
    """
    if not draws.count:
        return 4 * UNIT * (len(data) + 8 * len(data.domain))
    lowest = np.minimum.reduceat(draws.logarithms, offsets(data.domain)[:-1])
    impossible = (lowest <= IMPOSSIBLE).sum(axis=0)
    terms = float((_spreads(data, draws) - IMPOSSIBLE * impossible).max())
    return 4 * UNIT * (len(data) + len(data.domain) * (8 + terms))
