"""Any frame, file, folder or glob as a source of Arrow batches that can be read again.

Parquet and Feather files are decoded in the background, column by column; frames are those that
Narwhals knows (pandas, Polars, PyArrow, ...); text files are in `text_files`.
"""

import csv
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.dataset as ds
from narwhals.exceptions import NarwhalsError
from pyarrow.fs import LocalFileSystem
from pyarrow.parquet import ParquetFile

from seepage import _checks
from seepage.data.table.options import TableOptions
from seepage.errors import TableError

PathLike: TypeAlias = str | os.PathLike[str]

PARQUET, FEATHER, TEXT = "Parquet", "Feather", "CSV"

ENDINGS = {
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), FEATHER),
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".data", ".dat"), TEXT),
}
SIGNATURES = {b"PAR1": PARQUET, b"ARROW1": FEATHER}
NO_TABLES = frozenset(
    (".json", ".jsonl", ".html", ".xml", ".xls", ".xlsx", ".ods", ".zip", ".pkl", ".npy", ".pairs")
)
"""Endings of files that are not delimited text, though they can often be parsed as such."""

BATCH = 2**17

AHEAD = 4
"""Batches decoded ahead of the reader."""

CELL = 8

SHOWN = 20
"""Columns that a message about two schemas names."""

HUGE = 2**29
"""Row groups of more bytes, at 8 a cell, are decoded batch by batch: slower, but in less memory."""

CONVERSION = (TypeError, ValueError, OverflowError)
"""What conversions to Arrow raise beside its own exceptions."""


def find_files(data: PathLike | Iterable[PathLike]) -> tuple[str, list[Path]]:
    """Return the kind of the data files and the files: of a file, folder, glob or list of them.

    A folder stands for the data files right in it, sorted by name; names that begin with a dot
    or an underscore are ignored.  All files must be of one kind and none may be empty.  A pipe
    is taken for text, and not read here.
    """
    paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    try:
        files = [file for one in paths for file in _expand(one)]
        empty = [file for file in files if file.is_file() and file.stat().st_size == 0]
        kinds = {kind_of(file): file for file in files if not empty}
    except TableError:
        raise
    except (OSError, ValueError) as reason:
        raise TableError(f"a file cannot be opened: {reason}") from None
    if not files:
        raise TableError("there must be at least one file, got an empty list")
    if empty:
        raise TableError(f"{empty[0]} is empty")
    if len(kinds) > 1:
        named = " and ".join(f"{kind} ({file.name})" for kind, file in sorted(kinds.items()))
        raise TableError(f"all files must be of one kind, got {named}; choose with a glob")
    return next(iter(kinds)), files


def kind_of(file: Path) -> str:
    """Return what kind of data file this is, by its name or else by its first bytes."""
    known = _kind_by_name(file)
    if file.is_fifo():
        if known not in (None, TEXT):
            raise TableError(f"{file} is a pipe: {known} can be read from files only")
        return TEXT
    if not file.is_file():
        raise TableError(f"{file} must be a file, a folder or a pipe")
    if known:
        return known
    with file.open("rb") as stream:
        start = stream.read(8)
    found = next((kind for mark, kind in SIGNATURES.items() if start.startswith(mark)), TEXT)
    if found == TEXT and file.suffix.lower() in NO_TABLES:
        raise TableError(
            f"{file} must be CSV, TSV, Parquet or Feather, got {file.suffix}; if it is one of "
            "these, give it the ending of its kind"
        )
    return found


def _kind_by_name(file: Path) -> str | None:
    name = file.name.lower().removesuffix(".gz")
    return ENDINGS.get(Path(name).suffix)


