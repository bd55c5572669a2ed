"""`compare_tables`: how far one table is from another, and what its leakages miss."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import InputError
from seepage._core.files import write_text
from seepage._core.odds import measured_odds, odds_above
from seepage._core.results import Result, json_ready
from seepage._core.text import delta_text
from seepage.analysis.analysis_options import checked_limits
from seepage.analysis.matched_tables import MatchedTables, matched_tables
from seepage.channel.domain import Domain
from seepage.confidence.leakage_intervals import LeakageIntervals
from seepage.confidence.row_distances import distance_limits
from seepage.leakage.matrix import LeakageMatrix, matrix_of
from seepage.leakage.release_options import ReleaseOptions
from seepage.leakage.strongest_leaks import witness_records
from seepage.leakage.uncertainty import MeasuredRows, row_distances
from seepage.tables.table_options import TableKeywords, check_keywords
from seepage.totals.composition import independent_totals

LEVELS = 128
"""Budgets of `limits` are the largest of this many equal steps up to the limit."""


CONSTRAINTS: dict[str, checks.Check] = {
    "confidence": checks.inner_probability,
    "keep": checks.texts,
}
"""What some options of `compare_tables` must be; limits are checked by attribute."""


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(ReleaseOptions):
    """Options of `compare_tables`, which describes them."""

    limit: Any = None
    confidence: float = 0.95
    keep: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check the options of comparing two tables."""
        super().__post_init__()
        checks.constrain(self, CONSTRAINTS)
        if self.domain is not None:
            raise InputError(
                "two tables are compared in the domain of both", parameter="domain"
            )


@dataclass(frozen=True)
class ShiftedTotal:
    """The totals of one attribute in both tables, under the guarantee `independent`.

    Parameters
    ----------
    attribute
        Its name.
    first, second
        The totals in nats.
    delta
        The larger delta of both.
    """

    attribute: str
    first: float
    second: float
    delta: float


@dataclass(frozen=True)
class TransferredLimit:
    """A limit that the first table's budgets keep there, on the second table.

    Parameters
    ----------
    attribute
        The attribute whose total is limited; None for all at once.
    limit
        The limit in nats.
    epsilon
        The largest equal budget whose `independent` total is within the limit in the
        first table; 0 if none is.
    total
        The total at this budget in the second table, the largest one for all at once.
    """

    attribute: str | None
    limit: float
    epsilon: float
    total: float

    @property
    def holds(self) -> bool:
        """Whether a limit on the first of two compared tables holds in the second one
        too.
        """
        return self.total <= self.limit


