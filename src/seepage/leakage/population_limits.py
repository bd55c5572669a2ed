"""`LeakageLimits`: what a table establishes about the leakages among the people it was drawn from.

A leakage of the table is that of its own shares.  Here every leakage has a lower and an upper
limit, and all of them together hold with a stated confidence for the people from whom the records
were drawn: independently, or at random without replacement, one record per person.

The error probability beta is shared out before looking, evenly over the ordered pairs and within a
pair over its statements: both sides, every target value, every likely set of the report
[theory-population: All statements at once].
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np

from seepage import _checks
from seepage._numerics import Floats, Integers
from seepage._results import Result, json_ready
from seepage.data.domain import Domain
from seepage.errors import DomainError, InputError
from seepage.leakage.deviations import Limits, kl_lower, kl_upper
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.set_limits import (
    best_rows,
    enumerable,
    line_limits,
    set_limits,
    statements,
)

if TYPE_CHECKING:
    from seepage.leakage.matrix import LeakageMatrix


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
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DomainError(
                f"a leakage has a target and a source: give limits[target, source], "
                f"got {_checks.shown(pair)}"
            )
        return self._leak(*(self.domain.index(name) for name in pair))

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
    level = _checks.probability(confidence, "confidence")
    if level in (0, 1):
        raise InputError(f"confidence must be above 0 and below 1, got {level:g}")
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


@dataclass
class _Report:
    """What the statements about one source rest on.

    `columns` are a mechanism's likelihoods, source values by reports, where it is not two-level.
    Without both, the bound over all sets limits the leakage from above only.
    """

    sets: LikelySets
    columns: Floats | None = None
    known: bool = True

    def statements(self, size: int) -> int:
        if self.columns is not None:
            return int(self.columns.shape[1])
        return statements(self.sets, size)

    def by_lines(self, size: int) -> bool:
        """Return whether its sets are too many to try each."""
        return self.columns is None and not enumerable(self.sets, size)


class _Search:
    def __init__(self, matrix: "LeakageMatrix", beta: float) -> None:
        self.matrix = matrix
        self.sizes = matrix.domain.sizes
        self.reports = [_report(matrix, source) for source in range(len(self.sizes))]
        many = sum(size > 1 for size in self.sizes)
        pairs = max(1, many * (many - 1))
        counts = [
            2 * report.statements(size)
            for report, size in zip(self.reports, self.sizes, strict=True)
        ]
        self.c = np.array(
            [
                [math.log(size * count * pairs) - math.log(beta) for count in counts]
                for size in self.sizes
            ]
        )
        self.lower = np.zeros((len(self.sizes), len(self.sizes)))
        self.upper = np.zeros_like(self.lower)

    def run(self) -> None:
        """Fill in the limits of all pairs, stack by stack."""
        for low, high, tables in self.matrix.pairs.tables_by_shape():
            if min(tables.shape[1:]) < 2:
                continue
            self._stack(low, high, tables)
            self._stack(high, low, tables.transpose(0, 2, 1))
        for source, report in enumerate(self.reports):
            if report.by_lines(self.sizes[source]):
                self._source(source, report)

    def _source(self, source: int, report: _Report) -> None:
        """Fill in the limits of all targets from a source with too many sets to try each."""
        targets = [k for k, size in enumerate(self.sizes) if size > 1 and k != source]
        tables = [self.matrix.pairs.table(target, source) for target in targets]
        found = line_limits(tables, report.sets, self.c[targets, source])
        self.lower[targets, source] = found.lower if report.known else 0.0
        self.upper[targets, source] = found.upper

    def _stack(self, targets: Integers, sources: Integers, tables: Integers) -> None:
        for report, chosen in self._alike(sources):
            if report.by_lines(tables.shape[2]):
                continue
            rows, columns = targets[chosen], sources[chosen]
            c = self.c[rows, columns]
            if report.columns is not None:
                found = _column_limits(tables[chosen], report.columns, c)
            else:
                contrast = np.array([self.reports[s].sets.contrast for s in columns])
                found = set_limits(tables[chosen], report.sets, c, contrast)
            self.lower[rows, columns] = found.lower if report.known else 0.0
            self.upper[rows, columns] = found.upper

    def _alike(self, sources: Integers) -> Iterator[tuple[_Report, Integers]]:
        """Yield groups of sources whose reports have likely sets of one kind and size."""
        kinds = [
            (r.sets.kind, r.sets.size, r.known, None if r.columns is None else int(s))
            for s, r in ((s, self.reports[s]) for s in sources)
        ]
        for kind in dict.fromkeys(kinds):
            chosen = np.flatnonzero([kind == other for other in kinds])
            yield self.reports[sources[chosen[0]]], chosen

    def too_few(self) -> Iterator[TooFew]:
        """Yield for each target the values with too few records, and how many would do.

        With n records a source value that was never seen with a target value may have any share up
        to about c/n.  Fewer than c / ln(1 + e^(-eps/2)) leave it a share that makes a report
        e^(eps/2) times likelier: half of the budget, whatever the table shows.
        """
        contrast = np.array([report.sets.contrast for report in self.reports])
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


def _report(matrix: "LeakageMatrix", source: int) -> _Report:
    release = matrix.releases[source]
    sets = release.sets(matrix.view)
    if sets is not None:
        return _Report(sets)
    mechanism = release.mechanism
    assert mechanism is not None
    whole = LikelySets("all", mechanism.epsilon)
    try:
        inferred = matrix.view == "inferred"
        columns = mechanism.inferred_channel() if inferred else mechanism.channel()
    except InputError:
        return _Report(whole, known=False)
    return _Report(whole, columns[:, columns.max(axis=0) > 0])


def _column_limits(tables: Integers, columns: Floats, c: Floats) -> Limits:
    """Return limits of the leakage through a transition matrix, by the kl limits of each report.

    A report's likelihood under x is a mean over the people with x, between the least and the
    largest entry of its column.
    """
    totals = tables.sum(axis=2)[:, :, None]
    most, least = columns.max(axis=0), columns.min(axis=0)
    width = most - least
    scaled = np.divide(columns - least, width, out=np.zeros_like(columns), where=width > 0)
    share = np.divide(
        tables @ scaled, totals, out=np.zeros((*tables.shape[:2], len(most))), where=totals > 0
    )
    share = np.clip(share, 0.0, 1.0)
    radius = c[:, None, None] / np.maximum(totals, 1)
    high = np.where(totals > 0, kl_upper(share, radius), 1.0)
    low = np.where(totals > 0, kl_lower(share, radius), 0.0)
    with np.errstate(divide="ignore"):
        contrast = np.log(most) - np.log(least)
    lower, upper = (
        best_rows(*limits, contrast).ratio.max(axis=-1) for limits in ((low, high), (high, low))
    )
    cap = float(contrast.max())
    return Limits(np.clip(lower - 1e-9, 0.0, cap), np.clip(upper + 1e-9, 0.0, cap))
