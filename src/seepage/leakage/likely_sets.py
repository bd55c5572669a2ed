"""Likely sets of reports, and the leakage of two-level mechanisms.

Given its report, a two-level mechanism makes each input u of the source either likely
(probability c e^eps) or unlikely (c).  With S the likely inputs, the report is

    H(x, x', S) = (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),   lambda = e^eps - 1,

times likelier under target value x than under x', where G_x(S) is the sum of G[x, u]
over S (theory: The bound; the paper's equation for H-bar).  Mechanisms differ in the
sets S they allow:

* singletons: one input (GRR, the exponential mechanism), O(m t);
* subsets: exactly omega inputs (subset selection);
* all: any inputs (unary encodings, local hashing, SHE): the paper's Algorithm 2.

The latter two are solved by Dinkelbach's iteration (`dinkelbach`), of which two or
three rounds of O(m^2 t) suffice.  The paper sorts the inputs of every pair, O(m^2 t log
t); here only pairs that raise the ratio are sorted.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.log_ratios import log_ratio
from seepage._core.rounding import UNIT, round_up
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.dinkelbach import Pair, best_of_pairs, dinkelbach
from seepage.leakage.leakage import Leakage, named_witness

PAIR_CELLS = 1 << 16
"""Cells per block in `best_by_pair`, so that it fits a core's cache."""


CELL_ROUNDINGS = 8
"""Roundings allowed for each cell of a channel: a count over a sum, and the choice of
S."""


