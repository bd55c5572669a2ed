"""The leakage of every attribute about every other, as one matrix."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage._results import Result
from seepage.data.channel import Channel
from seepage.data.domain import MISSING, Domain, how_many
from seepage.data.pairs import PairCounts
from seepage.errors import DomainError
from seepage.leakage.evidence import Leakage, relaxation
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.release import VIEWS, Release, View, releases


class Leak(NamedTuple):
    """One entry of a leakage matrix, its names in the order of `matrix[target, source]`."""

    target: str
    source: str
    leakage: float


class LeakageMatrix(Result):
    """The leakage of every source about every target: rows targets, columns sources.

    The diagonal is 0: an attribute is no source about itself, and its own report's leakage is
    its epsilon.  `matrix[target, source]` gives one leakage with its witness.  In long form
    (`to_pandas`, `to_arrow`, `to_csv`): one row per ordered pair, with the source's epsilon.

    Parameters
    ----------
    pairs
        The counts it was computed from.
    releases
        How each attribute is released, in order.
    view
        `"report"`: the adversary keeps the whole report; `"inferred"`: only a guessed value.
    smoothing
        `min_count` and `prior` of `PairCounts.channel`, both 0 by default.
    """

    def __init__(
        self,
        pairs: PairCounts,
        releases: Sequence[Release],
        view: View,
        smoothing: Mapping[str, float],
    ) -> None:
        self.pairs = _checks.instance(pairs, "pairs", PairCounts, "PairCounts")
        self.releases: tuple[Release, ...] = tuple(_checks.items(releases, "releases"))
        self.view: View = view
        self.smoothing = dict(_checks.mapping(smoothing, "smoothing"))

    @property
    def domain(self) -> Domain:
        """The attributes, in the order of rows and columns."""
        return self.pairs.domain

    @cached_property
    def epsilons(self) -> Floats:
        """The budget of each attribute."""
        return np.array([release.epsilon for release in self.releases])

    @cached_property
    def values(self) -> Floats:
        """The leakages in nats, rows targets and columns sources."""
        return self._values([np.ones(size, dtype=np.bool_) for size in self.domain.sizes])

    def among(self, least: int) -> Floats:
        """Return the leakages among target values that at least so many records have.

        Missing values are left out too.  At most `values`, and 0 where fewer than two values are
        left.
        """
        return self._values(self._kept(least))

    def leak_among(
        self, target: str | SupportsIndex, source: str | SupportsIndex, least: int
    ) -> Leakage:
        """Return one of these leakages with its witness."""
        row, column = self.domain.index(target), self.domain.index(source)
        return self._restricted(row, column, self._kept(least)[row])

    def _kept(self, least: int) -> list[Booleans]:
        _checks.integer(least, "least", 0)
        return [
            (marginal >= least) & (np.array(attribute.values) != MISSING)
            for attribute, marginal in zip(self.domain, self.pairs.marginals, strict=True)
        ]

    def _values(self, kept: Sequence[Booleans]) -> Floats:
        """Return the leakages over the rows of each target that are kept."""
        values = np.zeros((len(self.domain), len(self.domain)))
        for targets, sources, stack in self._stacks(kept):
            for sets, chosen, contrast in self._by_sets(sources):
                found = sets.best(stack[chosen], contrast).value
                values[targets[chosen], sources[chosen]] = found
        for source in np.flatnonzero(self._kind < 0):
            for target in range(len(self.domain)):
                if target != source:
                    leak = self._restricted(target, int(source), kept[target])
                    values[target, source] = leak.value
        values.flags.writeable = False
        return values

    def _restricted(self, target: int, source: int, kept: Booleans) -> Leakage:
        rows = np.flatnonzero(kept & (self.pairs.marginals[target] > 0))
        if target == source or len(rows) < 2:
            return Leakage(0.0, None)
        channel = self.channel(target, source)
        places = [channel.given.code(self.domain[target].values[row]) for row in rows]
        part = Channel(channel.matrix[places], channel.given.restrict(places), channel.output)
        return self.releases[source].leakage(part, self.view)

    @cached_property
    def slopes(self) -> Floats:
        """How fast each leakage grows with the contrast of its source's report, in closed form.

        For mechanisms whose report is two-level; the contrast is epsilon for most.
        """
        slopes = np.zeros((len(self.domain), len(self.domain)))
        for targets, sources, stack in self.channel_stacks():
            for sets, chosen, contrast in self._by_sets(sources):
                found = sets.slopes(stack[chosen], contrast)
                slopes[targets[chosen], sources[chosen]] = found
        return slopes

    @cached_property
    def relaxations(self) -> Floats:
        """The certified delta' of each leakage bound; 0 where the source has delta 0."""
        values = np.zeros_like(self.values)
        relaxed = [r.delta > 0 and r.mechanism is None for r in self.releases]
        for targets, sources, stack in self.channel_stacks() if any(relaxed) else ():
            for target, source, channel in zip(targets, sources, stack, strict=True):
                if relaxed[source]:
                    release, leakage = self.releases[source], float(self.values[target, source])
                    if release.epsilon == 0:
                        channel = self.channel(target, source).matrix
                    values[target, source] = relaxation(
                        channel, leakage, release.epsilon, release.delta
                    )
        return values

    @property
    def tcpl(self) -> float:
        """The sum over all ordered pairs: total correlation-induced leakage [paper, II-D]."""
        return float(self.values.sum())

    def channel(self, target: str | SupportsIndex, source: str | SupportsIndex) -> Channel:
        """Return the correlation channel of one pair, with the matrix's smoothing."""
        return self.pairs.channel(target, source, **self.smoothing)

    def __getitem__(self, pair: tuple[str | SupportsIndex, str | SupportsIndex]) -> Leakage:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DomainError(
                f"a leakage has a target and a source: give matrix[target, source], "
                f"got {_checks.shown(pair)}"
            )
        target, source = (self.domain.index(name) for name in pair)
        if target == source:
            raise DomainError(
                f"{self.domain.names[target]!r} is no source about itself; "
                "its own report leaks its epsilon"
            )
        return self.releases[source].leakage(self.channel(target, source), self.view)

    def strongest(self, count: int = 10) -> list[Leak]:
        """Return the largest leakages, largest first, each with its target and source by name."""
        _checks.integer(count, "count", 0)
        names = self.domain.names
        order = np.argsort(-self.values, axis=None, kind="stable")
        targets, sources = np.divmod(order, len(names))
        ranked = np.flatnonzero(targets != sources)[:count]
        pairs = zip(targets[ranked].tolist(), sources[ranked].tolist(), strict=True)
        return [Leak(names[t], names[s], float(self.values[t, s])) for t, s in pairs]

    def _headline(self) -> str:
        shape = f"{len(self.domain)} x {len(self.domain)}"
        if self.pairs.population is not None:
            shape += f" from a {how_many(self.pairs)}"
        return f"LeakageMatrix({shape}, view={self.view!r}, rows targets, columns sources)"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        off = ~np.eye(len(self.domain), dtype=np.bool_)
        targets, sources = (place.tolist() for place in np.nonzero(off))
        names, epsilons = self.domain.names, self.epsilons.tolist()
        return {
            "target": [names[target] for target in targets],
            "source": [names[source] for source in sources],
            "leakage": self.values[off].tolist(),
            "epsilon": [epsilons[source] for source in sources],
            "mechanism": [self.releases[source].name for source in sources],
            "view": [self.view] * len(targets),
        }

    def chart(self, name: str = "") -> Any:
        """Return the matrix as an Altair heat map, titled with the data's name, if given."""
        from seepage.charts.results import matrix_chart

        names = list(self.domain.names)
        mechanisms = sorted({release.name or "any mechanism" for release in self.releases})
        budgets = sorted({f"{release.epsilon:g}" for release in self.releases})
        subtitle = f"{', '.join(mechanisms)}; epsilon {', '.join(budgets[:4])}; view: {self.view}"
        if self.pairs.population is not None:
            subtitle += f"; {how_many(self.pairs)}"
        order = [names[index] for index in self.related_order()]
        most = float(self.epsilons[np.isfinite(self.epsilons)].max(initial=0.0))
        return matrix_chart(
            names, self.values.tolist(), most, subtitle, order, _checks.text(name, "name")
        )

    def related_order(self) -> list[int]:
        """Return the attributes in an order that puts those with much leakage side by side.

        Leaves of average-linkage clustering on epsilon minus the larger leakage of both ways.
        """
        if len(self.domain) < 3:
            return list(range(len(self.domain)))
        from scipy.cluster.hierarchy import leaves_list, linkage
        from scipy.spatial.distance import squareform

        strength = np.minimum(np.maximum(self.values, self.values.T), 700.0)
        distance = strength.max() - strength
        np.fill_diagonal(distance, 0.0)
        tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
        return [int(leaf) for leaf in leaves_list(tree)]

    @cached_property
    def _sets(self) -> list[LikelySets | None]:
        return [release.sets(self.view) for release in self.releases]

    @cached_property
    def _kinds(self) -> dict[tuple[str, int], LikelySets]:
        """One example of likely sets for each kind and size that a source has."""
        return {(sets.kind, sets.size): sets for sets in self._sets if sets is not None}

    @cached_property
    def _kind(self) -> Integers:
        """The place of each source's likely sets among the kinds; -1 where it has none."""
        place = {kind: number for number, kind in enumerate(self._kinds)}
        return np.array([-1 if s is None else place[s.kind, s.size] for s in self._sets])

    @cached_property
    def _contrasts(self) -> Floats:
        """The contrast of each source's report; not a number where it is not two-level."""
        return np.array([np.nan if sets is None else sets.contrast for sets in self._sets])

    def _by_sets(self, sources: Integers) -> Iterator[tuple[LikelySets, Integers, Floats]]:
        """Split sources into groups whose likely sets are of one kind and size.

        Yields such sets, which of the sources have them, and the contrast of each.
        """
        for number, sets in enumerate(self._kinds.values()):
            chosen = np.flatnonzero(self._kind[sources] == number)
            if len(chosen):
                yield sets, chosen, self._contrasts[sources[chosen]]

    def channel_stacks(self) -> Iterator[tuple[Integers, Integers, Floats]]:
        """Yield targets, sources and their channels as stacks of one shape each: all ordered pairs.

        A target value that never occurred has no row; here it repeats the row of one that did,
        which changes no maximum over pairs of rows.
        """
        return self._stacks([np.ones(size, dtype=np.bool_) for size in self.domain.sizes])

    def _stacks(self, kept: Sequence[Booleans]) -> Iterator[tuple[Integers, Integers, Floats]]:
        """Yield the same stacks, with rows for those target values only that are kept."""
        floor, extra = self.smoothing["min_count"], self.smoothing["prior"]
        for low, high, cells in self.pairs.tables_by_shape():
            smooth = np.maximum(cells, floor) + extra
            for targets, sources, counts, raw in (
                (low, high, smooth, cells),
                (high, low, smooth.transpose(0, 2, 1), cells.transpose(0, 2, 1)),
            ):
                seen = raw.sum(axis=2) > 0
                seen &= np.stack([kept[target] for target in targets])
                known = np.where(seen.any(axis=1)[:, None], seen, raw.sum(axis=2) > 0)
                first = known.argmax(axis=1)
                repeated = counts[np.arange(len(counts)), first][:, None, :]
                rows = np.where(seen[:, :, None], counts, repeated)
                yield targets, sources, rows / rows.sum(axis=2, keepdims=True)


