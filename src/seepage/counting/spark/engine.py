"""Counting, gathering or sampling the records of a table with Spark.

One job finds the values of all columns and, if no column needs bins, the counts as
well.  Otherwise a second job finds bin edges, and a third one counts.  The results of
tasks are merged on executors, in groups and then all of them; the driver receives the
domain and the counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from seepage._core.arrays import Codes, Integers
from seepage.channel.domain import ALL_OTHERS, Domain
from seepage.channel.merging import sum_of_shards
from seepage.channel.pairs import PairCounts
from seepage.channel.recoding import recoded
from seepage.counting.accumulate import PairAccumulator
from seepage.counting.record_samples import MAX_PART, RandomPart, part_share
from seepage.counting.spark.session import translated_errors
from seepage.counting.spark.shards import Input, open_input, run
from seepage.tables.column import Column
from seepage.tables.gathering import Gathering
from seepage.tables.scan import TableScan, check_records, columns_of, summaries_of
from seepage.tables.sources import Source
from seepage.tables.table_options import DataOptions, TableOptions

SUMMARISED = 50
"""Columns whose bin edges one job finds: their samples have up to 200 MB."""


def count_with_spark(data: Any, options: DataOptions) -> PairCounts:
    """Return the pair counts of a Spark DataFrame, or of Parquet files that executors
    can read.

    Parameters
    ----------
    data
        The DataFrame; or the path of a Parquet file, a folder, a glob, or a list of
        paths.
    options
        The table options.

    Notes
    -----
    Files are counted in the active session, or in a local one started for it.  Bin
    edges of files equal those of the local engine, for any shards.  A DataFrame has no
    order: the bins of a column with more than 65,536 distinct numbers in more than
    262,144 records depend on a random sample, and the rank of a quantile is off by
    about 0.1% of the records (one standard deviation).

    A DataFrame is computed once if no column needs bins.  Otherwise the columns that
    need them are computed once more for the edges, and all columns once more to count.
    If the numbers of a column have no bins after all, it starts again.  Cache an
    expensive one.
    """
    table = open_input(data)
    options = replace(options, progress=None)
    domain, counts = _find_domain(table, options, count=True)
    if counts is None:
        new = partial(PairAccumulator, len(domain), table.rows_per_core)
        counts = _accumulate(table, options, domain, new).counts(domain)
    return counts


def gather_with_spark(
    data: Any,
    options: DataOptions,
    new_gathering: Callable[[], Gathering],
    part: RandomPart | None = None,
) -> tuple[Domain, int, Codes, Integers]:
    """Return what Spark gathers of a table: its domain, the number of its records, and
    the gathered ones.

    These in codes of the domain, shape (attributes, records), and their multiplicities.

    Parameters
    ----------
    data
        A Spark DataFrame, or Parquet files that executors can read.
    options
        The table options.
    new_gathering
        Constructor of an empty `DistinctRecords` or `RecordSample`.
    part
        Records of files that are left out; None for none.

    Notes
    -----
    One or two jobs find the domain, unless it is given, and one gathers.
    """
    table = open_input(data)
    options = replace(options, progress=None)
    domain, _ = _find_domain(table, options, count=False)
    gathered: Gathering = _accumulate(table, options, domain, new_gathering, part)
    return domain, gathered.seen, *gathered.rows()


def split_frame(data: Any, rng: int) -> tuple[Any, Any, int]:
    """Return a random part of a Spark DataFrame as a table, the rest, and how many
    records that has.

    A DataFrame may be computed anew for each job: it is kept, so that both are
    disjoint.
    """
    with translated_errors():
        frame = data.persist()
        records = frame.count()
        share = part_share(records)
        part, rest = frame.randomSplit([share, 1 - share], rng)
        table = part.limit(MAX_PART).toArrow()
        return table, rest, max(records - table.num_rows, 0)


def _find_domain(
    table: Input, options: TableOptions, *, count: bool
) -> tuple[Domain, PairCounts | None]:
    """Return the domain that Spark finds in a table, and its counts if the same job
    could count; else None.
    """
    if options.domain is not None:
        return options.domain, None
    expected = table.rows_per_core if count else None
    work = partial(find_values, options=options, expected=expected)
    values: Found = run(table, options.choose(table.names), work)
    check_records(values.rows, values.kept)
    unbinned = [column for column in values.parts if column.needs_edges]
    _set_edges(table, unbinned)
    without = [column.name for column in unbinned if not column.edges]
    if without:
        return _find_domain(table, _without_bins(options, without), count=count)
    domain = Domain(column.attribute()[0] for column in values.parts)
    if values.counts is None or unbinned:
        return domain, None
    return domain, recoded(values.counts, domain)


def _set_edges(table: Input, columns: Sequence[Column]) -> None:
    """Let Spark find the bin edges of columns of numbers, several columns in one
    job.
    """
    for start in range(0, len(columns), SUMMARISED):
        some = columns[start : start + SUMMARISED]
        names = [column.name for column in some]
        numbers = run(table, names, partial(summarise, columns=some))
        for column, summary in zip(some, numbers.parts, strict=True):
            column.set_edges(summary)


def _without_bins(options: TableOptions, names: Iterable[str]) -> TableOptions:
    """Return the options of a Spark job with columns whose values are answers as they
    are.
    """
    rules: Mapping[str, Any] = {ALL_OTHERS: options.bins}
    if isinstance(options.bins, Mapping):
        rules = options.bins
    return replace(options, bins={**rules, **dict.fromkeys(names, "none")})


def _accumulate(
    table: Input,
    options: TableOptions,
    domain: Domain,
    new: Callable[[], Any],
    part: RandomPart | None = None,
) -> Any:
    """Return the records that Spark codes in a domain, accumulated from a `new`
    accumulator per task.

    Those of `part` are left out.
    """
    inside = replace(options, domain=domain, bins=None, pool=None)
    work = partial(accumulate_shard, options=inside, new=new, part=part)
    result: Found = run(table, domain.names, work)
    check_records(result.rows, result.kept)
    return result.parts[0]


@dataclass
class Found:
    """The results of some shards, which merge in any order.

    Parameters
    ----------
    parts
        Mergeable parts, such as the columns; empty without records.
    rows, kept
        Number of records, and of those that are not dropped.
    counts
        The pair counts of the kept records, if they were counted while values were
        found.
    """

    parts: Sequence[Any]
    rows: int = 0
    kept: int = 0
    counts: PairCounts | None = None

    def merge(self, other: "Found") -> None:
        """Add the values that a Spark job found in other shards."""
        counts = [part.counts for part in (self, other) if part.kept]
        known = [part for part in counts if part is not None]
        self.counts = (
            sum_of_shards(known) if known and len(known) == len(counts) else None
        )
        for mine, theirs in zip(self.parts, other.parts, strict=False):
            mine.merge(theirs)
        self.parts = self.parts or other.parts
        self.rows += other.rows
        self.kept += other.kept


def find_values(
    source: Source, first: int, options: TableOptions, expected: int | None = 0
) -> Found:
    """Return the values of each column in a Spark task, and its counts if no column
    needs bins.

    Parameters
    ----------
    source, first, options
        The shard's records, the index in the table of the first of them, and the table
        options (without a domain).
    expected
        Number of records that each core will count, 0 if unknown; None not to count.
    """
    columns = columns_of(source, options)
    scan = TableScan(source, columns, options, first)
    pairs = PairAccumulator(len(columns), expected or 0)
    for batch in scan.batches():
        if expected is not None:
            pairs.add(*batch)
    kept = scan.rows_read - scan.rows_dropped
    values = Found(columns if scan.rows_read else [], scan.rows_read, kept)
    if (
        expected is not None
        and kept
        and not any(column.needs_edges for column in columns)
    ):
        values.counts = pairs.counts(*scan.finish())
    return values


def summarise(source: Source, first: int, columns: Sequence[Column]) -> Found:
    """Return the `NumberSummary` of columns in a Spark task."""
    return Found(summaries_of(source, columns, first))


def accumulate_shard(
    source: Source,
    first: int,
    options: TableOptions,
    new: Callable[[], PairAccumulator | Gathering],
    part: RandomPart | None = None,
) -> Found:
    """Return what a Spark task accumulates: pair counts, distinct records or a sample.

    `first` is the index in the table of the shard's first record, `options` have a
    domain, and the records of `part` are left out.
    """
    accumulator = new()
    scan = TableScan(source, columns_of(source, options), options, first, part)
    for batch in scan.batches():
        accumulator.add(*batch)
    return Found([accumulator], scan.rows_read, scan.rows_read - scan.rows_dropped)
