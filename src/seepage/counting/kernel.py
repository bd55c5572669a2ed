"""Counting of one batch of rows, with NumPy, or with Numba if the work is large.

Pairs of columns are counted by bitmaps or by a histogram.  A column of k values has k -
1 bitmaps, one for each code but 0.  The count of two codes is the popcount of the AND
of their bitmaps; counts of code 0 follow by subtraction, see `PairAccumulator`.  Two
columns need (k_a - 1)(k_b - 1) comparisons of bitmaps, 64 rows per operation, or one
histogram, a few operations per row.  Costs are in units of one comparison.

A histogram of three columns gives the counts of three pairs in little more than the
time of one if it fits in the cache, so pairs are grouped into triples.
"""

from collections.abc import Sequence

import numpy as np

from seepage._core.arrays import Codes
from seepage.counting.kernel_numpy import count_with_numpy
from seepage.counting.pair_cells import PairCells
from seepage.counting.schedule import (
    NUMBA_LIMIT,
    NUMPY_LIMIT,
    PairSchedule,
    schedule_pairs,
)


def count_batch(
    codes: Sequence[Codes], sizes: Sequence[int], cells: PairCells, *, compiled: bool
) -> int:
    """Add a batch of rows to the counts of all codes except 0, by the compiled kernel
    or NumPy's.

    Parameters
    ----------
    codes
        One contiguous array of type uint8 or uint16 per column, of equal length.
    sizes
        Alphabet size of each column; codes must be below it.
    cells
        The counts, with room for these sizes.  Those of code 0, and of pairs with a
        code 0, are undefined: they follow by subtraction at the end
        (`PairAccumulator.counts`).
    compiled
        Whether to count with Numba rather than NumPy.

    Returns
    -------
    int
        The first column with a code not below its size, which leaves the counts
        invalid; else -1.
    """
    if not len(codes[0]):
        return -1
    if compiled:
        return count_with_numba(
            codes, sizes, schedule_pairs(tuple(sizes), NUMBA_LIMIT), cells
        )
    return count_with_numpy(
        codes, sizes, schedule_pairs(tuple(sizes), NUMPY_LIMIT), cells
    )


def count_with_numba(
    codes: Sequence[Codes],
    sizes: Sequence[int],
    schedule: PairSchedule,
    cells: PairCells,
) -> int:
    """Call the kernel compiled by Numba for `count_batch`, the GIL released."""
    from seepage.counting.kernel_numba import (
        TILE,
        KernelColumns,
        KernelGroups,
        Totals,
        count_rows,
    )

    columns = KernelColumns(
        np.array([column.ctypes.data for column in codes], dtype=np.uintp),
        np.array([column.itemsize for column in codes], dtype=np.int64),
        np.array(sizes, dtype=np.int64),
    )
    bitmaps = np.pad(schedule.bitmaps, ((0, -len(schedule.bitmaps) % TILE), (0, 0)))
    groups = KernelGroups(schedule.packed, schedule.first, bitmaps, *schedule.grouped)
    capacities = np.array(cells.capacities, dtype=np.int64)
    totals = Totals(capacities, cells.marginals, cells.tables, cells.offset_matrix)
    return int(count_rows(columns, len(codes[0]), groups, totals))
