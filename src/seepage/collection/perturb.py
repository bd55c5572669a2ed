"""Records to reports: coded in a plan's domain, perturbed, and written as a file.

A value outside the domain raises an error, or counts as a catch-all value of its attribute.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seepage import _checks
from seepage._files import whole_file
from seepage._numerics import Booleans
from seepage._results import Progress
from seepage.collection.report_source import reports_schema
from seepage.data.datasets import dataset
from seepage.data.domain import Attribute, Domain
from seepage.data.inputs import is_dataset_name
from seepage.data.table import TableOptions, TableScan
from seepage.data.table.coders import Codes
from seepage.data.table.column import Column
from seepage.data.table.labels import field_key, is_number, key_label
from seepage.data.table.numbers import is_number_type
from seepage.data.table.options import ALL_OTHERS, Choice
from seepage.data.table.sources import PARQUET, ColumnarSource, Source, find_files, open_source
from seepage.errors import DomainError, InputError
from seepage.mechanisms.randomness import Seed, randomness
from seepage.mechanisms.reports import ValueReports
from seepage.plan.plan import Plan

FIXED = ("domain", "bins", "pool")
"""What a plan decides about reading a table, so that callers cannot."""


def open_records(
    data: Any, domain: Domain, /, other: str | Mapping[str, str] | None = None, **table: Any
) -> TableScan:
    """Return records as a scan that codes them in a domain.

    Parameters
    ----------
    data
        A frame, the path of a file, folder or glob, or the name of a dataset.
    domain
        The attributes; other columns are ignored.
    other
        The value that stands for values outside the domain, see `catch_alls`.
    table
        Options of `TableOptions`.

    Examples
    --------
    >>> from seepage.data.domain import Attribute
    >>> domain = Domain([Attribute("job", ("nurse", "smith", "other"))])
    >>> scan = open_records(pa.table({"job": ["smith", "pilot"]}), domain, other="other")
    >>> [batch.codes[0].tolist() for batch in scan.batches()]
    [[1, 2]]
    """
    known = [field.name for field in fields(TableOptions) if field.name not in FIXED]
    for name in table:
        _checks.choice(name, "an option of the table", known)
    if isinstance(data, str) and is_dataset_name(data):
        known_data = dataset(data)
        settings = {name: known_data.table[name] for name in known_data.table if name not in FIXED}
        data, table = known_data.read(), {**settings, **table}
    options = TableOptions.from_keywords(domain=domain, **table)
    caught = catch_alls(domain, other)
    source = _open(data, options)
    columns = [
        _CatchAllColumn(
            choice, options, domain[choice.name], caught[choice.name], fields=source.fields
        )
        if choice.name in caught
        else Column(choice, options, fields=source.fields)
        for choice in options.choose(source.names)
    ]
    return TableScan(source, columns, options)


def _open(data: Any, options: TableOptions) -> Source:
    """Return a table as a source that is decoded no faster than it is used.

    A scanner decodes Parquet in the background, as far ahead as it gets: good where counting keeps
    up with it, but perturbing is slower, and memory would grow with the file.
    """
    if isinstance(data, (str, os.PathLike, list, tuple)):
        kind, files = find_files(data)
        if kind == PARQUET:
            return ColumnarSource(kind, files, huge=0)
    return open_source(data, options)


def catch_alls(domain: Domain, other: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return the catch-all value of each attribute that has one.

    Parameters
    ----------
    domain
        The attributes.
    other
        A mapping from attribute to one of its values, with `"*"` for all others that have the
        value (at least one must); a value alone stands for `{"*": value}`.

    Examples
    --------
    >>> from seepage.data.domain import Attribute
    >>> domain = Domain([Attribute("job", ("nurse", "other")), Attribute("sex", ("F", "M"))])
    >>> catch_alls(domain, "other"), catch_alls(domain, {"*": "other", "sex": "F"})
    ({'job': 'other'}, {'job': 'other', 'sex': 'F'})
    """
    if other is None:
        return {}
    named = (
        dict(other) if isinstance(other, Mapping) else {ALL_OTHERS: _checks.text(other, "other")}
    )
    found = dict[str, str]()
    if ALL_OTHERS in named:
        value = named.pop(ALL_OTHERS)
        found = {attribute.name: value for attribute in domain if value in attribute.values}
        if not found:
            raise InputError(f"no attribute has the catch-all value {value!r}")
    for name, value in named.items():
        domain[name].code(value)
    return found | named


