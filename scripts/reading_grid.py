"""All readings of a table at once: columns of numbers left out or binned in one of many
ways.

An NMSE is a sum over pairs of columns divided by another such sum.  So both are
computed once for every two columns, each number in each of its bins being a column of
one wide table; the error of a reading is then a sum over the columns that it chooses,
and millions can be tried.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from reproduction.paper_data import REPLICAS, SEED
from reproduction.paper_tables import library_subset_selection
from seepage._core.arrays import Floats, Integers
from seepage.benchmarks.statistical.estimate_leakage import mechanisms_of
from seepage.channel.pairs import PairCounts
from seepage.leakage.matrix import leakage_matrix
from seepage.tables.read import count_pairs

__all__ = [
    "NUMBERS_OF_BINS",
    "Cell",
    "Grid",
    "Wide",
    "compared",
    "estimates",
    "grid",
    "leakages",
    "rules",
    "search",
    "simulate_row",
    "widened",
]

NUMBERS_OF_BINS = range(2, 13)


class Cell(NamedTuple):
    """A printed error: of estimates or their closed form, against the bound or their
    own theory.

    `tolerance` says how near the search wants to come to it; infinite where it does not
    ask.
    """

    mechanism: str
    epsilon: float
    printed: float
    estimated: bool = True
    bound: bool = False
    tolerance: float = np.inf


class Wide(NamedTuple):
    """Counts of a table with every number in all its bins, each partition of the
    records once.

    `columns` has the columns of numbers by label, `versions` those of each number,
    `always` those that every reading has.
    """

    pairs: PairCounts
    columns: dict[str, int]
    versions: list[Integers]
    always: Integers


class Grid(NamedTuple):
    """Numerator and denominator of each cell for every two columns of a wide table.

    `sums` has the axes: numerator or denominator, cell, target, source.  One more
    column than the table has stands for a number that is left out: its sums are 0.
    """

    wide: Wide
    cells: list[Cell]
    sums: Floats

    def errors(self, chosen: Iterable[int]) -> Floats:
        """Return the error of every cell, for the reading with these columns of
        numbers.
        """
        columns = np.concatenate(
            [self.wide.always, np.array(list(chosen), dtype=np.int64)]
        )
        top, bottom = self.sums[:, :, columns[:, None], columns].sum(axis=(2, 3))
        return np.asarray(top / bottom)


def rules(values: Floats, bands: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the ways of binning a number that are tried: a label and the inner
    edges.
    """
    for bins in NUMBERS_OF_BINS:
        yield f"quantile:{bins}", np.quantile(values, np.arange(1, bins) / bins)
        yield f"width:{bins}", np.linspace(values.min(), values.max(), bins + 1)[1:-1]
        yield f"k-means:{bins}", k_means_edges(values, bins)
    for edges in bands:
        yield f"bands:{edges[0]:g}-{edges[-1]:g}/{len(edges)}", np.array(edges)


def k_means_edges(values: Floats, bins: int) -> Floats:
    """Return the edges between clusters of a number: Lloyd's algorithm from equal
    widths.
    """
    points, counts = np.unique(values, return_counts=True)
    edges = np.linspace(points[0], points[-1], bins + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    before = edges[1:]
    while not np.array_equal(centres, before):
        before = centres
        nearest = np.searchsorted(
            (centres[1:] + centres[:-1]) / 2, points, side="right"
        )
        sizes = np.bincount(nearest, counts, bins)
        sums = np.bincount(nearest, counts * points, bins)
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres)
    return np.asarray((centres[1:] + centres[:-1]) / 2)


def widened(
    table: Any, always: list[str], rules: Mapping[str, Iterable[tuple[str, Any]]]
) -> Wide:
    """Return a table with every number in all bins that `rules` give: labels and inner
    edges.

    An edge belongs to the bin above it, `[`, or to that below, `]`; both are tried.
    """
    import pyarrow as pa

    wide = {name: table[name] for name in always}
    columns: dict[str, int] = {}
    versions = []
    for name, ways in rules.items():
        values = table[name].to_numpy().astype(np.float64)
        known: dict[bytes, int] = {}
        for (rule, edges), side in product(ways, "[]"):
            label = f"{name} {rule}{side}"
            cut = np.searchsorted(
                np.unique(edges), values, "right" if side == "[" else "left"
            )
            codes = np.unique(cut, return_inverse=True)[1].astype(np.int16)
            columns[label] = known.setdefault(codes.tobytes(), len(wide))
            if columns[label] == len(wide):
                wide[label] = codes
        versions.append(np.array(list(known.values())))
    pairs = count_pairs(pa.table(wide), bins="none")
    return Wide(pairs, columns, versions, np.arange(len(always)))


@lru_cache(maxsize=64)
def leakages(pairs: PairCounts, epsilon: float, name: str | None = None) -> Floats:
    """Return the leakages of a guess, those of the paper's library for SS; the bound
    for None.
    """
    how = library_subset_selection(pairs, epsilon) if name == "ss" else name
    return leakage_matrix(pairs, epsilon, mechanism=how, view="inferred").values


