"""Jobs of Spark over the shards of a table: each task does one shard, and only counts come back."""

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
    pack,
    plan_lanes,
)
from seepage.data.table.sources import Source
from seepage.errors import SeepageError, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SCHEMA = "shard bigint, content binary"
MAX_BYTES = 2**29
"""The most that is handed over in one value; at twice as much a Java virtual machine hung."""

METHOD_LIMIT = "spark.sql.codegen.hugeMethodLimit"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

PARTITION = 2**40
"""Records of a DataFrame have no numbers: those of partition p count from p 2^40 on."""

TREE_FROM = 64
"""From this many shards on, what they made is put together in groups first."""

MAX_GROUPS = 16
"""Groups of a DataFrame's partitions, whose number only running it would tell."""


class Mergeable(Protocol):
    """Something made of a part of a table, to which the same of other parts can be added."""

    def merge(self, other: Any) -> None:
        """Add what was made of another part; the order must not matter."""


TaskWork: TypeAlias = Callable[[Source, int], Mergeable]
"""What a task does with its records, and the number of records of the table before them."""

Finish: TypeAlias = Callable[[Any], Any]
"""What becomes of all that the tasks made, on the executor that put it together."""


@dataclass
class Input:
    """A table as Spark sees it: Parquet files that executors read, or a DataFrame.

    Parameters
    ----------
    session
        The Spark session.
    names
        The columns.
    shards
        The shards of the files; empty for a DataFrame.
    rows, rows_a_core
        The number of records, None where only reading tells; and of those that each core counts,
        0 where they are not known.
    frame, layout
        The DataFrame, and how its columns are packed: less, once numbers do not fit.
    """

    session: "SparkSession"
    names: tuple[str, ...]
    shards: tuple[Shard, ...] = ()
    rows: int | None = None
    rows_a_core: int = 0
    frame: "DataFrame | None" = None
    layout: LaneLayout | None = None

    def unpack(self, columns: Sequence[str]) -> None:
        """Send these columns of the DataFrame unpacked, beside those that are so already."""
        assert self.frame is not None
        assert self.layout is not None
        plain = [*self.layout.plain, *columns]
        self.layout = plan_lanes(self.frame, self.layout.names, plain)

    def map(self, work: TaskWork) -> "DataFrame":
        """Return what each task made of its shard: its number and the pickled outcome."""
        if self.frame is not None and self.layout is not None:
            return _mapped(
                pack(self.frame, self.layout),
                _partition_task(work, self.names, self.layout),
                SCHEMA,
            )
        count = len(self.shards)
        numbers = self.session.range(0, count, 1, count)
        return _mapped(numbers, _shard_task(work, self.shards, self.names), SCHEMA)


def _mapped(frame: "DataFrame", task: Callable[..., Any], schema: str) -> "DataFrame":
    with pandas_accepted():
        return frame.mapInArrow(task, schema)


@contextmanager
def pandas_accepted() -> Iterator[None]:
    """Keep PySpark from a word about the version of pandas, which is not used here."""
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
    """Work, and let an error name the partition: records of a DataFrame have no numbers."""
    try:
        return work(source, number * PARTITION)
    except SeepageError as problem:
        text = re.sub(r"^record [0-9,]+:", f"a record of partition {number}:", str(problem))
        raise type(problem)(text) from None


def task_row(number: int, work: Callable[[], Any]) -> pa.RecordBatch:
    """Return one row with a shard's number and the pickled outcome of its work.

    What is wrong with the table is an outcome too: it would be wrong again, so Spark need not try.
    """
    try:
        content = pickle.dumps(work())
        if len(content) > MAX_BYTES:
            raise TableError(
                f"{len(content) / 1e9:.3g} GB of counts or records are more than the "
                f"{MAX_BYTES / 1e9:.2g} GB that Spark hands over; choose fewer columns or coarser "
                "bins, take a sample (sample=...), or count without Spark"
            )
    except (SeepageError, Escaped) as problem:
        content = pickle.dumps(problem)
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int64()), pa.array([content], pa.binary())],
        names=["shard", "content"],
    )


