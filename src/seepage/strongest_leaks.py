"""The strongest leaks, ranked by lower confidence limit; equivalent attributes are one entry.

A leakage is a maximum over values, so rare and missing values lead a ranking by leakage.  Leaks are
ranked by min(lower, supported): the lower confidence limit for the population,
`LeakageMatrix.interval`, and the leakage among values with enough records.  Attributes that
determine each other (education and education-num) form one group, with one entry per two groups.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans
from seepage.data.domain import MISSING
from seepage.leakage.leaks import Witness
from seepage.leakage.matrix import LeakageMatrix

SUPPORT = 500
"""Minimum number of records of a target value in a witness, but at most 1/20 of all records."""

MAX_ERROR_RATIO = 0.01
"""Two attributes are equivalent if 1 - lambda [Goodman and Kruskal] is at most this, both ways."""


@dataclass(frozen=True)
class EstablishedLeak:
    """A leak with its confidence limits and evidence.

    Parameters
    ----------
    target, source
        The names of the attributes.
    targets, sources
        The attributes equivalent to each, itself included.
    lower, leakage, upper
        The leakage of the table in nats, and its confidence limits for the population.
    supported
        The largest leakage among target values that are not missing and have enough records.
    witness
        The two target values and the likely set that attain `supported`.
    """

    target: str
    source: str
    targets: tuple[str, ...]
    sources: tuple[str, ...]
    lower: float
    leakage: float
    upper: float
    supported: float
    witness: Witness | None

    @property
    def rank(self) -> float:
        """The sort key min(lower, supported); 0 without a witness, or if it is a missing value."""
        if self.witness is None or self.witness.likely == (MISSING,):
            return 0.0
        return min(self.lower, self.supported)

    def sentence(self) -> str:
        """Return the evidence in words, "" where there is none."""
        if self.witness is None:
            return ""
        return self.witness.sentence(self.supported, self.source, self.target)


def support(matrix: LeakageMatrix) -> int:
    """Return the minimum number of records of a target value in a witness."""
    return min(SUPPORT, matrix.pairs.records // 20)


def groups(matrix: LeakageMatrix) -> list[tuple[int, ...]]:
    """Return the indices of all attributes, grouped by equivalence: each determines the others.

    Examples
    --------
    >>> import seepage as sp
    >>> matrix = sp.leakage_matrix("adult", 1.0)
    >>> [len(group) for group in groups(matrix)].count(2), len(groups(matrix))
    (1, 14)
    """
    equivalent = _equivalent(matrix)
    grouped: dict[int, list[int]] = {}
    for k in range(len(matrix.domain)):
        first = next((first for first in grouped if equivalent[first, k]), k)
        grouped.setdefault(first, []).append(k)
    return [tuple(group) for group in grouped.values()]


def _equivalent(matrix: LeakageMatrix) -> Booleans:
    """Return a symmetric matrix: which attributes determine each other in nearly all records.

    Goodman and Kruskal's lambda [1954]: wrong guesses of one attribute from the most frequent value
    given the other, over wrong guesses from its own most frequent value.
    """
    pairs = matrix.pairs
    errors = np.array([pairs.records - marginal.max(initial=0) for marginal in pairs.marginals])
    determined = np.eye(len(pairs.domain), dtype=np.bool_)
    for first, second, tables in pairs.tables_by_shape():
        for guessed, given, axis in ((first, second, 1), (second, first, 2)):
            remaining = pairs.records - tables.max(axis=axis).sum(axis=1)
            small = remaining <= MAX_ERROR_RATIO * errors[guessed]
            determined[guessed, given] = small & (errors[guessed] > 0)
    return determined & determined.T


def find_leaks(matrix: LeakageMatrix, count: int = 10) -> list[EstablishedLeak]:
    """Return the strongest leaks between groups of equivalent attributes, largest `rank` first.

    Leaks whose lower limit is 0 are left out.

    Parameters
    ----------
    matrix
        The leakages; a matrix of robust bounds has no lower limits, and gives an empty list.
    count
        Maximum number of leaks.

    Examples
    --------
    >>> import seepage as sp
    >>> first = find_leaks(sp.leakage_matrix("adult", 1.0, mechanism="grr"), 1)[0]
    >>> first.source, first.target
    ('marital-status', 'relationship')
    """
    _checks.integer(count, "count", 0)
    if matrix.radius:
        return []
    limits, names = matrix.interval(), matrix.domain.names
    group_of = {k: group for group in groups(matrix) for k in group}
    order = np.lexsort((-limits.values.ravel(), -limits.lower.ravel()))
    heap, leaks = list[tuple[float, int, EstablishedLeak]](), list[EstablishedLeak]()
    seen = set[tuple[tuple[int, ...], ...]]()
    for index in order.tolist():
        target, source = divmod(index, len(matrix.domain))
        ends = group_of[target], group_of[source]
        # A rank is at most its lower limit, so no later leak precedes these.
        while heap and len(leaks) < count and -heap[0][0] >= limits.lower[target, source]:
            leaks.append(heapq.heappop(heap)[2])
        if len(leaks) == count or limits.lower[target, source] <= 0:
            break
        if ends[0] != ends[1] and ends not in seen:
            seen.add(ends)
            among = matrix.leak_among(target, source, support(matrix))
            leak = EstablishedLeak(
                names[target],
                names[source],
                tuple(names[k] for k in ends[0]),
                tuple(names[k] for k in ends[1]),
                *limits[target, source][2:],
                among.value,
                among.witness,
            )
            heapq.heappush(heap, (-leak.rank, len(seen), leak))
    return leaks + [heapq.heappop(heap)[2] for _ in range(min(len(heap), count - len(leaks)))]


def same_attributes(matrix: LeakageMatrix) -> list[tuple[str, ...]]:
    """Return the names of each group of at least two equivalent attributes."""
    names = matrix.domain.names
    return [tuple(names[k] for k in group) for group in groups(matrix) if len(group) > 1]
