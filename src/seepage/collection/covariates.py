"""Columns beside the reports: unperturbed covariates, and survey weights."""

import os
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Floats
from seepage.data.table import TableOptions
from seepage.data.table.sources import open_source
from seepage.errors import InputError, SeepageWarning

MAX_ROUNDS = 1000
"""Maximum number of iterations of raking."""

SHARED = 5
"""A weight that fewer people share nearly identifies them."""


def column_names(data: Any) -> tuple[str, ...]:
    """Return the names of the columns of a frame or file."""
    return tuple(open_source(data, TableOptions()).names)


def clear_columns(data: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return columns of a frame or file: numbers as floats, anything else as texts.

    Texts of a file are numbers if all of them are.  A missing value raises an InputError.
    """
    source, wanted = open_source(data, TableOptions()), list(dict.fromkeys(names))
    for name in wanted:
        if name not in source.names:
            hint = _checks.near_miss(name, source.names)
            raise InputError(f"the covariates have no column {name!r}{hint}")
    if not wanted:
        return {}
    table = pa.Table.from_batches(list(source.batches(wanted)))
    is_file = isinstance(data, (str, os.PathLike))
    return {name: _clear_column(name, table.column(name), is_file) for name in wanted}


def _clear_column(name: str, column: Any, is_file: bool) -> NDArray[Any]:
    values = [None if value == "" else value for value in column.to_pylist()]
    found = np.array([None if value is None else str(value) for value in values])
    if is_file or pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        with suppress(ValueError, TypeError):
            found = np.array([np.nan if value is None else float(value) for value in values])
    missing = sum(value is None or value != value for value in found.tolist())
    if missing:
        raise InputError(
            f"column {name!r} has {missing:,} missing values; leave out these rows, of the reports "
            "too"
        )
    return found


def column_texts(column: NDArray[Any]) -> list[str]:
    """Return the values of an unperturbed column as texts, 2.0 as "2"."""
    return [f"{v:g}" if isinstance(v, float) else str(v) for v in column.tolist()]


# Weights ----------------------------------------------------------------------------------------


def checked_weights(weights: Any, records: int, data: Any = None) -> Floats:
    """Return weights as numbers, 1 for None, or a column of the data by its name.

    Warn where one is shared by so few people that it tells who.
    """
    if weights is None:
        return np.ones(records)
    if isinstance(weights, str):
        weights = clear_columns(data, [weights])[weights]
    try:
        given: Floats = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("weights must be numbers", parameter="weights") from None
    if given.shape != (records,):
        raise InputError(
            f"weights must be one number for each of {records:,} reports, got {given.size:,}",
            parameter="weights",
        )
    if not (np.isfinite(given).all() and given.min() >= 0 and given.any()):
        raise InputError(
            "weights must be finite and at least 0, one of them above 0", parameter="weights"
        )
    _, inverse, counts = np.unique(given, return_inverse=True, return_counts=True)
    alone = int((counts[inverse] < SHARED).sum())
    if alone:
        warnings.warn(
            f"{alone:,} of {records:,} people have a weight that fewer than {SHARED} share: it "
            "nearly identifies them, and is published beside their reports; round the weights",
            SeepageWarning,
            stacklevel=4,
        )
    return given


def rake_weights(
    data: Any, totals: Mapping[str, Mapping[Any, float]], *, weights: Any = None
) -> Floats:
    """Return weights with which public attributes have known totals (raking).

    With one attribute this is post-stratification.  The weights are multiplied for each attribute
    in turn by known over current share of its value, until all shares agree [Deming and Stephan
    1940].  Standard errors that treat raked weights as given are on the safe side: they leave out
    what the known totals explain, which beside the noise of the reports is little.

    Parameters
    ----------
    data
        A frame or file with one row per report and a column for each attribute.
    totals
        By attribute, the known number or share of people with each value.
    weights
        Weights to start with: a column of the data, or numbers; 1 by default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "f", "f", "m"]})
    >>> rake_weights(people, {"sex": {"f": 0.5, "m": 0.5}}).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    shares = {
        name: dict(_checks.mapping(known, f"totals of {name!r}"))
        for name, known in _checks.mapping(totals, "totals").items()
    }
    if not shares:
        raise InputError("totals must be given for at least one attribute", parameter="totals")
    columns, targets = clear_columns(data, shares), []
    records = len(next(iter(columns.values())))
    raked = checked_weights(weights, records, data)
    for name, known in shares.items():
        found, codes = np.unique(columns[name].astype(str), return_inverse=True)
        label = f"totals of {name!r}"
        wanted = {str(value): _checks.weight(total, label) for value, total in known.items()}
        if set(found.tolist()) != set(wanted):
            missing = sorted(set(found.tolist()) ^ set(wanted))[0]
            raise InputError(
                f"totals of {name!r} must be given for each value in the data, and no others; "
                f"{missing!r} is only in one of them",
                parameter="totals",
            )
        share = np.array([wanted[value] for value in found.tolist()])
        targets.append((codes, share / share.sum() * records))
    for _ in range(MAX_ROUNDS):
        largest = 0.0
        for codes, target in targets:
            factors = target / np.bincount(codes, raked)
            raked = raked * factors[codes]
            largest = max(largest, float(np.abs(factors - 1.0).max()))
        if largest < 1e-12:
            return raked
    raise InputError(
        "raking does not converge: no weights above 0 have all these totals", parameter="totals"
    )
