"""CSV, TSV and other delimited text, plain or gzipped, as Arrow batches of strings.

All fields are read as strings; the value of a field depends on the field alone
(`values.field_key`), so types do not depend on the first rows.  Empty lines are ignored, except in
a file of one column: there they are records with a missing value.  A first line such as `sep=;`
names the delimiter and is no record.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv

from seepage.data.table import TableOptions
from seepage.data.table.sources import TEXT, Source, check_same_columns, read_errors
from seepage.data.table.values import field_key
from seepage.errors import Setting, TableError

DELIMITERS = "\t;|,"
"""Candidates, those rarer in text first: the first wins among equal scores."""

DETECTION_LINES = 100
MAX_RECORD_BYTES = 2**23
"""Maximum length of a header or record."""

GZIP_SIGNATURE = b"\x1f\x8b"
SEPARATOR_LINE = re.compile(r"sep=([\t;|,: ])[\t;|, ]*(\r\n|\r|\n)")
"""First line with which spreadsheets name the delimiter."""

RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
"""Arrow's message for a ragged record; rows are numbered only if read by one thread."""


class TextLayout(NamedTuple):
    """Delimiter and header of one text file.

    Attributes
    ----------
    delimiter
        The character between fields.
    names
        The column names.
    skipped
        Number of lines before the header: 1 if a line names the delimiter.
    header
        Number of rows up to and including the header, empty rows counted; 0 without a header.
    empty
        Whether the file has no records.
    """

    delimiter: str
    names: tuple[str, ...]
    skipped: int
    header: int
    empty: bool


def _find_layout(file: Path, options: TableOptions) -> TextLayout:
    """Return the layout of a file, read as far as its first record."""
    with (
        read_errors(file, TEXT),
        _long_fields(),
        io.TextIOWrapper(
            open_text(file, options.encoding), encoding="utf-8-sig", newline=""
        ) as stream,
    ):
        lines = _lines(stream, file)
        start = list(islice(lines, DETECTION_LINES))
        separator = SEPARATOR_LINE.fullmatch(start[0]) if start else None
        start = start[1:] if separator else start
        tabs = file.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
        found = separator[1] if separator else "\t" if tabs else find_delimiter("".join(start))
        mark = options.delimiter or found
        rows = csv.reader(chain(start, lines), delimiter=mark)
        header, names = 0, options.column_names
        if names is None:
            header, row = next(((i, row) for i, row in enumerate(rows, 1) if row), (0, []))
            names = _header_names(row, file)
        has_records = any(rows) if len(names) > 1 else next(rows, None) is not None
        return TextLayout(mark, tuple(names), int(separator is not None), header, not has_records)


