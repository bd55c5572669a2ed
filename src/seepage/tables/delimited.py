"""Delimited text files as Arrow batches of fields, and what a field means.

Numbers are floats.  Equal numbers have one label whatever their type (3, 3.0, the
decimal 3.00 and the CSV field ` 3.0`): the digits of an integer below 2^64, else the
shortest decimal that rounds to the float.  A decimal of magnitude below 2^53 is the
nearest float.  Floats cannot tell larger numbers apart: one that no float equals is a
string.

All fields of CSV, TSV and other delimited text, plain or gzipped, are read as strings;
the key of a field depends on the field alone, so types do not depend on the first rows.
Empty lines are ignored, except in a file of one column: there they are records with a
missing value.  A first line such as `sep=;` names the delimiter and is no record.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from seepage._core.errors import Setting, TableError
from seepage.tables.labels import field_key
from seepage.tables.sources import TEXT, Source, check_same_columns, read_errors
from seepage.tables.table_options import TableOptions

DELIMITERS = "\t;|,"
"""Candidates, those rarer in text first: the first wins among equal scores."""


DETECTION_LINES = 100
"""Number of lines by which the delimiter is detected."""


MAX_RECORD_BYTES = 2**23
"""Maximum length of a header or record."""


GZIP_SIGNATURE = b"\x1f\x8b"
"""The first bytes of a file that gzip compressed."""


SEPARATOR_LINE = re.compile(r"sep=([\t;|,: ])[\t;|, ]*(\r\n|\r|\n)")
"""First line with which spreadsheets name the delimiter."""


RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
"""Arrow's message for a ragged record; rows are numbered only if read by one thread."""


