"""The Numba drop-in for `solver`: large channels, dense and sparse.

Imported only for large work: importing Numba and loading the cached kernels takes longer than most
analyses.  Same results as NumPy up to rounding, which tests check.

For one row x of a sparse channel, one pass over its columns gives the gains over all rows x':

    sum_u max(0, q G[x,u] - G[x',u]) = q G_x - sum over common u of min(q G[x,u], G[x',u])

with q = 1/H and G_x the sum of row x.  The difference is raised by its rounding error; only the
pairs that it does not exclude are compared cell by cell.
"""
# mypy: allow-untyped-defs, no-check-untyped-defs

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from seepage._numerics import LARGE_EPSILON, ROOT_SCALE, UNIT, Floats, round_down
from seepage.leakage.solver import Best

SINGLE_UNIT = 2.0**-24
"""Unit roundoff of single precision."""

SINGLE_TINY = 2.0**-126
"""Smallest normal number of single precision."""

PARALLEL_FROM = 1 << 22
"""Minimum number of cells (m^2 t) for several threads."""

ROWS_AT_ONCE = 8
"""Target values x per block; each x' is compared with all of them while its row is cached."""

TINY = 2.0**-1022
"""Smallest normal number of double precision."""

FIRST_ROWS = 16
"""Rows maximised one after another, so that the parallel ones start from a large value."""


# Dense channels -----------------------------------------------------------------------------------


def dinkelbach_all_sets(channels: Floats, epsilon: Floats) -> Best:
    """Return the largest log-ratio of each channel over every pair of rows and every S."""
    best = Best.zeros(channels)
    targets, sources = channels.shape[1:]
    maximise = _dinkelbach_parallel if targets**2 * sources >= PARALLEL_FROM else _dinkelbach_serial
    for index, matrix in enumerate(channels):
        single = np.ascontiguousarray(matrix, dtype=np.float32)
        value, likelier, other = maximise(np.ascontiguousarray(matrix), single, epsilon[index])
        if value > 0:
            rows = matrix[likelier], matrix[other]
            best.value[index], best.likely[index] = _best_prefix(*rows, epsilon[index])
            best.likelier[index], best.other[index] = likelier, other
    return best


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _excess(single, likelier, other, scale):
    """Return the sum over u of max(0, scale G[x,u] - G[x',u]), in single precision."""
    total = np.float32(0.0)
    for source in range(single.shape[1]):
        more = scale * single[likelier, source] - single[other, source]
        total += max(np.float32(0.0), more)
    return total


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _log_ratio_of_rows(matrix, likelier, other, scale, rest, weight, floor):
    """Return the log-ratio of S = {u : G[x,u] > H G[x',u]}, scale = 1/H, rest = 1 - 1/H."""
    gap = 0.0
    low = 0.0
    for source in range(matrix.shape[1]):
        more = matrix[likelier, source] - matrix[other, source]
        if scale * more > rest * matrix[other, source]:
            gap += more
            low += matrix[other, source]
    return math.log1p(weight * gap / (floor + weight * low))


@numba.njit(cache=True, error_model="numpy")
def _dinkelbach_block(matrix, single, first, epsilon, start):
    """Return the largest log-ratio above `start`, with its x and x', for a block of x.

    The block holds `ROWS_AT_ONCE` target values from `first` on; x is -1 where none exceeds
    `start`.

    A pair can raise the value only if (1 - w) sum max(0, q G_x - G_x') > w (1 - q), with
    q = exp(-value) and w = exp(-eps): the condition lambda E(H) > H - 1 on the profile, scaled so
    that it cannot overflow.  It is checked in single precision, never too strictly: q is rounded
    up, the sum is raised by the relative rounding errors of its terms (`slack`), and by underflow
    (`tiny`).
    """
    targets, sources = matrix.shape
    larger, slack = 1 + 16 * SINGLE_UNIT, 1 + 2 * (sources + 8) * SINGLE_UNIT
    tiny = 2 * sources * SINGLE_TINY
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    value, likelier, other = start, -1, -1
    scale = math.exp(-value)
    rest = -math.expm1(-value)
    for second in range(targets):
        for row in range(first, min(first + ROWS_AT_ONCE, targets)):
            while True:
                excess = _excess(single, row, second, np.float32(scale * larger))
                if weight * (excess * slack + tiny) <= floor * rest:
                    break
                ratio = _log_ratio_of_rows(matrix, row, second, scale, rest, weight, floor)
                if ratio <= value:
                    break
                value, likelier, other = ratio, row, second
                scale = math.exp(-value)
                rest = -math.expm1(-value)
    return value, likelier, other


