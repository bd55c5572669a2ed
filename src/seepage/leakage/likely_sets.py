"""The largest likelihood ratio of a two-level report, by which sets of inputs it can favour.

Given its report, a two-level mechanism makes each input u of the source either likely
(probability c e^eps) or unlikely (c).  With S the likely inputs, the report is

    H(x, x', S) = (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),   lambda = e^eps - 1,

times likelier under target value x than under x', where G_x(S) is the sum of G[x, u] over S
(theory: The bound; the paper's equation for H-bar).  Mechanisms differ in which S they allow:

* `best_singleton`: one input (GRR, the exponential mechanism), O(m t);
* `best_subset`: exactly omega inputs (subset selection);
* `best_of_all`: any inputs (unary encodings, local hashing, SHE): the paper's Algorithm 2.

The latter two are Dinkelbach's iteration: at ratio H the best S of a pair holds the u with
G[x, u] > H G[x', u] (or the omega largest differences).  The pair that gains most gives the next
H, until no pair can raise it.  Each round costs O(m^2 t) and three or four suffice.  No sort is
needed where the paper sorts, O(m^2 t log t), but for the one pair that wins.

All functions take a stack of channels, shape (p, m, t), and one epsilon each, shape (p,).
"""

import sys
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seepage._numerics import (
    LARGE_EPSILON,
    UNIT,
    Booleans,
    Floats,
    Integers,
    log_ratio,
    round_up,
)
from seepage.leakage.solver import ANY, Best, climb, sized

__all__ = [
    "LikelySets",
    "best_of_all",
    "best_singleton",
    "best_subset",
    "profile",
]

COMPILED_FROM = 1 << 27
"""From this many cells (p m^2 t) on, loading the compiled kernel pays."""

COMPILED_LOADED_FROM = 1 << 8
"""Once the kernel is loaded, it is used for channels of at least this many cells (m t)."""


CELL_ROUNDINGS = 8
"""Roundings granted to each cell of a channel: its own, as a count over a sum, and in choosing."""


@dataclass(frozen=True)
class LikelySets:
    """Which inputs a report can favour, and by how much.

    Parameters
    ----------
    kind
        `"singletons"`, `"subsets"` (of exactly `size` inputs) or `"all"`.
    contrast
        ln of the likelihood of a likely input over that of an unlikely one.
    size
        The number of likely inputs, for `"subsets"`.
    """

    kind: Literal["singletons", "subsets", "all"]
    contrast: float
    size: int = 1

    def best(self, channels: Floats, contrast: Floats | None = None) -> Best:
        """Return the largest log-ratio of each channel of a stack, rounded up.

        `contrast` may give each channel its own in place of that of the sets.
        """
        epsilon = np.full(len(channels), self.contrast) if contrast is None else contrast
        if self.kind == "singletons":
            return best_singleton(channels, epsilon)
        if self.kind == "subsets":
            return best_subset(channels, epsilon, self.size)
        return best_of_all(channels, epsilon)

    def likely_each(
        self, likelier: Floats, other: Floats, contrast: Floats, value: Floats
    ) -> Booleans:
        """Return S for many pairs of rows, each with its own contrast and best ratio."""
        if self.kind == "singletons":
            ratios = log_ratio(likelier - other, other, contrast[:, None])
            return np.asarray(np.arange(likelier.shape[1]) == ratios.argmax(axis=1)[:, None])
        rule = ANY if self.kind == "all" else sized(self.size)
        return rule.between(likelier, other, contrast, value)[1]

    def slopes(self, channels: Floats, contrast: Floats) -> Floats:
        """Return d value / d contrast of each channel at its optimal S.

        e^eps (A / (1 + lambda A) - B / (1 + lambda B)), with A and B the sums over S in the
        likelier and the other row [theory: The bound]; between 0 and 1.
        """
        found = self.best(channels, contrast)
        floor, weight = np.exp(-contrast), -np.expm1(-contrast)

        def term(row: Integers) -> Floats:
            cells = channels[np.arange(len(channels)), row]
            mass = np.where(found.likely, cells, 0.0).sum(axis=1)
            total = floor + weight * mass
            return np.asarray(np.divide(mass, total, out=np.zeros_like(mass), where=mass > 0))

        return np.where(found.value > 0, term(found.likelier) - term(found.other), 0.0)


