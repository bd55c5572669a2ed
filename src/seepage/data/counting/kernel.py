"""Counting of one batch of rows, with NumPy, or with Numba if the work is large.

Pairs of columns are counted by bitmaps or by a histogram.  A column of k values has k -
1 bitmaps, one for each code but 0.  The count of two codes is the popcount of the AND
of their bitmaps; counts of code 0 follow by subtraction, see `PairAccumulator`.  Two
columns need (k_a - 1)(k_b - 1) comparisons of bitmaps, 64 rows per operation, or one
histogram, a few operations per row.  Costs are in units of one comparison.

A histogram of three columns gives the counts of three pairs in little more than the
time of one if it fits in the cache, so pairs are grouped into triples.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Codes, Integers
from seepage.data.pairs import (
    marginal_offsets,
    pair_offsets,
    pairs_by_shape,
    put_stack,
    stacked,
)
from seepage.errors import DomainError

MAX_CELLS = 1 << 29
"""Maximum number of pair cells: 4 GB of counts."""

PACK_COST = 8.0
"""Cost of making one bitmap (measured: 6 to 10)."""

TRIPLE_CELLS = 1 << 16
"""Maximum size of a histogram of three columns."""

NUMPY_COMPARISON = 1.1e-9 / 64
"""Seconds per row of a comparison of two bitmaps by NumPy (measured)."""

NUMPY_TALLY = 2e-9
"""Seconds per row of a histogram of two columns by NumPy (measured)."""

NUMPY_LIMIT = NUMPY_TALLY / NUMPY_COMPARISON
"""Cost of a histogram of two columns by NumPy."""

LOADING_SECONDS = 0.4
"""The compiled kernel is loaded if NumPy would take longer than this on each core.

Loading takes 0.4 to 1 s; compiling, once per installation, 5 to 8 s.
"""

NUMBA_LIMIT = 64.0
"""Cost of a histogram of two columns by Numba (measured: 100 with AVX-512 VPOPCNTDQ, 45
with AVX2).

