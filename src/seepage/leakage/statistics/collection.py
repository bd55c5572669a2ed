"""A simulated collection: what the paper's three stages count, without touching every record."""

from dataclasses import dataclass

import numpy as np

from seepage._numerics import Floats, Integers

__all__ = ["Collection", "simulate", "simulate_row"]


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
