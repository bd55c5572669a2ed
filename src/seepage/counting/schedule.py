"""Which kernel counts which pairs of columns, by their cost."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Integers

PACK_COST = 8.0
"""Cost of making one bitmap (measured: 6 to 10)."""


TRIPLE_CELLS = 1 << 16
"""Maximum size of a histogram of three columns."""


NUMPY_COMPARISON = 1.1e-9 / 64
"""Seconds per row of a comparison of two bitmaps by NumPy (measured)."""


NUMPY_TALLY = 2e-9
"""Seconds per row of a histogram of two columns by NumPy (measured)."""


NUMPY_LIMIT = NUMPY_TALLY / NUMPY_COMPARISON
"""Cost of a histogram of two columns by NumPy."""


LOADING_SECONDS = 0.4
"""The compiled kernel is loaded if NumPy would take longer than this on each core.

Loading takes 0.4 to 1 s; compiling, once per installation, 5 to 8 s.
"""


NUMBA_LIMIT = 64.0
"""Cost of a histogram of two columns by Numba (measured: 100 with AVX-512 VPOPCNTDQ, 45
with AVX2).

Only the speed depends on it.
"""


@dataclass(frozen=True, eq=False)
class PairSchedule:
    """Assignment of every pair of columns to bitmaps or histograms.

    Parameters
    ----------
    sizes
        The columns' alphabet sizes.
    packed
        The columns with bitmaps, by ascending size.
    first
        Index of the first bitmap of each packed column; the last entry is the number of
        bitmaps.
    stop
        For each packed column, its bitmaps are compared with the bitmaps 0 to `stop` -
        1; these belong to smaller columns, so that every pair is counted once.
    tallied
        The other pairs of columns (a, b), a < b, one per row: counted by histograms.
    """

    sizes: tuple[int, ...]
    packed: Integers
    first: Integers
    stop: Integers
    tallied: Integers

    @cached_property
    def bitmaps(self) -> Integers:
        """Column, code and number of comparisons of each bitmap of the schedule, one
        per row.
        """
        lengths = np.diff(self.first)
        code = np.arange(self.first[-1]) - np.repeat(self.first[:-1], lengths) + 1
        column = np.repeat(self.packed, lengths)
        stop = np.repeat(self.stop, lengths)
        return np.stack([column, code, stop], axis=1)

    @property
    def comparisons(self) -> int:
        """Number of comparisons of two bitmaps in the schedule."""
        return int(self.bitmaps[:, 2].sum())

    @cached_property
    def grouped(self) -> tuple[Integers, Integers]:
        """The scheduled pairs to tally as triples of columns (a, b, c), a < b < c, and
        the remaining pairs.

        Greedy: each uncovered pair is joined by the middle one of the columns that
        complete a triple of uncovered pairs.  Triples cover about nine tenths of many
        pairs.
        """
        sizes = np.array(self.sizes, dtype=np.int64)
        uncovered = np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
        uncovered[tuple(self.tallied.T)] = True
        uncovered |= uncovered.T
        triples = []
        for a, b in self.tallied.tolist():
            fitting = sizes <= TRIPLE_CELLS // (sizes[a] * sizes[b])
            thirds = np.flatnonzero(uncovered[a] & uncovered[b] & fitting)
            if uncovered[a, b] and len(thirds):
                triple = sorted((a, b, int(thirds[len(thirds) // 2])))
                uncovered[np.ix_(triple, triple)] = False
                triples.append(triple)
        return np.array(triples, dtype=np.int64).reshape(-1, 3), _indices(
            np.triu(uncovered)
        )


@lru_cache(maxsize=16)
def schedule_pairs(sizes: tuple[int, ...], limit: float) -> PairSchedule:
    """Return the schedule of counting all pairs of columns of these sizes.

    Parameters
    ----------
    sizes
        The columns' alphabet sizes.
    limit
        Cost of a histogram of two columns: pairs with more comparisons are tallied.

    Notes
    -----
    A column is packed if half of the savings of its pairs exceeds the cost of its
    bitmaps.  In ascending order of size, a column is compared with a prefix of the
    columns before it.

    Examples
    --------
    >>> schedule = schedule_pairs((300, 2, 3), limit=400)
    >>> schedule.packed.tolist(), schedule.stop.tolist(), schedule.tallied.tolist()
    ([1, 2], [0, 1], [[0, 1], [0, 2]])
    """
    bitmaps = np.asarray(sizes, dtype=np.float64) - 1
    savings = np.maximum(limit - np.outer(bitmaps, bitmaps), 0.0)
    np.fill_diagonal(savings, 0.0)
    pays = savings.sum(axis=1) / 2 > PACK_COST * bitmaps
    ascending = np.argsort(bitmaps, kind="stable")
    packed = ascending[pays[ascending]]
    first = np.concatenate([[0], np.cumsum(bitmaps[packed])]).astype(np.int64)
    compared = np.outer(bitmaps[packed], bitmaps[packed]) <= limit
    partners = np.minimum(compared.sum(axis=1), np.arange(len(packed)))
    tallied = np.triu(np.ones((len(sizes), len(sizes)), dtype=np.bool_), k=1)
    for column, count in zip(packed, partners, strict=True):
        others = packed[:count]
        tallied[np.minimum(column, others), np.maximum(column, others)] = False
    return PairSchedule(sizes, packed, first, first[partners], _indices(tallied))


def _indices(matrix: Booleans) -> Integers:
    """Return row and column of each scheduled pair, C-contiguous as compiled code
    expects.
    """
    return np.ascontiguousarray(np.argwhere(matrix), dtype=np.int64)


def compiled_pays(rows: int, sizes: Sequence[int]) -> bool:
    """Return whether a schedule's comparisons pay the compiled kernel: loaded already,
    or faster including loading.

    Parameters
    ----------
    rows
        Number of rows that one core will count.
    sizes
        The columns' alphabet sizes.
    """
    if "seepage.counting.kernel_numba" in sys.modules:
        return True
    schedule = schedule_pairs(tuple(sizes), NUMPY_LIMIT)
    tallied = len(schedule.tallied) + len(sizes)
    seconds = rows * (schedule.comparisons * NUMPY_COMPARISON + tallied * NUMPY_TALLY)
    return seconds > LOADING_SECONDS and checks.is_installed("numba")
