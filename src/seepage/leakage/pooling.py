"""The effect of merging rare values on the leakages: rare values make them large."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seepage._registry import MECHANISMS
from seepage.data.recoding import pool_rare, rare_values
from seepage.leakage.release import PUBLIC, releases

if TYPE_CHECKING:
    from seepage.leakage.matrix import LeakageMatrix

DEFAULT_POOL = 100
"""Largest default threshold: values with fewer records are merged."""

MAX_NAMED = 3
"""Maximum number of attributes named in a sentence."""


def default_pool(records: int) -> int:
    """Return the default threshold: 100, or 1 % of the records of a small table, at least 2."""
    return min(DEFAULT_POOL, max(2, records // 100))


def merged_counts(merged: Mapping[str, tuple[str, ...]]) -> str:
    """Return the number of merged values of each attribute, the largest first.

    Examples
    --------
    >>> merged_counts({"sex": ("x",), "country": ("Laos", "Holland")})
    'country 2, sex 1'
    """
    sizes = sorted(merged.items(), key=lambda item: -len(item[1]))
    named = ", ".join(f"{name} {len(values)}" for name, values in sizes[:MAX_NAMED])
    return f"{named} and {len(sizes) - MAX_NAMED} more" if len(sizes) > MAX_NAMED else named


@dataclass(frozen=True)
class PoolingGain:
    """The sum of all leakages before and after merging values with fewer than `pool` records.

    Parameters
    ----------
    pool
        The table option: the minimum number of records of a value that is not merged.
    merged
        The merged values, by attribute.
    before, after
        The sum of the leakages over all ordered pairs.
    most, most_before, most_after
        The attribute whose row and column of the matrix decrease most, and their sums.
    """

    pool: int
    merged: Mapping[str, tuple[str, ...]]
    before: float
    after: float
    most: str
    most_before: float
    most_after: float

    def sentence(self) -> str:
        """Return the gain as a sentence."""
        return (
            f"--pool {self.pool} would merge rare values ({merged_counts(self.merged)}) and lower "
            f"the sum of all leakages from {self.before:.4g} to {self.after:.4g}, "
            f"{self.most} as target and source from {self.most_before:.4g} to {self.most_after:.4g}"
        )


def pooling_gain(matrix: "LeakageMatrix", pool: int | None = None) -> PoolingGain | None:
    """Return the decrease of all leakages when rare values are merged.

    None where no value is rare, where a mechanism is not registered and so cannot be created for
    fewer values, and where the leakages are not finite.

    Parameters
    ----------
    matrix
        The leakages without pooling.
    pool
        Values with fewer records are merged; by default 100, or 1 % of the records of a small
        table, at least 2.

    Notes
    -----
    Costs at most as much as the matrix itself.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.leakage_matrix("adult", 1.0, columns=["sex", "native-country"], mechanism="grr")
    >>> found = pooling_gain(adult)
    >>> len(found.merged["native-country"]), round(found.before, 3), round(found.after, 3)
    (26, 0.937, 0.492)
    """
    pairs = matrix.pairs
    threshold = pool or default_pool(pairs.records)
    merged = rare_values(pairs, threshold)
    names = [release.name for release in matrix.releases]
    registered = all(name in (None, PUBLIC) or name in MECHANISMS for name in names)
    if not merged or not registered or not np.isfinite(matrix.tcpl):
        return None
    pooled = pool_rare(pairs, threshold)
    deltas = [release.delta for release in matrix.releases]
    budgets = [0.0 if release.public else release.epsilon for release in matrix.releases]
    released = releases(pooled.domain, budgets, names, deltas)
    after = type(matrix)(pooled, released, matrix.view, matrix.smoothing, matrix.radius)
    sums_before, sums_after = (
        values.sum(axis=0) + values.sum(axis=1) for values in (matrix.values, after.values)
    )
    most = int((sums_before - sums_after).argmax())
    return PoolingGain(
        threshold,
        merged,
        matrix.tcpl,
        after.tcpl,
        matrix.domain.names[most],
        float(sums_before[most]),
        float(sums_after[most]),
    )
