"""Columns of a frame or file that were not perturbed: covariates and survey weights."""

import math
import os
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.number_grammar import number_of_text
from seepage.tables.labels import BOOLEANS, number_label
from seepage.tables.open_source import open_source
from seepage.tables.table_options import TableOptions


def column_names(data: Any) -> tuple[str, ...]:
    """Return the names of the columns of an unperturbed frame or file."""
    return tuple(open_source(data, TableOptions()).names)


def unperturbed_columns(data: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return unperturbed columns of a frame or file: numbers as floats, or texts.

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
    return {
        name: _unperturbed_column(name, table.column(name), is_file) for name in wanted
    }


def _unperturbed_column(name: str, column: Any, is_file: bool) -> NDArray[Any]:
    """Return an unperturbed column: numbers as floats, anything else as texts."""
    cells = column.to_pylist()
    numbers = None
    if is_file or _is_numeric(column.type):
        numbers = _as_numbers(cells)
    missing = sum(_is_missing(cell) for cell in numbers or cells)
    if missing:
        raise InputError(
            f"column {name!r} has {missing:,} missing values; leave out these rows, of "
            "the reports too"
        )
    if numbers is None:
        return np.array([_text(cell) for cell in cells])
    if not np.isfinite(numbers).all():
        raise InputError(f"column {name!r} has infinite numbers; leave out these rows")
    return np.array(numbers)


def _is_numeric(kind: Any) -> bool:
    """Return whether an unperturbed column of an Arrow type holds numbers."""
    of_kind = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
    return any(holds(kind) for holds in of_kind)


def _as_numbers(cells: Sequence[Any]) -> list[float] | None:
    """Return unperturbed cells as numbers, NaN for missing ones; None if one is no
    number.
    """
    numbers = []
    for cell in cells:
        number = _number(cell)
        if number is None:
            return None
        numbers.append(number)
    return numbers


def _number(cell: Any) -> float | None:
    """Return an unperturbed cell as a number, NaN if it is missing; None if it is no
    number.
    """
    if _is_missing(cell):
        return math.nan
    if isinstance(cell, str):
        return number_of_text(cell.strip())
    if isinstance(cell, (int, float, Decimal)) and not isinstance(cell, bool):
        return float(cell)
    return None


def _text(cell: Any) -> str:
    """Return an unperturbed cell as text, a boolean as tables label it."""
    text = str(cell)
    if isinstance(cell, bool):
        return BOOLEANS[text]
    return text


def _is_missing(cell: Any) -> bool:
    """Return whether an unperturbed cell is null, NaN or an empty text."""
    return cell is None or cell == "" or cell != cell


def named_weights(weights: Any, data: Any) -> Any:
    """Return weights; a text names the unperturbed column of the data that has them."""
    if isinstance(weights, str):
        return unperturbed_columns(data, [weights])[weights]
    return weights


def column_texts(column: NDArray[Any]) -> list[str]:
    """Return the values of an unperturbed column as texts, 2.0 as "2"."""
    if column.dtype.kind == "f":
        return [number_label(value) for value in column.tolist()]
    return [str(value) for value in column.tolist()]
