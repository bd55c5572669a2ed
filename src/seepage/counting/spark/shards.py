"""Counting with Spark: the same kernel on the executors, the same integer counts.

Here are sessions, errors and jobs over a table: one task per shard, whose results are
merged on executors.  A shard is some row groups of Parquet files, which the executors'
Python reads directly, or a partition of a DataFrame, which Spark passes on by
`mapInArrow`.  `engine` counts.
"""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from seepage._core.errors import SeepageError, Setting, TableError
from seepage.counting.spark.session import (
    spark_session,
    translated_errors,
    without_pandas_warning,
)
from seepage.tables.column import PARTITION_STRIDE
from seepage.tables.sources import PARQUET, Source, columnar_source, find_files
from seepage.tables.table_options import SPARK, is_spark_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MAX_BYTES = 2**29
"""Maximum size of one value passed between tasks; at twice this a Java virtual machine
hung."""


SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
"""Spark's setting of the number of tasks after a shuffle."""


BLOCK_ROWS = 2**17
"""Rows of a DataFrame that are coded and counted at once; Spark's own batches are
smaller."""


MAX_SHARD = 2**26
"""Maximum number of records of a task, unless row groups have more: ten seconds of one
core."""


TASKS_PER_CORE = 3
"""Tasks per core, to balance the load."""


TREE_FROM = 64
"""Minimum number of shards whose results are merged in groups first."""


MAX_GROUPS = 16
"""Maximum number of groups for a DataFrame, whose number of partitions is unknown."""


TaskWork: TypeAlias = Callable[[Source, int], Any]
"""The work of a task: function of its records and of the index of the first of them.

Its result has a method `merge`, which adds the result of another shard; the order must
not matter.
"""


Batches: TypeAlias = Iterator[pa.RecordBatch]


class Shard(NamedTuple):
    """Row groups of Parquet files by path, and the index in the table of their first
    record.
    """

    groups: dict[str, list[int]]
    first: int

    def run(self, work: TaskWork) -> Any:
        """Return the result of a task's work on a shard."""
        files = [Path(file) for file in self.groups]
        return work(
            columnar_source(PARQUET, files, list(self.groups.values())), self.first
        )