Only the speed depends on it.
"""

BLOCK_ROWS = 1 << 16
"""Rows that NumPy processes at once, so that they stay in the cache."""


class PairCells:
    """Arrays for the marginal of each column and the table of each pair of columns.

    Parameters
    ----------
    capacities
        Number of codes of each column that the arrays have room for.

    Attributes
    ----------
    marginals
        The marginals of all columns, concatenated.
    tables
        The tables of all pairs in one flat array, at the offsets
        `pair_offsets(capacities)`.
    starts, offsets
        The offset of each column's marginal, and of each pair's table.
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
        """Return the marginal of one column, a view."""
        return self.marginals[self.starts[column] : self.starts[column + 1]]

    def table(self, a: int, b: int) -> Integers:
        """Return the table of a pair, a < b, as a matrix, a view."""
        start = self.offset_matrix[a, b]
        shape = self._shape(a, b)
        return self.tables[start : start + shape[0] * shape[1]].reshape(shape)

    @cached_property
    def offset_matrix(self) -> Integers:
        """Offset of the table of columns a and b, symmetric; on the diagonal of a's
        marginal.
        """
        columns = len(self.capacities)
        upper = np.zeros((columns, columns), dtype=np.int64)
        upper[np.triu_indices(columns, k=1)] = self.offsets[:-1]
        return upper + upper.T + np.diag(self.starts[:-1])

    def with_room(self, sizes: Sequence[int]) -> "PairCells":
        """Return these counts with room for alphabets of these sizes.

        A column that grows a second time gets a quarter more than needed, so that a
        column of k values is copied O(log k) times.
        """
        if all(size <= room for size, room in zip(sizes, self.capacities, strict=True)):
            return self
        needed = [
            max(size, room) for size, room in zip(sizes, self.capacities, strict=True)
        ]
        spare = [
            size + size // 4 if size > room > 1 else size
            for size, room in zip(needed, self.capacities, strict=True)
        ]
        grown = PairCells(spare if pair_offsets(spare)[-1] <= MAX_CELLS else needed)
        grown.add(self)
        return grown

    def add(self, other: "PairCells") -> None:
        """Add counts with the same or smaller capacities."""
        if other.capacities == self.capacities:
            self.marginals += other.marginals
            self.tables += other.tables
            return
        for column, size in enumerate(other.capacities):
            self.marginal(column)[:size] += other.marginal(column)
        for pairs, a, b in pairs_by_shape(self.capacities, other.capacities):
            mine = stacked(self.tables, self.offsets[pairs], *self._shape(a[0], b[0]))
            theirs = stacked(
                other.tables, other.offsets[pairs], *other._shape(a[0], b[0])
            )
            mine[:, : theirs.shape[1], : theirs.shape[2]] += theirs
            put_stack(self.tables, self.offsets[pairs], mine)

    def completed(
        self, rows: int, orders: Sequence[NDArray[np.integer]]
    ) -> tuple[list[Integers], Integers]:
        """Return marginals and tables with the counts of code 0, see `PairAccumulator`.

        Value i of a column has the code orders[column][i]; `rows` is the number of rows
        counted.
        """
        marginals = self.marginals.copy()
        for index, start in enumerate(self.starts[:-1]):
            marginals[start] = rows - self.marginal(index)[1:].sum()
        codes = np.concatenate(orders)
        sizes = [len(order) for order in orders]
        starts = marginal_offsets(sizes)
        offsets = pair_offsets(sizes)
        counts = np.empty(offsets[-1], dtype=np.int64)
        for pairs, a, b in pairs_by_shape(self.capacities, sizes):
            shape = self._shape(a[0], b[0])
            tables = stacked(self.tables, self.offsets[pairs], *shape).copy()
            of_a = stacked(marginals, self.starts[a], shape[0])
            of_b = stacked(marginals, self.starts[b], shape[1])
            tables[:, 0, 1:] = of_b[:, 1:] - tables[:, 1:, 1:].sum(axis=1)
            tables[:, :, 0] = of_a - tables[:, :, 1:].sum(axis=2)
            table = np.arange(len(pairs))[:, None, None]
            row = stacked(codes, starts[a], sizes[a[0]])[:, :, None]
            column = stacked(codes, starts[b], sizes[b[0]])[:, None, :]
            put_stack(counts, offsets[pairs], tables[table, row, column])
        parts = np.split(marginals, self.starts[1:-1])
        return [part[order] for part, order in zip(parts, orders, strict=True)], counts

    def _shape(self, a: int, b: int) -> tuple[int, int]:
        return self.capacities[a], self.capacities[b]

    def __getstate__(self) -> tuple[tuple[int, ...], Integers, Integers]:
        return self.capacities, self.marginals, self.tables

    def __setstate__(self, state: tuple[tuple[int, ...], Integers, Integers]) -> None:
        self.capacities, self.marginals, self.tables = state
        self.starts = marginal_offsets(self.capacities)
        self.offsets = pair_offsets(self.capacities)


