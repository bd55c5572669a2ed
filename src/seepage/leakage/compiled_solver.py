"""The Numba drop-in for `solver`: large channels, dense and sparse.

Imported only once the work is large: importing Numba and loading the cached kernels takes longer
than most analyses.  Same results as NumPy up to rounding, which tests check.

For one row x of a sparse channel, the source values that it shares with every other row x' are gone
through once, column by column:

    sum_u max(0, q G[x,u] - G[x',u]) = q G_x - sum over common u of min(q G[x,u], G[x',u])

with q = 1/H and G_x the sum of row x.  The difference is granted its rounding error; only for the
pairs that it does not rule out, both rows are compared cell by cell.
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
"""The largest relative error of one rounded operation in single precision."""

SINGLE_TINY = 2.0**-126
"""Below this a number in single precision loses digits."""

PARALLEL_FROM = 1 << 22
"""From this many cells (m^2 t) on, starting threads pays."""

ROWS_AT_ONCE = 8
"""Target values x that each x' is compared with while its row is in the cache."""

TINY = 2.0**-1022
"""Below this a float loses digits."""

FIRST_ROWS = 16
"""Rows that are climbed in turn, so that all others start high."""


# Dense channels -----------------------------------------------------------------------------------


def climb_all_subsets(channels: Floats, epsilon: Floats) -> Best:
    """Return the largest log-ratio of each channel over every pair of rows and every S."""
    best = Best.of_nothing(channels)
    targets, sources = channels.shape[1:]
    climb = _climb_side_by_side if targets**2 * sources >= PARALLEL_FROM else _climb_in_turn
    for index, matrix in enumerate(channels):
        single = np.ascontiguousarray(matrix, dtype=np.float32)
        value, likelier, other = climb(np.ascontiguousarray(matrix), single, epsilon[index])
        if value > 0:
            rows = matrix[likelier], matrix[other]
            best.value[index], best.likely[index] = _between(*rows, epsilon[index])
            best.likelier[index], best.other[index] = likelier, other
    return best


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _excess(single, likelier, other, scale):
    """Return the sum of max(0, scale G[x,u] - G[x',u]), in single precision."""
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
def _climb_rows(matrix, single, first, epsilon, start):
    """Return the best log-ratio above `start` of some target values x, with its x and x'.

    These are `ROWS_AT_ONCE` from `first` on; x is -1 where none is better.

    A pair is worth a closer look only if (1 - w) sum max(0, q G_x - G_x') > w (1 - q), with
    q = exp(-value) and w = exp(-eps): the profile's condition lambda E(H) > H - 1, scaled so
    that it cannot overflow.  That look is in single precision.  With a slightly larger q no term
    is below its true value but for its own relative rounding, which the sum is granted, and for
    underflow.
    """
    targets, sources = matrix.shape
    larger, granted = 1 + 16 * SINGLE_UNIT, 1 + 2 * (sources + 8) * SINGLE_UNIT
    tiny = 2 * sources * SINGLE_TINY
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    value, likelier, other = start, -1, -1
    scale = math.exp(-value)
    rest = -math.expm1(-value)
    for theirs in range(targets):
        for mine in range(first, min(first + ROWS_AT_ONCE, targets)):
            while True:
                excess = _excess(single, mine, theirs, np.float32(scale * larger))
                if weight * (excess * granted + tiny) <= floor * rest:
                    break
                ratio = _log_ratio_of_rows(matrix, mine, theirs, scale, rest, weight, floor)
                if ratio <= value:
                    break
                value, likelier, other = ratio, mine, theirs
                scale = math.exp(-value)
                rest = -math.expm1(-value)
    return value, likelier, other


@numba.njit(cache=True, error_model="numpy")
def _climb_in_turn(matrix, single, epsilon):
    """Return the best log-ratio with its x and x'; each x starts where the last ones ended."""
    best, likelier, other = 0.0, 0, 0
    for first in range(0, matrix.shape[0], ROWS_AT_ONCE):
        value, mine, theirs = _climb_rows(matrix, single, first, epsilon, best)
        if mine >= 0:
            best, likelier, other = value, mine, theirs
    return best, likelier, other


