"""Spark sessions, and counting, gathering or sampling the records of a table with Spark.

Parquet files on storage that all executors can read are read by the executors' Python directly, row
group by row group.  A Spark DataFrame goes through `mapInArrow`, integers and booleans packed into
64-bit words.

One job finds the values of all columns, the bin edges of those that need bins, and, if no column
needs bins, the counts as well.  Otherwise a second job counts.  The results of tasks are merged on
executors, in groups and then all of them; the driver receives the domain and the counts.
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
    run,
    spark_errors,
    translated_errors,
    without_pandas_warning,
)
from seepage.data.spark.shards import parquet_files_of, plan_lanes, plan_shards
from seepage.data.spark.tasks import (
    PartialDomain,
    ShardCoding,
    ShardResult,
    accumulate_shard,
    find_values,
    only_binned,
    partial_domain,
    plan_coding,
    without_bins,
)
from seepage.data.table.options import TableOptions
from seepage.data.table.persons import IndexedRecords, first_records
from seepage.data.table.sampling import share_of
from seepage.data.table.scan import check_records
from seepage.data.table.sources import PARQUET, ColumnarSource, find_files
from seepage.errors import DomainError, InputError, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MAX_CELLS = MAX_BYTES // 8 - 2**17
"""Maximum number of pair cells, whose counts Spark passes in one value."""

_SESSION_LOCK = threading.Lock()

_OUR_SESSIONS: list["SparkSession"] = []
"""The session started here, once for each block that uses it."""

MAX_RECORD_BYTES = 2**29 - 2**17
"""Maximum size of the distinct records, which one task sends to the driver."""


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

    A DataFrame that only reads Parquet files on a mounted file system is counted from the files.
    Any other is computed once if no column needs bins.  It is computed once more for each of these:
    to count in bins; for numbers beyond 16 bits; for columns that need bins in all partitions
    together only; and for columns whose numbers have no bins after all.  Cache an expensive one.
    """
    with spark_input(data, options) as table:
        domain, counts = _find_domain(table, options, count=options.person is None)
        return _count_in_domain(table, options, domain) if counts is None else counts


@contextmanager
def spark_input(data: Any, options: TableOptions) -> Iterator[Input]:
    """Yield the input of Spark's jobs, in a session that lasts as long as the block."""
    if is_spark_frame(data):
        with translated_errors():
            names = data.columns
        chosen = [choice.source for choice in options.choose(names)]
        to_read = chosen if options.person is None else [*chosen, options.person]
        files = parquet_files_of(data, to_read)
        if files:
            yield _input_of_files(data.sparkSession, files, names)
        else:
            layout = plan_lanes(data, chosen)
            yield Input(data.sparkSession, tuple(names), frame=data, layout=layout)
        return
    paths = _parquet_files(data)
    with spark_session() as session:
        yield _input_of_files(session, paths)


def _parquet_files(data: Any) -> Sequence[Path]:
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        of_spark = type(data).__module__.startswith("pyspark.")
        hint = "" if of_spark else "; count it without engine='spark'"
        raise TableError(
            f"data must be a Spark DataFrame or Parquet files, got {type(data).__name__}{hint}"
        )
    kind, files = find_files(data)
    if kind != PARQUET:
        raise TableError(
            f"data must be Parquet files for engine='spark', got {kind} ({files[0].name}); read it "
            "with spark.read and count the DataFrame, or count it without engine='spark'"
        )
    return files


def _input_of_files(
    session: "SparkSession", files: Sequence[Path], names: Sequence[str] | None = None
) -> Input:
    """Return the input of Parquet files, with all columns or those named."""
    source = ColumnarSource(PARQUET, files)
    if not source.rows_total:
        raise TableError("the table has no records")
    cores = _cores(session)
    shards = plan_shards(files, cores)
    rows = source.rows_total
    return Input(session, tuple(names or source.names), tuple(shards), rows, rows // cores)


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
    known = _find_values(table, options, share_of(table.rows), count=count)
    attributes, counts = known.attributes, known.counts
    while known.pending and not known.without_bins:
        late = only_binned(options, table.names, known.pending)
        known = _find_values(table, late, max(known.pending.values()), count=False)
        attributes |= known.attributes
    if known.without_bins:
        return _find_domain(table, without_bins(options, known.without_bins), count=count)
    names = [choice.name for choice in options.choose(table.names)]
    return Domain(attributes[name] for name in names), counts


def _find_values(
    table: Input, options: TableOptions, share: float, *, count: bool
) -> PartialDomain:
    """Return what one job finds: values, bin edges and counts."""
    names, expected = table.names, table.rows_per_core
    known: PartialDomain = run(
        table,
        lambda source, first: find_values(
            source, options, first, share, count=count, expected=expected
        ),
        lambda found: partial_domain(found, names, options, share),
    )
    return known


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
            lambda source, first: first_records(source, *coding, first, person),
            lambda merged: merged.indices,
        )
        return IndexedRecords(indices)
    with translated_errors():
        column = table.frame[f"`{person}`"]
        if table.frame.where(column.isNull()).limit(1).count():
            raise TableError(
                f"column {person!r} is missing in some record, and person must be known in every "
                "record; leave such records out"
            )
        table.frame = table.frame.dropDuplicates([person])
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
    One job finds the domain, unless it is given, and one gathers.
    """
    if new_gathering is DistinctRecords:
        new_gathering = partial(DistinctRecords, MAX_RECORD_BYTES)
    with spark_input(data, options) as table:
        domain, _ = _find_domain(table, options, count=False)
        return domain, _accumulate(table, options, domain, new_gathering)
