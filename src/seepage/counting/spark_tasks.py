"""What a task of Spark does with its shard: find values, gather numbers for bins, count.

Runs on executors, with nothing but this package; `spark_jobs` starts it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage.counting.accumulator import PairAccumulator
from seepage.counting.kernel import compiled_pays
from seepage.counting.records import Gathering
from seepage.domain import Attribute
from seepage.pairs import pair_offsets
from seepage.table.collecting import Collector, priorities
from seepage.table.columns import Column
from seepage.table.kinds import unpacked
from seepage.table.numbers import is_number_type, numbers_of
from seepage.table.options import TableOptions
from seepage.table.reading import Source

__all__ = [
    "Found",
    "FoundColumn",
    "count_shard",
    "find_values",
    "gather_numbers",
    "gather_records",
]

MOST_CELLS = 2**20
"""Pair cells up to which a task counts while it is finding values: 8 MB."""


@dataclass
class FoundColumn:
    """What one shard says about one column.

    Parameters
    ----------
    attribute
        The values, those of dropped records included; None where the shard has no records, or
        where there are too many numbers.
    order
        The code of each value in the shard's counts.
    kept
        For each value whether it is in a record that is not dropped; None where all are.
    missing
        Whether values are missing.
    number
        Whether it is a column of numbers.
    gathered
        The numbers of a column that needs bins, None where it does not or they are not complete.
    crowded
        Whether it needs bins whose edges are not known.
    """

    attribute: Attribute | None = None
    order: Integers | None = None
    kept: tuple[bool, ...] | None = None
    missing: bool = False
    number: bool = False
    gathered: Collector | None = None
    crowded: bool = False


@dataclass
class Found:
    """What one shard says: its columns, its records and, where all values are known, counts."""

    columns: list[FoundColumn]
    rows: int
    counts: PairAccumulator | None


class _Finder:
    """The columns of a shard while their values are found."""

    def __init__(self, options: TableOptions, source: Source, first: int, share: float) -> None:
        self._options = options
        self._source = source
        self._first = first
        self._share = share
        choices = options.choose(source.names)
        self.columns = [Column(choice, options, fields=False) for choice in choices]
        self.found = [FoundColumn() for _ in choices]
        self.kept = [np.zeros(0, dtype=np.bool_) for _ in choices]
        self.rows = 0

    def batches(self) -> Iterator[list[NDArray[Any]] | None]:
        """Yield the codes of each batch, None where not every column has codes."""
        for batch in self._source.batches([column.source for column in self.columns]):
            if not batch.num_rows:
                continue
            arrays = [unpacked(array) for array in batch.columns]
            codes, missing = self._code(arrays)
            if self._options.dropping:
                self._drop(codes, missing)
            self.rows += batch.num_rows
            whole = [part for part in codes if part is not None]
            yield whole if len(whole) == len(codes) else None

    def _code(
        self, arrays: list[pa.Array]
    ) -> tuple[list[NDArray[Any] | None], list[Booleans | None]]:
        codes: list[NDArray[Any] | None] = []
        missing: list[Booleans | None] = []
        ranks = None
        for column, found, array in zip(self.columns, self.found, arrays, strict=True):
            if not self.rows:
                column.begin(array.type)
                found.number = is_number_type(array.type)
            part = None if found.crowded else column.code(array, self._first + self.rows)
            codes.append(part)
            if part is not None:
                absent = column.coder.missing
                missing.append(None if absent is None else part == absent)
                continue
            if not found.crowded and not self.rows:
                found.gathered = Collector(self._share)
            found.crowded = True
            values, absent_rows = numbers_of(array, column.markers)
            missing.append(absent_rows)
            found.missing |= absent_rows is not None and bool(absent_rows.any())
            if found.gathered is not None:
                if ranks is None:
                    ranks = priorities(self._first + self.rows, len(array))
                there = slice(None) if absent_rows is None else ~absent_rows
                found.gathered.add(values[there], ranks[there])
        return codes, missing

    def _drop(self, codes: list[NDArray[Any] | None], missing: list[Booleans | None]) -> None:
        """Take out records with missing values, and note which codes are left."""
        out = [part for part in missing if part is not None]
        stays = ~np.logical_or.reduce(out) if out else slice(None)
        for place, part in enumerate(codes):
            if part is not None:
                codes[place] = left = part[stays]
                size = self.columns[place].coder.size
                seen = np.bincount(left, minlength=size) > 0
                seen[: len(self.kept[place])] |= self.kept[place]
                self.kept[place] = seen

    def finish(self) -> list[FoundColumn]:
        """Return what was found, complete."""
        for column, found, kept in zip(self.columns, self.found, self.kept, strict=True):
            if self.rows and not found.crowded:
                found.attribute, found.order = column.coder.attribute()
                found.missing |= column.coder.missing is not None
                if self._options.dropping:
                    left = set(np.flatnonzero(kept).tolist())
                    found.kept = tuple(code in left for code in found.order.tolist())
        return self.found


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
    source
        The shard's records.
    options
        How the table is read; without a domain.
    first
        The number of records of the table before the shard.
    share
        The share of numbers that bin edges are found from, of what is not counted one by one.
    count
        Whether pairs are counted at all.
    expected
        The records that each core will count; 0 where they are not known.
    """
    finder = _Finder(options, source, first, share)
    counts = PairAccumulator(len(finder.columns)) if count else None
    for codes in finder.batches():
        sizes = [column.coder.size for column in finder.columns] if codes else []
        if counts is None or codes is None or pair_offsets(sizes)[-1] > MOST_CELLS:
            counts = None
            continue
        if len(codes[0]):
            room = [max(size, int(part.max()) + 1) for size, part in zip(sizes, codes, strict=True)]
            counts.add(codes, room, compiled=compiled_pays(max(finder.rows, expected), room))
    return Found(finder.finish(), finder.rows, counts)


