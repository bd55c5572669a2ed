"""The likelihood-ratio solver: the largest ratio of a two-level report, over pairs and likely sets.

Given its report, a two-level mechanism makes each input u of the source either likely
(probability c e^eps) or unlikely (c).  With S the likely inputs, the report is

    H(x, x', S) = (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),   lambda = e^eps - 1,

times likelier under target value x than under x', where G_x(S) is the sum of G[x, u] over S
(theory: The bound; the paper's equation for H-bar).  Mechanisms differ in the sets S they allow:

* singletons: one input (GRR, the exponential mechanism), O(m t);
* subsets: exactly omega inputs (subset selection);
* all: any inputs (unary encodings, local hashing, SHE): the paper's Algorithm 2.

The latter two are solved by Dinkelbach's iteration: at ratio H the best S of a pair holds the u
with G[x, u] > H G[x', u] (or the omega largest differences).  The pair with the largest gain gives
the next H, until no pair can raise it.  An iteration costs O(m^2 t) and two or three suffice.  The
paper sorts the inputs of every pair, O(m^2 t log t); here only pairs that raise H are sorted.

`LikelySets.largest` searches all pairs of rows of each channel of a stack, shape (p, m, t), and
`best_pair` those of one channel; `best_of_pairs` takes the pairs as given.  `two_level_leakage`
returns the leakage of one channel with its witness: the two target values and the S that attain it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage._numerics import (
    LARGE_EPSILON,
    UNIT,
    Booleans,
    Floats,
    log_ratio,
    one_minus_exp,
    round_up,
)
from seepage.data.channel import Channel, as_matrix
from seepage.leakage import Leakage, named_witness
from seepage.leakage.solver import Pair, best_of_pairs, dinkelbach

PAIR_CELLS = 1 << 16
"""Cells per block in `best_by_pair`, so that it fits a core's cache."""

CELL_ROUNDINGS = 8
"""Roundings allowed for each cell of a channel: a count over a sum, and the choice of S."""


