"""The leaks worth reading first: by what is established, one line for attributes that are one.

Leakages are maxima over values, so rare and missing values lead any plain ranking.  Findings are
ranked by their lower limit among the people behind the table, `LeakageMatrix.interval`, as far as
it does not rest on such values; attributes that determine each other (education and education-num)
count as one.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans
from seepage.data.domain import MISSING
from seepage.leakage.likely_sets import Witness
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.population_limits import LeakageLimits

SUPPORT = 500
"""The records that a target value needs, at most a twentieth of all."""

LEFT_OVER = 0.01
"""Two attributes are one if knowing either leaves this share of the wrong guesses of the other."""


@dataclass(frozen=True)
class EstablishedLeak:
    """One leak.

    Parameters
    ----------
    target, source
        The attributes, each with those that it is one with: `targets` and `sources`.
    lower, leakage, upper
        The leakage of the table in nats, and its limits among the people behind it.
    supported
        The leakage among values, not missing, that enough records have.
    witness
        What attains the supported one.
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
        """What is established and rests neither on rare nor on missing values."""
        if self.witness is None or self.witness.likely == (MISSING,):
            return 0.0
        return min(self.lower, self.supported)

    def sentence(self) -> str:
        """Return the evidence in words, "" where there is none."""
        if self.witness is None:
            return ""
        return self.witness.sentence(self.supported, self.source, self.target)


def support(matrix: LeakageMatrix) -> int:
    """Return how many records a target value needs to count."""
    return min(SUPPORT, matrix.pairs.records // 20)


def groups(matrix: LeakageMatrix) -> list[tuple[int, ...]]:
    """Return the attributes in groups of those that determine each other.

    Examples
    --------
    >>> import seepage as sp
    >>> matrix = sp.leakage_matrix("adult", 1.0)
    >>> [len(group) for group in groups(matrix)].count(2), len(groups(matrix))
    (1, 14)
    """
    same = _same(matrix)
    found: list[tuple[int, ...]] = []
    left = list(range(len(matrix.domain)))
    while left:
        group = tuple(k for k in left if k == left[0] or same[left[0], k])
        found.append(group)
        left = [k for k in left if k not in group]
    return found


def _same(matrix: LeakageMatrix) -> Booleans:
    """Return which attributes tell each other's value, both ways, for nearly all records.

    Compared with guessing the most frequent value [Goodman and Kruskal 1954, lambda].
    """
    pairs = matrix.pairs
    wrong = np.array([pairs.records - marginal.max(initial=0) for marginal in pairs.marginals])
    same = np.eye(len(pairs.domain), dtype=np.bool_)
    for first, second, tables in pairs.tables_by_shape():
        for told, by, axis in ((first, second, 1), (second, first, 2)):
            left = pairs.records - tables.max(axis=axis).sum(axis=1)
            same[told, by] = (left <= LEFT_OVER * wrong[told]) & (wrong[told] > 0)
    return same & same.T


def find_leaks(matrix: LeakageMatrix, count: int = 10) -> list[EstablishedLeak]:
    """Return the strongest leaks between groups of attributes, largest lower limit first.

    Leaks whose lower limit is 0 are not established, and left out.

    Parameters
    ----------
    matrix
        The leakages; robust bounds have no lower limits, and give none.
    count
        How many.

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
    limits = matrix.interval()
    group_of = {k: group for group in groups(matrix) for k in group}
    order = np.lexsort((-limits.values.ravel(), -limits.lower.ravel()))
    waiting, found = list[tuple[float, int, EstablishedLeak]](), list[EstablishedLeak]()
    seen = set[tuple[tuple[int, ...], ...]]()
    for index in order.tolist():
        target, source = divmod(index, len(matrix.domain))
        ends = group_of[target], group_of[source]
        while waiting and len(found) < count and -waiting[0][0] >= limits.lower[target, source]:
            found.append(heapq.heappop(waiting)[2])
        if len(found) == count or limits.lower[target, source] <= 0:
            break
        if ends[0] != ends[1] and ends not in seen:
            seen.add(ends)
            leak = _finding(limits, target, source, *ends)
            heapq.heappush(waiting, (-leak.rank, len(seen), leak))
    return found + [heapq.heappop(waiting)[2] for _ in range(min(len(waiting), count - len(found)))]


def _finding(
    limits: LeakageLimits,
    target: int,
    source: int,
    targets: tuple[int, ...],
    sources: tuple[int, ...],
) -> EstablishedLeak:
    matrix, names = limits.matrix, limits.domain.names
    leak = matrix.leak_among(target, source, support(matrix))
    return EstablishedLeak(
        names[target],
        names[source],
        tuple(names[k] for k in targets),
        tuple(names[k] for k in sources),
        *limits[target, source][2:],
        leak.value,
        leak.witness,
    )


def same_attributes(matrix: LeakageMatrix) -> list[tuple[str, ...]]:
    """Return the names of attributes that are one, for each group of several."""
    names = matrix.domain.names
    return [tuple(names[k] for k in group) for group in groups(matrix) if len(group) > 1]
