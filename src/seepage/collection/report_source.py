"""Reports in memory or in files, as batches that a plan's mechanisms can read."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from seepage._numerics import Booleans, Integers
from seepage.collection.report_lines import line_files, read_report_lines
from seepage.data.table.sources import find_files
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.mechanisms.reports import (
    DamagedReportError,
    Reports,
    described_reports,
    open_parquet,
    reports_from_arrow,
)
from seepage.plan.plan import Plan

COLLECTION = b"seepage.collection"
"""The key of the collection's digest in the metadata of a file of reports."""

ROWS = 1 << 16


FORM = "form"
"""The column that says which form a person has, from 1, where not all have the same."""


def report_column(plan: Plan, index: int, name: str) -> str:
    """Return the column of a report, from the index of its form and its name.

    The attribute's name where everyone is asked the same; else `"<form>:<attribute>"`, or
    `"<form>:report"` where all answers are one report.
    """
    return name if plan.is_single else f"{index + 1}:{name}"


def report_columns(plan: Plan) -> list[tuple[str, int, str]]:
    """Return the columns of reports: their names, the index of their form, and their report's name.

    A plan in which everyone is asked the same has them in the order of its attributes.
    """
    made = [plan.mechanisms] if plan.is_single else plan.channels
    return [
        (report_column(plan, index, name), index, name)
        for index, names in enumerate(made)
        for name in names
    ]


def reports_schema(plan: Plan) -> pa.Schema:
    """Return the Arrow schema of a plan's reports: who made each column, and the collection."""
    plan.check_certified()
    nothing = np.zeros(0, dtype=np.int64)
    fields = [
        plan.channels[index][name].perturb(nothing).field(column).with_nullable(not plan.is_single)
        for column, index, name in report_columns(plan)
    ]
    if not plan.is_single:
        fields.insert(0, pa.field(FORM, pa.uint16(), nullable=False))
    return pa.schema(fields, metadata={COLLECTION: plan.collection})


def spread_reports(
    plan: Plan, forms: Integers, reports_of: Callable[[int, str, Any], pa.Array]
) -> list[pa.Array]:
    """Return the columns of reports of some people, in the order of `reports_schema`.

    Parameters
    ----------
    plan
        The plan.
    forms
        The index of everybody's form.
    reports_of
        Gives the reports of a form's people, from its index, the report's name and their rows.
    """
    if plan.is_single:
        return [reports_of(place, name, slice(None)) for _, place, name in report_columns(plan)]
    columns = [pa.array((forms + 1).astype(np.uint16))]
    for place, made in enumerate(plan.channels):
        rows = np.flatnonzero(forms == place)
        where = np.full(len(forms), -1, dtype=np.int64)
        where[rows] = np.arange(len(rows))
        index = pa.array(where, mask=where < 0)
        columns += [reports_of(place, name, rows).take(index) for name in made]
    return columns


class _Place(NamedTuple):
    """Where a batch of reports stands: its file, and the number of rows before it."""

    file: str
    before: int

    def damaged(self, row: int, column: str, rule: str) -> InputError:
        """Return the error for a row of the batch that breaks a rule."""
        number = f"{self.before + row + 1:,}"
        return InputError(f"{self.file}, record {number}: column {column!r} is damaged: {rule}")


class ReportSource:
    """Reports that can be read as often as needed, one batch at a time; files never as a whole.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    parts
        Arrow tables, or Parquet files.

    Attributes
    ----------
    records
        The number of reports.
    """

    def __init__(self, plan: Plan, parts: Sequence[pa.Table | Path]) -> None:
        self._parts, self._plan = parts, plan
        self.records = 0
        for part in parts:
            if isinstance(part, pa.Table):
                check_schema(plan, part.schema, "the table")
                self.records += part.num_rows
            else:
                with open_parquet(part) as parquet:
                    check_schema(plan, parquet.schema_arrow, str(part))
                    self.records += _row_count(parquet.metadata, part)

    def batches(self, names: Sequence[str], form: int = 0) -> Iterator[list[Reports]]:
        """Yield some reports of the people who have a form, by name, some rows at a time."""
        for _, found in self.by_form({form: names}):
            yield found

    def by_form(self, names: Mapping[int, Sequence[str]]) -> Iterator[tuple[int, list[Reports]]]:
        """Yield some reports of some forms, each with the index of its form, from one pass.

        Parameters
        ----------
        names
            The reports' names, by the index of the form: attributes, or "report".
        """
        chosen = {
            form: {report_column(self._plan, form, name): name for name in some}
            for form, some in names.items()
        }
        columns = [column for part in chosen.values() for column in part]
        for batch, forms, index in self._batches(columns):
            for form, part in chosen.items():
                having = None if forms is None else forms == form
                made = self._plan.channels[form]
                found = [
                    reports
                    for column, name in part.items()
                    if (reports := _read(batch, column, made[name], having, index)) is not None
                ]
                if found:
                    yield form, found

    @cached_property
    def people(self) -> Integers:
        """The number of people who have each form."""
        if self._plan.is_single:
            return np.array([self.records])
        found = np.zeros(len(self._plan.forms), dtype=np.int64)
        for _, forms, _ in self._batches([]):
            found += np.bincount(forms, minlength=len(found))  # type: ignore[arg-type]
        return found

    def _batches(
        self, columns: Sequence[str]
    ) -> Iterator[tuple[pa.RecordBatch, Integers | None, _Place]]:
        """Yield batches of columns with the index of everybody's form, None where all have one."""
        wanted = [*columns] if self._plan.is_single else [FORM, *columns]
        for part in self._parts:
            before = 0
            for batch in _part_batches(part, wanted):
                index = _Place("the table" if isinstance(part, pa.Table) else str(part), before)
                yield batch, self._forms(batch, index), index
                before += batch.num_rows

    def _forms(self, batch: pa.RecordBatch, index: _Place) -> Integers | None:
        if self._plan.is_single:
            return None
        count, numbers = len(self._plan.forms), batch.column(FORM)
        forms = numbers.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) - 1
        wrong = (forms < 0) | (forms >= count)
        if wrong.any():
            raise index.damaged(
                int(wrong.argmax()), FORM, f"it must hold integers from 1 to {count}"
            )
        return np.asarray(forms)