def plan_shards(files: Sequence[Path], cores: int) -> list[Shard]:
    """Split Parquet files at row groups into shards of about equally many records."""
    sizes = list[tuple[str, int, int]]()
    for file in files:
        with ParquetFile(file) as parquet:
            groups = [
                parquet.metadata.row_group(i) for i in range(parquet.num_row_groups)
            ]
        sizes += [
            (str(file.absolute()), i, group.num_rows) for i, group in enumerate(groups)
        ]
    total = sum(rows for _, _, rows in sizes)
    count = max(cores * TASKS_PER_CORE, -(-total // MAX_SHARD))
    shards = dict[int, Shard]()
    before = 0
    for path, group, rows in sizes:
        if rows:
            shard = shards.setdefault(before * count // total, Shard({}, before))
            shard.groups.setdefault(path, []).append(group)
            before += rows
    return list(shards.values())


def _blocks(received: Batches, names: Sequence[str], columns: Sequence[str]) -> Batches:
    """Yield the columns of a shard's batches, joined into blocks of at least
    `BLOCK_ROWS` rows.
    """
    ids = [column_id(names.index(name)) for name in columns]
    buffer = list[pa.RecordBatch]()
    rows = 0
    for batch in received:
        buffer.append(batch.select(ids).rename_columns(list(columns)))
        rows += batch.num_rows
        if rows >= BLOCK_ROWS:
            yield from pa.Table.from_batches(buffer).combine_chunks().to_batches()
            buffer = []
            rows = 0
    if buffer:
        yield from pa.Table.from_batches(buffer).combine_chunks().to_batches()


def column_id(index: int) -> str:
    """Return the name of a column in `Input.frame`, for shards: Spark does not
    distinguish `A` from `a`.
    """
    return f"c{index}"


@dataclass
class Input:
    """The input of Spark's jobs: Parquet files that executors read, or a DataFrame.

    Parameters
    ----------
    session
        The Spark session.
    names
        The column names.
    shards
        The shards of the files; empty for a DataFrame.
    frame
        The DataFrame, with columns named by `column_id`; None for files.
    rows_per_core
        Number of records that each core counts, 0 if unknown.
    """

    session: "SparkSession"
    names: tuple[str, ...]
    shards: Sequence[Shard] = ()
    frame: "DataFrame | None" = None
    rows_per_core: int = 0

    def map(self, work: TaskWork, columns: Sequence[str]) -> "DataFrame":
        """Return a DataFrame with one row per shard: its number and its pickled
        result.
        """
        if self.frame is None:
            numbers = self.session.range(0, len(self.shards), 1, len(self.shards))
            return _mapped(numbers, partial(_shard_task, work, self.shards))
        ids = [column_id(self.names.index(name)) for name in columns]
        return _mapped(
            self.frame.select(*ids), partial(_partition_task, work, self.names)
        )

    @property
    def groups(self) -> int:
        """Number of groups in which the results of shards are merged first; 0 or 1 for
        none.
        """
        if self.frame is not None:
            return min(int(self.session.conf.get(SHUFFLE_PARTITIONS) or 1), MAX_GROUPS)
        return round(len(self.shards) ** 0.5) if len(self.shards) >= TREE_FROM else 0


def open_input(data: Any) -> Input:
    """Return the input of Spark's jobs: shards of files, or a DataFrame, sharded by
    partition.

    A DataFrame is never replaced by the files that it reads: no public interface of
    Spark tells whether it also filters or changes their records.
    """
    if is_spark_frame(data):
        with translated_errors():
            names = tuple(data.columns)
            frame = data.toDF(*map(column_id, range(len(names))))
        return Input(data.sparkSession, names, frame=frame)
    files = _parquet_files(data)
    source = columnar_source(PARQUET, files)
    if not source.rows_total:
        raise TableError("the table has no records")
    session = spark_session()
    cores = _cores(session)
    shards = plan_shards(files, cores)
    return Input(
        session, source.names, shards, rows_per_core=source.rows_total // cores
    )


def _parquet_files(data: Any) -> Sequence[Path]:
    """Return the Parquet files that executors read as shards; other data raise."""
    kind = type(data).__name__
    files: Sequence[Path] = ()
    if isinstance(data, (str, os.PathLike, list, tuple)):
        kind, files = find_files(data)
    if kind != PARQUET:
        raise TableError(
            "data must be a Spark DataFrame or Parquet files for ",
            Setting("engine", SPARK),
            f", got {kind}; read it with spark.read, or count it without Spark",
            parameter="data",
        )
    return files


def _cores(session: "SparkSession") -> int:
    """Return the number of shards that are worked on in parallel."""
    context = getattr(session, "sparkContext", None)
    if context is not None:
        return int(context.defaultParallelism)
    # Spark Connect does not tell its parallelism, but partitions a range by it.
    return session.range(2**16).selectExpr("spark_partition_id()").distinct().count()


def _mapped(frame: "DataFrame", task: Callable[[Batches], Batches]) -> "DataFrame":
    """Return a DataFrame of the results of a task on each partition, a shard."""
    with without_pandas_warning():
        return frame.mapInArrow(task, "shard bigint, content binary")


def _shard_task(work: TaskWork, shards: Sequence[Shard], batches: Batches) -> Batches:
    """Yield the results of a task's work on shards of files."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield task_row(number, partial(shards[number].run, work))


def _partition_task(work: TaskWork, names: Sequence[str], batches: Batches) -> Batches:
    """Yield the result of a task's work on a partition as one shard."""
    from pyspark import TaskContext

    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    source = Source(tuple(names), partial(_blocks, batches, names))
    yield task_row(number, partial(work, source, (number + 1) * PARTITION_STRIDE))


class Failed(NamedTuple):
    """The result of a shard whose work raised an error of the input."""

    shard: int
    problem: SeepageError


def task_row(number: int, work: Callable[[], Any]) -> pa.RecordBatch:
    """Return one row with a shard's number and the pickled result of its work.

    An error of the input is a result too: raising it would only make Spark retry the
    task.
    """
    try:
        content = pickle.dumps(work())
        if len(content) > MAX_BYTES:
            raise TableError(
                f"{len(content) / 1e9:.3g} GB of counts or records are more than the "
                f"{MAX_BYTES / 1e9:.2g} GB that Spark can pass on; choose fewer "
                "columns or coarser bins, take a sample (",
                Setting("sample"),
                "), or count without Spark",
            )
    except SeepageError as problem:
        content = pickle.dumps(Failed(number, problem))
    return pa.RecordBatch.from_pydict({"shard": [number], "content": [content]})


def run(table: Input, columns: Sequence[str], work: TaskWork) -> Any:
    """Return the merged results of the tasks of all shards; raise the error of a task.

    Parameters
    ----------
    table
        The table.
    columns
        The columns that the work reads.
    work
        The work of each task on its shard.
    """
    results = table.map(work, columns)
    if table.groups > 1:
        results = _mapped(results.repartition(table.groups, "shard"), merge_results)
    results = _mapped(results.repartition(1), merge_results)
    with translated_errors():
        rows = results.collect()
        if not rows:
            # A JVM that died in between also gives no rows; then this raises.
            table.session.range(1).count()
    if not rows:
        raise TableError("the table has no records")
    result = pickle.loads(bytes(rows[0]["content"]))
    if isinstance(result, Failed):
        raise result.problem
    return result


def merge_results(batches: Batches) -> Batches:
    """Yield one row with the results of all shards merged one by one, with at most two
    in memory.
    """
    results = (
        pickle.loads(part.as_py()) for batch in batches for part in batch["content"]
    )
    first = next(results, None)
    if first is not None:
        yield task_row(0, partial(_merged, first, results))


def _merged(total: Any, results: Iterator[Any]) -> Any:
    """Return the results of all shards merged; if some failed, the first of these by
    its shard.
    """
    for result in results:
        failed = [part for part in (total, result) if isinstance(part, Failed)]
        if failed:
            total = min(failed, key=lambda part: part.shard)
        else:
            total.merge(result)
    return total
