"""The leakage of every attribute about every other, as one matrix."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice, permutations
from typing import Any, SupportsIndex, Unpack

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import DomainError, InputError
from seepage._core.odds import odds_cell
from seepage._core.results import SHOWN_ROWS, Result, html_table
from seepage._core.text import delta_text, how_many
from seepage.channel.channel import Channel
from seepage.channel.domain import MISSING, Domain, for_each
from seepage.channel.pairs import PairCounts, smoothed
from seepage.confidence.leakage_intervals import LeakageIntervals, population_intervals
from seepage.leakage.bound import pure_budget, relaxation
from seepage.leakage.exact_leakage import mixed_ratios_by_pair
from seepage.leakage.leakage import Leakage
from seepage.leakage.likely_sets import LikelySets, by_kind
from seepage.leakage.pair_leak import Leak, ranked_pairs, target_and_source
from seepage.leakage.release_options import MatrixOptions, ReleaseOptions
from seepage.leakage.uncertain_matrix import (
    uncertain_leakage_of,
    uncertain_leakages,
    uncertain_ratios_of,
)
from seepage.leakage.uncertainty import Uncertainty, uncertainty_of
from seepage.mechanisms.release import Release, View, releases
from seepage.tables.table_options import TableKeywords, check_keywords

RATIO_CELLS = 1 << 22
"""Cells of log-ratios by pair of target values that are in memory at a time: 32 MB."""


class LeakageMatrix(Result):
    """The leakage of every source about every target: rows targets, columns sources.

    The diagonal is 0: an attribute is no source about itself, and its own report's
    leakage is its epsilon.  `matrix[target, source]` gives one leakage with its
    witness.  In long form (`to_pandas`, `to_arrow`, `to_csv`): one row per ordered
    pair, with the `delta` of the leakage and the source's epsilon.  A mechanism with a
    delta has a pair (l, delta) in every cell.

    Parameters
    ----------
    pairs
        The counts it was computed from.
    releases
        How each attribute is released, in order.
    view
        `"report"`: the adversary uses the whole report; `"inferred"`: only the value
        inferred from it.
    smoothing
        `min_count`, `prior` and `truncate` of `PairCounts.channel`, all 0 by default.
    uncertainty
        The distances within which the rows of every channel lie; None for the table's
        own rows.  Each leakage is then the largest over all such rows.
    """

    def __init__(
        self,
        pairs: PairCounts,
        releases: Sequence[Release],
        view: View,
        smoothing: Mapping[str, float],
        uncertainty: Uncertainty | None = None,
    ) -> None:
        """Check the pair counts, the releases and the smoothing of a leakage matrix."""
        self.pairs = checks.instance(pairs, "pairs", PairCounts, "PairCounts")
        self.releases: tuple[Release, ...] = tuple(checks.items(releases, "releases"))
        self.view: View = view
        self.smoothing = dict(checks.mapping(smoothing, "smoothing"))
        self.uncertainty = uncertainty
        if uncertainty is not None and any(self.smoothing.values()):
            raise InputError(
                "uncertainty speaks of the table's own rows, which smoothing changes: "
                "use one of them",
                parameter="uncertainty",
            )
        self._intervals: dict[float, LeakageIntervals] = {}

    @property
    def domain(self) -> Domain:
        """The attributes of the leakage matrix, in the order of rows and columns."""
        return self.pairs.domain

    @cached_property
    def epsilons(self) -> Floats:
        """The budget of each attribute of the leakage matrix."""
        return np.array([release.epsilon for release in self.releases])

    @property
    def values(self) -> Floats:
        """The leakages of the matrix in nats, rows targets and columns sources; each
        holds with its delta.
        """
        return np.asarray(self._leakages[0])

    @property
    def deltas(self) -> Floats:
        """The certified delta of each leakage of the matrix; 0 where the source has
        delta 0.
        """
        return np.asarray(self._leakages[1])

    @cached_property
    def _leakages(self) -> Floats:
        """Leakages and deltas of the matrix, shape (2, n, n)."""
        if self.uncertainty is not None:
            return checks.read_only(uncertain_leakages(self), "leakages")
        leakages = np.zeros((2, len(self.domain), len(self.domain)))
        for targets, sources, channels in self.channel_stacks():
            for group in by_kind(self._sets, sources):
                rows = targets[group.positions]
                columns = sources[group.positions]
                leakages[0, rows, columns] = group.sets.largest(
                    channels[group.positions], group.contrasts
                )
        for target, source in permutations(range(len(self.domain)), 2):
            release = self.releases[source]
            if self._sets[source] is None or (release.delta and release.mechanism):
                leakage = self[target, source]
                leakages[0, target, source] = leakage.value
                leakages[1, target, source] = leakage.delta
            elif release.delta:
                leakages[1, target, source] = relaxation(
                    self.channel(target, source).matrix,
                    float(leakages[0, target, source]),
                    release.epsilon,
                    release.delta,
                )
        return checks.read_only(leakages, "leakages")

    @cached_property
    def direct(self) -> Floats:
        """The diagonal of the leakage matrix: `direct_leakage` of all attributes and
        their deltas, shape (2, n).
        """
        return np.array(
            [direct_leakage(release, self.view) for release in self.releases]
        ).T

    def ratios_by_pair(self) -> Iterator[tuple[Integers, Integers, Floats]]:
        """Yield (targets, sources, ratios) of a leakage matrix: the largest log-ratio
        by pair of target values.

        `ratios` has shape (p, m, m), no entry above the leakage of source about target.
        Not yielded: sources named with a delta, sources that are neither two-level nor
        have a transition matrix, and targets with more than `RATIO_CELLS` pairs of
        values.
        """
        if self.uncertainty is not None:
            yield from uncertain_ratios_of(self)
            return
        unnamed = np.array([release.mechanism is None for release in self.releases])
        for targets, sources, channels in self.channel_stacks():
            step = RATIO_CELLS // channels.shape[1] ** 2
            if not step:
                continue
            yield from self._ratios_of_matrices(targets, sources, channels)
            for group in by_kind(self._sets, sources):
                rows = targets[group.positions]
                columns = sources[group.positions]
                pure = unnamed[columns] | (self.deltas[rows, columns] == 0)
                positions = group.positions[pure]
                contrasts = group.contrasts[pure]
                for start in range(0, len(positions), step):
                    block = positions[start : start + step]
                    ratios = group.sets.best_by_pair(
                        channels[block], contrasts[start : start + step]
                    )
                    rows = targets[block]
                    columns = sources[block]
                    leakages = self.values[rows, columns][:, None, None]
                    yield rows, columns, np.minimum(ratios, leakages)

    def _ratios_of_matrices(
        self, targets: Integers, sources: Integers, channels: Floats
    ) -> Iterator[tuple[Integers, Integers, Floats]]:
        """Yield `ratios_by_pair` of the leakage matrix for sources of a stack that are
        not two-level but have a transition matrix, one pair at a time.
        """
        for index, source in enumerate(sources.tolist()):
            transition = self._transitions.get(source)
            if transition is None:
                continue
            pair = slice(index, index + 1)
            ratios = mixed_ratios_by_pair(channels[index], transition)
            leakage = self.values[targets[index], source]
            yield targets[pair], sources[pair], np.minimum(ratios, leakage)[None]

    @cached_property
    def _transitions(self) -> dict[int, Floats]:
        """The transition matrix of each source of the leakage matrix that is not
        two-level and has delta 0, where it is known.
        """
        transitions = {}
        for source, release in enumerate(self.releases):
            if self._sets[source] is None and not release.delta:
                with suppress(InputError):  # too many reports
                    transitions[source] = release.transition(self.view)
        return transitions

    def own_ratios(self, target: str | SupportsIndex) -> Floats:
        """Return the largest log-ratio of an attribute's own report, on the matrix's
        diagonal, by pair of its values; shape (m, m), no entry above its direct
        leakage.
        """
        row = self.domain.index(target)
        size = self.domain[row].size
        ratios = np.full((size, size), self.direct[0, row])
        if row in self._transitions:
            own = mixed_ratios_by_pair(np.eye(size), self._transitions[row])
            ratios = np.minimum(own, ratios)
        np.fill_diagonal(ratios, 0.0)
        return ratios

    def leak_among(
        self, target: str | SupportsIndex, source: str | SupportsIndex, least: int
    ) -> Leakage:
        """Return a leakage of the matrix restricted to target values with at least
        `least` records.

        Missing values of the target are excluded, and so are values that never occur.
        """
        self._check_own_rows()
        row = self.domain.index(target)
        column = self.domain.index(source)
        marginal = self.pairs.marginals[row]
        labels = self.domain[row].values
        frequent = (marginal > 0) & (marginal >= checks.integer(least, "least", 0))
        values = [labels[code] for code in np.flatnonzero(frequent)]
        if MISSING in values:
            values.remove(MISSING)
        if row == column or len(values) < 2:
            return Leakage(0.0, None)
        channel = self.channel(row, column)
        indices = [channel.given.code(value) for value in values]
        part = Channel(
            channel.matrix[indices], channel.given.restrict(indices), channel.output
        )
        return self.releases[column].leakage(part, self.view)

    def within(self, uncertainty: Uncertainty) -> "LeakageMatrix":
        """Return the leakage matrix of the same releases over all rows within distances
        of the table's.
        """
        return LeakageMatrix(
            self.pairs, self.releases, self.view, self.smoothing, uncertainty
        )

    def without_smoothing(self) -> "LeakageMatrix":
        """Return the leakage matrix of the same counts, releases and view without
        smoothing.
        """
        if self.uncertainty is not None or not any(self.smoothing.values()):
            return self
        smoothing = dict.fromkeys(self.smoothing, 0.0)
        return LeakageMatrix(self.pairs, self.releases, self.view, smoothing)

    def _check_own_rows(self) -> None:
        """Raise for a leakage matrix with uncertainty, for what speaks of the table's
        own rows only.
        """
        if self.uncertainty is not None:
            raise InputError(
                "confidence limits are of the table's own leakages, and with "
                "uncertainty there are none: the distance may be that of sampling "
                "already",
                parameter="uncertainty",
            )

    @property
    def tcpl(self) -> float:
        """The sum of the matrix over all ordered pairs: total correlation-induced
        leakage [paper, II-D]; it holds with `tcpl_delta`.
        """
        return float(self.values.sum())

    @property
    def tcpl_delta(self) -> float:
        """The sum of the deltas of all leakages of the matrix."""
        return float(self.deltas.sum())

    def channel(
        self, target: str | SupportsIndex, source: str | SupportsIndex
    ) -> Channel:
        """Return the correlation channel of one pair of the leakage matrix, with its
        smoothing.
        """
        return self.pairs.channel(target, source, **self.smoothing)

    def __getitem__(
        self, pair: tuple[str | SupportsIndex, str | SupportsIndex]
    ) -> Leakage:
        """Return the leakage of one pair of the matrix with its witness."""
        target, source = target_and_source(self.domain, pair, "matrix")
        if target == source:
            raise DomainError(
                f"{self.domain.names[target]!r} is no source about itself; "
                "its own report leaks its epsilon"
            )
        if self.uncertainty is not None:
            return uncertain_leakage_of(self, target, source)
        return self.releases[source].leakage(self.channel(target, source), self.view)

    def strongest(self, count: int = 10) -> list[Leak]:
        """Return the largest leakages of the matrix, largest first, each with its
        target and source by name.
        """
        checks.integer(count, "count", 0)
        names = self.domain.names
        pairs = ranked_pairs(self.values, self.values)
        return [
            Leak(
                target=names[target],
                source=names[source],
                leakage=float(self.values[target, source]),
                delta=float(self.deltas[target, source]),
            )
            for target, source in islice(pairs, min(count, self.values.size))
        ]

    def interval(self, confidence: float = 0.95) -> "LeakageIntervals":
        """Return confidence limits of every leakage of the matrix for the population.

        All intervals of all pairs hold simultaneously with this confidence, if the
        records are a random sample of the population, one record per person
        [theory-population].  They use the counts without smoothing.  The upper end for
        a public attribute may be infinite.

        They speak of people whose values are among those of the table: upper limits
        include what others would change, lower ones take the values as declared.
        Values that were pooled by the same counts raise an InputError.

        Parameters
        ----------
        confidence
            The joint confidence level of all intervals, above 0 and below 1.

        Notes
        -----
        Clopper-Pearson limits for every likely set of up to 12 source values; for all
        sets of larger alphabets kl limits, bounded over all sets together.  O(m t)
        binomial tails for each pair with GRR; else O(m 2^t) for enumerated sets and
        O(m^2 t) per iteration for the others.

        Examples
        --------
        >>> import seepage as sp
        >>> matrix = sp.leakage_matrix("adult", 1.0, mechanism="grr")
        >>> matrix.interval().strongest(1)[0].target
        'education'
        """
        level = checks.inner_probability(confidence, "confidence")
        self._check_own_rows()
        if level not in self._intervals:
            self._intervals[level] = population_intervals(self, level)
        return self._intervals[level]

    @property
    def _delta_text(self) -> str:
        """The largest delta of a mechanism of the leakage matrix in words; "" if all
        are 0.
        """
        return delta_text(max(release.delta for release in self.releases))

    def _repr_html_(self) -> str:
        """Return the leakage matrix as an HTML table."""
        names = self.domain.names[:SHOWN_ROWS]
        odds = [[odds_cell(value) for value in row] for row in self.values.T.tolist()]
        cells = zip(names, odds, strict=False)
        heading = f"{self._headline()}: how many times a report changes the odds"
        hidden = len(self.domain) - len(names)
        if hidden:
            heading += f"; {hidden:,} more sources"
        return html_table({"": self.domain.names, **dict(cells)}, heading)

    def _headline(self) -> str:
        """Return a leakage matrix in one line."""
        shape = f"{len(self.domain)} x {len(self.domain)}"
        if self.pairs.population is not None:
            shape += f" from a {how_many(self.pairs)}"
        if self._delta_text:
            shape += f"{self._delta_text} of the mechanisms"
        if self.uncertainty is not None:
            shape += f", {self.uncertainty.words}"
        axes = "rows targets, columns sources"
        return f"LeakageMatrix({shape}, view={self.view!r}, {axes})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a leakage matrix in long form."""
        off_diagonal = ~np.eye(len(self.domain), dtype=np.bool_)
        targets, sources = np.nonzero(off_diagonal)
        names = self.domain.names
        epsilons = self.epsilons.tolist()
        return {
            "target": [names[target] for target in targets],
            "source": [names[source] for source in sources],
            "leakage": self.values[off_diagonal].tolist(),
            "delta": self.deltas[off_diagonal].tolist(),
            "epsilon": [epsilons[source] for source in sources],
            "mechanism": [self.releases[source].name for source in sources],
            "view": [self.view] * len(targets),
        }

    def chart(self, name: str = "") -> Any:
        """Return the leakage matrix as an Altair heat map, titled with the data's name,
        if given.
        """
        from seepage.charts.result_charts import matrix_chart

        names = list(self.domain.names)
        mechanisms = sorted(
            {release.name or "any mechanism" for release in self.releases}
        )
        budgets = sorted({f"{release.epsilon:g}" for release in self.releases})
        epsilon = f"epsilon {', '.join(budgets[:4])}{self._delta_text}"
        subtitle = f"{', '.join(mechanisms)}; {epsilon}; view: {self.view}"
        if self.uncertainty is not None:
            subtitle += f"; {self.uncertainty.words}"
        if self.pairs.population is not None:
            subtitle += f"; {how_many(self.pairs)}"
        finite = self.epsilons[np.isfinite(self.epsilons)]
        deltas = None
        if self.deltas.any():
            deltas = self.deltas.tolist()
        return matrix_chart(
            names,
            self.values.tolist(),
            maximum=float(finite.max(initial=0.0)),
            subtitle=subtitle,
            order=[names[index] for index in self.related_order()],
            name=checks.text(name, "name"),
            deltas=deltas,
        )

    def related_order(self) -> list[int]:
        """Return the attributes of the leakage matrix in an order that puts pairs with
        much leakage side by side.

        Leaf order of average-linkage clustering on the larger leakage of both
        directions.
        """
        return clustered_order(np.maximum(self.values, self.values.T))

    @cached_property
    def _sets(self) -> list[LikelySets | None]:
        """Return the likely sets of each source of the leakage matrix."""
        return [release.sets(self.view) for release in self.releases]

    def channel_stacks(self) -> Iterator[tuple[Integers, Integers, Floats]]:
        """Yield (targets, sources, channels) of all ordered pairs of the leakage
        matrix, one stack per shape.

        `channels` has shape (p, m, t).  A target value that never occurs repeats the
        row of one that does, which changes no maximum over pairs of rows.
        """
        for low, high, cells in self.pairs.tables_by_shape():
            smooth = smoothed(cells, **self.smoothing)
            yield low, high, self._channels(cells, smooth)
            turned = cells.transpose(0, 2, 1)
            yield high, low, self._channels(turned, smooth.transpose(0, 2, 1))

    def _channels(self, cells: Integers, smooth: Floats) -> Floats:
        """Return the channels of the leakage matrix from tables of counts and smoothed
        counts, rows targets.
        """
        seen = (cells.sum(axis=2) > 0) & (smooth.sum(axis=2) > 0)
        if not seen.any(axis=1).all():
            least = self.smoothing["truncate"]
            raise DomainError(f"a pair of attributes has no cell of {least} or more")
        first = seen.argmax(axis=1)
        repeated = smooth[np.arange(len(smooth)), first][:, None, :]
        rows = np.where(seen[:, :, None], smooth, repeated)
        return np.asarray(rows / rows.sum(axis=2, keepdims=True))


