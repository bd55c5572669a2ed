"""What shards of a table say about its columns, put together two by two in any order.

Runs on executors, with nothing but this package.
"""

from dataclasses import dataclass, field

from seepage.counting.merging import merge_pairs
from seepage.domain import MISSING
from seepage.pairs import PairCounts, pair_offsets
from seepage.table.collecting import Collector

__all__ = ["MOST_CELLS", "Found", "FoundColumn", "Numbers", "too_many_cells"]

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
