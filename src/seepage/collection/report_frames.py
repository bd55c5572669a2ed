"""Reports in frames, and in files that frames were written to.

A frame, or a file that another program wrote, has the columns of `reports_schema`
without their descriptions, and with the types of that program.  Each column of reports
is converted to the type that the plan's mechanism draws; what does not fit raises.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from seepage._core.errors import InputError
from seepage.mechanisms.arrow_reports import described_reports

MAX_REASON = 200
"""Characters of the reason why a column holds no reports."""


def table_of_frame(schema: pa.Schema, frame: Any) -> pa.Table:
    """Return a frame of reports as the table that `perturb` returned.

    Columns beside the reports, such as weights, are kept if Arrow can hold them.

    Parameters
    ----------
    schema
        The schema of the plan's reports.
    frame
        A frame of any kind that Narwhals knows; other objects raise.
    """
    try:
        reports = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            "reports must be an Arrow table as `perturb` returns it, a frame of it, or "
            f"the path of a file, got {type(frame).__name__}",
            parameter="reports",
        ) from None
    columns = {}
    for name in reports.columns:
        kinds = [field.type for field in schema if field.name == name]
        column = _arrow_column(reports[name], *kinds, None)
        if column is not None:
            columns[name] = column
    return described_table(schema, pa.table(columns), "the frame")


def _arrow_column(column: Any, *kinds: pa.DataType | None) -> Any:
    """Return a frame's column of reports as an array of the first type that can hold
    it, None for that which Arrow detects; None if no type can.
    """
    if not column.implementation.is_pandas_like():
        return column.to_arrow()
    for kind in kinds:
        with suppress(pa.ArrowException, ValueError, TypeError, OverflowError):
            return pa.array(column.to_native(), kind, from_pandas=True)
    return None


def table_of_csv(schema: pa.Schema, files: Sequence[Path]) -> pa.Table:
    """Return reports in CSV files as the table that `perturb` returned.

    Reports that are sets of values or vectors have no form in CSV, and raise.
    """
    tables = []
    for file in files:
        try:
            table = pa_csv.read_csv(file)
        except (pa.ArrowException, OSError, ValueError) as problem:
            raise InputError(f"{file} cannot be read as CSV: {problem}") from None
        tables.append(described_table(schema, table, str(file)))
    return pa.concat_tables(tables, promote_options="permissive")


def is_described(schema: pa.Schema, stated: pa.Schema) -> bool:
    """Return whether the schema of a frame describes any of the plan's reports
    itself.
    """
    if stated.metadata and any(key in stated.metadata for key in schema.metadata):
        return True
    names = [name for name in schema.names if stated.get_field_index(name) >= 0]
    return any(described_reports(stated.field(name)) is not None for name in names)


def table_of_parquet(schema: pa.Schema, file: Path) -> pa.Table:
    """Return reports that a frame wrote to Parquet, without descriptions, as the table
    that `perturb` returned.
    """
    return described_table(schema, pq.read_table(file, partitioning=None), str(file))


def described_table(schema: pa.Schema, table: pa.Table, where: str) -> pa.Table:
    """Return the table of a frame whose columns of reports have the types that the plan
    states.

    Parameters
    ----------
    schema
        The schema of the plan's reports.
    table
        The table; its columns beside the reports are kept.
    where
        The table in words.
    """
    table = table.replace_schema_metadata(None)
    fields = list(schema)
    columns = [_reports_column(table, field, where) for field in schema]
    for field, column in _beside(table, schema):
        fields.append(field)
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields, metadata=schema.metadata))


def _beside(table: pa.Table, schema: pa.Schema) -> Iterator[tuple[pa.Field, Any]]:
    """Yield the columns of a frame beside its reports."""
    for index, field in enumerate(table.schema):
        if field.name not in schema.names:
            yield field, table.column(index)


def _reports_column(table: pa.Table, field: pa.Field, where: str) -> Any:
    """Return a frame's column of reports in the type of the plan's schema."""
    if table.schema.names.count(field.name) != 1:
        raise InputError(f"{where} must have one column of reports {field.name!r}")
    column = table.column(field.name)
    try:
        return _converted(column, field.type)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as reason:
        what = " ".join(str(reason).split())[:MAX_REASON]
        raise InputError(
            f"column {field.name!r} of {where} holds no reports of the plan: {what}"
        ) from None


def _converted(column: pa.ChunkedArray, kind: pa.DataType) -> Any:
    """Return a frame's column in another type; a value that this type cannot hold
    raises.
    """
    if column.type == kind:
        return column
    if pa.types.is_integer(kind) and not _may_be_integers(column.type):
        raise TypeError(f"it must hold integers, got {column.type}")
    if pa.types.is_string(column.type):
        raise TypeError("sets and vectors have no form as text, write them as Parquet")
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:
        return pa.array(column.to_pylist(), kind)


def _may_be_integers(kind: pa.DataType) -> bool:
    """Return whether a frame's column of a type may hold integers: of nullable ones
    frames make floats.
    """
    if pa.types.is_null(kind) or pa.types.is_integer(kind):
        return True
    return bool(pa.types.is_floating(kind))
