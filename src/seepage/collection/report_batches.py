"""Reports in memory or in files, as batches of the `Reports` of a plan's mechanisms."""

from collections.abc import Iterator, Mapping, Sequence
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
    table_of_parquet,
)
from seepage.collection.report_schema import (
    FORM,
    check_schema,
    report_column,
    reports_schema,
)
from seepage.collection.weights import checked_weights
from seepage.mechanisms.arrow_reports import open_parquet, reports_from_arrow
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.reports import DamagedReportError, Reports
from seepage.plan.plan_content import PlanContent

BATCH_ROWS = 1 << 16
"""Number of reports that are read at once."""


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
