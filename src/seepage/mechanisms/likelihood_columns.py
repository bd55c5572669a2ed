"""Likelihood columns: c(u) = P(report y given value u) of one source, up to a factor.

Totals depend on a report y only through its column.  The columns of a two-level
mechanism are its likely sets (1 inside, e^-contrast outside), so that the report
alphabet need not be enumerated; those of any other mechanism are the columns of its
transition matrix.

If only a budget is known, every likely set gives a column: p(y given x) / p(y given x')
is linear-fractional in each source's column, so it is maximal at an extreme column of
the epsilon-LDP polytope, and those have two levels [theory: The bound].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from seepage._core.arrays import Booleans, Floats
from seepage._core.errors import GuaranteeError, InputError
from seepage._core.log_ratios import pair_log_ratios, quotient
from seepage.channel.domain import Domain
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.release import Release, View

if TYPE_CHECKING:
    from seepage.leakage.matrix import LeakageMatrix


@dataclass(frozen=True)
class TwoLevelColumns:
    """The columns of a two-level mechanism, one per likely set; constant columns are
    left out.

    Parameters
    ----------
    k
        The number of values.
    sets
        Family of admissible likely sets, and their contrast.
    """

    k: int
    sets: LikelySets

    @property
    def count(self) -> int:
        """The number of likelihood columns: one for each likely set."""
        return self.sets.count(self.k) if self.k > 1 else 1

    @property
    def contrast(self) -> float:
        """Ln of the ratio of the two levels of likelihood columns; 0 for a single
        value.
        """
        return self.sets.contrast if self.k > 1 else 0.0

    @property
    def span(self) -> float:
        """-ln of the smallest positive entry of likelihood columns: the contrast, or 0
        where that is infinite.
        """
        return self.contrast if self.contrast < inf else 0.0

    def max_log_ratios(self) -> Floats:
        """Return max over likelihood columns c of ln c(x) / c(x'), shape (k, k): the
        contrast for x != x'.
        """
        return np.where(np.eye(self.k, dtype=np.bool_), 0.0, self.contrast)

    def _masks(self) -> Booleans:
        """Return the likely set of every likelihood column as a mask, shape (count,
        k).
        """
        if self.k == 1:
            return np.ones((1, 1), dtype=np.bool_)
        masks, paired = self.sets.masks(self.k)
        if paired:
            masks = np.vstack([masks, 1 - masks[::-1]])
        return masks > 0

    def matrix(self) -> Floats:
        """Return the likelihood columns: 1 inside each likely set and e^-contrast
        outside.
        """
        return np.where(self._masks().T, 1.0, exp(-self.contrast))

    def best(self, upper: Floats, lower: Floats) -> tuple[Floats, Booleans]:
        """Return ln of the largest (upper . c) / (lower . c) over likelihood columns c,
        and c, of each row.

        Parameters
        ----------
        upper, lower
            Weights of the k values, at least 0, shape (n, k).  Rows need not sum to 1.

        Returns
        -------
        tuple[Floats, Booleans]
            One log-ratio per row, infinite where only `lower` is 0, minus infinity
            where `upper` is.  And its likely set, as a mask.
        """
        upper_sum = upper.sum(axis=1)
        lower_sum = lower.sum(axis=1)
        values, likely = self.sets.best_of_pairs(
            upper / np.where(upper_sum > 0, upper_sum, 1.0)[:, None],
            lower / np.where(lower_sum > 0, lower_sum, 1.0)[:, None],
        )
        with np.errstate(divide="ignore"):
            return np.log(quotient(upper_sum, lower_sum)) + values, likely

    def logarithms(self, column: int | Booleans) -> Floats:
        """Return ln c(u) of a likelihood column, given by index or likely set: 0
        inside, -contrast outside.
        """
        return np.where(self.likely(column), 0.0, -self.contrast)

    def clipped(self, limit: float) -> "TwoLevelColumns":
        """Return the likelihood columns of the same sets with a contrast of at most
        `limit`.
        """
        return TwoLevelColumns(
            self.k, replace(self.sets, contrast=min(self.contrast, limit))
        )

    def likely(self, column: int | Booleans) -> Booleans:
        """Return the likely set of a likelihood column, given by index or as that
        set.
        """
        return np.asarray(column if np.ndim(column) else self._masks()[column])


@dataclass(frozen=True, eq=False)
class MatrixColumns:
    """The columns of a transition matrix.

    Parameters
    ----------
    channel
        P(report given value), one row per value.  Columns of zeros are removed and the
        others scaled to a maximum of 1.
    """

    channel: Floats

    def __post_init__(self) -> None:
        """Scale the likelihood columns to the maximum 1."""
        possible = self.channel[:, self.channel.max(axis=0) > 0]
        object.__setattr__(self, "channel", possible / possible.max(axis=0))

    @property
    def k(self) -> int:
        """The number of values of likelihood columns."""
        return len(self.channel)

    @property
    def count(self) -> int:
        """The number of likelihood columns: one for each report."""
        return int(self.channel.shape[1])

    @property
    def span(self) -> float:
        """-ln of the smallest positive entry of likelihood columns: the largest finite
        log-ratio within a column.
        """
        return float(-np.log(self.channel[self.channel > 0].min()))

    def max_log_ratios(self) -> Floats:
        """Return max over likelihood columns y of ln C[x, y] / C[x', y], shape (k,
        k).
        """
        return pair_log_ratios(self.channel.T, self.channel.T)

    def matrix(self) -> Floats:
        """Return the likelihood columns as a matrix, one column per report, each with
        maximum 1.
        """
        return self.channel

    def best(self, upper: Floats, lower: Floats) -> tuple[Floats, Any]:
        """Return the best likelihood column c of each row, with ln of the largest
        (upper . c) / (lower . c).
        """
        ratios = quotient(upper @ self.channel, lower @ self.channel)
        with np.errstate(divide="ignore"):
            return np.log(ratios.max(axis=1)), ratios.argmax(axis=1)

    def logarithms(self, column: int | Booleans) -> Floats:
        """Return ln c(u) of one likelihood column."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.channel[:, column]))

    def clipped(self, limit: float) -> "MatrixColumns":
        """Return the likelihood columns with entries of at least e^-limit."""
        return MatrixColumns(np.maximum(self.channel, np.exp(-limit)))

    def likely(self, column: int | Booleans) -> Booleans:
        """Return a mask of the values under which the report of a likelihood column is
        likeliest.
        """
        return np.asarray(self.channel[:, column] == 1)


def best_column(columns: "LikelihoodColumns", upper: Floats, lower: Floats) -> Any:
    """Return the likelihood column that attains `best` for two vectors: an index, or a
    mask.
    """
    return columns.best(upper[None], lower[None])[1][0]


LikelihoodColumns: TypeAlias = TwoLevelColumns | MatrixColumns
"""The columns of a source, each with maximum 1; both classes have the same interface.

`k` values, `count` columns, `span` = -ln of the smallest positive entry, all columns as
a `matrix`, the `best` log-ratio for two vectors with its column, a column's
`logarithms` and `likely` values, entries `clipped` to at least e^-limit, and
`max_log_ratios` between values.
"""


def likelihood_columns(
    domain: Domain, released: Sequence[Release], view: View
) -> list[LikelihoodColumns]:
    """Return the likelihood columns of each attribute's report in a view.

    Raises a GuaranteeError for a mechanism that is not two-level and has no transition
    matrix.
    """
    columns: list[LikelihoodColumns] = []
    for attribute, release in zip(domain, released, strict=True):
        sets = release.sets(view)
        if sets is not None:
            columns.append(TwoLevelColumns(attribute.size, sets))
            continue
        try:
            columns.append(MatrixColumns(release.transition(view)))
        except InputError:
            raise GuaranteeError(
                f"reports of {release.name} cannot be enumerated for "
                f"{attribute.name!r}; use guarantee 'merged' or 'sampled'"
            ) from None
    return columns


def pure_columns(matrix: "LeakageMatrix") -> list[LikelihoodColumns]:
    """Return the likelihood columns of totals with delta 0; raise where a likelihood
    ratio has no bound.
    """
    for release in matrix.releases:
        if release.delta and not _has_bounded_ratios(release, matrix.view):
            raise GuaranteeError(
                f"likelihood ratios of {release.name or 'a mechanism with this delta'} "
                "have no bound, so totals with delta 0 are infinite; use 'merged' or "
                "'worst', which hold with a delta"
            )
    return likelihood_columns(matrix.domain, matrix.releases, matrix.view)


def _has_bounded_ratios(release: Release, view: View) -> bool:
    """Return whether the likelihood ratios of a release with a delta have a bound."""
    if release.mechanism is None:
        return False
    sets = release.sets(view)
    if sets is not None:
        return sets.contrast < inf
    try:
        transition = release.transition(view)
    except InputError:  # too many reports
        return True
    partly_empty = (transition == 0).any(axis=0) & (transition > 0).any(axis=0)
    return not partly_empty.any()
