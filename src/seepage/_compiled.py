"""The Numba drop-in for `ratios.best_of_all`, for alphabets too large for NumPy.

Imported only when the work is large: importing Numba and loading the cached kernel takes longer
than most analyses.  Same results as the NumPy version up to rounding, which a test checks.
"""

import math

import numba
import numpy as np

from seepage._numerics import Floats
from seepage.ratios import Best

SINGLE_UNIT = 2.0**-24
"""The largest relative error of one rounded operation in single precision."""

PARALLEL_FROM = 1 << 22
"""From this many cells (m^2 t) on, starting threads pays."""


def climb_all_subsets(channels: Floats, epsilon: Floats) -> Best:
    """Return the largest log-ratio of each channel over every pair of rows and every S."""
    best = Best.of_nothing(channels)
    targets, sources = channels.shape[1:]
    climb = _climb_side_by_side if targets**2 * sources >= PARALLEL_FROM else _climb_in_turn
    for index, matrix in enumerate(channels):
        value, likelier, other = climb(np.ascontiguousarray(matrix), epsilon[index])
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
def _climb_row(matrix, single, likelier, epsilon, value):  # type: ignore[no-untyped-def]
    """Return the best log-ratio above `value` of one target value x, and its x' (else -1).

    A pair is worth a closer look only if (1 - w) sum max(0, q G_x - G_x') > w (1 - q), with
    q = exp(-value) and w = exp(-eps): the profile's condition lambda E(H) > H - 1, scaled so
    that it cannot overflow.  That look is in single precision and granted its rounding error.
    """
    targets, sources = matrix.shape
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    slack = 2 * (sources + 8) * SINGLE_UNIT
    best = -1
    scale = math.exp(-value)
    rest = -math.expm1(-value)
    for other in range(targets):
        while weight * (_excess(single, likelier, other, np.float32(scale)) + slack) > floor * rest:
            ratio = _log_ratio(matrix, likelier, other, scale, rest, weight, floor)
            if ratio <= value:
                break
            value = ratio
            best = other
            scale = math.exp(-value)
            rest = -math.expm1(-value)
    return value, best


@numba.njit(cache=True, error_model="numpy")
def _climb_in_turn(matrix, epsilon):  # type: ignore[no-untyped-def]
    """Return the best log-ratio with its x and x'; each x starts where the last one ended."""
    single = matrix.astype(np.float32)
    best, first, second = 0.0, 0, 0
    for likelier in range(matrix.shape[0]):
        value, other = _climb_row(matrix, single, likelier, epsilon, best)
        if other >= 0:
            best, first, second = value, likelier, other
    return best, first, second


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _climb_side_by_side(matrix, epsilon):  # type: ignore[no-untyped-def]
    """Return the same on all cores; each x starts where the first one ended."""
    single = matrix.astype(np.float32)
    start, other = _climb_row(matrix, single, 0, epsilon, 0.0)
    values = np.full(matrix.shape[0], start)
    others = np.full(matrix.shape[0], other)
    for likelier in numba.prange(1, matrix.shape[0]):
        values[likelier], others[likelier] = _climb_row(matrix, single, likelier, epsilon, start)
    first = np.argmax(values)
    return values[first], first, others[first]


@numba.njit(cache=True, error_model="numpy")
def _between(likelier, other, epsilon):  # type: ignore[no-untyped-def]
    """Return the largest log-ratio of two rows over every S, and S, as `ratios._between_any`."""
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
