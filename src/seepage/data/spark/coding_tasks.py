"""What a task of Spark does once the domain is known: code its records, and count or gather them.

Runs on executors, with nothing but this package.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.data.counting.accumulator import PairAccumulator
from seepage.data.counting.distinct import Gathering
from seepage.data.counting.kernel import compiled_pays
from seepage.data.domain import Domain
from seepage.data.table.bins import Edges
from seepage.data.table.coders import unpacked
from seepage.data.table.column import Column, complete_records
from seepage.data.table.options import TableOptions
from seepage.data.table.sources import Source
from seepage.errors import TableError

__all__ = ["Coding", "Kept", "count_shard", "gather_records", "plan_coding"]


class Coding(NamedTuple):
    """How records are coded: the columns, their domain, and whether missing values drop records."""

    columns: list[Column]
    domain: Domain
    dropping: bool


def plan_coding(names: Sequence[str], options: TableOptions, domain: Domain) -> Coding:
    """Return how the records of a table are coded in a domain.

    Parameters
    ----------
    names
        The columns of the table.
    options
        How it is read, as the user said.
    domain
        The domain: that of the options, or else the one found.
    """
    inside = replace(options, domain=domain, bins=None)
    columns = [Column(choice, inside, fields=False) for choice in inside.choose(names)]
    for column in columns:
        if options.domain is None and isinstance(options.rule(column.name), Edges):
            # A number outside edges that the user gave is refused as such: no domain was given.
            column.given = None if column.edges else column.given
    return Coding(columns, domain, options.dropping)


@dataclass
class Kept:
    """What was made of the records of a part, and how many it has, dropped ones included."""

    rows: int
    made: Any

    def merge(self, other: "Kept") -> None:
        """Add another part."""
        self.rows += other.rows
        self.made.merge(other.made)

    def check(self, left: int) -> None:
        """Refuse a table without records, or with none left."""
        if not self.rows:
            raise TableError("the table has no records")
        if not left:
            raise TableError(f"no record is left: all {self.rows:,} have a missing value")


class _Batch(NamedTuple):
    """The codes of a batch.

    Parameters
    ----------
    codes
        One array a column; records with missing values are left out where they are dropped.
    before, rows
        The records of the table before the batch, and in it.
    kept
        Which of its records are in `codes`, None where all are.
    """

    codes: list[NDArray[Any]]
    before: int
    rows: int
    kept: Booleans | None


def _coded_batches(source: Source, coding: Coding, first: int) -> Iterator[_Batch]:
    """Yield the batches of a shard in codes, with `first` records of the table before them."""
    columns, before = coding.columns, first
    for batch in source.batches([column.source for column in columns]):
        if not batch.num_rows:
            continue
        arrays = [unpacked(array) for array in batch.columns]
        if before == first:
            for column, array in zip(columns, arrays, strict=True):
                column.begin(array.type)
        coded = [column.code(a, before) for column, a in zip(columns, arrays, strict=True)]
        codes = [part for part in coded if part is not None]
        kept = complete_records(columns, codes, before) if coding.dropping else None
        if kept is not None:
            codes = [part[kept] for part in codes]
        yield _Batch(codes, before, batch.num_rows, kept)
        before += batch.num_rows


def count_shard(source: Source, coding: Coding, first: int, expected: int = 0) -> Kept:
    """Return the counts of a shard, a `PairAccumulator`.

    `expected` are the records that each core will count; 0 where they are not known.
    """
    sizes = coding.domain.sizes
    counts = PairAccumulator(len(sizes))
    rows = 0
    for batch in _coded_batches(source, coding, first):
        rows += batch.rows
        if len(batch.codes[0]):
            counts.add(batch.codes, sizes, compiled=compiled_pays(max(rows, expected), sizes))
    return Kept(rows, counts)


def gather_records(source: Source, coding: Coding, first: int, gathering: Gathering) -> Kept:
    """Return the records of a shard, distinct or sampled."""
    rows = 0
    for batch in _coded_batches(source, coding, first):
        rows += batch.rows
        if len(batch.codes[0]):
            gathering.add(batch.codes, coding.domain.sizes, batch.before, batch.kept)
    return Kept(rows, gathering)
