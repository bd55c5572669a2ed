"""Reports in memory or in files, as batches of the `Reports` of a plan's mechanisms."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.checks import near_miss
from seepage._core.errors import InputError
from seepage.collection.report_frames import (
    described_table,
    is_described,
    table_of_csv,
    table_of_frame,
    table_of_parquet,
)
from seepage.collection.weights import checked_weights
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.reports import (
    DamagedReportError,
    Reports,
    described_reports,
    open_parquet,
    reports_from_arrow,
)
from seepage.plan.content import PlanContent
from seepage.tables.sources import PARQUET, find_files, first_bytes, suffix_of

COLLECTION = b"seepage.collection"
"""The key of the collection's digest in the metadata of a file of reports."""


BATCH_ROWS = 1 << 16
"""Number of reports that are read at once."""


LINES = "JSON Lines"
"""The format of files with one report per line."""


DATABASE = "SQLite"


COMMAS = "CSV"
"""The format of files that a frame of reports was written to as text."""


FORMATS: dict[str, str] = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".jsonl": LINES,
    ".ndjson": LINES,
    ".csv": COMMAS,
    ".db": DATABASE,
    ".sqlite": DATABASE,
    ".sqlite3": DATABASE,
}
"""Formats of reports by suffix.  A file of another suffix is a database if it begins as
one, lines if it begins with a brace or is gzip, and Parquet otherwise."""


GZIP = b"\x1f\x8b"
"""First bytes of gzip files."""


DATABASE_START = b"SQLite f"
"""The first 8 bytes of every SQLite database."""


FORM = "form"
"""The column of the number of each person's form, from 1; absent if all have the
same."""


def report_column(plan: PlanContent, index: int, name: str) -> str:
    """Return the name of a column of reports, from the index of its form and the
    report's name.

    The attribute's name if everyone is asked the same; else `"<form>:<attribute>"`, or
    `"<form>:report"` for one report of all answers.
    """
    if plan.is_single:
        return name
    return f"{index + 1}:{name}"


def report_columns(plan: PlanContent) -> list[tuple[str, int, str]]:
    """Return (column, index of the form, name of the report) for each column of
    reports.

    If everyone is asked the same, they are in the order of the plan's attributes.
    """
    if plan.is_single:
        return [(report_column(plan, 0, name), 0, name) for name in plan.mechanisms]
    columns = []
    for index, mechanisms in enumerate(plan.form_mechanisms):
        columns += [
            (report_column(plan, index, name), index, name) for name in mechanisms
        ]
    return columns


def reports_schema(plan: PlanContent) -> pa.Schema:
    """Return the Arrow schema of a plan's reports; metadata: the mechanisms and the
    collection.
    """
    nobody = np.zeros(0, dtype=np.int64)
    fields = []
    if not plan.is_single:
        fields.append(pa.field(FORM, pa.uint16(), nullable=False))
    for column, index, name in report_columns(plan):
        reports = plan.form_mechanisms[index][name].perturb(nobody)
        fields.append(reports.field(column).with_nullable(not plan.is_single))
    return pa.schema(fields, metadata={COLLECTION: plan.collection})


def spread_reports(
    plan: PlanContent, forms: Integers, reports_of: Callable[[int, str, Any], pa.Array]
) -> list[pa.Array]:
    """Return the reports of some people as the Arrow columns of a batch, in the order
    of `reports_schema`.

    A column of one form is null for people with another form.

    Parameters
    ----------
    plan
        The plan.
    forms
        The index of each person's form.
    reports_of
        Function from (index of a form, name of a report, rows of its people) to their
        reports.
    """
    if plan.is_single:
        return [
            reports_of(form, name, slice(None))
            for _, form, name in report_columns(plan)
        ]
    columns = [pa.array((forms + 1).astype(np.uint16))]
    for form, mechanisms in enumerate(plan.form_mechanisms):
        rows = np.flatnonzero(forms == form)
        positions = np.full(len(forms), -1, dtype=np.int64)
        positions[rows] = np.arange(len(rows))
        indices = pa.array(positions, mask=positions < 0)
        columns += [reports_of(form, name, rows).take(indices) for name in mechanisms]
    return columns