@dataclass(frozen=True)
class LikelySets:
    """Family of admissible likely sets S, with the contrast of the report.

    Parameters
    ----------
    kind
        `"singletons"`, `"subsets"` (of exactly `size` inputs) or `"all"`.
    contrast
        The log-likelihood ratio of a report between a likely and an unlikely input, in
        nats.
    size
        The number of likely inputs, for `"subsets"`.
    """

    kind: Literal["singletons", "subsets", "all"]
    contrast: float
    size: int = 1

    def largest(self, channels: Floats, contrast: Floats | None = None) -> Floats:
        """Return the largest log-ratio over likely sets of each channel of a stack (p,
        m, t), rounded up.

        `contrast`, one per channel, replaces that of the sets where given.
        """
        if contrast is None:
            contrast = np.full(len(channels), self.contrast)
        if self._has_singletons(channels.shape[2]):
            ratios = _singleton_ratios(channels, contrast).max(axis=1)
            return np.asarray(_safe(ratios, contrast, 1))
        values = [
            replace(self, contrast=epsilon).best_pair(channel).value
            for channel, epsilon in zip(channels, contrast.tolist(), strict=True)
        ]
        return np.array(values)

    def best_pair(self, channel: Floats) -> Pair:
        """Return the largest log-ratio of one channel over likely sets, rounded up,
        with what attains it.
        """
        terms = channel.shape[1]
        if self._has_singletons(terms):
            return self._best_singleton(channel)
        if self._width == terms:
            return Pair(0.0, 0, 0, np.zeros(terms, dtype=np.bool_))
        pair = dinkelbach(channel, self.contrast, self._width)
        value = float(_safe(pair.value, self.contrast, terms, self._width))
        return pair._replace(value=value)

    def _best_singleton(self, channel: Floats) -> Pair:
        """Return the largest log-ratio of one channel over likely sets of one input."""
        ratios = _singleton_ratios(channel, self.contrast)
        source = int(ratios.argmax())
        column = channel[:, source]
        return Pair(
            value=float(_safe(ratios[source], self.contrast, 1)),
            likelier=int(column.argmax()),
            other=int(column.argmin()),
            likely=np.arange(channel.shape[1]) == source,
        )

    @property
    def _width(self) -> int | None:
        """The size of the likely sets of `"subsets"`, else None."""
        return self.size if self.kind == "subsets" else None

    def _has_singletons(self, terms: int) -> bool:
        """Return whether singletons suffice as likely sets; of two inputs, every S is
        one.
        """
        return self.size == 1 and (self.kind != "all" or terms <= 2)

    def best_by_pair(self, channels: Floats, contrast: Floats) -> Floats:
        """Return the largest log-ratio over likely sets of each ordered pair of rows,
        rounded up.

        Parameters
        ----------
        channels, contrast
            A stack of p channels, shape (p, m, t), and the contrast of each.

        Returns
        -------
        Floats
            Shape (p, m, m); 0 for a row with itself.
        """
        _, rows, terms = channels.shape
        values = np.zeros((len(channels) * rows, rows))
        if self._width == terms:
            return values.reshape(-1, rows, rows)
        step = max(1, PAIR_CELLS // (rows * terms))
        for start in range(0, len(values), step):
            block = np.arange(start, min(start + step, len(values)))
            index, x = np.divmod(block, rows)
            likelier, other = np.broadcast_arrays(
                channels[index, x][:, None], channels[index]
            )
            epsilon = np.repeat(contrast[index], rows)
            ratios, _ = self.best_of_pairs(
                likelier.reshape(-1, terms), other.reshape(-1, terms), epsilon
            )
            safe = _safe(ratios, epsilon, terms, self._width)
            values[start : start + step] = safe.reshape(-1, rows)
        return values.reshape(-1, rows, rows)

    def best_of_pairs(
        self, likelier: Floats, other: Floats, contrast: Floats | None = None
    ) -> tuple[Floats, Booleans]:
        """Return the largest log-ratio and its likely set for each ordered pair of
        rows, not rounded up.

        Parameters
        ----------
        likelier, other
            The rows G[x] and G[x'] of n pairs, shape (n, t) each or broadcast to it.
        contrast
            One per pair, in place of that of the sets.

        Notes
        -----
        O(n t log t); for subsets O(n t) per round.  The relative error of a value is
        within 3 t + 8 roundings, plus those of cancelling gaps for subsets, as in
        `best_pair`.

        Examples
        --------
        >>> rows = np.array([[0.9, 0.1], [0.2, 0.8]])
        >>> values, likely = LikelySets("all", 1.0).best_of_pairs(rows, rows[::-1])
        >>> values.round(4).tolist(), likely.tolist()
        ([0.6393, 0.7063], [[True, False], [False, True]])
        """
        likelier, other = np.broadcast_arrays(likelier, other)
        if contrast is None:
            contrast = np.full(len(other), self.contrast)
        if self.kind != "singletons":
            return best_of_pairs(likelier, other, contrast, self._width)
        ratios = log_ratio(likelier - other, other, contrast[:, None])
        source = ratios.argmax(axis=1)
        likely = np.arange(ratios.shape[1]) == source[:, None]
        return ratios[np.arange(len(source)), source], likely

    def count(self, size: int) -> int:
        """Return the number of likely sets over `size` inputs, without the empty and
        the full one.
        """
        if self.kind == "singletons":
            return size
        if self.kind == "subsets":
            return math.comb(size, self.size)
        return int(2**size) - 2

    def masks(self, size: int) -> tuple[Floats, bool]:
        """Return the likely sets over `size` inputs as 0-1 rows, and whether the family
        has complements.

        Where it has, only one of each set and its complement is returned: the one
        without the last input.
        """
        width = self.size if self.kind == "subsets" else 1
        if self.kind == "all" or (size == 2 and width == 1):
            numbers = np.arange(1, 2 ** (size - 1))
            return ((numbers[:, None] >> np.arange(size)) & 1).astype(np.float64), True
        members = np.array(list(combinations(range(size), width)))
        masks = np.zeros((len(members), size))
        np.put_along_axis(masks, members, 1.0, axis=1)
        if 2 * width == size:
            return masks[masks[:, -1] == 0], True
        return masks, False


def _singleton_ratios(channels: Floats, epsilon: Any) -> Floats:
    """Return the log-ratio of each likely set of one input, ln (1 + lambda max_x
    G[x,u]) / (1 + lambda min_x G[x,u]).
    """
    high = channels.max(axis=-2)
    low = channels.min(axis=-2)
    return log_ratio(high - low, low, np.asarray(epsilon)[..., None])


def _safe(value: Any, epsilon: Any, terms: int, width: int | None = None) -> Any:
    """Return log-ratios of likely sets raised by more than their rounding error, and
    capped at epsilon.

    Sums of `terms` gaps of one sign, and the choice among them, have about three
    relative roundings per term.  The cells of a channel are rounded too, and gaps of
    both signs, as sets of a given `width` have them, cancel: each such rounding moves
    the log-ratio by at most (1 - e^-eps) units per row.
    """
    cancelling = 0 if width is None else 2 * terms + 8
    guard = -np.expm1(-epsilon) * (2 * (cancelling + CELL_ROUNDINGS) * UNIT)
    return np.minimum(round_up(value, 3 * terms + 8) + guard, epsilon) * (value > 0)


def two_level_leakage(
    G: Channel | ArrayLike,
    sets: LikelySets,
    report_of: Callable[[Booleans], Any] | None = None,
) -> Leakage:
    """Return the leakage of a channel through reports with these likely sets, with its
    witness.

    Parameters
    ----------
    G
        P(source given target), rows target values.
    sets
        The likely sets of the report and their contrast.
    report_of
        Function that returns a report with a given likely set, for the witness.
    """
    best = sets.best_pair(as_matrix(G))
    if best.value == 0:
        return Leakage(0.0, None)
    report = None if report_of is None else report_of(best.likely)
    witness = named_witness(G, best.likelier, best.other, best.likely, report=report)
    return Leakage(best.value, witness)


@dataclass(frozen=True)
class SetsOfOneKind:
    """Attributes whose reports have likely sets of one kind and size.

    Parameters
    ----------
    sets
        Likely sets of that kind and size.
    positions
        The positions of these attributes in the indices that were grouped.
    contrasts
        The contrast of each.
    """

    sets: LikelySets
    positions: Integers
    contrasts: Floats


def by_kind(
    sets: Sequence[LikelySets | None], indices: Integers
) -> Iterator[SetsOfOneKind]:
    """Group `indices` into `sets` by the kind and size of their likely sets.

    Indices without likely sets are skipped.
    """
    contrasts = np.array(
        [math.nan if family is None else family.contrast for family in sets]
    )
    kinds = [None if family is None else (family.kind, family.size) for family in sets]
    examples = dict(zip(kinds, sets, strict=True))
    for kind, example in examples.items():
        if example is None:
            continue
        is_of_kind = np.array([other == kind for other in kinds])
        positions = np.flatnonzero(is_of_kind[indices])
        if len(positions):
            yield SetsOfOneKind(example, positions, contrasts[indices[positions]])