def _climb_side_by_side(
    matrix: Floats, single: NDArray[np.float32], epsilon: float
) -> tuple[float, int, int]:
    """Return the same on all cores; each x starts where the first ones ended."""
    groups = -(-matrix.shape[0] // ROWS_AT_ONCE)
    values, pairs = np.zeros(groups), np.zeros((groups, 2), dtype=np.int64)
    _climb_groups(matrix, single, 0, 1, epsilon, 0.0, values, pairs)
    _climb_groups(matrix, single, 1, groups, epsilon, values[0], values, pairs)
    top = int(values.argmax())
    return float(values[top]), int(pairs[top, 0]), int(pairs[top, 1])


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _climb_groups(matrix, single, begin, end, epsilon, start, values, pairs):
    """Write the best log-ratio above `start` of some groups of target values, with x and x'."""
    for group in numba.prange(begin, end):
        value, likelier, other = _climb_rows(matrix, single, group * ROWS_AT_ONCE, epsilon, start)
        values[group] = value
        pairs[group, 0] = likelier
        pairs[group, 1] = other


@numba.njit(cache=True, error_model="numpy")
def _between(likelier, other, epsilon):
    """Return the largest log-ratio of two rows over every S, and S, as `solver` does."""
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
    enough = round_down(epsilon, 3 * channel.shape[1])
    first, second = _climb(*_both_ways(channel), epsilon, enough)
    return int(first), int(second)


def furthest_sparse_pair(channel: Any, value: float) -> tuple[int, int]:
    """Return the rows x and x' with the largest sum of max(0, G[x,u] - e^value G[x',u])."""
    sums, others = _furthest(*_both_ways(channel), value)
    first = int(np.argmax(sums))
    return first, int(others[first])


def _both_ways(channel: Any) -> tuple[Any, Any, Any]:
    """Return the cells by rows and by columns, and the sums of rows."""
    by_column = channel.tocsc()
    by_column.sort_indices()
    rows, columns = (
        (part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data)
        for part in (channel, by_column)
    )
    return rows, columns, np.asarray(channel.sum(axis=1))


@numba.njit(cache=True, error_model="numpy")
def _common(by_row, by_column, likelier, scale):
    """Return for each x' the sum of min(q G[x,u], G[x',u])."""
    starts, columns, cells = by_row
    column_starts, rows, column_cells = by_column
    common = np.zeros(len(starts) - 1)
    for mine in range(starts[likelier], starts[likelier + 1]):
        source, cell = columns[mine], scale * cells[mine]
        for index in range(column_starts[source], column_starts[source + 1]):
            common[rows[index]] += min(cell, column_cells[index])
    return common


@numba.njit(cache=True, error_model="numpy")
def _compare(by_row, likelier, other, half):
    """Return the sums of G[x,u] - G[x',u], of G[x',u] and of G[x,u] - H G[x',u] over S.

    S holds the u where the last is above 0; H = exp(2 half), H - 1 = 2 sinh(half) exp(half).
    """
    starts, columns, cells = by_row
    theirs, end = starts[other], starts[other + 1]
    gap, low, above = 0.0, 0.0, 0.0
    for mine in range(starts[likelier], starts[likelier + 1]):
        while theirs < end and columns[theirs] < columns[mine]:
            theirs += 1
        same = theirs < end and columns[theirs] == columns[mine]
        cell = cells[theirs] if same else 0.0
        more = cells[mine] - cell
        left = more - 2 * math.sinh(half) * cell * math.exp(half)
        if left > 0:
            gap += more
            low += cell
            above += left
    return gap, low, above


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
def _granted(by_row, total, row, scale):
    """Return q G_x raised by the rounding error of what is subtracted from it.

    No term of that sum is above q G[x,u], so the error is relative, but for underflow.
    """
    length = by_row[0][row + 1] - by_row[0][row]
    return scale * total * (1 + 2 * (length + 8) * UNIT) + length * TINY


@numba.njit(cache=True, error_model="numpy")
def _climb_row(by_row, by_column, total, likelier, epsilon, start, enough):
    """Return the best log-ratio above `start` of one target value x, and its x' (else -1).

    A pair is worth a closer look only if (1 - w) sum max(0, q G_x - G_x') > w (1 - q), with
    w = exp(-eps).  The sum at the starting q bounds that at a smaller one, in proportion.
    """
    value, best = start, -1
    scale = math.exp(-start)
    common = _common(by_row, by_column, likelier, scale)
    granted = _granted(by_row, total, likelier, scale)
    weight = -math.expm1(-epsilon)
    limit = math.exp(-epsilon) * -math.expm1(-value)
    for other in range(len(common)):
        while value < enough and weight * (granted - common[other]) > limit:
            half = min(value / 2, LARGE_EPSILON)
            gap, low, _ = _compare(by_row, likelier, other, half)
            ratio = _log_ratio(gap, low, epsilon)
            if ratio <= value:
                break
            value, best = ratio, other
            limit = math.exp(value - start - epsilon) * -math.expm1(-value)
    return value, best


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _climb(by_row, by_column, sums, epsilon, enough):
    """Return x and x' of the largest log-ratio, on all cores; `enough` is as good as any."""
    targets = len(sums)
    start, first, second = 0.0, 0, 0
    head = min(targets, FIRST_ROWS)
    for likelier in range(head):
        value, other = _climb_row(
            by_row, by_column, sums[likelier], likelier, epsilon, start, enough
        )
        if other >= 0:
            start, first, second = value, likelier, other
        if start >= enough:
            return first, second
    values = np.full(targets, start)
    others = np.full(targets, -1)
    for likelier in numba.prange(head, targets):
        values[likelier], others[likelier] = _climb_row(
            by_row, by_column, sums[likelier], likelier, epsilon, start, enough
        )
    top = np.argmax(values)
    return (first, second) if others[top] < 0 else (top, others[top])


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _furthest(by_row, by_column, sums, value):
    """Return for each x the largest sum of max(0, G[x,u] - e^value G[x',u]), and its x'."""
    targets = len(sums)
    most = np.zeros(targets)
    others = np.arange(targets)
    scale, half = math.exp(-value), min(value / 2, LARGE_EPSILON)
    for likelier in numba.prange(targets):
        common = _common(by_row, by_column, likelier, scale)
        granted = _granted(by_row, sums[likelier], likelier, scale)
        enough = 2 * sums[likelier] - _granted(by_row, sums[likelier], likelier, 1.0)
        for other in range(targets):
            if most[likelier] < enough and granted - common[other] > scale * most[likelier]:
                left = _compare(by_row, likelier, other, half)[2]
                if left > most[likelier]:
                    most[likelier], others[likelier] = left, other
    return most, others