@dataclass(frozen=True, eq=False)
class PairSchedule:
    """Assignment of every pair of columns to bitmaps or histograms.

    Parameters
    ----------
    sizes
        The columns' alphabet sizes.
    packed
        The columns with bitmaps, by ascending size.
    first
        Index of the first bitmap of each packed column; the last entry is the number of
        bitmaps.
    stop
        For each packed column, its bitmaps are compared with the bitmaps 0 to `stop` -
        1; these belong to smaller columns, so that every pair is counted once.
    tallied
        The other pairs of columns (a, b), a < b, one per row: counted by histograms.
    """

    sizes: tuple[int, ...]
    packed: Integers
    first: Integers
    stop: Integers
    tallied: Integers

    @cached_property
    def bitmaps(self) -> Integers:
        """Column, code and number of bitmaps to compare with, of each bitmap, one per
        row.
        """
        lengths = np.diff(self.first)
        code = np.arange(self.first[-1]) - np.repeat(self.first[:-1], lengths) + 1
        column = np.repeat(self.packed, lengths)
        stop = np.repeat(self.stop, lengths)
        return np.stack([column, code, stop], axis=1)

    @property
    def comparisons(self) -> int:
        """Number of comparisons of two bitmaps."""
        return int(self.bitmaps[:, 2].sum())

    @cached_property
    def grouped(self) -> tuple[Integers, Integers]:
        """The tallied pairs as triples of columns (a, b, c), a < b < c, and the
        remaining pairs.

        Greedy: each uncovered pair is joined by the middle one of the columns that
        complete a triple of uncovered pairs.  Triples cover about nine tenths of many
        pairs.
        """
        sizes = np.array(self.sizes, dtype=np.int64)
        uncovered = np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
        uncovered[tuple(self.tallied.T)] = True
        uncovered |= uncovered.T
        triples = []
        for a, b in self.tallied.tolist():
            fitting = sizes <= TRIPLE_CELLS // (sizes[a] * sizes[b])
            thirds = np.flatnonzero(uncovered[a] & uncovered[b] & fitting)
            if uncovered[a, b] and len(thirds):
                triple = sorted((a, b, int(thirds[len(thirds) // 2])))
                uncovered[np.ix_(triple, triple)] = False
                triples.append(triple)
        return np.array(triples, dtype=np.int64).reshape(-1, 3), _indices(
            np.triu(uncovered)
        )


@lru_cache(maxsize=16)
def schedule_pairs(sizes: tuple[int, ...], limit: float) -> PairSchedule:
    """Return the schedule for columns of these sizes.

    Parameters
    ----------
    sizes
        The columns' alphabet sizes.
    limit
        Cost of a histogram of two columns: pairs with more comparisons are tallied.

    Notes
    -----
    A column is packed if half of the savings of its pairs exceeds the cost of its bitmaps.  In
    ascending order of size, a column is compared with a prefix of the columns before it.

    Examples
    --------
    >>> schedule = schedule_pairs((300, 2, 3), limit=400)
    >>> schedule.packed.tolist(), schedule.stop.tolist(), schedule.tallied.tolist()
    ([1, 2], [0, 1], [[0, 1], [0, 2]])
    """
    bitmaps = np.asarray(sizes, dtype=np.float64) - 1
    savings = np.maximum(limit - np.outer(bitmaps, bitmaps), 0.0)
    np.fill_diagonal(savings, 0.0)
    pays = savings.sum(axis=1) / 2 > PACK_COST * bitmaps
    ascending = np.argsort(bitmaps, kind="stable")
    packed = ascending[pays[ascending]]
    first = np.concatenate([[0], np.cumsum(bitmaps[packed])]).astype(np.int64)
    compared = np.outer(bitmaps[packed], bitmaps[packed]) <= limit
    partners = np.minimum(compared.sum(axis=1), np.arange(len(packed)))
    tallied = np.triu(np.ones((len(sizes), len(sizes)), dtype=np.bool_), k=1)
    for column, count in zip(packed, partners, strict=True):
        others = packed[:count]
        tallied[np.minimum(column, others), np.maximum(column, others)] = False
    return PairSchedule(sizes, packed, first, first[partners], _indices(tallied))


def _indices(matrix: Booleans) -> Integers:
    """Return row and column of each true entry, C-contiguous as compiled code expects."""
    return np.ascontiguousarray(np.argwhere(matrix), dtype=np.int64)


def compiled_pays(rows: int, sizes: Sequence[int]) -> bool:
    """Return whether to use the compiled kernel: loaded already, or faster including
    loading.

    Parameters
    ----------
    rows
        Number of rows that one core will count.
    sizes
        The columns' alphabet sizes.
    """
    if "seepage.data.counting.compiled_kernel" in sys.modules:
        return True
    schedule = schedule_pairs(tuple(sizes), NUMPY_LIMIT)
    tallied = len(schedule.tallied) + len(sizes)
    seconds = rows * (schedule.comparisons * NUMPY_COMPARISON + tallied * NUMPY_TALLY)
    return seconds > LOADING_SECONDS and _checks.is_installed("numba")


def count_batch(
    codes: Sequence[Codes], sizes: Sequence[int], cells: PairCells, *, compiled: bool
) -> int:
    """Add a batch of rows to the counts of all codes except 0.

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
    """Add the number of common bits of each two bitmaps to the count of their codes."""
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
    """Return the bitmaps of all packed columns, one per row."""
    bits = np.zeros(
        (len(schedule.bitmaps), -(-len(codes[0]) // 64) * 8), dtype=np.uint8
    )
    for row, (column, code, _) in zip(bits, schedule.bitmaps, strict=True):
        packed = np.packbits(codes[column] == code)
        row[: len(packed)] = packed
    return bits.view(np.uint64)


def count_with_numba(
    codes: Sequence[Codes],
    sizes: Sequence[int],
    schedule: PairSchedule,
    cells: PairCells,
) -> int:
    """Implement `count_batch` with Numba, the GIL released."""
    from seepage.data.counting.compiled_kernel import (
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
