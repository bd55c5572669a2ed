"""`Leak`: the strongest leaks of a table, grouped and ranked."""

import math
from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import DomainError
from seepage._core.text import ceiling_text, delta_text, floor_text, short_list
from seepage.channel.domain import MISSING, Domain
from seepage.leakage.leakage import Witness

if TYPE_CHECKING:
    from seepage.channel.pairs import PairCounts
    from seepage.leakage.matrix import LeakageMatrix


SUPPORT = 500
"""Minimum number of records of a target value in a witness, but at most 1/20 of all
records."""


MAX_ERROR_RATIO = 0.01
"""Two attributes are equivalent if 1 - lambda [Goodman and Kruskal] is at most this,
both ways."""


@dataclass(frozen=True, repr=False)
class Leak:
    """The leakage of one source about one target, with the evidence that there is.

    Parameters
    ----------
    target, source
        The names of the attributes, in the order of `matrix[target, source]`.
    leakage
        The leakage in nats: of the table, or estimated from reports.
    interval
        Its lower and upper confidence limit for the population; None where they are not
        computed.
    witness
        The two target values and the likely set that attain `supported`, if that is
        given, else the leakage; None where there is none, or where it is not computed.
    supported
        The largest leakage among target values that are not missing and have enough
        records; None where it is not computed.
    targets, sources
        The attributes equivalent to each, itself included; empty where they are not
        computed.
    delta
        The delta with which `leakage` and `supported` hold in the table.

    Examples
    --------
    >>> import seepage as sp
    >>> matrix = sp.leakage_matrix("adult", 1.0, mechanism="grr")
    >>> matrix.interval()["sex", "relationship"].sentence()
    'relationship -> sex: 0.71 nats, 0.69 to 0.73 in the population'
    """

    target: str
    source: str
    leakage: float
    interval: tuple[float, float] | None = None
    witness: Witness | None = None
    supported: float | None = None
    targets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    delta: float = 0.0

    @property
    def lower(self) -> float:
        """The lower confidence limit; 0, which always holds, where it is not computed."""
        return self.interval[0] if self.interval else 0.0

    @property
    def upper(self) -> float:
        """The upper confidence limit; infinity, which always holds, where it is not
        computed.
        """
        return self.interval[1] if self.interval else math.inf

    @property
    def rank(self) -> float:
        """The sort key min(lower, supported); 0 without a witness, or if it is a
        missing value.
        """
        if (
            self.witness is None
            or self.supported is None
            or self.witness.likely == (MISSING,)
        ):
            return 0.0
        return min(self.lower, self.supported)

    def sentence(self) -> str:
        """Return the evidence in words: the witness, or else the leakage and its
        interval.

        Where rare or missing values have a larger leakage, the witness is given with
        its own.
        """
        if self.witness is not None:
            value = self.leakage if self.supported is None else self.supported
            seen = self.witness.sentence(value, self.source, self.target, self.delta)
            same = f"{value:.2f}" == f"{self.leakage:.2f}"
            return (
                seen
                if same
                else f"{seen} ({value:.2f} nats; more for rare or missing values)"
            )
        told = f"{self.source} -> {self.target}: {self.leakage:.2f} nats{delta_text(self.delta)}"
        if self.interval is None:
            return told
        limits = f"{floor_text(self.lower, 2)} to {ceiling_text(self.upper, 2)}"
        return f"{told}, {limits} in the population"

    def to_dict(self) -> dict[str, Any]:
        """Return the leak as plain values, its witness in words."""
        kept = (
            "target",
            "source",
            "targets",
            "sources",
            "lower",
            "leakage",
            "delta",
            "upper",
        )
        told = {
            "supported": self.supported,
            "witness": self.sentence() if self.witness else "",
        }
        return {name: getattr(self, name) for name in kept} | told

    def __repr__(self) -> str:
        names = ("target", "source", "leakage", "interval")
        values = {name: getattr(self, name) for name in names} | {
            "delta": self.delta or None
        }
        parts = ", ".join(
            f"{name}={v!r}" for name, v in values.items() if v is not None
        )
        return f"Leak({parts})"


# The strongest leaks ------------------------------------------------------------------


