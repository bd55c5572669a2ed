"""How far the rows of a population's channels may be from those of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats
from seepage._core.rounding import UNIT
from seepage.channel.domain import Domain, for_each
from seepage.channel.pairs import PairCounts
from seepage.channel.recoding import recoded

FULL_RADIUS = 1.0
"""The total variation distance within which every distribution lies."""


@runtime_checkable
class Uncertainty(Protocol):
    """Total variation distances within which the rows of every channel lie."""

    @property
    def words(self) -> str:
        """The assumption of an uncertainty in words: "rows within 0.05"."""

    def coded(self, pairs: PairCounts) -> PairCounts:
        """Return pair counts in the domain whose rows the uncertainty is of."""

    def radii(self, target: int, source: int) -> Floats | float:
        """Return the uncertain distance of each row of P(source given target), or that
        of all.
        """

    def occurring(self, target: int) -> Booleans | bool:
        """Return the values of a target that occur under the uncertainty although the
        table has none.
        """


@dataclass(frozen=True)
class RowsWithin:
    """Rows within a stated total variation distance of the table's.

    Parameters
    ----------
    by_target
        The distance of the rows about each target.

    Examples
    --------
    >>> RowsWithin((0.05, 0.05)).words, RowsWithin((0.0, 0.1)).words
    ('rows within 0.05', 'rows within 0 to 0.1, by target')
    """

    by_target: tuple[float, ...]

    @property
    def words(self) -> str:
        """The assumption of stated uncertainty in words: rows within distances."""
        least = min(self.by_target)
        most = max(self.by_target)
        if least == most:
            return f"rows within {most:g}"
        return f"rows within {least:g} to {most:g}, by target"

    def coded(self, pairs: PairCounts) -> PairCounts:
        """Return the pair counts as they are: a stated uncertainty has no domain of its
        own.
        """
        return pairs

    def radii(self, target: int, source: int) -> float:
        """Return the stated uncertainty, the distance of the rows about a target."""
        return self.by_target[target]

    def occurring(self, target: int) -> bool:
        """Return False: a stated uncertainty speaks of no other values than the
        table's.
        """
        return False


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """The distance of each row of one table's channels from that of another.

    Parameters
    ----------
    first, second
        The pair counts of both tables in one domain; distances are from the first.
    names
        The names of both tables.

    Notes
    -----
    A target value that only the second table has may have any row (distance 1); one
    that only the first table has keeps its own.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in "ab"])
    >>> first = sp.PairCounts(domain, [[5, 5], [6, 4]], [4, 1, 2, 3])
    >>> second = sp.PairCounts(domain, [[5, 5], [5, 5]], [3, 2, 2, 3])
    >>> MeasuredRows(first, second, ("x", "y")).radii(0, 1).round(3).tolist()
    [0.2, 0.0]
    """

    first: PairCounts
    second: PairCounts
    names: tuple[str, str] = ("the first table", "the second")

    @property
    def words(self) -> str:
        """The assumption of measured uncertainty in words: rows as far as those of
        another table.
        """
        first, second = self.names
        return f"rows within the distances from {first} to {second}"

    def coded(self, pairs: PairCounts) -> PairCounts:
        """Return pair counts in the domain of both tables of a measured uncertainty;
        others raise a DomainError.
        """
        selected = pairs.select(self.first.domain.names)
        return recoded(selected, self.first.domain)

    def radii(self, target: int, source: int) -> Floats:
        """Return the measured uncertainty, the distance of each row, rounded up."""
        first = self.first.table(target, source)
        second = self.second.table(target, source)
        return row_distances(first, second)

    def occurring(self, target: int) -> Booleans:
        """Return the values of a target that the second table of a measured uncertainty
        has.
        """
        return np.asarray(self.second.marginals[target] > 0)


def row_distances(first: Any, second: Any) -> Floats:
    """Return the uncertainty between two tables of counts, the total variation distance
    of each row, rounded up: 1 for a row without records in the first, 0 for one without
    in the second.

    Examples
    --------
    >>> first = np.array([[1, 1], [0, 0], [2, 0]])
    >>> row_distances(first, np.array([[1, 0], [1, 1], [0, 0]])).round(9).tolist()
    [0.5, 1.0, 0.0]
    """
    sums = (first.sum(axis=1, keepdims=True), second.sum(axis=1, keepdims=True))
    rows = [
        table / np.maximum(total, 1)
        for table, total in zip((first, second), sums, strict=True)
    ]
    guard = 4 * first.shape[1] * UNIT
    distances = np.abs(rows[0] - rows[1]).sum(axis=1) / 2 + guard
    distances = np.where((rows[0] == rows[1]).all(axis=1), 0.0, distances)
    distances[sums[0][:, 0] == 0] = FULL_RADIUS
    distances[sums[1][:, 0] == 0] = 0.0
    return np.minimum(distances, FULL_RADIUS)


def uncertainty_of(domain: Domain, value: Any) -> Uncertainty | None:
    """Return the uncertainty that a keyword stands for: None for 0.

    Parameters
    ----------
    domain
        The attributes of the table.
    value
        A distance between 0 and 1 for all targets, or one for each: a sequence, or a
        mapping by name; or what `compare_tables` returned.
    """
    if value is None:
        return None
    measured = getattr(value, "measured", value)
    if isinstance(measured, Uncertainty):
        return measured
    distances = tuple(
        checks.probability(distance, "uncertainty")
        for distance in for_each(domain, value, "uncertainty")
    )
    if not any(distances):
        return None
    return RowsWithin(distances)


def row_radii(value: Any, rows: int) -> Floats:
    """Return the uncertainty of each row of a channel: one distance for all, or one for
    each.

    Examples
    --------
    >>> row_radii(0.1, 2).tolist(), row_radii([0, 0.2], 2).tolist()
    ([0.1, 0.1], [0.0, 0.2])
    """
    is_text = isinstance(value, str | bytes)
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    if not is_array and (is_text or not isinstance(value, Sequence)):
        return np.full(rows, checks.probability(value, "uncertainty"))
    items = checks.items(value, "uncertainty")
    if len(items) != rows:
        raise checks.violation(
            "uncertainty", f"one number or {rows}, one for each row", value
        )
    return np.array([checks.probability(item, "uncertainty") for item in items])
