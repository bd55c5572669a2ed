"""Surrogates: what the estimate would read if target and report had nothing to do with each other.

The paper permutes the columns of the perturbed data set, which keeps each column's own
distribution and breaks every other: tables (target value, report) with both margins fixed.  It
treats each replica as a person of its own, so with many replicas it asks whether the table
itself is dependent, which real tables nearly always are.

With `population=True` the records are permuted before they are perturbed: tables (target value,
source value) with both margins fixed, each collected anew with all its replicas.  That asks
whether the distribution is dependent that the table was drawn from.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from seepage._numerics import Floats, Integers
from seepage.leakage.statistics.collection import Collection, simulate_row
from seepage.leakage.statistics.tables import largest_log_ratios, random_rows

__all__ = ["QUANTILES", "Significance", "significance"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The probabilities at which the null distribution is kept."""

CELLS_AT_ONCE = 1 << 18
"""Cells of one row of all surrogates that are drawn together."""

RELATIVE_TIE = 1e-12
"""Statistics this close are equal but for rounding, and count as hits."""


@dataclass(frozen=True)
class Significance:
    """Whether an estimate exceeds what chance alone would show.

    Parameters
    ----------
    statistic
        The plug-in estimate, an empty cell counted as half a report.
    hits
        How many surrogates reached it.
    draws
        The number of surrogates.
    null
        The surrogates' quantiles at the probabilities `QUANTILES`; empty without surrogates.
    """

    statistic: float
    hits: int
    draws: int
    null: tuple[float, ...]

    @property
    def p_value(self) -> float:
        """(1 + hits)/(1 + draws), never 0; NaN without surrogates."""
        return (1 + self.hits) / (1 + self.draws) if self.draws else float("nan")


def significance(
    collection: Collection,
    draws: int,
    generators: Callable[[int], np.random.Generator],
    population: bool = False,
) -> Significance:
    """Return a collection's test statistic beside that of its surrogates.

    Parameters
    ----------
    collection
        The simulated collection.
    draws
        The number of surrogates; 0 for none.
    generators
        Gives the source of randomness of each block of surrogates.
    population
        Permute records before they are perturbed, rather than reports.

    Notes
    -----
    Blocks depend on the table's shape alone, so the same generators give the same numbers
    wherever they run.
    """
    counts = collection.counts[:, collection.counts.any(axis=0)]
    totals = counts.sum(axis=1)
    observed = float(largest_log_ratios(counts[:, :, None], totals)[0])
    if not draws:
        return Significance(observed, 0, 0, ())
    widest = max(collection.table.shape[1], collection.channel.shape[1])
    step = max(1, CELLS_AT_ONCE // widest)
    surrogates = np.empty(draws)
    for block, begin in enumerate(range(0, draws, step)):
        size = min(step, draws - begin)
        generator = generators(block)
        if population:
            rows = _collected_rows(generator, collection, size)
        else:
            rows = random_rows(generator, totals, counts.sum(axis=0), size)
        surrogates[begin : begin + size] = largest_log_ratios(rows, totals)
    hits = int(np.count_nonzero(surrogates >= observed * (1.0 - RELATIVE_TIE)))
    return Significance(observed, hits, draws, _quantiles(surrogates))


def _collected_rows(
    generator: np.random.Generator, collection: Collection, size: int
) -> Iterator[Integers]:
    """Yield the reports of each target value after the records were permuted."""
    table = collection.table
    for cells in random_rows(generator, table.sum(axis=1), table.sum(axis=0), size):
        yield simulate_row(cells, collection.channel, collection.replicas, generator)


def _quantiles(values: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in np.quantile(values, QUANTILES))
