"""Records to reports: the collection that a plan describes."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from seepage._output import whole_file
from seepage.errors import DomainError, InputError
from seepage.mechanisms.randomness import Seed, randomness
from seepage.mechanisms.reports import ValueReports
from seepage.plan.coding import open_records
from seepage.plan.model import Plan
from seepage.plan.reading import reports_schema
from seepage.table.paths import find_files

__all__ = ["perturb_file", "perturb_table"]

ROWS = 1 << 17
"""Reports that are written at once."""

Progress = Callable[[int, int | None], object]
"""Called with the records done and, where known, the records in all."""


def perturb_table(
    plan: Plan,
    data: Any,
    rng: Seed = None,
    *,
    secure: bool = True,
    other: str | Mapping[str, str] | None = None,
    **table: Any,
) -> pa.Table:
    """Return the reports of a table's records; see `Plan.perturb`."""
    batches = _reports(plan, data, rng, secure, other, None, table)
    return pa.Table.from_batches(batches, schema=reports_schema(plan))


def perturb_file(
    plan: Plan,
    data: Any,
    output: str | os.PathLike[str],
    rng: Seed = None,
    *,
    secure: bool = True,
    other: str | Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **table: Any,
) -> int:
    """Write the reports of a table's records to a Parquet file, in memory that does not grow.

    Parameters
    ----------
    plan
        Which attributes are collected, and how.
    data
        A frame, or the path of a file, folder or glob; read in batches.
    output
        The file.  It appears when all reports are written; nothing appears where a record is
        refused or the process is killed.
    rng, secure
        The operating system's generator by default; for research `secure=False` and a seed,
        which gives the same reports again for the same file.
    other
        The value that stands for values outside the domain, see `Plan.perturb`.
    progress
        Called with the records done and, where known, the records in all.
    table
        Options of `seepage.table.TableOptions`.

    Returns
    -------
    int
        The number of reports, one a record and in the order of the records.

    Notes
    -----
    The columns carry the mechanism and its parameters, the file the digest of the collection, so
    that reports are not read with another plan.

    Examples
    --------
    >>> import tempfile
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> domain = sp.Domain([sp.Attribute("smoker", ("no", "yes"))])
    >>> pairs = sp.PairCounts(domain, [[70, 30]], [])
    >>> plan = make_plan(pairs, 1.0, limit=1.0, guarantee="worst", totals=[1.0])
    >>> people = pa.table({"smoker": [True, False] * 50})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     perturb_file(plan, people, f"{folder}/reports.parquet", other="no")
    100
    """
    _check_not_input(data, output)
    schema = reports_schema(plan)
    batches = _reports(plan, data, rng, secure, other, progress, table)
    with whole_file(output) as file:
        return _write(batches, schema, file, _repeating(plan))


def _reports(
    plan: Plan,
    data: Any,
    rng: Seed,
    secure: bool,
    other: str | Mapping[str, str] | None,
    progress: Progress | None,
    table: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    """Yield the reports of one batch of records after the other."""
    source = randomness(rng, secure)
    schema = reports_schema(plan)
    stream = open_records(data, plan.collected, other, **table)
    try:
        for codes in stream:
            reports = [
                mechanism.perturb(column, rng=source).array()
                for mechanism, column in zip(plan.mechanisms.values(), codes, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(reports, schema=schema)
            if progress is not None:
                progress(stream.rows_read, stream.rows_total)
    except DomainError as problem:
        hint = "" if other is not None else "; or name a catch-all value for such (other)"
        raise DomainError(f"{problem}{hint}") from None


def _write(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: IO[bytes], repeating: list[str]
) -> int:
    """Write batches in row groups of a good size; return the number of rows."""
    written, waiting, held = 0, list[pa.RecordBatch](), 0
    options = {"compression": "zstd", "use_dictionary": repeating, "write_page_checksum": True}
    with pq.ParquetWriter(file, schema, use_compliant_nested_type=False, **options) as writer:
        for batch in batches:
            waiting.append(batch)
            held += batch.num_rows
            if held >= ROWS:
                writer.write_table(pa.Table.from_batches(waiting))
                written, waiting, held = written + held, [], 0
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
    return written + held


def _repeating(plan: Plan) -> list[str]:
    """Return the attributes whose reports repeat, so that a dictionary makes the file smaller."""
    return [name for name, made in plan.mechanisms.items() if made.reports is ValueReports]


def _check_not_input(data: Any, output: str | os.PathLike[str]) -> None:
    """Refuse to write reports over the records."""
    if not isinstance(data, (str, os.PathLike, list, tuple)) or not Path(output).exists():
        return
    if any(file.samefile(output) for file in find_files(data)[1]):
        raise InputError(f"the output must not be the data, got {os.fspath(output)!r} for both")