def leakage_matrix(
    data: Any,
    epsilon: Any,
    *,
    mechanism: Any = None,
    view: View = "report",
    delta: Any = 0.0,
    min_count: float = 0.0,
    prior: float = 0.0,
    **table_options: Any,
) -> LeakageMatrix:
    """Return the leakage of every attribute about every other.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or Spark frame; the path of a table, a folder or a glob; the name
        of a dataset; `PairCounts` or `Records`.
    epsilon
        The budget of every attribute; or one for each, as a sequence in the domain's order or a
        mapping by name.
    mechanism
        None for the bound over all mechanisms; the name of a registered one, or a mapping from
        attribute to name or `Mechanism`.
    view
        What the adversary keeps: the whole `"report"` (the default for any privacy claim) or only
        the value `"inferred"` from it (the paper's attacker).
    delta
        The relaxation of every attribute, or one for each.
    min_count, prior
        Smoothing of rare cells, see `PairCounts.channel`; off by default.
    table_options
        The table options of `count_pairs`.

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
    >>> round(matrix["sex", "occupation"].value, 2), round(matrix["occupation", "sex"].value, 2)
    (0.4, 0.96)
    >>> matrix.strongest(1)
    [Leak(target='workclass', source='occupation', leakage=1.0)]
    """
    from seepage.data.inputs import as_pairs

    _checks.choice(view, "view", VIEWS)
    pairs = as_pairs(data, **table_options)
    if not pairs.records:
        raise DomainError("there is no leakage without records, and these counts have none")
    smoothing = {
        "min_count": _checks.weight(min_count, "min_count"),
        "prior": _checks.weight(prior, "prior"),
    }
    return LeakageMatrix(pairs, releases(pairs.domain, epsilon, mechanism, delta), view, smoothing)
