"""Estimated joint tables of every two attributes, with consistent marginals.

Each joint estimate is projected onto the nearest distribution and raked to
the consistent frequencies of its two attributes (iterative proportional fitting), so that all
tables share their marginals.  A row or column that is empty although its marginal is not is
filled as if the two attributes were independent.

Small true cells are lost: an estimate below its noise becomes 0, or too large.  So a leakage
computed from these tables is biased upward where values are rare; `analyse_reports` gives
cross-fitted estimates with intervals beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, SupportsIndex

import numpy as np

from seepage._numerics import Floats, Integers, nearest_distribution
from seepage._results import Result
from seepage.collection.cross_table import check_asked_together
from seepage.collection.frequencies import combine, form_estimates
from seepage.collection.report_intervals import PairTerms
from seepage.collection.report_sums import PooledSums, pool_reports
from seepage.data.channel import Channel
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
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
        The estimated number of records with each value, by attribute: real numbers whose sum is
        the number of reports.
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
        the number of cells in its row and column.  A pair that no form asks for raises an
        InputError.
        """
        for a, b in combinations(range(len(self.domain)), 2):
            self.table(a, b)
        marginals = [_rounded_marginal(part) for part in self.marginals]
        tables = [
            _rounded_table(table, marginals[a], marginals[b]).ravel()
            for (a, b), table in self.tables.items()
        ]
        flat = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int64)
        return PairCounts(self.domain, marginals, flat)

    def _headline(self) -> str:
        size = len(self.domain)
        return f"EstimatedPairs({self.records:,} reports, {size} attributes)"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns: dict[str, list[Any]] = {
            name: [] for name in ("first", "second", "first_value", "second_value", "frequency")
        }
        for (a, b), table in self.tables.items():
            first, second = self.domain[a], self.domain[b]
            columns["first"] += [first.name] * table.size
            columns["second"] += [second.name] * table.size
            columns["first_value"] += [value for value in first.values for _ in second.values]
            columns["second_value"] += list(second.values) * first.size
            columns["frequency"] += (table / self.records).ravel().tolist()
        return columns


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