def gather_numbers(
    source: Source, columns: Sequence[Column], first: int, share: float
) -> list[Collector]:
    """Return the numbers of some columns of a shard, for their bin edges."""
    gathered = [Collector(share) for _ in columns]
    before = first
    for batch in source.batches([column.source for column in columns]):
        ranks = priorities(before, batch.num_rows)
        for column, mine, array in zip(columns, gathered, batch.columns, strict=True):
            values, missing = numbers_of(unpacked(array), column.markers)
            there = slice(None) if missing is None else ~missing
            mine.add(values[there], ranks[there])
        before += batch.num_rows
    return gathered


def _coded_batches(
    source: Source, options: TableOptions, first: int
) -> Iterator[tuple[list[NDArray[Any]], int, Booleans | None]]:
    """Yield the codes of each batch in the given domain, where it begins, and what it has.

    The second is the number of records of the table before the batch.  The third says which of
    its records are there, None where all are: those with missing values are left out where the
    options say so.
    """
    columns = [Column(choice, options, fields=False) for choice in options.choose(source.names)]
    before = first
    for batch in source.batches([column.source for column in columns]):
        if not batch.num_rows:
            continue
        arrays = [unpacked(array) for array in batch.columns]
        if before == first:
            for column, array in zip(columns, arrays, strict=True):
                column.begin(array.type)
        coded = [column.code(a, before) for column, a in zip(columns, arrays, strict=True)]
        codes = [part for part in coded if part is not None]
        kept = _complete(columns, codes) if options.dropping else None
        yield codes if kept is None else [part[kept] for part in codes], before, kept
        before += batch.num_rows


def _complete(columns: Sequence[Column], codes: Sequence[NDArray[Any]]) -> Booleans | None:
    """Return which records have no missing value, None where no column can have one."""
    out = [
        part == column.coder.missing
        for column, part in zip(columns, codes, strict=True)
        if column.coder.missing is not None
    ]
    return ~np.logical_or.reduce(out) if out else None


def count_shard(
    source: Source, options: TableOptions, first: int, expected: int = 0
) -> PairAccumulator:
    """Return the counts of a shard in the domain that the options give.

    `expected` are the records that each core will count; 0 where they are not known.
    """
    assert options.domain is not None
    sizes = options.domain.sizes
    counts = PairAccumulator(len(sizes))
    rows = 0
    for codes, _, _ in _coded_batches(source, options, first):
        rows += len(codes[0])
        if len(codes[0]):
            counts.add(codes, sizes, compiled=compiled_pays(max(rows, expected), sizes))
    return counts


def gather_records(source: Source, options: TableOptions, first: int, kept: Gathering) -> Gathering:
    """Return the records of a shard, distinct or sampled, in the domain that the options give."""
    assert options.domain is not None
    for codes, before, there in _coded_batches(source, options, first):
        if len(codes[0]):
            kept.add(codes, options.domain.sizes, before, there)
    return kept
