"""Counting, gathering or sampling the records of a table with Spark.

One job finds the values of all columns and, if no column needs bins, the counts as well.  Otherwise
a second job finds bin edges, and a third one counts.  The results of tasks are merged on executors,
in groups and then all of them; the driver receives the domain and the counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from seepage.data.answers import LARGE_PART, MAX_PART, SMALL_PART, SMALL_TABLE
from seepage.data.counting import PairAccumulator
from seepage.data.counting.distinct import Gathering
from seepage.data.domain import ALL_OTHERS, Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.data.recoding import merge_pairs, widened
from seepage.data.spark import translated_errors
from seepage.data.spark.jobs import Input, open_input, run
from seepage.data.table.bins import Edges, share_of
from seepage.data.table.column import Column
from seepage.data.table.options import TableOptions
from seepage.data.table.persons import RandomPart, RecordChoice
from seepage.data.table.scan import TableScan, check_records, columns_of, summaries_of
from seepage.data.table.sources import Source

Coding: TypeAlias = tuple[list[Column], TableOptions]
"""The columns to code, and the table options with the domain."""

MAX_FOUND_CELLS = 2**20
"""Maximum number of pair cells that tasks count while they find values: 8 MB."""

WIDENING = 8
"""Factor on the share of records sampled for bin edges where too many numbers are missing."""


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
    computed once more for the edges, and all columns once more to count.  If the numbers of a
    column have no bins after all, it starts again.  Cache an expensive one.
    """
    table = open_input(data)
    domain, counts = _find_domain(table, options, count=True)
    if counts is None:
        new = partial(PairAccumulator, len(domain), table.rows_per_core)
        counts = _accumulate(table, options, domain, new).counts(domain)
    return counts


def _find_domain(
    table: Input, options: TableOptions, *, count: bool
) -> tuple[Domain, PairCounts | None]:
    """Return the domain of a table, and its counts if the same job could count; else None."""
    if options.domain is not None:
        return options.domain, None
    columns = columns_of(table.names, options)
    expected = table.rows_per_core if count else None
    work = partial(find_values, options=options, expected=expected)
    found: FoundTable = run(table, columns, work)
    check_records(found.rows, found.kept)
    edges = _find_edges(table, [column for column in found.parts if column.needs_edges])
    without = [name for name, known in edges.items() if not known]
    if without:
        rules = options.bins if isinstance(options.bins, Mapping) else {ALL_OTHERS: options.bins}
        options = replace(options, bins={**rules, **dict.fromkeys(without, "none")})
        return _find_domain(table, options, count=count)
    return found.in_domain(edges)


def _find_edges(table: Input, columns: Sequence[Column]) -> dict[str, tuple[float, ...]]:
    """Return the bin edges of columns by name, empty if their numbers have no bins."""
    edges = {column.name: column.given_edges for column in columns if column.given_edges}
    share = share_of(table.rows)
    while pending := [column for column in columns if column.name not in edges]:
        work = partial(summarise, columns=pending, share=share)
        edges |= run(table, pending, work, partial(edges_of_all, pending))
        share *= WIDENING
    return edges


def _accumulate(
    table: Input,
    options: TableOptions,
    domain: Domain,
    new: Callable[[], Any],
    part: RandomPart | None = None,
) -> Any:
    """Return the records coded in a domain, accumulated from a `new` accumulator per task.

    Those of `part` are left out.
    """
    coding = plan_coding(table.names, options, domain)
    choice = None if part is None else RecordChoice(part=part)
    work = partial(accumulate_shard, coding=coding, new=new, choice=choice)
    result: Found = run(table, coding[0], work)
    check_records(result.rows, result.kept)
    return result.parts[0]


def split_frame(data: Any, rng: int) -> tuple[Any, Any]:
    """Return a random part of a DataFrame as a table, and the rest.

    A DataFrame may be computed anew for each job: it is kept, so that both are disjoint.
    """
    with translated_errors():
        frame = data.persist()
        share = LARGE_PART if frame.count() < SMALL_TABLE else SMALL_PART
        part, rest = frame.randomSplit([share, 1 - share], rng)
        return part.limit(MAX_PART).toArrow(), rest