def text_source(files: Sequence[Path], options: TableOptions) -> Source:
    """Return the source of delimited files with the same columns, in the order of their
    records.
    """
    text_files = [TextFile(file, options) for file in files]
    names = text_files[0].names
    expected = dict.fromkeys(names, "text")
    for text in text_files:
        columns = dict.fromkeys(text.names, "text")
        check_same_columns(text.file, columns, files[0], expected)

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of all delimited files."""
        for text in text_files:
            with read_errors(text.file, TEXT):
                yield from text.read(columns)

    return Source(names, batches, fields=True)


class TextFile:
    """A delimited text file, whose delimiter and header are found at once.

    Attributes
    ----------
    file, names
        Its path, and the column names.
    """

    def __init__(self, file: Path, options: TableOptions) -> None:
        """Find the header, delimiter and encoding of a text file."""
        self.file = file
        self._encoding = options.encoding
        with (
            read_errors(file, TEXT),
            io.TextIOWrapper(self._open(), encoding="utf-8-sig", newline="") as stream,
            _fields_as_long_as_records(),
        ):
            lines = self._lines(stream)
            start = list(islice(lines, DETECTION_LINES))
            separator = SEPARATOR_LINE.fullmatch(start[0]) if start else None
            self._skipped = 0
            if separator is not None:
                self._skipped = 1
                start = start[1:]
            self._delimiter = options.delimiter or _delimiter_of(file, separator, start)
            lines = chain(start, lines)
            names = options.column_names
            self._header = 0  # rows up to the header, with empty ones
            if names is None:
                rows = csv.reader(lines, delimiter=self._delimiter)
                names = self._read_header(rows)
            self.names = tuple(names)
            self._has_records = self._finds_record(lines)

    def _read_header(self, rows: Iterator[list[str]]) -> list[str]:
        """Return the names in the first row of a delimited file that is not empty, and
        note its number.
        """
        for number, row in enumerate(rows, 1):
            if row:
                self._header = number
                return _header_names(row, self.file)
        return _header_names([], self.file)

    def _finds_record(self, lines: Iterator[str]) -> bool:
        """Return whether a line of a delimited file is a record; in a file of one
        column any line is.
        """
        return any(len(self.names) == 1 or line.strip("\r\n") for line in lines)

    def _open(self) -> pa.NativeFile:
        """Return a delimited file as a stream of UTF-8, decompressed if it is
        gzipped.
        """
        with self.file.open("rb") as opened:
            gzipped = opened.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
        compression = "gzip" if gzipped else None
        stream = pa.input_stream(str(self.file), compression=compression)
        return pa.transcoding_input_stream(stream, self._encoding, "utf-8")

    def _lines(self, stream: io.TextIOBase) -> Iterator[str]:
        """Yield the lines of a delimited file; one that is too long for a record raises
        a TableError.
        """
        while line := stream.readline(MAX_RECORD_BYTES):
            if len(line) >= MAX_RECORD_BYTES:
                raise TableError(
                    f"a line of {self.file} has {MAX_RECORD_BYTES:,} characters or more"
                )
            yield line

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a delimited file; a ragged record raises a TableError
        with its number.
        """
        if not self._has_records:
            return
        try:
            yield from self._parse(columns)
        except pa.ArrowInvalid as problem:
            if RAGGED.search(str(problem)) is None:
                raise
        else:
            return
        try:
            for _ in self._parse(columns[:1], threads=False):
                pass
        except pa.ArrowInvalid as problem:
            ragged = RAGGED.search(str(problem))
            assert ragged is not None
            row, expected, fields = map(int, ragged.groups())
            record = row - self._skipped - (self._header > 0)
            raise TableError(
                f"record {record} of {self.file} has {fields} fields, but there are "
                f"{expected} columns (delimiter {self._delimiter!r})"
            ) from None

    def _parse(
        self, columns: Sequence[str], *, threads: bool = True
    ) -> "pa_csv.CSVStreamingReader":
        """Return Arrow's reader of a delimited file, one batch at a time."""
        return pa_csv.open_csv(
            pa.PythonFile(_Blocks(self._open()), "r"),
            read_options=pa_csv.ReadOptions(
                use_threads=threads,
                block_size=MAX_RECORD_BYTES,
                column_names=list(self.names),
                skip_rows=self._skipped,
                skip_rows_after_names=self._header,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(self.names) > 1,
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )


@contextmanager
def _fields_as_long_as_records() -> Iterator[None]:
    """Let the csv module read delimited fields as long as Arrow does."""
    limit = csv.field_size_limit(MAX_RECORD_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _delimiter_of(
    file: Path, separator: re.Match[str] | None, lines: Sequence[str]
) -> str:
    """Return the delimiter that a first line names, that of the suffix, or the
    likeliest one.
    """
    if separator is not None:
        return separator[1]
    if file.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    return find_delimiter("".join(lines))


def find_delimiter(text: str) -> str:
    r"""Return the delimiter of delimited text, detected in its first 100 lines.

    The delimiter is the candidate (tab, semicolon, bar, comma) with the most lines that
    have as many fields as the first line, at least two; quoted fields are not split.

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
    """Return the number of delimited lines with as many fields as the first; 0 if it
    has one field.
    """
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=mark)]
    except csv.Error:
        return 0
    if not widths or widths[0] < 2:
        return 0
    return widths.count(widths[0])


def _header_names(row: Sequence[str], file: Path) -> list[str]:
    """Return the names in a delimited file's header row; no header, or a number in it,
    raises a TableError.
    """
    if not row:
        raise TableError(f"{file} is empty")
    names = [name.strip() for name in row]
    if "\0" in "".join(names):
        raise TableError(
            f"the header of {file} has a NUL byte; if the file is text, name its "
            "encoding (",
            Setting("encoding"),
            "), e.g. 'utf-16'",
        )
    for name in names:
        if isinstance(field_key(name), float):
            raise TableError(
                f"the first line of {file} must name the columns, but has the number "
                f"{name}; name them (",
                Setting("column_names"),
                ")",
            )
    return [name or f"column {index}" for index, name in enumerate(names, 1)]


class _Blocks:
    """A stream whose reads do not end with a carriage return, except at its end.

    Arrow removes a line feed at the beginning of a block if the block before ends with
    a carriage return, also inside quotes.
    """

    closed = False

    def __init__(self, stream: pa.NativeFile) -> None:
        """Read the blocks of a decompressed text file."""
        self._stream = stream
        self._held = b""

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes of a text file, none at the end."""
        block = self._held + self._stream.read(size - len(self._held))
        ready = block.rstrip(b"\r")
        if not ready:
            ready = block
        self._held = block[len(ready) :]
        return bytes(ready)

    def close(self) -> None:
        """Close the text file."""
        self._stream.close()
