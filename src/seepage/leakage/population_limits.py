"""`LeakageLimits`: what a table establishes about the leakages among the people it was drawn from.

A leakage of the table is that of its own shares.  Here every leakage has a lower and an upper
limit, and all of them together hold with a stated confidence for the people from whom the records
were drawn: independently, or at random without replacement, one record per person.

The error probability beta is shared out before looking, evenly over the ordered pairs and within a
pair over its statements: both sides, every target value, every likely set of the report
[theory-population: All statements at once].

Rare values make limits wide and leakages large; `pooling_gain` says what merging them would gain.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._registry import MECHANISMS
from seepage._results import Result, json_ready
from seepage.data.domain import Domain, target_and_source
from seepage.data.recoding import pool_rare, rare_values
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.release import PUBLIC, View, by_kind, releases
from seepage.leakage.set_limits import (
    column_limits,
    enumerable,
    line_limits,
    set_limits,
    statements,
)

if TYPE_CHECKING:
    from seepage.leakage.matrix import LeakageMatrix
    from seepage.mechanisms.base import Mechanism


class LimitedLeak(NamedTuple):
    """One leakage with its limits, in nats."""

    target: str
    source: str
    lower: float
    leakage: float
    upper: float


@dataclass(frozen=True)
class TooFew:
    """Values of a target that too few records support to say what leaks about them.

    Parameters
    ----------
    attribute
        The target.
    values, counts
        The values and how often each was seen.
    needed
        How many records would do for each.
    """

    attribute: str
    values: tuple[str, ...]
    counts: tuple[int, ...]
    needed: int

    def sentence(self) -> str:
        """Return it in words.

        Examples
        --------
        >>> TooFew("country", ("Holland", "Laos"), (1, 3), 25).sentence()
        'country: too few records to say about Holland (1), Laos (3); 25 each would do'
        """
        named = [f"{v} ({n:,})" for v, n in zip(self.values, self.counts, strict=True)]
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        return (
            f"{self.attribute}: too few records to say about {', '.join(named[:3])}{more}; "
            f"{self.needed:,} each would do"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LeakageLimits(Result):
    """Lower and upper limits of every leakage of a matrix, for the people behind the table.

    All of them hold at once with the stated confidence.  In long form one row per ordered pair:
    `target`, `source`, `lower`, `leakage`, `upper`, the source's `epsilon` and `mechanism`, `view`.

    Parameters
    ----------
    matrix
        The leakages of the table.
    confidence
        Of all limits together.
    lower, upper
        In nats, rows targets and columns sources; the diagonal is 0.
    too_few
        For each target with such values, those that too few records support.

    Examples
    --------
    >>> import seepage as sp
    >>> found = sp.leakage_matrix("adult", 1.0, mechanism="grr").interval()
    >>> found
    LeakageLimits(15 x 15, 48,842 records, confidence 0.95, rows targets, columns sources)
    >>> leak = found["sex", "relationship"]
    >>> round(leak.lower, 2), round(leak.leakage, 2), round(leak.upper, 2)
    (0.7, 0.71, 0.72)
    """

    matrix: "LeakageMatrix"
    confidence: float
    lower: Floats
    upper: Floats
    too_few: tuple[TooFew, ...]

    @property
    def domain(self) -> Domain:
        """The attributes, in the order of rows and columns."""
        return self.matrix.domain

    @cached_property
    def values(self) -> Floats:
        """The leakages of the table itself, without smoothing."""
        return _table(self.matrix).values

    def __getitem__(self, pair: tuple[str | SupportsIndex, str | SupportsIndex]) -> LimitedLeak:
        return self._leak(*target_and_source(self.domain, pair, "limits"))

    def strongest(self, count: int = 10) -> list[LimitedLeak]:
        """Return the leaks of the largest lower limits, largest first: what is established."""
        _checks.integer(count, "count", 0)
        off = np.flatnonzero(~np.eye(len(self.domain), dtype=np.bool_))
        order = off[np.lexsort((-self.values.flat[off], -self.lower.flat[off]))]
        return [self._leak(*divmod(int(at), len(self.domain))) for at in order[:count]]

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as JSON holds them; rows are targets, columns sources."""
        found: dict[str, Any] = json_ready(
            {
                "confidence": self.confidence,
                "lower": self.lower,
                "upper": self.upper,
                "too_few": [vars(few) for few in self.too_few],
            }
        )
        return found

    def _leak(self, target: int, source: int) -> LimitedLeak:
        parts = (part[target, source] for part in (self.lower, self.values, self.upper))
        names = self.domain.names
        return LimitedLeak(names[target], names[source], *map(float, parts))

    def _headline(self) -> str:
        shape = f"{len(self.domain)} x {len(self.domain)}, {self.matrix.pairs.records:,} records"
        return (
            f"LeakageLimits({shape}, confidence {self.confidence:g}, rows targets, columns sources)"
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        off = ~np.eye(len(self.domain), dtype=np.bool_)
        columns = dict(self.matrix._columns())
        limits = {
            "lower": self.lower[off].tolist(),
            "leakage": self.values[off].tolist(),
            "upper": self.upper[off].tolist(),
        }
        names = {name: columns.pop(name) for name in ("target", "source")}
        return {**names, **limits, **{n: v for n, v in columns.items() if n not in limits}}


def population_limits(matrix: "LeakageMatrix", confidence: float) -> LeakageLimits:
    """Return the limits of a matrix, see `LeakageMatrix.interval`."""
    level = _checks.inner_probability(confidence, "confidence")
    if matrix.radius:
        raise InputError("radius must be 0 for limits, which are of the table's own leakages")
    search = _Search(matrix, 1.0 - level)
    search.run()
    for part in (search.lower, search.upper):
        part.flags.writeable = False
    return LeakageLimits(matrix, level, search.lower, search.upper, tuple(search.too_few()))


def _table(matrix: "LeakageMatrix") -> "LeakageMatrix":
    """Return the matrix without smoothing: limits are about people, not about pseudo-counts."""
    if not any(matrix.smoothing.values()):
        return matrix
    smoothing = dict.fromkeys(matrix.smoothing, 0.0)
    return type(matrix)(matrix.pairs, matrix.releases, matrix.view, smoothing)


class _Search:
    """The limits of all pairs, filled in stack by stack and source by source.

    `columns` holds the likelihoods of the reports of each source, source values by reports, where
    they are known and not two-level.  Where neither these nor likely sets are known, the bound over
    all sets limits the leakage from above only.
    """

    def __init__(self, matrix: "LeakageMatrix", beta: float) -> None:
        self.matrix, self.sizes = matrix, matrix.domain.sizes
        self.sets: list[LikelySets] = []
        self.columns: dict[int, Floats | None] = {}
        for source, release in enumerate(matrix.releases):
            sets = release.sets(matrix.view)
            if sets is None:
                assert release.mechanism is not None
                sets = LikelySets("all", release.mechanism.epsilon)
                self.columns[source] = _report_columns(release.mechanism, matrix.view)
            self.sets.append(sets)
        many = sum(size > 1 for size in self.sizes)
        pairs = max(1, many * (many - 1))
        counts = [2 * self._statements(source) for source in range(len(self.sizes))]
        self.c = np.array(
            [
                [math.log(size * count * pairs) - math.log(beta) for count in counts]
                for size in self.sizes
            ]
        )
        self.lower = np.zeros((len(self.sizes), len(self.sizes)))
        self.upper = np.zeros_like(self.lower)

    def _statements(self, source: int) -> int:
        columns = self.columns.get(source)
        if columns is not None:
            return int(columns.shape[1])
        return statements(self.sets[source], self.sizes[source])

    def run(self) -> None:
        """Fill in the limits of all pairs: of sources whose sets are tried in stacks of tables."""
        tried = [
            own if self.columns.get(source) is None and enumerable(own, size) else None
            for source, (own, size) in enumerate(zip(self.sets, self.sizes, strict=True))
        ]
        for low, high, tables in self.matrix.pairs.tables_by_shape():
            if min(tables.shape[1:]) < 2:
                continue
            both = (low, high, tables), (high, low, tables.transpose(0, 2, 1))
            for targets, sources, counts in both:
                for sets, chosen, contrast in by_kind(tried, sources):
                    indices = targets[chosen], sources[chosen]
                    found = set_limits(counts[chosen], sets, self.c[indices], contrast)
                    self.lower[indices], self.upper[indices] = found
        for source, size in enumerate(self.sizes):
            if size > 1 and tried[source] is None:
                self._one_source(source)
        for source, columns in self.columns.items():
            if columns is None:
                self.lower[:, source] = 0.0

    def _one_source(self, source: int) -> None:
        """Fill in the limits of all targets from a source whose sets are not tried each."""
        targets = [k for k, size in enumerate(self.sizes) if size > 1 and k != source]
        tables = [self.matrix.pairs.table(target, source) for target in targets]
        columns, c = self.columns.get(source), self.c[targets, source]
        if columns is None:
            found = line_limits(tables, self.sets[source], c)
        else:
            found = column_limits(tables, columns, c)
        self.lower[targets, source], self.upper[targets, source] = found

    def too_few(self) -> Iterator[TooFew]:
        """Yield for each target the values with too few records, and how many would do.

        With n records a source value that was never seen with a target value may have any share up
        to about c/n.  Fewer than c / ln(1 + e^(-eps/2)) leave it a share that makes a report
        e^(eps/2) times likelier: half of the budget, whatever the table shows.
        """
        contrast = np.array([sets.contrast for sets in self.sets])
        usable = np.isfinite(contrast) & (contrast > 0) & (np.array(self.sizes) > 1)
        for target, attribute in enumerate(self.matrix.domain):
            sources = np.flatnonzero(usable & (np.arange(len(self.sizes)) != target))
            if attribute.size < 2 or not len(sources):
                continue
            share = np.log1p(np.exp(-contrast[sources] / 2))
            needed = int(np.ceil((self.c[target, sources] / share).max()))
            counts = self.matrix.pairs.marginal(target)
            rare = np.flatnonzero(counts < needed)
            if len(rare):
                rare = rare[np.argsort(counts[rare], kind="stable")]
                values = tuple(str(attribute.values[x]) for x in rare)
                yield TooFew(attribute.name, values, tuple(counts[rare].tolist()), needed)


def _report_columns(mechanism: "Mechanism", view: View) -> Floats | None:
    """Return the likelihoods of the possible reports, source values by reports; None if unknown."""
    try:
        columns = mechanism.inferred_channel() if view == "inferred" else mechanism.channel()
    except InputError:
        return None
    return columns[:, columns.max(axis=0) > 0]


# Pooling ------------------------------------------------------------------------------------------

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


def pooling_gain(matrix: "LeakageMatrix", pool: int | None = None) -> PoolingGain | None:
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
    other = type(matrix)(pooled, again, matrix.view, matrix.smoothing, matrix.radius)
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