def gather_with_spark(
    data: Any,
    options: TableOptions,
    new_gathering: Callable[[], Gathering],
    part: RandomPart | None = None,
) -> tuple[Domain, Gathering]:
    """Return the domain of a table and its gathered records, in codes of the domain.

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
    domain, _ = _find_domain(table, options, count=False)
    return domain, _accumulate(table, options, domain, new_gathering, part)


@dataclass
class Found:
    """The results of some shards, which merge in any order.

    Parameters
    ----------
    parts
        Mergeable parts, such as the columns; empty without records.
    rows, kept
        Number of records, and of those that are not dropped.
    """

    parts: Sequence[Any]
    rows: int = 0
    kept: int = 0

    def merge(self, other: Any) -> None:
        """Add the results of other shards."""
        for mine, theirs in zip(self.parts, other.parts, strict=False):
            mine.merge(theirs)
        self.parts = self.parts or other.parts
        self.rows += other.rows
        self.kept += other.kept


@dataclass
class FoundTable(Found):
    """The values found in some shards, one `Column` each, and their pair counts if counted.

    `counts` are those of the values in kept records; None if they were not counted, or if no
    record is kept.
    """

    counts: PairCounts | None = None

    def merge(self, other: "FoundTable") -> None:
        """Add the values of other shards, and their counts unless there are too many cells."""
        counts = [part.counts for part in (self, other) if part.kept]
        super().merge(other)
        known = [part for part in counts if part is not None]
        self.counts = merge_pairs(known) if known and len(known) == len(counts) else None
        if self.counts is not None and _too_many_cells(self.counts.domain.sizes):
            self.counts = None

    def in_domain(self, edges: Mapping[str, tuple[float, ...]]) -> tuple[Domain, PairCounts | None]:
        """Return the domain of all shards, and the counts unless a column had no bins in them.

        `edges` are the bin edges of the columns with bins.
        """
        for column in self.parts:
            if column.needs_edges:
                column.set_edges(edges[column.name])
        domain = Domain(column.attribute()[0] for column in self.parts)
        if self.counts is None or any(a.edges != self.counts.domain[a.name].edges for a in domain):
            return domain, None
        return domain, widened(self.counts, domain)


def _too_many_cells(sizes: Sequence[int]) -> bool:
    """Return whether alphabets of these sizes have too many pair cells to count while finding."""
    return int(pair_offsets(sizes)[-1]) > MAX_FOUND_CELLS


def find_values(
    source: Source, first: int, options: TableOptions, expected: int | None = 0
) -> FoundTable:
    """Return the values of each column of a shard, and its counts if no column needs bins.

    Parameters
    ----------
    source, first, options
        The shard's records, the index in the table of the first of them, and the table options
        (without a domain).
    expected
        Number of records that each core will count, 0 if unknown; None not to count.
    """
    columns = columns_of(source.names, options)
    scan = TableScan(source, columns, options, first)
    counts = None if expected is None else PairAccumulator(len(columns), expected)
    for batch in scan.find():
        if counts is None or batch is None or _too_many_cells(batch.sizes):
            counts = None
        elif len(batch.codes[0]):
            counts.add(batch.codes, batch.sizes)
    kept = scan.rows_read - scan.rows_dropped
    counted = counts.counts(*scan.finish()) if counts is not None and kept else None
    return FoundTable(columns if scan.rows_read else [], scan.rows_read, kept, counted)


def summarise(source: Source, first: int, columns: Sequence[Column], share: float) -> Found:
    """Return the `NumberSummary` of columns of a shard, sampled from this share of priorities."""
    return Found(summaries_of(source, columns, first, share))


def edges_of_all(columns: Sequence[Column], found: Found) -> dict[str, tuple[float, ...]]:
    """Return the bin edges by column, without columns that need a wider sample."""
    known = [part for part in zip(columns, found.parts, strict=True) if part[1].complete]
    return {column.name: column.edges_of(summary) for column, summary in known}


def plan_coding(names: Sequence[str], options: TableOptions, domain: Domain) -> Coding:
    """Return the coding of a table with these columns in a domain, given or found."""
    inside = replace(options, domain=domain, bins=None, pool=None)
    columns = columns_of(names, inside)
    for column in columns:
        if options.domain is None and isinstance(options.bins_of(column.name), Edges):
            # A number outside the user's edges: the message names the edges, not a domain.
            column.given = None if column.edges else column.given
    return columns, inside


def accumulate_shard(
    source: Source,
    first: int,
    coding: Coding,
    new: Callable[[], PairAccumulator | Gathering],
    choice: RecordChoice | None = None,
) -> Found:
    """Return the chosen records of a shard as pair counts, distinct records or a sample.

    `first` is the index in the table of the shard's first record.
    """
    accumulator = new()
    scan = TableScan(source, *coding, first, choice)
    for batch in scan.batches():
        if isinstance(accumulator, PairAccumulator):
            accumulator.add(batch.codes, batch.sizes)
        else:
            accumulator.add(*batch)
    return Found([accumulator], scan.rows_read, scan.rows_read - scan.rows_dropped)
