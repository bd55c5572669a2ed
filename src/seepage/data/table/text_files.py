"""CSV, TSV and other delimited text, plain or gzipped, as Arrow batches of texts.

All fields are read as text; what a field stands for is decided by the field alone
(`labels.field_key`), so a column means the same whatever its first rows look like.  Empty lines are
ignored, except in a file of one column: there they are records whose only field is empty.
"""

import codecs
import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from seepage.data.table.labels import field_key, is_number
from seepage.data.table.options import TableOptions
from seepage.errors import TableError

START = 2**18
GZIP = b"\x1f\x8b"
DELIMITERS = "\t;|, "
"""Candidates; of those that split as many lines alike the first wins: it is rarer in text."""

LINES = 100


@dataclass(frozen=True)
class TextLayout:
    """How one text file is cut into fields.

    Attributes
    ----------
    delimiter
        What stands between fields.
    names
        The columns.
    header
        Rows up to and with the header, empty ones included; 0 in a file without a header.
    empty
        Whether no record follows.
    """

    delimiter: str
    names: tuple[str, ...]
    header: int
    empty: bool


def open_text(file: Path, delimiter: str | None = None) -> Any:
    """Return the bytes of a text file as a stream, decompressed if it is gzipped.

    Where blanks delimit, runs of blanks count as one, and those at the ends of lines as none.
    """
    with file.open("rb") as start:
        compression = "gzip" if start.read(2) == GZIP else None
    stream = pa.input_stream(str(file), compression=compression)
    return io.BufferedReader(_SingleBlanks(stream), START) if delimiter == " " else stream


class _SingleBlanks(io.RawIOBase):
    """A stream with runs of blanks replaced by one and those at line ends removed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._ready = b""
        self._cut_line = b""

    def readable(self) -> bool:
        """Return True: this is a stream to read from."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes, 0 at the end."""
        while not self._ready:
            chunk = self._stream.read(START)
            lines, newline, self._cut_line = (self._cut_line + chunk).rpartition(b"\n")
            if not chunk:
                lines, self._cut_line = lines + newline + self._cut_line, b""
                self._ready = _single_blanks(lines)
                break
            self._ready = _single_blanks(lines + newline)
        part, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _single_blanks(lines: bytes) -> bytes:
    lines = lines.replace(b"\r\n", b"\n")
    while b"  " in lines:
        lines = lines.replace(b"  ", b" ")
    return lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Let an error on reading a text file name it, in one line."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError, csv.Error) as reason:
        what = " ".join(str(reason).split())
        if "UTF8" in what or isinstance(reason, UnicodeError):
            raise TableError(
                f"{file} is not text in the encoding expected; name it (encoding), e.g. 'latin-1'"
            ) from None
        raise TableError(f"{file} cannot be read as CSV: {what[:200]}") from None


def find_layout(file: Path, options: TableOptions) -> TextLayout:
    """Return how a text file is cut, from its first 256 kB and the options."""
    text, complete = _start(file, options)
    mark = options.delimiter or _delimiter_by_name(file) or find_delimiter(text)
    if mark == " ":
        text = _single_blanks(text.encode()).decode()
    with naming(file):
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        header, names = 0, options.column_names
        if names is None:
            header, names = _header(rows, file)
        left = any(rows) if len(names) > 1 else next(rows, None) is not None
        return TextLayout(mark, tuple(names), header, complete and not left)


def _start(file: Path, options: TableOptions) -> tuple[str, bool]:
    """Return the first lines after the skipped ones, and whether they are all."""
    with naming(file), open_text(file) as stream:
        content = stream.read(START)
        complete = len(content) < START or not stream.read(1)
        decoder = codecs.getincrementaldecoder(options.encoding)()
        text = decoder.decode(content, final=complete).removeprefix("\ufeff")
    if not complete:
        text = text[: text.rfind("\n") + 1]
    parts = text.split("\n", options.skip_lines)
    return (parts[-1] if len(parts) > options.skip_lines else ""), complete


def _delimiter_by_name(file: Path) -> str | None:
    name = file.name.lower().removesuffix(".gz")
    return "\t" if name.endswith((".tsv", ".tab")) else None


def find_delimiter(text: str) -> str:
    r"""Return the delimiter of a table in text, from its first 100 lines.

    The delimiter is the candidate (tab, semicolon, bar, comma, blank) that cuts the most lines
    into as many fields as the first one, at least two; quoted fields are taken as a whole.

    Examples
    --------
    >>> find_delimiter("name;weight\nAda;52,5\n")
    ';'
    """
    lines = [line.strip(" ") for line in text.splitlines()[:LINES] if line.strip()]
    scores = {mark: _alike(lines, mark) for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: scores[mark])
    return best if scores[best] else ","


def _alike(lines: Sequence[str], mark: str) -> int:
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=mark == " ")
    try:
        widths = [len(row) for row in reader]
    except csv.Error:
        return 0
    return widths.count(widths[0]) if widths and widths[0] > 1 else 0


def _header(rows: Iterable[list[str]], file: Path) -> tuple[int, list[str]]:
    """Return the number of the header row and its names; raise where it looks like a record."""
    place, row = next(((place, row) for place, row in enumerate(rows, 1) if row), (0, []))
    if not row:
        raise TableError(f"{file} is empty")
    names = [name.strip() for name in row]
    number = next((name for name in names if is_number(field_key(name))), None)
    if number is not None:
        raise TableError(
            f"the first line of {file} must name the columns, but has the number {number}; give "
            "column_names (and skip_lines=1 if that line is the header nevertheless)"
        )
    return place, [name or f"column {number}" for number, name in enumerate(names, 1)]


BLOCK = 2**23


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
        self._files = [(file, find_layout(file, options)) for file in files]
        first, layout = self._files[0]
        self.names = layout.names
        for file, other in self._files:
            odd = sorted(set(layout.names) ^ set(other.names))
            if odd:
                lacking = "lacks" if odd[0] in layout.names else "also has"
                raise TableError(
                    f"{file} does not have the columns of {first}: it {lacking} {odd[0]!r}"
                )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, from the first record on."""
        for file, layout in self._files:
            if not layout.empty:
                yield from self._read(file, layout, columns)

    def _read(
        self, file: Path, layout: TextLayout, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        ragged: list[Any] = []
        try:
            with naming(file):
                yield from self._open(file, layout, columns, ragged.append)
        except TableError:
            if not ragged:
                raise
            raise self._ragged_error(file, layout) from None

    def _open(
        self,
        file: Path,
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
            open_text(file, layout.delimiter),
            read_options=pa_csv.ReadOptions(
                use_threads=threads,
                block_size=BLOCK,
                column_names=list(layout.names),
                skip_rows=self._options.skip_lines,
                skip_rows_after_names=layout.header,
                encoding=self._options.encoding,
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

    def _ragged_error(self, file: Path, layout: TextLayout) -> TableError:
        """Return the error that names the first ragged record; Arrow numbers rows only serially."""
        ragged: list[Any] = []
        try:
            for _ in self._open(file, layout, layout.names[:1], ragged.append, threads=False):
                pass
        except pa.ArrowInvalid:
            row = ragged[0]
        record = row.number - self._options.skip_lines - (layout.header > 0)
        return TableError(
            f"record {record} of {file} has {row.actual_columns} fields, but there are "
            f"{row.expected_columns} columns (delimiter {layout.delimiter!r})"
        )
