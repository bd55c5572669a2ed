"""Counting, gathering or sampling the records of a table with Spark.

One job finds the values of all columns and, if no column needs bins, the counts as well.  Otherwise
a second job finds bin edges, and a third one counts.  The results of tasks are merged on executors,
in groups and then all of them; the driver receives the domain and the counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from seepage.data.answers import LARGE_PART, MAX_PART, SMALL_PART, SMALL_TABLE
from seepage.data.counting.count import PairAccumulator
from seepage.data.counting.distinct import DistinctRecords, Gathering
from seepage.data.domain import ALL_OTHERS, Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.data.recoding import merge_pairs, widened
from seepage.data.spark import translated_errors
from seepage.data.spark.jobs import MAX_BYTES, Input, column_id, open_input, run
from seepage.data.table.bins import Edges
from seepage.data.table.column import Column, columns_of
from seepage.data.table.column_numbers import NumberSummary, share_of
from seepage.data.table.options import TableOptions
from seepage.data.table.persons import (
    FirstOfPerson,
    FirstRecords,
    IndexedRecords,
    OutsidePart,
    RandomPart,
    RecordChoice,
)
from seepage.data.table.scan import TableScan, check_records, summaries_of
from seepage.data.table.sources import Source
from seepage.errors import DomainError, TableError

Coding: TypeAlias = tuple[list[Column], TableOptions]
"""The columns to code, and the table options with the domain."""

MAX_CELLS = MAX_BYTES // 8 - 2**17
"""Maximum number of pair cells, whose counts Spark passes in one value."""

MAX_FOUND_CELLS = 2**20
"""Maximum number of pair cells that tasks count while they find values: 8 MB."""

WIDENING = 8
"""Factor on the share of records sampled for bin edges where too many numbers are missing."""

MAX_RECORD_BYTES = 2**29 - 2**17
"""Maximum size of the distinct records, which one task sends to the driver."""


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
    with open_input(data) as table:
        domain, counts = _find_domain(table, options, count=options.person is None)
        return _count_in_domain(table, options, domain) if counts is None else counts


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
    edges = _find_edges(table, [column for column in found.columns if column.needs_edges])
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
        edges |= run(table, pending, work, Summaries.edges)
        share *= WIDENING
    return edges


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
    first = _one_per_person(table, options.person, coding)
    choice = first if part is None else OutsidePart(part, first)
    work = partial(accumulate_shard, coding=coding, new=new, choice=choice)
    result: ShardResult = run(table, coding[0], work)
    check_records(result.rows, result.kept)
    return result.accumulator


def _one_per_person(table: Input, person: str | None, coding: Coding) -> IndexedRecords | None:
    """Return the selection of one record per person of files; None for all records.

    For files it is the first record of each person, as with local engines.  A DataFrame has no
    order and may be recomputed for each job: Spark drops duplicates, keeping any record.
    """
    if person is None:
        return None
    if table.frame is None:
        work = partial(first_records, coding=coding, person=person)
        return IndexedRecords(run(table, coding[0], work, lambda merged: merged.indices))
    with translated_errors():
        column = column_id(table.names.index(person))
        if table.frame.where(f"{column} IS NULL").limit(1).count():
            raise TableError(
                f"column {person!r} is missing in some record, and person must be known in every "
                "record; leave such records out"
            )
        table.frame = table.frame.dropDuplicates([column])
    return None


def split_frame(data: Any, person: str | None, rng: int) -> tuple[Any, Any]:
    """Return a random part of a DataFrame, of one record per person, as a table, and the rest.

    A DataFrame may be computed anew for each job: it is kept, so that both are disjoint.
    """
    with translated_errors():
        frame = (data if person is None else data.dropDuplicates([person])).persist()
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
        Constructor of an empty `DistinctRecords` (limited to 0.5 GB here) or `RecordSample`.
    part
        Records of files that are left out; None for none.

    Notes
    -----
    One or two jobs find the domain, unless it is given, and one gathers.
    """
    if new_gathering is DistinctRecords:
        new_gathering = partial(DistinctRecords, MAX_RECORD_BYTES)
    with open_input(data) as table:
        domain, _ = _find_domain(table, options, count=False)
        return domain, _accumulate(table, options, domain, new_gathering, part)