@lru_cache(maxsize=64)
def estimates(
    pairs: PairCounts,
    epsilon: float,
    name: str,
    collections: int,
    replicas: int = REPLICAS,
    seed: int = SEED,
) -> Floats:
    """Return the plug-in estimates of several collections; 0 for versions of the same
    number.

    As `settings.plug_in`, without the intervals that take most of its time.
    """
    how = library_subset_selection(pairs, epsilon) if name == "ss" else name
    made = mechanisms_of(pairs.domain, epsilon, how)
    channels = [one.inferred_channel() for one in made]
    numbers = [label.partition(" ")[0] for label in pairs.domain.names]
    generator = np.random.default_rng(seed)
    found = np.zeros((collections, len(numbers), len(numbers)))
    for target, source in np.ndindex(*found.shape[1:]):
        if numbers[target] != numbers[source]:
            cells = np.tile(pairs.table(target, source), (collections, 1)).T
            counts = simulate_row(cells, channels[source], replicas, generator)
            shares = (counts / counts.sum(axis=0)).reshape(len(counts), collections, -1)
            high = shares.max(axis=2)
            low = shares.min(axis=2)
            with np.errstate(divide="ignore"):
                ratios = np.divide(high, low, out=np.ones_like(high), where=high > 0)
            found[:, target, source] = np.log(ratios.max(axis=0))
    return found


def simulate_row(
    cells: Integers, channel: Floats, replicas: int, generator: np.random.Generator
) -> Integers:
    """Draw the report counts of the records with one target value, for each of many
    tables.

    Parameters
    ----------
    cells
        Record counts, source value by table: shape (t, size).
    channel
        P(report given source value).
    replicas
        The number of reports per record.
    generator
        The random generator.

    Returns
    -------
    Counts, report by table: shape (l, size).

    Notes
    -----
    A report is drawn from a mixture: with probability sum over y of min over u of C[u,
    y] it is independent of u, and these reports are drawn for all u together; else it
    follows the residual of row u, which for the inferred value of a symmetric mechanism
    is u itself.  So about t + l binomials per table instead of t l.

    Examples
    --------
    >>> simulate_row(
    ...     np.array([[3], [1]]), np.eye(2), 5, np.random.default_rng(1)
    ... ).tolist()
    [[15], [5]]
    """
    common = channel.min(axis=0)
    residual = channel - common
    residual_mass = max(0.0, 1.0 - float(common.sum()))
    dependent = generator.binomial(replicas * cells, residual_mass)
    counts = np.zeros((channel.shape[1], cells.shape[1]), dtype=np.int64)
    if residual_mass < 1:
        independent = replicas * cells.sum(axis=0) - dependent.sum(axis=0)
        counts += generator.multinomial(independent, common / common.sum()).T
    for source in range(len(channel)):
        support = np.flatnonzero(residual[source])
        if len(support) == 1:
            counts[support[0]] += dependent[source]
        elif len(support):
            shares = residual[source][support] / residual[source].sum()
            counts[support] += generator.multinomial(dependent[source], shares).T
    return counts


def compared(pairs: PairCounts, cell: Cell, collections: int) -> tuple[Floats, Floats]:
    """Return the leakages of a cell, one matrix for each collection, and the theory
    beside them.
    """
    theory = leakages(pairs, cell.epsilon, None if cell.bound else cell.mechanism)
    if cell.estimated:
        return estimates(pairs, cell.epsilon, cell.mechanism, collections), theory
    return leakages(pairs, cell.epsilon, cell.mechanism)[None], theory


def summands(pairs: PairCounts, cell: Cell, collections: int) -> Floats:
    """Return the summands of `tables_fig6.nmse` for every pair: (L~ - L*)^2, then
    (L*)^2.

    Both are means over collections; an infinite estimate adds to neither, as there.
    """
    found, theory = compared(pairs, cell, collections)
    finite = np.isfinite(found)
    error = np.where(finite, found, theory) - theory
    return np.stack([(error**2).mean(axis=0), (finite * theory**2).mean(axis=0)])


def grid(wide: Wide, cells: list[Cell], collections: int) -> Grid:
    """Return the sums of all cells, with the column that is left out."""
    sums = np.stack([summands(wide.pairs, cell, collections) for cell in cells], axis=1)
    return Grid(wide, cells, np.pad(sums, [(0, 0), (0, 0), (0, 1), (0, 1)]))


def search(found: Grid) -> Integers:
    """Return the readings that meet all cells: for each number its column, or that left
    out.

    For every choice of all numbers but three, the sums of all choices of these are one
    addition; each cell is looked at for those readings only that met the cells before.
    """
    sums = found.sums
    always = found.wide.always
    choices = [
        np.append(columns, sums.shape[-1] - 1) for columns in found.wide.versions
    ]
    both = sums + sums.swapaxes(2, 3)
    alone = both[..., always].sum(axis=-1)
    asked = [place for place, cell in enumerate(found.cells) if cell.tolerance < np.inf]
    readings = []
    last = np.stack(
        [part.ravel() for part in np.meshgrid(*choices[-3:], indexing="ij")]
    )
    a, b, c = last
    inner = both[..., a, b] + both[..., a, c] + both[..., b, c]
    inner += alone[..., a] + alone[..., b] + alone[..., c]
    inner += sums[:, :, always[:, None], always].sum(axis=(2, 3))[..., None]
    for first in product(*choices[:-3]):
        columns = np.array(first, dtype=np.int64)
        own = alone[..., columns].sum(axis=-1)
        own += sums[:, :, columns[:, None], columns].sum(axis=(2, 3))
        met = np.arange(last.shape[1])
        beside = both[:, :, columns].sum(axis=2)
        for place in asked:
            cell = found.cells[place]
            total = own[:, place, None] + inner[:, place, met]
            total += beside[:, place][:, last[:, met]].sum(axis=1)
            near = np.abs(total[0] / total[1] / cell.printed - 1) <= cell.tolerance
            met = met[near]
        readings.append(
            np.column_stack([np.tile(columns, (len(met), 1)), last[:, met].T])
        )
    return np.concatenate(readings)
