"""The leaks worth reading first: by what is established, one line for attributes that are one.

Leakages are maxima over values, so rare and missing values lead any plain ranking.  Findings are
ranked by the leakage among values that enough records have; attributes that determine each other
(education and education-num) count as one.
"""

from dataclasses import dataclass

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats
from seepage.data.domain import MISSING
from seepage.leakage.evidence import Witness
from seepage.leakage.matrix import LeakageMatrix

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
    leakage
        The leakage in nats, over all values.
    established
        The leakage among values that enough records have, by which findings are ranked.
    witness
        What attains the established one.
    """

    target: str
    source: str
    targets: tuple[str, ...]
    sources: tuple[str, ...]
    leakage: float
    established: float
    witness: Witness | None

    def sentence(self) -> str:
        """Return the evidence in words, "" where there is none."""
        if self.witness is None:
            return ""
        return self.witness.sentence(self.established, self.source, self.target)


def support(matrix: LeakageMatrix) -> int:
    """Return how many records a target value needs to count."""
    return min(SUPPORT, matrix.pairs.records // 20)


def established(matrix: LeakageMatrix) -> Floats:
    """Return what ranks leaks: leakages among values that enough records have."""
    return matrix.among(support(matrix))


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
    """Return the strongest leaks between groups of attributes, largest established first.

    Parameters
    ----------
    matrix
        The leakages.
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
    values, names = established(matrix), matrix.domain.names
    group_of = {k: group for group in groups(matrix) for k in group}
    order = np.argsort(-values, axis=None, kind="stable")
    found, last = list[EstablishedLeak](), list[EstablishedLeak]()
    seen = set[tuple[tuple[int, ...], ...]]()
    for place in order.tolist():
        target, source = divmod(place, len(names))
        ends = group_of[target], group_of[source]
        if len(found) == count or values[target, source] <= 0:
            break
        if ends[0] == ends[1] or ends in seen:
            continue
        seen.add(ends)
        leak = matrix.leak_among(target, source, support(matrix))
        finding = EstablishedLeak(
            names[target],
            names[source],
            tuple(names[k] for k in ends[0]),
            tuple(names[k] for k in ends[1]),
            float(matrix.values[target, source]),
            leak.value,
            leak.witness,
        )
        telling = leak.witness is not None and leak.witness.likely != (MISSING,)
        (found if telling else last).append(finding)
    return (found + last)[:count]


def same_attributes(matrix: LeakageMatrix) -> list[tuple[str, ...]]:
    """Return the names of attributes that are one, for each group of several."""
    names = matrix.domain.names
    return [tuple(names[k] for k in group) for group in groups(matrix) if len(group) > 1]