@dataclass
class FoundTable:
    """The values found in some shards of a table, and their pair counts if they were counted.

    Parameters
    ----------
    columns
        The values of each column; empty without records.
    rows, kept
        Number of records, and of those that are not dropped.
    counts
        The counts of the values in kept records; None if they were not counted, or if no record is
        kept.
    """

    columns: Sequence[Column]
    rows: int = 0
    kept: int = 0
    counts: PairCounts | None = None

    def merge(self, other: "FoundTable") -> None:
        """Add the values of other shards, in any order, and their counts unless too many cells."""
        for mine, theirs in zip(self.columns, other.columns, strict=False):
            mine.merge(theirs)
        self.columns = self.columns or other.columns
        counts = [part.counts for part in (self, other) if part.kept]
        self.rows += other.rows
        self.kept += other.kept
        known = [part for part in counts if part is not None]
        self.counts = merge_pairs(known) if known and len(known) == len(counts) else None
        if self.counts is not None and _too_many_cells(self.counts.domain.sizes):
            self.counts = None

    def in_domain(self, edges: Mapping[str, tuple[float, ...]]) -> tuple[Domain, PairCounts | None]:
        """Return the domain of all shards, and the counts unless a column had no bins in them.

        `edges` are the bin edges of the columns with bins.
        """
        for column in self.columns:
            if column.needs_edges:
                column.set_edges(edges[column.name])
        domain = Domain(column.attribute()[0] for column in self.columns)
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


@dataclass
class Summaries:
    """The numbers of some columns in some shards, summarised for bin edges."""

    columns: Sequence[Column]
    parts: list[NumberSummary]

    def merge(self, other: "Summaries") -> None:
        """Add the numbers of other shards."""
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine.merge(theirs)

    def edges(self) -> dict[str, tuple[float, ...]]:
        """Return the bin edges by column, without columns that need a wider sample."""
        known = [part for part in zip(self.columns, self.parts, strict=True) if part[1].complete]
        return {column.name: column.edges_of(summary) for column, summary in known}


def summarise(source: Source, first: int, columns: Sequence[Column], share: float) -> Summaries:
    """Return the summaries of columns of a shard, sampled from this share of priorities."""
    return Summaries(columns, summaries_of(source, columns, first, share))


def plan_coding(names: Sequence[str], options: TableOptions, domain: Domain) -> Coding:
    """Return the coding of a table with these columns in a domain, given or found."""
    inside = replace(options, domain=domain, bins=None, pool=None, person=None)
    columns = columns_of(names, inside)
    for column in columns:
        if options.domain is None and isinstance(options.bins_of(column.name), Edges):
            # A number outside the user's edges: the message names the edges, not a domain.
            column.given = None if column.edges else column.given
    return columns, inside


def first_records(source: Source, first: int, coding: Coding, person: str) -> FirstRecords:
    """Return the first record of every person of a shard."""
    choice = FirstOfPerson(person)
    keys, indices = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.int64)]
    for batch in TableScan(source, *coding, first, choice).batches():
        rows = np.arange(len(choice.keys)) if batch.kept is None else np.flatnonzero(batch.kept)
        keys.append(choice.keys)
        indices.append(batch.first + rows)
    return FirstRecords(person, np.concatenate(keys), np.concatenate(indices))


@dataclass
class ShardResult:
    """The accumulated records of a part, their number, and the number that is not dropped."""

    accumulator: Any
    rows: int
    kept: int

    def merge(self, other: "ShardResult") -> None:
        """Add the result of another part."""
        self.accumulator.merge(other.accumulator)
        self.rows += other.rows
        self.kept += other.kept


def accumulate_shard(
    source: Source,
    first: int,
    coding: Coding,
    new: Callable[[], PairAccumulator | Gathering],
    choice: RecordChoice | None = None,
) -> ShardResult:
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
    return ShardResult(accumulator, scan.rows_read, scan.rows_read - scan.rows_dropped)
