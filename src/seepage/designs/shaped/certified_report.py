"""Shaped reports tilted and shrunk until their limits hold for the population."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage.confidence.level_of_maxima import level_of_maxima
from seepage.confidence.mean_limits import mixture_radius
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.shaped.admissible_reports import (
    MAX_LIMIT,
    AdmissibleReports,
    AnswerCounts,
    RatioLimit,
)
from seepage.designs.shaped.population_leakages import (
    ROUNDING,
    kept_share,
    population_leakages,
)
from seepage.designs.shaped.report_thresholds import (
    mixture_thresholds,
    rounding_changes,
)
from seepage.designs.shaped.shape_form import shape_form, shaped_report
from seepage.designs.shaped.shaped_report import ShapedReport

SAMPLE_RATIO = 1.5
"""Size of the certifying sample assumed during the selection, relative to the selecting
one.

It is 4 in fact; but its frequencies differ from those that the selection fits."""


MAX_CUT_ROUNDS = 4
"""Maximum number of linear programs per report, each with the cuts that the last one
violated."""


CUT_TOLERANCE = 5e-3
"""Relative excess over a limit up to which mixing with the neutral report replaces a
cut."""


MAX_CUTS = 200
"""Maximum number of cuts in the programs."""


NEWTON_STEPS = 6
"""Maximum Newton steps of `tilted`; approximate, as limits are certified on the other
records."""


MAX_LOG_STEP = 4.0


LOG_ACCURACY = 1e-3
"""Maximum change of ln nu in one Newton step, and the change after which the steps
end."""


PSEUDO_COUNT = 1e-9
"""Minimum count of a cell, so that no row of shares is 0."""


START_REDUCTION = 1e-9
"""First relative reduction of the kept share if rounding exceeds a limit; doubled each
time."""


EXPECTED_FORMS = 8
"""Number of shaped forms assumed during the selection; those certified are counted."""


ROUNDING_MARGIN = 1e-7
"""Nats by which limits are lowered for reports before they are rounded to thresholds:
above the change of any log-likelihood ratio by rounding."""


MIN_PROBABILITY = 1e-12
"""Reports with a smaller probability are left out, so that rounding changes the others
by less than the margin."""


MIN_KEPT = 1e-3
"""Minimum kept share of each report; a smaller one is not worth sending."""


SELECTION_GAP = 1e-2
"""Minimum `gap` of `shape_form` on a fifth of the records: a finer search would
overfit."""


class CertifiedReports(AdmissibleReports):
    """The cone of reports that a larger sample is expected to certify, from a small
    sample.

    The upper limit of a mean is sup Q . w over the distributions Q within a relative
    entropy of the small sample's, so the certified limits are a family of linear limits
    on w, one for each pair of distributions.  They are added as cuts when the solution
    of a linear program violates them.

    Parameters
    ----------
    limits, frequencies
        As in `AdmissibleReports`; including the targets' limits on the small sample.
    table
        The counts of the small sample.
    target_limits
        Maximum leakage in nats about each target, of at least two values.
    level
        c of `level_of_maxima`.
    """

    def __init__(
        self,
        limits: Sequence[RatioLimit],
        frequencies: Floats,
        table: AnswerCounts,
        target_limits: Mapping[str, float],
        level: float,
    ) -> None:
        """Prepare the cone of reports that a sample is expected to certify."""
        super().__init__(limits, frequencies)
        counted = [table.targets[name] for name in target_limits]
        counts = (np.vstack(counted) / table.factor).astype(np.float64)
        totals = counts.sum(axis=1)
        self._shares = np.maximum(counts, PSEUDO_COUNT) / np.maximum(totals, 1)[:, None]
        self._possible = np.vstack([table.possible(name) for name in target_limits])
        radius = mixture_radius(SAMPLE_RATIO * totals, level)
        self._radius = np.where(np.isfinite(radius), radius, 1e3)
        self._cuts = np.zeros((0, self.cells))
        start = 0
        pairs = []
        for index, (name, limit) in enumerate(target_limits.items()):
            rows = range(start, start + len(table.targets[name]))
            pairs += [(index, limit, *pair) for pair in permutations(rows, 2)]
            start = rows.stop
        indices, pair_limits, first, second = zip(*pairs, strict=True)
        self._target, self._first, self._second = map(
            np.array, (indices, first, second)
        )
        self._ratios = np.exp(np.minimum(pair_limits, MAX_LIMIT))

    def _extreme_distributions(self, reports: Floats) -> tuple[Floats, Floats]:
        """Return the distributions Q of the largest and of the smallest mean of each
        report to certify.
        """
        both = tilted(
            self._shares, np.vstack([reports, -reports]), self._radius, self._possible
        )
        return both[: len(reports)], both[len(reports) :]

    def _extreme_means(
        self, reports: Floats, distributions: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Return the certified extremes, the largest mean given x and the smallest
        given x', for all pairs x, x'.
        """
        high, low = ((q @ reports[:, :, None])[..., 0] for q in distributions)
        return high[:, self._first], low[:, self._second]

    def _room(self, high: Floats, low: Floats) -> Floats:
        """Return the largest t for which certified means 1 + t d are within all limits,
        of each direction.

        High and low are the largest and smallest means of d: 1 + t high <= e^l (1 + t
        low).
        """
        slopes = np.maximum(high - self._ratios * low, PSEUDO_COUNT)
        return np.asarray(((self._ratios - 1) / slopes).min(axis=1))

    def _violated_cuts(self, report: Floats) -> tuple[list[Floats], float]:
        """Return the cuts a . w <= 0 that a report to certify violates, the worst of
        each target.

        Also the largest t for which t w + 1 - t is within all limits.
        """
        distributions = self._extreme_distributions(report[None])
        high, low = self._extreme_means(report[None], distributions)
        excess = (high / (self._ratios * low))[0]
        worst = dict[int, int]()
        for pair in np.argsort(excess)[(excess <= 1 + CUT_TOLERANCE).sum() :].tolist():
            worst[int(self._target[pair])] = pair
        upper, lower = (q[0] for q in distributions)
        cuts = [
            upper[self._first[pair]] - self._ratios[pair] * lower[self._second[pair]]
            for pair in worst.values()
        ]
        return cuts, min(1.0, float(self._room(high - 1, low - 1)[0]))

    def _add_cuts(self, cuts: list[Floats]) -> None:
        """Add cuts of reports that cannot be certified; above `MAX_CUTS`, keep the
        newer half.
        """
        self._cuts = np.vstack([self._cuts, *cuts])
        if len(self._cuts) <= MAX_CUTS:
            self._programs.add(np.array(cuts))
            return
        self._cuts = self._cuts[-MAX_CUTS // 2 :]
        self._programs = self._linear_programs(self._cuts)

    def best_report(self, gain: Floats) -> Floats | None:
        """Return a report that can be certified and approximately maximises gain . w,
        by cutting planes.
        """
        for _ in range(MAX_CUT_ROUNDS):
            report = super().best_report(gain)
            if report is None:
                return None
            cuts, kept = self._violated_cuts(report)
            mixed = kept * (report - 1) + 1
            if not cuts:
                break
            self._add_cuts(cuts)
        return mixed

    def reach(self, directions: Floats) -> Floats:
        """Return the largest t of each direction d for which the report 1 + t d can be
        certified.
        """
        means = self._extreme_means(directions, self._extreme_distributions(directions))
        return np.asarray(np.minimum(super().reach(directions), self._room(*means)))


def tilted(
    shares: Floats, reports: Floats, radius: Floats, possible: Booleans
) -> Floats:
    """Return the distributions Q that maximise the mean of a report to certify with
    KL(shares, Q) <= radius.

    One for each report (first axis) and each row of shares.  Q_i ~ p_i / (nu + g_i),
    with g_i the largest weight minus w_i; the remainder, if nu is near 0, goes to the
    largest weight.  Newton's method for nu of K = sum p ln(nu + g) + ln sum p / (nu +
    g) = radius, with ln K as a function of ln nu, which is close to a line of slope -2.
    """
    weights = np.where(possible, reports[:, None, :], -np.inf)
    gaps = np.where(possible, weights.max(axis=2, keepdims=True) - weights, 0.0)
    mean = (shares * gaps).sum(axis=2)
    spread = np.maximum((shares * gaps**2).sum(axis=2) - mean**2, 1e-30)
    nu = np.sqrt(spread / (2 * radius))
    for _ in range(NEWTON_STEPS):
        shifted = nu[..., None] + gaps
        parts = shares / shifted
        inverse = parts.sum(axis=2)
        entropy = (shares * np.log(shifted)).sum(axis=2) + np.log(inverse)
        slope = nu * (inverse - (parts / shifted).sum(axis=2) / inverse)
        entropy = np.maximum(entropy, 1e-30)
        slope = np.minimum(slope, -1e-30)
        step = entropy * np.log(radius / entropy) / slope
        nu = nu * np.exp(np.clip(step, -MAX_LOG_STEP, MAX_LOG_STEP))
        if np.abs(step).max() < LOG_ACCURACY:
            break
    shifted = nu[..., None] + gaps
    power = np.exp((shares * np.log(shifted)).sum(axis=2) - radius)
    scale = np.minimum(power, 1 / (shares / shifted).sum(axis=2))
    tilted_shares = scale[..., None] * shares / shifted
    remainder = np.maximum(1 - tilted_shares.sum(axis=2), 0.0)[..., None]
    largest = weights.argmax(axis=2)[..., None]
    at_largest = np.take_along_axis(tilted_shares, largest, axis=2)
    np.put_along_axis(tilted_shares, largest, at_largest + remainder, axis=2)
    return np.asarray(tilted_shares)


def select_report(
    table: AnswerCounts, limits: Mapping[str, float], confidence: float, **options: Any
) -> ShapedReport | None:
    """Return a report, computed on a small sample, that a larger one is expected to
    certify.

    Options are those of `shape_form`; None as there.
    """
    level = level_of_maxima(EXPECTED_FORMS, confidence)
    record_limit = options["record_limit"]  # no leakage is above it
    protected = {
        name: limit
        for name, limit in limits.items()
        if len(table.targets[name]) > 1 and limit < record_limit
    }
    certified = partial(
        CertifiedReports, table=table, target_limits=protected, level=level
    )
    cone = certified if protected else AdmissibleReports
    gap = max(options.pop("gap", 0.0), SELECTION_GAP)
    return shape_form(table, limits, cone=cone, gap=gap, **options)


def certified_report(
    selected: ShapedReport,
    limits: Mapping[str, float],
    rest: FormCounter,
    whole: FormCounter,
    level: float,
    *,
    record_limit: float = math.inf,
) -> tuple[ShapedReport, dict[str, float]] | None:
    """Return a report mixed with the neutral one until its limits are certified, and
    its leakages.

    None if hardly any share of it can be kept.  The leakages prove that every limit
    holds; they are not totals to be read singly.

    Parameters
    ----------
    selected
        The report selected on a fifth of the records.
    limits
        Maximum leakage in nats about each target in the population.
    rest
        Counts the other records, which the selection has not used.
    whole
        Counts all records, for the nominal frequencies.
    level
        c of `level_of_maxima` for the reports that are certified.
    record_limit
        Maximum leakage about the whole record.  It may depend on all records: the
        certificate holds for every share that is kept.

    Notes
    -----
    The family is that of the mixtures before they are rounded, within limits lowered by
    `ROUNDING_MARGIN`; the rounded report differs by less [theory-certificate:
    Families].
    """
    table = AnswerCounts.of(rest, selected.table.sources, limits)
    reports = selected.reports
    shares = selected.nominal @ selected.mechanism.channel()
    likely = shares * reports.min(axis=1) > MIN_PROBABILITY
    reports = reports[likely]
    shares = shares[likely]
    lowered = {name: limit - ROUNDING_MARGIN for name, limit in limits.items()}
    kept = kept_share(reports, table, lowered, level)
    reduction = START_REDUCTION
    kept = min(kept, _share_within(reports, record_limit))
    data_free = [
        bound._replace(limit=min(bound.limit, record_limit))
        for bound in selected.data_free
    ]
    while kept > MIN_KEPT:
        mixed = kept * reports + (1 - kept)
        leakages = population_leakages(mixed.T, table, level)
        within = all(leakages[name] <= limit for name, limit in lowered.items())
        if within:
            thresholds = mixture_thresholds(mixed, shares, data_free)
            change, remainder = rounding_changes(thresholds)
            if change > ROUNDING_MARGIN or remainder > min(limits.values(), default=1):
                return None
            nominal = AnswerCounts.of(whole, selected.table.sources)
            wanted = selected.wanted
            rows = selected.rows
            report = shaped_report(thresholds, nominal, wanted, rows, data_free)
            return None if report is None else (report, leakages)
        kept = kept * (1 - reduction)
        reduction = min(2 * reduction, 0.5)
    return None


def _share_within(reports: Floats, limit: float) -> float:
    """Return the largest t for which a certified report t w + 1 - t has no log-ratio of
    two cells above a limit.
    """
    if not math.isfinite(limit):
        return 1.0
    ratio = math.exp(limit)
    slopes = reports.max(axis=1) - 1 - ratio * (reports.min(axis=1) - 1)
    return min(1.0, (ratio - 1) / max(float(slopes.max()), ROUNDING))