def best_singleton(channels: Floats, epsilon: Floats) -> Best:
    """Return max over u of ln (1 + lambda max_x G[x,u]) / (1 + lambda min_x G[x,u])."""
    high, low = channels.max(axis=1), channels.min(axis=1)
    ratios = log_ratio(high - low, low, epsilon[:, None])
    every, source = np.arange(len(channels)), ratios.argmax(axis=1)
    column = channels[every, :, source]
    likely = np.arange(channels.shape[2]) == source[:, None]
    best = Best(ratios[every, source], column.argmax(axis=1), column.argmin(axis=1), likely)
    return _safe(best, epsilon, 1)


def best_of_all(channels: Floats, epsilon: Floats) -> Best:
    """Return the largest log-ratio over every pair of target values and every S.

    This is the upper bound for any mechanism with this epsilon [paper, Algorithm 2].
    """
    if _compiled_pays(channels, epsilon):
        from seepage.leakage.compiled_solver import climb_all_subsets

        best = climb_all_subsets(channels, epsilon)
    else:
        best = climb(channels, epsilon, ANY)
    return _safe(best, epsilon, channels.shape[2])


def _compiled_pays(channels: Floats, epsilon: Floats) -> bool:
    """Say whether to use the compiled kernel: for large work, or once it is loaded anyway."""
    pairs, targets, sources = channels.shape
    loaded = (
        "seepage.leakage.compiled_solver" in sys.modules
        and targets * sources >= COMPILED_LOADED_FROM
    )
    large = pairs * targets**2 * sources >= COMPILED_FROM
    return bool((loaded or large) and epsilon.max() <= LARGE_EPSILON)


def best_subset(channels: Floats, epsilon: Floats, size: int) -> Best:
    """Return the largest log-ratio over every pair of target values and every S of this size.

    Where S is everything, a report says nothing.
    """
    terms = channels.shape[2]
    if size == terms:
        return Best.of_nothing(channels)
    if size == 1:
        return best_singleton(channels, epsilon)
    best = climb(channels, epsilon, sized(size))
    return _safe(best, epsilon, terms, cancelling=2 * terms + 8)


def profile(channel: Floats, value: float) -> tuple[float, int, int]:
    """Return E(H) = max over x, x' of sum_u max(0, G[x,u] - H G[x',u]) at H = exp(value).

    The *hockey-stick profile* of a channel decides everything that a budget can make of it:
    exp(leakage) is the one H >= 1 with lambda E(H) = H - 1.  Also returned: x and x'.
    """
    best = (0.0, 0, 0)
    for likelier, row in enumerate(channel):
        left = row - channel
        if value < LARGE_EPSILON:
            left -= np.expm1(value) * channel
        else:
            left[channel > 0] = 0.0
        totals = np.maximum(left, 0.0).sum(axis=1)
        other = int(totals.argmax())
        if totals[other] > best[0]:
            best = (float(totals[other]), likelier, other)
    return best


def _safe(best: Best, epsilon: Floats, terms: int, cancelling: int = 0) -> Best:
    """Return the value raised by its rounding error, and never above epsilon.

    Sums of `terms` gaps of one sign, and the choice among them, carry some three relative
    roundings a term.  Every cell of a channel is rounded itself, and gaps of both signs cancel:
    each such rounding moves the log-ratio by at most (1 - e^-eps) units a row.
    """
    guard = -np.expm1(-epsilon) * (2 * (cancelling + CELL_ROUNDINGS) * UNIT)
    raised = np.where(best.value > 0, round_up(best.value, 3 * terms + 8) + guard, 0.0)
    return best._replace(value=np.minimum(raised, epsilon))