class ReportSource:
    """Reports that can be read as often as needed, one batch at a time; files never as
    a whole.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    parts
        Arrow tables, or Parquet files.
    are_lines
        Whether they are as clients sent them, without columns beside the reports.

    Attributes
    ----------
    records
        The number of reports.
    """

    def __init__(
        self,
        plan: PlanContent,
        parts: Sequence[pa.Table | Path],
        *,
        are_lines: bool = False,
    ) -> None:
        """Check the schema of each part of the reports, and count their rows."""
        self._parts = [_with_descriptions(plan, part) for part in parts]
        self._plan = plan
        self._are_lines = are_lines
        self.records = 0
        for part in self._parts:
            schema, rows = _described(part)
            check_schema(plan, schema, _shown(part))
            self.records += rows
        if not self.records:
            raise InputError("reports must not be empty, got none", parameter="reports")

    def by_form(
        self, names: Mapping[int, Sequence[str]]
    ) -> Iterator[tuple[int, list[Reports], Integers]]:
        """Yield (index of a form, batches of its named reports, their rows), in one
        pass.

        Parameters
        ----------
        names
            The names of the reports, by the index of the form: attributes, or "report".
        """
        columns = list[str]()
        for form, of_form in names.items():
            columns += [report_column(self._plan, form, name) for name in of_form]
        before = 0
        for batch in self._batches(columns):
            for form, of_form in names.items():
                reports = [self._read(batch, form, name) for name in of_form]
                if reports and len(reports[0]):
                    yield form, reports, before + np.flatnonzero(batch.forms == form)
            before += batch.records.num_rows

    def _read(self, batch: "_Batch", form: int, name: str) -> Reports:
        """Return one report of each person of a batch with a form."""
        column = report_column(self._plan, form, name)
        return batch.read(column, form, self._plan.form_mechanisms[form][name])

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column that is beside the batches' reports, such as weights."""
        if self._are_lines:
            raise InputError(
                f"reports as clients send them have no column {name!r} beside them: "
                "give one number for each report that is read, in their order, or a "
                "column of covariates"
            )
        for part in self._parts:
            known = _described(part)[0].names
            if name not in known:
                raise InputError(
                    f"the reports have no column {name!r}{near_miss(name, known)}"
                )
        batches = list[pa.RecordBatch]()
        for part in self._parts:
            batches += _part_batches(part, [name])
        return pa.Table.from_batches(batches).column(0)

    def weights(self, weights: Any) -> Floats | None:
        """Return one weight per report, from a column beside them or an array; None for
        none.
        """
        if weights is None:
            return None
        if isinstance(weights, str):
            weights = self.column(weights)
        return checked_weights(weights, self.records)

    def _batches(self, columns: Sequence[str]) -> Iterator["_Batch"]:
        """Yield batches of columns of reports."""
        for part in self._parts:
            before = 0
            if self._plan.is_single:
                for records in _part_batches(part, columns):
                    everybody = np.zeros(records.num_rows, dtype=np.int64)
                    yield _Batch(records, everybody, _shown(part), before)
                    before += records.num_rows
                continue
            for records in _part_batches(part, [FORM, *columns]):
                numbers = records.column(FORM).fill_null(0)
                forms = numbers.to_numpy(zero_copy_only=False).astype(np.int64) - 1
                batch = _Batch(records, forms, _shown(part), before)
                batch.check_forms(len(self._plan.forms))
                yield batch
                before += records.num_rows


class _Batch(NamedTuple):
    """Some records of reports.

    Parameters
    ----------
    records
        The columns.
    forms
        The index of each person's form.
    part, before
        The table or file, in words, and how many of its records come before.
    """

    records: pa.RecordBatch
    forms: Integers
    part: str
    before: int

    def check_forms(self, count: int) -> None:
        """Raise an InputError where the number of a form in a batch is none from 1 to
        `count`.
        """
        wrong = (self.forms < 0) | (self.forms >= count)
        if wrong.any():
            raise self.damaged(wrong, FORM, f"it must hold integers from 1 to {count}")

    def read(self, column: str, form: int, mechanism: Mechanism) -> Reports:
        """Return the reports of one column of a batch, of the people who have its
        form.
        """
        having = self.forms == form
        array = self.records.column(column)
        wrong = array.is_valid().to_numpy(zero_copy_only=False) != having
        if wrong.any():
            rule = "it must hold one report of each person with its form, and no others"
            raise self.damaged(wrong, column, rule)
        field = self.records.schema.field(column)
        reports = reports_from_arrow(array.drop_null(), field)
        try:
            mechanism.check_drawn(reports)
        except DamagedReportError as damage:
            row = np.arange(len(having)) == np.flatnonzero(having)[damage.row]
            raise self.damaged(row, column, damage.rule) from None
        return reports

    def damaged(self, wrong: Booleans, column: str, rule: str) -> InputError:
        """Return the error for the first record of a batch that breaks a rule."""
        record = self.before + int(wrong.argmax()) + 1
        return InputError(
            f"{self.part}, record {record:,}: column {column!r} is damaged: {rule}"
        )


