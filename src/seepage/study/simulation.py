"""Simulated collections of reports drawn from counts, and the permutation null distribution.

`simulate` draws what the paper's three stages (perturb, infer, count) would count, at a cost that
does not grow with the records; `Task.collect` can run the three stages on every record instead.

The paper permutes the columns of the perturbed data set, which keeps each column's own
distribution and breaks every other: tables (target value, report) with both margins fixed.  It
treats each replica as a person of its own, so with many replicas it asks whether the table
itself is dependent, which real tables nearly always are.

With `population=True` the records are permuted before they are perturbed: tables (target value,
source value) with both margins fixed, each collected anew with all its replicas.  That asks
whether the distribution is dependent that the table was drawn from.

Many tables are drawn at once, row by row: a row of all of them has the shape (columns, size).
`scipy.stats.random_table` (SciPy 1.17, Patefield's method) is as fast for 7 x 16 and 42 x 42
tables, but takes 20 times as long for the 2 x 2 tables of binary attributes: 42 against 2 ms for
10,000 tables of 10 million reports.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from seepage._numerics import Booleans, Floats, Integers

MAX_POPULATION = 10**9
"""NumPy draws hypergeometric numbers from populations below this; larger ones are halved first."""

EMPTY_CELL = 0.5
"""How many reports an empty cell counts as in the test statistic."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The probabilities at which the null distribution is kept."""

CELLS_AT_ONCE = 1 << 18
"""Cells of one row of all surrogates that are drawn together."""

RELATIVE_TIE = 1e-12
"""Statistics this close are equal but for rounding, and count as hits."""


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


# Permutation null distribution -------------------------------------------------------------------


@dataclass(frozen=True)
class Significance:
    """Permutation test: whether an estimate exceeds its null distribution.

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


def largest_log_ratios(rows: Iterable[Integers], totals: Integers) -> Floats:
    """Return ln max over columns y, rows x and x', of the share of y in x over that in x'.

    An empty cell counts as half a report, so that the result is finite and tables with empty
    cells can still be compared; where none is empty it is the plug-in estimate.  Columns without
    reports are left out.

    Parameters
    ----------
    rows
        One row of every table at a time, shape (columns, size).
    totals
        The sum of each row, none of them 0.

    Examples
    --------
    >>> largest_log_ratios([np.array([[6], [2]]), np.array([[3], [5]])], np.array([8, 8])).round(
    ...     4
    ... ).tolist()
    [0.9163]
    """
    highest: Floats = np.zeros(1)
    lowest: Floats = np.full(1, np.inf)
    seen: Booleans = np.zeros(1, dtype=np.bool_)
    for row, total in zip(rows, totals, strict=True):
        shares = np.maximum(row, EMPTY_CELL) / total
        highest = np.maximum(highest, shares)
        lowest = np.minimum(lowest, shares)
        seen = seen | (row > 0)
    ratios = np.where(seen, highest / lowest, 1.0)
    return np.asarray(np.log(ratios.max(axis=0)))


def random_rows(
    generator: np.random.Generator, rows: Integers, columns: Integers, size: int
) -> Iterator[Integers]:
    """Yield the rows of random tables with these row and column sums.

    The tables that two columns of records have after one of them was permuted at random: cell by
    cell a hypergeometric number, given those before it.

    Parameters
    ----------
    generator
        The source of randomness.
    rows, columns
        The sums, with the same total.
    size
        The number of tables.

    Yields
    ------
    One row of every table, shape (columns, size).

    Notes
    -----
    (rows - 1)(columns - 1) hypergeometric numbers per table, about 0.1 us each, whatever the
    total: nothing grows with the number of records.

    Examples
    --------
    >>> generator = np.random.default_rng(1)
    >>> tables = np.stack([*random_rows(generator, np.array([3, 5]), np.array([2, 6]), size=4)])
    >>> tables.sum(axis=0)[:, 0].tolist(), tables.sum(axis=1)[:, 0].tolist()
    ([2, 6], [3, 5])
    """
    left = np.repeat(columns[:, None], size, axis=1)
    for total in rows[:-1]:
        row = np.empty_like(left)
        wanted = np.full(size, total, dtype=np.int64)
        others = left.sum(axis=0)
        for column in range(len(columns) - 1):
            others -= left[column]
            row[column] = hypergeometric(generator, left[column], others, wanted)
            wanted -= row[column]
        row[-1] = wanted
        left -= row
        yield row
    yield left


def hypergeometric(
    generator: np.random.Generator, good: Integers, bad: Integers, sample: Integers
) -> Integers:
    """Return how many of a sample drawn without replacement are good.

    Notes
    -----
    Populations of 10^9 and more are first reduced, exactly: in random order, the middle good
    item comes after a beta-binomial number of bad ones.  If it lies within the sample, so does
    the half before it, and the draw goes on behind it; if not, it goes on before it.

    Examples
    --------
    >>> ten = np.array([10])
    >>> hypergeometric(np.random.default_rng(1), ten, 0 * ten, np.array([4])).tolist()
    [4]
    """
    large = np.flatnonzero(good + bad >= MAX_POPULATION)
    if not len(large):
        return np.asarray(generator.hypergeometric(good, bad, sample))
    good, bad, sample = good.copy(), bad.copy(), sample.copy()
    found = np.zeros(len(good), dtype=np.int64)
    while len(large):
        _halve(generator, good, bad, sample, found, large)
        undecided = (good > 0) & (sample > 0) & (good + bad >= MAX_POPULATION)
        large = np.flatnonzero(undecided)
    small = good + bad < MAX_POPULATION
    found[small] += generator.hypergeometric(good[small], bad[small], sample[small])
    return found


def _halve(
    generator: np.random.Generator,
    good: Integers,
    bad: Integers,
    sample: Integers,
    found: Integers,
    chosen: Integers,
) -> None:
    """Draw where the middle good item lies and keep the part that is still undecided."""
    goods, bads = good[chosen], bad[chosen]
    middle = (goods + 1) // 2
    share = generator.beta(middle, goods - middle + 1)
    before = generator.binomial(bads, share)
    position = middle + before
    inside = position <= sample[chosen]
    found[chosen] += np.where(inside, middle, 0)
    sample[chosen] -= np.where(inside, position, 0)
    good[chosen] = np.where(inside, goods - middle, middle - 1)
    bad[chosen] = np.where(inside, bads - before, before)
