"""Likely sets of reports, and the leakage of two-level and relaxed mechanisms."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage._core.arrays import Booleans, Floats
from seepage._core.log_ratios import log_ratio
from seepage._core.rounding import UNIT, round_up
from seepage.channel.channel import Channel, as_matrix
from seepage.leakage.delta import budget_profile, delta_at, profile
from seepage.leakage.leakage import Leakage, named_witness
from seepage.leakage.solver import Pair, best_of_pairs, dinkelbach

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
        """Return the largest log-ratio of each channel of a stack (p, m, t), rounded
        up.

        `contrast`, one per channel, replaces that of the sets where given.
        """
        epsilon = (
            np.full(len(channels), self.contrast) if contrast is None else contrast
        )
        if self._has_singletons(channels.shape[2]):
            return np.asarray(
                _safe(_singleton_ratios(channels, epsilon).max(axis=1), epsilon, 1)
            )
        sets = (replace(self, contrast=budget) for budget in epsilon.tolist())
        return np.array(
            [s.best_pair(c).value for s, c in zip(sets, channels, strict=True)]
        )

    def best_pair(self, channel: Floats) -> Pair:
        """Return the largest log-ratio of one channel, rounded up, with what attains
        it.
        """
        epsilon = self.contrast
        terms = channel.shape[1]
        if self._has_singletons(terms):
            ratios = _singleton_ratios(channel, epsilon)
            source = int(ratios.argmax())
            column = channel[:, source]
            value = float(_safe(ratios[source], epsilon, 1))
            likely = np.arange(terms) == source
            return Pair(value, int(column.argmax()), int(column.argmin()), likely)
        if self._width == terms:
            return Pair(0.0, 0, 0, np.zeros(terms, dtype=np.bool_))
        pair = dinkelbach(channel, epsilon, self._width)
        return Pair(float(_safe(pair.value, epsilon, terms, self._width)), *pair[1:])

    @property
    def _width(self) -> int | None:
        """The size of S for `"subsets"`, else None."""
        return self.size if self.kind == "subsets" else None

    def _has_singletons(self, terms: int) -> bool:
        """Return whether singletons suffice; of two inputs, every S is one."""
        return self.size == 1 and (self.kind != "all" or terms <= 2)

    def best_by_pair(self, channels: Floats, contrast: Floats) -> Floats:
        """Return the largest log-ratio of each ordered pair of rows, rounded up.

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
            index, x = np.divmod(np.arange(start, min(start + step, len(values))), rows)
            pairs = (channels[index, x][:, None], channels[index])
            likelier, other = (
                side.reshape(-1, terms) for side in np.broadcast_arrays(*pairs)
            )
            budget = np.repeat(contrast[index], rows)
            found = self.best_of_pairs(likelier, other, budget)[0]
            safe = _safe(found, budget, terms, self._width)
            values[start : start + step] = safe.reshape(-1, rows)
        return values.reshape(-1, rows, rows)

    def best_of_pairs(
        self, likelier: Floats, other: Floats, contrast: Floats | None = None
    ) -> tuple[Floats, Booleans]:
        """Return the largest log-ratio and its S for each ordered pair of rows, not
        rounded up.

        Parameters
        ----------
        likelier, other
            The rows G[x] and G[x'] of n pairs, shape (n, t) each or broadcast to it.
        contrast
            One per pair, in place of that of the sets.

        Notes
        -----
        O(n t log t); for subsets O(n t) per round.  The relative error of a value is within
        3 t + 8 roundings, plus those of cancelling gaps for subsets, as in `best_pair`.

        Examples
        --------
        >>> rows = np.array([[0.9, 0.1], [0.2, 0.8]])
        >>> values, likely = LikelySets("all", 1.0).best_of_pairs(rows, rows[::-1])
        >>> values.round(4).tolist(), likely.tolist()
        ([0.6393, 0.7063], [[True, False], [False, True]])
        """
        likelier, other = np.broadcast_arrays(likelier, other)
        budget = np.full(len(other), self.contrast) if contrast is None else contrast
        if self.kind == "singletons":
            ratios = log_ratio(likelier - other, other, budget[:, None])
            source = ratios.argmax(axis=1)
            likely = np.arange(ratios.shape[1]) == source[:, None]
            return ratios[np.arange(len(source)), source], likely
        return best_of_pairs(likelier, other, budget, self._width)

    def count(self, size: int) -> int:
        """Return the number of sets over `size` inputs, without the empty and the full
        one.
        """
        if self.kind == "singletons":
            return size
        return math.comb(size, self.size) if self.kind == "subsets" else 2**size - 2

    def masks(self, size: int) -> tuple[Floats, bool]:
        """Return the sets over `size` inputs as 0-1 rows, and whether the family has
        complements.

        Where it has, only one of each set and its complement is returned: the one
        without the last input.
        """
        width = self.size if self.kind == "subsets" else 1
        if self.kind == "all" or (size == 2 and width == 1):
            numbers = np.arange(1, 2 ** (size - 1))
            return ((numbers[:, None] >> np.arange(size)) & 1).astype(np.float64), True
        chosen = np.array(list(combinations(range(size), width)))
        masks = np.zeros((len(chosen), size))
        np.put_along_axis(masks, chosen, 1.0, axis=1)
        return (masks[masks[:, -1] == 0], True) if 2 * width == size else (masks, False)


