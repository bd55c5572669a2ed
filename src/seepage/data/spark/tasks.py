"""What Spark's tasks do with their shards of a table, and how the results are merged.

Before the domain is known, a task finds the values of its shard, collects numbers for bins, and
counts where nothing is in the way; `settle` turns what all shards found into the domain.  Once it
is known, tasks code their records in it, and count or gather them.  All of it runs on executors.
"""

from collections.abc import Mapping, Sequence
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
from seepage.data.table.column import Column, collect_numbers
from seepage.data.table.labels import FoundAlphabet, ManyNumbers
from seepage.data.table.options import ALL_OTHERS, TableOptions
from seepage.data.table.persons import RecordChoice
from seepage.data.table.sampling import NumberSummary
from seepage.data.table.scan import TableScan, check_records
from seepage.data.table.sources import Source

MAX_CELLS = 2**20
"""Pair cells up to which tasks count while they are finding values: 8 MB."""


def too_many_cells(sizes: Sequence[int]) -> bool:
    """Say whether alphabets of these sizes are not counted while values are found."""
    return int(pair_offsets(sizes)[-1]) > MAX_CELLS


@dataclass
class FoundColumn:
    """What some shards say about one column.

    Parameters
    ----------
    missing
        Whether values are missing.
    crowded
        Whether it needs bins whose edges are not known.
    gathered
        The numbers of a column that needs bins, None where it does not or some are not there.
    alphabet, seen
        The values of a column of categories, and which codes are in records that are not dropped,
        None for all.
    """

    missing: bool = False
    crowded: bool = False
    gathered: NumberSummary | None = None
    alphabet: FoundAlphabet | None = None
    seen: Booleans | None = None

    def merge(self, other: "FoundColumn") -> None:
        """Add what other shards say; too many values raise an error."""
        self.missing |= other.missing
        if self.gathered is not None and other.gathered is not None:
            self.gathered.merge(other.gathered)
        else:
            self.gathered = None
        self.crowded |= other.crowded
        if self.alphabet is not None and other.alphabet is not None and not self.crowded:
            try:
                self._take(self.alphabet, other.alphabet, other.seen)
            except ManyNumbers:
                self.crowded = True
        if self.crowded:
            self.alphabet = self.seen = None

    def _take(self, mine: FoundAlphabet, theirs: FoundAlphabet, seen: Booleans | None) -> None:
        codes = mine.merge(theirs)
        if self.seen is not None and seen is not None:
            self.seen = np.pad(self.seen, (0, mine.size - len(self.seen)))
            self.seen[codes] |= seen


@dataclass
class Found:
    """What some shards say about the table.

    Parameters
    ----------
    columns
        What they say about each column.
    rows, left
        Their records, and those of them that are not dropped.
    counted
        Whether the pairs of all records left have been counted.
    counts
        The counts, of the values that occur in records left; None where no record is left.
    """

    columns: list[FoundColumn]
    rows: int = 0
    left: int = 0
    counted: bool = False
    counts: PairCounts | None = None

    def merge(self, other: "Found") -> None:
        """Add what other shards found; the order does not matter."""
        if not other.rows:
            return
        if not self.rows:
            self.__dict__.update(other.__dict__)
            return
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.merge(theirs)
        self.rows += other.rows
        self.left += other.left
        self.counted &= other.counted and not any(column.crowded for column in self.columns)
        self._add(other.counts)

    def _add(self, counts: PairCounts | None) -> None:
        """Add counts, as long as there are not too many pair cells."""
        if not self.counted:
            self.counts = None
        elif self.counts is None:
            self.counts = counts
        elif counts is None:
            return
        else:
            self.counts = merge_pairs([self.counts, counts])
            if too_many_cells(self.counts.domain.sizes):
                self.counts, self.counted = None, False


@dataclass
class CollectedNumbers:
    """The numbers of some columns, gathered for their bin edges."""

    columns: list[NumberSummary]

    def merge(self, other: "CollectedNumbers") -> None:
        """Add the numbers of other shards."""
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.merge(theirs)


@dataclass
class Settled:
    """What all shards together say.

    Parameters
    ----------
    attributes
        The attribute of each column, by its index, unless bin edges are still to be found.
    missing
        Whether each column needs a category of missing values.
    wanted
        For each column whose bin edges are still to be found, the share of its numbers that
        tells them.
    kept
        The columns whose numbers have no bins after all: their categories have to be found again.
    counts
        The counts, None where the records have to be counted again, in the domain.
    """

    attributes: dict[int, Attribute] = field(default_factory=dict)
    missing: list[bool] = field(default_factory=list)
    wanted: dict[int, float] = field(default_factory=dict)
    kept: list[int] = field(default_factory=list)
    counts: PairCounts | None = None

    @property
    def domain(self) -> Domain:
        """The domain, once all columns are settled."""
        return Domain(self.attributes[index] for index in sorted(self.attributes))

    def take(self, index: int, column: Column, numbers: NumberSummary) -> None:
        """Settle a column by its numbers, as far as these tell its edges."""
        self.wanted.pop(index, None)
        if not numbers.complete:
            self.wanted[index] = numbers.wider_share
            return
        edges = column.edges_of(numbers)
        if edges:
            missing = self.missing[index]
            self.attributes[index] = binned_attribute(column.name, edges, missing=missing)
        else:
            self.kept.append(index)


