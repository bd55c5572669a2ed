"""Spark sessions, and counting, gathering or sampling the records of a table with Spark.

Parquet files on storage that all executors can read are read by the executors' Python directly, row
group by row group.  A Spark DataFrame goes through `mapInArrow`, whatever it is computed from.

One job finds the values of all columns and, if no column needs bins, the counts as well.  Otherwise
a second job finds bin edges, and a third one counts.  The results of tasks are merged on executors,
in groups and then all of them; the driver receives the domain and the counts.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage.data.counting.count import PairAccumulator, is_spark_frame
from seepage.data.counting.distinct import DistinctRecords, Gathering
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.data.spark.jobs import (
    MAX_BYTES,
    Input,
    column_id,
    plan_shards,
    run,
    spark_errors,
    translated_errors,
    without_pandas_warning,
)
from seepage.data.spark.tasks import (
    AnyEdges,
    FoundEdges,
    FoundTable,
    ShardCoding,
    ShardResult,
    Summaries,
    accumulate_shard,
    find_values,
    plan_coding,
    without_bins,
)
from seepage.data.table.column import Column, columns_of
from seepage.data.table.options import TableOptions
from seepage.data.table.persons import IndexedRecords, first_records
from seepage.data.table.sampling import share_of
from seepage.data.table.scan import check_records
from seepage.data.table.sources import PARQUET, ColumnarSource, find_files
from seepage.errors import DomainError, InputError, Setting, TableError, Text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MAX_CELLS = MAX_BYTES // 8 - 2**17
"""Maximum number of pair cells, whose counts Spark passes in one value."""

MAX_RECORD_BYTES = 2**29 - 2**17
"""Maximum size of the distinct records, which one task sends to the driver."""

_SESSION_LOCK = threading.Lock()

_OUR_SESSIONS: list["SparkSession"] = []
"""The session started here, once for each block that uses it."""


@contextmanager
def spark_session(master: str | None = None) -> Iterator["SparkSession"]:
    """Yield the running Spark session of any thread, or start one.

    A session started here is stopped at the end of the last block that uses it, in any thread.

    Parameters
    ----------
    master
        Master URL of a session started here: `local[2]`, `spark://host:7077`, ...; by default all
        cores of this machine.
    """
    with _SESSION_LOCK:
        session = _running_session()
        ours = session is None or bool(_OUR_SESSIONS)
        session = session or _start_session(master)
        if ours:
            _OUR_SESSIONS.append(session)
    try:
        yield session
    finally:
        with _SESSION_LOCK:
            if ours:
                _OUR_SESSIONS.remove(session)
                if not _OUR_SESSIONS:
                    session.stop()


def _running_session() -> "SparkSession | None":
    """Return the running session of this or another thread, None if there is none."""
    with without_pandas_warning():
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
            # The session of another thread, which is not active in this one.
            session = SparkSession.builder.getOrCreate()
        return session


def _start_session(master: str | None) -> "SparkSession":
    """Start a session."""
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
        with without_pandas_warning():
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
        The table options.

    Notes
    -----
    Files are counted in the active session, or in a local one started for it.  Bin edges of files
    equal those of the local engine, for any shards.  A DataFrame has no order: the bins of a column
    with more than 262,144 fractional numbers depend on a random sample, and the rank of a quantile
    is off by about 0.1% of the records (one standard deviation).

    A DataFrame is computed once if no column needs bins.  Otherwise the columns that need them are
    computed once more, or twice if many of their numbers are missing, and all columns once more to
    count.  If the numbers of a column have no bins after all, it starts again.  Cache an expensive
    one.
    """
    with spark_input(data) as table:
        domain, counts = _find_domain(table, options, count=options.person is None)
        return _count_in_domain(table, options, domain) if counts is None else counts


