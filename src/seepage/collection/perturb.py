"""Records to reports: every person is assigned a form, and the answers to it are perturbed.

Records are coded in the plan's domain: a value outside it raises an error, unless the attribute has
a catch-all value.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seepage import _checks
from seepage._files import whole_file
from seepage._numerics import Codes, Integers
from seepage._options import changed
from seepage.collection.identified_reports import Identifiers, KeyedNoise, identifiers
from seepage.collection.report_source import FORM, report_columns, reports_schema, spread_reports
from seepage.data.domain import Domain
from seepage.data.inputs import table_of
from seepage.data.table.options import TableOptions
from seepage.data.table.scan import TableScan, columns_of
from seepage.data.table.sources import find_files, open_source
from seepage.designs.form import Form, form_of_words
from seepage.errors import InputError, Setting, TableError
from seepage.mechanisms.exact_draws import Randomness, randomness
from seepage.mechanisms.reports import ValueReports
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import PerturbOptions

ROW_GROUP = 1 << 17
"""Minimum number of rows of a Parquet row group."""


def perturb_table(plan: Plan, data: Any, options: PerturbOptions) -> pa.Table:
    """Return the reports of a table's records; see `Plan.perturb`."""
    return pa.Table.from_batches(_reports(plan, data, options), schema=reports_schema(plan))


def perturb_file(plan: Plan, data: Any, output: str | os.PathLike[str], **options: Any) -> int:
    """Write the reports of a table's records to a Parquet file, in constant memory.

    Parameters
    ----------
    plan
        The plan.
    data
        A frame, the path of a file, folder or glob, or the name of a dataset; read in batches.
    output
        The file, written atomically: it does not appear if a record raises an error or the process
        is killed.
    options
        The options of `Plan.perturb`.

    Returns
    -------
    int
        The number of reports, one per record and in the order of the records.

    Notes
    -----
    The metadata of columns hold the mechanism and its parameters, those of the file the digest of
    the collection, so that reports are not read with another plan.

    Examples
    --------
    >>> import tempfile
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> domain = sp.Domain([sp.Attribute("smoker", ("no", "yes"))])
    >>> pairs = sp.PairCounts(domain, [[70, 30]], [])
    >>> plan = make_plan(pairs, 1.0, limit=1.0, guarantee="worst", totals=[1.0])
    >>> people = pa.table({"smoker": ["yes", "no"] * 50})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     perturb_file(plan, people, f"{folder}/reports.parquet")
    100
    """
    _checks.options(options, [one.name for one in fields(PerturbOptions)])
    _check_output_differs(data, options.get("key"), output)
    schema = reports_schema(plan)
    with whole_file(output) as file:
        return _write(
            _reports(plan, data, PerturbOptions(**options)), schema, file, _dictionary_columns(plan)
        )


def _reports(plan: Plan, data: Any, options: PerturbOptions) -> Iterator[pa.RecordBatch]:
    """Yield the reports of each batch of records."""
    is_drawn = options.identifier is None and options.key is None
    assigned = None if is_drawn else identifiers(plan, options.identifier, options.key)
    if options.identifier is not None and options.rng is not None:
        reason = "seed has no effect: the noise is derived from identifiers ("
        raise InputError(reason, Setting("identifier"), ")")
    source = randomness(options.rng, "rng")
    schema = reports_schema(plan)
    scan = open_records(data, plan.collected, assigned, **changed(options, TableOptions))
    for batch in scan.batches(options.progress):
        answers = dict(zip(plan.collected.names, batch.codes, strict=True))
        if assigned is not None:
            forms, noise = assigned.read(plan, scan.beside, batch)
        else:
            forms, noise = drawn_forms(plan, len(batch.codes[0]), source), None
        arrays = perturbed_columns(plan, answers, forms, noise or source)
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def drawn_forms(plan: Plan, count: int, source: Randomness) -> Integers:
    """Return the form index of `count` people, drawn by the shares; no draw for a single form."""
    if len(plan.forms) == 1:
        return np.zeros(count, dtype=np.int64)
    return form_of_words(plan.forms, source.words(count))


