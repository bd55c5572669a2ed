"""`PairCells`: the arrays that counts are added up in, with room for alphabets that grow."""

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from seepage._numerics import Integers
from seepage.errors import DomainError
from seepage.pairs import pair_offsets

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
    """

    def __init__(self, capacities: Sequence[int]) -> None:
        self.capacities = tuple(capacities)
        cells = int(pair_offsets(self.capacities)[-1])
        if cells > LARGEST_CELLS:
            raise DomainError(
                f"{len(self.capacities)} attributes of up to {max(self.capacities):,} values have "
                f"{cells:,} pair cells, more than the {LARGEST_CELLS:,} that can be counted; "
                "choose fewer columns or coarser bins"
            )
        self.marginals = np.zeros(sum(self.capacities), dtype=np.int64)
        self.tables = np.zeros(cells, dtype=np.int64)

    @cached_property
    def marginal_views(self) -> list[Integers]:
        """The marginal counts of each column; they share the flat array."""
        return np.split(self.marginals, np.cumsum(self.capacities)[:-1])

    @cached_property
    def table_views(self) -> dict[tuple[int, int], Integers]:
        """The table of each pair (a, b), a < b, as a matrix; they share the flat array."""
        pairs = list(combinations(range(len(self.capacities)), 2))
        parts = np.split(self.tables, pair_offsets(self.capacities)[1:-1]) if pairs else []
        return {
            (a, b): part.reshape(self.capacities[a], self.capacities[b])
            for (a, b), part in zip(pairs, parts, strict=True)
        }

    @cached_property
    def begins(self) -> Integers:
        """Where the table of columns a and b begins, and on the diagonal the marginal of a."""
        columns = len(self.capacities)
        begins = np.zeros((columns, columns), dtype=np.int64)
        begins[np.triu_indices(columns, k=1)] = pair_offsets(self.capacities)[:-1]
        return begins + begins.T + np.diag(np.cumsum(self.capacities) - self.capacities)

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
        for mine, theirs in zip(self.marginal_views, other.marginal_views, strict=True):
            mine[: len(theirs)] += theirs
        for pair, cells in other.table_views.items():
            self.table_views[pair][: cells.shape[0], : cells.shape[1]] += cells

    def __getstate__(self) -> tuple[tuple[int, ...], Integers, Integers]:
        return self.capacities, self.marginals, self.tables

    def __setstate__(self, state: tuple[tuple[int, ...], Integers, Integers]) -> None:
        self.capacities, self.marginals, self.tables = state
