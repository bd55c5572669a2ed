"""What pooling the rare values of a table would gain: its leakages computed once more."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seepage._registry import MECHANISMS
from seepage.data.recoding import pool_rare, rare_values
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.release import PUBLIC, releases

SUGGESTED = 100
"""Values of fewer records are pooled in the suggestion; of a small table fewer than 1 %."""

NAMED = 3
"""Attributes that a sentence names."""


@dataclass(frozen=True)
class PoolingGain:
    """The sum of all leakages before and after values of fewer than `pool` records are merged.

    Parameters
    ----------
    pool
        The table option.
    merged
        The values that it merges, by attribute.
    before, after
        The sum of the leakages over all ordered pairs.
    most, most_before, most_after
        The attribute whose row and column of the matrix lose most, and their sums.
    """

    pool: int
    merged: Mapping[str, tuple[str, ...]]
    before: float
    after: float
    most: str
    most_before: float
    most_after: float

    def sentence(self) -> str:
        """Return the gain in words."""
        sizes = sorted(self.merged.items(), key=lambda item: -len(item[1]))
        named = ", ".join(f"{name} {len(values)}" for name, values in sizes[:NAMED])
        more = f" and {len(sizes) - NAMED} more" if len(sizes) > NAMED else ""
        return (
            f"--pool {self.pool} would merge rare values ({named}{more}) and lower the sum of all "
            f"leakages from {self.before:.4g} to {self.after:.4g}, "
            f"{self.most} as target and source from {self.most_before:.4g} to {self.most_after:.4g}"
        )


def pooling_gain(matrix: LeakageMatrix, pool: int | None = None) -> PoolingGain | None:
    """Return what pooling would gain, None where there is nothing to merge or to compute it from.

    Parameters
    ----------
    matrix
        The leakages as they are; their mechanisms are taken again for fewer values.
    pool
        Values of fewer records are merged; by default 100, of a small table 1 % of its records.

    Notes
    -----
    The cost of the matrix itself, less what pooling takes from its alphabets.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.leakage_matrix("adult", 1.0, columns=["sex", "native-country"], mechanism="grr")
    >>> found = pooling_gain(adult)
    >>> len(found.merged["native-country"]), round(found.before, 3), round(found.after, 3)
    (26, 0.937, 0.492)
    """
    pairs = matrix.pairs
    size = pool or min(SUGGESTED, max(2, pairs.records // 100))
    merged = rare_values(pairs, size)
    names = [release.name for release in matrix.releases]
    known = all(name in (None, PUBLIC) or name in MECHANISMS for name in names)
    if not merged or not known or not np.isfinite(matrix.tcpl):
        return None
    pooled = pool_rare(pairs, size)
    slack = [release.delta for release in matrix.releases]
    budgets = [0.0 if release.public else release.epsilon for release in matrix.releases]
    again = releases(pooled.domain, budgets, names, slack)
    other = LeakageMatrix(pooled, again, matrix.view, matrix.smoothing, matrix.radius)
    before, after = (
        values.sum(axis=0) + values.sum(axis=1) for values in (matrix.values, other.values)
    )
    most = int((before - after).argmax())
    return PoolingGain(
        size,
        merged,
        matrix.tcpl,
        other.tcpl,
        matrix.domain.names[most],
        float(before[most]),
        float(after[most]),
    )
