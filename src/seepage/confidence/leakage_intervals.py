"""`LeakageIntervals`: simultaneous confidence limits of all leakages for the sampled
population.

The leakages of a table are those of its empirical distribution.  Here every leakage has
a lower and an upper confidence limit, which hold simultaneously for the population from
which the records were sampled: independently, or at random without replacement, one
record per person.

The error probability beta is split by a union bound that does not depend on the data:
evenly over the ordered pairs, and within a pair over its statements (both sides, every
target value, every likely set of the report) [theory-population: All statements at
once].
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import InputError
from seepage._core.results import Result, json_ready
from seepage._core.rounding import round_up
from seepage._core.text import short_list
from seepage._core.threads import one_blas_thread
from seepage.channel.domain import Domain
from seepage.confidence.pair_limits import (
    column_intervals,
    is_enumerable,
    line_intervals,
    set_intervals,
    statements_per_row,
)
from seepage.confidence.proportion_limits import binomial_confidence_limit
from seepage.leakage.likely_sets import LikelySets, by_kind
from seepage.leakage.pair_leak import Leak, ranked_pairs, target_and_source
from seepage.tables.read import check_domain_stands

if TYPE_CHECKING:
    from seepage.leakage.matrix import LeakageMatrix

MIN_SHARE = 1e-12
"""Minimum share of a value that is asked for; no table has records enough for smaller
ones."""


@dataclass(frozen=True)
class TooFew:
    """Target values with too few records for informative intervals.

    Parameters
    ----------
    attribute
        The target's name.
    values, counts
        The values and the number of records of each.
    needed
        The number of records per value that would suffice.
    """

    attribute: str
    values: tuple[str, ...]
    counts: tuple[int, ...]
    needed: int

    def sentence(self) -> str:
        """Return a sentence on the values with too few records for leakage intervals.

        Examples
        --------
        >>> TooFew("country", ("Holland", "Laos"), (1, 3), 25).sentence()
        'country: too few records to say about Holland (1), Laos (3); 25 each would do'
        """
        named = [f"{v} ({n:,})" for v, n in zip(self.values, self.counts, strict=True)]
        return (
            f"{self.attribute}: too few records to say about {short_list(named)}; "
            f"{self.needed:,} each would do"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LeakageIntervals(Result):
    """Lower and upper confidence limits of every leakage of a matrix, for the
    population.

    All intervals hold simultaneously with the stated confidence.  In long form one row
    per ordered pair: `target`, `source`, `lower`, `leakage` with its `delta` in the
    table, `upper`, the source's `epsilon` and `mechanism`, `view`.  For a source with a
    delta the limits are those of the leakage, which in the population holds with at
    most the source's delta.

    Parameters
    ----------
    matrix
        The leakages of the table.
    confidence
        The joint confidence level of all intervals.
    condition
        Whom the intervals speak of.
    lower, upper
        The confidence limits in nats, rows targets and columns sources; the diagonal is
        0.
    too_few
        The values with too few records, one entry per target that has such values.

    Examples
    --------
    >>> import seepage as sp
    >>> found = sp.leakage_matrix("adult", 1.0, mechanism="grr").interval()
    >>> found
    LeakageIntervals(15 x 15, 48,842 records, confidence 0.95, rows targets, columns
    sources)
    >>> leak = found["sex", "relationship"]
    >>> round(leak.lower, 2), round(leak.leakage, 2), round(leak.upper, 2)
    (0.7, 0.71, 0.72)
    """

    condition: ClassVar[str] = "of people with values of the table"

    matrix: "LeakageMatrix"
    confidence: float
    lower: Floats
    upper: Floats
    too_few: tuple[TooFew, ...]

    @property
    def domain(self) -> Domain:
        """The attributes of the leakage intervals, in the order of rows and columns."""
        return self.matrix.domain

    @cached_property
    def values(self) -> Floats:
        """The leakages of the table that the intervals are about, without smoothing."""
        return self.matrix.without_smoothing().values

    def __getitem__(
        self, pair: tuple[str | SupportsIndex, str | SupportsIndex]
    ) -> Leak:
        """Return the leakage of one pair with its confidence interval."""
        return self._leak(*target_and_source(self.domain, pair, "intervals"))

    def strongest(self, count: int = 10) -> list[Leak]:
        """Return the leaks with the largest lower confidence limits of their intervals,
        largest first.
        """
        checks.integer(count, "count", 0)
        pairs = ranked_pairs(self.lower, self.values)
        first = islice(pairs, min(count, self.values.size))
        return [self._leak(target, source) for target, source in first]

    def to_dict(self) -> dict[str, Any]:
        """Return the leakage intervals as JSON-ready values; rows are targets, columns
        sources.
        """
        limits = {
            name: getattr(self, name) for name in ("confidence", "lower", "upper")
        }
        return dict(
            json_ready({**limits, "too_few": [vars(few) for few in self.too_few]})
        )

    def _leak(self, target: int, source: int) -> Leak:
        """Return the leakage of one pair with its interval, by index."""
        lower = float(self.lower[target, source])
        upper = float(self.upper[target, source])
        return Leak(
            target=self.domain.names[target],
            source=self.domain.names[source],
            leakage=float(self.values[target, source]),
            interval=(lower, upper),
            delta=float(self.matrix.deltas[target, source]),
        )

    def _headline(self) -> str:
        """Return leakage intervals in one line."""
        size = len(self.domain)
        shape = f"{size} x {size}, {self.matrix.pairs.records:,} records"
        axes = "rows targets, columns sources"
        return f"LeakageIntervals({shape}, confidence {self.confidence:g}, {axes})"

    UPPER_NATS = ("leakage", "upper")
    LOWER_NATS = ("lower",)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of leakage intervals in long form."""
        off = ~np.eye(len(self.domain), dtype=np.bool_)
        columns = dict(self.matrix._columns())
        limits = {
            name: getattr(self, name)[off].tolist() for name in ("lower", "upper")
        }
        limits["leakage"] = self.values[off].tolist()
        front = ("target", "source", "lower", "leakage", "delta", "upper")
        return dict.fromkeys(front, ()) | columns | limits