def _singleton_ratios(channels: Floats, epsilon: Any) -> Floats:
    """Return ln (1 + lambda max_x G[x,u]) / (1 + lambda min_x G[x,u]) for each u."""
    high = channels.max(axis=-2)
    low = channels.min(axis=-2)
    return log_ratio(high - low, low, np.asarray(epsilon)[..., None])


def _safe(value: Any, epsilon: Any, terms: int, width: int | None = None) -> Any:
    """Return log-ratios raised by more than their rounding error, and capped at
    epsilon.

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
    report: Callable[[Booleans], Any] = lambda likely: None,
) -> Leakage:
    """Return the leakage of a channel through reports with these likely sets, with its
    witness.

    Parameters
    ----------
    G
        P(source given target), rows target values.
    sets
        The likely sets of the report and their contrast.
    report
        Function that returns a report with a given likely set, for the witness.
    """
    value, first, second, likely = sets.best_pair(as_matrix(G))
    if value == 0:
        return Leakage(0.0, None)
    return Leakage(value, named_witness(G, first, second, likely, report(likely)))


def relaxation(channel: Floats, value: float, epsilon: float, delta: float) -> float:
    """Return the delta' for which the channel from target to report is (value,
    delta')-LDP.

    delta' = delta (e^l - 1)/(e^eps - 1) = delta E(e^l) [theory: The certified delta]:
    the optimum over all (eps, delta)-LDP mechanisms, and never above the paper's delta
    A.  At epsilon 0 it is delta times the largest total variation distance between two
    rows, at an infinite one delta. Rounded up; a positive delta' stays positive even
    where it underflows.
    """
    if delta == 0 or math.isinf(epsilon):
        return delta
    if epsilon == 0:
        distance = profile(channel, 0.0)
        share = distance + 2 * CELL_ROUNDINGS * UNIT if distance > 0 else 0.0
    else:
        share = math.exp(value - epsilon) * math.expm1(-value) / math.expm1(-epsilon)
    if share == 0 and value == 0:
        return 0.0
    operations = 2 * channel.shape[1] + math.ceil(epsilon)
    return min(delta, math.nextafter(round_up(delta * share, operations), math.inf))


def bounded_leakage(G: Channel | ArrayLike, epsilon: float, delta: float) -> Leakage:
    """Return the largest leakage of any (epsilon, delta)-LDP mechanism, see
    `leakage_bound`.
    """
    matrix = as_matrix(G)
    value, first, second, likely = LikelySets("all", epsilon).best_pair(matrix)
    certified = relaxation(matrix, value, epsilon, delta)
    witness = named_witness(G, first, second, likely, None) if value > 0 else None
    paper = delta * float(matrix[first][likely].sum()) if witness and delta else 0.0
    pure = saturation(matrix) if delta else value
    curve = partial(delta_at, matrix, pure, partial(budget_profile, epsilon, delta))
    return Leakage(value, witness, certified, max(certified, paper), curve)


def relaxed_leakage(
    channel: Channel | ArrayLike,
    pure: Leakage,
    budget: tuple[float, float],
    curve: Callable[[float], float],
) -> Leakage:
    """Return the leakage of a known mechanism with a delta, as a pair (l, delta).

    The pair has l = bound(epsilon), what a pure mechanism of the same epsilon could
    tell, and its delta(l); or (pure, 0) where the supremum over all reports is no
    larger.

    Parameters
    ----------
    channel
        G = P(source given target).
    pure
        The supremum over all reports, which may be far above epsilon, or infinite.
    budget
        Epsilon and delta of the mechanism.
    curve
        Delta as a function of the leakage, see `delta_at`.
    """
    if budget[1]:
        bound = bounded_leakage(channel, *budget)
        if bound.value < pure.value:
            delta = min(bound.delta, curve(bound.value))
            return replace(bound, delta=delta, delta_at=curve)
    return replace(pure, delta_at=curve)


def saturation(matrix: Floats) -> float:
    """Return the limit of the bound as epsilon grows, ln max G[x,u] / G[x',u], rounded
    up.

    Infinite where a source value is possible under some target values only.
    """
    return LikelySets("singletons", math.inf).best_pair(matrix).value
