"""`TableScan`: one pass over a table that codes its columns and discovers their values
and bins.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._core.arrays import Booleans, Codes, Integers
from seepage._core.errors import TableError
from seepage._core.progress import Progress
from seepage.channel.domain import Attribute, Domain
from seepage.counting.record_samples import Priorities, RandomPart, record_priorities
from seepage.tables.column import Column
from seepage.tables.labels import numbers_of
from seepage.tables.number_summary import NumberSummary
from seepage.tables.open_source import open_source
from seepage.tables.record_choice import RecordChoice
from seepage.tables.sources import Source
from seepage.tables.table_options import TableOptions

Outcome = TypeVar("Outcome")


class CodedBatch(NamedTuple):
    """The codes of one batch of records.

    Parameters
    ----------
    codes
        One array of unsigned integers per column, of equal length: uint8 if the column
        has fewer than 256 values so far, else uint16.  Arrays may be views of the
        table's memory and must not be written to.
    sizes
        Alphabet size of each attribute so far; codes are below it.
    first
        Index in the table of the batch's first record.
    kept
        Mask of the batch's records that are in `codes`; None for all.
    """

    codes: tuple[NDArray[Any], ...]
    sizes: tuple[int, ...]
    first: int
    kept: Booleans | None


@dataclass(eq=False)
class TableScan:
    """Reads a table, or a shard of one, as batches of codes, and discovers its domain.

    Values are coded in the order of discovery.  Local engines `read` a whole table:
    once, and once more (only the columns concerned) for the bin edges of numeric
    columns with more than 50 values.  Spark's tasks read the `batches` of a shard,
    whose values are merged into a domain, and then again in codes of this domain.

    Parameters
    ----------
    source
        The records.
    columns
        The columns to code.
    options
        The table options.
    first
        For a shard, the index in the table of its first record; None for a whole table.
    part
        Records that are left out; None for none.  Values are discovered in all records,
        also in those of people of whom another record is chosen.
    beside
        A column of the table that is read as it is, beside the codes; None for none.

    Attributes
    ----------
    rows_read, rows_dropped
        Records read so far, and records among them dropped for a missing value.
    beside_values
        The column `beside` of the records of the batch yielded last.

    Examples
    --------
    >>> import pyarrow as pa
    >>> scan = open_scan(pa.table({"sex": ["M", "F", "M"], "age": [30, 41, None]}))
    >>> [[column.tolist() for column in batch.codes] for batch in scan.read(list)]
    [[[0, 1, 0], [0, 1, 2]]]
    >>> domain, order = scan.finish()
    >>> domain["age"].values, [codes.tolist() for codes in order]
    (('30', '41', '(missing)'), [[1, 0], [0, 1, 2]])
    """

    source: Source
    columns: Sequence[Column]
    options: TableOptions
    first: int | None = None
    part: RandomPart | None = None
    beside: str | None = None
    beside_values: pa.Array | None = field(default=None, init=False)
    rows_read: int = field(default=0, init=False)
    rows_dropped: int = field(default=0, init=False)
    _complete: bool = field(default=False, init=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes of the scan, in the order of the arrays."""
        return tuple(column.name for column in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Alphabet size of each attribute of the scan so far; codes are below it."""
        return tuple(column.size for column in self.columns)

    def read(
        self,
        consume: Callable[[Iterator[CodedBatch]], Outcome],
        progress: Progress | None = None,
    ) -> Outcome:
        """Scan the whole table: return `consume(batches)` of its batches.

        Parameters
        ----------
        consume
            Function of an iterator over the batches.  If a numeric column exceeds 50
            values, the iterator ends early, the outcome is discarded, and `consume` is
            called once more, with the bin edges of all such columns known.
        progress
            Called with the number of records read and their total, None if unknown.
        """
        outcome = consume(self.batches(progress))
        unbinned = self._unbinned()
        while unbinned:
            summaries = summaries_of(self.source, unbinned)
            for column, summary in zip(unbinned, summaries, strict=True):
                column.set_edges(summary)
            outcome = consume(self.batches(progress))
            unbinned = self._unbinned()
        return outcome

    def _unbinned(self) -> list[Column]:
        """Return the columns of the scan whose bin edges are unknown."""
        return [column for column in self.columns if column.needs_edges]

    def batches(self, progress: Progress | None = None) -> Iterator[CodedBatch]:
        """Yield the coded batches of one pass of the scan, until a column needs bin
        edges that are unknown.

        The rest is then read only to find all such columns and all values; of a whole
        table not even that if the first batch tells.
        """
        self._start_pass()
        choice = self._new_choice()
        for batch in self.source.batches(self._columns_read()):
            if not batch.num_rows:
                continue
            first = self.rows_read + (self.first or 0)
            self.rows_read += batch.num_rows
            coded = self._coded(batch, first, choice)
            if coded is None:
                is_first_of_table = self.first is None and first == 0
                if is_first_of_table:
                    return
                continue
            self._keep_beside(batch, coded.kept)
            if len(coded.codes[0]):
                yield coded
            if progress is not None:
                progress(self.rows_read, self.source.rows_total)
        self._end_pass()

    def _start_pass(self) -> None:
        """Forget the records and values of the scan's pass before."""
        self.rows_read = 0
        self.rows_dropped = 0
        self._complete = False
        for column in self.columns:
            column.reset()

    def _end_pass(self) -> None:
        """Note whether the scan is complete; a whole table without records raises."""
        self._complete = not self._unbinned()
        if self._complete and self.first is None:
            check_records(self.rows_read, self.rows_read - self.rows_dropped)

    def _new_choice(self) -> RecordChoice | None:
        """Return the scan's choice among the records of each person; None for all
        records.
        """
        person = self.options.person_column
        if person is None and self.part is None:
            return None
        return RecordChoice(person, fields=self.source.fields, part=self.part)

    def _columns_read(self) -> list[str]:
        """Return the columns that the scan reads: those to code, the person's, and that
        beside.
        """
        names = list(self.names)
        for name in (self.options.person_column, self.beside):
            if name is not None and name not in names:
                names.append(name)
        return names

    def _keep_beside(self, batch: pa.RecordBatch, kept: Booleans | None) -> None:
        """Note the column `beside` of the scanned records of a batch that are kept."""
        if self.beside is None:
            return
        self.beside_values = batch.column(self.beside)
        if kept is not None:
            self.beside_values = self.beside_values.filter(kept)

    def _coded(
        self, batch: pa.RecordBatch, first: int, choice: RecordChoice | None
    ) -> CodedBatch | None:
        """Return the scanned batch without dropped records, and of each person the
        chosen one.

        None if a column needs bin edges.  Values outside the domain of records that are
        not dropped raise; the codes of these records are recorded as seen.
        """
        codes = list[Codes | None]()
        for column in self.columns:
            codes.append(column.code(batch.column(column.name), first))
        kept = None
        if self.options.dropping:
            kept = self._not_dropped(batch, codes)
        known = list[Codes]()
        for column, of_column in zip(self.columns, codes, strict=True):
            if of_column is None:
                continue
            known.append(of_column)
            column.check_inside(of_column, kept, first)
            if self.options.dropping:
                column.see(of_column if kept is None else of_column[kept])
        if len(known) < len(codes):
            return None
        if choice is not None:
            kept = choice.kept_records(batch, first, kept)
        narrow = list[Codes]()
        for size, of_column in zip(self.sizes, known, strict=True):
            of_kept = of_column if kept is None else of_column[kept]
            narrow.append(of_kept.astype(np.min_scalar_type(size), copy=False))
        return CodedBatch(tuple(narrow), self.sizes, first, kept)

    def _not_dropped(
        self, batch: pa.RecordBatch, codes: Sequence[Codes | None]
    ) -> Booleans | None:
        """Return the mask of the scanned records without a missing value; None for
        all.
        """
        dropped = np.zeros(batch.num_rows, dtype=np.bool_)
        for column, of_column in zip(self.columns, codes, strict=True):
            dropped |= column.missing_in(batch.column(column.name), of_column)
        self.rows_dropped += int(np.count_nonzero(dropped))
        return ~dropped if dropped.any() else None

    def finish(self) -> tuple[Domain, tuple[Integers, ...]]:
        """Return the scan's domain and, for each column, its codes in the order of the
        domain's values.

        Value i of the domain has code order[i] in the batches, so counts by code become
        counts by value as `final[i] = discovered[order[i]]`.  Numbers and bins are
        ascending, strings are sorted, and missing is last.  All batches must have been
        read.
        """
        if not self._complete:
            raise TableError("the domain is known only after all batches were read")
        attributes = list[Attribute]()
        orders = list[Integers]()
        for column in self.columns:
            attribute, order = column.attribute()
            attributes.append(attribute)
            orders.append(order)
        return Domain(attributes), tuple(orders)


def columns_of(source: Source, options: TableOptions) -> list[Column]:
    """Return the columns to scan that the options choose of a table."""
    names = options.choose(source.names)
    return [Column(name, options, fields=source.fields) for name in names]


def summaries_of(
    source: Source, columns: Sequence[Column], first: int = 0
) -> list[NumberSummary]:
    """Return the summary of each column's numbers, in one scan of these columns.

    A value that is not a number ends the summary of its column; of a column that the
    options bin by name it raises a TableError.

    Parameters
    ----------
    source, first
        A table or a shard of one, and the index in the table of its first record.
    columns
        The columns.
    """
    summaries = [NumberSummary() for _ in columns]
    for batch in source.batches([column.name for column in columns]):
        priorities = record_priorities(first, batch.num_rows)
        for column, summary in zip(columns, summaries, strict=True):
            if summary.stray is None:
                array = batch.column(column.name)
                _summarise(summary, column, array, priorities, first)
        first += batch.num_rows
    return summaries


def _summarise(
    summary: NumberSummary,
    column: Column,
    array: pa.Array,
    priorities: Priorities,
    first: int,
) -> None:
    """Add the numbers of a scanned batch to the summary of its column, or end the
    summary.
    """
    parsed = numbers_of(array, column.markers)
    if parsed.texts.any():
        position = int(np.argmax(parsed.texts))
        if column.named:
            raise column.not_a_number(position, first)
        summary.stray = str(array[position].as_py()).strip()
        return
    present = ~parsed.missing
    summary.add(parsed.values[present], priorities[present])


def check_records(rows: int, kept: int) -> None:
    """Raise a TableError for a scanned table without records, or if all records were
    dropped.
    """
    if not rows:
        raise TableError("the table has no records")
    if not kept:
        raise TableError(f"no record is left: all {rows:,} have a missing value")


def open_scan(
    data: Any, options: TableOptions | None = None, part: RandomPart | None = None
) -> TableScan:
    """Return the scan of a table.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or Feather
        file (text also gzipped), of a folder of such files, a glob, or a list of paths.
    options
        The table options; the defaults if not given.
    part
        Records that are left out; None for none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": range(100), "smoker": [True, False] * 50})
    >>> scan = open_scan(table, TableOptions(bins="width:4"))
    >>> scan.read(lambda batches: sum(len(batch.codes[0]) for batch in batches))
    100
    >>> scan.finish()[0]["age"].values
    ('[0, 25)', '[25, 50)', '[50, 75)', '[75, 99]')
    """
    if options is None:
        options = TableOptions()
    source = open_source(data, options)
    columns = columns_of(source, options)
    if source.rows_total == 0:
        raise TableError("the table has no records")
    return TableScan(source, columns, options, part=part)
