"""Numba implementation of `drawn_reports.report_sums`: the same sums up to rounding.

Consecutive attributes form groups with few combinations of values.  For each report the likelihood
of every combination of a group is tabulated once; the likelihood of a record is the product of one
entry from each group's table, and is added to one bin of each group.  So a record and a report
cost one product and one sum per group, vectorised over reports.
"""

import numba
import numpy as np

from seepage._numerics import Floats, Integers
from seepage._results import Progress
from seepage.data.records import Records
from seepage.totals.drawn_reports import Draws, value_offsets

MAX_COMBINATIONS = 512
"""Maximum number of combinations of a group of several attributes: its tables stay in cache."""

LANES = 64
"""Reports per thread, vectorised."""

REPORTS_PER_BLOCK = 512
"""Reports per block: tables of 2 MB per group."""


def sums_by_value(data: Records, draws: Draws, progress: Progress | None) -> Floats:
    """Return the likelihoods summed over records, see `drawn_reports.report_sums`."""
    groups = _attribute_groups(data)
    combinations = np.stack([data.groups(group) for group in groups])
    representatives = [np.unique(row, return_index=True)[1] for row in combinations]
    offsets = value_offsets(data.domain)
    sums = np.zeros((int(offsets[-1]) + 1, draws.count))
    weights = data.weights.astype(np.float64)
    for start in range(0, draws.count, REPORTS_PER_BLOCK):
        block = slice(start, min(start + REPORTS_PER_BLOCK, draws.count))
        tables = _tables(data, groups, representatives, draws.logarithms[:, block])
        bins = np.zeros_like(tables)
        density_sums = np.zeros(tables.shape[2])
        lanes, left_out = _left_out(draws, block, tables.shape[2])
        _accumulate(
            combinations, weights, draws.density, tables, bins, density_sums, lanes, left_out
        )
        reports = block.stop - start
        sums[-1, block] = density_sums[:reports]
        for group, records, group_bins in zip(groups, representatives, bins, strict=True):
            for k in group:
                order = np.argsort(data.codes[records, k], kind="stable")
                values, starts = np.unique(data.codes[records[order], k], return_index=True)
                by_value = np.add.reduceat(group_bins[order, :reports], starts, axis=0)
                sums[offsets[k] + values.astype(np.int64), block] = by_value
        if progress is not None:
            progress(block.stop, draws.count)
    return sums


def _attribute_groups(data: Records) -> list[list[int]]:
    """Return groups of consecutive attributes with at most `MAX_COMBINATIONS` combinations."""
    groups: list[list[int]] = [[0]]
    for k in range(1, len(data.domain)):
        longer = [*groups[-1], k]
        if int(data.groups(longer).max()) < MAX_COMBINATIONS:
            groups[-1] = longer
        else:
            groups.append([k])
    return groups


def _tables(
    data: Records, groups: list[list[int]], representatives: list[Integers], logarithms: Floats
) -> Floats:
    """Return the likelihood of each group's combinations, scaled to a maximum of 1 per report.

    Shape (groups, combinations, reports); `representatives` hold a record of each combination.
    """
    offsets = value_offsets(data.domain)
    width = -(-logarithms.shape[1] // LANES) * LANES
    tables = np.zeros((len(groups), max(map(len, representatives)), width))
    for table, group, records in zip(tables, groups, representatives, strict=True):
        part = table[: len(records), : logarithms.shape[1]]
        for k in group:
            part += logarithms[offsets[k] + data.codes[records, k].astype(np.int64)]
        part -= part.max(axis=0)
        np.exp(part, out=part)
    return tables


def _left_out(draws: Draws, block: slice, width: int) -> tuple[Integers, Integers]:
    """Return the lanes of each thread sorted by the record that they leave out, and that record."""
    records = np.full(width, np.iinfo(np.int64).max)
    if draws.left_out is not None:
        records[: block.stop - block.start] = draws.left_out[block]
    by_thread = records.reshape(-1, LANES)
    lanes = np.argsort(by_thread, axis=1, kind="stable")
    return lanes.ravel(), np.take_along_axis(by_thread, lanes, axis=1).ravel()


@numba.njit(cache=True, parallel=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _accumulate(  # type: ignore[no-untyped-def]
    combinations, weights, density, tables, bins, density_sums, lanes, left_out
):
    """Add every record's likelihood to one bin of each group, and to `density_sums`, in place."""
    groups = tables.shape[0]
    for thread in numba.prange(tables.shape[2] // LANES):
        start = thread * LANES
        product = np.empty(LANES)
        total = np.zeros(LANES)
        following = start
        for record in range(combinations.shape[1]):
            row = tables[0, combinations[0, record], start : start + LANES]
            for j in range(LANES):
                product[j] = weights[record] * row[j]
            for group in range(1, groups):
                row = tables[group, combinations[group, record], start : start + LANES]
                for j in range(LANES):
                    product[j] *= row[j]
            while following < start + LANES and left_out[following] == record:
                product[lanes[following]] *= (weights[record] - 1.0) / weights[record]
                following += 1
            for group in range(groups):
                bin_ = bins[group, combinations[group, record], start : start + LANES]
                for j in range(LANES):
                    bin_[j] += product[j]
            for j in range(LANES):
                total[j] += density[record] * product[j]
        density_sums[start : start + LANES] = total
