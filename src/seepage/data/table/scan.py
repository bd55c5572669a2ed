"""The one scan of a table: batches of records to codes, values found and numbers collected."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage._results import Progress
from seepage.data.domain import Domain
from seepage.data.table.options import TableOptions
from seepage.data.table.sampling import NumberSummary, priorities
from seepage.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from seepage.data.table.arrow_numbers import Codes
    from seepage.data.table.column import Column
    from seepage.data.table.persons import RecordChoice
    from seepage.data.table.sources import Source


Made = TypeVar("Made")


class CodedBatch(NamedTuple):
    """The codes of some records.

    Parameters
    ----------
    codes
        One array of unsigned integers per column, all of the same length: uint8 where the column
        has fewer than 256 values so far, else uint16.  Arrays may be views of the table's own
        memory and are not to be written to.
    sizes
        The number of values of each attribute so far; codes are below it.
    first
        The number of records of the table before the batch.
    kept
        Which records of the batch are in `codes`; None where all are.
    """

    codes: tuple[NDArray[Any], ...]
    sizes: tuple[int, ...]
    first: int
    kept: Booleans | None


class TableScan:
    """Reads a table, or a shard of one, in batches of codes; the domain is found on the way.

    Codes are given in the order of discovery.  Local engines `read` a whole table: it is read
    once, and once more (only the columns concerned) for the bin edges of columns of numbers that
    have more than `few` values.  Spark's tasks `find` the values of a shard, which are merged to
    a domain, and then code its `batches` in that.

    Parameters
    ----------
    source
        The records.
    columns
        The columns that are coded.
    options
        How the table is read.
    first
        For a shard of a table, the number of records before it; None for a whole table.
    choice
        Chooses among the records that are not dropped: one per person; None for all.  Values are
        found in all of them.

    Attributes
    ----------
    names
        The attributes, in the order of the arrays.
    columns
        The columns.
    rows_total
        The number of records, None where only reading tells (text files).
    rows_read, rows_dropped
        Records read so far, and of these the ones dropped for a missing value.
    numbers
        The numbers that `find` collected, by the index of their column.
    lacking
        The indices of columns in which `find` met missing numbers, of those without codes.

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
        source: "Source",
        columns: "Sequence[Column]",
        options: TableOptions,
        first: int | None = None,
        choice: "RecordChoice | None" = None,
    ) -> None:
        self._source = source
        self._options = options
        self._first = first
        self._choice = choice
        self._people: pa.Array | None = None
        self.columns = columns
        self.names = tuple(column.name for column in columns)
        self.rows_total = source.rows_total
        self._reset()

    def _reset(self) -> None:
        self.rows_read = 0
        self.rows_dropped = 0
        self.numbers: dict[int, NumberSummary] = {}
        self.lacking: set[int] = set()
        self._complete = False
        self._seen: list[Booleans] = [np.zeros(0, dtype=np.bool_) for _ in self.columns]
        if self._choice is not None:
            self._choice.reset()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute so far; codes are below it."""
        if self._options.domain is not None:
            return self._options.domain.sizes
        return tuple(column.alphabet.size for column in self.columns)

    def read(
        self, consume: Callable[[Iterator[CodedBatch]], Made], progress: Progress | None = None
    ) -> Made:
        """Return what is made of all batches.

        Parameters
        ----------
        consume
            Takes an iterator over the batches and returns what it makes of them.  Where a column
            of numbers turns out to have more than `few` values only after the first batch, the
            iterator ends, what was made is forgotten, and `consume` is called once more: the bin
            edges of all such columns are known by then.
        progress
            Called with the records read so far and the records in all, None where not known.
        """
        made = consume(self._pass(progress))
        return made if self._complete else consume(self._pass(progress))

    def batches(self, progress: Progress | None = None) -> Iterator[CodedBatch]:
        """Yield the batches of a table whose domain is given, and which is therefore read once."""
        if self._options.domain is None:
            raise TableError("codes are final only in a given domain (domain)")
        return self._pass(progress)

    def _pass(self, progress: Progress | None = None) -> Iterator[CodedBatch]:
        """Yield the batches; end early, not complete, where codes given out are void."""
        self._reset()
        batches = self._arrays()
        for arrays in batches:
            before = self.rows_read
            codes = self._code(arrays)
            crowded = [index for index, part in enumerate(codes) if part is None]
            if crowded and before:
                self._settle_late(crowded, batches)
                return
            if crowded:
                self._settle(crowded)
                for index in crowded:
                    self.columns[index].begin(arrays[index].type)
                    codes[index] = self.columns[index].code(arrays[index], self._number(before))
            batch = self._chosen(self._left(codes, {}, before), len(arrays[0]))
            if len(batch.codes[0]):
                yield batch
            if progress is not None:
                progress(self.rows_read, self.rows_total)
        if self._first is None:
            check_records(self.rows_read, self.rows_read - self.rows_dropped)
        self._complete = True

    def _arrays(self) -> "Iterator[list[pa.Array]]":
        """Yield the arrays of each batch; the columns begin with the first."""
        from seepage.data.table.coders import unpacked

        names = [column.source for column in self.columns]
        person = None if self._choice is None else self._choice.column
        wanted = names if person is None or person in names else [*names, person]
        for batch in self._source.batches(wanted):
            if batch.num_rows:
                self._people = None if person is None else batch.column(person)
                arrays = [unpacked(batch.column(column.source)) for column in self.columns]
                if not self.rows_read:
                    for column, array in zip(self.columns, arrays, strict=True):
                        column.begin(array.type)
                yield arrays

    def _chosen(self, batch: CodedBatch, rows: int) -> CodedBatch:
        """Return the records of a batch that are chosen, of those that are not dropped."""
        if self._choice is None:
            return batch
        mask = self._choice.chosen(self._people, batch.first, rows, batch.kept)
        if mask.all():
            return batch
        left = mask if batch.kept is None else mask[batch.kept]
        return batch._replace(codes=tuple(part[left] for part in batch.codes), kept=mask)

    def _number(self, before: int) -> int:
        return before + (self._first or 0)

    def _code(self, arrays: "list[pa.Array]") -> "list[Codes | None]":
        """Return the codes of a batch, None for columns whose bin edges are not known."""
        before = self._number(self.rows_read)
        self.rows_read += len(arrays[0])
        return [
            column.code(array, before) for column, array in zip(self.columns, arrays, strict=True)
        ]

    def _settle_late(self, crowded: list[int], rest: "Iterable[list[pa.Array]]") -> None:
        """Find all columns that need bins, in the rest of the table too, and their edges."""
        needing = set(crowded)
        for arrays in rest:
            needing |= {index for index, part in enumerate(self._code(arrays)) if part is None}
        self._settle(sorted(needing))

    def _settle(self, indices: list[int]) -> None:
        """Find the bin edges of columns, reading these columns of the whole table once.

        A column of a text file that also has fields that are no numbers stays a column of
        categories, unless the options bin it by name: that is an error.  A column with one
        number only, or with numbers closer together than floats, stays one of categories too.
        """
        from seepage.data.table.column import collect_numbers

        columns = [self.columns[index] for index in indices]
        pending = [column for column in columns if not column.settle_given()]
        if pending:
            found = collect_numbers(self._source, pending)
            for column, numbers in zip(pending, found, strict=True):
                if numbers is not None:
                    column.settle(column.edges_of(numbers))

    def find(self, share: float) -> Iterator[CodedBatch | None]:
        """Yield the batches of a shard, None where a column has no codes since it needs bins.

        Parameters
        ----------
        share
            The share of numbers that bin edges are found from, of what is not counted one by one.
            They are collected of columns that need bins from the first batch on.
        """
        self._reset()
        for arrays in self._arrays():
            before = self.rows_read
            codes = self._code(arrays)
            absent: dict[int, Booleans | None] = {}
            crowded = [index for index, part in enumerate(codes) if part is None]
            ranks = priorities(self._number(before), len(arrays[0])) if crowded else None
            for index in crowded:
                if not before:
                    self.numbers[index] = NumberSummary(share)
                numbers = self.numbers.get(index)
                absent[index] = self.columns[index].collect(arrays[index], ranks, numbers)
            self.lacking |= {index for index, mask in absent.items() if _any(mask)}
            batch = self._left(codes, absent, before)
            yield None if absent else batch
        self._complete = True

    def _left(
        self,
        codes: "Sequence[Codes | None]",
        absent: Mapping[int, Booleans | None],
        before: int,
    ) -> CodedBatch:
        """Return the batch without the records that are dropped; note which codes are left.

        `absent` says where numbers are missing in columns without codes.
        """
        first, sizes = self._number(before), self.sizes
        if not self._options.dropping:
            complete = [part for part in codes if part is not None]
            return CodedBatch(tuple(complete), sizes, first, None)
        masks = [*absent.values(), *map(_missing, self.columns, codes)]
        there = [mask for mask in masks if mask is not None]
        missing = np.logical_or.reduce(there) if there else None
        kept = None if missing is None or not _any(missing) else ~missing
        if kept is not None:
            self.rows_dropped += len(kept) - int(np.count_nonzero(kept))
        complete = [
            self._left_in(index, part, kept, first, sizes[index])
            for index, part in enumerate(codes)
            if part is not None
        ]
        return CodedBatch(tuple(complete), sizes, first, kept)

    def _left_in(
        self, index: int, codes: "Codes", kept: Booleans | None, first: int, size: int
    ) -> "Codes":
        """Return the codes of a column in the records kept, and note which these are."""
        from seepage.data.table.arrow_numbers import code_type

        column, seen = self.columns[index], self._seen[index]
        column.check_inside(codes, kept, first)
        if kept is not None:
            codes = codes[kept].astype(code_type(size), copy=False)
        expected = size - (column.alphabet.missing is not None)
        if self._options.domain is None and np.count_nonzero(seen) < expected:
            counts = np.bincount(codes, minlength=size)
            counts[: len(seen)] += seen
            self._seen[index] = counts > 0
        return codes

    def seen(self, index: int) -> Booleans | None:
        """Return which codes of a column are in records that are not dropped; None for all."""
        if not self._options.dropping:
            return None
        seen = self._seen[index]
        return np.pad(seen, (0, max(self.columns[index].alphabet.size - len(seen), 0)))

    def finish(self) -> tuple[Domain, tuple[Integers, ...]]:
        """Return the domain and, for each column, the codes in the order of its values.

        Value i of the domain has the code order[i] in the batches, so counts by code become
        counts by value as `final[i] = discovered[order[i]]`.  Numbers and bins are ascending,
        text is sorted, and missing comes last.  Only to be called when all batches were read.
        """
        if not self._complete:
            raise TableError("the domain is known only after all batches were read")
        parts = [
            column.alphabet.attribute(self.seen(index)) for index, column in enumerate(self.columns)
        ]
        return Domain(attribute for attribute, _ in parts), tuple(order for _, order in parts)


def _any(mask: Booleans | None) -> bool:
    return mask is not None and bool(mask.any())


def _missing(column: "Column", codes: "Codes | None") -> Booleans | None:
    """Return where the values of a column are missing, None where nowhere or without codes."""
    missing = column.alphabet.missing
    return None if codes is None or missing is None else codes == missing


def check_records(rows: int, left: int) -> None:
    """Raise an error for a table without records, or with none left after dropping."""
    if not rows:
        raise TableError("the table has no records")
    if not left:
        raise TableError(f"no record is left: all {rows:,} have a missing value")


def open_scan(data: Any, options: TableOptions | None = None) -> TableScan:
    """Return the scan of a table.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or Feather file
        (text also gzipped), of a folder of such files, a glob, or a list of paths.
    options
        Which columns, which bins, what is missing.

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
    from seepage.data.table.column import Column
    from seepage.data.table.sources import open_source

    chosen = options or TableOptions()
    source = open_source(data, chosen)
    columns = [
        Column(choice, chosen, fields=source.fields) for choice in chosen.choose(source.names)
    ]
    if source.rows_total == 0:
        raise TableError("the table has no records")
    choice = None
    if chosen.person is not None:
        from seepage.data.table.persons import FirstOfPerson

        choice = FirstOfPerson(chosen.person, fields=source.fields)
    return TableScan(source, columns, chosen, choice=choice)
