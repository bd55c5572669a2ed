"""Counting of one batch with NumPy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seepage._core.arrays import Codes
from seepage.counting.pair_cells import PairCells
from seepage.counting.schedule import PairSchedule

BLOCK_ROWS = 1 << 16
"""Rows that NumPy processes at once, so that they stay in the cache."""


def count_with_numpy(
    codes: Sequence[Codes],
    sizes: Sequence[int],
    schedule: PairSchedule,
    cells: PairCells,
) -> int:
    """Implement `count_batch` with NumPy alone."""
    for start in range(0, len(codes[0]), BLOCK_ROWS):
        block = [column[start : start + BLOCK_ROWS] for column in codes]
        for index, (column, size) in enumerate(zip(block, sizes, strict=True)):
            if int(column.max()) >= size:
                return index
            np.add.at(cells.marginal(index), column, 1)
        _compare(block, schedule, cells)
        for a, b in schedule.tallied.tolist():
            joint = block[a].astype(np.intp) * cells.capacities[b] + block[b]
            np.add.at(cells.table(a, b).reshape(-1), joint, 1)
    return -1


def _compare(codes: Sequence[Codes], schedule: PairSchedule, cells: PairCells) -> None:
    """Add the number of common bits of each two bitmaps to the count of their codes, by
    NumPy.
    """
    bits = _bitmaps(codes, schedule)
    room = np.array(cells.capacities)
    for bitmap, (mine, my_code, stop) in zip(bits, schedule.bitmaps, strict=True):
        theirs, their_code, _ = schedule.bitmaps[:stop].T
        common = np.bitwise_count(bits[:stop] & bitmap).sum(axis=1, dtype=np.int64)
        my_row = my_code * room[theirs] + their_code
        their_row = their_code * room[mine] + my_code
        cell = np.where(mine < theirs, my_row, their_row)
        cells.tables[cells.offset_matrix[mine, theirs] + cell] += common


def _bitmaps(codes: Sequence[Codes], schedule: PairSchedule) -> NDArray[np.uint64]:
    """Return the bitmaps of all packed columns as NumPy arrays, one per row."""
    bits = np.zeros(
        (len(schedule.bitmaps), -(-len(codes[0]) // 64) * 8), dtype=np.uint8
    )
    for row, (column, code, _) in zip(bits, schedule.bitmaps, strict=True):
        packed = np.packbits(codes[column] == code)
        row[: len(packed)] = packed
    return bits.view(np.uint64)
