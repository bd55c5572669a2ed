"""Text: what a field means, labels of numbers and times, and delimited files as Arrow
batches.

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
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, time
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from seepage._numerics import Booleans
from seepage.data import MISSING
from seepage.data.table import TableOptions
from seepage.data.table.sources import (
    TEXT,
    Source,
    check_same_columns,
    plain,
    read_errors,
)
from seepage.errors import Setting, TableError

NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,9})?|inf|infinity)",
    re.IGNORECASE,
)
DATETIME = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?"
)
BOOLEANS = {
    word: word.lower() for word in ("true", "True", "TRUE", "false", "False", "FALSE")
}

EXACT = 2**53
"""Integers below are exact in double precision."""

EXACT_LABELS = 2**64
"""Floats below that are integers have their exact value as label, like integers."""


def field_key(text: str | None) -> float | str | None:
    """Return the key of a field of a text file, surrounding blanks stripped (see
    `column`).

    An empty field, `NaN` and `nan` are missing; a decimal number is that number;
    `True`, `TRUE` and `true` are `true`; dates and times are in ISO form; anything else
    is the string itself, and so is a number from 2^53 on that no float equals.

    Examples
    --------
    >>> [field_key(text) for text in ("3.0", "1e3", " Male ", "FALSE", "")]
    [3.0, 1000.0, 'Male', 'false', None]
    >>> field_key("9007199254740993")
    '9007199254740993'
    """
    word = "" if text is None else text.strip()
    if word in ("", "NaN", "nan", MISSING):
        return None
    if NUMBER.fullmatch(word):
        number = float(word)
        scientific = "e" in word.lower()
        written = repr(number) if scientific else number_label(number)
        if abs(number) < EXACT or Decimal(written) == Decimal(word):
            return number
        return word.rstrip("0").rstrip(".") if "." in word and not scientific else word
    return BOOLEANS.get(word) or datetime_label(word)


def datetime_label(text: str) -> str:
    """Return a date or time in its shortest ISO form, and any other string unchanged.

    A date and time with a time zone is converted to UTC: the label identifies the
    instant, whatever the zone of the file or the session.

    Examples
    --------
    >>> (
    ...     datetime_label("2020-01-02 00:00:00.000"),
    ...     datetime_label("2020-01-02 03:04:05.600+0100"),
    ... )
    ('2020-01-02', '2020-01-02T02:04:05.6+00:00')
    """
    parts = DATETIME.fullmatch(text)
    if not parts:
        return text
    date, clock, fraction, zone = parts.groups(default="")
    fraction = fraction.rstrip("0").rstrip(".")
    if zone:
        with suppress(ValueError):  # offsets from UTC are below 24 hours
            zone = time.fromisoformat(f"00:00{zone}").isoformat()[8:]
    if date and zone:
        with suppress(
            ValueError, OverflowError
        ):  # datetime has no leap seconds and no year 0
            moment = datetime.fromisoformat(f"{date}T{clock}{zone}").astimezone(UTC)
            return f"{moment.replace(tzinfo=None).isoformat()}{fraction}+00:00"
    if date and clock + fraction + zone == "00:00:00":
        return str(date)
    return f"{date}T{clock}{fraction}{zone}" if date else f"{clock}{fraction}{zone}"


def number_label(number: float) -> str:
    """Return the label of a number: its shortest decimal, integers without a point.

    Examples
    --------
    >>> number_label(3.0), number_label(-0.0), number_label(0.1), number_label(1e-7)
    ('3', '0', '0.1', '1e-07')
    >>> number_label(2.0**63), number_label(1e30)
    ('9223372036854775808', '1e+30')
    """
    return str(int(number)) if _has_exact_label(number) else repr(float(number))


def _has_exact_label(number: float) -> bool:
    """Return whether a float is an integer below 2^64, labelled by its exact value."""
    return abs(number) < EXACT_LABELS and float(number).is_integer()


def single_number(number: Any) -> float:
    """Return a `np.float32` as the float with its label: the shortest decimal that
    rounds to it.

    Examples
    --------
    >>> import numpy as np
    >>> single_number(np.float32(0.1)), single_number(np.float32(2**40))
    (0.1, 1099511627776.0)
    """
    double = float(number)
    return double if _has_exact_label(double) else float(str(number))


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where they are missing or a text, and masks of
    these.
    """

    values: NDArray[Any]
    missing: Booleans
    texts: Booleans


