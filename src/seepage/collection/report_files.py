"""Files of reports: opened by their format, and written as Parquet."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from seepage.collection.report_batches import ReportSource
from seepage.collection.report_frames import table_of_csv, table_of_frame
from seepage.collection.report_schema import FORM, report_columns, reports_schema
from seepage.mechanisms.reports import ValueReports
from seepage.plan.plan_content import PlanContent
from seepage.tables.sources import PARQUET, find_files, first_bytes, suffix_of

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


ROW_GROUP = 1 << 17
"""Minimum number of rows of a Parquet row group."""


def _warn(note: str) -> None:
    """Warn of reports in a file that are left out."""
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
    """Return reports in files that clients sent, as lines or in a database, and notes
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


def write_report_file(
    plan: PlanContent, batches: Iterator[pa.RecordBatch], file: IO[bytes]
) -> int:
    """Write batches of reports to a Parquet file; return the number of rows.

    Row groups have at least `ROW_GROUP` rows.  Reports that are values, and forms, are
    dictionary-encoded.
    """
    buffer = list[pa.RecordBatch]()
    written = 0
    encoded = list[str]()
    if not plan.is_single:
        encoded.append(FORM)
    for column, index, name in report_columns(plan):
        if plan.form_mechanisms[index][name].reports is ValueReports:
            encoded.append(column)
    with pq.ParquetWriter(
        file,
        reports_schema(plan),
        compression="zstd",
        use_dictionary=encoded,
        use_compliant_nested_type=False,
        write_page_checksum=True,
    ) as writer:
        for batch in batches:
            buffer.append(batch)
            written += batch.num_rows
            if sum(part.num_rows for part in buffer) >= ROW_GROUP:
                writer.write_table(pa.Table.from_batches(buffer))
                buffer.clear()
        if buffer:
            writer.write_table(pa.Table.from_batches(buffer))
    return written
