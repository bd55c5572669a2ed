"""Counting one batch of rows: with NumPy, or with Numba where the work is large.

Pairs of columns are counted by bitmaps or by a histogram.  A column of k values has k - 1 bitmaps,
one for each code but 0.  The counts of two codes are the bits that two bitmaps share; those of code
0 follow by subtraction, see `count`.  Two columns need (k_a - 1)(k_b - 1) passes of AND and
popcount, 64 rows per operation, or one pass of a histogram, a few operations per row.  Costs are in
units of one AND-popcount pass.

A histogram of three columns gives the counts of three pairs in little more than the time of one,
as long as it stays in the cache; so pairs are put together to triples.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage.data.pairs import marginal_offsets, pair_offsets, pairs_by_shape, put_stack, stacked
from seepage.errors import DomainError

MAX_CELLS = 1 << 29
"""Pair cells up to which counts are kept: 4 GB."""

PACK_COST = 8.0
"""What it costs to make one bitmap (measured: 6 to 10)."""

TRIPLE_CELLS = 1 << 16
"""Cells up to which three columns are counted by one histogram."""

NUMPY_COMPARISON = 1.1e-9 / 64
"""Seconds that NumPy takes to compare two bitmaps, per row (measured)."""

NUMPY_TALLY = 2e-9
"""Seconds that NumPy takes for a histogram of two columns, per row (measured)."""

NUMPY_LIMIT = NUMPY_TALLY / NUMPY_COMPARISON

LOADING = 0.4
"""Seconds of NumPy's work on each core for which the compiled kernel is loaded.

That takes 0.4 to 1 s; compiling it, once for each installation, 5 to 8 s.
"""

PLAUSIBLE_LIMITS = 20.0, 400.0
"""Within these `bitmap_limit` believes what it measures."""

BLOCK = 1 << 16
"""Rows that NumPy handles at once, so that they stay in cache."""


class PairCells:
    """Room for the counts of every code of each column, and of every two codes of each two.

    Parameters
    ----------
    capacities
        For each column, the number of codes that there is room for.

    Attributes
    ----------
    marginals
        The counts of each column's codes, one column after the other.
    tables
        The counts of each pair's codes, laid out as `pair_offsets(capacities)` says.
    starts, offsets
        Where the marginal of each column begins, and the table of each pair.
    """

    def __init__(self, capacities: Sequence[int]) -> None:
        self.capacities = tuple(capacities)
        self.starts = marginal_offsets(self.capacities)
        self.offsets = pair_offsets(self.capacities)
        cells = int(self.offsets[-1])
        if cells > MAX_CELLS:
            raise DomainError(
                f"{len(self.capacities)} attributes of up to {max(self.capacities):,} values have "
                f"{cells:,} pair cells, more than the {MAX_CELLS:,} that can be counted; "
                "choose fewer columns or coarser bins"
            )
        self.marginals = np.zeros(self.starts[-1], dtype=np.int64)
        self.tables = np.zeros(cells, dtype=np.int64)

    def marginal(self, column: int) -> Integers:
        """Return the counts of one column's codes; they share the flat array."""
        return self.marginals[self.starts[column] : self.starts[column + 1]]

    def table(self, a: int, b: int) -> Integers:
        """Return the table of a pair, a < b, as a matrix; it shares the flat array."""
        begin, shape = self.begins[a, b], self._shape(a, b)
        return self.tables[begin : begin + shape[0] * shape[1]].reshape(shape)

    @cached_property
    def begins(self) -> Integers:
        """Where the table of columns a and b begins, and on the diagonal the marginal of a."""
        columns = len(self.capacities)
        begins = np.zeros((columns, columns), dtype=np.int64)
        begins[np.triu_indices(columns, k=1)] = self.offsets[:-1]
        return begins + begins.T + np.diag(self.starts[:-1])

    def with_room(self, sizes: Sequence[int]) -> "PairCells":
        """Return these counts with room for alphabets of these sizes.

        A column that grows a second time gets a quarter more than it asks for, so that a column
        of k values is copied O(log k) times.
        """
        if all(size <= room for size, room in zip(sizes, self.capacities, strict=True)):
            return self
        exact = [max(size, room) for size, room in zip(sizes, self.capacities, strict=True)]
        spare = [
            wanted + wanted // 4 if wanted > room > 1 else wanted
            for wanted, room in zip(exact, self.capacities, strict=True)
        ]
        grown = PairCells(spare if pair_offsets(spare)[-1] <= MAX_CELLS else exact)
        grown.add(self)
        return grown

    def add(self, other: "PairCells") -> None:
        """Add counts of the same or smaller alphabets."""
        if other.capacities == self.capacities:
            self.marginals += other.marginals
            self.tables += other.tables
            return
        for column, size in enumerate(other.capacities):
            self.marginal(column)[:size] += other.marginal(column)
        for pairs, a, b in pairs_by_shape(self.capacities, other.capacities):
            mine = stacked(self.tables, self.offsets[pairs], *self._shape(a[0], b[0]))
            theirs = stacked(other.tables, other.offsets[pairs], *other._shape(a[0], b[0]))
            mine[:, : theirs.shape[1], : theirs.shape[2]] += theirs
            put_stack(self.tables, self.offsets[pairs], mine)

    def _shape(self, a: int, b: int) -> tuple[int, int]:
        return self.capacities[a], self.capacities[b]

    def __getstate__(self) -> tuple[tuple[int, ...], Integers, Integers]:
        return self.capacities, self.marginals, self.tables

    def __setstate__(self, state: tuple[tuple[int, ...], Integers, Integers]) -> None:
        self.capacities, self.marginals, self.tables = state
        self.starts = marginal_offsets(self.capacities)
        self.offsets = pair_offsets(self.capacities)


