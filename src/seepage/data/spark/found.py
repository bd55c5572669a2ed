"""What shards of a table say about its columns, put together two by two in any order.

Runs on executors, with nothing but this package.

From what the shards of a table found to its domain, and to its counts where they suffice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from seepage.data.counting.accumulator import merge_pairs, widened
from seepage.data.domain import MISSING, Attribute, Domain
from seepage.data.pairs import PairCounts, pair_offsets
from seepage.data.table.alphabet import FoundAlphabet
from seepage.data.table.bin_edges import Collector, edges_of
from seepage.data.table.bins import Edges
from seepage.data.table.column import Column, binned_attribute
from seepage.data.table.labels import Key, field_key
from seepage.data.table.options import ALL_OTHERS, TableOptions
from seepage.errors import TableError

__all__ = [
    "MOST_CELLS",
    "Found",
    "FoundColumn",
    "Numbers",
    "Settled",
    "keeping",
    "settle",
    "settle_late",
    "too_many_cells",
]

MOST_CELLS = 2**20
"""Pair cells up to which tasks count while they are finding values: 8 MB."""


def too_many_cells(sizes: list[int]) -> bool:
    """Say whether alphabets of these sizes are not counted while values are found."""
    return int(pair_offsets(sizes)[-1]) > MOST_CELLS


@dataclass
class FoundColumn:
    """What some shards say about one column.

    Parameters
    ----------
    few, most
        More numbers than `few` need bins, unless it is None or above `most`; more values than
        `most` are refused in the end, so one more is all that is kept of them.
    values
        The label of each value, and whether it is in a record that is not dropped.
    missing
        Whether values are missing.
    number
        Whether it is a column of numbers.
    gathered
        The numbers of a column that needs bins, None where it does not or some are not there.
    crowded
        Whether it needs bins whose edges are not known.
    """

    few: int | None
    most: int
    values: dict[str, bool] = field(default_factory=dict)
    missing: bool = False
    number: bool = False
    gathered: Collector | None = None
    crowded: bool = False

    def merge(self, other: "FoundColumn") -> None:
        """Add what other shards say."""
        self.missing |= other.missing
        if self.gathered is not None and other.gathered is not None:
            self.gathered.merge(other.gathered)
        else:
            self.gathered = None
        for label, kept in other.values.items():
            self.values[label] = kept or self.values.get(label, False)
        found = len(self.values) - (MISSING in self.values)
        binned = self.number and self.few is not None and self.few <= self.most
        self.crowded |= other.crowded or (binned and found > (self.few or 0))
        if self.crowded:
            self.values = {}
        elif found > self.most:
            self.values = dict(list(self.values.items())[: self.most + 2])


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
        elif self.counts.domain == counts.domain:
            self.counts += counts
        elif too_many_cells([sum(column.values.values()) for column in self.columns]):
            self.counts, self.counted = None, False
        else:
            self.counts = merge_pairs([self.counts, counts])


@dataclass
class Numbers:
    """The numbers of some columns, gathered for their bin edges."""

    columns: list[Collector]

    def merge(self, other: "Numbers") -> None:
        """Add the numbers of other shards."""
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.merge(theirs)


@dataclass
class Settled:
    """What all shards together say.

    Parameters
    ----------
    attributes
        The attributes, None where bin edges are still to be found.
    missing
        Whether each column needs a category of missing values.
    wanted
        For each column whose bin edges are still to be found, the share of its numbers that
        tells them.
    kept
        The columns whose numbers have no bins after all: their values stay categories, and have
        to be found again.
    counts
        The counts, None where the records have to be counted again, in the domain.
    """

    attributes: list[Attribute | None] = field(default_factory=list)
    missing: list[bool] = field(default_factory=list)
    wanted: dict[int, float] = field(default_factory=dict)
    kept: list[int] = field(default_factory=list)
    counts: PairCounts | None = None

    @property
    def domain(self) -> Domain:
        """The domain, once all columns are settled."""
        return Domain(attribute for attribute in self.attributes if attribute is not None)

    def take(self, place: int, column: Column, numbers: Collector) -> None:
        """Settle a column by its numbers, as far as these tell its edges."""
        self.wanted.pop(place, None)
        if not numbers.complete:
            self.wanted[place] = numbers.wider_share
            return
        edges = edges_of(column, numbers)
        if edges:
            missing = self.missing[place]
            self.attributes[place] = binned_attribute(column.name, edges, missing=missing)
        else:
            self.kept.append(place)


def keeping(options: TableOptions, names: Sequence[str]) -> TableOptions:
    """Return the options with the numbers of these columns as categories."""
    given = options.bins if isinstance(options.bins, Mapping) else {ALL_OTHERS: options.bins}
    return replace(options, bins={**given, **dict.fromkeys(names, "none")})


def settle(found: Found, names: Sequence[str], options: TableOptions, share: float) -> Settled:
    """Return the domain that follows from what all shards found, as far as it does.

    Parameters
    ----------
    found
        What all shards found.
    names
        The columns of the table, before the options choose among them.
    options
        How the table is read.
    share
        The share of its numbers that tells the bin edges of a column.
    """
    if not found.rows:
        raise TableError("the table has no records")
    columns = [Column(choice, options, fields=False) for choice in options.choose(names)]
    alphabets = [_alphabet(c, part) for c, part in zip(columns, found.columns, strict=True)]
    if not found.left:
        raise TableError(f"no record is left: all {found.rows:,} have a missing value")
    settled = Settled()
    for place, (column, part, alphabet) in enumerate(
        zip(columns, found.columns, alphabets, strict=True)
    ):
        missing = part.missing and not options.dropping
        settled.missing.append(missing)
        settled.attributes.append(None)
        if not column.edges and part.crowded and isinstance(column.rule, Edges):
            column.settle(column.rule.given)
        if column.edges:
            edges = column.edges
            settled.attributes[place] = binned_attribute(column.name, edges, missing=missing)
        elif not part.crowded:
            settled.attributes[place] = _categories(alphabet, part)
        elif part.gathered is not None:
            settled.take(place, column, part.gathered)
        else:
            settled.wanted[place] = share
    if found.counted and found.counts is not None:
        settled.counts = widened(found.counts, settled.domain)
    return settled


def settle_late(
    settled: Settled, places: Sequence[int], columns: Sequence[Column], numbers: Numbers
) -> Settled:
    """Return what was settled, with columns whose numbers have been gathered since."""
    for place, column, gathered in zip(places, columns, numbers.columns, strict=True):
        settled.take(place, column, gathered)
    return settled


def _alphabet(column: Column, part: FoundColumn) -> FoundAlphabet:
    """Return the alphabet of the values found; too many of them are refused."""
    alphabet = FoundAlphabet(column.name, few=None, most=part.most, markers=column.markers)
    for label in part.values:
        alphabet.code(_key(label, part))
    return alphabet


def _key(label: str, part: FoundColumn) -> Key:
    if label == MISSING:
        return None
    return field_key(label) if part.number else label


def _categories(alphabet: FoundAlphabet, part: FoundColumn) -> Attribute:
    """Return the attribute of a column of categories, of the values in records left."""
    kept = np.array(list(part.values.values()))
    return alphabet.attribute(None if kept.all() else kept)[0]
