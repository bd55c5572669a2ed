"""`TableScan`: one pass over a table that codes its columns and discovers their values and bins."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans, Codes, Integers
from seepage._results import Progress
from seepage.data.counting.distinct import record_priorities
from seepage.data.domain import Domain
from seepage.data.table.bins import NumberSummary
from seepage.data.table.column import Column
from seepage.data.table.labels import code_type
from seepage.data.table.options import TableOptions
from seepage.data.table.persons import RandomPart, RecordChoice
from seepage.data.table.sources import Source, open_source
from seepage.errors import TableError

Outcome = TypeVar("Outcome")


class CodedBatch(NamedTuple):
    """The codes of one batch of records.

    Parameters
    ----------
    codes
        One array of unsigned integers per column, of equal length: uint8 if the column has fewer
        than 256 values so far, else uint16.  Arrays may be views of the table's memory and must
        not be written to.
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


class TableScan:
    """Reads a table, or a shard of one, as batches of codes, and discovers its domain.

    Values are coded in the order of discovery.  Local engines `read` a whole table: once, and once
    more (only the columns concerned) for the bin edges of numeric columns with more than 50
    values.  Spark's tasks `find` the values of a shard, which are merged into a domain, and then
    code the shard's `batches` in it.

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
    choice
        Selects among the records that are not dropped: one per person; None for all.  Values are
        discovered in all records.
    beside
        A column of the table that is read as it is, beside the codes; None for none.

    Attributes
    ----------
    names
        The attributes, in the order of the arrays.
    columns
        The columns.
    rows_total
        The number of records, None if unknown before reading (text files).
    rows_read, rows_dropped
        Records read so far, and records among them dropped for a missing value.
    beside
        The column read as it is, of the records of the batch yielded last.

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

    def __init__(
        self,
        source: Source,
        columns: Sequence[Column],
        options: TableOptions,
        first: int | None = None,
        choice: RecordChoice | None = None,
        beside: str | None = None,
    ) -> None:
        self._source = source
        self._options = options
        self._first = first
        self._choice = choice
        self._beside = beside
        self.beside: pa.Array | None = None
        self._people: pa.Array | None = None
        self.columns = columns
        self.names = tuple(column.name for column in columns)
        self.rows_total = source.rows_total
        self._reset()

    def _reset(self) -> None:
        self.rows_read = 0
        self.rows_dropped = 0
        self._complete = False
        if self._choice is not None:
            self._choice.reset()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Alphabet size of each attribute so far; codes are below it."""
        return tuple(column.size for column in self.columns)

    def read(
        self, consume: Callable[[Iterator[CodedBatch]], Outcome], progress: Progress | None = None
    ) -> Outcome:
        """Return `consume(batches)` for the batches of the whole table.

        Parameters
        ----------
        consume
            Function of an iterator over the batches.  If a numeric column exceeds 50 values, the
            iterator ends early, the outcome is discarded, and `consume` is called once more, with
            the bin edges of all such columns known.
        progress
            Called with the number of records read and their total, None if unknown.
        """
        outcome = consume(self._pass(progress))
        while not self._complete:
            outcome = consume(self._pass(progress))
        return outcome

    def batches(self, progress: Progress | None = None) -> Iterator[CodedBatch]:
        """Yield the batches coded in the domain of the options, in one pass."""
        if self._options.domain is None:
            raise TableError("codes are final only in a given domain")
        return self._pass(progress)

    def _pass(self, progress: Progress | None = None) -> Iterator[CodedBatch]:
        """Yield the batches; end early, not complete, if codes yielded before became invalid."""
        self._reset()
        batches = self._coded()
        for arrays, codes, first in batches:
            unbinned = set(_without_codes(codes))
            if unbinned:
                if self.rows_read > len(arrays[0]):  # find all such columns before the next pass
                    unbinned.update(i for _, rest, _ in batches for i in _without_codes(rest))
                find_edges(self._source, [self.columns[index] for index in sorted(unbinned)])
                return
            batch = self._selected(codes, [], first)
            if self.beside is not None and batch.kept is not None:
                self.beside = self.beside.filter(batch.kept)
            if len(batch.codes[0]):
                yield batch
            if progress is not None:
                progress(self.rows_read, self.rows_total)
        if self._first is None:
            check_records(self.rows_read, self.rows_read - self.rows_dropped)
        self._complete = True

    def _coded(self) -> Iterator[tuple[list[pa.Array], list[Codes | None], int]]:
        """Yield the arrays, codes and index of the first record of each nonempty batch.

        The codes of columns that need bin edges not known yet are None.
        """
        names = [column.name for column in self.columns]
        person = None if self._choice is None else self._choice.person
        further = (name for name in (person, self._beside) if name is not None)
        to_read = list(dict.fromkeys([*names, *further]))
        for batch in self._source.batches(to_read):
            if not batch.num_rows:
                continue
            self._people = None if person is None else batch.column(person)
            self.beside = None if self._beside is None else batch.column(self._beside)
            arrays = [batch.column(name) for name in names]
            if not self.rows_read:
                for column, array in zip(self.columns, arrays, strict=True):
                    column.start(array.type)
            first = self.rows_read + (self._first or 0)
            self.rows_read += batch.num_rows
            coded = zip(self.columns, arrays, strict=True)
            yield arrays, [column.code(array, first) for column, array in coded], first

    def find(self) -> Iterator[CodedBatch | None]:
        """Yield the batches of a shard, None if a column has no codes because it needs bins."""
        self._reset()
        for arrays, codes, first in self._coded():
            unbinned = _without_codes(codes)
            missing = [self.columns[i].missing_numbers(arrays[i]) for i in unbinned]
            batch = self._selected(codes, [mask for mask in missing if mask is not None], first)
            yield None if unbinned else batch
        self._complete = True

    def _selected(
        self, codes: Sequence[Codes | None], missing: list[Booleans], first: int
    ) -> CodedBatch:
        """Return the batch without dropped records, and of each person the chosen one.

        Values outside the domain of records that are not dropped raise; their codes are recorded
        as seen.  `missing` are masks of missing numbers of columns without codes.
        """
        coded = [(i, part) for i, part in enumerate(codes) if part is not None]
        sizes = self.sizes
        kept = None
        if self._options.dropping:
            kept = self._complete_records(coded, missing)
        for index, part in coded:
            self.columns[index].check_inside(part, kept, first)
            if self._options.dropping and self._options.domain is None:
                self.columns[index].alphabet.see(part if kept is None else part[kept])
        if self._choice is not None:
            rows = len(coded[0][1])
            chosen = self._choice.chosen(self._people, first, rows, kept)
            kept = None if chosen.all() else chosen
        arrays = (part if kept is None else part[kept] for _, part in coded)
        narrow = (
            part.astype(code_type(sizes[i]), copy=False)
            for (i, _), part in zip(coded, arrays, strict=True)
        )
        return CodedBatch(tuple(narrow), sizes, first, kept)

    def _complete_records(
        self, coded: Sequence[tuple[int, Codes]], missing: list[Booleans]
    ) -> Booleans | None:
        """Return the mask of the records without a missing value; None for all."""
        masks = [*missing]
        for index, part in coded:
            code = self.columns[index].alphabet.missing
            if code is not None:
                masks.append(part == code)
        dropped = np.logical_or.reduce(masks) if masks else np.zeros(1, dtype=np.bool_)
        self.rows_dropped += int(np.count_nonzero(dropped))
        return ~dropped if dropped.any() else None

    def finish(self) -> tuple[Domain, tuple[Integers, ...]]:
        """Return the domain and, for each column, its codes in the order of the domain's values.

        Value i of the domain has code order[i] in the batches, so counts by code become counts by
        value as `final[i] = discovered[order[i]]`.  Numbers and bins are ascending, strings are
        sorted, and missing is last.  All batches must have been read.
        """
        if not self._complete:
            raise TableError("the domain is known only after all batches were read")
        parts = [column.attribute() for column in self.columns]
        return Domain(attribute for attribute, _ in parts), tuple(order for _, order in parts)


