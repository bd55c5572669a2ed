"""Leakages estimated from collected reports alone, each with a confidence interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, SupportsIndex

import numpy as np

from seepage import __version__, _checks
from seepage._numerics import Floats, ceiling_text, floor_text
from seepage._results import Progress, Result, json_ready
from seepage.collection.estimated_pairs import EstimatedPairs, estimate_pairs
from seepage.collection.report_intervals import leakage_interval
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.leakage.leaks import Leak
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.release import VIEWS, Release, View
from seepage.plan.plan import Plan


@dataclass(frozen=True, eq=False, repr=False)
class ReportAnalysis(Result):
    """The leakage of every source about every target, estimated from reports.

    Rows are targets and columns sources, as in `LeakageMatrix`.  NaN for pairs that no form asks
    for together, and for sources without a separate report.

    Parameters
    ----------
    estimates
        The cross-fitted estimates, which selection of the maximum does not bias upward.  They do
        not include values too rare to be distinguished by the reports.
    lower, upper
        Confidence limits of each leakage, not simultaneous.  An upper limit of epsilon means that
        the reports do not exclude the largest possible leakage.
    plug_in
        The leakages of the estimated joint tables, biased upward by rare values.
    confidence
        The coverage probability of each interval.
    view
        What the adversary keeps: the whole `"report"`, or a value `"inferred"` from it.
    releases
        The release of each attribute, by the form with the largest budget for it.
    pairs
        The estimated joint tables.
    """

    estimates: Floats
    lower: Floats
    upper: Floats
    plug_in: Floats
    confidence: float
    view: View
    releases: tuple[Release, ...]
    pairs: EstimatedPairs

    @property
    def domain(self) -> Domain:
        """The attributes, in the order of rows and columns."""
        return self.pairs.domain

    def __getitem__(self, pair: tuple[str | SupportsIndex, str | SupportsIndex]) -> Leak:
        """Return the leakage about a target from a source, with its limits."""
        return self._leak(*(self.domain.index(name) for name in pair))

    def _leak(self, target: int, source: int) -> Leak:
        parts = (part[target, source] for part in (self.estimates, self.lower, self.upper))
        (value, *interval), names = map(float, parts), self.domain.names
        return Leak(names[target], names[source], value, (interval[0], interval[1]))

    @property
    def watched(self) -> list[tuple[int, int]]:
        """The indices (target, source) of every estimated leakage."""
        pairs = permutations(range(len(self.domain)), 2)
        return [pair for pair in pairs if not np.isnan(self.estimates[pair])]

    def strongest(self, count: int = 10) -> list[Leak]:
        """Return the leaks with the largest lower confidence limits."""
        order = sorted(self.watched, key=lambda pair: (-self.lower[pair], -self.estimates[pair]))
        return [self._leak(*pair) for pair in order[: _checks.integer(count, "count", 0)]]

    def sentences(self, count: int = 10) -> list[str]:
        """Return one sentence for each of the strongest leaks, its limits rounded outwards."""
        releases = dict(zip(self.domain.names, self.releases, strict=True))
        return [
            f"{leak.source} -> {leak.target}: {leak.leakage:.2f} "
            f"({floor_text(leak.lower, 2)} to {ceiling_text(leak.upper, 2)}) "
            f"of at most {releases[leak.source].epsilon:.2f}"
            for leak in self.strongest(count)
        ]

    def _headline(self) -> str:
        return (
            f"ReportAnalysis({self.pairs.records:,} reports, {len(self.domain)} attributes, "
            f"largest leakage {np.nanmax(self.estimates, initial=0.0):.4g}, view {self.view!r})"
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        names, ordered = self.domain.names, self.watched
        sources = [self.releases[source] for _, source in ordered]
        return {
            "target": [names[target] for target, _ in ordered],
            "source": [names[source] for _, source in ordered],
            "epsilon": [release.epsilon for release in sources],
            "mechanism": [release.name for release in sources],
            "view": [self.view] * len(ordered),
            "leakage": [float(self.estimates[pair]) for pair in ordered],
            "lower": [float(self.lower[pair]) for pair in ordered],
            "upper": [float(self.upper[pair]) for pair in ordered],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the analysis as JSON-compatible data; infinity is the text "inf"."""
        content = {
            "seepage": __version__,
            "reports": self.pairs.records,
            "attributes": self.domain.names,
            "epsilon": [release.epsilon for release in self.releases],
            "mechanism": [release.name for release in self.releases],
            "view": self.view,
            "direction": "rows targets, columns sources",
            "confidence": self.confidence,
            "cpl": self.estimates,
            "lower": self.lower,
            "upper": self.upper,
            "plug_in": self.plug_in,
            "unestimated": self.pairs.unestimated,
        }
        return dict(json_ready(content))