def _expand(given: PathLike) -> list[Path]:
    if not isinstance(given, (str, os.PathLike)):
        raise TableError(f"a list of files must hold paths, got {type(given).__name__}")
    path = Path(given).expanduser()
    if path.is_dir():
        return _in_folder(path)
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207
        files = [file for file in found if file.is_file() and _visible(file)]
        if not files:
            raise TableError(f"no file matches {str(given)!r}")
        return files
    siblings = [s.name for s in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = _checks.near_miss(path.name, siblings)
    raise TableError(f"there is no file or folder {str(given)!r}{hint}")


def _in_folder(folder: Path) -> list[Path]:
    inside = sorted(file for file in folder.iterdir() if file.is_file() and _visible(file))
    files = [file for file in inside if _kind_by_name(file)]
    if not files:
        raise TableError(
            f"the folder {folder} has no data files (Parquet, Feather, CSV, TSV) right in it; "
            f"a glob such as '{folder}/**/*.parquet' also looks further down"
        )
    return files


def _visible(file: Path) -> bool:
    return not file.name.startswith((".", "_"))


@contextmanager
def naming(file: Path, kind: str) -> Iterator[None]:
    """Let an error on reading a file name it, in one line."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError, csv.Error) as reason:
        what = " ".join(str(reason).split())
        if kind == TEXT and ("UTF8" in what or isinstance(reason, UnicodeError)):
            raise TableError(
                f"{file} is not text in the encoding expected; name it (encoding), e.g. 'latin-1'"
            ) from None
        raise TableError(f"{file} cannot be read as {kind}: {what[:200]}") from None


class ColumnarSource:
    """Parquet or Feather files of one schema.

    Text in Parquet is read as dictionaries, which is how it is stored, and never spelt out.
    Checksums of pages are verified where a file has them.  Feather has none: each batch is
    validated, since wrong offsets or indices would read memory that is not its own.

    Parameters
    ----------
    kind
        `PARQUET` or `FEATHER`.
    files
        The files, in the order of their records.
    groups
        The row groups that are read of each Parquet file; all by default.
    huge
        Bytes of a row group of Parquet from which on it is decoded step by step, `HUGE` by default.
    """

    fields = False

    def __init__(
        self,
        kind: str,
        files: Sequence[Path],
        *,
        groups: Sequence[Sequence[int] | None] | None = None,
        huge: int | None = None,
    ) -> None:
        self._kind = kind
        self._huge = HUGE if huge is None else huge
        self._groups = groups or [None] * len(files)
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
        for file, groups in zip(self._files, self._groups, strict=True):
            with naming(file, self._kind):
                yield from self._read(file, groups, list(columns))

    def _read(
        self, file: Path, chosen: Sequence[int] | None, columns: list[str]
    ) -> Iterator[pa.RecordBatch]:
        """Return the batches of one file; huge row groups are not decoded as a whole."""
        fragment = _fragment(self._format, file, chosen)
        if self._kind == PARQUET:
            groups = {group.id: group.num_rows for group in fragment.row_groups}
            if max(groups.values(), default=0) * len(columns) * CELL > self._huge:
                words = list(self._format.read_options.dictionary_columns)
                parquet = ParquetFile(
                    file, read_dictionary=words, pre_buffer=False, page_checksum_verification=True
                )
                yield from parquet.iter_batches(BATCH, row_groups=list(groups), columns=columns)
                return
        for batch in fragment.to_batches(
            columns=columns, batch_size=BATCH, batch_readahead=AHEAD, fragment_readahead=1
        ):
            if self._kind == FEATHER:
                batch.validate(full=True)
            yield batch

    def _common_schema(self, plain: "ds.FileFormat") -> pa.Schema:
        first = None
        for file in self._files:
            with naming(file, self._kind):
                schema = _fragment(plain, file).physical_schema
                first = schema if first is None else first
                difference = _difference(first, schema)
            if difference:
                raise TableError(
                    f"{file} does not have the columns of {self._files[0]}: {difference}"
                )
        return first

    def _rows(self, file: Path) -> int:
        with naming(file, self._kind):
            return int(_fragment(self._format, file).count_rows())


def _fragment(
    form: "ds.FileFormat", file: Path, groups: Sequence[int] | None = None
) -> "ds.Fragment":
    chosen = {} if groups is None else {"row_groups": list(groups)}
    return form.make_fragment(str(file.absolute()), filesystem=LocalFileSystem(), **chosen)


def _reading_words(schema: pa.Schema) -> "ds.ParquetFileFormat":
    """Return the Parquet format that reads text as dictionaries and verifies checksums of pages.

    Without `pre_buffer`, which would keep every byte read until the file ends.
    """
    texts = pa.string(), pa.large_string(), pa.string_view()
    words = [column.name for column in schema if column.type in texts]
    return ds.ParquetFileFormat(
        read_options=ds.ParquetReadOptions(dictionary_columns=words),
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(
            pre_buffer=False, page_checksum_verification=True
        ),
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


def open_frame(data: Any) -> "FrameSource":
    """Return a frame as a source, or raise an error."""
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
        yield from pa.table(arrays).to_batches(max_chunksize=BATCH)

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
