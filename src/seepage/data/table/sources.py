"""Parquet and Feather files as Arrow batches, decoded in the background, column by column.

Frames in memory (pandas, Polars, PyArrow and what else Narwhals knows) as Arrow batches.

Any frame, file, folder or glob as a source of Arrow batches that can be read again.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import pyarrow as pa
import pyarrow.dataset as ds
from narwhals.exceptions import NarwhalsError
from pyarrow.fs import LocalFileSystem
from pyarrow.parquet import ParquetFile

from seepage.data.table.options import TableOptions
from seepage.data.table.paths import PARQUET, TEXT, find_files
from seepage.errors import TableError

__all__ = ["ColumnarSource", "FrameSource", "Source", "open_frame", "open_source"]

BATCH = 2**17
AHEAD = 4
"""Batches decoded ahead of the reader."""

CELL = 8
SHOWN = 20
"""Columns that a message about two schemas names."""

HUGE = 2**29
"""Row groups of more bytes, at 8 a cell, are decoded batch by batch: slower, but in less memory."""


class ColumnarSource:
    """Parquet or Feather files of one schema.

    Text in Parquet is read as dictionaries, which is how it is stored, and never spelt out.

    Parameters
    ----------
    kind
        `PARQUET` or `FEATHER`.
    files
        The files, in the order of their records.
    huge
        Bytes of a row group of Parquet from which on it is decoded step by step.
    """

    fields = False

    def __init__(self, kind: str, files: Sequence[Path], *, huge: int = HUGE) -> None:
        self._kind = kind
        self._huge = huge
        self._files = files
        plain = ds.ParquetFileFormat() if kind == PARQUET else ds.IpcFileFormat()
        self._schema = self._common_schema(plain)
        self._format = _reading_words(self._schema) if kind == PARQUET else plain
        self.names = tuple(self._schema.names)

    @cached_property
    def rows_total(self) -> int | None:
        """The number of records, from what the files say about themselves."""
        return sum(self._rows(file) for file in self._files)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, from the first record on."""
        for file in self._files:
            with self._naming(file):
                yield from self._read(file, list(columns))

    def _read(self, file: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of one file; huge row groups are not decoded as a whole."""
        fragment = _fragment(self._format, file)
        if self._kind == PARQUET:
            groups = [group.num_rows for group in fragment.row_groups]
            if max(groups, default=0) * len(columns) * CELL > self._huge:
                words = list(self._format.read_options.dictionary_columns)
                parquet = ParquetFile(file, read_dictionary=words, pre_buffer=False)
                yield from parquet.iter_batches(BATCH, columns=columns)
                return
        yield from fragment.to_batches(
            columns=columns, batch_size=BATCH, batch_readahead=AHEAD, fragment_readahead=1
        )

    def _common_schema(self, plain: "ds.FileFormat") -> pa.Schema:
        first = None
        for file in self._files:
            with self._naming(file):
                schema = _fragment(plain, file).physical_schema
            first = schema if first is None else first
            difference = _difference(first, schema)
            if difference:
                raise TableError(
                    f"{file} does not have the columns of {self._files[0]}: {difference}"
                )
        return first

    def _rows(self, file: Path) -> int:
        with self._naming(file):
            return int(_fragment(self._format, file).count_rows())

    @contextmanager
    def _naming(self, file: Path) -> Iterator[None]:
        """Let an error of Arrow name the file that it comes from."""
        try:
            yield
        except (pa.ArrowException, OSError) as reason:
            what = " ".join(str(reason).split())[:200]
            raise TableError(f"{file} cannot be read as {self._kind}: {what}") from None


def _fragment(form: "ds.FileFormat", file: Path) -> "ds.Fragment":
    return form.make_fragment(str(file.absolute()), filesystem=LocalFileSystem())


def _reading_words(schema: pa.Schema) -> "ds.ParquetFileFormat":
    """Return the Parquet format that reads text as dictionaries.

    Without `pre_buffer`, which would keep every byte read until the file ends.
    """
    words = [
        column.name
        for column in schema
        if pa.types.is_string(column.type)
        or pa.types.is_large_string(column.type)
        or pa.types.is_string_view(column.type)
    ]
    return ds.ParquetFileFormat(
        read_options=ds.ParquetReadOptions(dictionary_columns=words),
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False),
    )


def _difference(one: pa.Schema, other: pa.Schema) -> str:
    """Return both schemas as far as they differ in names or types, empty where they do not."""
    here = dict(zip(one.names, map(str, one.types), strict=True))
    there = dict(zip(other.names, map(str, other.types), strict=True))
    same = here.items() & there.items()
    if len(same) == len(here) == len(there):
        return ""
    unlike = [
        {name: kind for name, kind in columns.items() if (name, kind) not in same}
        for columns in (there, here)
    ]
    agreeing = f"; {len(same)} of the columns are the same" if same else ""
    return f"here {_listed(unlike[0])}, there {_listed(unlike[1])}{agreeing}"


def _listed(columns: dict[str, str]) -> str:
    """Return columns with their types, the first ones of many."""
    shown = [f"{name!r} {kind}" for name, kind in list(columns.items())[:SHOWN]]
    more = [f"{len(columns) - SHOWN} more"] if len(columns) > SHOWN else []
    return ", ".join([*shown, *more]) or "nothing more"


FRAME_BATCH = 2**17
CONVERSION = (TypeError, ValueError, OverflowError)
"""What conversions to Arrow raise beside its own exceptions."""


def open_frame(data: Any) -> "FrameSource":
    """Return a frame as a source, or refuse what is none."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    try:
        frame = nw.from_native(data)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        return FrameSource(frame)
    except NarwhalsError as reason:
        what = " ".join(str(reason).split())
        raise TableError(f"the frame cannot be read: {what}") from None
    except TypeError:
        raise TableError(
            "a table must be a pandas, Polars or PyArrow frame, or the path of a file, folder or "
            f"glob, got {type(data).__name__}"
        ) from None


class FrameSource:
    """A frame; its columns are converted to Arrow once, when first needed.

    Parameters
    ----------
    frame
        A Narwhals data frame.
    """

    fields = False

    def __init__(self, frame: "nw.DataFrame[Any]") -> None:
        self._frame = frame
        self._columns: dict[str, pa.ChunkedArray] = {}
        self.names = tuple(str(name) for name in frame.columns)
        self.rows_total: int | None = len(frame)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, from the first record on."""
        arrays = {name: self._column(name) for name in columns}
        yield from pa.table(arrays).to_batches(max_chunksize=FRAME_BATCH)

    def _column(self, name: str) -> pa.ChunkedArray:
        if name not in self._columns:
            try:
                array = self._frame[:, [self.names.index(name)]].to_arrow().column(0)
            except (pa.ArrowException, NarwhalsError, *CONVERSION) as reason:
                what = " ".join(str(reason).split())
                raise TableError(
                    f"column {name!r} does not hold one kind of values: {what}"
                ) from None
            self._columns[name] = array
        return self._columns[name]


class Source(Protocol):
    """A table that can be read as often as needed, one batch at a time.

    Attributes
    ----------
    names
        The columns.
    fields
        Whether the columns are fields of text files, whose type is not known.
    """

    names: tuple[str, ...]
    fields: bool

    @property
    def rows_total(self) -> int | None:
        """The number of records, None where only reading tells."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, from the first record on."""


def open_source(data: Any, options: TableOptions) -> Source:
    """Return the source for a frame, a path (file, folder, glob) or a list of paths."""
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        return open_frame(data)
    kind, files = find_files(data)
    if kind == TEXT:
        from seepage.data.table.text_files import TextSource

        return TextSource(files, options)

    return ColumnarSource(kind, files)
