"""The reports that `sampled` draws, and how much each target value is represented in them.

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
from dataclasses import dataclass

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.data.domain import Domain
from seepage.data.records import Records
from seepage.leakage import Release
from seepage.leakage.release import View
from seepage.mechanisms import GRR, Mechanism
from seepage.totals.result import GuaranteeError

PLAIN_SHARE = 0.5
"""The share of people drawn from the table as it is."""

ROOM = 1.5
"""A value is worth boosting if it can have this many times the draws that it needs at least."""

IMPOSSIBLE = -1e6
"""Stands for the logarithm of 0: far below any likelihood that counts, and safe to add up."""

MOST_NUMBERS = 1 << 28
"""The most log-likelihoods of reports held at once: 2 GB."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Drawn reports.

    Parameters
    ----------
    logarithms
        ln p(report given value) of each report: one row per value of an attribute, all attributes
        one after the other, and one column per report.
    density
        g(r) of each distinct record.
    ceilings
        W(x) of each value; infinite for one that never occurred.
    left_out
        For each report the distinct record of which one person is left out of its sums; None
        where sums are over everybody.
    """

    logarithms: Floats
    density: Floats
    ceilings: Floats
    left_out: Integers | None = None

    @property
    def count(self) -> int:
        """The number of reports."""
        return int(self.logarithms.shape[1])


def offsets(domain: Domain) -> Integers:
    """Return where the values of each attribute begin when all are put one after the other."""
    return np.concatenate([[0], np.cumsum(domain.sizes)]).astype(np.int64)


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
    density = _density(data, extra, count)
    return Draws(logarithms, density, _ceilings(data, density))


def simulated(
    domain: Domain, released: Sequence[Release], count: int, what: str = "sampled totals"
) -> list[Mechanism | None]:
    """Return the mechanisms to draw so many reports from; None for a public attribute.

    A GuaranteeError is raised where one is not known, or where likelihoods do not fit.
    """
    values = int(offsets(domain)[-1])
    if values * count > MOST_NUMBERS:
        raise GuaranteeError(
            f"{count:,} reports of {values:,} values need {values * count / 2**27:.1f} GB, at most "
            f"2 fit; draw fewer reports or choose fewer attributes"
        )
    return [_simulated(domain, k, release, what) for k, release in enumerate(released)]


def perturbed(
    data: Records,
    mechanisms: Sequence[Mechanism | None],
    view: View,
    people: Integers,
    generator: np.random.Generator,
) -> Floats:
    """Return ln p(report given value) of fresh reports of some people, see `Draws.logarithms`."""
    rows = [
        _identity(data.codes[people, k], data.domain[k].size)
        if mechanism is None
        else _log_likelihood(mechanism, data.codes[people, k], view, generator)
        for k, mechanism in enumerate(mechanisms)
    ]
    return np.concatenate(rows)


def _simulated(domain: Domain, k: int, release: Release, what: str) -> Mechanism | None:
    """Return the mechanism to draw from; with a budget alone, GRR for two values at most.

    None for a public attribute, whose value itself is seen.

    Every epsilon-LDP report of a binary value is a post-processing of randomised response
    [Kairouz, Oh and Viswanath 2015], which so stands for the worst mechanism.
    """
    attribute = domain[k]
    if release.mechanism is not None or release.public:
        return release.mechanism
    if attribute.size > 2 or release.delta > 0:
        raise GuaranteeError(
            f"{what} need to know the mechanism of {attribute.name!r}, which has "
            f"{attribute.size} values and delta {release.delta:g}; name it (mechanism='grr')"
            + (", or use 'merged', which needs budgets alone" if "totals" in what else "")
        )
    return GRR(attribute.size, release.epsilon)


def _identity(codes: Integers, size: int) -> Floats:
    """Return ln p(value seen given value) of a public attribute, one row per value."""
    return np.where(np.arange(size)[:, None] == codes, 0.0, IMPOSSIBLE)


def _log_likelihood(
    mechanism: Mechanism, codes: Integers, view: View, generator: np.random.Generator
) -> Floats:
    """Return ln p(report given value) of fresh reports, one row per value."""
    reports = mechanism.perturb(codes, generator)
    if view == "report":
        logarithms = mechanism.log_likelihood(reports).T
    else:
        guesses = mechanism.infer(reports, generator)
        with np.errstate(divide="ignore"):
            logarithms = np.log(mechanism.inferred_channel())[:, guesses]
    return np.maximum(logarithms, IMPOSSIBLE)


# How many people are drawn for which value ------------------------------------------------------


def _shares(data: Records) -> Floats:
    """Return P(x) of every value of every attribute, one after the other."""
    marginals = [data.marginal(k) for k in range(len(data.domain))]
    return np.concatenate(marginals) / data.records


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
    served = np.zeros(len(shares), dtype=np.bool_)
    for target in affordable:
        served[begins[target] : begins[target + 1]] = True
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


def drawn(
    weights: Integers, positions: Integers, count: int, generator: np.random.Generator
) -> Integers:
    """Return some of the positions, drawn with replacement in proportion to their weights."""
    ends = np.cumsum(weights)
    picks = generator.integers(0, ends[-1], count)
    return np.asarray(positions[np.searchsorted(ends, picks, side="right")])


def _density(data: Records, extra: Integers, count: int) -> Floats:
    """Return g(r) = q(r) / P(r) of each distinct record."""
    shares = _shares(data)
    gains = np.divide(extra, shares * count, out=np.zeros_like(shares), where=shares > 0)
    density = np.full(len(data), 1 - int(extra.sum()) / count)
    for target, begin in enumerate(offsets(data.domain)[:-1]):
        density += gains[begin + data.column(target).astype(np.int64)]
    return density


def _ceilings(data: Records, density: Floats) -> Floats:
    """Return W(x) = 1 / (P(x) min of g over the records with x)."""
    least = []
    for target, size in enumerate(data.domain.sizes):
        smallest = np.full(size, np.inf)
        np.minimum.at(smallest, data.column(target), density)
        least.append(smallest)
    shares = _shares(data)
    with np.errstate(invalid="ignore"):
        reached = np.concatenate(least) * shares
    return np.where(shares > 0, 1 / np.where(shares > 0, reached, 1.0), np.inf)
