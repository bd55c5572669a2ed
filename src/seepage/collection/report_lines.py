"""Reports as JSON Lines, one line per person as clients send them, to a table of reports.

A line is `{"plan": digest, "form": 1, "id": ..., "reports": {"sex": 1, "job": [0, 4]}}`, or has
one `"report"` of all answers together; see `docs/wire.md`.  Lines come from strangers: one that
is malformed, or belongs to another plan, is left out and named by its number, and no other one is
lost for it.
"""

import glob
import gzip
import os
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np
import pyarrow as pa

from seepage import _checks
from seepage.errors import InputError
from seepage.mechanisms import Mechanism, SubsetSelection
from seepage.mechanisms.reports import BitReports, Reports, ValueReports
from seepage.plan.plan import Plan

ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
PARQUET = (".parquet", ".pq")
GZIP = b"\x1f\x8b"

LONGEST_LINE = 1 << 20
"""In bytes; a longer line is malformed, and is not read into memory as a whole."""

LONGEST_ID = 64

NAMED = 10
"""Line numbers that a note names."""

MALFORMED, FOREIGN, TWICE = "malformed", "reports of another plan", "sent twice"
"""Why a line is left out."""


class ReportLine(msgspec.Struct):
    """One line; fields that a collector adds are ignored."""

    plan: str
    form: int
    id: str | None = None
    reports: dict[str, int | list[int]] | None = None
    report: int | None = None


@dataclass(frozen=True)
class ReportLines:
    """The reports of files of JSON Lines.

    Parameters
    ----------
    table
        One row per person, as `Plan.perturb` returns it.
    notes
        What was left out: how many lines and their numbers, never their content.
    """

    table: pa.Table
    notes: tuple[str, ...]


def line_files(reports: Any) -> list[Path]:
    """Return the files of JSON Lines that a path, folder, glob or list names; none for others.

    A folder stands for the files right in it whose names end in `.jsonl` or `.ndjson`, or these
    with `.gz`.  A file of any other name is one if it begins with a brace.
    """
    if not isinstance(reports, (str, os.PathLike, list, tuple)):
        return []
    indices = [reports] if isinstance(reports, (str, os.PathLike)) else reports
    found = [_lines_at(index) for index in indices if isinstance(index, (str, os.PathLike))]
    files = [file for part in found for file in part]
    if files and not all(found):
        raise InputError("files of reports must be of one kind, got JSON Lines and others")
    return files


def _lines_at(index: str | os.PathLike[str]) -> list[Path]:
    path = _checks.input_path(index).expanduser()
    if path.is_dir():
        inside = sorted(path.iterdir())
        lines = [file for file in inside if _is_named_so(file)]
        if lines and any(file.suffix.lower() in PARQUET for file in inside):
            raise InputError(f"{path} holds JSON Lines and Parquet: choose with a glob")
        return lines
    if path.is_file():
        return [path] if _is_named_so(path) or _begins_so(path) else []
    if not path.exists() and glob.has_magic(str(path)):
        matches = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207
        return [file for file in matches if _is_named_so(file)]
    return []


def _is_named_so(file: Path) -> bool:
    return file.name.lower().endswith(ENDINGS) and not file.name.startswith((".", "_"))


def _begins_so(file: Path) -> bool:
    with _opened(file) as stream:
        try:
            return stream.read(64).lstrip().startswith(b"{")
        except (OSError, EOFError, zlib.error):
            return False


def _opened(file: Path) -> BinaryIO:
    try:
        with file.open("rb") as stream:
            packed = stream.read(2) == GZIP
        return cast(BinaryIO, gzip.open(file) if packed else file.open("rb"))
    except OSError as problem:
        raise InputError(f"{file} cannot be read: {problem.strerror}") from None


def read_report_lines(plan: Plan, files: list[Path]) -> ReportLines:
    """Return the reports of files of JSON Lines, plain or gzip.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    files
        The files, as `line_files` returns them.

    Notes
    -----
    Lines that have the same `id` are one report that arrived twice, where they are equal; else
    the first counts.  Blank lines are ignored.  O(1) per line; the reports are held in memory.
    """
    plan.check_certified()
    reader = _Reader(plan)
    for file in files:
        reader.read(file)
    if not reader.people:
        told = f": {'; '.join(reader.notes)}" if reader.notes else ""
        raise InputError(f"{_checks.shown(str(files[0]))} holds no report of the plan{told}")
    return ReportLines(reader.table(), tuple(reader.notes))


def _note(file: Path, reason: str, numbers: Sequence[int]) -> str:
    """Return which lines of a file are left out for a reason."""
    lines = "line" if len(numbers) == 1 else "lines"
    named = ", ".join(f"{number:,}" for number in numbers[:NAMED])
    more = ", ..." if len(numbers) > NAMED else ""
    return f"{file.name}: {len(numbers):,} {lines} left out as {reason} ({lines} {named}{more})"


