"""Reports in memory or in files, as batches that a plan's mechanisms can read."""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seepage.collection.report_lines import line_files, read_report_lines
from seepage.data.table.sources import find_files
from seepage.errors import InputError
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


def reports_schema(plan: Plan) -> pa.Schema:
    """Return the Arrow schema of a plan's reports: who made each column, and the collection."""
    plan.check_certified()
    nothing = np.zeros(0, dtype=np.int64)
    fields = [made.perturb(nothing).field(name) for name, made in plan.mechanisms.items()]
    return pa.schema(fields, metadata={COLLECTION: plan.collection})


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
                    self.records += parquet.metadata.num_rows

    def batches(self, names: Sequence[str]) -> Iterator[list[Reports]]:
        """Yield the reports of these attributes, some rows at a time."""
        for part in self._parts:
            if isinstance(part, pa.Table):
                chosen = part.select(list(names))
                yield from self._read(chosen.to_batches(max_chunksize=ROWS), "the table")
            else:
                with open_parquet(part) as parquet:
                    batches = parquet.iter_batches(ROWS, columns=list(names))
                    yield from self._read(batches, str(part))

    def _read(self, batches: Iterable[pa.RecordBatch], where: str) -> Iterator[list[Reports]]:
        """Yield the reports of one table or file; a damaged one raises, with its record."""
        before = 0
        for batch in batches:
            columns = list[Reports]()
            for array, field in zip(batch.columns, batch.schema, strict=True):
                if not len(array):
                    continue
                columns.append(reports_from_arrow(array, field))
                try:
                    self._plan.mechanisms[field.name].check_drawn(columns[-1])
                except DamagedReportError as damage:
                    raise InputError(
                        f"{where}, record {before + damage.row + 1:,}: column {field.name!r} is "
                        f"damaged: {damage.rule}"
                    ) from None
            if columns:
                yield columns
            before += batch.num_rows


def open_reports(plan: Plan, reports: Any) -> ReportSource:
    """Return a plan's reports as a source of batches; anything else raises an error.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    reports
        An Arrow table, or the path of a Parquet file or JSON Lines, of a folder of such, a glob,
        or a list of paths.  Columns that are no attributes of the plan are ignored.  Lines that
        are left out are named in a warning.
    """
    plan.check_certified()
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
        if described_reports(found) != described_reports(expected) or found.type != expected.type:
            raise InputError(
                f"column {found.name!r} of {where} must hold reports of "
                f"{described_reports(expected)}, got {described_reports(found) or found.type}"
            )
