"""Joint tables and leakages of every two attributes, estimated from collected reports alone.

Each joint estimate is projected onto the nearest distribution and raked to the consistent
frequencies of its two attributes (iterative proportional fitting), so that all tables share their
marginals.  A row or column that is empty although its marginal is not is filled as if the two
attributes were independent.

Small true cells are lost: an estimate below its noise becomes 0, or too large.  So a leakage
computed from these tables is biased upward where values are rare; `analyse_reports` gives
cross-fitted estimates with intervals [`report_intervals`] beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import Any, SupportsIndex

import numpy as np

from seepage import __version__, _checks
from seepage._numerics import Floats, Integers, ceiling_text, floor_text, nearest_distribution
from seepage._results import Progress, Result, json_ready
from seepage.collection.cross_table import check_asked_together
from seepage.collection.frequencies import combine, form_estimates
from seepage.collection.report_intervals import PairTerms, leakage_interval
from seepage.collection.report_sums import PooledSums, pool_reports
from seepage.data.channel import Channel
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.leakage.leaks import Leak
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.release import VIEWS, Release, View
from seepage.plan.plan import Plan

MAX_ROUNDS = 200
"""Maximum number of iterations of iterative proportional fitting."""

ROUNDING = 2.0**-20
"""Tolerance of sums of records: smaller differences are rounding errors."""


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedPairs(Result):
    """Joint tables of every two attributes, estimated from reports, with consistent marginals.

    Parameters
    ----------
    domain
        The attributes whose reports carry information.
    marginals
        The estimated number of records with each value, by attribute: real numbers.
    tables
        The estimated number of records with each two values, by the indices a < b of the two
        attributes; rows and columns sum to the marginals.  Only pairs that some form asks for.
    sums
        The sums over reports, for unbiased estimates and intervals.
    unestimated
        Collected attributes whose reports carry no information, as at epsilon 0.
    """

    domain: Domain
    marginals: tuple[Floats, ...]
    tables: Mapping[tuple[int, int], Floats]
    sums: PooledSums
    unestimated: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """The number of reports."""
        return self.sums.records

    def table(self, rows: str | SupportsIndex, columns: str | SupportsIndex) -> Floats:
        """Return the table of two attributes, values of `rows` by values of `columns`."""
        a, b = self.domain.index(rows), self.domain.index(columns)
        if a == b:
            return np.diag(self.marginals[a])
        if (min(a, b), max(a, b)) not in self.tables:
            check_asked_together(self.sums.plan, [self.domain[a].name, self.domain[b].name])
        return self.tables[a, b] if a < b else self.tables[b, a].T

    def channel(self, target: str | SupportsIndex, source: str | SupportsIndex) -> Channel:
        """Return the estimated P(source given target), for target values of positive frequency."""
        attribute, index = self.domain[target], self.domain.index(target)
        seen = np.flatnonzero(self.marginals[index])
        cells = self.table(target, source)[seen]
        return Channel(
            cells / cells.sum(axis=1, keepdims=True),
            given=attribute.restrict(seen) if len(seen) < attribute.size else attribute,
            output=self.domain[source],
            unseen=tuple(np.delete(np.array(attribute.values, dtype=object), seen)),
        )

    @cached_property
    def pairs(self) -> PairCounts:
        """The tables rounded to integers, for every function that takes pair counts.

        Marginals are rounded by largest remainders and cells down; the missing records of rows and
        columns are then added by the northwest corner rule, so that the error of a cell is at most
        the number of cells in its row and column.  A pair that no form asks for raises.
        """
        marginals = [_rounded_marginal(part) for part in self.marginals]
        tables = [
            _rounded_table(self.table(a, b), marginals[a], marginals[b]).ravel()
            for a, b in combinations(range(len(self.domain)), 2)
        ]
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *tables])
        return PairCounts(self.domain, marginals, flat)

    def _headline(self) -> str:
        return f"EstimatedPairs({self.records:,} reports, {len(self.domain)} attributes)"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        rows = [
            (one.name, two.name, value, other, float(table[i, j] / self.records))
            for (a, b), table in self.tables.items()
            for one, two in [(self.domain[a], self.domain[b])]
            for i, value in enumerate(one.values)
            for j, other in enumerate(two.values)
        ]
        names = ("first", "second", "first_value", "second_value", "frequency")
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def estimate_pairs(plan: Plan, reports: Any) -> EstimatedPairs:
    """Return the joint tables of every two attributes; see `Plan.estimate_pairs`."""
    pooled = pool_reports(plan, reports)
    domain = plan.domain.select(name for name in plan.domain.names if form_estimates(pooled, name))
    marginals = tuple(_marginal_counts(pooled, name) for name in domain.names)
    tables = {}
    for a, b in combinations(range(len(domain)), 2):
        terms = PairTerms.of(pooled, domain[a].name, domain[b].name)
        if terms is not None:
            frequencies = terms.joint.sum(axis=0) / terms.sizes.sum()
            tables[a, b] = _consistent_table(frequencies, marginals[a], marginals[b])
    unestimated = tuple(name for name in plan.collected.names if name not in domain)
    return EstimatedPairs(domain, marginals, tables, pooled, unestimated)


def _marginal_counts(pooled: PooledSums, name: str) -> Floats:
    """Return the estimated number of records with each value; below 0.5 it becomes 0."""
    marginal = combine(form_estimates(pooled, name).values(), pooled.records)
    nearest = nearest_distribution(marginal.frequencies)
    kept = np.where(nearest * pooled.records < 0.5, 0.0, nearest)
    if not kept.any():
        return np.asarray(pooled.records * nearest)
    return np.asarray(pooled.records * kept / kept.sum())


def _consistent_table(frequencies: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return estimated joint frequencies as counts, projected and raked to these marginals."""
    total = rows.sum()
    nearest = total * nearest_distribution(frequencies.ravel()).reshape(frequencies.shape)
    empty = (nearest.sum(axis=1) == 0)[:, None] | (nearest.sum(axis=0) == 0)
    return rake(np.where(empty, np.outer(rows, columns) / total, nearest), rows, columns)


