"""The kernel of `sparse`, compiled by Numba: the two rows of a sparse channel that differ most."""
# mypy: allow-untyped-defs, no-check-untyped-defs

import math
from typing import Any

import numba
import numpy as np

from seepage._numerics import UNIT

__all__ = ["climb"]

FIRST_ROWS = 16
"""Rows that are climbed in turn, so that all others start high."""


def climb(by_row: Any, by_column: Any, epsilon: float) -> tuple[int, int]:
    """Return the rows x and x' with the largest log-ratio; 0 and 0 where all rows are equal.

    Parameters
    ----------
    by_row, by_column
        The channel as a SciPy sparse array, by rows and by columns, indices ascending.
    epsilon
        The budget, above 0 and at most `LARGE_EPSILON`.
    """
    rows, columns = (
        (part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data)
        for part in (by_row, by_column)
    )
    first, second = _climb(rows, columns, by_row.sum(axis=1), epsilon)
    return int(first), int(second)


@numba.njit(cache=True, error_model="numpy")
def _log_ratio(by_row, likelier, other, scale, rest, weight, floor):
    """Return the log-ratio of S = {u : G[x,u] > H G[x',u]}, scale = 1/H, rest = 1 - 1/H."""
    starts, columns, cells = by_row
    theirs, end = starts[other], starts[other + 1]
    gap = 0.0
    low = 0.0
    for mine in range(starts[likelier], starts[likelier + 1]):
        while theirs < end and columns[theirs] < columns[mine]:
            theirs += 1
        same = theirs < end and columns[theirs] == columns[mine]
        cell = cells[theirs] if same else 0.0
        more = cells[mine] - cell
        if scale * more > rest * cell:
            gap += more
            low += cell
    return math.log1p(weight * gap / (floor + weight * low))


@numba.njit(cache=True, error_model="numpy")
def _common(by_row, by_column, likelier, scale):
    """Return for each x' the sum of min(q G[x,u], G[x',u]); -1 where no u is common."""
    starts, columns, cells = by_row
    column_starts, rows, column_cells = by_column
    common = np.full(len(starts) - 1, -1.0)
    for mine in range(starts[likelier], starts[likelier + 1]):
        source, cell = columns[mine], scale * cells[mine]
        for place in range(column_starts[source], column_starts[source + 1]):
            other = rows[place]
            common[other] = max(common[other], 0.0) + min(cell, column_cells[place])
    return common


@numba.njit(cache=True, error_model="numpy")
def _climb_row(by_row, by_column, total, likelier, epsilon, start):
    """Return the best log-ratio above `start` of one target value x, and its x' (else -1).

    The profile at the starting H is at least that at any higher one, so that a pair which it
    rules out at a higher H is out; the sums are granted their rounding error.
    """
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    length = by_row[0][likelier + 1] - by_row[0][likelier]
    slack = 2 * (length + 8) * UNIT
    value, best = start, -1
    scale, rest = math.exp(-value), -math.expm1(-value)
    common = _common(by_row, by_column, likelier, scale)
    whole = scale * total
    for other in range(len(common)):
        if common[other] < 0:
            return epsilon, other
        left = (whole - common[other] + slack) * weight
        while left * math.exp(start - value) > floor * rest:
            ratio = _log_ratio(by_row, likelier, other, scale, rest, weight, floor)
            if ratio <= value:
                break
            value, best = ratio, other
            scale, rest = math.exp(-value), -math.expm1(-value)
    return value, best


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _climb(by_row, by_column, sums, epsilon):
    """Return x and x' of the largest log-ratio, on all cores."""
    targets = len(sums)
    start, first, second = 0.0, 0, 0
    head = min(targets, FIRST_ROWS)
    for likelier in range(head):
        value, other = _climb_row(by_row, by_column, sums[likelier], likelier, epsilon, start)
        if other >= 0:
            start, first, second = value, likelier, other
        if start >= epsilon:
            return first, second
    values = np.full(targets, start)
    others = np.full(targets, -1)
    for likelier in numba.prange(head, targets):
        values[likelier], others[likelier] = _climb_row(
            by_row, by_column, sums[likelier], likelier, epsilon, start
        )
    top = np.argmax(values)
    return (first, second) if others[top] < 0 else (top, others[top])
