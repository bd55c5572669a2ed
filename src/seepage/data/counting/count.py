"""Counting the pairs of a table: on this machine, or on Spark's executors.

Batches are decoded ahead while threads count the ones before.
The caller's thread decodes, which spends its time in PyArrow without the GIL; worker threads count,
each into its own accumulator.  At most a few batches are in memory.  Counts are integers, so
the result does not depend on which thread counted what.
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
from seepage._results import Progress
from seepage.data.counting.accumulator import PairAccumulator
from seepage.data.counting.kernel import compiled_pays
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.data.table.options import TableOptions
from seepage.data.table.scan import CodedBatch, TableScan, open_scan
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


def count_pairs(
    data: Any,
    *,
    engine: str = "auto",
    progress: Progress | None = None,
    **table_options: Any,
) -> PairCounts:
    """Return how often each two values of each two attributes occur together.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or Feather file, of
        a folder of such files, a glob, or a list of paths; or a Spark DataFrame; or the name of a
        dataset, a file of pair counts, `PairCounts` or `Records`, which are counted already and
        obey the options `columns`, `drop`, `rename` and `pool` only.
    engine
        `"numpy"`, `"numba"`, or `"auto"`: Numba where the work is worth loading it; `"spark"`:
        the executors of the active Spark session read the Parquet files.  All count the same.
    progress
        Called with the records read so far and the records in all, None where not known; not with
        Spark, which shows its own progress.
    table_options
        The options of `seepage.data.table.TableOptions`, with these most used:

        bins
            How numbers with many values are binned: `10` or `"quantile:10"`, `"width:8"`,
            ascending edges, `"none"`, or a mapping by column with `"*"` for all others.
        columns, drop, rename
            The columns to use, not to use, and their new names.
        missing
            `"category"`: missing values are a value of their own; `"drop"`: such records are left
            out.
        pool
            Values that fewer records have (`100`, or a share such as `0.001`) become "(other)".
        person
            The column that says whose record it is: the first record of each person is kept.
        max_values
            A column with more values raises an error.
        domain
            Count in this domain, so that shards can be merged by `+`; values outside raise an
            error.
        few, missing_markers
            Up to how many values numbers are categories; texts that mean missing.
        delimiter, column_names, skip_lines, encoding
            The format of text files.

    Notes
    -----
    The records are streamed: memory does not grow with their number.  On two cores, 10 million
    records of 40 binary attributes in memory take about as long as copying them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["F", "M", "M", "F"], "smoker": [True, False, True, True]})
    >>> pairs = count_pairs(people)
    >>> pairs.table("sex", "smoker").tolist()
    [[0, 2], [1, 1]]
    """
    from seepage.data.inputs import as_pairs

    _checks.choice(engine, "engine", ENGINES)
    counting = {"engine": engine} if engine != "auto" else {}
    return as_pairs(data, **counting, progress=progress, **table_options)


def count_table(
    data: Any,
    options: TableOptions,
    engine: str = "auto",
    progress: Progress | None = None,
) -> PairCounts:
    """Return the pair counts of a frame or of files; see `count_pairs`."""
    _checks.choice(engine, "engine", ENGINES)
    if engine == SPARK or is_spark_frame(data):
        from seepage.data.spark.engine import count_with_spark

        counted = count_with_spark(data, options)
    else:
        counted = count_scan(open_scan(data, options), engine, progress)
    if options.pool is None:
        return counted
    from seepage.data.pooling import pool_pairs

    return pool_pairs(counted, options.pool)


def is_spark_frame(data: Any) -> bool:
    """Say whether something is a Spark DataFrame, classic or of Spark Connect.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_spark_frame(pa.table({"a": [1, 2]}))
    False
    """
    kinds = [(kind.__module__, kind.__name__) for kind in type(data).__mro__]
    return ("pyspark.sql.dataframe", "DataFrame") in kinds


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
