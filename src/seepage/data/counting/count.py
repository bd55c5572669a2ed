"""Pair counts: batches added up while alphabets still grow, by all cores of this machine.

Batches are decoded ahead while threads count the ones before.  The caller's thread decodes, which
spends its time in PyArrow without the GIL; worker threads count, each into its own accumulator.  At
most a few batches are in memory.  Counts are integers, so the result does not depend on which
thread counted what.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import LifoQueue
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Integers
from seepage._results import Progress
from seepage.data.counting.kernel import Codes, PairCells, compiled_pays, count_batch
from seepage.data.domain import Domain
from seepage.data.pairs import (
    PairCounts,
    marginal_offsets,
    pair_offsets,
    pairs_by_shape,
    put_stack,
    stacked,
)
from seepage.data.table.scan import CodedBatch, TableScan
from seepage.errors import DomainError

SPARK = "spark"
LOCAL_ENGINES = ("auto", "numpy", "numba")
ENGINES = (*LOCAL_ENGINES, SPARK)

AHEAD = 2
"""Batches decoded ahead, beside those that are being counted."""
SLICE = 1 << 19
"""Rows of columns in memory that make a batch, where these are few."""
SLICE_CELLS = 1 << 25
"""Cells of a batch: wide tables have shorter batches, so that every core gets one."""
SHORTEST_SLICE = 1 << 16
"""Rows that a batch has at least: as many as the kernels handle at once."""
SHARED_CELLS = 1 << 26
"""Pair cells of all threads together (512 MB); larger tables are counted by fewer threads."""

Batch: TypeAlias = tuple[Sequence[NDArray[Any]], Sequence[int]]
"""The codes of some rows, one array per column, and numbers that they are below."""


class PairAccumulator:
    """Counts of every pair of columns, added up over batches of codes.

    It grows as columns show more values, and merges with the counts of other batches.  Everything
    is in plain arrays, so it can be pickled and sent; it knows nothing of files or frames.

    Parameters
    ----------
    columns
        The number of columns.
    expected
        The rows that it will count in all, where known: if they are many, Numba counts.

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

    def __init__(self, columns: int, expected: int = 0) -> None:
        self.rows = 0
        self._expected = expected
        self._cells = PairCells((1,) * columns)

    def add(
        self, codes: Sequence[NDArray[Any]], sizes: Sequence[int], *, compiled: bool | None = None
    ) -> None:
        """Add a batch of rows.

        Parameters
        ----------
        codes
            One array of integers per column, all of the same length.
        sizes
            For each column, a number that all its codes are below.
        compiled
            Count with Numba, which must be loaded first (about a second), rather than NumPy; by
            default where the rows are worth it.
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
        if compiled is None:
            compiled = compiled_pays(max(self.rows + lengths[0], self._expected), sizes)
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
        indices = np.concatenate(orders)
        starts, offsets = marginal_offsets(domain.sizes), pair_offsets(domain.sizes)
        counts = np.empty(offsets[-1], dtype=np.int64)
        for pairs, a, b in pairs_by_shape(cells.capacities, domain.sizes):
            tables = _completed(cells, marginals, pairs, a, b)
            rows = stacked(indices, starts[a], domain.sizes[a[0]])
            columns = stacked(indices, starts[b], domain.sizes[b[0]])
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
    """Return a column as contiguous, aligned uint8 or uint16, or raise an error."""
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


def count_scan(
    scan: TableScan, engine: str = "auto", progress: Progress | None = None
) -> PairCounts:
    """Return the pair counts of a scan, in the order of its final domain."""

    def count(batches: Iterator[CodedBatch]) -> PairAccumulator:
        return count_batches(
            ((batch.codes, batch.sizes) for batch in batches),
            len(scan.names),
            engine=engine,
            rows_total=scan.rows_total,
        )

    counted = scan.read(count, progress)
    return counted.counts(*scan.finish())


def count_codes(codes: Sequence[NDArray[Any]], domain: Domain, engine: str = "auto") -> PairCounts:
    """Return the pair counts of whole coded columns.

    Parameters
    ----------
    codes
        One array of integers per attribute, code i for its value i; uint8 and uint16 are
        counted where they are, others are copied piece by piece.
    domain
        The attributes.
    engine
        `"numpy"`, `"numba"`, or `"auto"`: Numba where the work is worth loading it.

    Examples
    --------
    >>> from seepage import Attribute
    >>> domain = Domain([Attribute("sex", ("F", "M")), Attribute("smoker", ("no", "yes"))])
    >>> pairs = count_codes([np.array([0, 1, 1, 0]), np.array([1, 0, 1, 1])], domain)
    >>> pairs.table("sex", "smoker").tolist()
    [[0, 2], [1, 1]]
    """
    arrays = [np.asarray(column) for column in codes]
    lengths = sorted({len(column) for column in arrays})
    if len(arrays) != len(domain) or len(lengths) > 1:
        raise DomainError(
            f"there must be one equally long array for each of the {len(domain)} attributes, "
            f"got {len(arrays)} of lengths {', '.join(map(str, lengths))}"
        )
    step = max(SHORTEST_SLICE, min(SLICE, SLICE_CELLS // len(domain)))
    batches = (
        ([column[begin : begin + step] for column in arrays], domain.sizes)
        for begin in range(0, lengths[0], step)
    )
    counted = count_batches(batches, len(domain), engine=engine, rows_total=lengths[0])
    return counted.counts(domain)


def count_batches(
    batches: Iterable[Batch], columns: int, *, engine: str = "auto", rows_total: int | None = None
) -> PairAccumulator:
    """Return what all batches together count, using every core.

    Parameters
    ----------
    batches
        Iterated over in the caller's thread; an exception there, or in a thread that counts, ends
        everything and is raised as itself.
    columns
        The number of columns.
    engine
        See `count_codes`.  Where the rows are not known beforehand, `"auto"` begins with NumPy
        and changes to Numba once that would have been worth it.
    rows_total
        The number of rows, where known.
    """
    _checks.choice(engine, "engine", LOCAL_ENGINES)
    workers = _cores()
    expected = (rows_total or 0) // workers
    accumulators = [PairAccumulator(columns, expected) for _ in range(workers)]
    compiled = None if engine == "auto" else engine == "numba"
    idle: LifoQueue[PairAccumulator] = LifoQueue()
    for accumulator in accumulators:
        idle.put(accumulator)
    pending: deque[Future[None]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="seepage-count")
    try:
        for codes, sizes in batches:
            while len(pending) >= _batches_at_once(sizes, workers):
                pending.popleft().result()
            pending.append(pool.submit(_count, idle, codes, sizes, compiled))
        for future in pending:
            future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    for accumulator in accumulators[1:]:
        accumulators[0].merge(accumulator)
    return accumulators[0]


def _count(
    idle: "LifoQueue[PairAccumulator]",
    codes: Sequence[NDArray[Any]],
    sizes: Sequence[int],
    compiled: bool | None,
) -> None:
    accumulator = idle.get()
    try:
        accumulator.add(codes, sizes, compiled=compiled)
    finally:
        idle.put(accumulator)


def _batches_at_once(sizes: Sequence[int], workers: int) -> int:
    """Return how many batches may be held; few where each thread's counts take much memory."""
    cells = int(pair_offsets(sizes)[-1])
    return max(1, min(workers + AHEAD, SHARED_CELLS // max(cells, 1)))


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
