"""Whole reports by number, for mechanisms that have few of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.channel import ROW_SUM_TOLERANCE
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.mechanisms.reports import BitReports, ValueReports

__all__ = ["report_channel", "report_columns", "report_name"]

MOST_BITS = 12
"""Reports of so many bits are told apart, 4,096 of them."""


def report_channel(how: Mechanism) -> Floats:
    """Return P(report given value), one column a report.

    The mechanism's own `channel` where it has one.  Reports of up to 12 bits are enumerated:
    column y is the report whose bit v is bit v of y.

    Examples
    --------
    >>> from seepage.mechanisms import OUE
    >>> report_channel(OUE(2, 1.0)).round(3).tolist()
    [[0.366, 0.366, 0.134, 0.134], [0.366, 0.134, 0.366, 0.134]]
    """
    try:
        return how.channel()
    except InputError:
        if how.reports is not BitReports or how.k > MOST_BITS:
            raise
    sets = np.arange(1 << how.k)[:, None] >> np.arange(how.k) & 1
    reports = BitReports(how.describe(), BitReports.pack(sets.astype(np.bool_)))
    channel = np.exp(how.log_likelihood(reports)).T
    if np.abs(channel.sum(axis=1) - 1.0).max() > ROW_SUM_TOLERANCE:
        raise InputError(f'the reports of {how.name} cannot be enumerated; use view="inferred"')
    return np.asarray(channel)


def report_columns(how: Mechanism) -> Callable[[Any], Integers]:
    """Return what tells the column of each report in `report_channel`.

    Examples
    --------
    >>> from seepage.mechanisms import OUE
    >>> reports = OUE(2, 1.0).perturb([0, 1, 0, 1], rng=4)
    >>> (report_columns(OUE(2, 1.0))(reports) == reports.bits() @ [1, 2]).all()
    np.True_
    """
    if how.reports is ValueReports:
        return lambda reports: np.asarray(reports.values, dtype=np.int64)
    channel = report_channel(how)
    weights = 1 << np.arange(how.k, dtype=np.int64)
    if channel.shape[1] == 1 << how.k:
        return lambda reports: np.asarray(reports.bits() @ weights)
    favoured = weights @ _favoured(channel)
    order = np.argsort(favoured)
    ascending = favoured[order]
    if how.reports is not BitReports or np.any(ascending[1:] == ascending[:-1]):
        raise InputError(
            f"the reports of {how.name} cannot be told apart by what they favour; "
            'use method="aggregate", or view="inferred"'
        )
    return lambda reports: np.asarray(order[np.searchsorted(ascending, reports.bits() @ weights)])


def report_name(channel: Floats, column: int, values: tuple[str, ...]) -> str:
    """Return what a report favours, or its number where it favours nothing.

    Examples
    --------
    >>> report_name(np.array([[0.7, 0.3], [0.3, 0.7]]), 1, ("no", "yes"))
    'yes'
    """
    favoured = _favoured(channel)[:, column]
    if favoured.all():
        return f"number {column}"
    return "+".join(value for value, likely in zip(values, favoured, strict=True) if likely)


def _favoured(channel: Floats) -> Booleans:
    """Return which values (rows) make each report (column) likeliest."""
    return np.asarray(channel == channel.max(axis=0))