@dataclass(frozen=True)
class LikelySets:
    """Family of admissible likely sets S, with the contrast of the report.

    Parameters
    ----------
    kind
        `"singletons"`, `"subsets"` (of exactly `size` inputs) or `"all"`.
    contrast
        The log-likelihood ratio of a report between a likely and an unlikely input, in nats.
    size
        The number of likely inputs, for `"subsets"`.
    """

    kind: Literal["singletons", "subsets", "all"]
    contrast: float
    size: int = 1

    def largest(self, channels: Floats, contrast: Floats | None = None) -> Floats:
        """Return the largest log-ratio of each channel of a stack, rounded up.

        `contrast`, one per channel, replaces that of the sets where given.
        """
        epsilon = np.full(len(channels), self.contrast) if contrast is None else contrast
        if self._has_singletons(channels.shape[2]):
            return np.asarray(_safe(_singleton_ratios(channels, epsilon).max(axis=1), epsilon, 1))
        budgets = zip(channels, epsilon.tolist(), strict=True)
        return np.array([self.best_pair(channel, budget).value for channel, budget in budgets])

    def best_pair(self, channel: Floats, contrast: float | None = None) -> Pair:
        """Return the largest log-ratio of one channel, rounded up, with what attains it.

        `contrast` replaces that of the sets where given.
        """
        epsilon, terms = self.contrast if contrast is None else contrast, channel.shape[1]
        if self._has_singletons(terms):
            ratios = _singleton_ratios(channel, epsilon)
            source = int(ratios.argmax())
            column, value = channel[:, source], _safe(float(ratios[source]), epsilon, 1)
            likely = np.arange(terms) == source
            return Pair(value, int(column.argmax()), int(column.argmin()), likely)
        if self.kind == "all":
            pair = dinkelbach(channel, epsilon)
            return Pair(_safe(pair.value, epsilon, terms), *pair[1:])
        if self.size == terms:
            return Pair(0.0, 0, 0, np.zeros(terms, dtype=np.bool_))
        pair = dinkelbach(channel, epsilon, self.size)
        return Pair(_safe(pair.value, epsilon, terms, 2 * terms + 8), *pair[1:])

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
        if self.kind == "subsets" and self.size == terms:
            return values.reshape(-1, rows, rows)
        cancelling = 2 * terms + 8 if self.kind == "subsets" else 0
        step = max(1, PAIR_CELLS // (rows * terms))
        for start in range(0, len(values), step):
            index, x = np.divmod(np.arange(start, min(start + step, len(values))), rows)
            pairs = (channels[index, x][:, None], channels[index])
            likelier, other = (side.reshape(-1, terms) for side in np.broadcast_arrays(*pairs))
            budget = np.repeat(contrast[index], rows)
            found = self.best_of_pairs(likelier, other, budget)[0]
            values[start : start + step] = _safe(found, budget, terms, cancelling).reshape(-1, rows)
        return values.reshape(-1, rows, rows)

    def best_of_pairs(
        self, likelier: Floats, other: Floats, contrast: Floats | None = None
    ) -> tuple[Floats, Booleans]:
        """Return the largest log-ratio and its S for each ordered pair of rows, not rounded up.

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
        size = self.size if self.kind == "subsets" else None
        return best_of_pairs(likelier, other, budget, size)

    def count(self, size: int) -> int:
        """Return the number of sets over `size` inputs, without the empty and the full one."""
        if self.kind == "singletons":
            return size
        return math.comb(size, self.size) if self.kind == "subsets" else 2**size - 2

    def masks(self, size: int) -> tuple[Floats, bool]:
        """Return the sets over `size` inputs as 0-1 rows, and whether the family has complements.

        Where it has, only one of each set and its complement is returned: the one without the
        last input.
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
    high, low = channels.max(axis=-2), channels.min(axis=-2)
    return log_ratio(high - low, low, np.asarray(epsilon)[..., None])


def profile(channel: Floats, value: float) -> float:
    """Return E(H) = max over x, x' of sum_u max(0, G[x,u] - H G[x',u]) at H = exp(value).

    The *hockey-stick profile* of a channel determines its leakage at every budget: exp(leakage) is
    the unique H >= 1 with lambda E(H) = H - 1.
    """
    if value < LARGE_EPSILON:
        rise = np.expm1(value) * channel
    else:
        rise = np.where(channel > 0, np.inf, 0.0)
    return max(float(np.maximum(row - channel - rise, 0.0).sum(axis=1).max()) for row in channel)


def _safe(value: Any, epsilon: Any, terms: int, cancelling: int = 0) -> Any:
    """Return log-ratios raised by more than their rounding error, and capped at epsilon.

    Sums of `terms` gaps of one sign, and the choice among them, have about three relative
    roundings per term.  The cells of a channel are rounded too, and gaps of both signs cancel:
    each such rounding moves the log-ratio by at most (1 - e^-eps) units per row.
    """
    if isinstance(value, float):
        guard = one_minus_exp(epsilon) * (2 * (cancelling + CELL_ROUNDINGS) * UNIT)
        return min(round_up(value, 3 * terms + 8) + guard, epsilon) if value > 0 else 0.0
    guard = -np.expm1(-epsilon) * (2 * (cancelling + CELL_ROUNDINGS) * UNIT)
    return np.minimum(round_up(value, 3 * terms + 8) + guard, epsilon) * (value > 0)


def two_level_leakage(
    G: Channel | ArrayLike,
    sets: LikelySets,
    delta: float = 0.0,
    report: Callable[[Booleans], Any] = lambda likely: None,
) -> Leakage:
    """Return the leakage of a channel through reports with these likely sets, with its witness.

    Parameters
    ----------
    G
        P(source given target), rows target values.
    sets
        The likely sets of the report and their contrast.
    delta
        The mechanism's relaxation, from which that of the leakage follows.
    report
        Function that returns a report with a given likely set, for the witness.

    Notes
    -----
    The value is rounded up, so it is a strict upper bound; O(m^2 t), or O(m t) for singletons, with
    m target and t source values.
    """
    matrix = as_matrix(G)
    value, first, second, likely = sets.best_pair(matrix)
    certified = relaxation(matrix, value, sets.contrast, delta)
    if value == 0:
        return Leakage(0.0, None, certified, certified)
    witness = named_witness(G, first, second, likely, report(likely))
    paper = delta * float(matrix[first][likely].sum()) if delta else 0.0
    return Leakage(value, witness, certified, max(certified, paper))


def relaxation(channel: Floats, value: float, epsilon: float, delta: float) -> float:
    """Return the delta' for which the channel from target to report is (value, delta')-LDP.

    delta' = delta (e^l - 1)/(e^eps - 1) = delta E(e^l) [theory: The certified delta]: the optimum
    over all (eps, delta)-LDP mechanisms, and never above the paper's delta A.  At epsilon 0 it is
    delta times the largest total variation distance between two rows, at an infinite one delta.
    Rounded up; a positive delta' stays positive even where it underflows.
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
