"""Which pairs of columns are counted by bitmaps and which by a histogram.

A column of k values has k - 1 bitmaps, one for each code but 0.  The counts of two codes are the
bits that two bitmaps share; those of code 0 follow by subtraction, see `accumulator`.  Two columns
need (k_a - 1)(k_b - 1) passes of AND and popcount, 64 rows an operation, or one pass of a
histogram, a few operations a row.  Costs here are in units of one AND-popcount pass.

A histogram of three columns gives the counts of three pairs in little more than the time of one,
as long as it stays in the cache; so pairs are put together to triples.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers

__all__ = ["PACK_COST", "TRIPLE_CELLS", "Codes", "Plan", "plan_pairs"]

Codes: TypeAlias = NDArray[np.unsignedinteger]
"""The codes of one column: uint8 or uint16."""

PACK_COST = 8.0
"""What it costs to make one bitmap (measured: 6 to 10)."""
TRIPLE_CELLS = 1 << 16
"""Cells up to which three columns are counted by one histogram."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How to count every pair of columns once.

    Parameters
    ----------
    sizes
        The columns' alphabet sizes.
    packed
        The columns that get bitmaps, by ascending size.
    first
        Where the bitmaps of each packed column begin; the last entry is their number.
    stop
        For each packed column, the number of bitmaps, from the first on, that are compared with
        its own; they are those of smaller columns, so that every pair comes once.
    tallied
        The other pairs of columns (a, b), a < b, one a row: counted by histograms.
    """

    sizes: tuple[int, ...]
    packed: Integers
    first: Integers
    stop: Integers
    tallied: Integers

    @property
    def comparisons(self) -> int:
        """The number of pairs of bitmaps that are compared."""
        return int(self.stop @ np.diff(self.first))

    @cached_property
    def grouped(self) -> tuple[Integers, Integers]:
        """The tallied pairs as triples of columns (a, b, c), a < b < c, and the pairs left over.

        Greedy: of the columns that form a triple of uncovered pairs with a pair, the middle one.
        About nine tenths of many pairs are covered.
        """
        sizes = np.array(self.sizes, dtype=np.int64)
        open_pairs = np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
        open_pairs[tuple(self.tallied.T)] = True
        open_pairs |= open_pairs.T
        triples = []
        for a, b in self.tallied.tolist():
            fitting = sizes <= TRIPLE_CELLS // (sizes[a] * sizes[b])
            thirds = np.flatnonzero(open_pairs[a] & open_pairs[b] & fitting)
            if open_pairs[a, b] and len(thirds):
                triple = sorted((a, b, int(thirds[len(thirds) // 2])))
                open_pairs[np.ix_(triple, triple)] = False
                triples.append(triple)
        return np.array(triples, dtype=np.int64).reshape(-1, 3), _places(np.triu(open_pairs))


@lru_cache(maxsize=16)
def plan_pairs(sizes: tuple[int, ...], limit: float) -> Plan:
    """Return the plan for columns of these sizes.

    Parameters
    ----------
    sizes
        The columns' alphabet sizes.
    limit
        The cost of a histogram of two columns: pairs with more comparisons are tallied.

    Notes
    -----
    A column is packed where its share of what bitmaps save, half of each pair's, exceeds what
    they cost.  By ascending size, the partners of a column that are compared are the first ones.

    Examples
    --------
    >>> plan = plan_pairs((300, 2, 3), limit=400)
    >>> plan.packed.tolist(), plan.first.tolist(), plan.stop.tolist(), plan.tallied.tolist()
    ([1, 2], [0, 1, 3], [0, 1], [[0, 1], [0, 2]])
    """
    bitmaps = np.asarray(sizes, dtype=np.float64) - 1
    savings = np.maximum(limit - np.outer(bitmaps, bitmaps), 0.0)
    np.fill_diagonal(savings, 0.0)
    worth = savings.sum(axis=1) / 2 > PACK_COST * bitmaps
    ascending = np.argsort(bitmaps, kind="stable")
    packed = ascending[worth[ascending]]
    first = np.concatenate([[0], np.cumsum(bitmaps[packed])]).astype(np.int64)
    compared = np.outer(bitmaps[packed], bitmaps[packed]) <= limit
    partners = np.minimum(compared.sum(axis=1), np.arange(len(packed)))
    tallied = np.triu(np.ones((len(sizes), len(sizes)), dtype=np.bool_), k=1)
    for position, number in enumerate(partners):
        mine, theirs = packed[position], packed[:number]
        tallied[np.minimum(mine, theirs), np.maximum(mine, theirs)] = False
    return Plan(sizes, packed, first, first[partners], _places(tallied))


def _places(matrix: Booleans) -> Integers:
    """Return row and column of what is true, in the memory layout that compiled code expects."""
    return np.ascontiguousarray(np.argwhere(matrix), dtype=np.int64)
