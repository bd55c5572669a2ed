"""Spark jobs over the shards of a table: one task per shard, whose results are merged."""

import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa

from seepage.data.spark.shards import (
    Escaped,
    LaneLayout,
    PartitionSource,
    RowGroupSource,
    Shard,
    pack_frame,
    plan_lanes,
)
from seepage.data.table.sources import Source
from seepage.errors import SeepageError, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SCHEMA = "shard bigint, content binary"
MAX_BYTES = 2**29
"""Maximum size of one value passed between tasks; at twice this a Java virtual machine hung."""

METHOD_LIMIT = "spark.sql.codegen.hugeMethodLimit"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

PARTITION_STRIDE = 2**40
"""Records of a DataFrame have no order: those of partition p are indexed from p 2^40 on."""

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
    frame, layout
        The DataFrame, and the packing of its columns into words.
    """

    session: "SparkSession"
    names: tuple[str, ...]
    shards: tuple[Shard, ...] = ()
    rows: int | None = None
    rows_per_core: int = 0
    frame: "DataFrame | None" = None
    layout: LaneLayout | None = None

    def unpack(self, columns: Sequence[str]) -> None:
        """Exclude further columns of the DataFrame from packing."""
        assert self.frame is not None
        assert self.layout is not None
        plain = [name for name, lane in self.layout.items() if isinstance(lane, str)]
        self.layout = plan_lanes(self.frame, list(self.layout), [*plain, *columns])

    def map(self, work: TaskWork) -> "DataFrame":
        """Return a DataFrame with one row per task: the shard's number and its pickled result."""
        if self.frame is not None and self.layout is not None:
            task = _partition_task(work, self.names, self.layout)
            return _mapped(pack_frame(self.frame, self.layout), task)
        count = len(self.shards)
        numbers = self.session.range(0, count, 1, count)
        return _mapped(numbers, _shard_task(work, self.shards, self.names))


def _mapped(frame: "DataFrame", task: Callable[..., Any]) -> "DataFrame":
    with without_pandas_warning():
        return frame.mapInArrow(task, SCHEMA)


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Suppress PySpark's warning about the version of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def _shard_task(
    work: TaskWork, shards: Sequence[Shard], names: Sequence[str]
) -> Callable[..., Any]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield task_row(number, partial(_read_and_work, work, shards[number], names))

    return task


def _read_and_work(work: TaskWork, shard: Shard, names: Sequence[str]) -> Any:
    return work(RowGroupSource(shard, names), shard.first)


def _partition_task(work: TaskWork, names: Sequence[str], layout: LaneLayout) -> Callable[..., Any]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        source = PartitionSource(batches, names, layout)
        yield task_row(number, lambda: _naming_partition(work, source, number))

    return task


def _naming_partition(work: TaskWork, source: PartitionSource, number: int) -> Mergeable:
    """Run the work; errors name the partition, since records of a DataFrame have no order."""
    try:
        return work(source, number * PARTITION_STRIDE)
    except SeepageError as problem:
        text = re.sub(r"^record [0-9,]+:", f"a record of partition {number}:", str(problem))
        raise type(problem)(text) from None


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
                "bins, take a sample (sample=...), or count without Spark"
            )
    except (SeepageError, Escaped) as problem:
        content = pickle.dumps(problem)
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int64()), pa.array([content], pa.binary())],
        names=["shard", "content"],
    )


def run(table: Input, work: TaskWork, finish: Finish | None = None) -> Any:
    """Return the merged and finished results of all tasks; raise the error of a task.

    Parameters
    ----------
    table
        The table.
    work
        The work of each task on its shard.
    finish
        Applied to the merged results on one executor; only its result is sent to the driver.
    """
    result = _run_once(table, work, finish)
    while isinstance(result, Escaped):
        table.unpack(result.columns)
        result = _run_once(table, work, finish)
    if isinstance(result, Exception):
        raise result
    return result


def _run_once(table: Input, work: TaskWork, finish: Finish | None) -> Any:
    """Return the result of one job, or the exception of a task."""
    results = table.map(work)
    groups = _groups(table)
    if groups > 1:
        results = _mapped(results.repartition(groups, "shard"), _merge_task(None))
    results = _mapped(results.repartition(1), _merge_task(finish))
    with _small_methods(table.session), translated_errors():
        rows = results.collect()
        if not rows:
            # A JVM that died in between also gives no rows; then this raises.
            table.session.range(1).count()
    if not rows:
        raise TableError("the table has no records")
    return pickle.loads(bytes(rows[0]["content"]))


def _groups(table: Input) -> int:
    """Return the number of groups in which results are merged first; 0 for none."""
    if table.frame is not None:
        return min(int(table.session.conf.get(SHUFFLE_PARTITIONS) or 1), MAX_GROUPS)
    shards = len(table.shards)
    return round(shards**0.5) if shards >= TREE_FROM else 0


@contextmanager
def _small_methods(session: "SparkSession") -> Iterator[None]:
    """Keep Spark from fusing the packing of many columns into one method above 8,000 bytes.

    The JVM does not compile such methods and interprets them, fifty times slower.
    """
    before = session.conf.get(METHOD_LIMIT, None)
    session.conf.set(METHOD_LIMIT, "8000")
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(METHOD_LIMIT)
        else:
            session.conf.set(METHOD_LIMIT, before)


def _merge_task(finish: Finish | None) -> Callable[..., Any]:
    """Return the task that merges results one by one, with at most two in memory."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        errors: dict[int, Exception] = {}
        merged: list[int] = []

        def merge_all() -> Any:
            total: Any = None
            for batch in batches:
                for number, content in zip(*batch.columns, strict=True):
                    merged.append(number.as_py())
                    result = pickle.loads(content.as_py())
                    if isinstance(result, Exception):
                        errors[merged[-1]] = result
                    elif total is None:
                        total = result
                    else:
                        total.merge(result)
            return total if finish is None or errors or total is None else finish(total)

        row = task_row(0, merge_all)
        if errors:
            row = task_row(min(errors), lambda: _error_to_raise(errors))
        if merged:
            yield row

    return task


def _error_to_raise(errors: dict[int, Exception]) -> Exception:
    """Return the first error by shard number; if all are `Escaped`, one with all columns."""
    escaped: dict[str, None] = {}
    for _, problem in sorted(errors.items()):
        if not isinstance(problem, Escaped):
            return problem
        escaped |= dict.fromkeys(problem.columns)
    return Escaped(list(escaped))


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
