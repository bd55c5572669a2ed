"""Joint tables of every two attributes, estimated from collected reports alone.

Each joint estimate is projected onto the nearest distribution and raked to the consistent
frequencies of its two attributes (iterative proportional fitting), so that all tables share their
marginals.  A row or column that is empty although its marginal is not is filled as if the two
attributes were independent.

Small true cells are lost: an estimate below its noise becomes 0, or too large.  So a leakage
computed from these tables is biased upward where values are rare; [`report_leakage`] gives
estimates with intervals instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, SupportsIndex

import numpy as np

from seepage._numerics import Floats, Integers, nearest_distribution
from seepage._results import Result
from seepage.collection.cross_table import check_asked_together
from seepage.collection.report_source import ReportSource, open_reports
from seepage.collection.report_vectors import CellSums, GroupSums, add_reports
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.plan.plan import Plan

MAX_GROUPS, MIN_GROUPS = 64, 16
"""Number of groups of reports: their variance gives standard errors."""

TARGET_SUMS, MAX_SUMS = 1 << 24, 1 << 28
"""Sums over all groups: fewer groups above the first number, an error above the second (2 GB)."""

MAX_ROUNDS = 200
"""Maximum number of iterations of iterative proportional fitting."""

ROUNDING = 2.0**-20
"""Tolerance of sums of records: smaller differences are rounding errors."""


@dataclass(frozen=True, eq=False)
class PairTerms:
    """Sums of the unbiased one-hot vectors of two attributes, by groups of reports.

    Parameters
    ----------
    joint
        Sums of X^_x Y^_z, shape (groups, targets, sources).
    marginal
        Sums of X^_x, shape (groups, targets).
    sizes
        The number of reports in each group, weighted by form.
    """

    joint: Floats
    marginal: Floats
    sizes: Floats

    @classmethod
    def of(cls, sums: GroupSums, *, transposed: bool) -> "PairTerms":
        """Return the terms of a table with its margins; `transposed` if its source is the first.

        The sum of `joint` over the sum of `sizes` is the estimated table [`report_vectors`].
        """
        cells = sums.sums.swapaxes(1, 2) if transposed else sums.sums
        return cls(cells[:, 1:, 1:], cells[:, 1:, 0], sums.sizes)

    def select(self, groups: slice) -> "PairTerms":
        """Return the terms of a slice of the groups."""
        return PairTerms(self.joint[groups], self.marginal[groups], self.sizes[groups])

    def correlation(self) -> Floats:
        """Return the estimated correlation channel F_x(z) / f_x, clipped to [0, 1]."""
        joint, marginal = self.joint.sum(axis=0), self.marginal.sum(axis=0)
        ratio = np.divide(
            joint, marginal[:, None], out=np.zeros_like(joint), where=marginal[:, None] > 0
        )
        return np.asarray(np.clip(ratio, 0.0, 1.0))


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
    plan, records
        The plan, and the number of reports.
    sums
        The sums over reports of each table, by groups of reports and with margins.
    unestimated
        Collected attributes whose reports carry no information, as at epsilon 0.
    """

    domain: Domain
    marginals: tuple[Floats, ...]
    tables: Mapping[tuple[int, int], Floats]
    plan: Plan
    records: int
    sums: Mapping[tuple[int, int], GroupSums]
    unestimated: tuple[str, ...] = ()

    def table(self, rows: str | SupportsIndex, columns: str | SupportsIndex) -> Floats:
        """Return the table of two attributes, values of `rows` by values of `columns`."""
        a, b = self.domain.index(rows), self.domain.index(columns)
        if a == b:
            return np.diag(self.marginals[a])
        if (min(a, b), max(a, b)) not in self.tables:
            check_asked_together(self.plan, [self.domain[a].name, self.domain[b].name])
        return self.tables[a, b] if a < b else self.tables[b, a].T

    def terms(self, target: str | SupportsIndex, source: str | SupportsIndex) -> PairTerms:
        """Return the sums over reports of a target and a source, by groups of reports."""
        a, b = self.domain.index(target), self.domain.index(source)
        if (min(a, b), max(a, b)) not in self.sums:
            raise InputError("the two attributes must be different, and asked for together")
        return PairTerms.of(self.sums[min(a, b), max(a, b)], transposed=a > b)

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
    """Return the joint tables of every two attributes; see `Plan.estimate_pairs`.

    Notes
    -----
    One pass.  A pair with k and l values takes k l multiplications per report, and 8 k l
    bytes for each of 16 to 64 groups, whatever the number of reports.
    """
    source, singles = open_reports(plan, reports), dict[str, CellSums]()
    for name in plan.collected.names:
        one = CellSums(plan, [name], full=False)
        if source.people[list(one.forms)].any():
            singles[name] = one
    if not singles:
        raise InputError("reports at epsilon 0 carry no information")
    domain = plan.domain.select(name for name in plan.domain.names if name in singles)
    pairs = _pair_sums(plan, source, domain)
    add_reports(source, [*singles.values(), *pairs.values()])
    marginals = tuple(_marginal_counts(singles[name], source.records) for name in domain.names)
    unestimated = tuple(name for name in plan.collected.names if name not in domain)
    found = EstimatedPairs(domain, marginals, {}, plan, source.records, pairs, unestimated)
    tables = {}
    for a, b in pairs:
        terms = found.terms(a, b)
        frequencies = terms.joint.sum(axis=0) / terms.sizes.sum()
        tables[a, b] = _consistent_table(frequencies, marginals[a], marginals[b])
    return replace(found, tables=tables)


def _pair_sums(
    plan: Plan, source: ReportSource, domain: Domain
) -> dict[tuple[int, int], GroupSums]:
    """Return empty sums of each two attributes that somebody was asked together."""
    values = [attribute.size for attribute in domain]
    total = (sum(values) + len(values)) ** 2 // 2
    most = min(MAX_GROUPS, max(MIN_GROUPS, TARGET_SUMS // total))
    if most * total > MAX_SUMS:
        raise InputError(
            f"the attributes have {sum(values):,} values in all, too many for all their pairs at "
            "once; choose fewer attributes"
        )
    pairs = {}
    for a, b in combinations(range(len(domain)), 2):
        names = [domain[a].name, domain[b].name]
        asking = [set(names) <= set(form.attributes) for form in plan.forms]
        if people := int(source.people[asking].sum()):
            sums = GroupSums(plan, names, min(most, people))
            if sums.forms:
                pairs[a, b] = sums
    return pairs


def _marginal_counts(sums: CellSums, records: int) -> Floats:
    """Return the estimated number of records with each value; below 0.5 it becomes 0."""
    nearest = nearest_distribution(sums.mean)
    kept = np.where(nearest * records < 0.5, 0.0, nearest)
    if not kept.any():
        return np.asarray(records * nearest)
    return np.asarray(records * kept / kept.sum())


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
