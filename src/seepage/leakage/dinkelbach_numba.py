"""Dinkelbach's iteration over all pairs of rows of a large channel, with Numba, on all
cores.

Imported for large channels only (`dinkelbach.use_compiled`): importing Numba and
loading the cached kernels takes longer than most analyses.  Same values as NumPy up to
rounding, which tests check.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

import math

import numba
import numpy as np

from seepage._core.arrays import Floats

SINGLE_UNIT = 2.0**-24
"""Unit roundoff of single precision."""


SINGLE_TINY = 2.0**-126
"""Smallest normal number of single precision."""


ROWS_AT_ONCE = 8
"""Target values x per block; each x' is compared with all of them while its row is
cached."""


def best_rows_of_all_sets(channel: Floats, epsilon: float) -> tuple[int, int]:
    """Return the rows x and x' with the largest log-ratio over every S, solved in
    compiled code; 0 and 0 if all are equal.

    All blocks of rows x start from the value of the first block; the first of tied
    blocks wins.
    """
    matrix = np.array(
        channel, order="C"
    )  # writable, whatever was given: one compiled signature
    single = matrix.astype(np.float32)
    blocks = -(-len(matrix) // ROWS_AT_ONCE)
    values = np.zeros(blocks)
    pairs = np.zeros((blocks, 2), dtype=np.int64)
    _maximise_blocks(matrix, single, 0, 1, epsilon, 0.0, values, pairs)
    _maximise_blocks(matrix, single, 1, blocks, epsilon, values[0], values, pairs)
    first, second = pairs[values.argmax()].tolist()
    return max(first, 0), max(second, 0)


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _excess(single, likelier, other, scale):
    """Return the sum over u of max(0, scale G[x,u] - G[x',u]) in the compiled iteration
    of Dinkelbach, in single precision.
    """
    total = np.float32(0.0)
    for source in range(single.shape[1]):
        more = scale * single[likelier, source] - single[other, source]
        total += max(np.float32(0.0), more)
    return total


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _log_ratio_of_rows(matrix, likelier, other, scale, rest, weight, floor):
    """Return the log-ratio of S = {u : G[x,u] > H G[x',u]} in the compiled iteration of
    Dinkelbach, scale = 1/H, rest = 1 - 1/H.
    """
    gap = 0.0
    low = 0.0
    for source in range(matrix.shape[1]):
        more = matrix[likelier, source] - matrix[other, source]
        if scale * more > rest * matrix[other, source]:
            gap += more
            low += matrix[other, source]
    return math.log1p(weight * gap / (floor + weight * low))


@numba.njit(cache=True, error_model="numpy")
def _maximise_block(matrix, single, first, epsilon, start):
    """Return the largest log-ratio above `start` in the compiled iteration of
    Dinkelbach, with its x and x', for a block of x.

    The block holds `ROWS_AT_ONCE` target values from `first` on; x is -1 where none
    exceeds `start`.

    A pair can raise the value only if (1 - w) sum max(0, q G_x - G_x') > w (1 - q),
    with q = exp(-value) and w = exp(-eps): the condition lambda E(H) > H - 1 on the
    profile, scaled so that it cannot overflow.  It is checked in single precision,
    never too strictly: q is rounded up, the sum is raised by the relative rounding
    errors of its terms (`slack`), and by underflow (`tiny`).
    """
    targets, sources = matrix.shape
    larger = 1 + 16 * SINGLE_UNIT
    slack = 1 + 2 * (sources + 8) * SINGLE_UNIT
    tiny = 2 * sources * SINGLE_TINY
    floor = math.exp(-epsilon)
    weight = -math.expm1(-epsilon)
    value = start
    likelier = -1
    other = -1
    scale = math.exp(-value)
    rest = -math.expm1(-value)
    for second in range(targets):
        for row in range(first, min(first + ROWS_AT_ONCE, targets)):
            while True:
                excess = _excess(single, row, second, np.float32(scale * larger))
                if weight * (excess * slack + tiny) <= floor * rest:
                    break
                ratio = _log_ratio_of_rows(
                    matrix, row, second, scale, rest, weight, floor
                )
                if ratio <= value:
                    break
                value = ratio
                likelier = row
                other = second
                scale = math.exp(-value)
                rest = -math.expm1(-value)
    return value, likelier, other


@numba.njit(cache=True, parallel=True, error_model="numpy")
def _maximise_blocks(matrix, single, first, end, epsilon, start, values, pairs):
    """Write the compiled iteration's largest log-ratio above `start` of each block of
    target values, with x and x'.
    """
    for block in numba.prange(first, end):
        value, likelier, other = _maximise_block(
            matrix, single, block * ROWS_AT_ONCE, epsilon, start
        )
        values[block] = value
        pairs[block, 0] = likelier
        pairs[block, 1] = other
