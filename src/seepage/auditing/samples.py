"""Samples of a randomiser: of a function, of a client's module, or of a table."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seepage._core import checks
from seepage._core.arrays import Integers
from seepage._core.errors import InputError, escaped
from seepage.auditing.module_samples import (
    MODULE_SUFFIXES,
    called_function,
    run_module,
)
from seepage.auditing.report_columns import (
    ReportColumn,
    coded,
    column_of,
    columns_of_reports,
    known_keys,
    places_among,
)
from seepage.auditing.report_keys import (
    ReportKey,
    exact_text,
    python_key,
    shown_keys,
)
from seepage.mechanisms.published_randomiser import SINGLE
from seepage.tables.open_source import open_source
from seepage.tables.table_options import TableOptions


@dataclass(frozen=True)
class Sampling:
    """How a randomiser is sampled.

    Parameters
    ----------
    values, reports
        The values, which a function needs, and all possible reports if they are known.
    count, rounds
        How often a function is sampled for each value, and how many reports it returns
        each time.
    """

    values: Any
    reports: Any
    count: int
    rounds: int


@dataclass(frozen=True, eq=False)
class Samples:
    """The values as they are printed, the code of each sample's value, and its report:
    a column per part.
    """

    values: tuple[str, ...]
    codes: Integers
    columns: Mapping[str, ReportColumn]
    table: Integers | None = None
    """Counts of values by reports, if all possible reports are known and have one
    part."""


def samples_of(source: Any, sampling: Sampling) -> Samples | None:
    """Return samples of a function or module, or those of a table; None for anything
    else.

    Parameters
    ----------
    source
        A function; the path of a Python or JavaScript module; a frame, a file with a
        column `value`, or a pair of arrays.
    sampling
        The values, all possible reports, and how often a function is sampled.
    """
    if isinstance(source, (str, os.PathLike)):
        source = checks.input_path(source, "randomiser")
        if source.suffix.casefold() in MODULE_SUFFIXES:
            return _drawn_samples(source, sampling)
    if callable(source):
        return _drawn_samples(source, sampling)
    if _is_pair(source):
        return _samples_of_pair(source, sampling)
    is_frame = hasattr(source, "__arrow_c_stream__")
    if is_frame or (isinstance(source, Path) and _is_table(source)):
        columns = _table_columns(source)
        true = columns.pop(SINGLE)
        return _given_samples(true, columns, sampling)
    return None


# Samples that are drawn ---------------------------------------------------------------


def _drawn_samples(source: Any, sampling: Sampling) -> Samples:
    """Return samples that a function, or that of a module, draws for given values."""
    values = checks.items(sampling.values, "values", "the values to sample")
    labels = _labels_to_sample(values)
    if isinstance(source, Path):
        columns = run_module(source, values, sampling.count, sampling.rounds)
    else:
        reports = called_function(source, values, sampling.count, sampling.rounds)
        columns = columns_of_reports(reports)
    codes = np.repeat(np.arange(len(labels)), sampling.count)
    return _samples(labels, codes, columns, sampling.reports)


def _labels_to_sample(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the values to sample as they are printed; raise unless two are different
    and none is twice.
    """
    keys = [_value_key(value) for value in values]
    if len(keys) < 2 or len(set(keys)) < len(keys):
        raise checks.violation(
            "values", "at least two different values to sample", values
        )
    return shown_keys(keys)


def _value_key(value: Any) -> ReportKey:
    """Return the key of a value to sample; of an object of any class by its `repr`."""
    try:
        return python_key(exact_text(value))
    except InputError:
        return ReportKey(repr(value), repr(value), np.nan, is_text=False)


# Samples that are given ---------------------------------------------------------------


def _given_samples(
    true: ReportColumn, columns: Mapping[str, ReportColumn], sampling: Sampling
) -> Samples:
    """Return samples of true values and what was reported."""
    if not len(true):
        raise InputError("the samples have no records")
    known = true.keys
    if sampling.values is not None:
        known = known_keys(checks.items(sampling.values, "values"), "values")
    codes = places_among(true, known, "value")
    return _samples(shown_keys(known), codes, columns, sampling.reports)


