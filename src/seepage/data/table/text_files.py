"""CSV, TSV and other delimited text, plain or gzipped, as Arrow batches of strings.

All fields are read as strings; the value of a field depends on the field alone
(`labels.field_key`), so types do not depend on the first rows.  Empty lines are ignored, except in
a file of one column: there they are records with a missing value.

A file or pipe is read as a stream of UTF-8: decompressed, decoded, and, if the delimiter is a
blank, with runs of blanks collapsed.
"""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv

from seepage.data.table.labels import field_key, is_number
from seepage.data.table.options import TableOptions
from seepage.data.table.sources import SIGNATURES, TEXT, check_same_columns, read_errors
from seepage.errors import TableError

DELIMITERS = "\t;|, "
"""Candidates, those rarer in text first: the first wins among equal scores."""

DETECTION_LINES = 100
START_BYTES = CHUNK = 2**18
MAX_RECORD_BYTES = 2**23
"""Maximum length of a header or record."""

GZIP_SIGNATURE = b"\x1f\x8b"
QUOTED = re.compile(rb'((?<![^ \r\n])"[^"]*(?:""[^"]*)*(?:"|\Z))')
"""A quoted field if blanks delimit; a quote inside a field is literal."""

NOT_UTF8 = b"\xff"
"""A byte that does not occur in UTF-8."""


class TextLayout(NamedTuple):
    """Delimiter and header of one text file.

    Attributes
    ----------
    delimiter
        The character between fields.
    names
        The column names.
    header
        Number of rows up to and including the header, empty rows counted; 0 without a header.
    empty
        Whether the file has no records.
    """

    delimiter: str
    names: tuple[str, ...]
    header: int
    empty: bool


def _layout(file: Path, options: TableOptions, start: bytes, complete: bool) -> TextLayout | None:
    """Return the layout of a file from its start; None if more bytes are needed.

    `complete` says that `start` is the whole file.
    """
    text = _lines(start, options.skip_lines, complete)
    tabs = file.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    mark = options.delimiter or ("\t" if tabs else find_delimiter(text))
    if mark == " ":
        text = _single_blanks(_by_quotes(text.encode())).decode()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    header, names = 0, options.column_names
    if names is None:
        header, names = next(((index, row) for index, row in enumerate(rows, 1) if row), (0, []))
    has_records = any(rows) if len(names) > 1 else next(rows, None) is not None
    if options.column_names is None:
        if not has_records and not complete:
            return None
        names = _header_names(names, file)
    return TextLayout(mark, tuple(names), header, complete and not has_records)


def _lines(start: bytes, skip_lines: int, complete: bool) -> str:
    """Return the complete lines of the start of a file, without the skipped ones."""
    text = codecs.getincrementaldecoder("utf-8")().decode(start, final=complete)
    text = text.removeprefix("\ufeff")
    if not complete:
        text = text[: max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1]
    parts = re.split("\r\n|\r|\n", text, maxsplit=skip_lines) if skip_lines else [text]
    return parts[-1] if len(parts) > skip_lines else ""


def find_delimiter(text: str) -> str:
    r"""Return the delimiter of delimited text, detected in its first 100 lines.

    The delimiter is the candidate (tab, semicolon, bar, comma, blank) with the most lines that have
    as many fields as the first line, at least two; quoted fields are not split.

    Examples
    --------
    >>> find_delimiter("name;weight\nAda;52,5\n")
    ';'
    """
    lines = [line.strip(" ") for line in text.splitlines()[:DETECTION_LINES] if line.strip()]
    scores = {mark: _equal_widths(lines, mark) for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: scores[mark])
    return best if scores[best] else ","


def _equal_widths(lines: Sequence[str], mark: str) -> int:
    """Return the number of lines with as many fields as the first; 0 if it has one field."""
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=mark == " ")
    try:
        widths = [len(row) for row in reader]
    except csv.Error:
        return 0
    return widths.count(widths[0]) if widths and widths[0] > 1 else 0


