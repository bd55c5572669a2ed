"""Records to the codes of a plan's domain, with values outside it refused or caught.

Records to reports: the collection that a plan describes.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.parquet import ParquetFile

from seepage import _checks
from seepage._files import whole_file
from seepage._numerics import Booleans
from seepage._results import Progress
from seepage.collection.report_source import reports_schema
from seepage.data.domain import Domain
from seepage.data.table import TableOptions, TableScan
from seepage.data.table.alphabet import GivenAlphabet, OutsideDomain
from seepage.data.table.coders import Codes, category_coder, code_type
from seepage.data.table.column import BinCoder, Coder, Column
from seepage.data.table.labels import Key, field_key, is_number, key_label
from seepage.data.table.numbers import is_number_type, numbers_of
from seepage.data.table.options import ALL_OTHERS, Choice
from seepage.data.table.sources import (
    BATCH,
    PARQUET,
    ColumnarSource,
    Source,
    find_files,
    open_source,
)
from seepage.errors import DomainError, InputError
from seepage.mechanisms.randomness import Seed, randomness
from seepage.mechanisms.reports import ValueReports
from seepage.plan.model import Plan

__all__ = ["catch_alls", "open_records", "perturb_file", "perturb_table"]

FIXED = ("domain", "bins")
"""What a plan decides about reading a table, so that callers cannot."""


def open_records(
    data: Any, domain: Domain, other: str | Mapping[str, str] | None = None, **table: Any
) -> TableScan:
    """Return records as a scan that codes them in a domain.

    Parameters
    ----------
    data
        A frame, or the path of a file, folder or glob.
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
    options = TableOptions(domain=domain, **table)
    caught = catch_alls(domain, other)
    source = _open(data, options)
    columns: list[Column] = [
        _CatchAllColumn(choice, options, fields=source.fields, other=caught[choice.name])
        if choice.name in caught
        else Column(choice, options, fields=source.fields)
        for choice in options.choose(source.names)
    ]
    return TableScan(source, columns, options)


def _open(data: Any, options: TableOptions) -> Source:
    """Return a table as a source that is read no faster than it is used."""
    if isinstance(data, (str, os.PathLike, list, tuple)):
        kind, files = find_files(data)
        if kind == PARQUET:
            return _StepByStep(kind, files)
    return open_source(data, options)


class _StepByStep(ColumnarSource):
    """Parquet files decoded batch by batch.

    A scanner decodes in the background, as far ahead as it gets: good where counting keeps up
    with it, but perturbing is slower, and memory would grow with the file.
    """

    def _read(self, file: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
        words = list(self._format.read_options.dictionary_columns)
        with ParquetFile(file, read_dictionary=words, pre_buffer=False) as parquet:
            yield from parquet.iter_batches(BATCH, columns=columns)


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
    named = dict(other) if isinstance(other, Mapping) else {ALL_OTHERS: other}
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
    """A column whose values outside the domain count as one of its values."""

    def __init__(self, choice: Choice, options: TableOptions, *, fields: bool, other: str) -> None:
        super().__init__(choice, options, fields=fields)
        if self.given is None:
            raise DomainError("values are outside a domain only where there is one")
        self._attribute = self.given
        self._other = self.given.code(other)

    def _bins(self) -> Coder:
        coder = _CatchAllBins(
            self.name,
            self.edges,
            markers=self.markers,
            given=self.given,
            dropping=self._options.dropping,
        )
        coder.other = self._other
        return coder

    def _categories(self, kind: pa.DataType) -> Coder:
        alphabet = _CatchAllAlphabet(
            self._attribute, markers=self.markers, dropping=self._options.dropping
        )
        alphabet.other = self._other
        return category_coder(self.name, kind, alphabet, fields=self.fields)


class _CatchAllAlphabet(GivenAlphabet):
    """The codes of a given attribute; a value outside it has the code `other`."""

    other: int

    def code(self, key: Key) -> int:
        try:
            return super().code(key)
        except OutsideDomain:
            return self.other


class _CatchAllBins(BinCoder):
    """The codes of bins; what has no bin has the code `other`."""

    other: int

    def code(self, array: pa.Array) -> Codes:
        homeless = self._without_bin(array)
        if not homeless.any():
            return super().code(array)
        codes = np.full(len(array), self.other, dtype=code_type(self.size))
        if not homeless.all():
            codes[~homeless] = super().code(array.filter(pa.array(~homeless)))
        return codes

    def _without_bin(self, array: pa.Array) -> Booleans:
        """Return which entries are no numbers, outside the edges, or missing without a bin."""
        homeless = _words(array, self._markers)
        values, missing = numbers_of(_blanked(array, homeless), self._markers)
        outside = self._outside(values)
        if missing is not None:
            outside = np.where(missing, self._slot_of_missing is None, outside)
        return np.asarray(homeless | outside)


def _words(array: pa.Array, markers: frozenset[str]) -> Booleans:
    """Return which fields are neither numbers nor mean missing."""
    if is_number_type(array.type):
        return np.zeros(len(array), dtype=np.bool_)
    encoded = array.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    strange = [not (k is None or is_number(k) or key_label(k) in markers) for k in keys]
    found = np.flatnonzero(strange)
    return np.isin(encoded.indices.fill_null(-1).to_numpy(), found)


def _blanked(array: pa.Array, chosen: Booleans) -> pa.Array:
    """Return an array with null in the chosen places."""
    return (
        pc.if_else(pa.array(chosen), pa.scalar(None, array.type), array) if chosen.any() else array
    )


ROWS = 1 << 17
"""Reports that are written at once."""


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
        Options of `seepage.data.table.TableOptions`.

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
    scan = open_records(data, plan.collected, other, **table)
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
    """Refuse to write reports over the records."""
    if not isinstance(data, (str, os.PathLike, list, tuple)) or not Path(output).exists():
        return
    if any(file.samefile(output) for file in find_files(data)[1]):
        raise InputError(f"the output must not be the data, got {os.fspath(output)!r} for both")