def _part_batches(
    part: pa.Table | Path, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a table or file of reports."""
    if isinstance(part, pa.Table):
        yield from part.select(columns).to_batches(max_chunksize=BATCH_ROWS)
    else:
        with open_parquet(part) as parquet:
            yield from parquet.iter_batches(BATCH_ROWS, columns=columns)


def _with_descriptions(plan: PlanContent, part: pa.Table | Path) -> pa.Table | Path:
    """Return a table or file of reports; one that another program wrote, without
    descriptions, as a table.
    """
    schema = reports_schema(plan)
    if isinstance(part, pa.Table):
        if is_described(schema, part.schema):
            return part
        return described_table(schema, part, _shown(part))
    with open_parquet(part) as parquet:
        if is_described(schema, parquet.schema_arrow):
            return part
        return table_of_parquet(schema, part)


def _shown(part: pa.Table | Path) -> str:
    """Return the name of a table or file of reports for messages."""
    if isinstance(part, pa.Table):
        return "the table"
    return str(part)


def _described(part: pa.Table | Path) -> tuple[pa.Schema, int]:
    """Return the schema of a table or file of reports and its number of rows; raise if
    row groups of a file have another sum.
    """
    if isinstance(part, pa.Table):
        return part.schema, part.num_rows
    with open_parquet(part) as parquet:
        metadata = parquet.metadata
        numbers = range(metadata.num_row_groups)
        groups = [metadata.row_group(number).num_rows for number in numbers]
        if sum(groups) != metadata.num_rows or any(rows < 0 for rows in groups):
            raise InputError(
                f"{part} is damaged: it does not have as many reports as it states"
            )
        return parquet.schema_arrow, sum(groups)


def _warn(note: str) -> None:
    """Warn of reports that are left out."""
    warnings.warn(note, stacklevel=6)


def open_reports(
    plan: PlanContent, reports: Any, note: Callable[[str], None] = _warn
) -> ReportSource:
    """Return a plan's reports as a source of batches.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    reports
        An Arrow table, or a pandas or Polars frame of it; the path of a Parquet file,
        of a CSV file, of JSON Lines or of a receiver's database, of a folder of such, a
        glob, a list of paths, or a `ReportSource`.  Columns that are no attributes of
        the plan are ignored.
    note
        Called with a sentence on the lines that are skipped; a warning by default.
    """
    if isinstance(reports, ReportSource):
        return reports
    if isinstance(reports, pa.RecordBatch):
        reports = pa.Table.from_batches([reports])
    if isinstance(reports, pa.Table):
        return ReportSource(plan, [reports])
    if not isinstance(reports, (str, os.PathLike, list, tuple)):
        return ReportSource(plan, [table_of_frame(reports_schema(plan), reports)])
    kind, files = find_files(reports, FORMATS, _format_of)
    if kind == PARQUET:
        return ReportSource(plan, files)
    if kind == COMMAS:
        return ReportSource(plan, [table_of_csv(reports_schema(plan), files)])
    table, notes = _sent_reports(plan, kind, files)
    for sentence in notes:
        note(sentence)
    return ReportSource(plan, [table], are_lines=True)


def _sent_reports(
    plan: PlanContent, kind: str, files: Sequence[Path]
) -> tuple[pa.Table, list[str]]:
    """Return batches of reports that clients sent, as lines or in a database, and notes
    on those left out.
    """
    if kind == DATABASE:
        from seepage.collection.stored_reports import read_databases

        return read_databases(plan, files)
    from seepage.collection.report_lines import read_report_lines

    return read_report_lines(plan, files)


def _format_of(file: Path) -> str:
    """Return the format of a file of reports by its suffix, else by its first bytes.

    A file with a known suffix is not opened: closing a database would release the locks
    of a receiver in this process.
    """
    suffix = suffix_of(file)
    if suffix in FORMATS:
        return FORMATS[suffix]
    start = first_bytes(file)
    if start == DATABASE_START:
        return DATABASE
    if start.lstrip().startswith((b"{", GZIP)):
        return LINES
    return PARQUET


def check_schema(plan: PlanContent, schema: pa.Schema, where: str) -> None:
    """Raise an InputError if the schema of batches is not that of the plan's
    reports.
    """
    stated = (schema.metadata or {}).get(COLLECTION)
    if stated is not None and stated.decode(errors="replace") != plan.collection:
        raise InputError(
            f"{where} holds reports of another plan: its attributes, values or "
            "mechanisms differ"
        )
    for expected in reports_schema(plan):
        if schema.get_field_index(expected.name) < 0:
            raise InputError(
                f"{where} must have one column of reports {expected.name!r}"
            )
        field = schema.field(expected.name)
        if expected.name == FORM and not plan.is_single:
            _check_form_column(field, where)
        else:
            _check_report_column(field, expected, where)


def _check_form_column(field: pa.Field, where: str) -> None:
    """Raise an InputError if a batch's column of the numbers of forms holds no
    integers.
    """
    if not pa.types.is_integer(field.type):
        raise InputError(
            f"column {FORM!r} of {where} must hold integers, got {field.type}"
        )


def _check_report_column(field: pa.Field, expected: pa.Field, where: str) -> None:
    """Raise an InputError if a batch's column does not hold reports of its
    mechanism.
    """
    stated = described_reports(field)
    required = described_reports(expected)
    if stated != required or field.type != expected.type:
        raise InputError(
            f"column {field.name!r} of {where} must hold reports of {required}, "
            f"got {stated or field.type}"
        )
