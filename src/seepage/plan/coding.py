"""Records to the codes of a plan's domain, with values outside it refused or caught."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetFile

from seepage import _checks
from seepage._numerics import Booleans
from seepage.domain import Domain
from seepage.errors import DomainError, InputError
from seepage.table import CodedStream, TableOptions
from seepage.table.alphabet import GivenAlphabet, OutsideDomain
from seepage.table.binned import BinCoder
from seepage.table.coding import Coder, Codes, code_type
from seepage.table.columnar import BATCH, ColumnarSource
from seepage.table.columns import Column
from seepage.table.kinds import category_coder
from seepage.table.labels import Key, field_key, is_number, key_label
from seepage.table.numbers import is_number_type, numbers_of
from seepage.table.options import ALL_OTHERS, Choice
from seepage.table.paths import PARQUET, find_files
from seepage.table.reading import Source, open_source

__all__ = ["catch_alls", "open_records"]

FIXED = ("domain", "bins")
"""What a plan decides about reading a table, so that callers cannot."""


def open_records(
    data: Any, domain: Domain, other: str | Mapping[str, str] | None = None, **table: Any
) -> CodedStream:
    """Return records as a stream of codes of a domain.

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
    >>> from seepage.domain import Attribute
    >>> domain = Domain([Attribute("job", ("nurse", "smith", "other"))])
    >>> stream = open_records(pa.table({"job": ["smith", "pilot"]}), domain, other="other")
    >>> [batch[0].tolist() for batch in stream]
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
    return CodedStream(source, columns, options)


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
    >>> from seepage.domain import Attribute
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