def support(matrix: "LeakageMatrix") -> int:
    """Return the minimum number of records of a target value in a witness."""
    return min(SUPPORT, matrix.pairs.records // 20)


def groups(matrix: "LeakageMatrix") -> list[tuple[int, ...]]:
    """Return the indices of all attributes, grouped by equivalence: each determines the
    others.

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


def _equivalent(matrix: "LeakageMatrix") -> Booleans:
    """Return a symmetric matrix: which attributes determine each other in nearly all
    records.

    Goodman and Kruskal's lambda [1954]: wrong guesses of one attribute from the most
    frequent value given the other, over wrong guesses from its own most frequent value.
    """
    pairs = matrix.pairs
    errors = np.array(
        [pairs.records - marginal.max(initial=0) for marginal in pairs.marginals]
    )
    determined = np.eye(len(pairs.domain), dtype=np.bool_)
    for first, second, tables in pairs.tables_by_shape():
        for guessed, given, axis in ((first, second, 1), (second, first, 2)):
            remaining = pairs.records - tables.max(axis=axis).sum(axis=1)
            small = remaining <= MAX_ERROR_RATIO * errors[guessed]
            determined[guessed, given] = small & (errors[guessed] > 0)
    return determined & determined.T


def find_leaks(matrix: "LeakageMatrix", count: int = 10) -> list[Leak]:
    """Return the strongest leaks between groups of equivalent attributes, largest
    `rank` first.

    Leaks whose lower confidence limit is 0 are left out.

    Parameters
    ----------
    matrix
        The leakages.
    count
        Maximum number of leaks.

    Examples
    --------
    >>> import seepage as sp
    >>> first = find_leaks(sp.leakage_matrix("adult", 1.0, mechanism="grr"), 1)[0]
    >>> first.source, first.target
    ('marital-status', 'relationship')
    """
    checks.integer(count, "count", 0)
    least = support(matrix)
    if matrix.pairs.pooled:  # without confidence limits
        found = (
            (leak, matrix.leak_among(leak.target, leak.source, least))
            for leak in matrix.strongest(count)
        )
        return [
            replace(leak, witness=one.witness, supported=one.value)
            for leak, one in found
        ]
    intervals = matrix.interval()
    names = matrix.domain.names
    group_of = {k: group for group in groups(matrix) for k in group}
    leaks = dict[tuple[tuple[int, ...], ...], Leak]()
    ranks = list[float]()
    for target, source in ranked_pairs(intervals.lower, intervals.values):
        limit = intervals.lower[target, source]
        # A rank is at most its lower confidence limit, so no later leak precedes these.
        if limit <= 0 or bisect_right(ranks, -limit) >= count:
            break
        ends = group_of[target], group_of[source]
        if ends[0] == ends[1] or ends in leaks:
            continue
        among = matrix.leak_among(target, source, least)
        leaks[ends] = replace(
            intervals[target, source],
            witness=among.witness,
            supported=among.value,
            delta=max(float(matrix.deltas[target, source]), among.delta),
            targets=tuple(names[k] for k in ends[0]),
            sources=tuple(names[k] for k in ends[1]),
        )
        insort(ranks, -leaks[ends].rank)
    return sorted(leaks.values(), key=lambda leak: -leak.rank)[:count]


def target_and_source(domain: Domain, pair: Any, name: str) -> tuple[int, int]:
    """Return the indices of the two attributes of `name[target, source]`."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise DomainError(
            f"a leakage has a target and a source: give {name}[target, source], "
            f"got {checks.shown(pair)}"
        )
    return domain.index(pair[0]), domain.index(pair[1])


def ranked_pairs(values: Floats, ties: Floats) -> Iterator[tuple[int, int]]:
    """Return all (target, source) by descending value, and by descending `ties` where
    equal.
    """
    off = np.flatnonzero(~np.eye(len(values), dtype=np.bool_))
    order = off[np.lexsort((-ties.flat[off], -values.flat[off]))]
    return zip(
        *(index.tolist() for index in np.divmod(order, len(values))), strict=True
    )


def same_attributes(matrix: "LeakageMatrix") -> list[tuple[str, ...]]:
    """Return the names of each group of at least two equivalent attributes."""
    names = matrix.domain.names
    return [
        tuple(names[k] for k in group) for group in groups(matrix) if len(group) > 1
    ]


def skip_patterns(pairs: "PairCounts") -> list[str]:
    """Return a sentence for each attribute that is missing exactly where another has
    some values.

    Its report tells these values, whatever else it says; a ranking of leaks leaves
    witnesses that are missing values out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import seepage as sp
    >>> people = pa.table(
    ...     {"smoker": ["no", "yes", "yes", "no"], "packs": [None, "1", "2", None]}
    ... )
    >>> skip_patterns(sp.count_pairs(people))
    ['packs -> smoker: a skip pattern, packs is missing exactly where smoker is no']
    """
    found = list[str]()
    for source in pairs.domain:
        if (
            MISSING not in source.values
            or not pairs.marginal(source.name)[source.code(MISSING)]
        ):
            continue
        for target in pairs.domain:
            if target.name == source.name:
                continue
            counts = pairs.table(target.name, source.name)[:, source.code(MISSING)]
            people = pairs.marginal(target.name)
            told = [v for v, n in zip(target.values, counts, strict=True) if n]
            whole = bool(((counts == 0) | (counts == people)).all())
            if whole and (counts < people).any() and told != [MISSING]:
                found.append(
                    f"{source.name} -> {target.name}: a skip pattern, {source.name} is missing "
                    f"exactly where {target.name} is {short_list(told)}"
                )
    return found