def rake(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return a table scaled to these row and column sums by iterative proportional fitting.

    Parameters
    ----------
    table
        Nonnegative entries; a row or column may be all 0 only if its sum is 0.
    rows, columns
        Sums with the same total.

    Notes
    -----
    After at most 200 iterations, rows and columns above their sums are scaled down, and the missing
    mass is added as a rank-one matrix [Altschuler, Weed and Rigollet 2017], so that the sums are
    exact up to rounding.

    Examples
    --------
    >>> rake(np.array([[1.0, 1.0], [1.0, 3.0]]), np.array([2, 2]), np.array([1, 3])).round(3)
    array([[0.697, 1.303],
           [0.303, 1.697]])
    """
    fitted = np.where((rows[:, None] > 0) & (columns > 0), table, 0.0)
    for _ in range(MAX_ROUNDS):
        fitted *= _ratios(rows, fitted.sum(axis=1))[:, None]
        if np.abs(fitted.sum(axis=0) - columns).max() <= ROUNDING:
            break
        fitted *= _ratios(columns, fitted.sum(axis=0))
    fitted *= np.minimum(_ratios(rows, fitted.sum(axis=1)), 1.0)[:, None]
    fitted *= np.minimum(_ratios(columns, fitted.sum(axis=0)), 1.0)
    missing_rows = np.maximum(rows - fitted.sum(axis=1), 0.0)
    missing_columns = np.maximum(columns - fitted.sum(axis=0), 0.0)
    missing = max(missing_columns.sum(), ROUNDING)
    return np.asarray(fitted + np.outer(missing_rows, missing_columns) / missing)


def _ratios(sums: Floats, current: Floats) -> Floats:
    """Return sums / current, 0 where the current sum is 0."""
    return np.divide(sums, current, out=np.zeros_like(current), where=current > 0)


def _rounded_marginal(marginal: Floats) -> Integers:
    """Return a marginal rounded to integers of the same sum, by largest remainders."""
    counts = np.floor(marginal + ROUNDING).astype(np.int64)
    missing = round(float(marginal.sum())) - int(counts.sum())
    counts[np.argsort(counts - marginal, kind="stable")[:missing]] += 1
    return counts


def _rounded_table(table: Floats, rows: Integers, columns: Integers) -> Integers:
    """Return a table rounded to integers with these row and column sums (northwest corner rule)."""
    counts = np.floor(table + ROUNDING).astype(np.int64)
    in_rows, in_columns = rows - counts.sum(axis=1), columns - counts.sum(axis=0)
    row_ends, column_ends = in_rows.cumsum()[:, None], in_columns.cumsum()
    starts = np.maximum(row_ends - in_rows[:, None], column_ends - in_columns)
    overlap = np.minimum(row_ends, column_ends) - starts
    return np.asarray(counts + np.maximum(overlap, 0))


# Leakages ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ReportAnalysis(Result):
    """The leakage of every source about every target, estimated from reports.

    Rows are targets and columns sources, as in `LeakageMatrix`.  NaN for pairs that no form asks
    for together, and for sources without a separate report.

    Parameters
    ----------
    estimates
        The cross-fitted estimates, not biased upward; without values too rare to distinguish.
    lower, upper
        Confidence limits of each leakage, not simultaneous.  An upper limit of epsilon means that
        the reports do not exclude the largest possible leakage.
    plug_in
        The leakages of the estimated joint tables, biased upward by rare values.
    confidence
        The coverage probability of each interval.
    view
        What the adversary keeps: the `"report"`, or a value `"inferred"` from it.
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
        (target, source), names = map(self.domain.index, pair), self.domain.names
        parts = (part[target, source] for part in (self.estimates, self.lower, self.upper))
        value, low, high = map(float, parts)
        return Leak(names[target], names[source], value, (low, high))

    @property
    def watched(self) -> list[tuple[int, int]]:
        """The indices (target, source) of every estimated leakage."""
        pairs = permutations(range(len(self.domain)), 2)
        return [pair for pair in pairs if not np.isnan(self.estimates[pair])]

    def strongest(self, count: int = 10) -> list[Leak]:
        """Return the leaks with the largest lower confidence limits."""
        order = sorted(self.watched, key=lambda pair: (-self.lower[pair], -self.estimates[pair]))
        return [self[pair] for pair in order[: _checks.integer(count, "count", 0)]]

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
            "leakage": [self[pair].leakage for pair in ordered],
            "lower": [self[pair].lower for pair in ordered],
            "upper": [self[pair].upper for pair in ordered],
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
    """Return the leakage of every attribute about every other that some form asks for with it.

    Parameters
    ----------
    plan, reports
        The plan, and its reports, see `Plan.estimate`.
    view, confidence
        See `ReportAnalysis`.
    progress
        Called with the number of ordered pairs done and their total.

    Notes
    -----
    One pass; then O(g m^2 t) for each ordered pair with m and t values and up to 128 groups g.

    Examples
    --------
    >>> import pyarrow as pa, seepage as sp
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
    parts[:, range(len(names)), range(len(names))] = 0.0
    ordered = [
        (target, source)
        for target, source in permutations(range(len(names)), 2)
        if tuple(sorted((target, source))) in pairs.tables
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
    """Return the release by the form with the largest budget; none if only matrix forms ask."""
    mechanisms = [form[name] for form in plan.form_mechanisms if name in form]
    if not mechanisms:
        return Release(plan[name].epsilon)
    largest = max(mechanisms, key=lambda mechanism: mechanism.epsilon)
    return Release(largest.epsilon, largest.delta, largest)
