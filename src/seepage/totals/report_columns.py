"""What one source's report can say: the likelihoods that it may give to the source's values.

A report y of source i matters only through the column c(u) = P(y given u), up to a factor.  The
columns of a two-level mechanism are its likely sets (1 inside, e^-contrast outside), so that no
report alphabet need be walked; those of any other mechanism are read from its matrix.

Where only a budget is known the columns are those of every likely set: p(y given x) over
p(y given x') is linear-fractional in each source's column, so the worst column of an epsilon-LDP
mechanism is an extreme one, which has two levels [theory: The bound].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.domain import Domain
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.release import Release, View
from seepage.totals.result import GuaranteeError, JointWitness

Reals: TypeAlias = NDArray[np.floating[Any]]
"""Double precision, or longer where budgets are beyond its range."""


@dataclass(frozen=True)
class TwoLevelColumns:
    """The columns of a two-level report, one per likely set; without those that favour all alike.

    Parameters
    ----------
    k
        The number of values.
    sets
        Which of them a report can favour.
    """

    k: int
    sets: LikelySets

    @property
    def count(self) -> int:
        """The number of likely sets."""
        if self.k == 1:
            return 1
        if self.sets.kind == "singletons":
            return self.k
        return comb(self.k, self.sets.size) if self.sets.kind == "subsets" else 2**self.k - 2

    @property
    def contrast(self) -> float:
        """The contrast of the sets; 0 for a single value."""
        return self.sets.contrast if self.k > 1 else 0.0

    @property
    def span(self) -> float:
        """The contrast; 0 where it is infinite, for then unlikely is impossible."""
        return self.contrast if self.contrast < inf else 0.0

    def own(self) -> Floats:
        """Return the contrast between each two different values."""
        return np.where(np.eye(self.k, dtype=np.bool_), 0.0, self.contrast)

    def _floor(self, dtype: Any) -> Any:
        return np.exp(np.asarray(-self.contrast, dtype=dtype))

    def _masks(self) -> Booleans:
        """Return every likely set, shape (count, k)."""
        if self.k == 1 or self.sets.kind == "singletons":
            return np.eye(self.k, dtype=np.bool_)
        if self.sets.kind == "subsets":
            chosen = np.array(list(combinations(range(self.k), self.sets.size)))
            masks = np.zeros((len(chosen), self.k), dtype=np.bool_)
            np.put_along_axis(masks, chosen, True, axis=1)
            return masks
        numbers = np.arange(1, 2**self.k - 1)
        return np.asarray((numbers[:, None] >> np.arange(self.k)) & 1 == 1)

    def matrix(self, dtype: Any = np.float64) -> Reals:
        """Return 1 inside each likely set and e^-contrast outside."""
        return np.where(self._masks().T, np.asarray(1, dtype=dtype), self._floor(dtype))

    def best(self, upper: Reals, lower: Reals) -> Reals:
        """Return the largest (upper . c) / (lower . c) over columns c, for each row.

        Parameters
        ----------
        upper, lower
            Weights of the k values, at least 0, shape (n, k).  Rows need not sum to 1.

        Returns
        -------
        Reals
            One ratio per row; 0 where both are 0 under every column, infinite where only the
            second can be.

        Notes
        -----
        Singletons are tried one by one.  Otherwise Dinkelbach's iteration: at ratio h the best
        set holds the u with upper > h lower (or the largest differences); h grows until it no
        longer does.
        """
        if self.sets.kind == "singletons" or self.k == 1:
            return np.asarray(self._singletons(upper, lower).max(axis=1))
        return self._climb(upper, lower)[0]

    def _climb(self, upper: Reals, lower: Reals) -> tuple[Reals, Booleans]:
        """Return the largest ratio of each row and the set that attains it.

        `seepage.leakage.solver` works on rows that sum to 1, in doubles, and returns logarithms:
        scaling these rows and taking exponentials would lose the last digits of long doubles, and
        rows of zeros have no scale.  Hence this iteration of its own.

        A value of large weight whose own ratio is h has an excess of 0 but for rounding, which can
        hide the excess of all others.  So where h grows no longer, the excesses are lowered by
        more than their rounding errors and tried again: a larger ratio than h cannot be hidden
        then [if F(S) is the excess of S and M(S) its weight, the S of the largest F - margin M has
        a ratio above h by about the margin wherever any set's is above it by twice as much].
        """
        ratio = _ratio(upper.sum(axis=1), lower.sum(axis=1))
        chosen = self._exceeding(upper, lower, ratio)
        if self.sets.kind == "subsets":
            ratio = self._ratio(upper, lower, chosen)

        def grow(growing: Integers, margin: float) -> Integers:
            """Raise the ratios of some rows in place; return the rows that grew."""
            ever = np.zeros(len(ratio), dtype=np.bool_)
            while len(growing):
                rows = upper[growing], lower[growing]
                sets = self._exceeding(*rows, ratio[growing], margin)
                found = self._ratio(*rows, sets)
                grown = found > ratio[growing]
                growing = growing[grown]
                ratio[growing], chosen[growing] = found[grown], sets[grown]
                ever[growing] = True
            return np.flatnonzero(ever)

        every = np.arange(len(ratio))
        grow(every, 0.0)
        grow(grow(every, 8 * (self.k + 4) * float(np.finfo(upper.dtype).eps)), 0.0)
        return ratio, chosen

    def _singletons(self, upper: Reals, lower: Reals) -> Reals:
        floor = self._floor(upper.dtype)
        high = floor * upper.sum(axis=1, keepdims=True) + (1 - floor) * upper
        low = floor * lower.sum(axis=1, keepdims=True) + (1 - floor) * lower
        return _ratio(high, low)

    def _ratio(self, upper: Reals, lower: Reals, chosen: Booleans) -> Reals:
        weights = np.where(chosen, np.asarray(1, dtype=upper.dtype), self._floor(upper.dtype))
        return _ratio((weights * upper).sum(axis=1), (weights * lower).sum(axis=1))

    def _exceeding(self, upper: Reals, lower: Reals, ratio: Reals, margin: float = 0.0) -> Booleans:
        """Return the best set of each row at a ratio, by excesses lowered by a relative margin."""
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = ratio[:, None] * lower
            excess = np.where(lower > 0, upper - scaled, upper)
            if margin:
                excess -= np.where(lower > 0, margin * (upper + scaled), 0)
        if self.sets.kind == "all":
            return np.asarray(excess > 0)
        kept = np.argpartition(-excess, self.sets.size - 1, axis=1)[:, : self.sets.size]
        chosen = np.zeros(excess.shape, dtype=np.bool_)
        np.put_along_axis(chosen, kept, True, axis=1)
        return chosen

    def choose(self, upper: Reals, lower: Reals) -> Booleans:
        """Return the likely set that attains `best` for one row."""
        if self.k == 1:
            return np.ones(1, dtype=np.bool_)
        if self.sets.kind == "singletons":
            index = int(self._singletons(upper[None], lower[None])[0].argmax())
            return np.asarray(np.arange(self.k) == index)
        return np.asarray(self._climb(upper[None], lower[None])[1][0])

    def logarithms(self, column: int | Booleans) -> Floats:
        """Return 0 inside the set and -contrast outside."""
        return np.where(self.likely(column), 0.0, -self.contrast)

    def softened(self, limit: float) -> "TwoLevelColumns":
        """Return the same sets with a contrast of at most `limit`."""
        return TwoLevelColumns(
            self.k, LikelySets(self.sets.kind, min(self.contrast, limit), self.sets.size)
        )

    def likely(self, column: int | Booleans) -> Booleans:
        """Return the likely set."""
        return np.asarray(self._masks()[column] if isinstance(column, int) else column)


@dataclass(frozen=True, eq=False)
class MatrixColumns:
    """The columns of a transition matrix.

    Parameters
    ----------
    channel
        P(report given value), one row per value; reports that no value can produce are left out.
    """

    channel: Floats

    def __post_init__(self) -> None:
        possible = self.channel[:, self.channel.max(axis=0) > 0]
        object.__setattr__(self, "channel", possible / possible.max(axis=0))

    @property
    def k(self) -> int:
        """The number of values."""
        return len(self.channel)

    @property
    def count(self) -> int:
        """The number of reports."""
        return int(self.channel.shape[1])

    @property
    def span(self) -> float:
        """The largest finite log-ratio within a column."""
        return float(-np.log(self.channel[self.channel > 0].min()))

    def own(self) -> Floats:
        """Return max over reports of ln C[x, y] / C[x', y], for each x and x'."""
        ratios = [_ratio(row, self.channel).max(axis=1) for row in self.channel]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(ratios))

    def matrix(self, dtype: Any = np.float64) -> Reals:
        """Return the matrix, each column scaled to a largest entry of 1."""
        return self.channel.astype(dtype)

    def best(self, upper: Reals, lower: Reals) -> Reals:
        """Return the largest ratio, trying every report."""
        return np.asarray(_ratio(upper @ self.channel, lower @ self.channel).max(axis=1))

    def choose(self, upper: Reals, lower: Reals) -> int:
        """Return the report that attains `best` for one row."""
        return int(_ratio(upper @ self.channel, lower @ self.channel).argmax())

    def logarithms(self, column: int | Booleans) -> Floats:
        """Return the logarithms of one column."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.channel[:, column]))

    def softened(self, limit: float) -> "MatrixColumns":
        """Return the matrix with entries of at least e^-limit."""
        return MatrixColumns(np.maximum(self.channel, np.exp(-limit)))

    def likely(self, column: int | Booleans) -> Booleans:
        """Return the values under which the report is likeliest."""
        return np.asarray(self.channel[:, column] == 1)


def _ratio(upper: Reals, lower: Reals) -> Reals:
    """Return the quotient; 0 for 0/0, infinite for another number over 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = upper / lower
    return np.where(upper == 0, np.zeros((), dtype=upper.dtype), quotient)


ReportColumns: TypeAlias = TwoLevelColumns | MatrixColumns
"""The columns of a source, each scaled to a largest entry of 1: both classes have the same methods.

`k` values, `count` columns, `span` (-ln of the smallest positive entry), all columns as a `matrix`,
the `best` column for two vectors and which to `choose`, a column's `logarithms` and the values that
it favours (`likely`), contrasts `softened` to a limit, and what the `own` report says directly.
"""


def joint_witness(
    domain: Domain,
    columns: Sequence[ReportColumns],
    target: int,
    pair: tuple[int, int],
    reports: Mapping[int, int | Booleans],
    value: float,
    **more: float,
) -> JointWitness:
    """Return reports about two target values by name, with the target's own best report."""
    attribute, values = domain[target], np.eye(columns[target].k)
    chosen = {**reports, target: columns[target].choose(values[pair[0]], values[pair[1]])}
    favoured = {
        domain.names[k]: tuple(
            domain[k].values[u] for u in np.flatnonzero(columns[k].likely(chosen[k]))
        )
        for k in range(len(domain))
    }
    likelier, other = (attribute.values[x] for x in pair)
    return JointWitness(attribute.name, likelier, other, favoured, value, **more)


def columns_of(domain: Domain, released: Sequence[Release], view: View) -> list[ReportColumns]:
    """Return the columns of each attribute's report in a view.

    A mechanism that is neither two-level nor has a matrix raises a GuaranteeError.
    """
    found: list[ReportColumns] = []
    for attribute, release in zip(domain, released, strict=True):
        sets = release.sets(view)
        if sets is not None:
            found.append(TwoLevelColumns(attribute.size, sets))
            continue
        mechanism = release.mechanism
        assert mechanism is not None
        try:
            channel = mechanism.channel() if view == "report" else mechanism.inferred_channel()
        except InputError:
            raise GuaranteeError(
                f"reports of {mechanism.name} cannot be enumerated for {attribute.name!r}; "
                "use guarantee 'merged' or 'sampled'"
            ) from None
        found.append(MatrixColumns(channel))
    return found