@numba.njit(cache=True, error_model="numpy")
def _dinkelbach_serial(matrix, single, epsilon):
    """Return the largest log-ratio with its x and x'; each block starts from the last value."""
    value, likelier, other = 0.0, 0, 0
    for first in range(0, matrix.shape[0], ROWS_AT_ONCE):
        block_value, row, second = _dinkelbach_block(matrix, single, first, epsilon, value)
        if row >= 0:
            value, likelier, other = block_value, row, second
    return value, likelier, other


def _dinkelbach_parallel(
    matrix: Floats, single: NDArray[np.float32], epsilon: float
) -> tuple[float, int, int]:
    """Return the same on all cores; all blocks start from the value of the first."""
    blocks = -(-matrix.shape[0] // ROWS_AT_ONCE)
    values, pairs = np.zeros(blocks), np.zeros((blocks, 2), dtype=np.int64)
    _dinkelbach_blocks(matrix, single, 0, 1, epsilon, 0.0, values, pairs)
    _dinkelbach_blocks(matrix, single, 1, blocks, epsilon, values[0], values, pairs)
    best = int(values.argmax())
    return float(values[best]), int(pairs[best, 0]), int(pairs[best, 1])


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _dinkelbach_blocks(matrix, single, first, end, epsilon, start, values, pairs):
    """Write the largest log-ratio above `start` of each block of target values, with x and x'."""
    for block in numba.prange(first, end):
        value, likelier, other = _dinkelbach_block(
            matrix, single, block * ROWS_AT_ONCE, epsilon, start
        )
        values[block] = value
        pairs[block, 0] = likelier
        pairs[block, 1] = other


@numba.njit(cache=True, error_model="numpy")
def _best_prefix(likelier, other, epsilon):
    """Return the largest log-ratio of two rows over every S, and S, by sorting as in `solver`."""
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    more = likelier - other
    order = np.argsort(np.where(more > 0, other / more, math.inf))
    chosen = np.zeros(likelier.shape[0], dtype=np.bool_)
    gap, low, best, last = 0.0, 0.0, 0.0, -1
    for index, source in enumerate(order):
        gap += more[source]
        low += other[source]
        ratio = math.log1p(weight * gap / (floor + weight * low))
        if ratio > best:
            best, last = ratio, index
    chosen[order[: last + 1]] = True
    return best, chosen


# Sparse channels ----------------------------------------------------------------------------------


def best_sparse_pair(channel: Any, epsilon: float) -> tuple[int, int]:
    """Return the rows x and x' with the largest log-ratio; 0 and 0 where all rows are equal.

    Parameters
    ----------
    channel
        A SciPy sparse array by rows, indices ascending.
    epsilon
        The budget, above 0.
    """
    stop = round_down(epsilon, 3 * channel.shape[1])
    first, second = _dinkelbach_sparse(*_rows_and_columns(channel), epsilon, stop)
    return int(first), int(second)


def furthest_sparse_pair(channel: Any, value: float) -> tuple[int, int]:
    """Return the rows x and x' with the largest sum of max(0, G[x,u] - e^value G[x',u])."""
    sums, others = _furthest(*_rows_and_columns(channel), value)
    first = int(np.argmax(sums))
    return first, int(others[first])


def _rows_and_columns(channel: Any) -> tuple[Any, Any, Any]:
    """Return the cells in CSR and in CSC form (indptr, indices, data), and the row sums."""
    by_column = channel.tocsc()
    by_column.sort_indices()
    rows, columns = (
        (part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data)
        for part in (channel, by_column)
    )
    return rows, columns, np.asarray(channel.sum(axis=1))


@numba.njit(cache=True, error_model="numpy")
def _common(by_row, by_column, likelier, scale):
    """Return for each x' the sum over u of min(q G[x,u], G[x',u])."""
    starts, columns, cells = by_row
    column_starts, rows, column_cells = by_column
    common = np.zeros(len(starts) - 1)
    for position in range(starts[likelier], starts[likelier + 1]):
        source, cell = columns[position], scale * cells[position]
        for index in range(column_starts[source], column_starts[source + 1]):
            common[rows[index]] += min(cell, column_cells[index])
    return common


@numba.njit(cache=True, error_model="numpy")
def _compare(by_row, likelier, other, half):
    """Return the sums of G[x,u] - G[x',u], of G[x',u] and of G[x,u] - H G[x',u] over S.

    S holds the u where the last is above 0; H = exp(2 half), H - 1 = 2 sinh(half) exp(half).
    """
    starts, columns, cells = by_row
    second, end = starts[other], starts[other + 1]
    gap, low, gain = 0.0, 0.0, 0.0
    for first in range(starts[likelier], starts[likelier + 1]):
        while second < end and columns[second] < columns[first]:
            second += 1
        same = second < end and columns[second] == columns[first]
        cell = cells[second] if same else 0.0
        more = cells[first] - cell
        excess = more - 2 * math.sinh(half) * cell * math.exp(half)
        if excess > 0:
            gap += more
            low += cell
            gain += excess
    return gap, low, gain


@numba.njit(cache=True, error_model="numpy")
def _log_ratio(gap, low, epsilon):
    """Return ln (1 + lambda (low + gap)) / (1 + lambda low), as `_numerics.log_ratio`."""
    scale = -math.expm1(-epsilon) * ROOT_SCALE**2
    floor = (math.exp(-epsilon / 2) * ROOT_SCALE) ** 2
    quotient = scale * gap / (floor + scale * low)
    if gap == 0 or math.isfinite(quotient):
        return math.log1p(quotient) if gap > 0 else 0.0
    return np.logaddexp(-epsilon, np.log(low + gap)) - np.logaddexp(-epsilon, np.log(low))


@numba.njit(cache=True, error_model="numpy")
def _raised_sum(by_row, total, row, scale):
    """Return q G_x raised by the rounding error of the sum of minima subtracted from it.

    No term of that sum exceeds q G[x,u], so its error is relative to q G_x, plus underflow.
    """
    length = by_row[0][row + 1] - by_row[0][row]
    return scale * total * (1 + 2 * (length + 8) * UNIT) + length * TINY


@numba.njit(cache=True, error_model="numpy")
def _dinkelbach_row(by_row, by_column, total, likelier, epsilon, start, stop):
    """Return the largest log-ratio above `start` of one target value x, and its x' (else -1).

    A pair can raise the value only if (1 - w) sum max(0, q G_x - G_x') > w (1 - q), with
    w = exp(-eps).  The sum at the first q, times q' / q, is an upper bound at a smaller q'.
    """
    value, best = start, -1
    scale = math.exp(-start)
    common = _common(by_row, by_column, likelier, scale)
    raised = _raised_sum(by_row, total, likelier, scale)
    weight = -math.expm1(-epsilon)
    limit = math.exp(-epsilon) * -math.expm1(-value)
    for other in range(len(common)):
        while value < stop and weight * (raised - common[other]) > limit:
            half = min(value / 2, LARGE_EPSILON)
            gap, low, _ = _compare(by_row, likelier, other, half)
            ratio = _log_ratio(gap, low, epsilon)
            if ratio <= value:
                break
            value, best = ratio, other
            limit = math.exp(value - start - epsilon) * -math.expm1(-value)
    return value, best


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _dinkelbach_sparse(by_row, by_column, sums, epsilon, stop):
    """Return x and x' of the largest log-ratio, on all cores; ends at a ratio of `stop`."""
    targets = len(sums)
    start, first, second = 0.0, 0, 0
    head = min(targets, FIRST_ROWS)
    for likelier in range(head):
        value, other = _dinkelbach_row(
            by_row, by_column, sums[likelier], likelier, epsilon, start, stop
        )
        if other >= 0:
            start, first, second = value, likelier, other
        if start >= stop:
            return first, second
    values = np.full(targets, start)
    others = np.full(targets, -1)
    for likelier in numba.prange(head, targets):
        values[likelier], others[likelier] = _dinkelbach_row(
            by_row, by_column, sums[likelier], likelier, epsilon, start, stop
        )
    best = np.argmax(values)
    return (first, second) if others[best] < 0 else (best, others[best])


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _furthest(by_row, by_column, sums, value):
    """Return for each x the largest sum of max(0, G[x,u] - e^value G[x',u]), and its x'."""
    targets = len(sums)
    gains = np.zeros(targets)
    others = np.arange(targets)
    scale, half = math.exp(-value), min(value / 2, LARGE_EPSILON)
    for likelier in numba.prange(targets):
        common = _common(by_row, by_column, likelier, scale)
        raised = _raised_sum(by_row, sums[likelier], likelier, scale)
        stop = 2 * sums[likelier] - _raised_sum(by_row, sums[likelier], likelier, 1.0)
        for other in range(targets):
            if gains[likelier] < stop and raised - common[other] > scale * gains[likelier]:
                gain = _compare(by_row, likelier, other, half)[2]
                if gain > gains[likelier]:
                    gains[likelier], others[likelier] = gain, other
    return gains, others