@contextmanager
def spark_input(data: Any) -> Iterator[Input]:
    """Yield the input of Spark's jobs, in a session that lasts as long as the block.

    A DataFrame is never replaced by the files that it reads: no public interface of Spark tells
    whether it also filters or changes their records.
    """
    if is_spark_frame(data):
        with translated_errors():
            names = tuple(data.columns)
            frame = data.toDF(*(column_id(index) for index in range(len(names))))
        yield Input(data.sparkSession, names, frame=frame)
        return
    files = _parquet_files(data)
    with spark_session() as session:
        source = ColumnarSource(PARQUET, files)
        rows, cores = source.rows_total, _cores(session)
        if not rows:
            raise TableError("the table has no records")
        shards = plan_shards(files, cores)
        yield Input(session, source.names, shards, rows, rows // cores)


BY_SPARK = Setting("engine", "spark")


def _parquet_files(data: Any) -> Sequence[Path]:
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        of_spark = type(data).__module__.startswith("pyspark.")
        hint = Text("" if of_spark else Text("; count it without ", BY_SPARK))
        raise TableError(
            f"data must be a Spark DataFrame or Parquet files, got {type(data).__name__}",
            hint,
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


def _find_domain(
    table: Input, options: TableOptions, *, count: bool
) -> tuple[Domain, PairCounts | None]:
    """Return the domain of a table, and its counts if the same job could count; else None."""
    if options.domain is not None:
        return options.domain, None
    columns = columns_of(table.names, options)
    expected = table.rows_per_core
    found: FoundTable = run(
        table,
        columns,
        lambda source, first: find_values(source, options, first, count=count, expected=expected),
    )
    check_records(found.rows, found.kept)
    binned = [c for c, part in zip(columns, found.columns, strict=True) if part.alphabet is None]
    edges = _find_edges(table, binned)
    without = [name for name, known in edges.items() if not known]
    if without:
        return _find_domain(table, without_bins(options, without), count=count)
    return found.in_domain(edges)


def _find_edges(table: Input, columns: Sequence[Column]) -> dict[str, AnyEdges]:
    """Return the bin edges of columns by name, empty if their numbers have no bins."""
    edges = {column.name: column.given_edges for column in columns if column.given_edges}
    share = share_of(table.rows)
    while pending := [column for column in columns if column.name not in edges]:
        found = _summarise(table, pending, share)
        edges |= found.edges
        share = found.wider_share
    return edges


def _summarise(table: Input, columns: Sequence[Column], share: float) -> FoundEdges:
    """Return the bin edges of those columns whose numbers are known well enough."""
    found: FoundEdges = run(
        table,
        columns,
        lambda source, first: Summaries.of(source, columns, first, share),
        lambda merged: merged.edges(columns),
    )
    return found


def _count_in_domain(table: Input, options: TableOptions, domain: Domain) -> PairCounts:
    cells = int(pair_offsets(domain.sizes)[-1])
    if cells > MAX_CELLS:
        raise DomainError(
            f"{len(domain)} attributes of up to {max(domain.sizes):,} values have {cells:,} pair "
            f"cells, more than the {MAX_CELLS:,} that Spark can pass on; choose fewer columns or "
            "coarser bins, or count without Spark"
        )
    new = partial(PairAccumulator, len(domain), table.rows_per_core)
    counted: PairAccumulator = _accumulate(table, options, domain, new)
    return counted.counts(domain)


def _accumulate(
    table: Input, options: TableOptions, domain: Domain, new_accumulator: Callable[[], Any]
) -> Any:
    """Return the records coded in a domain, accumulated from an empty accumulator per task."""
    coding = plan_coding(table.names, options, domain)
    choice = _one_per_person(table, options, coding)
    result: ShardResult = run(
        table,
        coding.columns,
        lambda source, first: accumulate_shard(source, coding, first, new_accumulator(), choice),
    )
    check_records(result.rows, result.kept)
    return result.accumulator


def _one_per_person(
    table: Input, options: TableOptions, coding: ShardCoding
) -> IndexedRecords | None:
    """Return the selection of one record per person of files; None for all records.

    For files it is the first record of each person, as with local engines.  A DataFrame has no
    order and may be recomputed for each job: Spark drops duplicates, keeping any record.
    """
    person = options.person
    if person is None:
        return None
    if table.frame is None:
        indices = run(
            table,
            coding.columns,
            lambda source, first: first_records(source, *coding, first, person),
            lambda merged: merged.indices,
        )
        return IndexedRecords(indices)
    with translated_errors():
        column = column_id(table.names.index(person))
        if table.frame.where(f"{column} IS NULL").limit(1).count():
            raise TableError(
                f"column {person!r} is missing in some record, and person must be known in every "
                "record; leave such records out"
            )
        table.frame = table.frame.dropDuplicates([column])
    return None


def gather_with_spark(
    data: Any, options: TableOptions, new_gathering: Callable[[], Gathering]
) -> tuple[Domain, Gathering]:
    """Return the domain of a table and its gathered records, in codes of the domain.

    Parameters
    ----------
    data
        A Spark DataFrame, or Parquet files that executors can read.
    options
        The table options.
    new_gathering
        Constructor of an empty `DistinctRecords` (limited to 0.5 GB here) or `RecordSample`.

    Notes
    -----
    One or two jobs find the domain, unless it is given, and one gathers.
    """
    if new_gathering is DistinctRecords:
        new_gathering = partial(DistinctRecords, MAX_RECORD_BYTES)
    with spark_input(data) as table:
        domain, _ = _find_domain(table, options, count=False)
        return domain, _accumulate(table, options, domain, new_gathering)