def analyse_reports(
    plan: Plan,
    reports: Any,
    *,
    view: View = "report",
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> ReportAnalysis:
    """Return the leakage of every collected attribute about every other, from reports alone.

    If the plan has several forms, only of pairs that some form asks for together.

    Parameters
    ----------
    plan
        The plan that the reports were collected with.
    reports
        A table as `perturb` returns it, or the path of a file as `perturb_file` writes it.
    view
        What the adversary keeps: the whole `"report"`, or a value `"inferred"` from it.
    confidence
        The coverage probability of each interval.
    progress
        Called with the number of ordered pairs done and their total.

    Notes
    -----
    One pass over the reports; then O(g m^2 t) for each ordered pair with m and t values and up to
    128 groups g of reports.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> sick = np.random.default_rng(1).random(50_000) < 0.3
    >>> people = pa.table({"sick": sick, "fever": sick ^ (np.arange(50_000) % 5 == 0)})
    >>> pairs = sp.count_pairs(people)
    >>> plan = make_plan(pairs, 1.0, limit=2.0, guarantee="worst", totals=[2.0, 2.0])
    >>> found = analyse_reports(plan, plan.perturb(people))["sick", "fever"]
    >>> truth = sp.leakage_matrix(pairs, 1.0, mechanism="grr")["sick", "fever"].value
    >>> found.upper - found.lower < 0.5 and abs(found.leakage - truth) < 0.3
    True
    """
    _checks.choice(view, "view", VIEWS)
    _checks.progress(progress)
    level = _checks.inner_probability(confidence, "confidence")
    pairs = estimate_pairs(plan, reports)
    names = pairs.domain.names
    releases = tuple(_release(plan, name) for name in names)
    parts = np.full((4, len(names), len(names)), np.nan)
    parts[:, np.arange(len(names)), np.arange(len(names))] = 0.0
    ordered = [
        (target, source)
        for target, source in permutations(range(len(names)), 2)
        if (min(target, source), max(target, source)) in pairs.tables
        and releases[source].mechanism is not None
    ]
    if not ordered and len(names) > 1:
        raise InputError("no two attributes are asked together, so no leakage can be estimated")
    for done, (target, source) in enumerate(ordered, start=1):
        release = releases[source]
        # A mechanism that does not state its likely sets may have any set.
        sets = release.sets(view) or LikelySets("all", release.epsilon)
        interval = leakage_interval(pairs.sums, names[target], names[source], sets, level)
        plug_in_value = release.leakage(pairs.channel(target, source), view).value
        parts[:, target, source] = *interval, plug_in_value
        if progress is not None:
            progress(done, len(ordered))
    estimates, lower, upper, plug_in = parts
    return ReportAnalysis(estimates, lower, upper, plug_in, level, view, releases, pairs)


def _release(plan: Plan, name: str) -> Release:
    """Return the release of an attribute by the form with the largest budget for it.

    Without a mechanism if only matrix forms ask for it: their report is of all answers together.
    """
    mechanisms = [form[name] for form in plan.form_mechanisms if name in form]
    if not mechanisms:
        return Release(plan[name].epsilon)
    largest = max(mechanisms, key=lambda mechanism: mechanism.epsilon)
    return Release(largest.epsilon, largest.delta, largest)