def _read(
    batch: pa.RecordBatch,
    column: str,
    made: Mechanism,
    having: Booleans | None,
    index: _Place,
) -> Reports | None:
    """Return the reports of one column of a batch, None without any; damaged ones raise."""
    array, field = batch.column(column), batch.schema.field(column)
    if having is not None:
        wrong = array.is_valid().to_numpy(zero_copy_only=False) != having
        if wrong.any():
            rule = f"it must hold the reports of form {column.partition(':')[0]} and no others"
            raise index.damaged(int(wrong.argmax()), column, rule)
        array = array.drop_null()
    if not len(array):
        return None
    reports = reports_from_arrow(array, field)
    try:
        made.check_drawn(reports)
    except DamagedReportError as damage:
        row = damage.row if having is None else int(np.flatnonzero(having)[damage.row])
        raise index.damaged(row, column, damage.rule) from None
    return reports


def _part_batches(part: pa.Table | Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if isinstance(part, pa.Table):
        yield from part.select(columns).to_batches(max_chunksize=ROWS)
    else:
        with open_parquet(part) as parquet:
            yield from parquet.iter_batches(ROWS, columns=columns)


def _row_count(metadata: Any, file: Path) -> int:
    """Return the number of rows of a Parquet file; raise where its parts add up to another."""
    parts = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    if sum(parts) != metadata.num_rows or any(rows < 0 for rows in parts):
        raise InputError(f"{file} is damaged: it does not have as many reports as it states")
    return sum(parts)


def open_reports(plan: Plan, reports: Any) -> ReportSource:
    """Return a plan's reports as a source of batches; anything else raises an error.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    reports
        An Arrow table, or the path of a Parquet file or JSON Lines, of a folder of such, a glob,
        or a list of paths.  Columns that are no attributes of the plan are ignored.  Lines that
        are left out are named in a warning.  A source is itself.
    """
    plan.check_certified()
    if isinstance(reports, ReportSource):
        return reports
    if isinstance(reports, pa.RecordBatch):
        reports = pa.Table.from_batches([reports])
    if isinstance(reports, pa.Table):
        return ReportSource(plan, [reports])
    if isinstance(reports, (str, os.PathLike, list, tuple)):
        if lines := line_files(reports):
            found = read_report_lines(plan, lines)
            for note in found.notes:
                warnings.warn(note, stacklevel=4)
            return ReportSource(plan, [found.table])
        files = find_files(reports)[1]
        for file in files:
            if not file.is_file():
                raise InputError(f"{file} must be a file: reports are read more than once")
        return ReportSource(plan, files)
    raise InputError(
        "reports must be an Arrow table as `perturb` returns it, or the path of a Parquet file, "
        f"got {type(reports).__name__}"
    )


def check_schema(plan: Plan, schema: pa.Schema, where: str) -> None:
    """Raise where columns are not the reports of a plan."""
    stated = (schema.metadata or {}).get(COLLECTION)
    known = (plan.collection, plan.earlier_collection)
    if stated is not None and stated.decode(errors="replace") not in known:
        raise InputError(
            f"{where} holds reports of another plan: its attributes, values or mechanisms differ"
        )
    for expected in reports_schema(plan):
        if schema.get_field_index(expected.name) < 0:
            raise InputError(f"{where} must have one column of reports {expected.name!r}")
        found = schema.field(expected.name)
        if expected.name == FORM and not plan.is_single:
            if not pa.types.is_integer(found.type):
                raise InputError(f"column {FORM!r} of {where} must hold integers, got {found.type}")
            continue
        if described_reports(found) != described_reports(expected) or found.type != expected.type:
            raise InputError(
                f"column {found.name!r} of {where} must hold reports of "
                f"{described_reports(expected)}, got {described_reports(found) or found.type}"
            )
