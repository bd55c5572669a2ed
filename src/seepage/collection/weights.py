"""Survey weights of reports: checked, and raked to known shares."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import InputError, SeepageWarning
from seepage._core.number_grammar import number_of_text
from seepage.collection.unperturbed_columns import (
    column_texts,
    named_weights,
    unperturbed_columns,
)
from seepage.tables.labels import BOOLEANS, number_label

SHARED = 5
"""A weight that fewer people share nearly identifies them."""


MAX_ROUNDS = 1000
"""Maximum number of iterations of raking weights."""


AGREEMENT = 1e-12
"""Relative error of the totals of raked weights."""


def _number(weight: Any) -> Any:
    """Return a survey weight, the number of one that is a text; raise if it spells
    none.
    """
    if not isinstance(weight, str):
        return weight
    number = number_of_text(weight)
    if number is None:
        raise ValueError("no number")
    return number


def checked_weights(weights: Any, records: int) -> Floats:
    """Return survey weights as numbers, the largest from 1/2 to 1; warn where one is
    shared by so few people that it tells who.

    They are divided by a power of 2, which is exact.
    """
    try:
        array = checks.array(weights, "weights")
        if array.dtype.kind in "cS":
            raise TypeError("no numbers")
        if array.dtype.kind in "UO":
            read = [_number(each) for each in array.ravel()]
            array = np.array(read).reshape(array.shape)
        numbers: Floats = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("weights must be numbers", parameter="weights") from None
    if numbers.shape != (records,):
        raise InputError(
            f"weights must be one number for each of {records:,} reports, got "
            f"{numbers.size:,}",
            parameter="weights",
        )
    if not (np.isfinite(numbers).all() and numbers.min() >= 0 and numbers.any()):
        raise InputError(
            "weights must be finite and at least 0, one of them above 0",
            parameter="weights",
        )
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    alone = int((counts[inverse] < SHARED).sum())
    if alone:
        warnings.warn(
            f"{alone:,} of {records:,} people have a weight that fewer than {SHARED} "
            "share: it nearly identifies them, and is published beside their reports; "
            "round the weights",
            SeepageWarning,
            stacklevel=4,
        )
    # Estimates are the same for weights in any unit; squares of these are finite.
    _, exponent = np.frexp(numbers.max())
    return np.asarray(np.ldexp(numbers, -exponent))


def rake_weights(
    data: Any, totals: Mapping[str, Mapping[Any, float]], *, weights: Any = None
) -> Floats:
    """Return weights with which public attributes have known totals (raking).

    With one attribute this is post-stratification.  The weights are multiplied for each
    attribute in turn by known over current share of its value, until all shares agree
    [Deming and Stephan 1940].  Standard errors that treat raked weights as given are on
    the safe side: they leave out what the known totals explain, which beside the noise
    of the reports is little.

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
        name: dict(checks.mapping(known, f"totals of {name!r}"))
        for name, known in checks.mapping(totals, "totals").items()
    }
    if not shares:
        raise InputError(
            "totals must be given for at least one attribute", parameter="totals"
        )
    columns = unperturbed_columns(data, shares)
    records = len(next(iter(columns.values())))
    start = np.ones(records)
    if weights is not None:
        start = checked_weights(named_weights(weights, data), records)
    margins = [_margin(name, columns[name], known) for name, known in shares.items()]
    return _raked(start, margins)


class Margin(NamedTuple):
    """The known totals of an attribute: the code of each person's value, and the totals
    by code.
    """

    codes: Integers
    totals: Floats


def _margin(name: str, column: NDArray[Any], known: Mapping[Any, float]) -> Margin:
    """Return the known totals of one attribute that weights are raked to, scaled to the
    number of people.
    """
    levels, codes = np.unique(column, return_inverse=True)
    values = column_texts(levels)
    is_number = column.dtype.kind == "f"
    label = f"totals of {name!r}"
    total_of = {}
    for value, total in known.items():
        total_of[_value_text(value, is_number)] = checks.weight(total, label)
    unmatched = set(values) ^ set(total_of)
    if unmatched:
        raise InputError(
            f"totals of {name!r} must be given for each value in the data, and no "
            f"others; {min(unmatched)!r} is only in one of them",
            parameter="totals",
        )
    totals = np.array([total_of[value] for value in values])
    return Margin(codes, totals / totals.sum() * len(column))


def _value_text(value: Any, is_number: bool) -> str:
    """Return a value of known totals for raking as `column_texts` writes it."""
    text = str(value).strip()
    number = number_of_text(text)
    if is_number and number is not None:
        return number_label(number)
    return BOOLEANS.get(text, text)


def _raked(weights: Floats, margins: Sequence[Margin]) -> Floats:
    """Return raked weights that have all known totals, by iterative proportional
    fitting.
    """
    for _ in range(MAX_ROUNDS):
        largest = 0.0
        for codes, totals in margins:
            factors = totals / np.bincount(codes, weights)
            weights = weights * factors[codes]
            largest = max(largest, float(np.abs(factors - 1.0).max()))
        if largest < AGREEMENT:
            return weights
    raise InputError(
        "raking does not converge: no weights above 0 have all these totals",
        parameter="totals",
    )
