"""Spark jobs over a table: one task per shard, whose results are merged on executors.

A shard is some row groups of Parquet files, which the executors' Python reads directly, or a
partition of a DataFrame, which Spark passes on by `mapInArrow`.
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

from seepage.data.spark import spark_session, translated_errors, without_pandas_warning
from seepage.data.table.column import Column
from seepage.data.table.options import SPARK, is_spark_frame
from seepage.data.table.sources import PARQUET, ColumnarSource, Source, find_files
from seepage.errors import SeepageError, Setting, TableError, Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


BY_SPARK = Setting("engine", SPARK)

MAX_BYTES = 2**29
"""Maximum size of one value passed between tasks; at twice this a Java virtual machine hung."""

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

PARTITION_STRIDE = 2**40
"""Records of a DataFrame have no order: those of partition p are indexed from p 2^40 on."""

BLOCK_ROWS = 2**17
"""Rows of a DataFrame that are coded and counted at once; Spark's own batches are smaller."""

MAX_SHARD = 2**26
"""Maximum number of records of a task, unless one row group has more: ten seconds of one core."""

TASKS_PER_CORE = 3
"""Tasks per core, to balance the load."""

TREE_FROM = 64
"""Minimum number of shards whose results are merged in groups first."""

MAX_GROUPS = 16
"""Maximum number of groups for a DataFrame, whose number of partitions is unknown."""

TaskWork: TypeAlias = Callable[[Source, int], Any]
"""The work of a task: function of its records and of the index of the first of them.

Its result has a method `merge`, which adds the result of another shard; the order must not matter.
"""

Finish: TypeAlias = Callable[[Any], Any]
"""Function of the merged results, run on the executor that merged them."""

Batches: TypeAlias = Iterator[pa.RecordBatch]
Task: TypeAlias = Callable[[Batches], Batches]


class Shard(NamedTuple):
    """Some row groups of Parquet files, and the index in the table of their first record."""

    files: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    first: int

    def run(self, work: TaskWork) -> Any:
        """Return the result of the work."""
        files = [Path(file) for file in self.files]
        return work(ColumnarSource(PARQUET, files, groups=self.groups), self.first)