def numbers_of(array: pa.Array, markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or of the fields of a text file, as
    floats.

    Nulls, NaN and the `markers` are missing.  What floats cannot represent is a text.
    """
    array = plain(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    texts = np.zeros(len(array), dtype=np.bool_)
    try:
        if pa.types.is_integer(array.type):
            array = array.cast(pa.float64())
    except pa.ArrowInvalid:  # beyond 2^53
        array = array.cast(pa.string())
    if not pa.types.is_floating(array.type):
        array, texts = _parsed(array.cast(pa.large_string()), markers)
    values = array.fill_null(np.nan).to_numpy(zero_copy_only=False)
    missing = np.isnan(values)
    for key in map(field_key, markers):
        if isinstance(key, float):
            missing |= values == key
    return Numbers(values, missing & ~texts, texts)


def _parsed(fields: pa.Array, markers: frozenset[str]) -> tuple[pa.Array, Booleans]:
    """Return the numbers of fields, null where missing, and the mask of those that are
    texts.
    """
    try:
        numbers = pc.utf8_trim_whitespace(fields).cast(pa.float64())
        if np.abs(numbers.fill_null(0).to_numpy()).max(initial=0) < EXACT:
            return numbers, np.zeros(len(fields), dtype=np.bool_)
    except pa.ArrowInvalid:
        pass
    coded = fields.dictionary_encode()
    keys = [field_key(text) for text in coded.dictionary.to_pylist()]
    is_text = [isinstance(key, str) and key not in markers for key in keys]
    floats = pa.array(
        [key if isinstance(key, float) else None for key in keys], pa.float64()
    )
    texts = np.isin(coded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return floats.take(coded.indices), texts


# Text files ---------------------------------------------------------------------------

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


def text_source(files: Sequence[Path], options: TableOptions) -> Source:
    """Return the source of text files with the same columns, in the order of their
    records.
    """
    opened = [TextFile(file, options) for file in files]
    expected = dict.fromkeys(opened[0].names, "text")
    for text in opened:
        check_same_columns(
            text.file, dict.fromkeys(text.names, "text"), files[0], expected
        )

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for text in opened:
            with read_errors(text.file, TEXT):
                yield from text.read(columns)

    return Source(opened[0].names, batches, fields=True)


class TextFile:
    """A delimited text file, whose delimiter and header are found at once.

    Attributes
    ----------
    file, names
        Its path, and the column names.
    """

    def __init__(self, file: Path, options: TableOptions) -> None:
        self.file = file
        self._encoding = options.encoding
        with (
            read_errors(file, TEXT),
            io.TextIOWrapper(self._open(), encoding="utf-8-sig", newline="") as stream,
            ExitStack() as afterwards,
        ):
            limit = csv.field_size_limit(
                MAX_RECORD_BYTES
            )  # fields as long as Arrow reads
            afterwards.callback(csv.field_size_limit, limit)
            lines = self._lines(stream)
            start = list(islice(lines, DETECTION_LINES))
            separator = SEPARATOR_LINE.fullmatch(start[0]) if start else None
            self._skipped = int(separator is not None)
            start = start[self._skipped :]
            tabs = file.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
            found = (
                separator[1]
                if separator
                else "\t"
                if tabs
                else find_delimiter("".join(start))
            )
            self._delimiter = options.delimiter or found
            lines = chain(start, lines)
            # rows up to the header, with empty ones
            self._header = 0
            names = options.column_names
            if names is None:
                rows = csv.reader(lines, delimiter=self._delimiter)
                header = ((number, row) for number, row in enumerate(rows, 1) if row)
                self._header, row = next(header, (0, []))
                names = _header_names(row, file)
            self.names = tuple(names)
            self._has_records = any(
                len(names) == 1 or line.strip("\r\n") for line in lines
            )

    def _open(self) -> pa.NativeFile:
        """Return the file as a stream of UTF-8, decompressed if it is gzipped."""
        with self.file.open("rb") as opened:
            gzipped = opened.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
        stream = pa.input_stream(
            str(self.file), compression="gzip" if gzipped else None
        )
        return pa.transcoding_input_stream(stream, self._encoding, "utf-8")

    def _lines(self, stream: io.TextIOBase) -> Iterator[str]:
        """Yield the lines of the file; one that is too long for a record raises a
        TableError.
        """
        while line := stream.readline(MAX_RECORD_BYTES):
            if len(line) >= MAX_RECORD_BYTES:
                raise TableError(
                    f"a line of {self.file} has {MAX_RECORD_BYTES:,} characters or more"
                )
            yield line

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of the file; a ragged record raises a TableError with its
        number.
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
            row, expected, fields = map(int, RAGGED.search(str(problem)).groups())  # type: ignore[union-attr]
            record = row - self._skipped - (self._header > 0)
            raise TableError(
                f"record {record} of {self.file} has {fields} fields, but there are {expected} "
                f"columns (delimiter {self._delimiter!r})"
            ) from None

    def _parse(
        self, columns: Sequence[str], *, threads: bool = True
    ) -> "pa_csv.CSVStreamingReader":
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
    """Return the number of lines with as many fields as the first; 0 if it has one
    field.
    """
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=mark)]
    except csv.Error:
        return 0
    return widths.count(widths[0]) if widths and widths[0] > 1 else 0


def _header_names(row: Sequence[str], file: Path) -> list[str]:
    """Return the names in a header row; no header, or a number in it, raises a
    TableError.
    """
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


class _Blocks:
    """A stream whose reads do not end with a carriage return, except at its end.

    Arrow removes a line feed at the beginning of a block if the block before ends with
    a carriage return, also inside quotes.
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
