"""The Numba drop-in for `drawn_reports.report_sums`.

Attributes are taken in groups whose values occur in few combinations.  For each report the
likelihood of every combination of a group is tabulated once; the likelihood of a record is the
product of one entry from each group's table, and is added to one bin of each group.  What is left
of the work for a record and a report are as many products and sums as there are groups, side by
side for many reports.  Same sums as the NumPy version up to rounding, which a test checks.
"""

import numba
import numpy as np

from seepage._numerics import Floats, Integers
from seepage._results import Progress
from seepage.data.records import Records
from seepage.totals.drawn_reports import Draws, offsets

COMBINATIONS = 512
"""A group of several attributes has at most this many combinations: its tables stay in cache."""

LANES = 64
"""Reports that one thread handles side by side."""

REPORTS = 512
"""Reports handled at once: tables of 2 MB per group."""


def sums_by_value(data: Records, draws: Draws, progress: Progress | None) -> Floats:
    """Return the sums over people, one row per value, and that for q as the last row."""
    groups = _grouped(data)
    numbers = np.stack([data.groups(group) for group in groups])
    first = [np.unique(row, return_index=True)[1] for row in numbers]
    begins = offsets(data.domain)
    sums = np.zeros((int(begins[-1]) + 1, draws.count))
    weights = data.weights.astype(np.float64)
    for begin in range(0, draws.count, REPORTS):
        block = slice(begin, min(begin + REPORTS, draws.count))
        tables = _tables(data, groups, first, draws.logarithms[:, block])
        bins = np.zeros_like(tables)
        own = np.zeros(tables.shape[2])
        lanes, records = _left_out(draws, block, tables.shape[2])
        _accumulate(numbers, weights, draws.density, tables, bins, own, lanes, records)
        reports = block.stop - begin
        sums[-1, block] = own[:reports]
        for group, records, filled in zip(groups, first, bins, strict=True):
            for k in group:
                order = np.argsort(data.codes[records, k], kind="stable")
                values, starts = np.unique(data.codes[records[order], k], return_index=True)
                added = np.add.reduceat(filled[order, :reports], starts, axis=0)
                sums[begins[k] + values.astype(np.int64), block] = added
        if progress is not None:
            progress(block.stop, draws.count)
    return sums


def _grouped(data: Records) -> list[list[int]]:
    """Return consecutive attributes in groups of few combinations each."""
    groups: list[list[int]] = [[0]]
    for k in range(1, len(data.domain)):
        longer = [*groups[-1], k]
        if int(data.groups(longer).max()) < COMBINATIONS:
            groups[-1] = longer
        else:
            groups.append([k])
    return groups


def _tables(
    data: Records, groups: list[list[int]], first: list[Integers], logarithms: Floats
) -> Floats:
    """Return each group's likelihoods, shape (groups, combinations, reports), largest 1 each."""
    begins = offsets(data.domain)
    width = -(-logarithms.shape[1] // LANES) * LANES
    tables = np.zeros((len(groups), max(map(len, first)), width))
    for table, group, records in zip(tables, groups, first, strict=True):
        part = table[: len(records), : logarithms.shape[1]]
        for k in group:
            part += logarithms[begins[k] + data.codes[records, k].astype(np.int64)]
        part -= part.max(axis=0)
        np.exp(part, out=part)
    return tables


def _left_out(draws: Draws, block: slice, width: int) -> tuple[Integers, Integers]:
    """Return for each group of lanes its reports in the order of the records they leave out."""
    records = np.full(width, np.iinfo(np.int64).max)
    if draws.left_out is not None:
        records[: block.stop - block.start] = draws.left_out[block]
    grouped = records.reshape(-1, LANES)
    lanes = np.argsort(grouped, axis=1, kind="stable")
    return lanes.ravel(), np.take_along_axis(grouped, lanes, axis=1).ravel()


@numba.njit(cache=True, parallel=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _accumulate(  # type: ignore[no-untyped-def]
    numbers, weights, density, tables, bins, own, lanes, left_out
):
    """Add every record's likelihood to one bin of each group, in place."""
    groups = tables.shape[0]
    for lane in numba.prange(tables.shape[2] // LANES):
        begin = lane * LANES
        product = np.empty(LANES)
        total = np.zeros(LANES)
        following = begin
        for record in range(numbers.shape[1]):
            row = tables[0, numbers[0, record], begin : begin + LANES]
            for j in range(LANES):
                product[j] = weights[record] * row[j]
            for group in range(1, groups):
                row = tables[group, numbers[group, record], begin : begin + LANES]
                for j in range(LANES):
                    product[j] *= row[j]
            while following < begin + LANES and left_out[following] == record:
                product[lanes[following]] *= (weights[record] - 1.0) / weights[record]
                following += 1
            for group in range(groups):
                bin_ = bins[group, numbers[group, record], begin : begin + LANES]
                for j in range(LANES):
                    bin_[j] += product[j]
            for j in range(LANES):
                total[j] += density[record] * product[j]
        own[begin : begin + LANES] = total