def plan_shards(files: Sequence[Path], cores: int) -> list[Shard]:
    """Split Parquet files at row groups into shards of about equally many records."""
    counted = [_records_of_groups(file) for file in files]
    size = min(max(1, -(-sum(map(sum, counted)) // (cores * TASKS_PER_CORE))), MAX_SHARD)
    cuts: list[tuple[int, dict[int, list[int]]]] = []
    before = 0
    for number, sizes in enumerate(counted):
        for group, records in enumerate(sizes):
            held = before - cuts[-1][0] if cuts else 0
            if not cuts or (held and held + records / 2 > size):
                cuts.append((before, {}))
            cuts[-1][1].setdefault(number, []).append(group)
            before += records
    names = [str(file.absolute()) for file in files]
    return [
        Shard(tuple(names[n] for n in groups), tuple(map(tuple, groups.values())), first)
        for first, groups in cuts
    ]


def _records_of_groups(file: Path) -> list[int]:
    with ParquetFile(file) as parquet:
        metadata = parquet.metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


class PartitionSource:
    """The records of one partition of a DataFrame, which can be read once only.

    Parameters
    ----------
    received
        Spark's batches, whose columns are named by `column_id`.
    names
        All columns of the DataFrame.
    """

    fields = False
    rows_total: int | None = None

    def __init__(self, received: Batches, names: Sequence[str]) -> None:
        self._received = received
        self.names = tuple(names)

    def batches(self, columns: Sequence[str]) -> Batches:
        """Return all batches, joined into blocks of at least `BLOCK_ROWS` rows."""
        buffer: list[pa.RecordBatch] = []
        for batch in self._received:
            buffer.append(batch)
            if sum(map(len, buffer)) >= BLOCK_ROWS:
                yield from self._joined(buffer, columns)
                buffer = []
        if buffer:
            yield from self._joined(buffer, columns)

    def _joined(self, buffer: list[pa.RecordBatch], columns: Sequence[str]) -> list[pa.RecordBatch]:
        table = pa.Table.from_batches(buffer).combine_chunks()
        ids = [column_id(self.names.index(name)) for name in columns]
        batches: list[pa.RecordBatch] = table.select(ids).rename_columns(columns).to_batches()
        return batches


def column_id(index: int) -> str:
    """Return the name of a column in `Input.frame`: Spark does not distinguish `A` from `a`."""
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
    rows, rows_per_core
        Number of records, None if unknown; and number that each core counts, 0 if unknown.
    frame
        The DataFrame, with columns named by `column_id`; None for files.
    """

    session: "SparkSession"
    names: tuple[str, ...]
    shards: Sequence[Shard] = ()
    rows: int | None = None
    rows_per_core: int = 0
    frame: "DataFrame | None" = None

    def map(self, work: TaskWork, columns: Sequence[Column]) -> "DataFrame":
        """Return a DataFrame with one row per task: the shard's number and its pickled result."""
        if self.frame is None:
            count = len(self.shards)
            return _mapped(self.session.range(0, count, 1, count), _shard_task(work, self.shards))
        ids = [column_id(self.names.index(column.name)) for column in columns]
        return _mapped(self.frame.select(*ids), _partition_task(work, self.names))

    @property
    def groups(self) -> int:
        """Number of groups in which results are merged first; 0 or 1 for none."""
        if self.frame is not None:
            return min(int(self.session.conf.get(SHUFFLE_PARTITIONS) or 1), MAX_GROUPS)
        return round(len(self.shards) ** 0.5) if len(self.shards) >= TREE_FROM else 0


def open_input(data: Any) -> Input:
    """Return the input of Spark's jobs.

    A DataFrame is never replaced by the files that it reads: no public interface of Spark tells
    whether it also filters or changes their records.
    """
    if is_spark_frame(data):
        with translated_errors():
            names = tuple(data.columns)
            frame = data.toDF(*map(column_id, range(len(names))))
        return Input(data.sparkSession, names, frame=frame)
    files = _parquet_files(data)
    source = ColumnarSource(PARQUET, files)
    rows = source.rows_total
    if not rows:
        raise TableError("the table has no records")
    session = spark_session()
    cores = _cores(session)
    return Input(session, source.names, plan_shards(files, cores), rows, rows // cores)


def _parquet_files(data: Any) -> Sequence[Path]:
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        of_spark = type(data).__module__.startswith("pyspark.")
        raise TableError(
            f"data must be a Spark DataFrame or Parquet files, got {type(data).__name__}",
            "" if of_spark else Text("; count it without ", BY_SPARK),
            parameter="data",
        )
    kind, files = find_files(data)
    if kind != PARQUET:
        raise TableError(
            "data must be Parquet files for ",
            BY_SPARK,
            f", got {kind} ({files[0].name}); read it with spark.read and count the DataFrame, or "
            "count it without ",
            BY_SPARK,
            parameter="data",
        )
    return files


def _cores(session: "SparkSession") -> int:
    """Return the number of tasks that run in parallel."""
    context = getattr(session, "sparkContext", None)
    if context is not None:
        return int(context.defaultParallelism)
    # Spark Connect does not tell its parallelism, but partitions a range by it.
    return session.range(2**16).selectExpr("spark_partition_id()").distinct().count()


def _mapped(frame: "DataFrame", task: Task) -> "DataFrame":
    with without_pandas_warning():
        return frame.mapInArrow(task, "shard bigint, content binary")


def _shard_task(work: TaskWork, shards: Sequence[Shard]) -> Task:
    def task(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield task_row(number, partial(shards[number].run, work))

    return task


def _partition_task(work: TaskWork, names: Sequence[str]) -> Task:
    def task(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        source = PartitionSource(batches, names)
        yield task_row(number, lambda: _naming_partition(work, source, number))

    return task


def _naming_partition(work: TaskWork, source: Source, number: int) -> Any:
    """Run the work; errors name the partition, since records of a DataFrame have no order."""
    try:
        return work(source, number * PARTITION_STRIDE)
    except SeepageError as problem:
        record, colon, rest = str(problem).partition(":")
        if not record.startswith("record "):
            raise
        raise type(problem)(f"a record of partition {number}{colon}{rest}") from None


class Failed(NamedTuple):
    """The result of a shard whose work raised an error of the input."""

    shard: int
    problem: SeepageError


def task_row(number: int, work: Callable[[], Any]) -> pa.RecordBatch:
    """Return one row with a shard's number and the pickled result of its work.

    An error of the input is a result too: raising it would only make Spark retry the task.
    """
    try:
        content = pickle.dumps(work())
        if len(content) > MAX_BYTES:
            raise TableError(
                f"{len(content) / 1e9:.3g} GB of counts or records are more than the "
                f"{MAX_BYTES / 1e9:.2g} GB that Spark can pass on; choose fewer columns or coarser "
                "bins, take a sample (",
                Setting("sample"),
                "), or count without Spark",
            )
    except SeepageError as problem:
        content = pickle.dumps(Failed(number, problem))
    return pa.RecordBatch.from_pydict({"shard": [number], "content": [content]})


def run(
    table: Input, columns: Sequence[Column], work: TaskWork, finish: Finish | None = None
) -> Any:
    """Return the merged and finished results of all tasks; raise the error of a task.

    Parameters
    ----------
    table
        The table.
    columns
        The columns that the work reads.
    work
        The work of each task on its shard.
    finish
        Applied to the merged results on one executor; only its result is sent to the driver.
    """
    results = table.map(work, columns)
    if table.groups > 1:
        results = _mapped(results.repartition(table.groups, "shard"), _merge_task(None))
    results = _mapped(results.repartition(1), _merge_task(finish))
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


def _merge_task(finish: Finish | None) -> Task:
    """Return the task that merges results one by one, with at most two in memory."""

    def task(batches: Batches) -> Batches:
        results = (pickle.loads(part.as_py()) for batch in batches for part in batch["content"])
        first = next(results, None)
        if first is not None:
            yield task_row(0, lambda: _merged(first, results, finish))

    return task


def _merged(total: Any, results: Iterator[Any], finish: Finish | None) -> Any:
    """Return all results merged and finished; if some failed, the first of these by its shard."""
    for result in results:
        failed = [part for part in (total, result) if isinstance(part, Failed)]
        if failed:
            total = min(failed, key=lambda part: part.shard)
        else:
            total.merge(result)
    return total if finish is None or isinstance(total, Failed) else finish(total)