def perturbed_columns(
    plan: Plan, answers: Mapping[str, Codes], forms: Integers, source: Randomness | KeyedNoise
) -> list[pa.Array]:
    """Return the reports of some people as Arrow columns, in the order of `reports_schema`.

    Parameters
    ----------
    plan
        The plan.
    answers
        The codes of the answers of each person, by attribute.
    forms
        The index of each person's form.
    source
        The source of randomness, or the noise derived from identifiers.
    """

    def perturbed(index: int, name: str, rows: Any) -> pa.Array:
        form, mechanisms = plan.forms[index], plan.form_mechanisms[index]
        codes = answers[name][rows] if form.is_product else _cells(plan, form, answers, rows)
        if isinstance(source, Randomness):
            return mechanisms[name].perturb(codes, rng=source).array()
        report = f"{index} {list(mechanisms).index(name)}"
        return source.draw(mechanisms[name], codes, np.arange(len(forms))[rows], report)

    return spread_reports(plan, forms, perturbed)


def _cells(plan: Plan, form: Form, answers: Mapping[str, Codes], rows: Integers) -> Integers:
    """Return the flat row-major index of the answers to a form."""
    cells = np.zeros(len(rows), dtype=np.int64)
    for name in form.attributes:
        cells = cells * plan.domain[name].size + answers[name][rows]
    return cells


def _write(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, file: IO[bytes], dictionary: list[str]
) -> int:
    """Write batches in row groups of at least `ROW_GROUP` rows; return the number of rows."""
    written, buffer, buffered = 0, list[pa.RecordBatch](), 0
    options = {"compression": "zstd", "use_dictionary": dictionary, "write_page_checksum": True}
    with pq.ParquetWriter(file, schema, use_compliant_nested_type=False, **options) as writer:
        for batch in batches:
            buffer.append(batch)
            buffered += batch.num_rows
            if buffered >= ROW_GROUP:
                writer.write_table(pa.Table.from_batches(buffer))
                written, buffer, buffered = written + buffered, [], 0
        if buffer:
            writer.write_table(pa.Table.from_batches(buffer))
    return written + buffered


def _dictionary_columns(plan: Plan) -> list[str]:
    """Return the columns to dictionary-encode: reports that are values, and forms."""
    columns = [
        column
        for column, index, name in report_columns(plan)
        if plan.form_mechanisms[index][name].reports is ValueReports
    ]
    return columns if plan.is_single else [FORM, *columns]


def _check_output_differs(data: Any, key: Any, output: str | os.PathLike[str]) -> None:
    """Raise an InputError if the output is one of the files of the records, or that of the key."""
    if not Path(output).exists():
        return
    if isinstance(key, (str, os.PathLike)) and Path(key).exists() and Path(key).samefile(output):
        raise InputError(f"the output must not be the key, got {os.fspath(output)!r} for both")
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        return
    if any(file.samefile(output) for file in find_files(data)[1]):
        raise InputError(f"the output must not be the data, got {os.fspath(output)!r} for both")


# Records ------------------------------------------------------------------------------------------

FIXED = ("domain", "bins", "pool", "person")
"""Table options that a plan fixes."""


def open_records(
    data: Any, domain: Domain, /, assigned: Identifiers | None = None, **table: Any
) -> TableScan:
    """Return a scan of records that codes them in a domain.

    Parameters
    ----------
    data
        A frame, the path of a file, folder or glob, or the name of a dataset.
    domain
        The attributes; other columns are ignored.
    assigned
        The column of identifiers that determine forms and noise, read beside the codes.
    table
        Options of `TableOptions`.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = Domain([sp.Attribute("job", ("nurse", "smith"))])
    >>> scan = open_records(pa.table({"job": ["smith", "nurse"]}), domain)
    >>> [batch.codes[0].tolist() for batch in scan.batches()]
    [[1, 0]]
    """
    for name in table:
        if name in FIXED:
            raise InputError(f"{name} has no effect: the plan fixes it", parameter=name)
    data, table = table_of(data, {"domain": domain, **table})
    kept = {name: table[name] for name in table if name == "domain" or name not in FIXED}
    options = TableOptions.from_keywords(**kept)
    source = open_source(data, options)
    needed = dict.fromkeys(domain.names, "the plan asks for")
    if assigned is not None:
        needed[assigned.column] = "reports are derived from"
    for name, needs in needed.items():
        if name not in source.names:
            hint = _checks.near_miss(name, source.names)
            raise TableError(f"{needs} {name!r}, and the table has no such column{hint}")
    columns = columns_of(source.names, options, fields=source.fields)
    beside = None if assigned is None else assigned.column
    return TableScan(source, columns, options, beside=beside)