class _CatchAllColumn(Column):
    """A column whose values outside the domain have the code `other`.

    Where records with missing values are dropped, missing values without a category and values
    outside have codes behind those of the domain.  So the column is read as if they were.
    """

    pooling = False

    def __init__(
        self,
        choice: Choice,
        options: TableOptions,
        attribute: Attribute,
        other: str,
        *,
        fields: bool,
    ) -> None:
        super().__init__(choice, replace(options, missing="drop"), fields=fields)
        self._other = attribute.code(other)
        self._largest = attribute.size if options.dropping else attribute.size - 1

    def code(self, array: pa.Array, before: int) -> Codes | None:
        words = _words(array, self.markers) if self.edges else None
        if words is not None:
            array = pc.if_else(pa.array(words), pa.scalar(None, array.type), array)
        codes = super().code(array, before)
        if codes is not None:
            caught = codes > self._largest
            codes = np.where(caught if words is None else caught | words, self._other, codes)
        return codes


def _words(array: pa.Array, markers: frozenset[str]) -> Booleans | None:
    """Return which fields are neither numbers nor mean missing; None where there are none."""
    if is_number_type(array.type):
        return None
    encoded = array.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    strange = [not (k is None or is_number(k) or key_label(k) in markers) for k in keys]
    found = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(strange))
    return found if found.any() else None


ROWS = 1 << 17
"""Reports that are written at once."""


def perturb_table(
    plan: Plan,
    data: Any,
    *,
    seed: Seed = None,
    other: str | Mapping[str, str] | None = None,
    **table_options: Any,
) -> pa.Table:
    """Return the reports of a table's records; see `Plan.perturb`."""
    batches = _reports(plan, data, seed, other, None, table_options)
    return pa.Table.from_batches(batches, schema=reports_schema(plan))


def perturb_file(
    plan: Plan,
    data: Any,
    output: str | os.PathLike[str],
    *,
    seed: Seed = None,
    other: str | Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **table_options: Any,
) -> int:
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
    seed
        None draws from the operating system's generator; for research only, a seed gives the
        same reports again for the same file.
    other
        The value that stands for values outside the domain, see `Plan.perturb`.
    progress
        Called with the records done and, where known, the records in all.
    table_options
        Table options of `count_pairs`, but for `domain` and `bins`, which the plan decides.

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
    batches = _reports(plan, data, seed, other, progress, table_options)
    with whole_file(output) as file:
        return _write(batches, schema, file, _repeating(plan))


def _reports(
    plan: Plan,
    data: Any,
    seed: Seed,
    other: str | Mapping[str, str] | None,
    progress: Progress | None,
    table_options: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    """Yield the reports of one batch of records after the other."""
    source = randomness(seed)
    schema = reports_schema(plan)
    scan = open_records(data, plan.collected, other, **table_options)
    try:
        for batch in scan.batches(progress):
            reports = [
                mechanism.perturb(column, rng=source).array()
                for mechanism, column in zip(plan.mechanisms.values(), batch.codes, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(reports, schema=schema)
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
    """Raise where reports would be written over the records."""
    if not isinstance(data, (str, os.PathLike, list, tuple)) or not Path(output).exists():
        return
    if any(file.samefile(output) for file in find_files(data)[1]):
        raise InputError(f"the output must not be the data, got {os.fspath(output)!r} for both")
