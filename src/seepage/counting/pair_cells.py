"""`PairCells`: the counts of all pairs of columns, summed over batches."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage._core.arrays import Integers
from seepage._core.errors import DomainError
from seepage.channel.pairs import (
    marginal_offsets,
    pair_offsets,
    pairs_by_shape,
    put_stack,
    stacked,
)

MAX_PAIR_CELLS = 1 << 29
"""Maximum number of pair cells: 4 GB of counts."""


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
        """Prepare the cells of the counts of all pairs of columns, all 0."""
        self.capacities = tuple(capacities)
        self.starts = marginal_offsets(self.capacities)
        self.offsets = pair_offsets(self.capacities)
        cells = int(self.offsets[-1])
        if cells > MAX_PAIR_CELLS:
            raise DomainError(
                f"{len(self.capacities)} attributes of up to {max(self.capacities):,} "
                f"values have {cells:,} pair cells, more than the {MAX_PAIR_CELLS:,} "
                "that can be counted; choose fewer columns or coarser bins"
            )
        self.marginals = np.zeros(self.starts[-1], dtype=np.int64)
        self.tables = np.zeros(cells, dtype=np.int64)

    def marginal(self, column: int) -> Integers:
        """Return the marginal of one column among the cells of pairs, a view."""
        return self.marginals[self.starts[column] : self.starts[column + 1]]

    def table(self, a: int, b: int) -> Integers:
        """Return the cells of a pair, a < b, as a matrix, a view."""
        start = self.offset_matrix[a, b]
        shape = self._shape(a, b)
        return self.tables[start : start + shape[0] * shape[1]].reshape(shape)

    @cached_property
    def offset_matrix(self) -> Integers:
        """Offset of the cells of columns a and b, symmetric; on the diagonal of a's
        marginal.
        """
        columns = len(self.capacities)
        upper = np.zeros((columns, columns), dtype=np.int64)
        upper[np.triu_indices(columns, k=1)] = self.offsets[:-1]
        return upper + upper.T + np.diag(self.starts[:-1])

    def with_room(self, sizes: Sequence[int]) -> "PairCells":
        """Return these cells of pairs with room for alphabets of these sizes.

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
        grown = PairCells(
            spare if pair_offsets(spare)[-1] <= MAX_PAIR_CELLS else needed
        )
        grown.add(self)
        return grown

    def add(self, other: "PairCells") -> None:
        """Add the cells of pairs with the same or smaller capacities."""
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
        """Return marginals and tables of pairs with the cells of code 0, see
        `PairAccumulator`.

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
        """Return the shape of the cells of a pair."""
        return self.capacities[a], self.capacities[b]

    def __getstate__(self) -> tuple[tuple[int, ...], Integers, Integers]:
        """Return the cells of pairs to pickle."""
        return self.capacities, self.marginals, self.tables

    def __setstate__(self, state: tuple[tuple[int, ...], Integers, Integers]) -> None:
        """Restore the cells of pairs from a pickle."""
        self.capacities, self.marginals, self.tables = state
        self.starts = marginal_offsets(self.capacities)
        self.offsets = pair_offsets(self.capacities)
