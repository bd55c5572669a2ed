"""The Numba drop-in for `ratios.best_of_all`, for alphabets too large for NumPy.

Imported only when the work is large: importing Numba and loading the cached kernel takes longer
than most analyses.  Same results as the NumPy version up to rounding, which a test checks.
"""

import math

import numba
import numpy as np

from seepage._numerics import Floats
from seepage.ratios import Best


def climb_all_subsets(channels: Floats, epsilon: Floats, start: Best) -> Best:
    """Raise each channel's log-ratio to its maximum over every pair of rows and every S."""
    best = start.copy()
    for index, matrix in enumerate(channels):
        found = _climb_rows(np.ascontiguousarray(matrix), epsilon[index], best.value[index])
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
def _log_ratio(likelier, other, scale, weight, floor):  # type: ignore[no-untyped-def]
    """Return the log-ratio of S = {u : scale G[x,u] > G[x',u]}."""
    gap = 0.0
    low = 0.0
    for source in range(likelier.shape[0]):
        if scale * likelier[source] > other[source]:
            gap += likelier[source] - other[source]
            low += other[source]
    return math.log1p(weight * gap / (floor + weight * low))


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _climb_rows(matrix, epsilon, start):  # type: ignore[no-untyped-def]
    """Return, for each target value x, the best log-ratio above `start` and its x'.

    A pair is worth a closer look only if (1 - w) sum max(0, q G_x - G_x') > w (1 - q), with
    q = exp(-value) and w = exp(-eps): the profile's condition lambda E(H) > H - 1, scaled so
    that it cannot overflow.
    """
    targets = matrix.shape[0]
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    found = np.empty((targets, 2))
    for likelier in numba.prange(targets):
        value = start
        best = -1
        scale = math.exp(-value)
        limit = -math.expm1(-value) * floor / weight if weight > 0 else math.inf
        for other in range(targets):
            while _excess(matrix[likelier], matrix[other], scale) > limit:
                ratio = _log_ratio(matrix[likelier], matrix[other], scale, weight, floor)
                if ratio <= value:
                    break
                value = ratio
                best = other
                scale = math.exp(-value)
                limit = -math.expm1(-value) * floor / weight
        found[likelier, 0] = value
        found[likelier, 1] = best
    return found
