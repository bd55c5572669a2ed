"""The work of Spark's tasks on shards of a table, and the merging of its results, on executors.

Before the domain is known, tasks find the values of their shards, and count if no column needs bins
and the tables are small; for columns that need bins they summarise the numbers.  Then tasks code
their records in the domain, and count or gather them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from seepage._numerics import Booleans
from seepage.data.counting.count import PairAccumulator
from seepage.data.counting.distinct import Gathering
from seepage.data.domain import Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.data.recoding import merge_pairs, widened
from seepage.data.table.bins import Edges, binned_attribute
from seepage.data.table.coders import unpacked
from seepage.data.table.column import Column, columns_of
from seepage.data.table.labels import FoundAlphabet, ManyNumbers
from seepage.data.table.options import ALL_OTHERS, TableOptions
from seepage.data.table.persons import RecordChoice
from seepage.data.table.sampling import NumberSummary, record_priorities
from seepage.data.table.scan import TableScan
from seepage.data.table.sources import Source

AnyEdges: TypeAlias = tuple[float, ...]
"""Bin edges; empty for none."""

MAX_CELLS = 2**20
"""Maximum number of pair cells that tasks count while they find values: 8 MB."""


def too_many_cells(sizes: Sequence[int]) -> bool:
    """Return whether alphabets of these sizes have too many pair cells to count while finding."""
    return int(pair_offsets(sizes)[-1]) > MAX_CELLS


@dataclass
class FoundColumn:
    """The values found in one column of some shards.

    Parameters
    ----------
    name
        The name of the attribute.
    missing
        Whether it has a category for missing values.
    alphabet, seen
        The values, and the mask of codes in records that are not dropped (None for all); None for
        a column with bins.
    """

    name: str
    missing: bool = False
    alphabet: FoundAlphabet | None = None
    seen: Booleans | None = None

    def merge(self, other: "FoundColumn") -> None:
        """Add the values of other shards; more than `max_values` raise a TableError."""
        self.missing |= other.missing
        try:
            if self.alphabet is None or other.alphabet is None:
                raise ManyNumbers
            codes = self.alphabet.merge(other.alphabet)
        except ManyNumbers:
            self.alphabet = self.seen = None
            return
        if self.seen is not None and other.seen is not None:
            self.seen = np.pad(self.seen, (0, self.alphabet.size - len(self.seen)))
            self.seen[codes] |= other.seen


@dataclass
class FoundTable:
    """The values found in some shards of a table, and their pair counts if they were counted.

    Parameters
    ----------
    columns
        The values of each column.
    rows, kept
        Number of records, and of those that are not dropped.
    counts
        The counts of the values in kept records; None if they were not counted, or if no record is
        kept.
    """

    columns: list[FoundColumn]
    rows: int = 0
    kept: int = 0
    counts: PairCounts | None = None

    def merge(self, other: "FoundTable") -> None:
        """Add the values of other shards, in any order, and their counts unless too many cells."""
        if not self.rows:
            self.__dict__.update(other.__dict__)
            return
        if not other.rows:
            return
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.merge(theirs)
        counts = [part.counts for part in (self, other) if part.kept]
        known = [part for part in counts if part is not None]
        merged = merge_pairs(known) if known and len(known) == len(counts) else None
        small = merged is not None and not too_many_cells(merged.domain.sizes)
        self.counts = merged if small else None
        self.rows += other.rows
        self.kept += other.kept

    def in_domain(self, edges: Mapping[str, AnyEdges]) -> tuple[Domain, PairCounts | None]:
        """Return the domain of all shards, and the counts unless a column had no bins in them.

        `edges` are the bin edges of the columns with bins.
        """
        domain = Domain(
            binned_attribute(part.name, edges[part.name], missing=part.missing)
            if part.alphabet is None
            else part.alphabet.attribute(part.seen)[0]
            for part in self.columns
        )
        if self.counts is None or any(a.edges != self.counts.domain[a.name].edges for a in domain):
            return domain, None
        return domain, widened(self.counts, domain)


class FoundEdges(NamedTuple):
    """The bin edges found, by column, and the share of priorities to sample for the others."""

    edges: dict[str, AnyEdges]
    wider_share: float


@dataclass
class Summaries:
    """The numbers of some columns in some shards, summarised for bin edges."""

    parts: list[NumberSummary]

    @classmethod
    def of(cls, source: Source, columns: Sequence[Column], first: int, share: float) -> "Summaries":
        """Return those of a shard.

        Parameters
        ----------
        source, first
            The shard's records, and the index in the table of the first of them.
        columns
            The columns.
        share
            The share of priorities whose records are sampled.
        """
        parts = [NumberSummary(share) for _ in columns]
        for batch in source.batches([column.source for column in columns]):
            priorities = record_priorities(first, batch.num_rows)
            for column, part in zip(columns, parts, strict=True):
                column.collect(unpacked(batch.column(column.source)), priorities, part)
            first += batch.num_rows
        return cls(parts)

    def merge(self, other: "Summaries") -> None:
        """Add the numbers of other shards."""
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine.merge(theirs)

    def edges(self, columns: Sequence[Column]) -> FoundEdges:
        """Return the edges of the columns whose sample is complete."""
        pairs = list(zip(columns, self.parts, strict=True))
        edges = {column.name: column.edges_of(part) for column, part in pairs if part.complete}
        shares = [part.wider_share for part in self.parts if not part.complete]
        return FoundEdges(edges, max(shares, default=1.0))


def without_bins(options: TableOptions, names: Sequence[str]) -> TableOptions:
    """Return the options with the numbers of these columns as categories."""
    given = options.bins if isinstance(options.bins, Mapping) else {ALL_OTHERS: options.bins}
    return replace(options, bins={**given, **dict.fromkeys(names, "none")})


def find_values(
    source: Source, options: TableOptions, first: int, *, count: bool = True, expected: int = 0
) -> FoundTable:
    """Return the values of each column of a shard, and its counts if no column needs bins.

    Parameters
    ----------
    source, options, first
        The shard's records, the table options (without a domain), and the index in the table of
        the first record.
    count, expected
        Whether to count pairs, and the number of records that each core will count, 0 if unknown.
    """
    columns = columns_of(source.names, options)
    scan = TableScan(source, columns, options, first)
    counts = PairAccumulator(len(columns), expected) if count else None
    for batch in scan.find():
        if counts is None or batch is None or too_many_cells(batch.sizes):
            counts = None
        elif len(batch.codes[0]):
            counts.add(batch.codes, batch.sizes)
    kept = scan.rows_read - scan.rows_dropped
    parts = (
        [_found_column(scan, index, dropping=options.dropping) for index in range(len(columns))]
        if scan.rows_read
        else []
    )
    counted = counts.counts(*scan.finish()) if counts is not None and kept else None
    return FoundTable(parts, scan.rows_read, kept, counted)


def _found_column(scan: TableScan, index: int, *, dropping: bool) -> FoundColumn:
    """Return the values of one column of a shard."""
    column = scan.columns[index]
    missing = column.alphabet.missing is not None or index in scan.with_missing
    missing = missing and not dropping
    if column.needs_edges or not isinstance(column.alphabet, FoundAlphabet):
        return FoundColumn(column.name, missing)
    return FoundColumn(column.name, missing, column.alphabet, scan.seen(index))


class ShardCoding(NamedTuple):
    """The columns to code, and the table options with the domain."""

    columns: list[Column]
    options: TableOptions


def plan_coding(names: Sequence[str], options: TableOptions, domain: Domain) -> ShardCoding:
    """Return the coding of a table with these columns in a domain, given or found."""
    inside = replace(options, domain=domain, bins=None, pool=None, person=None)
    columns = columns_of(names, inside)
    for column in columns:
        if options.domain is None and isinstance(options.rule(column.name), Edges):
            # A number outside the user's edges: the message names the edges, not a domain.
            column.given = None if column.edges else column.given
    return ShardCoding(columns, inside)


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
    coding: ShardCoding,
    first: int,
    accumulator: PairAccumulator | Gathering,
    choice: RecordChoice | None = None,
) -> ShardResult:
    """Add the selected records of a shard to pair counts, distinct records or a sample.

    `first` is the index in the table of the shard's first record.
    """
    scan = TableScan(source, *coding, first, choice)
    for batch in scan.batches():
        if isinstance(accumulator, PairAccumulator):
            accumulator.add(batch.codes, batch.sizes)
        else:
            accumulator.add(*batch)
    return ShardResult(accumulator, scan.rows_read, scan.rows_read - scan.rows_dropped)
