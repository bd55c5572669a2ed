"""JSON Lines of reports, one line per person as clients send them, to a table of
reports.

A line is `{"plan": digest, "form": 1, "id": ..., "reports": {"sex": 1, "job": [0,
4]}}`, or has one `"report"` of all answers together; see `docs/wire.md`.  Lines are
untrusted input: one that is malformed, or belongs to another plan, is skipped and its
number noted; all others are read.
"""

import gzip
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np
import pyarrow as pa

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.collection.report_files import GZIP
from seepage.collection.report_schema import reports_schema, spread_reports
from seepage.designs.forms.form_channels import REPORT
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.reports import BitReports, Reports, ValueReports
from seepage.mechanisms.subset_selection import SubsetSelection
from seepage.plan.plan_content import PlanContent

MAX_LINE_BYTES = 1 << 20
"""A longer line is malformed, and never in memory as a whole."""


MAX_ID_LENGTH = 64
"""Maximum number of characters of an id."""


SHOWN_NUMBERS = 10
"""Maximum number of line numbers in a note."""


MALFORMED = "malformed"
"""Reason to skip a line that the plan's clients cannot have sent."""


FOREIGN = "reports of another plan"
"""Reason to skip a line with another plan's digest."""


DUPLICATE = "sent twice"
"""Reason to skip a line that is equal to an earlier one with its id."""


