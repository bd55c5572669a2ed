"""Columns of a frame or file that were not perturbed: covariates and survey weights."""

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.tables.opening import open_source
from seepage.tables.table_options import TableOptions


def column_names(data: Any) -> tuple[str, ...]:
    """Return the names of the columns of a frame or file."""
    return tuple(open_source(data, TableOptions()).names)


def clear_columns(data: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return columns of a frame or file: numbers as floats, anything else as texts.

    Texts of a file are numbers if all of them are.  A missing value raises an
    InputError.
    """
    source = open_source(data, TableOptions())
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in source.names:
            hint = checks.near_miss(name, source.names)
            raise InputError(f"the covariates have no column {name!r}{hint}")
    if not wanted:
        return {}
    table = pa.Table.from_batches(list(source.batches(wanted)))
    is_file = isinstance(data, (str, os.PathLike))
    return {name: _clear_column(name, table.column(name), is_file) for name in wanted}


def _clear_column(name: str, column: Any, is_file: bool) -> NDArray[Any]:
    cells = column.to_pylist()
    may_be_numbers = (
        is_file or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    )
    numbers = None
    if may_be_numbers:
        numbers = _as_numbers(cells)
    missing = sum(_is_missing(cell) for cell in numbers or cells)
    if missing:
        raise InputError(
            f"column {name!r} has {missing:,} missing values; leave out these rows, of the reports "
            "too"
        )
    if numbers is not None:
        return np.array(numbers)
    return np.array([str(cell) for cell in cells])


def _as_numbers(cells: Sequence[Any]) -> list[float] | None:
    """Return cells as numbers, NaN for missing ones; None if one is no number."""
    try:
        return [math.nan if _is_missing(cell) else float(cell) for cell in cells]
    except (ValueError, TypeError):
        return None


def _is_missing(cell: Any) -> bool:
    """Return whether a cell is null, NaN or an empty text."""
    return cell is None or cell == "" or cell != cell


def named_weights(weights: Any, data: Any) -> Any:
    """Return weights; a text names the column of the data that has them."""
    if isinstance(weights, str):
        return clear_columns(data, [weights])[weights]
    return weights


def column_texts(column: NDArray[Any]) -> list[str]:
    """Return the values of an unperturbed column as texts, 2.0 as "2"."""
    if column.dtype.kind == "f":
        return [f"{value:g}" for value in column.tolist()]
    return [str(value) for value in column.tolist()]
