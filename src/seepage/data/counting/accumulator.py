"""`PairAccumulator`: pair counts in the making, batch by batch, while alphabets still grow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Integers
from seepage.data.counting.cells import PairCells
from seepage.data.counting.kernel import count_batch
from seepage.data.counting.pair_plan import Codes
from seepage.data.domain import Domain
from seepage.data.pairs import (
    PairCounts,
    marginal_offsets,
    pair_offsets,
    pairs_by_shape,
    put_stack,
    stacked,
)
from seepage.errors import DomainError

__all__ = ["PairAccumulator"]


class PairAccumulator:
    """Counts of every pair of columns, added up over batches of codes.

    It grows as columns show more values, and merges with the counts of other batches.  Everything
    is in plain arrays, so it can be pickled and sent; it knows nothing of files or frames.

    Parameters
    ----------
    columns
        The number of columns.

    Notes
    -----
    The kernel leaves out code 0.  With n rows, marginals m_a(i) and pair counts t(i, j), the rest
    follows when all is added up, whichever batches showed which codes:

        m_a(0) = n - sum of m_a(i), i >= 1
        t(0, j) = m_b(j) - sum of t(i, j), i >= 1
        t(i, 0) = m_a(i) - sum of t(i, j), j >= 1

    Memory: 8 bytes for each pair cell, and as much again while a table grows.

    Examples
    --------
    >>> accumulator = PairAccumulator(2)
    >>> accumulator.add([np.array([0, 1, 1]), np.array([0, 0, 1])], sizes=(2, 2))
    >>> accumulator.add([np.array([0, 2]), np.array([1, 1])], sizes=(3, 2))
    >>> from seepage import Attribute
    >>> domain = Domain([Attribute("a", ("x", "y", "z")), Attribute("b", ("no", "yes"))])
    >>> accumulator.counts(domain).table("a", "b").tolist()
    [[1, 1], [1, 1], [0, 1]]
    """

    def __init__(self, columns: int) -> None:
        self.rows = 0
        self._cells = PairCells((1,) * columns)

    def add(
        self, codes: Sequence[NDArray[Any]], sizes: Sequence[int], *, compiled: bool = False
    ) -> None:
        """Add a batch of rows.

        Parameters
        ----------
        codes
            One array of integers a column, all of the same length.
        sizes
            For each column, a number that all its codes are below.
        compiled
            Count with Numba, which must be loaded first (about a second), rather than NumPy.
        """
        columns = len(self._cells.capacities)
        if len(codes) != columns or len(sizes) != columns:
            raise DomainError(
                f"there are {columns} columns, got codes of {len(codes)} and sizes of {len(sizes)}"
            )
        lengths = sorted({len(column) for column in codes})
        if len(lengths) > 1:
            raise DomainError(
                f"columns must be equally long, got {lengths[0]} and {lengths[-1]} rows"
            )
        narrow = [_as_codes(column, number) for number, column in enumerate(codes)]
        self._cells = self._cells.with_room(sizes)
        wrong = count_batch(narrow, sizes, self._cells, compiled=compiled)
        if wrong >= 0:
            raise _too_large(wrong, int(narrow[wrong].max()), sizes[wrong])
        self.rows += lengths[0]

    def merge(self, other: "PairAccumulator") -> None:
        """Add the counts of another accumulator, whose codes mean the same."""
        self._cells = self._cells.with_room(other._cells.capacities)
        self._cells.add(other._cells)
        self.rows += other.rows

    def counts(
        self, domain: Domain, orders: Sequence[NDArray[np.integer]] | None = None
    ) -> PairCounts:
        """Return what was counted.

        Parameters
        ----------
        domain
            The columns' attributes.
        orders
            For each column, the code that each value of its attribute was counted under; where
            not given, value i was counted under code i.
        """
        if orders is None:
            orders = [np.arange(size) for size in domain.sizes]
        cells = self._cells.with_room([int(order.max()) + 1 for order in orders])
        marginals = cells.marginals.copy()
        for column, start in enumerate(cells.starts[:-1]):
            marginals[start] = self.rows - cells.marginal(column)[1:].sum()
        places = np.concatenate(orders)
        starts, offsets = marginal_offsets(domain.sizes), pair_offsets(domain.sizes)
        counts = np.empty(offsets[-1], dtype=np.int64)
        for pairs, a, b in pairs_by_shape(cells.capacities, domain.sizes):
            tables = _completed(cells, marginals, pairs, a, b)
            rows = stacked(places, starts[a], domain.sizes[a[0]])
            columns = stacked(places, starts[b], domain.sizes[b[0]])
            every = np.arange(len(pairs))[:, None, None]
            put_stack(counts, offsets[pairs], tables[every, rows[:, :, None], columns[:, None, :]])
        parts = np.split(marginals, cells.starts[1:-1])
        chosen = [part[order] for part, order in zip(parts, orders, strict=True)]
        return PairCounts(domain, chosen, counts)


def _completed(
    cells: PairCells, marginals: Integers, pairs: Integers, a: Integers, b: Integers
) -> Integers:
    """Return tables of one shape with the counts of code 0, which the kernel leaves out."""
    rows, columns = cells.capacities[a[0]], cells.capacities[b[0]]
    tables = stacked(cells.tables, cells.offsets[pairs], rows, columns).copy()
    of_a, of_b = (
        stacked(marginals, cells.starts[a], rows),
        stacked(marginals, cells.starts[b], columns),
    )
    tables[:, 0, 1:] = of_b[:, 1:] - tables[:, 1:, 1:].sum(axis=1)
    tables[:, :, 0] = of_a - tables[:, :, 1:].sum(axis=2)
    return tables


def _as_codes(column: NDArray[Any], number: int) -> Codes:
    """Return a column as contiguous, aligned uint8 or uint16, or refuse what are no codes."""
    if column.ndim != 1 or column.dtype.kind not in "iub":
        raise DomainError(
            f"codes must be one-dimensional arrays of integers, "
            f"got {column.dtype} of shape {column.shape} for column {number}"
        )
    if column.dtype in (np.uint8, np.uint16):
        return np.require(column, requirements=("C", "A"))
    least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if least < 0:
        raise DomainError(f"codes must be at least 0, got {least} in column {number}")
    if most > np.iinfo(np.uint16).max:
        raise _too_large(number, most, np.iinfo(np.uint16).max + 1)
    return column.astype(np.uint8 if most < 256 else np.uint16)


def _too_large(number: int, code: int, size: int) -> DomainError:
    return DomainError(f"the codes of column {number} must be below {size}, got {code}")
