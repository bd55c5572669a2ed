"""What a task of Spark does before the domain is known: find values, gather numbers for bins.

Runs on executors, with nothing but this package; `spark_jobs` starts it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.data.counting.accumulator import PairAccumulator
from seepage.data.counting.kernel import compiled_pays
from seepage.data.domain import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.data.spark.found import Found, FoundColumn, Numbers, too_many_cells
from seepage.data.table.bin_edges import Collector, priorities
from seepage.data.table.bins import Keep
from seepage.data.table.coders import unpacked
from seepage.data.table.column import Column
from seepage.data.table.numbers import is_number_type, numbers_of
from seepage.data.table.options import TableOptions
from seepage.data.table.sources import Source

__all__ = ["find_values", "gather_numbers"]


class _Finder:
    """The columns of a shard while their values are found."""

    def __init__(self, options: TableOptions, source: Source, first: int, share: float) -> None:
        self._options = options
        self._source = source
        self._first = first
        self._share = share
        choices = options.choose(source.names)
        self.columns = [Column(choice, options, fields=False) for choice in choices]
        self.found = Found([FoundColumn(self._few(c), options.max_values) for c in self.columns])
        self.kept = [np.zeros(0, dtype=np.bool_) for _ in choices]

    def _few(self, column: Column) -> int | None:
        return None if column.edges or isinstance(column.rule, Keep) else self._options.few

    def batches(self) -> Iterator[list[NDArray[Any]] | None]:
        """Yield the codes of each batch, None where not every column has codes."""
        for batch in self._source.batches([column.source for column in self.columns]):
            if not batch.num_rows:
                continue
            arrays = [unpacked(array) for array in batch.columns]
            codes, missing = self._code(arrays)
            left = batch.num_rows
            if self._options.dropping:
                left = self._drop(codes, missing, left)
            self.found.rows += batch.num_rows
            self.found.left += left
            whole = [part for part in codes if part is not None]
            yield whole if len(whole) == len(codes) else None

    def _code(
        self, arrays: list[pa.Array]
    ) -> tuple[list[NDArray[Any] | None], list[Booleans | None]]:
        codes: list[NDArray[Any] | None] = []
        missing: list[Booleans | None] = []
        before = self._first + self.found.rows
        ranks = None
        for column, found, array in zip(self.columns, self.found.columns, arrays, strict=True):
            if not self.found.rows:
                column.begin(array.type)
                found.number = is_number_type(array.type)
            part = None if found.crowded else column.code(array, before)
            codes.append(part)
            if part is not None:
                absent = column.coder.missing
                missing.append(None if absent is None else part == absent)
                continue
            if not found.crowded and not self.found.rows:
                found.gathered = Collector(self._share)
            found.crowded = True
            values, absent_rows = numbers_of(array, column.markers)
            missing.append(absent_rows)
            found.missing |= absent_rows is not None and bool(absent_rows.any())
            if found.gathered is not None:
                if ranks is None:
                    ranks = priorities(before, len(array))
                there = slice(None) if absent_rows is None else ~absent_rows
                found.gathered.add(values[there], ranks[there])
        return codes, missing

    def _drop(
        self, codes: list[NDArray[Any] | None], missing: list[Booleans | None], rows: int
    ) -> int:
        """Take out records with missing values, note which codes are left; return the records."""
        out = [part for part in missing if part is not None]
        stays = ~np.logical_or.reduce(out) if out else np.ones(rows, dtype=np.bool_)
        before = self._first + self.found.rows
        for place, part in enumerate(codes):
            if part is not None:
                self.columns[place].check_inside(part, stays, before)
                codes[place] = left = part[stays]
                size = self.columns[place].coder.size
                seen = np.bincount(left, minlength=size) > 0
                seen[: len(self.kept[place])] |= self.kept[place]
                self.kept[place] = seen
        return int(np.count_nonzero(stays))

    def finish(self, counts: PairAccumulator | None) -> Found:
        """Return what was found, complete."""
        if not self.found.rows:
            return self.found
        for column, found, kept in zip(self.columns, self.found.columns, self.kept, strict=True):
            if not found.crowded:
                attribute, order = column.coder.attribute()
                left = set(np.flatnonzero(kept) if self._options.dropping else order)
                found.values = {
                    value: code in left for value, code in zip(attribute.values, order, strict=True)
                }
                found.missing |= column.coder.missing is not None
        self.found.counted = counts is not None
        if counts is not None and self.found.left:
            self.found.counts = self._counts(counts)
        return self.found

    def _counts(self, counts: PairAccumulator) -> PairCounts:
        """Return the counts of the values that occur in records left."""
        attributes, orders = [], []
        for column, found in zip(self.columns, self.found.columns, strict=True):
            kept = np.array(list(found.values.values()))
            values = tuple(value for value, there in found.values.items() if there)
            attributes.append(Attribute(column.name, values))
            orders.append(column.coder.attribute()[1][kept])
        return counts.counts(Domain(attributes), orders)


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
        if counts is None or codes is None or too_many_cells(sizes):
            counts = None
            continue
        if len(codes[0]):
            room = [max(size, int(part.max()) + 1) for size, part in zip(sizes, codes, strict=True)]
            counts.add(codes, room, compiled=compiled_pays(max(finder.found.rows, expected), room))
    return finder.finish(counts)


def gather_numbers(
    source: Source, columns: Sequence[Column], first: int, shares: Sequence[float]
) -> Numbers:
    """Return the numbers of some columns of a shard, a share of each, for their bin edges."""
    gathered = [Collector(share) for share in shares]
    before = first
    for batch in source.batches([column.source for column in columns]):
        ranks = priorities(before, batch.num_rows)
        for column, mine, array in zip(columns, gathered, batch.columns, strict=True):
            values, missing = numbers_of(unpacked(array), column.markers)
            there = slice(None) if missing is None else ~missing
            mine.add(values[there], ranks[there])
        before += batch.num_rows
    return Numbers(gathered)
