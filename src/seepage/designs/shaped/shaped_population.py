"""Shaped reports whose limits hold for the people that the table was drawn from.

Reports that are chosen by looking at records fit these records: what they tell about others is
more.  So reports are chosen on a random fifth, and their leakage is limited on the rest, which no
choice has seen.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.records import Records
from seepage.designs.forms.population_certifier import check_split
from seepage.designs.shaped.admissible_reports import (
    MAX_LIMIT,
    AdmissibleReports,
    RatioLimit,
    whole_thresholds,
)
from seepage.designs.shaped.shaped_mechanism import ShapedMechanism
from seepage.errors import InputError
from seepage.leakage.deviations import kl_inf_limits, mixture_radius
from seepage.mechanisms.exact_probabilities import CERTAIN

CHOSEN_ON = 5
"""One record in so many is for choosing."""

GROWTH = 1.5
"""Times its own records that the fifth counts for: the rest has 4 times as many, but its shares
differ from those that the choice fits."""

CUTS = 4
"""Linear programs for one report, each with the limits that the last one broke."""

CUT_TOLERANCE = 5e-3
"""The excess over a limit that is mended by mixing with the neutral report."""

MAX_CUTS, RECENT = 200, 60
"""Linear limits in the programs at most, and the reports that decide which of them stay."""

STEPS = 6
"""Newton steps for the largest mean; what they decide is checked on the rest."""

WIDEST = 4.0
"""The largest change of a logarithm in one of them."""

UNSEEN = 1e-9
"""Records that count for a cell without any, so that no row is empty."""

ROUNDED = 1e-9
"""By how much less is kept, doubled each time, where rounding takes a limit's last digits."""

ROUNDING = 1e-13
"""More than the rounding error of a log-ratio of limits and of chances as doubles."""

MIN_KEPT = 1e-3
"""The least share of each report that is worth keeping."""


class CellCounts(NamedTuple):
    """Counts of a target's values by cell, and which cells each value may have."""

    counts: Integers
    possible: Booleans


def split_records(records: Records, seed: int) -> tuple[Records, Records]:
    """Return a random fifth of the records, and the rest."""
    check_split(records)
    draws = np.random.default_rng(seed)
    size = records.records // CHOSEN_ON
    first = draws.multivariate_hypergeometric(records.weights, size, method="marginals")
    return (
        Records(records.domain, records.codes, first),
        Records(records.domain, records.codes, records.weights - first),
    )


def statement_level(targets: Mapping[str, CellCounts], reports: int, confidence: float) -> float:
    """Return c = ln(N / beta): both sides, every report, every value of every target."""
    statements = 2 * reports * sum(len(one.counts) for one in targets.values())
    return math.log(max(statements, 4) / (1 - confidence))


def population_leakages(
    channel: Floats, targets: Mapping[str, CellCounts], level: float
) -> dict[str, float]:
    """Return upper limits of what reports tell about each target among the people.

    ln max over y, x != x' of upper_x(y) / lower_x'(y), where the likelihood of report y given x is
    the mean of C[z, y] over the people with value x.  All limits hold at once but with probability
    N e^-level, N the statements of `statement_level` [theory-population: One statement].

    Parameters
    ----------
    channel
        P(report given cell).
    targets
        Counts of records that had no part in the choice of the channel.
    level
        c of `statement_level`.
    """
    found = {}
    for name, one in targets.items():
        upper, lowest = _mean_limits(channel.T, one, level)
        ratio = float((upper / lowest).max()) if len(one.counts) > 1 else 1.0
        found[name] = math.log(ratio) + ROUNDING if ratio > 1 else 0.0
    return found


def _mean_limits(weights: Floats, target: CellCounts, level: float) -> tuple[Floats, Floats]:
    """Return upper limits of each report's mean given each value, and the lowest of the others.

    Both with one row per report and one column per value.
    """
    totals = target.counts.sum(axis=1)
    shares = target.counts / np.maximum(totals, 1)[:, None]
    within = np.where(target.possible, weights[:, None, :], np.nan)
    limits = kl_inf_limits(
        weights[:, None, :],
        shares,
        mixture_radius(totals, level),
        np.nanmin(within, axis=2),
        np.nanmax(within, axis=2),
    )
    order = np.sort(limits.lower, axis=1)
    itself = limits.lower == order[:, :1]
    return limits.upper, np.where(itself, order[:, 1:2], order[:, :1])