def _lines(stream: io.TextIOBase, file: Path) -> Iterator[str]:
    """Yield the lines of a file; one that is too long for a record raises a TableError."""
    while line := stream.readline(MAX_RECORD_BYTES):
        if len(line) >= MAX_RECORD_BYTES:
            raise TableError(f"a line of {file} has {MAX_RECORD_BYTES:,} characters or more")
        yield line


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let Python's csv module read fields as long as Arrow does."""
    before = csv.field_size_limit(MAX_RECORD_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def find_delimiter(text: str) -> str:
    r"""Return the delimiter of delimited text, detected in its first 100 lines.

    The delimiter is the candidate (tab, semicolon, bar, comma) with the most lines that have as
    many fields as the first line, at least two; quoted fields are not split.

    Examples
    --------
    >>> find_delimiter("name;weight\nAda;52,5\n")
    ';'
    """
    lines = [line for line in text.splitlines()[:DETECTION_LINES] if line.strip()]
    scores = {mark: _equal_widths(lines, mark) for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: scores[mark])
    return best if scores[best] else ","


def _equal_widths(lines: Sequence[str], mark: str) -> int:
    """Return the number of lines with as many fields as the first; 0 if it has one field."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=mark)]
    except csv.Error:
        return 0
    return widths.count(widths[0]) if widths and widths[0] > 1 else 0


def _header_names(row: Sequence[str], file: Path) -> list[str]:
    """Return the names in a header row; no header, or a number in it, raises a TableError."""
    if not row:
        raise TableError(f"{file} is empty")
    names = [name.strip() for name in row]
    if any("\0" in name for name in names):
        raise TableError(
            f"the header of {file} has a NUL byte; if the file is text, name its encoding (",
            Setting("encoding"),
            "), e.g. 'utf-16'",
        )
    number = next((name for name in names if isinstance(field_key(name), float)), None)
    if number is not None:
        raise TableError(
            f"the first line of {file} must name the columns, but has the number {number}; name "
            "them (",
            Setting("column_names"),
            ")",
        )
    return [name or f"column {index}" for index, name in enumerate(names, 1)]


def text_source(files: Sequence[Path], options: TableOptions) -> Source:
    """Return the source of text files with the same columns.

    Parameters
    ----------
    files
        The files, in the order of their records.
    options
        Delimiter, names and encoding.
    """
    layouts = [_find_layout(file, options) for file in files]
    expected = dict.fromkeys(layouts[0].names, "text")
    for file, layout in zip(files, layouts, strict=True):
        check_same_columns(file, dict.fromkeys(layout.names, "text"), files[0], expected)

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for file, layout in zip(files, layouts, strict=True):
            if not layout.empty:
                with read_errors(file, TEXT):
                    yield from _read(file, options.encoding, layout, columns)

    return Source(layouts[0].names, batches, fields=True)


def _read(
    file: Path, encoding: str, layout: TextLayout, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a file; a ragged record raises a TableError with its number."""
    try:
        yield from _parse(file, encoding, layout, columns)
    except pa.ArrowInvalid as problem:
        if RAGGED.search(str(problem)) is None:
            raise
    else:
        return
    try:
        for _ in _parse(file, encoding, layout, columns[:1], threads=False):
            pass
    except pa.ArrowInvalid as problem:
        row, expected, fields = map(int, RAGGED.search(str(problem)).groups())  # type: ignore[union-attr]
        record = row - layout.skipped - (layout.header > 0)
        raise TableError(
            f"record {record} of {file} has {fields} fields, but there are {expected} columns "
            f"(delimiter {layout.delimiter!r})"
        ) from None


def _parse(
    file: Path, encoding: str, layout: TextLayout, columns: Sequence[str], *, threads: bool = True
) -> "pa_csv.CSVStreamingReader":
    return pa_csv.open_csv(
        pa.PythonFile(_Blocks(open_text(file, encoding)), "r"),
        read_options=pa_csv.ReadOptions(
            use_threads=threads,
            block_size=MAX_RECORD_BYTES,
            column_names=list(layout.names),
            skip_rows=layout.skipped,
            skip_rows_after_names=layout.header,
        ),
        parse_options=pa_csv.ParseOptions(
            delimiter=layout.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=len(layout.names) > 1,
        ),
        convert_options=pa_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=dict.fromkeys(columns, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )


class _Blocks:
    """A stream whose reads do not end with a carriage return, except at its end.

    Arrow removes a line feed at the beginning of a block if the block before ends with a carriage
    return, also inside quotes.
    """

    closed = False

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._held = b""

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, none at the end."""
        block = self._held + self._stream.read(size - len(self._held))
        ready = block.rstrip(b"\r") or block
        self._held = block[len(ready) :]
        return bytes(ready)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def open_text(file: Path, encoding: str = "utf-8") -> pa.NativeFile:
    """Return a text file as a stream of UTF-8, decompressed if it is gzipped."""
    with file.open("rb") as opened:
        gzipped = opened.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
    stream = pa.input_stream(str(file), compression="gzip" if gzipped else None)
    return pa.transcoding_input_stream(stream, encoding, "utf-8")
