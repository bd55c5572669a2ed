"""The Numba drop-in for `ratios.best_of_all`, for alphabets too large for NumPy.

Imported only when the work is large: importing Numba and loading the cached kernel takes longer
than most analyses.  Same results as the NumPy version up to rounding, which a test checks.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Floats
from seepage.leakage.solver import Best

SINGLE_UNIT = 2.0**-24
"""The largest relative error of one rounded operation in single precision."""

SINGLE_TINY = 2.0**-126
"""Below this a number in single precision loses digits."""

PARALLEL_FROM = 1 << 22
"""From this many cells (m^2 t) on, starting threads pays."""

ROWS_AT_ONCE = 8
"""Target values x that each x' is compared with while its row is in the cache."""


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
def _excess(single, likelier, other, scale):  # type: ignore[no-untyped-def]
    """Return the sum of max(0, scale G[x,u] - G[x',u]), in single precision."""
    total = np.float32(0.0)
    for source in range(single.shape[1]):
        more = scale * single[likelier, source] - single[other, source]
        total += max(np.float32(0.0), more)
    return total


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _log_ratio(matrix, likelier, other, scale, rest, weight, floor):  # type: ignore[no-untyped-def]
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
def _climb_rows(matrix, single, first, epsilon, start):  # type: ignore[no-untyped-def]
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
                ratio = _log_ratio(matrix, mine, theirs, scale, rest, weight, floor)
                if ratio <= value:
                    break
                value, likelier, other = ratio, mine, theirs
                scale = math.exp(-value)
                rest = -math.expm1(-value)
    return value, likelier, other


@numba.njit(cache=True, error_model="numpy")
def _climb_in_turn(matrix, single, epsilon):  # type: ignore[no-untyped-def]
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
def _climb_groups(  # type: ignore[no-untyped-def]
    matrix, single, begin, end, epsilon, start, values, pairs
):
    """Write the best log-ratio above `start` of some groups of target values, with x and x'."""
    for group in numba.prange(begin, end):
        value, likelier, other = _climb_rows(matrix, single, group * ROWS_AT_ONCE, epsilon, start)
        values[group] = value
        pairs[group, 0] = likelier
        pairs[group, 1] = other


@numba.njit(cache=True, error_model="numpy")
def _between(likelier, other, epsilon):  # type: ignore[no-untyped-def]
    """Return the largest log-ratio of two rows over every S, and S, as `climbing` does."""
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    more = likelier - other
    order = np.argsort(np.where(more > 0, other / more, math.inf))
    chosen = np.zeros(likelier.shape[0], dtype=np.bool_)
    gap, low, best, last = 0.0, 0.0, 0.0, -1
    for place, source in enumerate(order):
        gap += more[source]
        low += other[source]
        ratio = math.log1p(weight * gap / (floor + weight * low))
        if ratio > best:
            best, last = ratio, place
    chosen[order[: last + 1]] = True
    return best, chosen
