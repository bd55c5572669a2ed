"""Sessions of Spark, and its jobs that count, gather or sample the records of a table.

Parquet files on storage that all executors can read are read by the executors themselves, row
group by row group, past the JVM.  A Spark DataFrame goes through `mapInArrow`, integers and
booleans packed into 64-bit words.

One job finds the values of all columns, the bin edges of those that need bins, and, where no
column needs bins, the counts as well.  Otherwise a second job only counts.  Tasks send what they
found to executors that put it together, in groups and then all of it; the driver receives the
domain and the counts.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage.data.counting.count import PairAccumulator
from seepage.data.counting.distinct import DistinctRecords, Gathering
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.data.spark import is_spark_frame
from seepage.data.spark.jobs import (
    MAX_BYTES,
    Input,
    in_one_line,
    pandas_accepted,
    run,
    spark_errors,
)
from seepage.data.spark.shards import files_of, plan_lanes, plan_shards
from seepage.data.spark.tasks import (
    Settled,
    ShardCoding,
    ShardResult,
    collect_shard,
    find_values,
    keeping,
    make_of_shard,
    plan_coding,
    settle,
    settle_late,
)
from seepage.data.table.column import Column
from seepage.data.table.options import TableOptions
from seepage.data.table.persons import NumberedRecords, first_records
from seepage.data.table.sampling import share_of
from seepage.data.table.scan import check_records
from seepage.data.table.sources import PARQUET, ColumnarSource, find_files
from seepage.errors import DomainError, InputError, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MAX_CELLS = MAX_BYTES // 8 - 2**17
"""Pair cells whose counts Spark hands over in one value."""

_TURN = threading.Lock()

_OURS: list["SparkSession"] = []
"""A session that was started here, once for each block that uses it."""

MAX_RECORD_BYTES = 2**29 - 2**17
"""The most that distinct records may take: they pass through one task and return to the driver."""


@contextmanager
def spark_session(master: str | None = None) -> Iterator["SparkSession"]:
    """Give the running Spark session of any thread, or one of our own.

    One of our own ends with the last block that uses it, in whichever thread.

    Parameters
    ----------
    master
        Where a session of our own runs: `local[2]`, `spark://host:7077`, ...; on all cores of
        this machine by default.
    """
    with _TURN:
        session = _running()
        ours = session is None or bool(_OURS)
        session = session or _started(master)
        if ours:
            _OURS.append(session)
    try:
        yield session
    finally:
        with _TURN:
            if ours:
                _OURS.remove(session)
                if not _OURS:
                    session.stop()


def _running() -> "SparkSession | None":
    """Return the running session of this thread or another, None where there is none."""
    with pandas_accepted():
        try:
            from pyspark import SparkContext
            from pyspark.sql import SparkSession
        except ImportError:
            raise InputError(
                "Spark needs the package pyspark, which is not installed: pip install "
                "seepage[spark]"
            ) from None
        session: SparkSession | None = SparkSession.getActiveSession()
        if session is None and SparkContext._active_spark_context is not None:
            # Another thread's, whose session is not active here.
            session = SparkSession.builder.getOrCreate()
        return session


def _started(master: str | None) -> "SparkSession":
    """Return a session of our own."""
    from pyspark.sql import SparkSession

    address = master or "local[*]"
    builder: Any = SparkSession.builder.appName("seepage").config("spark.ui.enabled", "false")
    if address.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.log.level", "ERROR")
    if master or "SPARK_REMOTE" not in os.environ:
        builder = builder.master(address)
    problems: tuple[type[Exception], ...] = (*spark_errors(), OSError)
    try:
        with pandas_accepted():
            session: SparkSession = builder.getOrCreate()
    except problems as problem:
        raise InputError(f"Spark does not start at {address}: {_reason(str(problem))}") from None
    return session


def _reason(message: str) -> str:
    if "stopped SparkContext" in message:
        return "no master answers there"
    if "JAVA_GATEWAY_EXITED" in message:
        return (
            "Java did not start; it must be 17 or later (JAVA_HOME), and the master one such as "
            "local[2] or spark://host:7077"
        )
    return message.strip().splitlines()[0]


def count_with_spark(data: Any, options: TableOptions) -> PairCounts:
    """Return the pair counts of a Spark DataFrame, or of Parquet files that executors can read.

    Parameters
    ----------
    data
        The DataFrame; or the path of a Parquet file, a folder, a glob, or a list of paths.
    options
        How the table is read.

    Notes
    -----
    Files are counted in the active session, or else in a local one that is started for it.  Bin
    edges of files are those that the local engine finds, whatever the shards.  A DataFrame has
    no order: of a column with more than 262,144 fractional numbers a sample decides, and a
    quantile is off by about 0.1% of the records (one standard deviation).

    A DataFrame that is nothing but Parquet files on a mounted file system is counted as those.
    Any other is computed once where no column needs bins; once more to count in bins, for
    numbers beyond 16 bits, for columns that only all partitions together show to need bins, and
    for those whose numbers turn out to have none.  Cache one that is expensive.
    """
    with opened(data, options) as table:
        domain, counts = _find_domain(table, options, count=options.person is None)
        return _count_in_domain(table, options, domain) if counts is None else counts


@contextmanager
def opened(data: Any, options: TableOptions) -> Iterator[Input]:
    """Give a table as Spark sees it, in a session that lasts as long as the block."""
    if is_spark_frame(data):
        with in_one_line():
            names = data.columns
        chosen = [choice.source for choice in options.choose(names)]
        files = files_of(data, chosen if options.person is None else [*chosen, options.person])
        if files:
            yield _opened(data.sparkSession, files, names)
        else:
            layout = plan_lanes(data, chosen)
            yield Input(data.sparkSession, tuple(names), frame=data, layout=layout)
        return
    paths = _parquet_files(data)
    with spark_session() as session:
        yield _opened(session, paths)


def _parquet_files(data: Any) -> Sequence[Path]:
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        of_spark = type(data).__module__.startswith("pyspark.")
        hint = "" if of_spark else "; count it without engine='spark'"
        raise TableError(
            f"Spark counts a Spark DataFrame or Parquet files, got {type(data).__name__}{hint}"
        )
    kind, files = find_files(data)
    if kind != PARQUET:
        raise TableError(
            f"Spark's executors read Parquet files, got {kind} ({files[0].name}); read it with "
            "spark.read and count the DataFrame, or count it without engine='spark'"
        )
    return files


def _opened(
    session: "SparkSession", files: Sequence[Path], names: Sequence[str] | None = None
) -> Input:
    """Return Parquet files, with all columns or some."""
    source = ColumnarSource(PARQUET, files)
    if not source.rows_total:
        raise TableError("the table has no records")
    cores = _cores(session)
    shards = plan_shards(files, cores)
    rows = source.rows_total
    return Input(session, tuple(names or source.names), tuple(shards), rows, rows // cores)


def _cores(session: "SparkSession") -> int:
    """Return how many tasks run at once."""
    context = getattr(session, "sparkContext", None)
    if context is not None:
        return int(context.defaultParallelism)
    # Spark Connect does not say; but it cuts a range into so many partitions.
    return session.range(2**16).selectExpr("spark_partition_id()").distinct().count()


def _find_domain(
    table: Input, options: TableOptions, *, count: bool
) -> tuple[Domain, PairCounts | None]:
    """Return the domain of a table, and its counts where they could be had on the way."""
    if options.domain is not None:
        return options.domain, None
    names, share, expected = table.names, share_of(table.rows), table.rows_a_core
    settled: Settled = run(
        table,
        lambda source, first: find_values(
            source, options, first, share, count=count, expected=expected
        ),
        lambda found: settle(found, names, options, share),
    )
    while settled.wanted and not settled.kept:
        settled = _settle_late(table, options, settled)
    if settled.kept:
        choices = options.choose(names)
        kept = keeping(options, [choices[index].name for index in settled.kept])
        return _find_domain(table, kept, count=count)
    return settled.domain, settled.counts


def _settle_late(table: Input, options: TableOptions, settled: Settled) -> Settled:
    """Find edges that the first job did not: of numbers crowded late, or missing often."""
    choices = options.choose(table.names)
    indices, shares = list(settled.wanted), list(settled.wanted.values())
    columns = [Column(choices[index], options, fields=False) for index in indices]
    late: Settled = run(
        table,
        lambda source, first: collect_shard(source, columns, first, shares),
        lambda numbers: settle_late(settled, indices, columns, numbers),
    )
    return late


def _count_in_domain(table: Input, options: TableOptions, domain: Domain) -> PairCounts:
    cells = int(pair_offsets(domain.sizes)[-1])
    if cells > MAX_CELLS:
        raise DomainError(
            f"{len(domain)} attributes of up to {max(domain.sizes):,} values have {cells:,} pair "
            f"cells, more than the {MAX_CELLS:,} that Spark can hand over; choose fewer "
            "columns or coarser bins, or count without Spark"
        )
    begin = partial(PairAccumulator, len(domain), table.rows_a_core)
    counted: PairAccumulator = _make_in_domain(table, options, domain, begin)
    return counted.counts(domain)


def _make_in_domain(
    table: Input, options: TableOptions, domain: Domain, begin: Callable[[], Any]
) -> Any:
    """Return what is made of the records, coded in a domain; each task begins with nothing."""
    coding = plan_coding(table.names, options, domain)
    choice = _one_per_person(table, options, coding)
    result: ShardResult = run(
        table, lambda source, first: make_of_shard(source, coding, first, begin(), choice)
    )
    check_records(result.rows, result.left)
    return result.made


def _one_per_person(
    table: Input, options: TableOptions, coding: ShardCoding
) -> NumberedRecords | None:
    """Return which records of a table are chosen: all where no person is asked for.

    Of files it is the first record of each person, as locally.  A DataFrame has no order, and may
    be computed anew for each job: Spark keeps any one record of each person.
    """
    person = options.person
    if person is None:
        return None
    if table.frame is None:
        numbers = run(
            table,
            lambda source, first: first_records(source, *coding, first, person),
            lambda found: found.numbers,
        )
        return NumberedRecords(numbers)
    with in_one_line():
        column = table.frame[f"`{person}`"]
        if table.frame.where(column.isNull()).limit(1).count():
            raise TableError(
                f"column {person!r} is missing in some record, and person must be known in every "
                "record; leave such records out"
            )
        table.frame = table.frame.dropDuplicates([person])
    return None


def gather_with_spark(
    data: Any, options: TableOptions, start: Callable[[], Gathering]
) -> tuple[Domain, Gathering]:
    """Return the domain of a table and what is kept of its records, in the codes of the domain.

    Parameters
    ----------
    data
        A Spark DataFrame, or Parquet files that executors can read.
    options
        How the table is read.
    start
        Begins to gather: all distinct records (at most 0.5 GB of them), or a sample.

    Notes
    -----
    One job finds the domain where none is given, and one gathers.
    """
    begin = partial(DistinctRecords, MAX_RECORD_BYTES) if start is DistinctRecords else start
    with opened(data, options) as table:
        domain, _ = _find_domain(table, options, count=False)
        return domain, _make_in_domain(table, options, domain, begin)
