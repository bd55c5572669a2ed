"""Counting one batch of rows: with NumPy, or with Numba where the work is large."""

import sys
import time
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from seepage.data.counting.cells import PairCells
from seepage.data.counting.pair_plan import Codes, Plan, plan_pairs

__all__ = ["bitmap_limit", "compiled_pays", "count_batch", "count_with_numba", "count_with_numpy"]

NUMPY_COMPARISON = 1.1e-9 / 64
"""Seconds that NumPy takes to compare two bitmaps, a row (measured)."""
NUMPY_TALLY = 2e-9
"""Seconds that NumPy takes for a histogram of two columns, a row (measured)."""
NUMPY_LIMIT = NUMPY_TALLY / NUMPY_COMPARISON
LOADING = 0.4
"""Seconds of NumPy's work on each core for which the compiled kernel is loaded.

That takes 0.4 to 1 s; compiling it, once for each installation, 5 to 8 s.
"""
PLAUSIBLE_LIMITS = 20.0, 400.0
"""Within these `bitmap_limit` believes what it measures."""
BLOCK = 1 << 16
"""Rows that NumPy handles at once, so that they stay in cache."""


def compiled_pays(rows: int, sizes: Sequence[int]) -> bool:
    """Return whether the compiled kernel is loaded, or NumPy would take longer than loading it.

    Parameters
    ----------
    rows
        The rows that one core will count.
    sizes
        The columns' alphabet sizes.
    """
    if "seepage.data.counting.compiled_kernel" in sys.modules:
        return True
    plan = plan_pairs(tuple(sizes), NUMPY_LIMIT)
    tallied = len(plan.tallied) + len(sizes)
    return rows * (plan.comparisons * NUMPY_COMPARISON + tallied * NUMPY_TALLY) > LOADING


def count_batch(
    codes: Sequence[Codes], sizes: Sequence[int], cells: PairCells, *, compiled: bool
) -> int:
    """Add a batch of rows to the counts, except those of code 0.

    Parameters
    ----------
    codes
        One contiguous array of type uint8 or uint16 a column, all of the same length.
    sizes
        For each column, a number that all its codes are below.
    cells
        The counts, with room for these sizes.  Those of code 0, and of pairs with a code 0, are
        left undefined: they follow by subtraction, once, in the end (`PairAccumulator.counts`).
    compiled
        Whether Numba counts; NumPy otherwise.

    Returns
    -------
    The first column with a code that is not below its size, else -1; the counts are spoilt then.
    """
    if not len(codes[0]):
        return -1
    if compiled:
        return count_with_numba(codes, sizes, plan_pairs(tuple(sizes), bitmap_limit()), cells)
    return count_with_numpy(codes, sizes, plan_pairs(tuple(sizes), NUMPY_LIMIT), cells)


def count_with_numpy(
    codes: Sequence[Codes], sizes: Sequence[int], plan: Plan, cells: PairCells
) -> int:
    """Do what `count_batch` says, with NumPy alone."""
    for begin in range(0, len(codes[0]), BLOCK):
        block = [column[begin : begin + BLOCK] for column in codes]
        for column, (own, size) in enumerate(zip(block, sizes, strict=True)):
            if int(own.max()) >= size:
                return column
            np.add.at(cells.marginal(column), own, 1)
        _compare(block, plan, cells)
        for a, b in plan.tallied.tolist():
            joint = block[a] * np.intp(cells.capacities[b]) + block[b]
            np.add.at(cells.table(a, b).reshape(-1), joint, 1)
    return -1


def _compare(codes: Sequence[Codes], plan: Plan, cells: PairCells) -> None:
    """Add the bits that each two bitmaps share to the count of their codes."""
    bits = _bitmaps(codes, plan)
    lengths = np.diff(plan.first)
    column = np.repeat(plan.packed, lengths)
    code = np.arange(len(column)) - np.repeat(plan.first[:-1], lengths) + 1
    room = np.array(cells.capacities)
    for mine, begin, end, stop in zip(
        plan.packed, plan.first[:-1], plan.first[1:], plan.stop, strict=True
    ):
        theirs, their_code = column[:stop], code[:stop]
        for own_code, bitmap in zip(code[begin:end], bits[begin:end], strict=True):
            shared = np.bitwise_count(bits[:stop] & bitmap).sum(axis=1, dtype=np.int64)
            below = own_code * room[theirs] + their_code
            above = their_code * room[mine] + own_code
            place = cells.begins[mine, theirs] + np.where(mine < theirs, below, above)
            cells.tables[place] += shared


def _bitmaps(codes: Sequence[Codes], plan: Plan) -> NDArray[np.uint64]:
    """Return the bitmaps of all packed columns, one a row."""
    bits = np.zeros((plan.first[-1], -(-len(codes[0]) // 64) * 8), dtype=np.uint8)
    for place, column in enumerate(plan.packed):
        for code, row in enumerate(bits[plan.first[place] : plan.first[place + 1]], start=1):
            packed = np.packbits(codes[column] == code)
            row[: len(packed)] = packed
    return bits.view(np.uint64)


def count_with_numba(
    codes: Sequence[Codes], sizes: Sequence[int], plan: Plan, cells: PairCells
) -> int:
    """Do what `count_batch` says, with Numba and the GIL released."""
    from seepage.data.counting.compiled_kernel import Columns, Groups, Totals, count_rows

    columns = Columns(
        np.array([column.ctypes.data for column in codes], dtype=np.uintp),
        np.array([column.itemsize for column in codes], dtype=np.int64),
        np.array(sizes, dtype=np.int64),
    )
    groups = Groups(plan.packed, plan.first, plan.stop, *plan.grouped)
    capacities = np.array(cells.capacities, dtype=np.int64)
    totals = Totals(capacities, cells.marginals, cells.tables, cells.begins)
    return int(count_rows(columns, len(codes[0]), groups, totals))


@cache
def bitmap_limit() -> float:
    """Return how many comparisons of bitmaps cost Numba as much as a histogram, on this machine.

    About 100 with AVX-512 VPOPCNTDQ, 45 with AVX2.  Measured in about 30 ms, by the time that
    this thread has the processor, where the system tells it finely enough; only speed depends
    on it.
    """
    sizes = (11,) * 21
    generator = np.random.default_rng(1)
    codes = [generator.integers(0, size, BLOCK, dtype=np.uint8) for size in sizes]
    plans = plan_pairs(sizes, np.inf), plan_pairs(sizes, 0.0)
    times: list[list[float]] = [[], []]
    for _ in range(6):
        for plan, taken in zip(plans, times, strict=True):
            begin = time.thread_time()
            count_with_numba(codes, sizes, plan, PairCells(sizes))
            taken.append(time.thread_time() - begin)
    by_bitmaps, by_histogram = map(min, times)
    least, most = PLAUSIBLE_LIMITS
    measured = by_histogram / by_bitmaps * (sizes[0] - 1) ** 2 if by_bitmaps else least
    return min(max(measured, least), most)