class _Reader:
    """Lines to columns of reports, one for each report of each form."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._decoder = msgspec.json.Decoder(ReportLine)
        self._columns = [
            {name: _ReportColumn(made) for name, made in channel.items()}
            for channel in plan.channels
        ]
        self._together = [not form.is_product for form in plan.forms]
        self._forms = list[int]()
        self._seen = dict[str, int]()
        self.notes = list[str]()

    @property
    def people(self) -> int:
        return len(self._forms)

    def read(self, file: Path) -> None:
        """Add the good lines of a file; note the others."""
        left = {reason: array("Q") for reason in (MALFORMED, FOREIGN, TWICE)}
        try:
            with _opened(file) as stream:
                for number, line in enumerate(_lines(stream), 1):
                    if line is None or line.strip():
                        problem = MALFORMED if line is None else self._add(line)
                        if problem:
                            left[problem].append(number)
        except (OSError, EOFError, zlib.error):
            raise InputError(
                f"{file} is damaged: it cannot be read further than {self.people:,} reports"
            ) from None
        self.notes += [_note(file, reason, each) for reason, each in left.items() if each]

    def _add(self, content: bytes) -> str:
        """Add one line; return why it is left out, or nothing."""
        try:
            line = self._decoder.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return MALFORMED
        if line.plan != self._plan.collection:
            return FOREIGN
        encoded = self._encoded(line)
        if encoded is None or (line.id is not None and not 0 < len(line.id) <= LONGEST_ID):
            return MALFORMED
        if line.id is not None:
            content_hash = hash((line.form, *encoded.values()))
            if line.id in self._seen:
                return TWICE if self._seen[line.id] == content_hash else MALFORMED
            self._seen[line.id] = content_hash
        for name, report in encoded.items():
            self._columns[line.form - 1][name].reports.append(report)
        self._forms.append(line.form)
        return ""

    def _encoded(self, line: ReportLine) -> dict[str, int] | None:
        """Return the reports of a line as integers; None where its mechanisms cannot draw them."""
        if not 1 <= line.form <= len(self._columns):
            return None
        columns, together = self._columns[line.form - 1], self._together[line.form - 1]
        given: dict[str, Any] | None = {"report": line.report} if together else line.reports
        if given is None or given.keys() != columns.keys():
            return None
        if (line.reports if together else line.report) is not None:
            return None
        encoded = {name: column.encode(given[name]) for name, column in columns.items()}
        return None if None in encoded.values() else encoded  # type: ignore[return-value]

    def table(self) -> pa.Table:
        """Return all reports."""
        from seepage.collection.report_source import reports_schema, spread_reports

        schema = reports_schema(self._plan)
        arrays = spread_reports(
            self._plan,
            np.array(self._forms) - 1,
            lambda index, name, _: self._columns[index][name].made_reports().array(),
        )
        return pa.Table.from_arrays(arrays, schema=schema)


class _ReportColumn:
    """The reports of one mechanism, each as an integer: a value, or the bits of a set."""

    def __init__(self, made: Mechanism) -> None:
        self._made = made
        self.reports = list[int]()
        self.encode: Callable[[Any], int | None]
        if made.reports is ValueReports:
            self._outputs = int(getattr(made, "outputs", made.k))
            self.encode = self._value
        elif made.reports is BitReports:
            self._size = made.size if isinstance(made, SubsetSelection) else None
            self.encode = self._bits
        else:
            raise InputError(f"reports of mechanism {made.name!r} cannot be read from JSON Lines")

    def _value(self, report: Any) -> int | None:
        return report if isinstance(report, int) and 0 <= report < self._outputs else None

    def _bits(self, report: Any) -> int | None:
        if not isinstance(report, list) or (self._size is not None and len(report) != self._size):
            return None
        bits, last = 0, -1
        for value in report:
            if not last < value < self._made.k:
                return None
            bits |= 1 << value
            last = value
        return bits

    def made_reports(self) -> Reports:
        """Return the reports as the mechanism draws them."""
        described = self._made.describe()
        if self._made.reports is ValueReports:
            return ValueReports.of(described, np.array(self.reports, dtype=np.int64), self._outputs)
        width = -(-self._made.k // 64)
        octets = b"".join(bits.to_bytes(8 * width, "little") for bits in self.reports)
        words = np.frombuffer(octets, dtype="<u8").reshape(-1, width)
        return BitReports(described, words.astype(np.uint64, copy=False))


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines of a file; None for one that is too long."""
    begin = True
    while line := stream.readline(LONGEST_LINE):
        if begin:
            line, begin = line.removeprefix(b"\xef\xbb\xbf"), False
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while (more := stream.readline(LONGEST_LINE)) and not more.endswith(b"\n"):
            pass
        yield None