def _header_names(row: Sequence[str], file: Path) -> list[str]:
    """Return the names in a header row; no header, or a number in it, raises a TableError."""
    if not row:
        hint = ", or was read already: a pipe can be read once only" if file.is_fifo() else ""
        raise TableError(f"{file} is empty{hint}")
    names = [name.strip() for name in row]
    number = next((name for name in names if is_number(field_key(name))), None)
    if number is not None:
        raise TableError(
            f"the first line of {file} must name the columns, but has the number {number}; give "
            "column_names (and skip_lines=1 if that line is the header nevertheless)"
        )
    return [name or f"column {index}" for index, name in enumerate(names, 1)]


class TextSource:
    """Text files with the same columns.

    Parameters
    ----------
    files
        The files, in the order of their records.
    options
        Delimiter, names, lines to skip and encoding.
    """

    fields = True
    rows_total: int | None = None

    def __init__(self, files: Sequence[Path], options: TableOptions) -> None:
        self._options = options
        self._pipes: dict[Path, io.BufferedReader] = {}
        self._files = [(file, self._find_layout(file)) for file in files]
        first, layout = self._files[0]
        self.names = layout.names
        expected = dict.fromkeys(layout.names, "text")
        for file, other in self._files:
            check_same_columns(file, dict.fromkeys(other.names, "text"), first, expected)

    def _find_layout(self, file: Path) -> TextLayout:
        """Return the layout of a file, from its first 256 kB, or more if the header is longer."""
        with read_errors(file, TEXT), ExitStack() as closing:
            text = open_text(file, self._options.encoding)
            stream = closing.enter_context(io.BufferedReader(text, START_BYTES))
            if file.is_fifo() and stream.peek(8).startswith(tuple(SIGNATURES)):
                raise TableError(
                    f"{file} is a pipe: Parquet and Feather can be read from files only"
                )
            start, size, layout = b"", START_BYTES, None
            while layout is None:
                if len(start) >= MAX_RECORD_BYTES:
                    raise TableError(
                        f"the header of {file} does not end within {MAX_RECORD_BYTES:,} bytes"
                    )
                start += stream.read(size - len(start))
                layout = _layout(file, self._options, start, len(start) < size)
                size *= 2
            if file.is_fifo():
                closing.pop_all()
                self._pipes[file] = prepend(start, stream)
            return layout

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, starting at the first record."""
        for file, layout in self._files:
            if not layout.empty:
                yield from self._read(file, layout, columns)

    def _read(
        self, file: Path, layout: TextLayout, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        ragged: list[Any] = []
        with ExitStack() as closing:
            try:
                with read_errors(file, TEXT):
                    stream = self._text(file, layout)
                    if file.is_fifo():
                        closing.callback(stream.close)
                    yield from self._parse(stream, layout, columns, ragged.append)
            except TableError:
                if not ragged:
                    raise
                raise self._ragged_error(file, layout, ragged[0]) from None

    def _text(self, file: Path, layout: TextLayout) -> Any:
        """Return a file as a stream of UTF-8; a pipe that was read before raises a TableError."""
        if not file.is_fifo():
            stream: Any = open_text(file, self._options.encoding)
        elif file in self._pipes:
            stream = self._pipes.pop(file)
        else:
            raise TableError(
                f"{file} is a pipe, which can be read once only, but numbers with many values are "
                "read twice to bin them; give a file"
            )
        if layout.delimiter == " ":
            stream = single_blanks(io.BufferedReader(stream, CHUNK), self._options.skip_lines)
        return stream

    def _parse(
        self,
        stream: Any,
        layout: TextLayout,
        columns: Sequence[str],
        on_ragged: Callable[[Any], None],
        *,
        threads: bool = True,
    ) -> "pa_csv.CSVStreamingReader":
        def stop(row: Any) -> str:
            on_ragged(row)
            return "error"

        return pa_csv.open_csv(
            stream,
            read_options=pa_csv.ReadOptions(
                use_threads=threads,
                block_size=MAX_RECORD_BYTES,
                column_names=list(layout.names),
                skip_rows=self._options.skip_lines,
                skip_rows_after_names=layout.header,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=layout.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(layout.names) > 1,
                invalid_row_handler=stop,
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )

    def _ragged_error(self, file: Path, layout: TextLayout, row: Any) -> TableError:
        """Return the error for a ragged record; Arrow numbers rows only without threads."""
        record = "a record"
        if not file.is_fifo():
            ragged: list[Any] = []
            with suppress(pa.ArrowInvalid):
                text, first = self._text(file, layout), layout.names[:1]
                deque(self._parse(text, layout, first, ragged.append, threads=False), maxlen=0)
            row = ragged[0]
            record = f"record {row.number - self._options.skip_lines - (layout.header > 0)}"
        return TableError(
            f"{record} of {file} has {row.actual_columns} fields, but there are "
            f"{row.expected_columns} columns (delimiter {layout.delimiter!r})"
        )


def open_text(file: Path, encoding: str = "utf-8") -> pa.NativeFile:
    """Return a text file or pipe as a stream of UTF-8, decompressed if it is gzipped."""
    opened = file.open("rb")
    first = opened.read(len(GZIP_SIGNATURE))
    if file.is_fifo():
        source: Any = prepend(first, opened)
    else:
        opened.close()
        source = str(file)
    gzipped = first == GZIP_SIGNATURE
    stream = pa.input_stream(source, compression="gzip" if gzipped else None)
    return pa.transcoding_input_stream(stream, encoding, "utf-8")


def prepend(start: bytes, stream: io.BufferedReader) -> io.BufferedReader:
    """Return a stream of the bytes `start`, already read, followed by the rest of `stream`."""
    rest = iter(lambda: stream.read1(CHUNK), b"")
    return io.BufferedReader(_Chunks(chain([start], rest), stream), CHUNK)


def single_blanks(stream: io.BufferedReader, skip_lines: int) -> io.BufferedReader:
    """Return a stream with runs of blanks collapsed to one, and none at both ends of lines.

    Quoted fields and skipped lines are unchanged.
    """
    return io.BufferedReader(_Chunks(_single_blank_chunks(stream, skip_lines), stream), CHUNK)


class _Chunks(io.RawIOBase):
    """A stream of chunks made from another stream, which it closes when it is closed."""

    def __init__(self, chunks: Iterator[bytes], stream: io.BufferedReader) -> None:
        self._chunks = chunks
        self._stream = stream
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Return True: this is a stream to read from."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes, 0 at the end."""
        if not self._ready:
            self._ready = memoryview(next(filter(None, self._chunks), b""))
        part, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close both streams."""
        self._stream.close()
        super().close()


def _single_blank_chunks(stream: io.BufferedReader, skip_lines: int) -> Iterator[bytes]:
    yield b"".join(stream.readline() for _ in range(skip_lines))
    start = b"" if skip_lines else stream.read(len(codecs.BOM_UTF8))
    cut_line = start.removeprefix(codecs.BOM_UTF8)
    while chunk := stream.read(CHUNK):
        parts = _by_quotes(cut_line + chunk)
        cut_line = _cut_off_last_line(parts)
        yield _single_blanks(parts)
        if len(cut_line) > MAX_RECORD_BYTES:
            raise csv.Error(
                f"a record has more than {MAX_RECORD_BYTES:,} bytes; is a quote not closed?"
            )
    yield _single_blanks(_by_quotes(cut_line))


def _by_quotes(text: bytes) -> list[bytes]:
    """Return the parts of a text, alternately unquoted and quoted."""
    return QUOTED.split(text) if b'"' in text else [text]


def _cut_off_last_line(parts: list[bytes]) -> bytes:
    """Remove and return the bytes after the last unquoted line end.

    A carriage return at the very end is no line end yet: a line feed may follow.
    """
    for index in range(len(parts) - 1, -1, -2):
        text = parts[index]
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        if end:
            last = b"".join([text[end:], *parts[index + 1 :]])
            parts[index:] = [text[:end]]
            return last
    last = b"".join(parts)
    parts[:] = [b""]
    return last


def _single_blanks(parts: list[bytes]) -> bytes:
    """Return the joined parts with blanks collapsed outside quotes."""
    if any(NOT_UTF8 in part for part in parts):
        b"".join(parts).decode()  # raises UnicodeDecodeError
    lines = NOT_UTF8.join(parts[::2]).replace(b"\r\n", b"\n")
    while b"  " in lines:
        lines = lines.replace(b"  ", b" ")
    for end in (b"\n", b"\r"):
        lines = lines.replace(b" " + end, end).replace(end + b" ", end)
    parts[::2] = lines.strip(b" ").split(NOT_UTF8)
    return b"".join(parts)