class LineError(InputError):
    """A line that is skipped or refused: one of the reasons above, and what exactly is
    wrong.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        """State why a line of reports is left out."""
        message = reason
        if detail:
            message = f"{reason}: {detail}"
        super().__init__(message)
        self.reason = reason


class ReportLine(msgspec.Struct, omit_defaults=True):
    """One line; unknown fields, as a collector may add, are ignored."""

    plan: str
    form: int
    id: str | None = None
    reports: dict[str, int | list[int]] | None = None
    report: int | None = None


def _open(file: Path) -> BinaryIO:
    """Open a file of lines of reports, plain or gzip."""
    try:
        with file.open("rb") as stream:
            is_packed = stream.read(2) == GZIP
        if is_packed:
            return cast(BinaryIO, gzip.open(file))
        return file.open("rb")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None


def read_report_lines(
    plan: PlanContent, files: Sequence[Path]
) -> tuple[pa.Table, list[str]]:
    """Return the reports of files of JSON Lines, plain or gzip, and notes on skipped
    lines.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    files
        The files.

    Returns
    -------
    Table, list of str
        One row per person; and the numbers of skipped lines with the reason, never
        their content.

    Notes
    -----
    Of lines with the same `id` the first counts: an equal line is a duplicate, a
    different one malformed.  Blank lines are ignored.  O(1) per line; the reports are
    held in memory.
    """
    gatherer = LineGatherer(plan)
    for file in files:
        try:
            with _open(file) as stream:
                gatherer.gather(file, read_lines(stream))
        except (OSError, EOFError, zlib.error):
            raise InputError(
                f"{file} is damaged: it cannot be read further than "
                f"{len(gatherer.forms):,} reports"
            ) from None
    return gatherer.table(files[0]), gatherer.notes


class LineGatherer:
    """Gathers the reports of files of lines.

    Attributes
    ----------
    forms
        The number of the form of each report so far, from 1.
    columns
        By form and by name of the report: the reports so far, as integers.
    notes
        A sentence on the skipped lines of each file, by reason.
    """

    def __init__(self, plan: PlanContent) -> None:
        """Start with no lines of reports of a plan."""
        self._plan = plan
        self._checker = LineChecker(plan)
        self.forms = list[int]()
        self.columns = [
            {name: list[int]() for name in mechanisms}
            for mechanisms in plan.form_mechanisms
        ]
        self.notes = list[str]()

    def gather(self, file: Path, lines: Iterable[bytes | None]) -> None:
        """Read the lines of reports of a file, and note those that are skipped."""
        skipped = {reason: array("Q") for reason in (MALFORMED, FOREIGN, DUPLICATE)}
        for number, content in enumerate(lines, 1):
            try:
                self._add(content)
            except LineError as error:
                skipped[error.reason].append(number)
        for reason, numbers in skipped.items():
            if numbers:
                self.notes.append(_note(file, reason, numbers))

    def _add(self, content: bytes | None) -> None:
        """Add the reports of a line; a blank line has none."""
        if content is not None and not content.strip():
            return
        line, encoded = self._checker.check(content)
        if self._checker.is_known(line, encoded):
            raise LineError(DUPLICATE)
        self.forms.append(line.form)
        for name, report in encoded.items():
            self.columns[line.form - 1][name].append(report)

    def table(self, file: Path) -> pa.Table:
        """Return the reports of all lines, one row per person; without any, `file` is
        at fault.
        """
        if not self.forms:
            reasons = ""
            if self.notes:
                reasons = f": {'; '.join(self.notes)}"
            raise InputError(
                f"{checks.shown(str(file))} holds no report of the plan{reasons}"
            )
        forms = np.array(self.forms) - 1
        arrays = spread_reports(self._plan, forms, self._reports)
        return pa.Table.from_arrays(arrays, schema=reports_schema(self._plan))

    def _reports(self, index: int, name: str, _: Any) -> pa.Array:
        """Return one report of a form from all lines as an Arrow array."""
        mechanism = self._plan.form_mechanisms[index][name]
        return _as_reports(mechanism, self.columns[index][name]).array()


def _note(file: Path, reason: str, numbers: Sequence[int]) -> str:
    """Return a sentence on the lines of reports of a file that are skipped for a
    reason.
    """
    lines = "lines"
    if len(numbers) == 1:
        lines = "line"
    shown = ", ".join(f"{number:,}" for number in numbers[:SHOWN_NUMBERS])
    if len(numbers) > SHOWN_NUMBERS:
        shown += ", ..."
    return (
        f"{file.name}: {len(numbers):,} {lines} left out as {reason} ({lines} {shown})"
    )


class LineChecker:
    """Checks lines against a plan, and knows which ids were there before.

    A line that the plan's clients cannot have sent raises a `LineError`.  Of lines with
    one id the first counts: an equal one is a duplicate, a different one malformed.
    """

    def __init__(self, plan: PlanContent) -> None:
        """Prepare to check lines of reports of a plan."""
        self._plan = plan
        self._decoder = msgspec.json.Decoder(ReportLine)
        for mechanisms in plan.form_mechanisms:
            for mechanism in mechanisms.values():
                if mechanism.reports not in (ValueReports, BitReports):
                    raise InputError(
                        f"reports of mechanism {mechanism.name!r} cannot be read from "
                        "JSON Lines"
                    )
        self._content_by_id = dict[str, tuple[int, ...]]()

    def check(self, content: bytes | None) -> tuple[ReportLine, dict[str, int]]:
        """Return a line and its reports as integers; None stands for a line that is too
        long.
        """
        if content is None:
            raise LineError(MALFORMED, f"it must have at most {MAX_LINE_BYTES:,} bytes")
        try:
            line = self._decoder.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise LineError(
                MALFORMED, "it must be one JSON object with plan and form"
            ) from None
        if line.plan != self._plan.collection:
            raise LineError(FOREIGN)
        if line.id is not None and not 0 < len(line.id) <= MAX_ID_LENGTH:
            raise LineError(
                MALFORMED, f"its id must have 1 to {MAX_ID_LENGTH} characters"
            )
        return line, self._encoded(line)

    def is_known(self, line: ReportLine, encoded: dict[str, int]) -> bool:
        """Return whether an equal line of reports with its id was there before; note
        the id if not.
        """
        if line.id is None:
            return False
        content = (line.form, *encoded.values())
        before = self._content_by_id.setdefault(line.id, content)
        if before != content:
            raise LineError(MALFORMED, "its id belongs to another report")
        return before is not content

    def _encoded(self, line: ReportLine) -> dict[str, int]:
        """Return the reports of a line as integers; raise if mechanisms cannot output
        them.
        """
        forms = self._plan.forms
        if not 1 <= line.form <= len(forms):
            raise LineError(MALFORMED, f"its form must be from 1 to {len(forms)}")
        mechanisms = self._plan.form_mechanisms[line.form - 1]
        reports = _reports_of(line, is_product=forms[line.form - 1].is_product)
        if reports.keys() != mechanisms.keys():
            raise LineError(
                MALFORMED, "it must have the reports that its form asks for"
            )
        encoded = dict[str, int]()
        for name, mechanism in mechanisms.items():
            report = _encoded(mechanism, reports[name])
            if report is None:
                raise LineError(
                    MALFORMED, "a report is none that its mechanism can output"
                )
            encoded[name] = report
        return encoded


def _reports_of(line: ReportLine, *, is_product: bool) -> dict[str, Any]:
    """Return the reports of a line by name; none if it has those of another kind of
    form.
    """
    if is_product and line.report is None:
        return line.reports or {}
    if not is_product and line.reports is None:
        return {REPORT: line.report}
    return {}


def _encoded(mechanism: Mechanism, report: Any) -> int | None:
    """Return a line's report as an integer: a value, or the bitmask of a set.

    It is None for what the mechanism cannot output.
    """
    if mechanism.reports is ValueReports:
        if isinstance(report, int) and 0 <= report < mechanism.outputs:
            return report
        return None
    if not isinstance(report, list):
        return None
    if isinstance(mechanism, SubsetSelection) and len(report) != mechanism.size:
        return None
    return _bitmask(report, mechanism.k)


def _bitmask(values: Sequence[int], k: int) -> int | None:
    """Return a line's ascending values below k as a bitmask; None for others."""
    bits = 0
    last = -1
    for value in values:
        if not last < value < k:
            return None
        bits |= 1 << value
        last = value
    return bits


def _as_reports(mechanism: Mechanism, reports: list[int]) -> Reports:
    """Return the encoded reports of lines as `Mechanism.perturb` returns them."""
    description = mechanism.describe()
    if mechanism.reports is ValueReports:
        values = np.array(reports, dtype=np.int64)
        return ValueReports.of(description, values, mechanism.outputs)
    width = -(-mechanism.k // 64)
    octets = b"".join(bits.to_bytes(8 * width, "little") for bits in reports)
    words = np.frombuffer(octets, dtype="<u8").reshape(-1, width)
    return BitReports(description, words.astype(np.uint64, copy=False))


def read_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines of a file of reports without a byte order mark; None for one that
    is too long.
    """
    is_first = True
    while line := stream.readline(MAX_LINE_BYTES):
        if is_first:
            line = line.removeprefix(b"\xef\xbb\xbf")
            is_first = False
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while (more := stream.readline(MAX_LINE_BYTES)) and not more.endswith(b"\n"):
            pass
        yield None