def keeping(options: TableOptions, names: Sequence[str]) -> TableOptions:
    """Return the options with the numbers of these columns as categories."""
    given = options.bins if isinstance(options.bins, Mapping) else {ALL_OTHERS: options.bins}
    return replace(options, bins={**given, **dict.fromkeys(names, "none")})


def settle(found: Found, names: Sequence[str], options: TableOptions, share: float) -> Settled:
    """Return the domain that follows from what all shards found, as far as it does.

    `names` are all columns of the table, and `share` that of its numbers that tells the bin edges
    of a column.
    """
    columns = [Column(choice, options, fields=False) for choice in options.choose(names)]
    check_records(found.rows, found.left)
    settled = Settled()
    for index, (column, part) in enumerate(zip(columns, found.columns, strict=True)):
        missing = part.missing and not options.dropping
        settled.missing.append(missing)
        if not column.edges and part.crowded:
            column.settle_given()
        if column.edges:
            edges = column.edges
            settled.attributes[index] = binned_attribute(column.name, edges, missing=missing)
        elif part.alphabet is not None:
            settled.attributes[index] = part.alphabet.attribute(part.seen)[0]
        elif part.gathered is not None:
            settled.take(index, column, part.gathered)
        else:
            settled.wanted[index] = share
    if found.counted and found.counts is not None:
        settled.counts = widened(found.counts, settled.domain)
    return settled


def settle_late(
    settled: Settled, indices: Sequence[int], columns: Sequence[Column], numbers: CollectedNumbers
) -> Settled:
    """Return what was settled, with columns whose numbers have been gathered since."""
    for index, column, gathered in zip(indices, columns, numbers.columns, strict=True):
        settled.take(index, column, gathered)
    return settled


def find_values(
    source: Source,
    options: TableOptions,
    first: int,
    share: float,
    *,
    count: bool = True,
    expected: int = 0,
) -> Found:
    """Return the values of each column of a shard, and its counts where nothing is in the way.

    Parameters
    ----------
    source, options, first
        The shard's records, how they are read (without a domain), and the records before them.
    share
        The share of numbers that bin edges are found from, of what is not counted one by one.
    count, expected
        Whether pairs are counted at all, and the records that each core will count, 0 for unknown.
    """
    columns = [Column(choice, options, fields=False) for choice in options.choose(source.names)]
    scan = TableScan(source, columns, options, first)
    counts = PairAccumulator(len(columns), expected) if count else None
    for batch in scan.find(share):
        if counts is None or batch is None or too_many_cells(batch.sizes):
            counts = None
        elif len(batch.codes[0]):
            counts.add(batch.codes, batch.sizes)
    left = scan.rows_read - scan.rows_dropped
    parts = [_found_column(scan, index) for index in range(len(columns))]
    found = Found(parts, scan.rows_read, left, counts is not None and scan.rows_read > 0)
    if counts is not None and left:
        found.counts = counts.counts(*scan.finish())
    return found


def _found_column(scan: TableScan, index: int) -> FoundColumn:
    """Return what a shard says about one column."""
    if not scan.rows_read:
        return FoundColumn()
    column = scan.columns[index]
    missing = column.alphabet.missing is not None or index in scan.with_missing
    if column.needs_edges:
        return FoundColumn(missing, crowded=True, gathered=scan.summaries.get(index))
    alphabet = column.alphabet if isinstance(column.alphabet, FoundAlphabet) else None
    return FoundColumn(missing, alphabet=alphabet, seen=scan.seen(index))


def collect_shard(
    source: Source, columns: Sequence[Column], first: int, shares: Sequence[float]
) -> CollectedNumbers:
    """Return the numbers of some columns of a shard, a share of each, for their bin edges."""
    found = collect_numbers(source, columns, first, shares)
    return CollectedNumbers([numbers for numbers in found if numbers is not None])


ShardCoding: TypeAlias = tuple[list[Column], TableOptions]
"""How records are coded: the columns, and the options with the domain."""


def plan_coding(names: Sequence[str], options: TableOptions, domain: Domain) -> ShardCoding:
    """Return how the records of a table with these columns are coded in a domain.

    The domain is that of the options, or else the one found.
    """
    inside = replace(options, domain=domain, bins=None, pool=None, person=None)
    columns = [Column(choice, inside, fields=False) for choice in inside.choose(names)]
    for column in columns:
        if options.domain is None and isinstance(options.rule(column.name), Edges):
            # The error for a number outside edges that the user gave names these: no domain was.
            column.given = None if column.edges else column.given
    return columns, inside


@dataclass
class ShardResult:
    """What was made of the records of a part, how many it has, and how many are not dropped."""

    made: Any
    rows: int
    left: int

    def merge(self, other: "ShardResult") -> None:
        """Add another part."""
        self.made.merge(other.made)
        self.rows += other.rows
        self.left += other.left


def make_of_shard(
    source: Source,
    coding: ShardCoding,
    first: int,
    made: PairAccumulator | Gathering,
    choice: RecordChoice | None = None,
) -> ShardResult:
    """Add the records of a shard, or those that are chosen, to counts, distinct ones or a sample.

    `first` are the records of the table before the shard.
    """
    scan = TableScan(source, *coding, first, choice)
    for batch in scan.batches():
        if isinstance(made, PairAccumulator):
            made.add(batch.codes, batch.sizes)
        else:
            made.add(*batch)
    return ShardResult(made, scan.rows_read, scan.rows_read - scan.rows_dropped)
