"""Estimated pair counts: whole tables that agree with each other, from reports alone.

`PairCounts` are integers, and the tables of one attribute with all others have the same
marginal.  Estimates are neither, so they are moved there, each step as little as it can:

1. the marginals are the consistent frequencies of each attribute, n times, rounded to whole
   numbers with the sum n (largest remainders);
2. each joint estimate is moved to the nearest distribution (EM gives one already) and raked to its
   two marginals (iterative proportional fitting); a row or column that would be empty although its
   marginal is not is filled as if the two attributes were independent;
3. cells are rounded to integers with exactly these marginals, each by less than one record.

What this loses: small true cells, for an estimate below its noise becomes 0, or too large.  So a
leakage computed from these counts is an estimate that rare values can push far up;
`analyse_reports` gives it with an interval.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage.collection.joint import METHODS, Joint, invert
from seepage.collection.report_sums import ReportSums, sum_reports
from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.mechanisms.base import nearest_distribution
from seepage.plan.model import Plan

__all__ = ["EstimatedPairs", "pairs_from_reports", "rake", "whole_shares", "whole_table"]

ROUNDS = 200
CLOSE = 2.0**-20
"""How near, in records, raking brings the sums to their marginals."""

BIT = 2.0**-20
"""Fractions of a record that are due to rounding."""


@dataclass(frozen=True, eq=False)
class EstimatedPairs:
    """Pair counts that were estimated from reports.

    Parameters
    ----------
    pairs
        Whole counts with consistent marginals; `records` is the number of reports.
    method
        How the joint tables were estimated.
    sums
        The sums over reports that unbiased estimates and intervals rest on.
    untold
        Collected attributes that are not in the counts: their reports tell nothing.
    """

    pairs: PairCounts
    method: str
    sums: ReportSums
    untold: tuple[str, ...] = ()


def pairs_from_reports(plan: Plan, reports: Any, method: str = "inversion") -> EstimatedPairs:
    """Return pair counts estimated from reports; see `Plan.pairs_from_reports`.

    Parameters
    ----------
    plan, reports
        The plan and its reports.
    method
        `"inversion"`: one pass over the reports; `"em"`: a few passes for each pair, more precise
        where cells are rare, and much slower for long reports.
    """
    _checks.choice(method, "method", METHODS)
    sums = sum_reports(plan, reports)
    domain = plan.domain.select(sums.mechanisms)
    joints = _joints(plan, reports, sums, method)
    marginals = [_marginal(sums, attribute) for attribute in domain]
    tables = []
    for a, b in combinations(range(len(domain)), 2):
        found = joints(domain[a], domain[b])
        tables.append(_table(found.frequencies, marginals[a], marginals[b]).ravel())
    flat = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int64)
    untold = tuple(name for name in plan.mechanisms if name not in sums.mechanisms)
    return EstimatedPairs(PairCounts(Domain(domain), marginals, flat), method, sums, untold)


def _joints(
    plan: Plan, reports: Any, sums: ReportSums, method: str
) -> Callable[[Attribute, Attribute], Joint]:
    """Return how the joint frequencies of two attributes are estimated."""
    if method == "inversion":
        return lambda first, second: invert(sums, first, second)
    from seepage.collection.likelihood import most_likely

    return lambda first, second: most_likely(plan, reports, invert(sums, first, second))


def _marginal(sums: ReportSums, attribute: Attribute) -> Integers:
    frequencies = sums.marginal(attribute.name).sum(axis=0) / sums.records
    return whole_shares(nearest_distribution(frequencies), sums.records)


def whole_shares(frequencies: Floats, total: int) -> Integers:
    """Return integers in these proportions with this sum, by largest remainders.

    Examples
    --------
    >>> whole_shares(np.array([0.5, 0.3, 0.2]), 3).tolist()
    [1, 1, 1]
    """
    exact = frequencies * total
    shares = np.floor(exact).astype(np.int64)
    missing = total - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:missing]] += 1
    return shares


def _table(frequencies: Floats, rows: Integers, columns: Integers) -> Integers:
    """Return whole counts near estimated joint frequencies, with these marginals."""
    total = int(rows.sum())
    near = total * nearest_distribution(frequencies.ravel()).reshape(frequencies.shape)
    empty = (near.sum(axis=1) == 0)[:, None] | (near.sum(axis=0) == 0)
    filled = np.where(empty, np.outer(rows, columns) / total, near)
    return whole_table(rake(filled, rows, columns), rows, columns)


def rake(table: Floats, rows: Integers, columns: Integers) -> Floats:
    """Return a table scaled by rows and columns to these sums (iterative proportional fitting).

    Parameters
    ----------
    table
        Entries of at least 0; no row or column is empty whose sum is not 0.
    rows, columns
        Whole sums with the same total.

    Notes
    -----
    After at most 200 rounds, whatever is too much is scaled down and what is then lacking is
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
    return np.asarray(fitted + np.outer(lacking, needed) / max(needed.sum(), BIT))


def _factors(wanted: Integers, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)


def whole_table(table: Floats, rows: Integers, columns: Integers) -> Integers:
    """Return integers with these row and column sums, each within 1 of its entry.

    Parameters
    ----------
    table
        Entries of at least 0 whose sums are about these.
    rows, columns
        Whole sums with the same total.

    Notes
    -----
    Entries are rounded down; which of them are rounded up instead is a flow from rows to columns,
    one unit an entry, that the fractions prove to exist.  O(cells) for small tables, by SciPy's
    maximum flow.

    Examples
    --------
    >>> whole_table(np.array([[0.5, 1.5], [0.5, 0.5]]), np.array([2, 1]), np.array([1, 2])).sum()
    np.int64(3)
    """
    counts = np.floor(table + BIT).astype(np.int64)
    lacking, needed = rows - counts.sum(axis=1), columns - counts.sum(axis=0)
    return counts + _flow(table - counts > BIT, lacking, needed)


def _flow(open_cells: Any, lacking: Integers, needed: Integers) -> Integers:
    """Return zeros and ones, ones in open cells only, with these row and column sums."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    height, width = open_cells.shape
    source, sink = height + width, height + width + 1
    row, column = np.nonzero(open_cells)
    starts = np.concatenate([row, np.full(height, source), height + np.arange(width)])
    ends = np.concatenate([height + column, np.arange(height), np.full(width, sink)])
    room = np.concatenate([np.ones(len(row)), lacking, needed]).astype(np.int32)
    graph = coo_array((room, (starts, ends)), shape=(sink + 1, sink + 1)).tocsr()
    flow = maximum_flow(graph, source, sink).flow.tocsr()[:height, height : height + width]
    return np.asarray(flow.toarray(), dtype=np.int64)
