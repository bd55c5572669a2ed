"""Simulated collections: counts of reports, drawn from counts of a table.

`simulate` draws the counts that the paper's three stages (perturb, infer, count)
produce, at a cost independent of the number of records.
"""

from dataclasses import dataclass

import numpy as np

from seepage._core.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Collection:
    """The counts of one simulated collection of a source's reports.

    Only target values x that occur have a row.

    Parameters
    ----------
    table
        Record counts n[x, u], target value by source value.
    channel
        C[u, y] = P(report y given source value u).
    replicas
        The number of reports per record, r.
    counts
        Report counts by target value, [x, y]: the paper's stage 3.
    pooled
        Report counts by source value, [u, y].
    """

    table: Integers
    channel: Floats
    replicas: int
    counts: Integers
    pooled: Integers


def simulate(
    table: Integers, channel: Floats, replicas: int, generator: np.random.Generator
) -> Collection:
    """Draw a simulated collection given the table of records [theory: The statistical
    method].

    The reports of cell (x, u) are `Multinomial(r n[x, u], C[u, :])`: exactly the
    distribution of perturbing and inferring record by record, at a cost independent of
    r and of the number of records, O(m t l) binomials.

    Examples
    --------
    >>> table = np.array([[30, 10], [20, 40]])
    >>> collection = simulate(table, np.eye(2), 5, np.random.default_rng(1))
    >>> collection.counts.tolist(), collection.pooled.tolist()
    ([[150, 50], [100, 200]], [[250, 0], [0, 250]])
    """
    counts = np.empty((len(table), channel.shape[1]), dtype=np.int64)
    pooled = np.zeros(channel.shape, dtype=np.int64)
    for target, cells in enumerate(table):
        reports = generator.multinomial(replicas * cells, channel)
        counts[target] = reports.sum(axis=0)
        pooled += reports
    return Collection(table, channel, replicas, counts, pooled)