@dataclass(frozen=True, eq=False, repr=False)
class TableComparison(Result):
    """How far a second table is from a first one, and which leakages this understates.

    Made by `compare_tables`.  As a table in long form, one row for each ordered pair,
    the most understated first: `target`, `source`; the total variation `distance` of
    the rows P(source given target), the largest over target values with
    `support` records in both, with limits `distance_lower` and `distance_upper`; the
    `mean_distance` over the people of the second table; the leakages `first` and
    `second` in nats with their `delta`; and whether it is `established` that the second
    population leaks more.  It is an `uncertainty` of other functions: the distance of
    each row.

    Parameters
    ----------
    tables
        The pair counts of both tables in one domain.
    first, second
        The leakages of both.
    limits
        The limits of the first table on the second one, where limits were set.
    confidence
        All intervals hold at once with this confidence, if both tables are random
        samples, one record per person.
    """

    tables: MatchedTables
    first: LeakageMatrix
    second: LeakageMatrix
    limits: tuple[TransferredLimit, ...]
    confidence: float

    @property
    def domain(self) -> Domain:
        """The common attributes of two compared tables, with the values of both."""
        return self.first.domain

    @property
    def measured(self) -> MeasuredRows:
        """The distance of each row of two compared tables, as the `uncertainty` of
        other functions.
        """
        return MeasuredRows(self.tables.first, self.tables.second, self.tables.names)

    @cached_property
    def support(self) -> int:
        """Least number of records of a target value in both compared tables for
        `distance`.
        """
        least = [
            witness_records(table) for table in (self.tables.first, self.tables.second)
        ]
        return max(1, min(least))

    # Distances ------------------------------------------------------------------------

    @cached_property
    def _radius_c(self) -> float:
        """Logarithm of 1 / (error probability) of each row's distance in two compared
        tables.
        """
        count = len(self.domain)
        rows = count + sum(size * (count - 1) for size in self.domain.sizes)
        return math.log(2 * rows) - math.log((1 - self.confidence) / 2)

    @cached_property
    def attributes(self) -> dict[str, tuple[float, float, float]]:
        """Total variation distance of each attribute's distribution in two compared
        tables, with its limits.
        """
        distances = dict[str, tuple[float, float, float]]()
        for index, name in enumerate(self.domain.names):
            first = self.tables.first.marginals[index][None]
            second = self.tables.second.marginals[index][None]
            distance = row_distances(first, second)
            lower, upper = distance_limits(first, second, distance, self._radius_c)
            distances[name] = (float(distance[0]), float(lower[0]), float(upper[0]))
        return distances

    @cached_property
    def distances(self) -> Floats:
        """Distance of two compared tables, its limits, and the mean over people, by
        pair: shape (4, n, n).
        """
        count = len(self.domain)
        distances = np.zeros((4, count, count))
        for target in range(count):
            for source in range(count):
                if target != source:
                    distances[:, target, source] = self._distance(target, source)
        return distances

    def _distance(self, target: int, source: int) -> tuple[float, float, float, float]:
        """Return the distance of one pair in two compared tables, its limits, and the
        mean over people.
        """
        first = self.tables.first.table(target, source)
        second = self.tables.second.table(target, source)
        by_row = row_distances(first, second)
        people = second.sum(axis=1)
        mean = float(by_row @ people / people.sum())
        frequent = np.minimum(first.sum(axis=1), people) >= self.support
        if not frequent.any():
            return math.nan, 0.0, 1.0, mean
        rows = by_row[frequent]
        lower, upper = distance_limits(
            first[frequent], second[frequent], rows, self._radius_c
        )
        return float(rows.max()), float(lower.max()), float(upper.max()), mean

    # Leakages -------------------------------------------------------------------------

    @cached_property
    def intervals(self) -> tuple[LeakageIntervals, LeakageIntervals] | None:
        """Confidence limits of the leakages of both compared populations; None where
        values were pooled by the same counts.
        """
        if self.tables.first.pooled or self.tables.second.pooled:
            return None
        level = 1 - (1 - self.confidence) / 4  # half of the error is of distances
        return self.first.interval(level), self.second.interval(level)

    @property
    def excess(self) -> Floats:
        """The leakage of the second compared table less that of the first, by pair."""
        with np.errstate(invalid="ignore"):
            excess = self.second.values - self.first.values
        return np.where(np.isnan(excess), 0.0, excess)

    @cached_property
    def established(self) -> Booleans:
        """Whether the second compared population leaks more than the first, by pair:
        its lower confidence limit is above the other's upper one.
        """
        if self.intervals is None:
            return np.zeros_like(self.excess, dtype=np.bool_)
        first, second = self.intervals
        return np.asarray(second.lower > first.upper)

    @property
    def understated(self) -> int:
        """The number of ordered pairs that leak more in the second compared table."""
        return int((self.excess > 0).sum())

    @cached_property
    def totals(self) -> tuple[ShiftedTotal, ...]:
        """The `independent` total of each attribute in both compared tables, the one
        that grows most first.
        """
        first, first_deltas = independent_totals(self.first)
        second, second_deltas = independent_totals(self.second)
        growth = np.nan_to_num(second - first)
        deltas = np.maximum(first_deltas, second_deltas)
        return tuple(
            ShiftedTotal(
                self.domain.names[k],
                float(first[k]),
                float(second[k]),
                float(deltas[k]),
            )
            for k in np.argsort(-growth, kind="stable").tolist()
        )

    @property
    def broken(self) -> tuple[TransferredLimit, ...]:
        """The limits that the budgets of the first compared table do not keep on the
        second one.
        """
        return tuple(limit for limit in self.limits if not limit.holds)

    @property
    def verdict(self) -> str:
        """What the first of two compared tables misses, in a sentence."""
        first, second = self.tables.names
        count = len(self.domain) * (len(self.domain) - 1)
        sentence = f"No pair leaks more on {second} than on {first}"
        if self.understated:
            largest = measured_odds(float(self.excess.max()))
            sentence = (
                f"{self.understated:,} of {count:,} ordered pairs leak more on "
                f"{second} than {first} says, with odds that change up to {largest} "
                f"times as much; established for {int(self.established.sum()):,}"
            )
        if self.limits:
            sentence += (
                f"; of {len(self.limits)} limits that budgets from {first} keep there, "
                f"{len(self.broken)} are exceeded on {second}"
            )
        new = self.tables.new_values
        if new:
            sentence += f"; {len(new)} attributes have values that {first} does not"
        return sentence + "."

    # As a result ----------------------------------------------------------------------

    def _order(self) -> list[tuple[int, int]]:
        """Return the ordered pairs of two compared tables, the most understated
        first.
        """
        count = len(self.domain)
        order = np.argsort(-self.excess, axis=None, kind="stable").tolist()
        pairs = [divmod(place, count) for place in order]
        return [(target, source) for target, source in pairs if target != source]

    UPPER_NATS = ("first", "second")

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a comparison of two tables in long form."""
        order = self._order()
        names = self.domain.names
        targets = np.array([target for target, _ in order], dtype=np.int64)
        sources = np.array([source for _, source in order], dtype=np.int64)
        distance, lower, upper, mean = self.distances[:, targets, sources].tolist()
        deltas = np.maximum(self.first.deltas, self.second.deltas)
        return {
            "target": [names[target] for target in targets],
            "source": [names[source] for source in sources],
            "first": self.first.values[targets, sources].tolist(),
            "second": self.second.values[targets, sources].tolist(),
            "delta": deltas[targets, sources].tolist(),
            "established": self.established[targets, sources].tolist(),
            "distance": [None if math.isnan(d) else d for d in distance],
            "distance_lower": lower,
            "distance_upper": upper,
            "mean_distance": mean,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison of two tables as plain JSON."""
        first, second = self.tables.names
        content = {
            "first": first,
            "second": second,
            "records": [self.tables.first.records, self.tables.second.records],
            "verdict": self.verdict,
            "confidence": self.confidence,
            "support": self.support,
            "attributes": {
                name: dict(zip(("distance", "lower", "upper"), limits, strict=True))
                for name, limits in self.attributes.items()
            },
            "pairs": self._columns(),
            "totals": [vars(total) for total in self.totals],
            "limits": [vars(limit) | {"holds": limit.holds} for limit in self.limits],
            "only": dict(zip((first, second), self.tables.alone, strict=True)),
            "new_values": self.tables.new_values,
        }
        return dict(json_ready(content))

    def chart(self) -> Any:
        """Return the leakages of both compared tables as an Altair chart: a point for
        each pair.
        """
        from seepage.charts.comparison_chart import comparison_chart

        columns = self._columns()
        names = ("target", "source", "first", "second", "established")
        rows = [
            dict(zip(names, cells, strict=True))
            for cells in zip(*(columns[name] for name in names), strict=True)
        ]
        return comparison_chart(rows, *self.tables.names)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison of two tables as one self-contained HTML page,
        atomically.
        """
        from seepage.pages.comparison_page import comparison_page

        write_text(checks.path(path), comparison_page(self))

    def _headline(self) -> str:
        """Return a comparison of two tables in one line."""
        first, second = self.tables.names
        count = len(self.domain)
        delta = max(
            float(self.first.deltas.max(initial=0.0)),
            float(self.second.deltas.max(initial=0.0)),
        )
        limits = ""
        if self.limits:
            limits = f", {len(self.broken)} of {len(self.limits)} limits broken"
        largest = max(0.0, float(self.excess.max(initial=0.0)))
        return (
            f"TableComparison({first!r} to {second!r}, {count} attributes: "
            f"{self.understated} of {count * (count - 1)} pairs understated, by up to "
            f"{odds_above(largest)}"
            f"{delta_text(delta)}{limits})"
        )


def compare_tables(
    a: Any,
    b: Any,
    epsilon: Any = 1.0,
    *,
    mechanism: Any = None,
    delta: Any = 0.0,
    limit: Any = None,
    confidence: float = 0.95,
    keep: Sequence[str] = (),
    **table: Unpack[TableKeywords],
) -> TableComparison:
    """Return how far table `b` is from table `a`, and which leakages of `b` are larger.

    Budgets are set on one table and hold for it; this is what they miss on another: of
    another year, another country, or the people who are really asked.

    Parameters
    ----------
    a, b
        Two tables, such as the assumed and the real one: each a frame, a path, the name
        of a dataset, `PairCounts` or `Records`.  Attributes are matched by name; a
        value that one table does not have has count 0 there; numbers are binned as in
        `a`.
    epsilon
        The privacy budget of every attribute, or one for each.
    mechanism
        A mechanism; by default the bound over all with this budget.
    delta
        Delta of (epsilon, delta)-LDP.
    limit
        The maximum total of every attribute, in nats, or one for each: whether the
        budgets that keep it in `a` keep it in `b`, for each attribute alone and for all
        at once.
    confidence
        The confidence of all intervals together.
    keep
        Columns of `a` to use although they look like no answers.
    **table
        How the data are read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Returns
    -------
    TableComparison
        Distances, leakages, totals and limits; also the `uncertainty` of
        `leakage_matrix` and `calibrate`.

    Notes
    -----
    Two leakage matrices, their confidence limits, and some thirty more of each with
    limits.

    Examples
    --------
    >>> import seepage as sp
    >>> names = ["employment", "coffee", "screen"]
    >>> here = sp.make_survey(4_000, rng=1).select(names)
    >>> there = sp.make_survey(4_000, rng=2).select(names)
    >>> comparison = sp.compare_tables(here, there, mechanism="grr", limit=2.0)
    >>> comparison.verdict  # doctest: +ELLIPSIS
    '... of 6 ordered pairs leak more on the second than the first table says, ...'
    >>> covering = sp.leakage_matrix(
    ...     sp.count_pairs(here), 1.0, mechanism="grr", uncertainty=comparison
    ... )
    >>> bool((covering.values >= comparison.second.values - 1e-12).all())
    True
    """
    check_keywords(table, compare_tables)
    options = ComparisonOptions(
        epsilon=epsilon,
        mechanism=mechanism,
        delta=delta,
        limit=limit,
        confidence=confidence,
        keep=keep,
        **table,
    )
    tables = matched_tables(a, b, options)
    if not (tables.first.records and tables.second.records):
        raise InputError("both tables must have records", parameter="b")
    first = matrix_of(tables.first, options)
    second = matrix_of(tables.second, options)
    return TableComparison(
        tables=tables,
        first=first,
        second=second,
        limits=_transferred(first, second, options),
        confidence=options.confidence,
    )


# Limits -------------------------------------------------------------------------------


def _transferred(
    first: LeakageMatrix, second: LeakageMatrix, options: ComparisonOptions
) -> tuple[TransferredLimit, ...]:
    """Return the limits of the first compared table on the second one, those most
    exceeded first; that of all at once before them.
    """
    limits = [
        math.inf if value is None else value
        for value in checked_limits(options.limit, first)
    ]
    if all(map(math.isinf, limits)):
        return ()
    most = max(value for value in limits if value < math.inf)
    totals = [_TotalsByBudget(matrix, options, most) for matrix in (first, second)]
    transferred = [
        _transferred_limit(totals, k, name, limits[k])
        for k, name in enumerate(first.domain.names)
        if limits[k] < math.inf
    ]
    transferred.sort(key=lambda row: row.limit - row.total)
    return (_transferred_limits(totals, limits), *transferred)


class _TotalsByBudget:
    """The `independent` totals of a table at equal budgets, each computed once."""

    def __init__(
        self, matrix: LeakageMatrix, options: ReleaseOptions, largest: float
    ) -> None:
        """Prepare the totals of one of two compared tables at a grid of budgets."""
        self._matrix = matrix
        self._options = options
        self._largest = largest
        self._known = dict[int, Floats]()

    def budget(self, level: int) -> float:
        """Return the budget of a level of the grid for compared tables, 0 to
        `LEVELS`.
        """
        return self._largest * level / LEVELS

    def totals_at(self, level: int) -> Floats:
        """Return the totals of all attributes of a compared table at the budget of a
        level.
        """
        if level not in self._known:
            released = ReleaseOptions(
                epsilon=self.budget(level),
                mechanism=self._options.mechanism,
                delta=self._options.delta,
            )
            matrix = matrix_of(self._matrix.pairs, released)
            self._known[level] = independent_totals(matrix)[0]
        return self._known[level]

    def largest_level(self, limits: Floats) -> int:
        """Return the largest level of budgets whose totals on a compared table are
        within limits, by bisection.
        """
        low = 0
        high = LEVELS + 1
        while high - low > 1:
            middle = (low + high) // 2
            if (self.totals_at(middle) <= limits).all():
                low = middle
            else:
                high = middle
        return low


def _transferred_limit(
    totals: Sequence[_TotalsByBudget], k: int, name: str, limit: float
) -> TransferredLimit:
    """Return the limit of one attribute alone, transferred from one compared table to
    the other.
    """
    first, second = totals
    limits = np.full(len(first.totals_at(1)), np.inf)
    limits[k] = limit
    level = first.largest_level(limits)
    total = float(second.totals_at(level)[k])
    return TransferredLimit(name, limit, first.budget(level), total)


def _transferred_limits(
    totals: Sequence[_TotalsByBudget], limits: Sequence[float]
) -> TransferredLimit:
    """Return the limits of all attributes at once, transferred between compared tables:
    that with the largest excess.
    """
    first, second = totals
    level = first.largest_level(np.array(limits))
    values = second.totals_at(level)
    k = int(np.argmax(values - np.array(limits)))
    return TransferredLimit(None, limits[k], first.budget(level), float(values[k]))
