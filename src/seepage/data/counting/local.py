"""Counting on this machine: batches are decoded ahead while threads count the ones before.

The caller's thread decodes, which spends its time in PyArrow without the GIL; worker threads count,
each into its own accumulator.  At most a few batches are in memory.  Counts are integers, so
the result does not depend on which thread counted what.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import LifoQueue
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage.data.counting.accumulator import PairAccumulator
from seepage.data.counting.kernel import compiled_pays
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.errors import DomainError

if TYPE_CHECKING:
    from seepage.data.table import CodedStream

__all__ = ["ENGINES", "Batch", "Progress", "count_batches", "count_codes", "count_stream"]

ENGINES = ("auto", "numpy", "numba")

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
"""The codes of some rows, one array a column, and numbers that they are below."""

Progress: TypeAlias = Callable[[int, int | None], object]
"""Called with the rows done and, where known, the rows in all."""


def count_codes(codes: Sequence[NDArray[Any]], domain: Domain, engine: str = "auto") -> PairCounts:
    """Return the pair counts of whole coded columns.

    Parameters
    ----------
    codes
        One array of integers an attribute, code i for its value i; uint8 and uint16 are
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


def count_stream(
    stream: "CodedStream", engine: str = "auto", progress: Progress | None = None
) -> PairCounts:
    """Return the pair counts of a coded stream, in the order of its final domain."""
    from seepage.data.table import Restart

    while True:
        try:
            counted = count_batches(
                _stream_batches(stream, progress),
                len(stream.names),
                engine=engine,
                rows_total=stream.rows_total,
            )
        except Restart:
            continue
        return counted.counts(*stream.finish())


def _stream_batches(stream: "CodedStream", progress: Progress | None) -> Iterator[Batch]:
    """Yield each batch with the sizes at that time."""
    for codes in stream:
        yield codes, stream.sizes
        if progress is not None:
            progress(stream.rows_read, stream.rows_total)


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
    _checks.choice(engine, "engine", ENGINES)
    workers = _cores()
    accumulators = [PairAccumulator(columns) for _ in range(workers)]
    idle: LifoQueue[PairAccumulator] = LifoQueue()
    for accumulator in accumulators:
        idle.put(accumulator)
    pending: deque[Future[None]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="seepage-count")
    rows = 0
    try:
        for codes, sizes in batches:
            rows += len(codes[0])
            numba = engine == "numba" or (
                engine == "auto" and compiled_pays(max(rows, rows_total or 0) // workers, sizes)
            )
            while len(pending) >= _batches_at_once(sizes, workers):
                pending.popleft().result()
            pending.append(pool.submit(_count, idle, codes, sizes, numba))
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
    compiled: bool,
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
