"""Estimated joint tables of every two attributes, with consistent marginals.

Each joint estimate is projected onto the nearest distribution (EM gives one already) and raked to
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

from seepage import _checks
from seepage._numerics import Floats, Integers, nearest_distribution
from seepage._results import Result
from seepage.collection.joint import METHODS, asked_apart, join, most_likely, pair_columns
from seepage.collection.pooled_sums import PooledSums, pool_reports
from seepage.collection.report_source import open_reports
from seepage.data.channel import Channel
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts
from seepage.plan.plan import Plan

ROUNDS = 200
"""The most rounds of iterative proportional fitting."""

CLOSE = 2.0**-20
"""Fractions of a record that are due to rounding."""


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
        attributes; rows and columns sum to the marginals.  Of pairs that some form asks for.
    method
        How the joint tables were estimated.
    sums
        The sums over reports that unbiased estimates and intervals rest on.
    untold
        Collected attributes whose reports carry no information, as at epsilon 0.
    """

    domain: Domain
    marginals: tuple[Floats, ...]
    tables: Mapping[tuple[int, int], Floats]
    method: str
    sums: PooledSums
    untold: tuple[str, ...] = ()

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
            raise asked_apart(self.domain[a].name, self.domain[b].name)
        return self.tables[a, b] if a < b else self.tables[b, a].T

    def channel(self, target: str | SupportsIndex, source: str | SupportsIndex) -> Channel:
        """Return the estimated P(source given target), for target values that seem to occur."""
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
        """The tables as integers, for every function that takes pair counts.

        Marginals are rounded by largest remainders and cells down; the records that are then
        missing in rows and columns are put where both lack some (the northwest corner rule), so
        that a cell is off by at most as many records as its row and column have cells.  A pair
        that no form asks for raises an InputError.
        """
        for a, b in combinations(range(len(self.domain)), 2):
            self.table(a, b)
        marginals = [_rounded(part) for part in self.marginals]
        tables = [
            _rounded_table(table, marginals[a], marginals[b]).ravel()
            for (a, b), table in self.tables.items()
        ]
        flat = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int64)
        return PairCounts(self.domain, marginals, flat)

    def _headline(self) -> str:
        size = len(self.domain)
        return f"EstimatedPairs({self.records:,} reports, {size} attributes, {self.method})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        parts = [
            pair_columns(self.domain[a], self.domain[b], table / self.records)
            for (a, b), table in self.tables.items()
        ]
        names = ("first", "second", "first_value", "second_value", "frequency")
        return {name: [value for part in parts for value in part[name]] for name in names}


def estimate_pairs(plan: Plan, reports: Any, *, method: str = "inversion") -> EstimatedPairs:
    """Return the joint tables of every two attributes; see `Plan.estimate_pairs`.

    Parameters
    ----------
    plan, reports
        The plan and its reports.
    method
        `"inversion"`: one pass over the reports of each form; `"em"`: a few passes for each pair,
        more precise where cells are rare, and much slower for long reports.  Pairs that only a
        matrix form asks for are inverted.
    """
    _checks.choice(method, "method", METHODS)
    source = open_reports(plan, reports)
    pooled = pool_reports(plan, source)
    domain = plan.domain.select(pooled.told)
    marginals = tuple(_marginal(pooled, name) for name in domain.names)
    tables = {}
    for a, b in combinations(range(len(domain)), 2):
        if not pooled.parts(domain[a].name, domain[b].name):
            continue
        found = join(pooled, domain[a], domain[b])
        products = _products(plan, pooled, domain[a].name, domain[b].name)
        if method == "em" and products:
            found = most_likely(plan, source, found, products)
        tables[a, b] = _consistent(found.frequencies, marginals[a], marginals[b])
    untold = tuple(name for name in plan.collected.names if name not in domain)
    return EstimatedPairs(domain, marginals, tables, method, pooled, untold)


def _products(plan: Plan, pooled: PooledSums, first: str, second: str) -> list[int]:
    """Return the indices of the forms with a report of its own for each of two attributes."""
    return [
        index
        for index in pooled.forms
        if plan.forms[index].is_product and {first, second} <= set(plan.channels[index])
    ]


def _marginal(pooled: PooledSums, name: str) -> Floats:
    """Return the estimated number of records with each value; less than half a record is none."""
    near = nearest_distribution(pooled.marginal(name).frequencies)
    kept = np.where(near * pooled.records < 0.5, 0.0, near)
    return np.asarray(pooled.records * kept / kept.sum() if kept.any() else pooled.records * near)


def _consistent(frequencies: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the table near estimated joint frequencies that has these marginals."""
    total = rows.sum()
    near = total * nearest_distribution(frequencies.ravel()).reshape(frequencies.shape)
    empty = (near.sum(axis=1) == 0)[:, None] | (near.sum(axis=0) == 0)
    return rake(np.where(empty, np.outer(rows, columns) / total, near), rows, columns)


def rake(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return a table scaled by rows and columns to these sums (iterative proportional fitting).

    Parameters
    ----------
    table
        Entries of at least 0; no row or column is empty whose sum is not 0.
    rows, columns
        Sums with the same total.

    Notes
    -----
    After at most 200 rounds, what exceeds its sum is scaled down and what is then lacking is
    spread over all cells [Altschuler, Weed and Rigollet 2017], so that the sums are right.

    Examples
    --------
    >>> rake(np.array([[1.0, 1.0], [1.0, 3.0]]), np.array([2, 2]), np.array([1, 3])).round(3)
    array([[0.697, 1.303],
           [0.303, 1.697]])
    """
    fitted = np.where((rows[:, None] > 0) & (columns > 0), table, 0.0)
    for _ in range(ROUNDS):
        fitted *= _factors(rows, fitted.sum(axis=1))[:, None]
        if np.abs(fitted.sum(axis=0) - columns).max() <= CLOSE:
            break
        fitted *= _factors(columns, fitted.sum(axis=0))
    fitted *= np.minimum(_factors(rows, fitted.sum(axis=1)), 1.0)[:, None]
    fitted *= np.minimum(_factors(columns, fitted.sum(axis=0)), 1.0)
    lacking = np.maximum(rows - fitted.sum(axis=1), 0.0)
    needed = np.maximum(columns - fitted.sum(axis=0), 0.0)
    return np.asarray(fitted + np.outer(lacking, needed) / max(needed.sum(), CLOSE))


def _factors(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)


def _rounded(marginal: Floats) -> Integers:
    """Return integers near these numbers with the same sum, by largest remainders."""
    counts = np.floor(marginal + CLOSE).astype(np.int64)
    missing = round(float(marginal.sum())) - int(counts.sum())
    counts[np.argsort(counts - marginal, kind="stable")[:missing]] += 1
    return counts


def _rounded_table(table: Floats, rows: Integers, columns: Integers) -> Integers:
    """Return integers near a table with these row and column sums."""
    counts = np.floor(table + CLOSE).astype(np.int64)
    lacking, needed = rows - counts.sum(axis=1), columns - counts.sum(axis=0)
    last, end = lacking.cumsum()[:, None], needed.cumsum()
    overlap = np.minimum(last, end) - np.maximum(last - lacking[:, None], end - needed)
    return np.asarray(counts + np.maximum(overlap, 0))
