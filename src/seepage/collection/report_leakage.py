"""Leakage analysed from collected reports alone, each with a confidence interval."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._version import __version__
from seepage.collection.estimated_pairs import EstimatedPairs, pairs_from_reports
from seepage.collection.report_intervals import LeakageInterval, leakage_interval
from seepage.errors import InputError
from seepage.leakage import LeakageMatrix, leakage_matrix
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.release import Release, View
from seepage.plan.model import Plan
from seepage.plan.planned_attribute import as_json_number

__all__ = ["ReportAnalysis", "analyse_reports"]

Progress = Callable[[int, int | None], object]
"""Called with the pairs of attributes done and in all."""


@dataclass(frozen=True, eq=False)
class ReportAnalysis:
    """The leakage of every source about every target, as far as reports tell.

    Rows are targets and columns sources, as in `LeakageMatrix`.

    Parameters
    ----------
    estimates
        The estimated leakages: cross-fitted, so that chance does not push them up; rare values
        that reports cannot tell apart are not in them.
    lower, upper
        Confidence limits of each leakage on its own.  An upper limit of epsilon says that the
        reports do not exclude the worst.
    confidence
        The probability with which an interval covers.
    matrix
        The leakages of the estimated pair counts, which rare values can push far up.
    counted
        The estimated pair counts.
    """

    estimates: Floats
    lower: Floats
    upper: Floats
    confidence: float
    matrix: LeakageMatrix
    counted: EstimatedPairs

    def __getitem__(self, pair: tuple[str, str]) -> LeakageInterval:
        """Return the leakage about a target from a source, with its limits."""
        target, source = (self.matrix.domain.index(name) for name in pair)
        return LeakageInterval(
            *(float(part[target, source]) for part in (self.estimates, self.lower, self.upper))
        )

    def strongest(self, count: int = 10) -> list[tuple[str, str, LeakageInterval]]:
        """Return source, target and leakage of the pairs with the largest lower limits."""
        order = np.argsort(-self.lower, axis=None, kind="stable")
        names = self.matrix.domain.names
        found = []
        for place in order[: _checks.integer(count, "count", 0)]:
            target, source = divmod(int(place), len(names))
            if target != source:
                pair = names[target], names[source]
                found.append((pair[1], pair[0], self[pair]))
        return found

    def sentences(self, count: int = 10) -> list[str]:
        """Return the strongest leaks in words."""
        most = dict(zip(self.matrix.domain.names, self.matrix.epsilons.tolist(), strict=True))
        return [
            f"{source} -> {target}: {found.estimate:.2f} ({found.lower:.2f} to {found.upper:.2f}) "
            f"of at most {most[source]:.2f}"
            for source, target, found in self.strongest(count)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON; an infinite number is the text "inf"."""
        return {
            "seepage": __version__,
            "reports": self.counted.pairs.records,
            "attributes": list(self.matrix.domain.names),
            "epsilon": self.matrix.epsilons.tolist(),
            "mechanism": [release.name for release in self.matrix.releases],
            "view": self.matrix.view,
            "direction": "rows targets, columns sources",
            "method": self.counted.method,
            "confidence": self.confidence,
            "cpl": _plain(self.estimates),
            "lower": _plain(self.lower),
            "upper": _plain(self.upper),
            "plug_in": _plain(self.matrix.values),
            "untold": list(self.counted.untold),
        }

    def to_csv(self) -> str:
        """Return one line for each ordered pair, with the leakage and its limits in nats."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        how = ["source_epsilon", "mechanism", "view"]
        writer.writerow(["target", "source", *how, "cpl", "lower", "upper"])
        names = self.matrix.domain.names
        for target in names:
            for source, release in zip(names, self.matrix.releases, strict=True):
                if source != target:
                    told = release.epsilon, release.name, self.matrix.view
                    writer.writerow([target, source, *told, *self[target, source]])
        return text.getvalue()


def _plain(values: Floats) -> list[list[Any]]:
    return [[as_json_number(value) for value in row] for row in values.tolist()]


def analyse_reports(
    plan: Plan,
    reports: Any,
    view: View = "report",
    *,
    confidence: float = 0.95,
    method: str = "inversion",
    progress: Progress | None = None,
) -> ReportAnalysis:
    """Return what each collected attribute leaks about every other, from reports alone.

    Parameters
    ----------
    plan
        The plan that the reports were collected with.
    reports
        What `perturb` returned, or the path of what `perturb_file` wrote.
    view
        What the adversary keeps: the whole `"report"`, or a value `"inferred"` from it.
    confidence
        The probability with which each interval covers.
    method
        How the pair counts behind `matrix` are estimated: `"inversion"` or `"em"`.  Estimates and
        intervals do not depend on it.
    progress
        Called with the ordered pairs done and in all.

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
    >>> found.upper - found.lower < 0.5 and abs(found.estimate - truth) < 0.3
    True
    """
    level = _checks.probability(confidence, "confidence")
    if not 0 < level < 1:
        raise InputError(f"confidence must be above 0 and below 1, got {confidence!r}")
    counted = pairs_from_reports(plan, reports, method)
    domain = counted.pairs.domain
    mechanisms = {name: plan.mechanisms[name] for name in domain.names}
    matrix = leakage_matrix(counted.pairs, 0.0, mechanism=mechanisms, view=view)
    parts = np.zeros((3, len(domain), len(domain)))
    pairs = [(a, b) for a in range(len(domain)) for b in range(len(domain)) if a != b]
    for done, (target, source) in enumerate(pairs, start=1):
        parts[:, target, source] = _interval(counted, matrix, target, source, level)
        if progress is not None:
            progress(done, len(pairs))
    estimates, lower, upper = parts
    return ReportAnalysis(estimates, lower, upper, level, matrix, counted)


def _interval(
    counted: EstimatedPairs, matrix: LeakageMatrix, target: int, source: int, confidence: float
) -> LeakageInterval:
    names, release = matrix.domain.names, matrix.releases[source]
    sets = release.sets(matrix.view) or _any_set(release)
    return leakage_interval(counted.sums, names[target], names[source], sets, confidence)


def _any_set(release: Release) -> LikelySets:
    """Return the sets of the bound, for a mechanism that does not say which it can favour."""
    return LikelySets("all", release.epsilon)
