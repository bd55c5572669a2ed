"""The work of Spark's tasks on shards of a table, and the merging of its results, on executors.

Before the domain is known, a task finds the values of its shard, summarises numbers for bins, and
counts if no column needs bins and the tables are small; `partial_domain` derives the domain from
the results of all shards.  Then tasks code their records in it, and count or gather them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from seepage._numerics import Booleans
from seepage.data.counting.count import PairAccumulator
from seepage.data.counting.distinct import Gathering
from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.data.recoding import merge_pairs, widened
from seepage.data.table.bins import Edges, binned_attribute
from seepage.data.table.column import Column, columns_of
from seepage.data.table.labels import FoundAlphabet, ManyNumbers
from seepage.data.table.options import ALL_OTHERS, TableOptions
from seepage.data.table.persons import RecordChoice
from seepage.data.table.sampling import NumberSummary
from seepage.data.table.scan import TableScan, check_records
from seepage.data.table.sources import Source

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
    missing
        Whether some values are missing.
    needs_edges
        Whether it must be binned and the edges are not known.
    summary
        Summary of the numbers of a column that needs edges; None otherwise, or if it does not
        cover all shards.
    alphabet, seen
        The values of a categorical column, and the mask of codes in records that are not dropped;
        None for all.
    """

    missing: bool = False
    needs_edges: bool = False
    summary: NumberSummary | None = None
    alphabet: FoundAlphabet | None = None
    seen: Booleans | None = None

    def merge(self, other: "FoundColumn") -> None:
        """Add the values of other shards; more than `max_values` raise a TableError."""
        self.missing |= other.missing
        if self.summary is not None and other.summary is not None:
            self.summary.merge(other.summary)
        else:
            self.summary = None
        self.needs_edges |= other.needs_edges
        if self.alphabet is not None and other.alphabet is not None and not self.needs_edges:
            try:
                codes = self.alphabet.merge(other.alphabet)
                if self.seen is not None and other.seen is not None:
                    self.seen = np.pad(self.seen, (0, self.alphabet.size - len(self.seen)))
                    self.seen[codes] |= other.seen
            except ManyNumbers:
                self.needs_edges = True
        if self.needs_edges:
            self.alphabet = self.seen = None


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
        """Add the values of other shards, in any order, and their counts.

        There are no counts if they would have too many pair cells, or if a column needs bins.
        """
        if not other.rows:
            return
        if not self.rows:
            self.__dict__.update(other.__dict__)
            return
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.merge(theirs)
        counts = [part.counts for part in (self, other) if part.kept]
        known = [part for part in counts if part is not None]
        self.rows += other.rows
        self.kept += other.kept
        self.counts = None
        needs_edges = any(column.needs_edges for column in self.columns)
        if known and len(known) == len(counts) and not needs_edges:
            merged = merge_pairs(known)
            self.counts = None if too_many_cells(merged.domain.sizes) else merged


@dataclass
class PartialDomain:
    """The attributes that follow from the values of all shards, and the columns still open.

    Parameters
    ----------
    attributes
        The attribute of each known column, by its name in the domain.
    pending
        For each column whose bin edges are unknown, the share of priorities to sample for them.
    without_bins
        The columns whose numbers have no bins after all: their categories must be found again.
    counts
        The counts; None if the records must be counted again, in the domain.
    """

    attributes: dict[str, Attribute] = field(default_factory=dict)
    pending: dict[str, float] = field(default_factory=dict)
    without_bins: list[str] = field(default_factory=list)
    counts: PairCounts | None = None


def without_bins(options: TableOptions, names: Sequence[str]) -> TableOptions:
    """Return the options with the numbers of these columns as categories."""
    given = options.bins if isinstance(options.bins, Mapping) else {ALL_OTHERS: options.bins}
    return replace(options, bins={**given, **dict.fromkeys(names, "none")})


def only_binned(options: TableOptions, names: Sequence[str], binned: Iterable[str]) -> TableOptions:
    """Return the options of a table with these `names` for some columns alone, all binned."""
    sources = {choice.name: choice.source for choice in options.choose(names)}
    bins: Any = {name: options.rule(name) for name in binned}
    return replace(options, columns=[sources[name] for name in bins], drop=(), bins=bins)


def partial_domain(
    found: FoundTable, names: Sequence[str], options: TableOptions, share: float
) -> PartialDomain:
    """Return the attributes that follow from the values found in all shards.

    `names` are all columns of the table, `share` the share of priorities to sample for the bin
    edges of columns that were not summarised: those that exceed `few` numbers after the first
    batch, or in all shards together only.
    """
    columns = columns_of(names, options)
    check_records(found.rows, found.kept)
    known = PartialDomain()
    for column, part in zip(columns, found.columns, strict=True):
        if part.alphabet is not None:
            known.attributes[column.name] = part.alphabet.attribute(part.seen)[0]
            continue
        edges = column.given_edges
        if not edges:
            if part.summary is None or not part.summary.complete:
                wider = share if part.summary is None else part.summary.wider_share
                known.pending[column.name] = wider
                continue
            edges = column.edges_of(part.summary)
        if edges:
            missing = part.missing and not options.dropping
            known.attributes[column.name] = binned_attribute(column.name, edges, missing=missing)
        else:
            known.without_bins.append(column.name)
    if found.counts is not None:
        known.counts = widened(found.counts, Domain(known.attributes.values()))
    return known


def find_values(
    source: Source,
    options: TableOptions,
    first: int,
    share: float,
    *,
    count: bool = True,
    expected: int = 0,
) -> FoundTable:
    """Return the values of each column of a shard, and its counts if no column needs bins.

    Parameters
    ----------
    source, options, first
        The shard's records, the table options (without a domain), and the index in the table of
        the first record.
    share
        The share of priorities whose records are sampled for bin edges.
    count, expected
        Whether to count pairs, and the number of records that each core will count, 0 if unknown.
    """
    columns = columns_of(source.names, options)
    scan = TableScan(source, columns, options, first)
    counts = PairAccumulator(len(columns), expected) if count else None
    for batch in scan.find(share):
        if counts is None or batch is None or too_many_cells(batch.sizes):
            counts = None
        elif len(batch.codes[0]):
            counts.add(batch.codes, batch.sizes)
    kept = scan.rows_read - scan.rows_dropped
    parts = [_found_column(scan, index) for index in range(len(columns))]
    counted = counts.counts(*scan.finish()) if counts is not None and kept else None
    return FoundTable(parts, scan.rows_read, kept, counted)


def _found_column(scan: TableScan, index: int) -> FoundColumn:
    """Return the values of one column of a shard."""
    if not scan.rows_read:
        return FoundColumn()
    column = scan.columns[index]
    missing = column.alphabet.missing is not None or index in scan.with_missing
    if column.needs_edges:
        return FoundColumn(missing, needs_edges=True, summary=scan.summaries.get(index))
    alphabet = column.alphabet if isinstance(column.alphabet, FoundAlphabet) else None
    return FoundColumn(missing, alphabet=alphabet, seen=scan.seen(index))


ShardCoding: TypeAlias = tuple[list[Column], TableOptions]
"""The columns to code, and the table options with the domain."""


def plan_coding(names: Sequence[str], options: TableOptions, domain: Domain) -> ShardCoding:
    """Return the coding of a table with these columns in a domain, given or found."""
    inside = replace(options, domain=domain, bins=None, pool=None, person=None)
    columns = columns_of(names, inside)
    for column in columns:
        if options.domain is None and isinstance(options.rule(column.name), Edges):
            # A number outside the user's edges: the message names the edges, not a domain.
            column.given = None if column.edges else column.given
    return columns, inside


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