def direct_leakage(release: Release, view: View) -> tuple[float, float]:
    """Return the direct privacy leakage (DPL) of an attribute's own report, the
    matrix's diagonal, and its delta.

    With delta 0 it is the maximum log-likelihood ratio in the view: epsilon for the
    whole report, less for `exp`, whose report realises half, and for a value inferred
    from the report.
    """
    if release.delta > 0:
        return release.epsilon, release.delta
    sets = release.sets(view)
    if sets is not None:
        return sets.contrast, 0.0
    assert release.mechanism is not None
    return release.mechanism.epsilon, release.mechanism.delta


def leakage_matrix(
    data: Any,
    epsilon: Any,
    *,
    mechanism: Any = None,
    view: View = "report",
    delta: Any = 0.0,
    min_count: float = 0.0,
    prior: float = 0.0,
    truncate: float = 0.0,
    uncertainty: Any = 0.0,
    c_min: Any = None,
    **table: Unpack[TableKeywords],
) -> LeakageMatrix:
    """Return the leakage of every attribute about every other, as a matrix.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or Spark frame; the path of a table, a folder or a
        glob; the name of a dataset; `PairCounts` or `Records`.
    epsilon
        The privacy budget of every attribute.  Or one for each: a sequence, or a
        mapping by name, with `"*"` for all others.
    mechanism
        A mechanism, such as `"grr"`; by default the bound over all with this budget.  A
        registered name or an object, or one for each attribute.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only the
        inferred value. Privacy claims are of the report; the paper's attacker keeps the
        value.
    delta
        Delta of (epsilon, delta)-LDP.  Or one for each attribute.
    min_count
        Smaller counts of a pair are raised to this.  Smoothing, see
        `PairCounts.channel`.
    prior
        Pseudo-count added to every count of a pair.
    truncate
        Counts of a pair below this are then set to 0.
    uncertainty
        The total variation distance from the table's within which the rows of every
        channel lie, as for another wave of the same survey: the leakages are the
        largest over all such rows.  Or one for each target, or what `compare_tables`
        returned.
    c_min
        A lower bound on P(report given value), one for all attributes or one for each:
        the bound then has delta 0, see `leakage_bound`.
    **table
        How the data are read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`, `engine`, `progress`; see `TableKeywords`.

    Returns
    -------
    LeakageMatrix
        Rows are targets and columns sources.

    Notes
    -----
    O(m^2 t) for each ordered pair with m and t values, O(m t) for GRR and EXP.

    Examples
    --------
    >>> import seepage as sp
    >>> matrix = sp.leakage_matrix("adult", epsilon=1.0)
    >>> (
    ...     round(matrix["sex", "occupation"].value, 2),
    ...     round(matrix["occupation", "sex"].value, 2),
    ... )
    (0.4, 0.96)
    >>> matrix.strongest(1)
    [Leak('occupation' -> 'workclass', odds change 2.72x)]
    """
    from seepage.tables.read import as_pairs

    check_keywords(table, leakage_matrix)
    options = MatrixOptions(
        epsilon=epsilon,
        mechanism=mechanism,
        view=view,
        delta=delta,
        min_count=min_count,
        prior=prior,
        truncate=truncate,
        uncertainty=uncertainty,
        c_min=c_min,
        **table,
    )
    pairs = as_pairs(data, **options.reading)
    uncertainty = uncertainty_of(pairs.domain, options.uncertainty)
    if uncertainty is None:
        return matrix_of(pairs, options)
    return matrix_of(uncertainty.coded(pairs), options).within(uncertainty)