def _is_pair(source: Any) -> bool:
    """Return whether samples are a tuple of arrays, not of numbers or texts."""
    if not isinstance(source, tuple):
        return False
    return not any(isinstance(part, (str, float)) for part in source)


def _samples_of_pair(pair: tuple[Any, ...], sampling: Sampling) -> Samples:
    """Return samples of a pair: true values, and as many reports."""
    parts = [_array_or_list(part) for part in pair]
    shapes = [np.shape(part) if _is_array(part) else (len(part),) for part in parts]
    if (
        len(pair) != 2
        or len(shapes[0]) != 1
        or len(shapes[1]) not in (1, 2)
        or shapes[0] != shapes[1][:1]
    ):
        named = " and ".join(map(str, shapes))
        raise InputError(
            f"the samples must be values and as many reports, got shapes {named}"
        )
    true = column_of(parts[0])
    return _given_samples(true, columns_of_reports(parts[1]), sampling)


def _is_array(part: Any) -> bool:
    """Return whether a part of a pair of samples is an array or a list."""
    return isinstance(part, np.ndarray)


def _array_or_list(part: Any) -> Any:
    """Return an array of samples, of numbers or texts, as it is, and any other part as
    a list, whose items keep their types.
    """
    if isinstance(part, (list, tuple)):
        return list(part)
    array = checks.array(part, "samples")
    if array.dtype.kind in "biufU":
        return array
    if array.ndim == 0:
        raise checks.violation("samples", "values and as many reports", part)
    return array.tolist()


def _is_table(path: Path) -> bool:
    """Return whether a file is a table of samples: it has a column `value`."""
    if path.suffix.casefold() == ".json":
        return False
    with suppress(InputError):  # a matrix, whose first line need not name columns
        return SINGLE in open_source(path, TableOptions()).names
    return False


def _table_columns(table: Any) -> dict[str, ReportColumn]:
    """Return the columns of a table of samples: of a file of texts as texts."""
    source = open_source(table, TableOptions())
    names = list(source.names)
    if SINGLE not in names or len(names) == 1:
        raise InputError(
            "the samples must have a column value and columns of reports, got "
            f"{', '.join(map(escaped, names))}"
        )
    batches = list(source.batches(names))
    if not batches:
        raise InputError("the samples have no records")
    content = pa.Table.from_batches(batches)
    missing = content.column(SINGLE).null_count
    if missing:
        raise InputError(
            f"column {SINGLE!r} has {missing:,} missing values; leave out these samples"
        )
    return {name: _column_of_arrow(content.column(name)) for name in names}


def _column_of_arrow(column: Any) -> ReportColumn:
    """Return a column of a table of samples, each value with its type; null is a report
    too.
    """
    if pa.types.is_floating(column.type) and not column.null_count:
        return column_of(column.to_numpy())
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return column_of(column.to_pylist())
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode(null_encoding="encode")
    column = column.unify_dictionaries().combine_chunks()
    texts = [exact_text(value) for value in column.dictionary.to_pylist()]
    codes = column.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    if column.indices.null_count:
        texts.append(exact_text(None))
    return coded(texts, codes.astype(np.int64))


# Reports ------------------------------------------------------------------------------


def _samples(
    values: tuple[str, ...],
    codes: Integers,
    columns: Mapping[str, ReportColumn],
    reports: Any,
) -> Samples:
    """Return samples, with the counts of reports if all possible ones are known."""
    if reports is None:
        return Samples(values, codes, columns)
    if len(columns) != 1:
        raise InputError(
            "reports must be known one by one, got several parts", parameter="reports"
        )
    (column,) = columns.values()
    known = known_keys(checks.items(reports, "reports"), "reports")
    table = np.zeros((len(values), len(known)), dtype=np.int64)
    np.add.at(table, (codes, places_among(column, known, "report")), 1)
    return Samples(values, codes, columns, table)
