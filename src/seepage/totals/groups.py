"""Totals where groups of attributes are independent of one another."""

from collections.abc import Sequence

import numpy as np

from seepage._numerics import Floats
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.leakage import Release
from seepage.leakage.release import View
from seepage.totals.composition import merged_totals
from seepage.totals.exact_total import exact_totals, fits
from seepage.totals.report_columns import columns_of
from seepage.totals.result import direct, summed_up
from seepage.totals.tree import Forest, Groups, forest_totals

__all__ = ["group_totals"]


def group_totals(
    data: PairCounts | Records, released: Sequence[Release], view: View, structure: Groups
) -> tuple[Floats, Floats]:
    """Return the totals of every attribute, if what is outside its group says nothing about it.

    Parameters
    ----------
    data
        Records as tuples, or pair counts.
    released, view
        How each attribute is released and what the adversary keeps.
    structure
        The groups.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas.  Within a group nothing is assumed: with records the totals are
        `exact` there where that fits and `merged` otherwise; with pair counts a group of two is
        a tree, and a larger one has the sum of its budgets.
    """
    values, deltas = np.zeros(len(released)), np.zeros(len(released))
    for members in structure.members(data.domain):
        within = data.select(members)
        chosen = [released[k] for k in members]
        values[members], deltas[members] = _within(within, chosen, view)
    return values, deltas


def _within(
    data: PairCounts | Records, released: Sequence[Release], view: View
) -> tuple[Floats, Floats]:
    names = data.domain.names
    if isinstance(data, PairCounts):
        if len(names) <= 2:
            return forest_totals(data, released, view, Forest.path(names))
        parts = np.array([direct(release, view) for release in released])
        sums = [np.full(len(names), summed_up(column)) for column in parts.T]
        return sums[0], sums[1]
    if all(release.delta == 0 for release in released):
        columns = columns_of(data.domain, released, view)
        if fits(columns, data.records):
            return exact_totals(data, columns).values, np.zeros(len(names))
    return merged_totals(data, released, view)
