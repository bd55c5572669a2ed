"""The largest likelihood ratio of a two-level report, by which sets of inputs it can favour.

Given its report, a two-level mechanism makes each input u of the source either likely
(probability c e^eps) or unlikely (c).  With S the likely inputs, the report is

    H(x, x', S) = (1 + lambda G_x(S)) / (1 + lambda G_x'(S)),   lambda = e^eps - 1,

times likelier under target value x than under x', where G_x(S) is the sum of G[x, u] over S
(THEORY section 3 and 4; the paper's equation for H-bar).  Mechanisms differ in which S they allow:

* `best_singleton`: one input (GRR, the exponential mechanism), O(m t);
* `best_subset`: exactly omega inputs (subset selection);
* `best_of_all`: any inputs (unary encodings, local hashing, SHE): the paper's Algorithm 2.

The latter two are Dinkelbach's iteration: at ratio H the best S of a pair holds the u with
G[x, u] > H G[x', u] (or the omega largest differences); H grows until no pair can raise it.
Each round costs O(m^2 t) and about five suffice; a pair that does not exceed H is dropped for
good.  No sort is needed where the paper sorts, O(m^2 t log t).

All functions take a stack of channels, shape (p, m, t), and one epsilon each, shape (p,).
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from seepage._numerics import LARGE_EPSILON, Booleans, Floats, Integers, log_ratio, round_up

__all__ = [
    "Best",
    "LikelySets",
    "best_of_all",
    "best_singleton",
    "best_subset",
    "profile",
    "relaxation",
]

BLOCK = 1 << 16
"""Cells handled at once: a block of (pair, source value) fits the cache."""

COMPILED_FROM = 1 << 27
"""From this many cells (p m^2 t) on, loading the compiled kernel pays."""

COMPILED_LOADED_FROM = 1 << 8
"""Once the kernel is loaded, it is used for channels of at least this many cells (m t)."""


class Best(NamedTuple):
    """The largest log-ratio of each channel and the two target values that attain it."""

    value: Floats
    likelier: Integers
    other: Integers

    def copy(self) -> "Best":
        """Return one that can be changed in place."""
        return Best(self.value.copy(), self.likelier.copy(), self.other.copy())


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

    def likely(self, likelier: Floats, other: Floats, value: float) -> Booleans:
        """Return the set S that attains the best ratio between two rows of a channel."""
        if self.kind == "singletons":
            ratios = log_ratio(likelier - other, other, self.contrast)
            return np.asarray(np.arange(len(likelier)) == int(np.argmax(ratios)))
        if self.kind == "subsets":
            return _largest(likelier[None], other[None], np.array([value]), self.size).ravel()
        return _exceeding(likelier[None], other[None], np.array([value])).ravel()


def best_singleton(channels: Floats, epsilon: Floats) -> Best:
    """Return max over u of ln (1 + lambda max_x G[x,u]) / (1 + lambda min_x G[x,u])."""
    return _safe(_singleton(channels, epsilon), epsilon, 1)


def _singleton(channels: Floats, epsilon: Floats) -> Best:
    high, low = channels.max(axis=1), channels.min(axis=1)
    ratios = log_ratio(high - low, low, epsilon[:, None])
    every, report = np.arange(len(channels)), ratios.argmax(axis=1)
    column = channels[every, :, report]
    return Best(ratios[every, report], column.argmax(axis=1), column.argmin(axis=1))


def best_of_all(channels: Floats, epsilon: Floats) -> Best:
    """Return the largest log-ratio over every pair of target values and every S.

    This is the upper bound for any mechanism with this epsilon [paper, Algorithm 2].
    """
    start = _singleton(channels, epsilon)
    if _compiled_pays(channels, epsilon):
        from seepage._compiled import climb_all_subsets

        best = climb_all_subsets(channels, epsilon, start)
    else:
        best = _climb(channels, epsilon, start, _exceeding)
    winners = np.stack([np.arange(len(channels)), best.likelier, best.other])
    value = _ratios(channels, winners, epsilon, best.value, _exceeding)
    return _safe(best._replace(value=value), epsilon, channels.shape[2])


def _compiled_pays(channels: Floats, epsilon: Floats) -> bool:
    """Say whether to use the compiled kernel: for large work, or once it is loaded anyway."""
    pairs, targets, sources = channels.shape
    loaded = "seepage._compiled" in sys.modules and targets * sources >= COMPILED_LOADED_FROM
    large = pairs * targets**2 * sources >= COMPILED_FROM
    return bool((loaded or large) and epsilon.max() <= LARGE_EPSILON)


def best_subset(channels: Floats, epsilon: Floats, size: int) -> Best:
    """Return the largest log-ratio over every pair of target values and every S of this size."""
    if size == 1:
        return best_singleton(channels, epsilon)
    nobody = np.zeros(len(channels), dtype=np.int64)
    start = Best(np.zeros(len(channels)), nobody, nobody)

    def choose(likelier: Floats, other: Floats, value: Floats) -> Booleans:
        return _largest(likelier, other, value, size)

    return _safe(_climb(channels, epsilon, start, choose), epsilon, channels.shape[2])


def profile(channel: Floats, value: float) -> tuple[float, int, int]:
    """Return E(H) = max over x, x' of sum_u max(0, G[x,u] - H G[x',u]) at H = exp(value).

    The *hockey-stick profile* of a channel decides everything that a budget can make of it:
    exp(leakage) is the one H >= 1 with lambda E(H) = H - 1.  Also returned: x and x'.
    """
    best = (0.0, 0, 0)
    for likelier, row in enumerate(channel):
        gaps = row - np.exp(value) * channel if value < LARGE_EPSILON else _beyond(row, channel)
        totals = np.maximum(gaps, 0.0).sum(axis=1)
        other = int(totals.argmax())
        if totals[other] > best[0]:
            best = (float(totals[other]), likelier, other)
    return best


def relaxation(channel: Floats, value: float, epsilon: float, delta: float) -> float:
    """Return delta' with which a target's channel is (value, delta')-LDP, rounded up.

    delta' = delta (e^l - 1)/(e^eps - 1) = delta E(e^l) [THEORY section 3]: the optimum over all
    (eps, delta)-LDP mechanisms, and never above the paper's delta A.  At epsilon 0 it is delta
    times the largest total variation distance between two rows.
    """
    if delta == 0 or len(channel) == 1:
        return 0.0
    if epsilon == 0:
        share = profile(channel, 0.0)[0]
    else:
        share = math.exp(value - epsilon) * math.expm1(-value) / math.expm1(-epsilon)
    return min(delta, round_up(delta * share, 2 * channel.shape[1]))


def _beyond(row: Floats, channel: Floats) -> Floats:
    """Return what is left of a row at an enormous H: the mass where the other row is 0."""
    return np.where(channel == 0, row, 0.0)


Choose = Callable[[Floats, Floats, Floats], Booleans]


def _exceeding(likelier: Floats, other: Floats, value: Floats) -> Booleans:
    """Return S = {u : G[x,u] > H G[x',u]}, row by row, H = exp(value).

    Written with exp(-value), which cannot overflow; a cell that only x can produce is always in.
    """
    scaled = likelier * np.exp(-value)[:, None]
    return np.asarray((scaled > other) | ((other == 0) & (likelier > 0)))


def _largest(likelier: Floats, other: Floats, value: Floats, size: int) -> Booleans:
    """Return the S of this size with the largest G[x,u] - H G[x',u], row by row."""
    scores = likelier * np.exp(-value)[:, None] - other
    kept = np.argpartition(-scores, size - 1, axis=1)[:, :size]
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    np.put_along_axis(chosen, kept, True, axis=1)
    return chosen


def _climb(channels: Floats, epsilon: Floats, start: Best, choose: Choose) -> Best:
    """Raise each channel's log-ratio to its maximum by Dinkelbach's iteration.

    The first sweep goes through the target values x one by one and drops the pairs that the
    profile rules out; the rounds after it evaluate the pairs still alive at the best ratio so
    far.  A pair whose ratio does not exceed that can never win.  Each round raises some channel
    to the ratio of another set, so the rounds end.
    """
    best = start.copy()
    survivors = []
    for likelier in range(channels.shape[1]):
        pairs = _worth_a_look(channels, epsilon, best.value, likelier)
        survivors.append(_round(channels, epsilon, best, pairs, choose))
    alive = np.concatenate(survivors, axis=1)
    while alive.shape[1]:
        alive = _round(channels, epsilon, best, alive, choose)
    return best


def _worth_a_look(channels: Floats, epsilon: Floats, value: Floats, likelier: int) -> Integers:
    """Return the (channel, x, x') of one x that the profile does not rule out, as three rows.

    No set S lifts a pair above H unless lambda sum_u max(0, G[x,u] - H G[x',u]) > H - 1; divided
    by H e^eps so that nothing overflows, with q = exp(-value) and w = exp(-eps):
    (1 - w) sum_u max(0, q G[x,u] - G[x',u]) > w (1 - q).
    """
    scaled = channels[:, likelier] * np.exp(-value)[:, None]
    excess = np.maximum(scaled[:, None, :] - channels, 0.0).sum(axis=2)
    limit = np.exp(-epsilon) * -np.expm1(-value)
    alive = -np.expm1(-epsilon)[:, None] * excess > limit[:, None]
    alive |= (value > LARGE_EPSILON)[:, None]
    alive[:, likelier] = False
    channel, other = np.nonzero(alive)
    return np.stack([channel, np.full(len(channel), likelier), other])


def _round(
    channels: Floats, epsilon: Floats, best: Best, pairs: Integers, choose: Choose
) -> Integers:
    """Evaluate pairs at the best ratio so far, raise it in place, return those that exceeded it."""
    threshold = best.value[pairs[0]]
    ratios = np.empty(pairs.shape[1])
    step = max(1, BLOCK // channels.shape[2])
    for begin in range(0, len(ratios), step):
        block = pairs[:, begin : begin + step]
        ratios[begin : begin + step] = _ratios(channels, block, epsilon, best.value, choose)
    exceeding = ratios > threshold
    if exceeding.any():
        pairs, ratios = pairs[:, exceeding], ratios[exceeding]
        _raise(best, pairs, ratios)
        return pairs
    return pairs[:, :0]


def _ratios(
    channels: Floats, pairs: Integers, epsilon: Floats, value: Floats, choose: Choose
) -> Floats:
    channel, first, second = pairs
    likelier, other = channels[channel, first], channels[channel, second]
    chosen = choose(likelier, other, value[channel])
    gap = np.where(chosen, likelier - other, 0.0).sum(axis=1)
    low = np.where(chosen, other, 0.0).sum(axis=1)
    return log_ratio(gap, low, epsilon[channel])


def _raise(best: Best, pairs: Integers, ratios: Floats) -> None:
    """Write each channel's largest ratio and its pair; ratios exceed what is known."""
    ascending = np.argsort(ratios, kind="stable")
    channel, likelier, other = pairs[:, ascending]
    best.value[channel] = ratios[ascending]
    best.likelier[channel] = likelier
    best.other[channel] = other


def _safe(best: Best, epsilon: Floats, terms: int) -> Best:
    """Return the value raised by its rounding error, and never above epsilon.

    Sums of `terms` cells carry that many relative roundings; choosing S by rounded comparisons
    moves the log-ratio by at most (1 - e^-eps) times as many units.
    """
    guard = -np.expm1(-epsilon) * (4 * (terms + 8) * 2.0**-53)
    raised = np.where(best.value > 0, round_up(best.value, 2 * terms) + guard, 0.0)
    return best._replace(value=np.minimum(raised, epsilon))
