"""A simulated collection: what the paper's three stages count, without touching every record.

The paper's three stages on every record of the expanded data set, in blocks.

The honest simulation of clients, and the test of the fast one: perturb, infer, count.  Works
for every mechanism, at a cost that grows with records and replicas.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.leakage.release import View
from seepage.mechanisms import Mechanism
from seepage.study.whole_reports import report_columns

__all__ = ["Collection", "Pulse", "no_pulse", "simulate", "simulate_records", "simulate_row"]


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
    binomials a table instead of t l.

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


ROWS = 1 << 18
"""Records perturbed at once, so that memory does not grow with the expanded data set."""


Pulse = Callable[[], None]
"""Called now and then during long work; it may raise to end it."""


def no_pulse() -> None:
    """Let the work go on."""


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
        The source tuples: codes, one row a tuple and one column a source.
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
    Costs O(N r), tens of nanoseconds a report for GRR, more for others; memory is that of one
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
