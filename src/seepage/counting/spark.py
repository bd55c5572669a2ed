"""Counting with Spark: the same kernel on executors, the same integers.

Parquet files on storage that all executors can read are read by the executors themselves, row
group by row group, past the JVM.  A Spark DataFrame goes through `mapInArrow`, whole numbers and
truth values packed into 64-bit words.

One job finds the values of all columns, the bin edges of those that need bins, and, where no
column needs bins, the counts as well.  Otherwise a second job only counts.  Tasks send what they
found to one executor that puts it together; the driver receives the domain and the counts.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage.counting.accumulator import PairAccumulator
from seepage.counting.spark_domain import Settled, binned, in_domain, settle
from seepage.counting.spark_jobs import Input, run
from seepage.counting.spark_lanes import Escaped, plan_lanes
from seepage.counting.spark_numbers import Gathered, share_of
from seepage.counting.spark_shards import plan_shards
from seepage.counting.spark_tasks import count_shard, find_values, gather_numbers
from seepage.domain import Attribute, Domain
from seepage.errors import InputError, TableError
from seepage.pairs import PairCounts
from seepage.table.columnar import ColumnarSource
from seepage.table.columns import Column
from seepage.table.options import TableOptions
from seepage.table.paths import PARQUET, find_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["count_with_spark", "find_domain", "open_input", "spark_session"]


@contextmanager
def spark_session(master: str | None = None) -> Iterator["SparkSession"]:
    """Give the running Spark session, or one of our own that ends with the block.

    Parameters
    ----------
    master
        Where a session of our own runs: `local[2]`, `spark://host:7077`, ...; on all cores of
        this machine by default.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError(
            "Spark needs the package pyspark, which is not installed: pip install seepage[spark]"
        ) from None
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    place = master or "local[*]"
    if place.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("seepage").config("spark.ui.enabled", "false")
    if master or "SPARK_REMOTE" not in os.environ:
        builder = builder.master(place)
    try:
        session = builder.getOrCreate()
    except (PySparkException, OSError) as problem:
        first = str(problem).strip().splitlines()[0]
        raise InputError(f"Spark does not start at {place}: {first}") from None
    try:
        yield session
    finally:
        session.stop()


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

    A DataFrame is computed once, twice where a column needs bins or numbers beyond 16 bits are
    met; cache one that is expensive.
    """
    if _is_frame(data):
        return _count(open_input(data.sparkSession, data, options), options)
    with spark_session() as session:
        return _count(open_input(session, data, options), options)


def _is_frame(data: Any) -> bool:
    return type(data).__module__.startswith("pyspark.sql.")


def open_input(session: "SparkSession", data: Any, options: TableOptions) -> Input:
    """Return a table as Spark sees it, or refuse it."""
    if _is_frame(data):
        return _packed(session, data, options, ())
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        raise TableError(
            "Spark counts a Spark DataFrame or Parquet files, "
            f"got {type(data).__name__}; count it without engine='spark'"
        )
    kind, files = find_files(data)
    if kind != PARQUET:
        raise TableError(
            f"Spark's executors read Parquet files, got {kind} ({files[0].name}); read it with "
            "spark.read and count the DataFrame, or count it without engine='spark'"
        )
    return _opened(session, files)


def _opened(session: "SparkSession", files: Sequence[Path]) -> Input:
    source = ColumnarSource(PARQUET, files)
    if not source.rows_total:
        raise TableError("the table has no records")
    shards = plan_shards(files, session.sparkContext.defaultParallelism)
    return Input(session, source.names, tuple(shards), source.rows_total)


def _packed(
    session: "SparkSession", frame: "DataFrame", options: TableOptions, plain: Sequence[str]
) -> Input:
    """Return a DataFrame with the columns in `plain` not packed."""
    chosen = [choice.source for choice in options.choose(frame.columns)]
    layout = plan_lanes(frame, chosen, plain)
    return Input(session, tuple(frame.columns), frame=frame, layout=layout)


def _count(table: Input, options: TableOptions) -> PairCounts:
    if options.domain is not None:
        return _count_in_domain(table, options)
    table, settled = _settle(table, options)
    if settled.counts is not None:
        return settled.counts
    return _count_in_domain(table, in_domain(options, settled.domain))


def find_domain(table: Input, options: TableOptions) -> tuple[Input, Domain]:
    """Return the domain of a table; and the table, packed as its numbers need it."""
    if options.domain is not None:
        return table, options.domain
    table, settled = _settle(table, options)
    return table, settled.domain


def _settle(table: Input, options: TableOptions) -> tuple[Input, Settled]:
    names, share = table.names, share_of(table.rows)
    try:
        settled: Settled = run(
            table,
            lambda source, first: find_values(source, options, first, share),
            lambda shards: settle(list(shards), names, options),
        )
    except Escaped as escaped:
        return _settle(_unpacked(table, options, escaped), options)
    if settled.unsettled:
        _settle_late(table, options, settled)
    return table, settled


def _settle_late(table: Input, options: TableOptions, settled: Settled) -> None:
    """Find the edges of columns that turned out to need bins only late in some shard."""
    share, places, missing = share_of(table.rows), settled.unsettled, settled.missing
    columns = [Column(choice, options, fields=False) for choice in options.choose(table.names)]
    wanted = [columns[place] for place in places]

    def join(shards: Iterator[list[Gathered]]) -> list[Attribute]:
        parts = zip(*shards, strict=True)
        return [
            binned(columns[place], part, missing[place])
            for place, part in zip(places, parts, strict=True)
        ]

    found = run(table, lambda source, first: gather_numbers(source, wanted, first, share), join)
    for place, attribute in zip(places, found, strict=True):
        settled.attributes[place] = attribute


def _unpacked(table: Input, options: TableOptions, escaped: Escaped) -> Input:
    """Return a DataFrame with these columns, and those before them, not packed."""
    assert table.frame is not None
    assert table.layout is not None
    plain = [*table.layout.plain, *escaped.columns]
    return _packed(table.session, table.frame, options, plain)


def _count_in_domain(table: Input, options: TableOptions) -> PairCounts:
    domain = options.domain
    assert domain is not None

    def join(shards: Iterator[PairAccumulator]) -> PairAccumulator:
        total = PairAccumulator(len(domain))
        for part in shards:
            total.merge(part)
        return total

    try:
        total = run(
            table, lambda source, first: count_shard(source, options, first), join, tree=True
        )
    except Escaped as escaped:
        return _count_in_domain(_unpacked(table, options, escaped), options)
    if not total.rows:
        raise TableError("the table has no records, or none without a missing value")
    counted: PairCounts = total.counts(domain)
    return counted
