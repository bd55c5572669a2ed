"""Simulated collections of reports, from counts or record by record, and whole reports by number.

`simulate` draws what the paper's three stages (perturb, infer, count) would count, at a cost that
does not grow with the records.  `simulate_records` runs the three stages on every record, for
every mechanism: the honest simulation of clients, and the test of the fast one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.channel import ROW_SUM_TOLERANCE
from seepage.errors import InputError
from seepage.leakage.release import View
from seepage.mechanisms import Mechanism
from seepage.mechanisms.reports import BitReports, ValueReports

ROWS = 1 << 18
"""Records perturbed at once, so that memory does not grow with the expanded data set."""

MOST_BITS = 12
"""Reports of so many bits are told apart, 4,096 of them."""

Pulse = Callable[[], None]
"""Called now and then during long work; it may raise to end it."""


def no_pulse() -> None:
    """Let the work go on."""


@dataclass(frozen=True, eq=False)
class Collection:
    """The counts of one simulated collection of a source, beside the target.

    Target values that never occurred are left out before; all arrays are in that order.

    Parameters
    ----------
    table
        The records: n[x, u], target value by source value.
    channel
        C[u, y], P(report given source value).
    replicas
        How often each record reported, r.
    counts
        How often report y came with target value x, the paper's stage 3.
    pooled
        How often report y came with source value u.
    """

    table: Integers
    channel: Floats
    replicas: int
    counts: Integers
    pooled: Integers


def simulate(
    table: Integers, channel: Floats, replicas: int, generator: np.random.Generator
) -> Collection:
    """Return a collection drawn from the records' counts [theory: The statistical method].

    The r n[x, u] records of cell (x, u) report `Multinomial(r n[x, u], C[u, :])`: exactly the
    distribution of perturbing and inferring record by record, at a cost that grows with
    neither r nor the number of records: O(m t l) binomials.

    Examples
    --------
    >>> table = np.array([[30, 10], [20, 40]])
    >>> drawn = simulate(table, np.eye(2), 5, np.random.default_rng(1))
    >>> drawn.counts.tolist(), drawn.pooled.tolist()
    ([[150, 50], [100, 200]], [[250, 0], [0, 250]])
    """
    counts = np.empty((len(table), channel.shape[1]), dtype=np.int64)
    pooled = np.zeros(channel.shape, dtype=np.int64)
    for target, cells in enumerate(table):
        reports = generator.multinomial(replicas * cells, channel)
        counts[target] = reports.sum(axis=0)
        pooled += reports
    return Collection(table, channel, replicas, counts, pooled)


def simulate_row(
    cells: Integers, channel: Floats, replicas: int, generator: np.random.Generator
) -> Integers:
    """Return the reports of the records of one target value, for each of many tables.

    Parameters
    ----------
    cells
        Records, source value by table: shape (t, size).
    channel
        P(report given source value).
    replicas
        How often each record reports.
    generator
        The source of randomness.

    Returns
    -------
    Counts, report by table: shape (l, size).

    Notes
    -----
    A report is drawn as a mixture: with probability sum over y of min over u of C[u, y] it does
    not depend on u at all, and those of all u are drawn at once; else it follows the rest of
    row u, for the guess of every symmetric mechanism the value u itself.  So about t + l
    binomials per table instead of t l.

    Examples
    --------
    >>> simulate_row(np.array([[3], [1]]), np.eye(2), 5, np.random.default_rng(1)).tolist()
    [[15], [5]]
    """
    shared = channel.min(axis=0)
    rest = channel - shared
    dependent = max(0.0, 1.0 - float(shared.sum()))
    moved = generator.binomial(replicas * cells, dependent)
    counts = np.zeros((channel.shape[1], cells.shape[1]), dtype=np.int64)
    if dependent < 1:
        free = replicas * cells.sum(axis=0) - moved.sum(axis=0)
        counts += generator.multinomial(free, shared / shared.sum()).T
    for source in range(len(channel)):
        favoured = np.flatnonzero(rest[source])
        if len(favoured) == 1:
            counts[favoured[0]] += moved[source]
        elif len(favoured):
            shares = rest[source][favoured] / rest[source].sum()
            counts[favoured] += generator.multinomial(moved[source], shares).T
    return counts


def simulate_records(
    table: Integers,
    values: Integers,
    mechanisms: Sequence[Mechanism],
    sizes: Sequence[int],
    channel: Floats,
    replicas: int,
    generator: np.random.Generator,
    *,
    view: View = "inferred",
    pulse: Pulse = no_pulse,
) -> Collection:
    """Return a collection made record by record.

    Parameters
    ----------
    table
        Records, target value by source tuple.
    values
        The source tuples: codes, one row per tuple and one column per source.
    mechanisms
        How each source is released.
    sizes
        How many reports, or inferred values, each source has.
    channel
        P(all reports given source tuple); only its shape matters here.
    replicas
        How often each record reports.
    generator
        The source of randomness.
    view
        Count inferred values, or the reports themselves.
    pulse
        Called between blocks; it may raise to end the work.

    Notes
    -----
    Costs O(N r), tens of nanoseconds per report for GRR, more for others; memory is that of one
    block.
    """
    tuples, reports = channel.shape
    counts = np.zeros(len(table) * reports, dtype=np.int64)
    pooled = np.zeros(tuples * reports, dtype=np.int64)
    whole = [report_columns(how) for how in mechanisms] if view == "report" else None
    for target, source in _expanded(table, replicas):
        pulse()
        joint = np.zeros(len(source), dtype=np.int64)
        for place, how in enumerate(mechanisms):
            released = how.perturb(values[source, place], generator)
            if whole is None:
                joint = joint * sizes[place] + how.infer(released, generator)
            else:
                joint = joint * sizes[place] + whole[place](released)
        counts += np.bincount(target * reports + joint, minlength=len(counts))
        pooled += np.bincount(source * reports + joint, minlength=len(pooled))
    return Collection(
        table, channel, replicas, counts.reshape(-1, reports), pooled.reshape(-1, reports)
    )


def _expanded(table: Integers, replicas: int) -> Iterator[tuple[Integers, Integers]]:
    """Yield the target values and source tuples of all records, each `replicas` times."""
    target, source = np.nonzero(table)
    ends = replicas * np.cumsum(table[target, source])
    starts = np.concatenate([[0], ends[:-1]])
    for begin in range(0, int(ends[-1]), ROWS):
        inside = np.clip(ends, begin, begin + ROWS) - np.clip(starts, begin, begin + ROWS)
        yield np.repeat(target, inside), np.repeat(source, inside)


def report_channel(how: Mechanism) -> Floats:
    """Return P(report given value), one column per report.

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
