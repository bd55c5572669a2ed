"""Records to reports: everyone is given a form, and the answers to it are perturbed."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seepage._files import whole_file
from seepage._numerics import Integers
from seepage._results import Progress
from seepage.collection.record_source import drawn_forms, form_column, open_records
from seepage.collection.report_source import (
    FORM,
    report_columns,
    reports_schema,
    spread_reports,
)
from seepage.data.table.numbers import Codes
from seepage.data.table.sources import find_files
from seepage.errors import DomainError, InputError
from seepage.mechanisms.randomness import Randomness, Seed, randomness
from seepage.mechanisms.reports import ValueReports
from seepage.plan.form import Form
from seepage.plan.plan import Plan

ROWS = 1 << 17
"""Reports that are written at once."""


def perturb_table(plan: Plan, data: Any, **options: Any) -> pa.Table:
    """Return the reports of a table's records; see `Plan.perturb`."""
    return pa.Table.from_batches(_reports(plan, data, **options), schema=reports_schema(plan))


def perturb_file(plan: Plan, data: Any, output: str | os.PathLike[str], **options: Any) -> int:
    """Write the reports of a table's records to a Parquet file, in constant memory.

    Parameters
    ----------
    plan
        Which attributes are collected, and how.
    data
        A frame, the path of a file, folder or glob, or the name of a dataset; read in batches.
    output
        The file.  It appears when all reports are written, and not at all where a record is not
        accepted or the process is killed.
    options
        Those of `Plan.perturb`, and `progress`: called with the records done and, where known, the
        records in all.

    Returns
    -------
    int
        The number of reports, one per record and in the order of the records.

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
    with whole_file(output) as file:
        return _write(_reports(plan, data, **options), schema, file, _repeating(plan))


def _reports(
    plan: Plan,
    data: Any,
    *,
    seed: Seed = None,
    other: str | Mapping[str, str] | None = None,
    form: str | None = None,
    identifier: str | None = None,
    key: bytes | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **table_options: Any,
) -> Iterator[pa.RecordBatch]:
    """Yield the reports of one batch of records after the other."""
    assigned = form_column(plan, form, identifier, key)
    source = randomness(seed)
    schema = reports_schema(plan)
    scan = open_records(data, plan.collected, other, assigned, **table_options)
    try:
        for batch in scan.batches(progress):
            answers = dict(zip(plan.collected.names, batch.codes, strict=False))
            if assigned is not None:
                forms = batch.codes[-1].astype(np.int64)
            else:
                forms = drawn_forms(plan, len(batch.codes[0]), source)
            arrays = perturbed_columns(plan, answers, forms, source)
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except DomainError as problem:
        hint = "" if other is not None else "; name a value that such count as (other; --other)"
        raise DomainError(f"{problem}{hint}") from None


def perturbed_columns(
    plan: Plan, answers: Mapping[str, Codes], forms: Integers, source: Randomness
) -> list[pa.Array]:
    """Return the columns of reports of some people, in the order of `reports_schema`.

    Parameters
    ----------
    plan
        The plan.
    answers
        The code of everybody's answer, by attribute.
    forms
        The place of everybody's form.
    source
        Where the noise comes from.
    """

    def drawn(place: int, name: str, rows: Any) -> pa.Array:
        form = plan.forms[place]
        codes = answers[name][rows] if form.is_product else _cells(plan, form, answers, rows)
        return plan.channels[place][name].perturb(codes, rng=source).array()

    return spread_reports(plan, forms, drawn)


def _cells(plan: Plan, form: Form, answers: Mapping[str, Codes], rows: Integers) -> Integers:
    """Return the cell of all answers to a form, in mixed radix, the last the fastest."""
    cells = np.zeros(len(rows), dtype=np.int64)
    for name in form.attributes:
        cells = cells * plan.domain[name].size + answers[name][rows]
    return cells


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
    """Return the columns whose reports repeat, so that a dictionary makes the file smaller."""
    repeating = [
        column
        for column, place, name in report_columns(plan)
        if plan.channels[place][name].reports is ValueReports
    ]
    return repeating if plan.is_single else [FORM, *repeating]


def _check_not_input(data: Any, output: str | os.PathLike[str]) -> None:
    """Raise where reports would be written over the records."""
    if not isinstance(data, (str, os.PathLike, list, tuple)) or not Path(output).exists():
        return
    if any(file.samefile(output) for file in find_files(data)[1]):
        raise InputError(f"the output must not be the data, got {os.fspath(output)!r} for both")