Codes: TypeAlias = NDArray[np.unsignedinteger]
"""The codes of one column: uint8 or uint16."""


@dataclass(frozen=True, eq=False)
class PairSchedule:
    """How to count every pair of columns once.

    Parameters
    ----------
    sizes
        The columns' alphabet sizes.
    packed
        The columns that get bitmaps, by ascending size.
    first
        Where the bitmaps of each packed column begin; the last entry is their number.
    stop
        For each packed column, the number of bitmaps, from the first on, that are compared with
        its own; they are those of smaller columns, so that every pair comes once.
    tallied
        The other pairs of columns (a, b), a < b, one per row: counted by histograms.
    """

    sizes: tuple[int, ...]
    packed: Integers
    first: Integers
    stop: Integers
    tallied: Integers

    @property
    def comparisons(self) -> int:
        """The number of pairs of bitmaps that are compared."""
        return int(self.stop @ np.diff(self.first))

    @cached_property
    def grouped(self) -> tuple[Integers, Integers]:
        """The tallied pairs as triples of columns (a, b, c), a < b < c, and the pairs left over.

        Greedy: of the columns that form a triple of uncovered pairs with a pair, the middle one.
        About nine tenths of many pairs are covered.
        """
        sizes = np.array(self.sizes, dtype=np.int64)
        open_pairs = np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
        open_pairs[tuple(self.tallied.T)] = True
        open_pairs |= open_pairs.T
        triples = []
        for a, b in self.tallied.tolist():
            fitting = sizes <= TRIPLE_CELLS // (sizes[a] * sizes[b])
            thirds = np.flatnonzero(open_pairs[a] & open_pairs[b] & fitting)
            if open_pairs[a, b] and len(thirds):
                triple = sorted((a, b, int(thirds[len(thirds) // 2])))
                open_pairs[np.ix_(triple, triple)] = False
                triples.append(triple)
        return np.array(triples, dtype=np.int64).reshape(-1, 3), _indices(np.triu(open_pairs))


@lru_cache(maxsize=16)
def schedule_pairs(sizes: tuple[int, ...], limit: float) -> PairSchedule:
    """Return the schedule for columns of these sizes.

    Parameters
    ----------
    sizes
        The columns' alphabet sizes.
    limit
        The cost of a histogram of two columns: pairs with more comparisons are tallied.

    Notes
    -----
    A column is packed where its share of what bitmaps save, half of each pair's, exceeds what
    they cost.  By ascending size, the partners of a column that are compared are the first ones.

    Examples
    --------
    >>> schedule = schedule_pairs((300, 2, 3), limit=400)
    >>> schedule.packed.tolist(), schedule.stop.tolist(), schedule.tallied.tolist()
    ([1, 2], [0, 1], [[0, 1], [0, 2]])
    """
    bitmaps = np.asarray(sizes, dtype=np.float64) - 1
    savings = np.maximum(limit - np.outer(bitmaps, bitmaps), 0.0)
    np.fill_diagonal(savings, 0.0)
    worth = savings.sum(axis=1) / 2 > PACK_COST * bitmaps
    ascending = np.argsort(bitmaps, kind="stable")
    packed = ascending[worth[ascending]]
    first = np.concatenate([[0], np.cumsum(bitmaps[packed])]).astype(np.int64)
    compared = np.outer(bitmaps[packed], bitmaps[packed]) <= limit
    partners = np.minimum(compared.sum(axis=1), np.arange(len(packed)))
    tallied = np.triu(np.ones((len(sizes), len(sizes)), dtype=np.bool_), k=1)
    for position, number in enumerate(partners):
        mine, theirs = packed[position], packed[:number]
        tallied[np.minimum(mine, theirs), np.maximum(mine, theirs)] = False
    return PairSchedule(sizes, packed, first, first[partners], _indices(tallied))


def _indices(matrix: Booleans) -> Integers:
    """Return row and column of what is true, in the memory layout that compiled code expects."""
    return np.ascontiguousarray(np.argwhere(matrix), dtype=np.int64)


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
    schedule = schedule_pairs(tuple(sizes), NUMPY_LIMIT)
    tallied = len(schedule.tallied) + len(sizes)
    return rows * (schedule.comparisons * NUMPY_COMPARISON + tallied * NUMPY_TALLY) > LOADING


def count_batch(
    codes: Sequence[Codes], sizes: Sequence[int], cells: PairCells, *, compiled: bool
) -> int:
    """Add a batch of rows to the counts, except those of code 0.

    Parameters
    ----------
    codes
        One contiguous array of type uint8 or uint16 per column, all of the same length.
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
        return count_with_numba(codes, sizes, schedule_pairs(tuple(sizes), bitmap_limit()), cells)
    return count_with_numpy(codes, sizes, schedule_pairs(tuple(sizes), NUMPY_LIMIT), cells)


def count_with_numpy(
    codes: Sequence[Codes], sizes: Sequence[int], schedule: PairSchedule, cells: PairCells
) -> int:
    """Do what `count_batch` says, with NumPy alone."""
    for begin in range(0, len(codes[0]), BLOCK):
        block = [column[begin : begin + BLOCK] for column in codes]
        for column, (own, size) in enumerate(zip(block, sizes, strict=True)):
            if int(own.max()) >= size:
                return column
            np.add.at(cells.marginal(column), own, 1)
        _compare(block, schedule, cells)
        for a, b in schedule.tallied.tolist():
            joint = block[a] * np.intp(cells.capacities[b]) + block[b]
            np.add.at(cells.table(a, b).reshape(-1), joint, 1)
    return -1


def _compare(codes: Sequence[Codes], schedule: PairSchedule, cells: PairCells) -> None:
    """Add the bits that each two bitmaps share to the count of their codes."""
    bits = _bitmaps(codes, schedule)
    lengths = np.diff(schedule.first)
    column = np.repeat(schedule.packed, lengths)
    code = np.arange(len(column)) - np.repeat(schedule.first[:-1], lengths) + 1
    room = np.array(cells.capacities)
    for mine, begin, end, stop in zip(
        schedule.packed, schedule.first[:-1], schedule.first[1:], schedule.stop, strict=True
    ):
        theirs, their_code = column[:stop], code[:stop]
        for own_code, bitmap in zip(code[begin:end], bits[begin:end], strict=True):
            shared = np.bitwise_count(bits[:stop] & bitmap).sum(axis=1, dtype=np.int64)
            below = own_code * room[theirs] + their_code
            above = their_code * room[mine] + own_code
            index = cells.begins[mine, theirs] + np.where(mine < theirs, below, above)
            cells.tables[index] += shared


def _bitmaps(codes: Sequence[Codes], schedule: PairSchedule) -> NDArray[np.uint64]:
    """Return the bitmaps of all packed columns, one per row."""
    bits = np.zeros((schedule.first[-1], -(-len(codes[0]) // 64) * 8), dtype=np.uint8)
    for index, column in enumerate(schedule.packed):
        for code, row in enumerate(
            bits[schedule.first[index] : schedule.first[index + 1]], start=1
        ):
            packed = np.packbits(codes[column] == code)
            row[: len(packed)] = packed
    return bits.view(np.uint64)


def count_with_numba(
    codes: Sequence[Codes], sizes: Sequence[int], schedule: PairSchedule, cells: PairCells
) -> int:
    """Do what `count_batch` says, with Numba and the GIL released."""
    from seepage.data.counting.compiled_kernel import (
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
    groups = KernelGroups(schedule.packed, schedule.first, schedule.stop, *schedule.grouped)
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
    schedules = schedule_pairs(sizes, np.inf), schedule_pairs(sizes, 0.0)
    times: list[list[float]] = [[], []]
    for _ in range(6):
        for schedule, taken in zip(schedules, times, strict=True):
            begin = time.thread_time()
            count_with_numba(codes, sizes, schedule, PairCells(sizes))
            taken.append(time.thread_time() - begin)
    by_bitmaps, by_histogram = map(min, times)
    least, most = PLAUSIBLE_LIMITS
    measured = by_histogram / by_bitmaps * (sizes[0] - 1) ** 2 if by_bitmaps else least
    return min(max(measured, least), most)