def columns_of(
    names: Sequence[str], options: TableOptions, *, fields: bool = False
) -> list[Column]:
    """Return the columns that the options choose of a table with these column names."""
    return [Column(name, options, fields=fields) for name in options.choose(names)]


def _without_codes(codes: Sequence[Codes | None]) -> list[int]:
    """Return the indices of the columns without codes."""
    return [index for index, part in enumerate(codes) if part is None]


def find_edges(source: Source, columns: Sequence[Column]) -> None:
    """Set the bin edges of columns, in one pass over these columns of the whole table.

    A column of a text file with fields that are not numbers stays categorical; if the options bin
    it by name, that is an error.  A column with a single number stays categorical too.
    """
    unknown = []
    for column in columns:
        if column.given_edges and not column.fields:
            column.set_edges(column.given_edges)
        else:
            unknown.append(column)
    summaries = summaries_of(source, unknown) if unknown else ()
    for column, summary in zip(unknown, summaries, strict=True):
        column.set_edges(column.edges_of(summary), summary.stray)


def summaries_of(
    source: Source, columns: Sequence[Column], first: int = 0, share: float = 1.0
) -> list[NumberSummary]:
    """Return the summary of each column's numbers, in one pass over these columns.

    Parameters
    ----------
    source, first
        A table or a shard of one, and the index in the table of its first record.
    columns
        The columns.  A value that is not a number ends the summary of its column; of a column that
        the options bin by name it raises a TableError.
    share
        See `NumberSummary`.
    """
    summaries = [NumberSummary(share) for _ in columns]
    for batch in source.batches([column.name for column in columns]):
        priorities = record_priorities(first, batch.num_rows)
        for column, summary in zip(columns, summaries, strict=True):
            if summary.stray is not None:
                continue
            array = batch.column(column.name)
            values, missing, texts = column.numbers(array)
            if texts is None:
                present = slice(None) if missing is None else ~missing
                summary.add(values[present], priorities[present])
            else:
                position = int(np.argmax(texts))
                if column.binned_by_name:
                    raise column.not_a_number(position, first)
                summary.stray = str(array[position].as_py()).strip()
        if all(summary.stray is not None for summary in summaries):
            break
        first += batch.num_rows
    return summaries


def check_records(rows: int, kept: int) -> None:
    """Raise a TableError for a table without records, or if all records were dropped."""
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
        A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or Feather file
        (text also gzipped), of a folder of such files, a glob, or a list of paths.
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
    chosen = options or TableOptions()
    source = open_source(data, chosen)
    columns = columns_of(source.names, chosen, fields=source.fields)
    if source.rows_total == 0:
        raise TableError("the table has no records")
    choice = None
    if chosen.person is not None or part is not None:
        choice = RecordChoice(chosen.person, fields=source.fields, part=part)
    return TableScan(source, columns, chosen, choice=choice)
