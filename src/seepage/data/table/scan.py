"""`CodedStream`: a table as batches of codes, its domain found on the way."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage.data.domain import Domain
from seepage.data.table.options import TableOptions
from seepage.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from seepage.data.table.coders import Codes
    from seepage.data.table.column import Column
    from seepage.data.table.sources import Source

__all__ = ["CodedStream", "Restart", "open_stream"]


class Restart(TableError):  # noqa: N818
    """Batches given out so far are void: iterate over the stream again.

    A column of numbers turned out to have more values than `few` only after batches in which
    each of its numbers had a code.  The bin edges of all such columns are known by now; the next
    iteration uses them and does not restart again.
    """


class CodedStream:
    """Iterates over a table in batches of codes; the domain is found on the way.

    Each batch is a tuple with one array of unsigned integers a column, all of the same length:
    uint8 where the column has fewer than 256 values so far, else uint16.  Codes are given in the
    order of discovery, always below `sizes` at that time.  Arrays may be views of the table's own
    memory and are not to be written to.

    The table is read once, and once more (only the columns concerned) for the bin edges of
    columns of numbers that have more than `few` values.  If a column exceeds `few` only after the
    first batch, iterating raises `Restart`: forget the batches so far and iterate again.

    Attributes
    ----------
    names
        The attributes, in the order of the arrays.
    rows_total
        The number of records, None where only reading tells (text files).
    rows_read, rows_dropped
        Records read so far, and of these the ones dropped for a missing value.
    kept
        Which records of the table the last batch has, of those read for it; None if all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"sex": ["M", "F", "M"], "age": [30, 41, None]})
    >>> stream = open_stream(table)
    >>> [[column.tolist() for column in batch] for batch in stream]
    [[[0, 1, 0], [0, 1, 2]]]
    >>> domain, order = stream.finish()
    >>> domain["age"].values, [codes.tolist() for codes in order]
    (('30', '41', '(missing)'), [[1, 0], [0, 1, 2]])
    """

    def __init__(self, source: "Source", columns: "list[Column]", options: TableOptions) -> None:
        self._source = source
        self._columns = columns
        self._options = options
        self.names = tuple(column.name for column in columns)
        self.rows_total = source.rows_total
        self._reset()

    def _reset(self) -> None:
        self.rows_read = 0
        self.rows_dropped = 0
        self.kept: Booleans | None = None
        self._started = False
        self._complete = False
        self._kept: list[Booleans] = [np.zeros(0, dtype=np.bool_) for _ in self._columns]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute so far; codes are below it."""
        if self._options.domain is not None:
            return self._options.domain.sizes
        return tuple(column.coder.size for column in self._columns) if self._started else ()

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:
        from seepage.data.table.coders import unpacked

        self._reset()
        batches = (
            [unpacked(array) for array in batch.columns]
            for batch in self._source.batches([column.source for column in self._columns])
            if batch.num_rows
        )
        for arrays in batches:
            if not self._started:
                self._begin(arrays)
            codes, crowded = self._code(arrays)
            before = self.rows_read
            self.rows_read += len(arrays[0])
            if crowded:
                if before:
                    raise self._restart(crowded, batches)
                codes = self._code_again(arrays, crowded, codes)
            complete = tuple(part for part in codes if part is not None)
            if self._options.dropping:
                complete = self._drop_missing(complete, before)
            if len(complete[0]):
                yield complete
        self._check_records()
        self._complete = True

    def _begin(self, arrays: "list[pa.Array]") -> None:
        for column, array in zip(self._columns, arrays, strict=True):
            column.begin(array.type)
        self._started = True

    def _code(self, arrays: "list[pa.Array]") -> "tuple[list[Codes | None], list[int]]":
        """Return the codes of a batch, and the columns that have none as they need bin edges."""
        codes = [
            column.code(array, self.rows_read)
            for column, array in zip(self._columns, arrays, strict=True)
        ]
        return codes, [place for place, part in enumerate(codes) if part is None]

    def _code_again(
        self, arrays: "list[pa.Array]", crowded: list[int], codes: "list[Codes | None]"
    ) -> "list[Codes | None]":
        """Return the codes of the first batch, now that the crowded columns have bins."""
        self._settle(crowded)
        for place in crowded:
            self._columns[place].begin(arrays[place].type)
            codes[place] = self._columns[place].code(arrays[place], 0)
        return codes

    def _restart(self, crowded: list[int], rest: "Iterable[list[pa.Array]]") -> Restart:
        """Return the restart, once all columns that will need bins are known and have them."""
        needing = set(crowded)
        for arrays in rest:
            needing.update(self._code(arrays)[1])
            self.rows_read += len(arrays[0])
        self._settle(sorted(needing))
        names = ", ".join(repr(self.names[place]) for place in sorted(needing))
        return Restart(
            f"{names} turned out to have more than {self._options.few} numbers late in the "
            "table; read the stream again, or name the bins (bins)"
        )

    def _settle(self, places: list[int]) -> None:
        from seepage.data.table.bin_edges import find_edges

        find_edges(self._source, [self._columns[place] for place in places])

    def _drop_missing(
        self, codes: tuple[NDArray[Any], ...], before: int
    ) -> tuple[NDArray[Any], ...]:
        """Return the codes of records without missing values, and note which codes those have."""
        from seepage.data.table.coders import code_type
        from seepage.data.table.column import complete_records

        self.kept = complete_records(self._columns, codes, before)
        if self.kept is not None:
            self.rows_dropped += len(self.kept) - int(np.count_nonzero(self.kept))
            codes = tuple(
                part[self.kept].astype(code_type(size), copy=False)
                for part, size in zip(codes, self.sizes, strict=True)
            )
        if self._options.domain is None:
            for place, part in enumerate(codes):
                self._note_kept(place, part)
        return codes

    def _note_kept(self, place: int, codes: NDArray[Any]) -> None:
        coder = self._columns[place].coder
        known = self._kept[place]
        expected = coder.size - (coder.missing is not None)
        if np.count_nonzero(known) < expected:
            counts = np.bincount(codes, minlength=coder.size)
            counts[: len(known)] += known
            self._kept[place] = counts > 0

    def _check_records(self) -> None:
        if not self.rows_read:
            raise TableError("the table has no records")
        if self.rows_read == self.rows_dropped:
            raise TableError(f"no record is left: all {self.rows_read:,} have a missing value")

    def finish(self) -> tuple[Domain, tuple[Integers, ...]]:
        """Return the domain and, for each column, the codes in the order of its values.

        Value i of the domain has the code order[i] in the batches, so counts by code become
        counts by value as `final[i] = discovered[order[i]]`.  Numbers and bins are ascending,
        text is sorted, and missing comes last.  Only to be called when all batches were read.
        """
        if not self._complete:
            raise TableError("the domain is known only after all batches were read")
        seen = self._kept if self._options.dropping else [None] * len(self._columns)
        parts = [c.coder.attribute(kept) for c, kept in zip(self._columns, seen, strict=True)]
        return Domain(attribute for attribute, _ in parts), tuple(order for _, order in parts)

    @property
    def constant(self) -> tuple[str, ...]:
        """The attributes with one value only; known after all batches were read."""
        return tuple(attribute.name for attribute in self.finish()[0] if attribute.size == 1)


def open_stream(data: Any, options: TableOptions | None = None) -> CodedStream:
    """Return a table as a stream of codes.

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
    >>> stream = open_stream(table, TableOptions(bins="width:4"))
    >>> batches = list(stream)
    >>> stream.finish()[0]["age"].values
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
    return CodedStream(source, columns, chosen)
