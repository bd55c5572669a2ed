"""Groups of attributes that determine each other in nearly all records."""

import numpy as np

from seepage._core.arrays import Booleans
from seepage.channel.pairs import PairCounts

MAX_ERROR_RATIO = 0.01
"""Two attributes are equivalent if 1 - lambda [Goodman and Kruskal] is at most this,
both ways."""


def equivalent_groups(pairs: PairCounts) -> list[tuple[int, ...]]:
    """Return the indices of all attributes, grouped by equivalence: each determines the
    others.

    Examples
    --------
    >>> import seepage as sp
    >>> groups = equivalent_groups(sp.load_pairs("adult"))
    >>> [len(group) for group in groups].count(2), len(groups)
    (1, 14)
    """
    equivalent = _equivalent(pairs)
    groups: list[list[int]] = []
    for index in range(len(pairs.domain)):
        for group in groups:
            if equivalent[group[0], index]:
                group.append(index)
                break
        else:
            groups.append([index])
    return [tuple(group) for group in groups]


def same_attributes(pairs: PairCounts) -> list[tuple[str, ...]]:
    """Return the names of each group of at least two equivalent attributes."""
    names = pairs.domain.names
    groups = [group for group in equivalent_groups(pairs) if len(group) > 1]
    return [tuple(names[index] for index in group) for group in groups]


def _equivalent(pairs: PairCounts) -> Booleans:
    """Return a symmetric matrix: which attributes are equivalent, as they determine
    each other in nearly all records.

    Goodman and Kruskal's lambda [1954]: wrong guesses of one attribute from the most
    frequent value given the other, over wrong guesses from its own most frequent value.
    """
    errors = np.array(
        [pairs.records - marginal.max(initial=0) for marginal in pairs.marginals]
    )
    determined = np.eye(len(pairs.domain), dtype=np.bool_)
    for first, second, tables in pairs.tables_by_shape():
        for guessed, known, axis in ((first, second, 1), (second, first, 2)):
            remaining = pairs.records - tables.max(axis=axis).sum(axis=1)
            small = remaining <= MAX_ERROR_RATIO * errors[guessed]
            determined[guessed, known] = small & (errors[guessed] > 0)
    return determined & determined.T