NO_SMOOTHING = {"min_count": 0.0, "prior": 0.0, "truncate": 0.0}
"""Keywords of `PairCounts.channel` that leave the counts as they are."""


def matrix_of(pairs: PairCounts, options: ReleaseOptions) -> LeakageMatrix:
    """Return the leakage matrix of pair counts, without smoothing unless the options
    have it.
    """
    smoothing = {name: getattr(options, name, 0.0) for name in NO_SMOOTHING}
    _check_records(pairs)
    released = releases(pairs.domain, options.epsilon, options.mechanism, options.delta)
    c_min = getattr(options, "c_min", None)
    if c_min is not None:
        released = _pure_releases(pairs.domain, released, c_min)
    return LeakageMatrix(pairs, released, options.view, smoothing)


def _pure_releases(
    domain: Domain, released: Sequence[Release], c_min: Any
) -> list[Release]:
    """Return releases for a leakage matrix of any mechanism whose reports all have a
    probability of at least c_min: pure, with a larger epsilon.
    """
    pure = list[Release]()
    for release, least in zip(released, for_each(domain, c_min, "c_min"), strict=True):
        if release.mechanism is not None or release.public:
            raise InputError(
                "c_min is for any mechanism with a budget, and a mechanism that is "
                "named has its own probabilities",
                parameter="c_min",
            )
        probability = checks.inner_probability(least, "c_min")
        pure.append(Release(pure_budget(release.epsilon, release.delta, probability)))
    return pure


def matrix_of_releases(
    pairs: PairCounts,
    released: Sequence[Release],
    view: View,
    uncertainty: Uncertainty | None = None,
) -> LeakageMatrix:
    """Return the leakage matrix of pair counts at given releases, without smoothing."""
    _check_records(pairs)
    return LeakageMatrix(pairs, released, view, NO_SMOOTHING, uncertainty)


def _check_records(pairs: PairCounts) -> None:
    """Raise if the pair counts of a leakage matrix have no records."""
    if not pairs.records:
        raise DomainError(
            "there is no leakage without records, and these counts have none"
        )


def clustered_order(strengths: Floats) -> list[int]:
    """Return the indices of a matrix of leakages in an order that puts strong pairs
    side by side.

    Leaf order of average-linkage clustering with distance max(strengths) - strengths[i,
    j].

    Examples
    --------
    >>> clustered_order(np.array([[0, 0, 9], [0, 0, 1], [9, 1, 0]]))
    [1, 2, 0]
    """
    if len(strengths) < 3:
        return list(range(len(strengths)))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    strength = np.minimum(strengths, 700.0)
    distance = strength.max() - strength
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return [int(leaf) for leaf in leaves_list(tree)]
