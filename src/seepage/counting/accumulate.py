"""`PairAccumulator`: pair counts summed over the batches of one pass, by several
threads.

`kernel` counts one batch (NumPy, or Numba in `kernel_numba`), `PairAccumulator` sums
batches, `distinct_records` keeps distinct or sampled records.

The caller's thread decodes batches, mostly in PyArrow without the GIL, while worker
threads count earlier batches, each into its own accumulator.  Only a few batches are in
memory.  Counts are integers, so the result does not depend on the assignment of batches
to threads.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import LifoQueue
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._core.errors import DomainError
from seepage._core.progress import Progress
from seepage._core.threads import usable_cores
from seepage.channel.domain import Domain
from seepage.channel.pairs import PairCounts, pair_offsets
from seepage.counting.kernel import count_batch
from seepage.counting.pair_cells import PairCells
from seepage.counting.schedule import compiled_pays

if TYPE_CHECKING:
    from seepage.tables.scan import CodedBatch, TableScan


DECODED_AHEAD = 2
"""Batches decoded ahead of those that are being counted."""


MAX_SHARED_CELLS = 1 << 26
"""Pair cells of all threads together (512 MB); larger tables are counted by fewer
threads."""


MAX_SIZE = 1 << 16
"""Maximum alphabet size: codes have 16 bits."""


Batch: TypeAlias = "tuple[Sequence[NDArray[Any]], Sequence[int]] | CodedBatch"
"""The codes of some rows, one array per column, and the columns' alphabet sizes."""


class PairAccumulator:
    """Counts of every pair of columns, summed over batches of codes.

    It grows with the alphabets, and accumulators of other batches can be merged into
    it.  Its state is plain arrays, so it can be pickled.

    Parameters
    ----------
    columns
        The number of columns.
    expected
        Total number of rows to count, if known: Numba is used if they are many.

    Notes
    -----
    The kernel leaves out code 0.  With n rows, marginals m_a(i) and pair counts t(i,
    j), its counts follow once from the sums over all batches:

        m_a(0) = n - sum of m_a(i), i >= 1
        t(0, j) = m_b(j) - sum of t(i, j), i >= 1
        t(i, 0) = m_a(i) - sum of t(i, j), j >= 1

    Memory: 8 bytes per pair cell, twice that while a table grows.

    Examples
    --------
    >>> accumulator = PairAccumulator(2)
    >>> accumulator.add([np.array([0, 1, 1]), np.array([0, 0, 1])], sizes=(2, 2))
    >>> accumulator.add([np.array([0, 2]), np.array([1, 1])], sizes=(3, 2))
    >>> from seepage import Attribute
    >>> domain = Domain(
    ...     [Attribute("a", ("x", "y", "z")), Attribute("b", ("no", "yes"))]
    ... )
    >>> accumulator.counts(domain).table("a", "b").tolist()
    [[1, 1], [1, 1], [0, 1]]
    """

    def __init__(self, columns: int, expected: int = 0) -> None:
        """Begin to accumulate pair counts of so many columns."""
        self.rows = 0
        self._expected = expected
        self._cells = PairCells((1,) * columns)

    def add(self, codes: Sequence[NDArray[Any]], sizes: Sequence[int], *_: Any) -> None:
        """Accumulate a batch of rows: the first fields of `CodedBatch`, the others are
        ignored.

        Parameters
        ----------
        codes
            One array of unsigned integers per column, all of the same length.
        sizes
            Alphabet size of each column; codes must be below it.
        """
        if max(sizes) > MAX_SIZE:
            raise DomainError(
                f"an attribute may have at most {MAX_SIZE:,} values, got {max(sizes):,}"
            )
        rows = len(codes[0])
        narrow = [
            np.require(
                column, np.uint8 if column.itemsize == 1 else np.uint16, ("C", "A")
            )
            for column in codes
        ]
        self._cells = self._cells.with_room(sizes)
        compiled = compiled_pays(max(self.rows + rows, self._expected), sizes)
        wrong = count_batch(narrow, sizes, self._cells, compiled=compiled)
        if wrong >= 0:
            most = int(narrow[wrong].max())
            raise DomainError(
                f"codes of column {wrong} must be below {sizes[wrong]}, got {most}"
            )
        self.rows += rows

    def merge(self, other: "PairAccumulator") -> None:
        """Add the counts of another accumulator with the same meaning of codes."""
        self._cells = self._cells.with_room(other._cells.capacities)
        self._cells.add(other._cells)
        self.rows += other.rows

    def counts(
        self, domain: Domain, orders: Sequence[NDArray[np.integer]] | None = None
    ) -> PairCounts:
        """Return the accumulated pair counts.

        Parameters
        ----------
        domain
            The columns' attributes.
        orders
            For each column, the code under which each value of its attribute was
            counted; by default value i has code i.
        """
        if orders is None:
            orders = [np.arange(size) for size in domain.sizes]
        cells = self._cells.with_room([int(order.max()) + 1 for order in orders])
        return PairCounts(domain, *cells.completed(self.rows, orders))


def count_scan(scan: "TableScan", progress: Progress | None = None) -> PairCounts:
    """Return the accumulated pair counts of a table scan, in its final domain."""
    rows = scan.source.rows_total
    columns = len(scan.names)
    count = partial(count_batches, columns=columns, rows_total=rows)
    accumulator = scan.read(count, progress)
    domain, orders = scan.finish()
    return accumulator.counts(domain, orders)


def count_batches(
    batches: Iterable[Batch], columns: int, *, rows_total: int | None = None
) -> PairAccumulator:
    """Return the accumulated counts of all batches, using every core.

    Parameters
    ----------
    batches
        Iterated over in the caller's thread; an exception there or in a worker thread
        ends the count and is raised unchanged.
    columns
        The number of columns.
    rows_total
        The number of rows; None if unknown: then NumPy counts until the rows counted
        would have justified Numba.
    """
    workers = usable_cores()
    expected = (rows_total or 0) // workers
    accumulators = [PairAccumulator(columns, expected) for _ in range(workers)]
    idle: LifoQueue[PairAccumulator] = LifoQueue()
    for accumulator in accumulators:
        idle.put(accumulator)

    def count(batch: Batch) -> None:
        """Accumulate the counts of a batch in those of its thread."""
        accumulator = idle.get()
        try:
            accumulator.add(*batch)
        finally:
            idle.put(accumulator)

    pending: deque[Future[None]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="seepage-count")
    try:
        for batch in batches:
            while len(pending) >= _max_pending(batch[1], workers):
                pending.popleft().result()
            pending.append(pool.submit(count, batch))
        for future in pending:
            future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    for accumulator in accumulators[1:]:
        accumulators[0].merge(accumulator)
    return accumulators[0]


def _max_pending(sizes: Sequence[int], workers: int) -> int:
    """Return the maximum number of batches that wait to be accumulated; fewer if each
    thread's counts are large.
    """
    cells = int(pair_offsets(sizes)[-1])
    return max(1, min(workers + DECODED_AHEAD, MAX_SHARED_CELLS // max(cells, 1)))
