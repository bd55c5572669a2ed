"""`PairCells`: the arrays that counts are added up in, with room for alphabets that grow."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from seepage._numerics import Integers
from seepage.data.pairs import marginal_offsets, pair_offsets, pairs_by_shape, put_stack, stacked
from seepage.errors import DomainError

__all__ = ["LARGEST_CELLS", "PairCells"]

LARGEST_CELLS = 1 << 29
"""Pair cells up to which counts are kept: 4 GB."""


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
        if cells > LARGEST_CELLS:
            raise DomainError(
                f"{len(self.capacities)} attributes of up to {max(self.capacities):,} values have "
                f"{cells:,} pair cells, more than the {LARGEST_CELLS:,} that can be counted; "
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
        grown = PairCells(spare if pair_offsets(spare)[-1] <= LARGEST_CELLS else exact)
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
