"""The Numba drop-in for `ratios.best_of_all`, for alphabets too large for NumPy.

Imported only when the work is large: importing Numba and loading the cached kernel takes longer
than most analyses.  Same results as the NumPy version up to rounding, which a test checks.
"""

import math

import numba
import numpy as np

from seepage._numerics import UNIT, Floats
from seepage.ratios import Best

PARALLEL_FROM = 1 << 22
"""From this many cells (m^2 t) on, starting threads pays."""


def climb_all_subsets(channels: Floats, epsilon: Floats, start: Best) -> Best:
    """Raise each channel's log-ratio to its maximum over every pair of rows and every S."""
    best = start.copy()
    targets, sources = channels.shape[1:]
    climb = _climb_side_by_side if targets**2 * sources >= PARALLEL_FROM else _climb_in_turn
    for index, matrix in enumerate(channels):
        found = climb(np.ascontiguousarray(matrix), epsilon[index], best.value[index])
        row = int(np.argmax(found[:, 0]))
        if found[row, 0] > best.value[index]:
            best.value[index] = found[row, 0]
            best.likelier[index], best.other[index] = row, int(found[row, 1])
    return best


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _excess(likelier, other, scale):  # type: ignore[no-untyped-def]
    """Return the sum of max(0, scale G[x,u] - G[x',u])."""
    total = 0.0
    for source in range(likelier.shape[0]):
        total += max(0.0, scale * likelier[source] - other[source])
    return total


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _log_ratio(likelier, other, scale, rest, weight, floor):  # type: ignore[no-untyped-def]
    """Return the log-ratio of S = {u : G[x,u] > H G[x',u]}, scale = 1/H, rest = 1 - 1/H."""
    gap = 0.0
    low = 0.0
    for source in range(likelier.shape[0]):
        more = likelier[source] - other[source]
        if scale * more > rest * other[source]:
            gap += more
            low += other[source]
    return math.log1p(weight * gap / (floor + weight * low))


@numba.njit(cache=True, error_model="numpy")
def _climb_row(matrix, likelier, epsilon, value):  # type: ignore[no-untyped-def]
    """Return the best log-ratio above `value` of one target value x, and its x' (else -1).

    A pair is worth a closer look only if (1 - w) sum max(0, q G_x - G_x') > w (1 - q), with
    q = exp(-value) and w = exp(-eps): the profile's condition lambda E(H) > H - 1, scaled so
    that it cannot overflow.  The sum is granted its rounding error.
    """
    targets, sources = matrix.shape
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    slack = 2 * (sources + 8) * UNIT
    best = -1
    row = matrix[likelier]
    scale = math.exp(-value)
    rest = -math.expm1(-value)
    for other in range(targets):
        while weight * (_excess(row, matrix[other], scale) + slack) > floor * rest:
            ratio = _log_ratio(row, matrix[other], scale, rest, weight, floor)
            if ratio <= value:
                break
            value = ratio
            best = other
            scale = math.exp(-value)
            rest = -math.expm1(-value)
    return value, best


@numba.njit(cache=True, error_model="numpy")
def _climb_in_turn(matrix, epsilon, start):  # type: ignore[no-untyped-def]
    """Return the best log-ratio and x' of each x, each starting where the last one ended."""
    found = np.empty((matrix.shape[0], 2))
    value = start
    for likelier in range(matrix.shape[0]):
        value, other = _climb_row(matrix, likelier, epsilon, value)
        found[likelier, 0] = value
        found[likelier, 1] = other
    return found


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _climb_side_by_side(matrix, epsilon, start):  # type: ignore[no-untyped-def]
    """Return the same on all cores, each x from the start."""
    found = np.empty((matrix.shape[0], 2))
    for likelier in numba.prange(matrix.shape[0]):
        value, other = _climb_row(matrix, likelier, epsilon, start)
        found[likelier, 0] = value
        found[likelier, 1] = other
    return found