def kept_share(
    reports: Floats, targets: Mapping[str, CellCounts], limits: Mapping[str, float], level: float
) -> float:
    """Return how much of each report may be kept, the rest neutral, for limits to be certified.

    Mixing maps every mean m to t m + 1 - t, and its limits likewise, so limits of the reports
    themselves hold for all shares t at once: t (u - 1) + 1 <= e^l (t (v - 1) + 1).
    """
    share = 1.0
    for name, limit in limits.items():
        if len(targets[name].counts) > 1:
            upper, lowest = _mean_limits(reports, targets[name], level)
            rise = float((upper - 1 - math.exp(limit) * (lowest - 1)).max())
            share = min(share, math.expm1(limit) / rise) if rise > 0 else share
    return share


class CertifiedReports(AdmissibleReports):
    """Reports whose limits a larger sample is expected to certify, judged by a small one.

    The upper limit of a mean is sup Q . w over the distributions Q within a relative entropy of the
    small sample's, so what will be certified is a family of linear limits on w, two distributions
    each.  Those that matter are added when a linear program violates them.

    Parameters
    ----------
    limits, frequencies
        As in `AdmissibleReports`; the targets' own limits on the small sample among them.
    targets
        The targets' counts in the small sample, with their limits.
    level
        c of `statement_level`.
    growth
        How many times larger the sample is that certifies.
    """

    def __init__(
        self,
        limits: Sequence[RatioLimit],
        frequencies: Floats,
        targets: Sequence[tuple[CellCounts, float]],
        level: float,
        growth: float,
    ) -> None:
        super().__init__(limits, frequencies)
        targets = [one for one in targets if len(one[0].counts) > 1]
        counts = np.vstack([one.counts for one, _ in targets])
        totals = counts.sum(axis=1)
        self._shares = np.maximum(counts, UNSEEN) / np.maximum(totals, 1)[:, None]
        self._possible = np.vstack([one.possible for one, _ in targets])
        radius = mixture_radius(growth * totals, level)
        self._radius = np.where(np.isfinite(radius), radius, 1e3)
        self._cuts = self._recent = np.zeros((0, self.cells))
        begin, pairs = 0, []
        for number, (one, limit) in enumerate(targets):
            rows = range(begin, begin + len(one.counts))
            pairs += [(number, limit, *pair) for pair in permutations(rows, 2)]
            begin = rows.stop
        owner, most, first, second = zip(*pairs, strict=True)
        self._owner, self._first, self._second = map(np.array, (owner, first, second))
        self._most = np.exp(np.minimum(most, MAX_LIMIT))

    enumerable = False

    def _means(self, reports: Floats) -> tuple[Floats, Floats]:
        """Return the distributions of the largest and of the smallest mean of each report."""
        both = tilted(self._shares, np.vstack([reports, -reports]), self._radius, self._possible)
        return both[: len(reports)], both[len(reports) :]

    def _pairs(self, reports: Floats, means: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Return the largest mean given x, and the smallest given x', for all limited pairs."""
        high, low = ((q @ reports[:, :, None])[..., 0] for q in means)
        return high[:, self._first], low[:, self._second]

    def _kept(self, high: Floats, low: Floats) -> Floats:
        """Return how much of each report, the rest neutral, is within all limits.

        Mixing maps means m to t m + 1 - t: t (high - 1) + 1 <= e^l (t (low - 1) + 1).
        """
        rise = np.maximum(high - self._most * low, 0.0)
        return np.asarray(1 / (1 + (rise / np.maximum(self._most - 1, UNSEEN)).max(axis=1)))

    def _broken(self, report: Floats) -> tuple[list[Floats], float]:
        """Return the linear limits a . w <= 0 that a report breaks, the worst of each target.

        Also how much of the report may be kept.
        """
        means = self._means(report[None])
        high, low = self._pairs(report[None], means)
        ratios = (high / (self._most * low))[0]
        worst = dict[int, int]()
        for pair in np.argsort(ratios)[(ratios <= 1 + CUT_TOLERANCE).sum() :].tolist():
            worst[int(self._owner[pair])] = pair
        upper, lower = (q[0] for q in means)
        found = [
            upper[self._first[pair]] - self._most[pair] * lower[self._second[pair]]
            for pair in worst.values()
        ]
        return found, float(self._kept(high, low)[0])

    def _add(self, report: Floats, broken: list[Floats]) -> None:
        """Add linear limits; where they are many, keep those that recent reports come nearest."""
        self._recent = np.vstack([self._recent, report])[-RECENT:]
        self._cuts = np.vstack([self._cuts, *broken])
        if len(self._cuts) <= MAX_CUTS:
            self._programs.add(np.array(broken))
            return
        slacks = (-self._cuts @ self._recent.T).min(axis=1)
        self._cuts = self._cuts[np.argsort(slacks)[: MAX_CUTS // 2]]
        self._programs.replace(self._cuts)

    def largest(self, gain: Floats) -> Floats | None:
        """Return an admissible report with about the largest gain . w."""
        for _ in range(CUTS):
            report = super().largest(gain)
            if report is None:
                return None
            broken, kept = self._broken(report)
            mixed = kept * (report - 1) + 1
            if not broken:
                break
            self._add(report, broken)
        return mixed

    def first(self) -> Floats:
        """Return reports around the neutral one, in pairs that sum to it."""
        reports = super().first()
        kept = self._kept(*self._pairs(reports, self._means(reports)))
        kept = np.tile(kept.reshape(2, -1).min(axis=0), 2)
        return np.asarray(kept[:, None] * (reports - 1) + 1)

    def admits(self, reports: Floats) -> Booleans:
        """Return which reports are within all limits."""
        high, low = self._pairs(reports, self._means(reports))
        return np.asarray(super().admits(reports) & (high <= self._most * low).all(axis=1))


def tilted(shares: Floats, reports: Floats, radius: Floats, possible: Booleans) -> Floats:
    """Return the distributions Q of the largest mean with KL(shares, Q) <= radius.

    One for each report (first axis) and each row of shares.  Q_i ~ p_i / (nu + g_i), with g_i the
    largest weight less w_i; what is left where nu is near 0 goes to the largest weight.  Newton's
    method for nu of K = sum p ln(nu + g) + ln sum p / (nu + g) = radius, with ln K as a function
    of ln nu, which is close to a line of slope -2.
    """
    weights = np.where(possible, reports[:, None, :], -np.inf)
    gaps = np.where(possible, weights.max(axis=2, keepdims=True) - weights, 0.0)
    mean = (shares * gaps).sum(axis=2)
    spread = np.maximum((shares * gaps**2).sum(axis=2) - mean**2, 1e-30)
    nu = np.sqrt(spread / (2 * radius))
    for _ in range(STEPS):
        parts = shares / (nu[..., None] + gaps)
        inverse = parts.sum(axis=2)
        entropy = (shares * np.log(nu[..., None] + gaps)).sum(axis=2) + np.log(inverse)
        slope = nu * (inverse - (parts / (nu[..., None] + gaps)).sum(axis=2) / inverse)
        entropy, slope = np.maximum(entropy, 1e-30), np.minimum(slope, -1e-30)
        step = entropy * np.log(radius / entropy) / slope
        nu = nu * np.exp(np.clip(step, -WIDEST, WIDEST))
    shifted = nu[..., None] + gaps
    power = np.exp((shares * np.log(shifted)).sum(axis=2) - radius)
    scale = np.minimum(power, 1 / (shares / shifted).sum(axis=2))
    found = scale[..., None] * shares / shifted
    left = np.maximum(1 - found.sum(axis=2), 0.0)
    largest = weights.argmax(axis=2)[..., None]
    np.put_along_axis(
        found, largest, np.take_along_axis(found, largest, axis=2) + left[..., None], axis=2
    )
    return np.asarray(found)


def certified_mechanism(
    made: ShapedMechanism,
    limits: Mapping[str, float],
    rest: Mapping[str, CellCounts],
    counts: Integers,
    confidence: float,
) -> ShapedMechanism:
    """Return a mechanism mixed with the neutral report until the rest certifies its limits.

    Parameters
    ----------
    made
        The mechanism made on a fifth of the records.
    limits
        What reports may tell about each target among the people.
    rest
        Counts of the records that the choice has not seen.
    counts
        Counts of all records by cell, for the nominal frequencies.
    confidence
        With which all limits hold at once.
    """
    free = [one for one in made.limits if one.kind in ("answer", "record")]
    level = statement_level(rest, made.outputs + 1, confidence)
    shares = made.nominal @ made.channel()
    reports = (made.channel() / shares).T
    kept, less = kept_share(reports, rest, limits, level), ROUNDED
    while kept > MIN_KEPT:
        thresholds = whole_thresholds(kept * reports + (1 - kept), shares, free)
        channel = np.asarray(thresholds / CERTAIN, dtype=np.float64)
        found = population_leakages(channel, rest, level)
        if all(found[name] <= limit for name, limit in limits.items()):
            break
        kept, less = kept * (1 - less), min(2 * less, 0.5)
    else:
        raise InputError(
            f"the limits of {', '.join(limits)} cannot be certified for the population, "
            f"from {int(counts.sum()):,} records; raise the limits, or give scope='table'"
        )
    promised = [RatioLimit(name, rest[name].counts, limit) for name, limit in limits.items()]
    return ShapedMechanism(
        thresholds,
        sources=made.sources,
        sizes=made.sizes,
        counts=counts,
        limits=[*promised, *free],
        wanted=made.wanted,
        cell_names=made.cell_names,
        certified=found,
        confidence=confidence,
    )
