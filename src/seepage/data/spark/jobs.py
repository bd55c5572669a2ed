"""Spark jobs over a table: one task per shard, whose results are merged on executors.

A shard is some row groups of Parquet files, which the executors' Python reads directly, or a
partition of a DataFrame, which Spark passes on by `mapInArrow`.
"""

import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from seepage.data.table.column import Column
from seepage.data.table.sources import PARQUET, ColumnarSource, Source
from seepage.errors import SeepageError, Setting, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SCHEMA = "shard bigint, content binary"
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


class Mergeable(Protocol):
    """The result of a part of a table, to which those of other parts can be added."""

    def merge(self, other: Any) -> None:
        """Add the result of another part; the order must not matter."""


TaskWork: TypeAlias = Callable[[Source, int], Mergeable]
"""The work of a task: function of its records and of the index of the first of them."""

Finish: TypeAlias = Callable[[Any], Any]
"""Function of the merged results, run on the executor that merged them."""


class Shard(NamedTuple):
    """Some row groups of Parquet files, and the index in the table of their first record."""

    files: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    first: int

    def open(self) -> Source:
        """Return the source of its records."""
        return ColumnarSource(PARQUET, [Path(file) for file in self.files], groups=self.groups)


def plan_shards(files: Sequence[Path], cores: int) -> list[Shard]:
    """Split Parquet files at row groups into shards of about equally many records."""
    counted = [_records_of_groups(file) for file in files]
    size = min(max(1, -(-sum(map(sum, counted)) // (cores * TASKS_PER_CORE))), MAX_SHARD)
    shards: list[Shard] = []
    groups: dict[int, list[int]] = {}
    first = before = 0

    def cut() -> None:
        names = tuple(str(files[number].absolute()) for number in groups)
        shards.append(Shard(names, tuple(map(tuple, groups.values())), first))

    for number, sizes in enumerate(counted):
        for group, records in enumerate(sizes):
            if before > first and before - first + records / 2 > size:
                cut()
                groups, first = {}, before
            groups.setdefault(number, []).append(group)
            before += records
    if groups:
        cut()
    return shards


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

    def __init__(self, received: Iterator[pa.RecordBatch], names: Sequence[str]) -> None:
        self._received = received
        self.names = tuple(names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return all batches, joined into blocks of at least `BLOCK_ROWS` rows."""
        buffer: list[pa.RecordBatch] = []
        rows = 0
        for batch in self._received:
            buffer.append(batch)
            rows += batch.num_rows
            if rows >= BLOCK_ROWS:
                yield self._joined(buffer, columns)
                buffer, rows = [], 0
        if rows:
            yield self._joined(buffer, columns)

    def _joined(self, buffer: list[pa.RecordBatch], columns: Sequence[str]) -> pa.RecordBatch:
        (whole,) = pa.Table.from_batches(buffer).combine_chunks().to_batches()
        return pa.RecordBatch.from_pydict(
            {name: whole.column(column_id(self.names.index(name))) for name in columns}
        )


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
        indices = [self.names.index(column.source) for column in columns]
        selected = self.frame.select(*map(column_id, indices))
        return _mapped(selected, _partition_task(work, self.names))


def _mapped(frame: "DataFrame", task: Callable[..., Any]) -> "DataFrame":
    with without_pandas_warning():
        return frame.mapInArrow(task, SCHEMA)


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Suppress PySpark's warning about the version of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def _shard_task(work: TaskWork, shards: Sequence[Shard]) -> Callable[..., Any]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield task_row(number, partial(_read_and_work, work, shards[number]))

    return task


def _read_and_work(work: TaskWork, shard: Shard) -> Mergeable:
    return work(shard.open(), shard.first)


def _partition_task(work: TaskWork, names: Sequence[str]) -> Callable[..., Any]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        source = PartitionSource(batches, names)
        yield task_row(number, lambda: _naming_partition(work, source, number))

    return task


def _naming_partition(work: TaskWork, source: Source, number: int) -> Mergeable:
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
    groups = _groups(table)
    if groups > 1:
        results = _mapped(results.repartition(groups, "shard"), _merge_task(None))
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


def _groups(table: Input) -> int:
    """Return the number of groups in which results are merged first; 0 for none."""
    if table.frame is not None:
        return min(int(table.session.conf.get(SHUFFLE_PARTITIONS) or 1), MAX_GROUPS)
    shards = len(table.shards)
    return round(shards**0.5) if shards >= TREE_FROM else 0


def _merge_task(finish: Finish | None) -> Callable[..., Any]:
    """Return the task that merges results one by one, with at most two in memory."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that PySpark raises: its own, and those of Java."""
    from pyspark.errors import PySparkException

    return PySparkException, import_module("py4j.protocol").Py4JError


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn exceptions of Spark into a TableError with a message of one line."""
    from pyspark.errors import PythonException

    try:
        yield
    except spark_errors() as problem:
        python = isinstance(problem, PythonException)
        raise TableError(_one_line(str(problem), python=python)) from None
    except (ConnectionError, EOFError):
        raise TableError(
            "Spark's Java virtual machine died while counting; give it more memory "
            "(spark.driver.memory)"
        ) from None


def _one_line(message: str, *, python: bool) -> str:
    """Return the line of Spark's error message that states the cause.

    Parameters
    ----------
    message
        The error message.
    python
        Whether Python raised it, on an executor: then the table need not be the cause.
    """
    report = message.partition("JVM stacktrace:")[0]
    lines = [line.strip() for line in report.splitlines() if line.strip()]
    if any("No module named 'seepage'" in line for line in lines):
        return (
            "Spark's executors have no seepage; install it there, or name the Python that has it "
            "(PYSPARK_PYTHON)"
        )
    reading = [line for line in lines if "Encountered error while reading file" in line]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception)(: |$)", line)]
    shown = (reading or raised[-1:] or lines or ["no reason given"])[0][:300]
    if reading or not (python or "ExecutorLostFailure" in message):
        return f"Spark cannot read the table: {shown}"
    return f"Spark's executors failed: {shown}"