def population_intervals(
    matrix: "LeakageMatrix", confidence: float
) -> LeakageIntervals:
    """Return the simultaneous intervals of all leakages of a matrix, see
    `LeakageMatrix.interval`.
    """
    check_domain_stands(matrix.pairs)
    limits = _PairIntervals(matrix, 1.0 - confidence)
    with one_blas_thread():
        limits.compute()
    for values in (limits.lower, limits.upper):
        values.flags.writeable = False
    return LeakageIntervals(
        matrix, confidence, limits.lower, limits.upper, tuple(limits.too_few())
    )


class _PairIntervals:
    """Confidence limits of all ordered pairs: `lower` and `upper`, rows targets,
    columns sources.

    `c` holds the exponent of each pair: each of its statements is wrong with
    probability at most e^-c.  `columns` holds, for sources whose report is not
    two-level, the transition matrix (source values by reports), or None where it is
    unknown; then the bound over all sets is an upper limit and the lower limit is 0.
    """

    def __init__(self, matrix: "LeakageMatrix", beta: float) -> None:
        """Share the error probability of leakage intervals among all statements about
        all pairs.
        """
        self.matrix = matrix
        self.sizes = matrix.domain.sizes
        self.sets: list[LikelySets] = []
        self.columns: dict[int, Floats | None] = {}
        for source, release in enumerate(matrix.releases):
            sets = release.sets(matrix.view)
            if sets is None:
                assert release.mechanism is not None
                sets = LikelySets("all", release.mechanism.epsilon)
                self.columns[source] = None
                with suppress(InputError):
                    columns = release.transition(matrix.view)
                    self.columns[source] = columns[:, columns.max(axis=0) > 0]
            elif release.delta and (sets.kind == "all" or sets.contrast == math.inf):
                sets = LikelySets("all", release.epsilon)
            self.sets.append(sets)
        varying = sum(size > 1 for size in self.sizes)
        pairs = max(1, varying * (varying - 1))
        # twice the values seen, see `_add_unseen`
        counts = [2 * (2 * self._statements(k) + 1) for k in range(len(self.sizes))]
        log_beta = math.log(beta)
        c = [
            [math.log(size * n * pairs) - log_beta for n in counts]
            for size in self.sizes
        ]
        self.c = np.array(c)
        self.lower = np.zeros((len(self.sizes), len(self.sizes)))
        self.upper = np.zeros_like(self.lower)

    def _statements(self, source: int) -> int:
        """Return the number of statements that the leakage intervals of a source need
        per row.
        """
        columns = self.columns.get(source)
        if columns is not None:
            return int(columns.shape[1])
        return statements_per_row(self.sets[source], self.sizes[source])

    def _ordered_tables(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield (targets, sources, counts) of the ordered pairs with leakage intervals,
        one stack per shape.
        """
        for low, high, tables in self.matrix.pairs.tables_by_shape():
            if min(tables.shape[1:]) > 1:
                yield low, high, tables
                yield high, low, tables.transpose(0, 2, 1)

    def compute(self) -> None:
        """Compute the leakage intervals, of sources with enumerable sets in stacks, of
        others singly.
        """
        enumerated = [self._enumerable_sets(k) for k in range(len(self.sizes))]
        self._compute_stacks(enumerated)
        for source, size in enumerate(self.sizes):
            if size > 1 and enumerated[source] is None:
                self._compute_source(source)
        for source, columns in self.columns.items():
            if columns is None:
                self.lower[:, source] = 0.0
        self._add_unseen()
        self._limit_by_budgets()

    def _compute_stacks(self, enumerated: Sequence[LikelySets | None]) -> None:
        """Compute the leakage intervals of the sources with enumerable likely sets."""
        for targets, sources, counts in self._ordered_tables():
            for group in by_kind(enumerated, sources):
                pairs = (targets[group.positions], sources[group.positions])
                limits = set_intervals(
                    counts[group.positions], group.sets, self.c[pairs], group.contrasts
                )
                self.lower[pairs], self.upper[pairs] = limits

    def _limit_by_budgets(self) -> None:
        """Limit the leakage intervals of a source with a delta by its budget, which the
        delta excepts.
        """
        for source, release in enumerate(self.matrix.releases):
            contrast = self.sets[source].contrast
            if release.delta and contrast > release.epsilon:
                # the leakage is at most bound(epsilon); log-ratios grow by at most the
                # contrast
                excess = round_up(contrast - release.epsilon, 8)
                lower = self.lower[:, source] - excess
                self.lower[:, source] = np.maximum(lower, 0.0)
                upper = self.upper[:, source]
                self.upper[:, source] = np.minimum(upper, release.epsilon)

    def _enumerable_sets(self, source: int) -> LikelySets | None:
        """Return the likely sets of a source if its leakage intervals can enumerate
        them.
        """
        sets = self.sets[source]
        if self.columns.get(source) is not None:
            return None
        if not is_enumerable(sets, self.sizes[source]):
            return None
        return sets

    def _add_unseen(self) -> None:
        """Add to the leakage intervals what people with values outside the domain can
        make of them.

        The domain is the values seen.  Those who can answer have the frequencies G(z |
        x) / (1 - u_x), u_x the share of people with x whose value is outside.  That is
        at most the share of values not seen with any other x', which are independent of
        the records with x: a binomial limit.  Values so frequent that an upper limit
        may fail are themselves unseen with the same small probability, so that twice
        the values seen are enough for the union bound.
        """
        for targets, sources, counts in self._ordered_tables():
            alone = np.where(counts == counts.sum(axis=1, keepdims=True), counts, 0)
            c = self.c[targets, sources][:, None]
            unseen = binomial_confidence_limit(
                alone.sum(axis=2), counts.sum(axis=2), c, above=True
            )
            with np.errstate(divide="ignore"):
                more = -np.log1p(-np.minimum(unseen, 1.0)).max(axis=1)
            contrast = np.array([self.sets[source].contrast for source in sources])
            upper = self.upper[targets, sources]
            added = np.where(upper > 0, round_up(upper + more, 4), upper)
            self.upper[targets, sources] = np.minimum(
                added, np.maximum(upper, contrast)
            )

    def _compute_source(self, source: int) -> None:
        """Compute the leakage intervals of all targets for a source with too many sets
        to enumerate.
        """
        targets = [k for k, size in enumerate(self.sizes) if size > 1 and k != source]
        tables = [self.matrix.pairs.table(target, source) for target in targets]
        columns = self.columns.get(source)
        c = self.c[targets, source]
        if columns is None:
            limits = line_intervals(tables, self.sets[source], c)
        else:
            limits = column_intervals(tables, columns, c)
        self.lower[targets, source], self.upper[targets, source] = limits

    def too_few(self) -> Iterator[TooFew]:
        """Yield for each target the values with too few records for leakage intervals,
        and the number that suffices.

        A value without records, as domains that were given have them, is not one of
        them. With n records, a source value that was never observed with a target value
        may have a probability of up to about c/n.  With n below c / ln(1 + e^(-eps/2))
        that probability makes a report e^(eps/2) times likelier: the upper limit is at
        least eps/2 for every table.
        """
        contrast = np.array([sets.contrast for sets in self.sets])
        usable = np.isfinite(contrast) & (contrast > 0) & (np.array(self.sizes) > 1)
        for target, attribute in enumerate(self.matrix.domain):
            sources = np.flatnonzero(usable & (np.arange(len(self.sizes)) != target))
            if attribute.size < 2 or not len(sources):
                continue
            share = np.log1p(np.exp(-contrast[sources] / 2)).clip(min=MIN_SHARE)
            needed = int(np.ceil((self.c[target, sources] / share).max()))
            counts = self.matrix.pairs.marginal(target)
            rare = np.flatnonzero((counts > 0) & (counts < needed))
            if len(rare):
                rare = rare[np.argsort(counts[rare], kind="stable")]
                values = tuple(str(attribute.values[x]) for x in rare)
                yield TooFew(
                    attribute.name, values, tuple(counts[rare].tolist()), needed
                )