def run(table: Input, work: TaskWork, finish: Finish | None = None) -> Any:
    """Return what the tasks made, put together and finished; raise the error of a task.

    Parameters
    ----------
    table
        The table.
    work
        What each task does with its shard.
    finish
        What becomes of the whole, on one executor: its result is all that the driver gets.
    """
    outcome = _outcome(table, work, finish)
    while isinstance(outcome, Escaped):
        table.unpack(outcome.columns)
        outcome = _outcome(table, work, finish)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _outcome(table: Input, work: TaskWork, finish: Finish | None) -> Any:
    """Return the outcome of one job: what was made, or the exception of a task."""
    outcomes = table.map(work)
    groups = _groups(table)
    if groups > 1:
        outcomes = _mapped(outcomes.repartition(groups, "shard"), _join_task(None), SCHEMA)
    outcomes = _mapped(outcomes.repartition(1), _join_task(finish), SCHEMA)
    with _small_methods(table.session), in_one_line():
        rows = outcomes.collect()
        if not rows:
            # A Java machine that ended in between also gives no rows; this finds out.
            table.session.range(1).count()
    if not rows:
        raise TableError("the table has no records")
    return pickle.loads(bytes(rows[0]["content"]))


def _groups(table: Input) -> int:
    """Return in how many groups outcomes are put together first; 0 where that does not pay."""
    if table.frame is not None:
        return min(int(table.session.conf.get(SHUFFLE_PARTITIONS) or 1), MAX_GROUPS)
    shards = len(table.shards)
    return round(shards**0.5) if shards >= TREE_FROM else 0


@contextmanager
def _small_methods(session: "SparkSession") -> Iterator[None]:
    """Keep Spark from fusing what packs many columns into one method of more than 8,000 bytes.

    Java interprets such methods, fifty times slower than it runs compiled ones.
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


def _join_task(finish: Finish | None) -> Callable[..., Any]:
    """Return the task that puts outcomes together one by one, holding no more than two."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bad: dict[int, Exception] = {}
        first: list[int] = []

        def joined() -> Any:
            total: Any = None
            for number, content in _rows(batches):
                first.append(number)
                outcome = pickle.loads(content)
                if isinstance(outcome, Exception):
                    bad[number] = outcome
                elif total is None:
                    total = outcome
                else:
                    total.merge(outcome)
            return total if finish is None or bad or total is None else finish(total)

        row = task_row(0, joined)
        if bad:
            row = task_row(min(bad), lambda: _worst(bad))
        if first:
            yield row

    return task


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    for batch in batches:
        for number, content in zip(*batch.columns, strict=True):
            yield number.as_py(), content.as_py()


def _worst(bad: dict[int, Exception]) -> Exception:
    """Return the first error, else all columns that escaped."""
    escaped: dict[str, None] = {}
    for _, problem in sorted(bad.items()):
        if not isinstance(problem, Escaped):
            return problem
        escaped |= dict.fromkeys(problem.columns)
    return Escaped(list(escaped))


def spark_errors() -> tuple[type[Exception], ...]:
    """Return what PySpark raises: its own exceptions, and those of Java."""
    from pyspark.errors import PySparkException

    return PySparkException, import_module("py4j.protocol").Py4JError


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn what Spark reports into an error of one line."""
    from pyspark.errors import PythonException

    try:
        yield
    except spark_errors() as problem:
        python = isinstance(problem, PythonException)
        raise TableError(_one_line(str(problem), python=python)) from None
    except (ConnectionError, EOFError):
        raise TableError(
            "Spark's Java machine ended while it was counting; give it more memory "
            "(spark.driver.memory)"
        ) from None


def _one_line(message: str, *, python: bool) -> str:
    """Return the line of Spark's report that says what is wrong.

    Parameters
    ----------
    message
        The report.
    python
        Whether Python raised it, on an executor: then the table may be as it should.
    """
    told = message.partition("JVM stacktrace:")[0]
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    if any("No module named 'seepage'" in line for line in lines):
        return (
            "Spark's executors have no seepage; install it there, or name the Python that has it "
            "(PYSPARK_PYTHON)"
        )
    telling = [line for line in lines if "Encountered error while reading file" in line]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception)(: |$)", line)]
    shown = (telling or raised[-1:] or lines or ["no reason given"])[0][:300]
    if telling or not (python or "ExecutorLostFailure" in message):
        return f"Spark cannot read the table: {shown}"
    return f"Spark's executors failed: {shown}"
