"""`TableScan`: one pass over a table that codes its columns and discovers their values
and bins.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage._results import Progress
from seepage.data import Domain
from seepage.data.counting.distinct import RandomPart, record_priorities
from seepage.data.table import TableOptions
from seepage.data.table.bins import NumberSummary
from seepage.data.table.column import Column, encoded, record_name
from seepage.data.table.sources import Source, open_source
from seepage.data.table.text import field_key, numbers_of
from seepage.errors import TableError

Outcome = TypeVar("Outcome")
Keys = NDArray[np.uint64]


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


class RecordChoice:
    """Selects records during a scan: the first one of every person, and those outside a
    part.

    A person is identified by a 64-bit key: an integer is its own key, other identifiers
    are hashed. Two people with the same key (probability 3e-8 among a million people)
    count as one person, so that no person counts twice.  Memory: 8 bytes per person.

    Parameters
    ----------
    person
        The column that identifies the person; None for all records.
    fields
        Whether it consists of fields of a text file.
    part
        A random part that is left out; None for none.

    Examples
    --------
    >>> choice = RecordChoice("id")
    >>> choice.chosen(pa.RecordBatch.from_pydict({"id": [7, 8, 7]})).tolist()
    [True, True, False]
    >>> choice.chosen(pa.RecordBatch.from_pydict({"id": [9, 8]}), 3).tolist()
    [True, False]
    """

    def __init__(
        self,
        person: str | None = None,
        *,
        fields: bool = False,
        part: RandomPart | None = None,
    ) -> None:
        self.person = person
        self._fields = fields
        self._part = part
        self._seen: list[Keys] = []

    def keys(self, batch: pa.RecordBatch, first: int) -> Keys | None:
        """Return the 64-bit keys of a batch's people; None if every record is chosen.

        A missing identifier raises a TableError; `first` is the number of records
        before the batch.
        """
        if self.person is None:
            return None
        array = batch.column(self.person)
        if pa.types.is_integer(array.type) and not array.null_count:
            return (
                np.asarray(array.to_numpy(zero_copy_only=False))
                .astype(np.int64)
                .view(np.uint64)
            )
        indices, values = encoded(array)
        hashes = [_hash(value, self._fields) for value in values.to_pylist()]
        keys = pa.array(hashes, pa.uint64()).take(indices)
        if keys.null_count:
            missing = keys.is_null().to_numpy(zero_copy_only=False)
            raise TableError(
                f"{record_name(first + int(np.argmax(missing)))}: column {self.person!r} is "
                "missing, and person must be known in every record; leave such records out"
            )
        return np.asarray(keys.to_numpy())

    def chosen(
        self, batch: pa.RecordBatch, first: int = 0, kept: Booleans | None = None
    ) -> Booleans | None:
        """Return the mask of the chosen records of a batch; None for all.

        Parameters
        ----------
        batch
            The batch, with the identifying column if there is one.
        first
            The number of records before the batch.
        kept
            Mask of the records that are not dropped; None for all.
        """
        keys = self.keys(batch, first)
        rows = batch.num_rows
        if self._part is not None:
            outside = self._part.priorities(keys, first, rows) >= np.uint64(
                self._part.threshold
            )
            kept = outside if kept is None else kept & outside
        if keys is None:
            return kept
        indices = np.arange(rows) if kept is None else np.flatnonzero(kept)
        distinct, first_index = np.unique(keys[indices], return_index=True)
        new = np.ones(len(distinct), dtype=np.bool_)
        for run in self._seen:
            nearest = np.minimum(np.searchsorted(run, distinct), len(run) - 1)
            new &= run[nearest] != distinct
        self._add(distinct[new])
        mask = np.zeros(rows, dtype=np.bool_)
        mask[indices[first_index[new]]] = True
        return None if mask.all() else mask

    def _add(self, keys: Keys) -> None:
        """Add a sorted run of new keys; runs of similar length are merged, so O(log n)
        remain.
        """
        if len(keys):
            self._seen.append(keys)
        while len(self._seen) > 1 and len(self._seen[-2]) <= 2 * len(self._seen[-1]):
            self._seen[-2:] = [np.sort(np.concatenate(self._seen[-2:]))]


def _hash(value: Any, fields: bool) -> int | None:
    """Return the key of an identifier, None if it is missing."""
    if value is None or value != value or (fields and field_key(value) is None):
        return None
    text = value.strip() if isinstance(value, str) else str(value)
    digest = hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
    return int.from_bytes(digest, "little")


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
        """The attributes, in the order of the arrays."""
        return tuple(column.name for column in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Alphabet size of each attribute so far; codes are below it."""
        return tuple(column.size for column in self.columns)

    def read(
        self,
        consume: Callable[[Iterator[CodedBatch]], Outcome],
        progress: Progress | None = None,
    ) -> Outcome:
        """Return `consume(batches)` for the batches of the whole table.

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
        while unbinned := [column for column in self.columns if column.needs_edges]:
            summaries = summaries_of(self.source, unbinned)
            for column, summary in zip(unbinned, summaries, strict=True):
                column.set_edges(summary)
            outcome = consume(self.batches(progress))
        return outcome

    def batches(self, progress: Progress | None = None) -> Iterator[CodedBatch]:
        """Yield the coded batches in one pass, until a column needs bin edges that are
        unknown.

        The rest is then read only to find all such columns and all values; of a whole
        table not even that if the first batch tells.
        """
        self.rows_read = self.rows_dropped = 0
        self._complete = False
        for column in self.columns:
            column.reset()
        person = self.options.person
        choice = None
        if person is not None or self.part is not None:
            choice = RecordChoice(person, fields=self.source.fields, part=self.part)
        further = (name for name in (person, self.beside) if name is not None)
        for batch in self.source.batches(list(dict.fromkeys([*self.names, *further]))):
            if not batch.num_rows:
                continue
            first = self.rows_read + (self.first or 0)
            self.rows_read += batch.num_rows
            coded = self._coded(batch, first, choice)
            if coded is None:
                if self.first is None and not first:
                    return
                continue
            if self.beside is not None:
                beside = batch.column(self.beside)
                self.beside_values = (
                    beside if coded.kept is None else beside.filter(coded.kept)
                )
            if len(coded.codes[0]):
                yield coded
            if progress is not None:
                progress(self.rows_read, self.source.rows_total)
        self._complete = not any(column.needs_edges for column in self.columns)
        if self._complete and self.first is None:
            check_records(self.rows_read, self.rows_read - self.rows_dropped)

    def _coded(
        self, batch: pa.RecordBatch, first: int, choice: RecordChoice | None
    ) -> CodedBatch | None:
        """Return the batch without dropped records, and of each person the chosen one.

        None if a column needs bin edges.  Values outside the domain of records that are
        not dropped raise; the codes of these records are recorded as seen.
        """
        arrays = [batch.column(name) for name in self.names]
        coded = [
            (c, c.code(array, first))
            for c, array in zip(self.columns, arrays, strict=True)
        ]
        kept = None
        if self.options.dropping:
            masks = (
                c.missing_in(array, part)
                for array, (c, part) in zip(arrays, coded, strict=True)
            )
            dropped = np.logical_or.reduce(list(masks))
            self.rows_dropped += int(np.count_nonzero(dropped))
            kept = ~dropped if dropped.any() else None
        known = [(column, part) for column, part in coded if part is not None]
        for column, part in known:
            column.check_inside(part, kept, first)
            if self.options.dropping:
                column.see(part if kept is None else part[kept])
        if len(known) < len(coded):
            return None
        if choice is not None:
            kept = choice.chosen(batch, first, kept)
        kinds = [np.min_scalar_type(size) for size in self.sizes]
        chosen = (part if kept is None else part[kept] for _, part in known)
        narrow = (
            part.astype(kind, copy=False)
            for part, kind in zip(chosen, kinds, strict=True)
        )
        return CodedBatch(tuple(narrow), self.sizes, first, kept)

    def finish(self) -> tuple[Domain, tuple[Integers, ...]]:
        """Return the domain and, for each column, its codes in the order of the
        domain's values.

        Value i of the domain has code order[i] in the batches, so counts by code become
        counts by value as `final[i] = discovered[order[i]]`.  Numbers and bins are
        ascending, strings are sorted, and missing is last.  All batches must have been
        read.
        """
        if not self._complete:
            raise TableError("the domain is known only after all batches were read")
        parts = [column.attribute() for column in self.columns]
        return Domain(attribute for attribute, _ in parts), tuple(
            order for _, order in parts
        )


def columns_of(source: Source, options: TableOptions) -> list[Column]:
    """Return the columns that the options choose of a table."""
    chosen = options.choose(source.names)
    return [Column(name, options, fields=source.fields) for name in chosen]


def summaries_of(
    source: Source, columns: Sequence[Column], first: int = 0
) -> list[NumberSummary]:
    """Return the summary of each column's numbers, in one pass over these columns.

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
            if summary.stray is not None:
                continue
            array = batch.column(column.name)
            values, missing, texts = numbers_of(array, column.markers)
            if texts.any():
                position = int(np.argmax(texts))
                if column.named:
                    raise column.not_a_number(position, first)
                summary.stray = str(array[position].as_py()).strip()
            else:
                summary.add(values[~missing], priorities[~missing])
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
    chosen = options or TableOptions()
    source = open_source(data, chosen)
    columns = columns_of(source, chosen)
    if source.rows_total == 0:
        raise TableError("the table has no records")
    return TableScan(source, columns, chosen, part=part)
