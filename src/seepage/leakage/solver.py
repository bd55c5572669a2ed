"""Dinkelbach's iteration over all pairs of target values and their likely sets, with NumPy.

At ratio H the best S of a pair holds the u with G[x, u] > H G[x', u], or, where its size is
given, those with the largest G[x, u] - H G[x', u].  The pair that gains most gives the next H,
until no pair can raise it; see `ratios`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from seepage._numerics import LARGE_EPSILON, UNIT, Booleans, Floats, Integers, log_ratio

__all__ = ["ANY", "Best", "Rule", "climb", "sized"]

BLOCK = 1 << 16
"""Cells handled at once: a block of (pair, source value) fits the cache."""

GAIN_ROUNDINGS = 64
"""Roundings in the gains of two pairs: six in each term, and those of a sum taken in halves."""

NEGLIGIBLE = 2.0**-41
"""The share of a log-ratio that is added where it may be hidden, rather than searched for."""


class Best(NamedTuple):
    """The largest log-ratio of each channel, the two target values and the S that attain it."""

    value: Floats
    likelier: Integers
    other: Integers
    likely: Booleans

    @classmethod
    def of_nothing(cls, channels: Floats) -> "Best":
        """Return the log-ratio 0 of every channel, to be raised in place."""
        count, _, sources = channels.shape
        none = np.zeros(count, dtype=np.int64)
        return cls(np.zeros(count), none, none.copy(), np.zeros((count, sources), dtype=np.bool_))


Between = Callable[[Floats, Floats, Floats, Floats], tuple[Floats, Booleans]]
"""The log-ratio of two rows and its S, row by row, from both rows, epsilon and the best so far."""


class Rule(NamedTuple):
    """Which S there are.

    Parameters
    ----------
    gain
        The sum of the scores G[x,u] - H G[x',u] over the best S of each pair.
    choose
        That S itself.
    between
        The best S of two rows with its log-ratio.
    forced
        Whether S may have to hold inputs of negative score.
    """

    gain: Callable[[Floats], Floats]
    choose: Callable[[Floats], Booleans]
    between: Between
    forced: bool = False


def sized(size: int) -> Rule:
    """Return the rule of all S of one size."""

    def gain(scores: Floats) -> Floats:
        return np.asarray(np.partition(scores, -size, axis=-1)[..., -size:].sum(axis=-1))

    return Rule(gain, partial(_largest, size=size), _between_sized(size), forced=True)


def _sum_positive(scores: Floats) -> Floats:
    return np.asarray(np.maximum(scores, 0.0).sum(axis=-1))


def _positive(scores: Floats) -> Booleans:
    return scores > 0


def _largest(scores: Floats, size: int) -> Booleans:
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    kept = np.argpartition(scores, -size, axis=-1)[..., -size:]
    np.put_along_axis(chosen, kept, True, axis=-1)
    return chosen


def _between_any(
    likelier: Floats, other: Floats, epsilon: Floats, value: Floats
) -> tuple[Floats, Booleans]:
    """Return the largest log-ratio over every S.

    The best S holds the u with the largest G[x,u] / G[x',u], so the inputs are sorted by it and
    every beginning is tried [paper, Algorithm 2, lines 5 to 13], O(t log t).
    """
    every, gap = np.arange(len(likelier)), likelier - other
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        order = np.argsort(np.where(gap > 0, other / gap, np.inf), axis=1, kind="stable")
    rows = every[:, None], order
    ratios = log_ratio(gap[rows].cumsum(axis=1), other[rows].cumsum(axis=1), epsilon[:, None])
    last = ratios.argmax(axis=1)
    chosen = np.empty(gap.shape, dtype=np.bool_)
    chosen[rows] = np.arange(gap.shape[1]) <= last[:, None]
    return ratios[every, last], chosen


def _between_sized(size: int) -> Between:
    """Return the log-ratio of the S of this size with the largest scores at the best so far."""

    def between(
        likelier: Floats, other: Floats, epsilon: Floats, value: Floats
    ) -> tuple[Floats, Booleans]:
        gap, half = likelier - other, _half(value)[:, None]
        chosen = _largest(gap * np.exp(-half) - other * (2 * np.sinh(half)), size)
        gaps = np.where(chosen, gap, 0.0).sum(axis=1)
        lows = np.where(chosen, other, 0.0).sum(axis=1)
        return log_ratio(gaps, lows, epsilon), chosen

    return between


ANY = Rule(_sum_positive, _positive, _between_any)
"""The rule of all S."""


def climb(channels: Floats, epsilon: Floats, rule: Rule) -> Best:
    """Raise each channel's log-ratio from 0 to its maximum, as many at once as fit the cache."""
    step = max(1, BLOCK // (channels.shape[1] * channels.shape[2]))
    parts = [
        _climb_together(channels[begin : begin + step], epsilon[begin : begin + step], rule)
        for begin in range(0, len(channels), step)
    ]
    return Best(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _climb_together(channels: Floats, epsilon: Floats, rule: Rule) -> Best:
    """Do Dinkelbach's iteration: at the maximum no pair has an S of a larger ratio.

    Pairs are chosen by their gain, which is quick to compute.  But its rounding error is relative
    to the mass of S, and that of one pair can hide the whole gain of another.  Where more than
    `NEGLIGIBLE` of the log-ratio may be hidden, as with large budgets, all pairs are compared in
    the end by the ratios themselves, which are right to a few roundings; elsewhere it is added.
    """
    best = Best.of_nothing(channels)

    def raised(active: Integers, measure: Measure) -> Integers:
        """Take the pair of each channel that measures most; return the channels it raises."""
        known, budget = best.value[active], epsilon[active]
        first, second = _foremost(channels[active], known, budget, measure)
        rows = channels[active, first], channels[active, second]
        ratios, likely = rule.between(*rows, budget, known)
        better = ratios > known
        higher = active[better]
        best.value[higher], best.likely[higher] = ratios[better], likely[better]
        best.likelier[higher], best.other[higher] = first[better], second[better]
        return higher

    active = np.arange(len(channels))
    while len(active):
        while len(active):
            active = raised(active, lambda scores, *_: rule.gain(scores))
        hidden = _hidden(best.value, epsilon, rule)
        certain = hidden <= NEGLIGIBLE * best.value
        doubtful = np.flatnonzero(~certain)
        active = raised(doubtful, partial(_ratio, rule.choose)) if len(doubtful) else doubtful
    best.value[certain] += hidden[certain]
    return best


def _hidden(value: Floats, epsilon: Floats, rule: Rule) -> Floats:
    """Return how much of the log-ratio the rounding errors of gains can hide at most.

    At H the gains of two pairs are off by at most k UNIT times the masses that they are sums of:
    1, and H where S must have inputs of negative score.  A pair whose gain is larger by that
    exceeds H by lambda times it at most.
    """
    mass = np.logaddexp(0.0, value) if rule.forced else 0.0
    with np.errstate(invalid="ignore"):
        power = np.exp(np.minimum(epsilon - value + mass, LARGE_EPSILON))
    return np.asarray(GAIN_ROUNDINGS * UNIT * -np.expm1(-epsilon) * power)


Measure = Callable[[Floats, Floats, Floats, Floats], Floats]
"""How much each pair tells at H, from the scores, both rows and epsilon."""


def _ratio(
    choose: Callable[[Floats], Booleans],
    scores: Floats,
    likelier: Floats,
    other: Floats,
    epsilon: Floats,
) -> Floats:
    """Return the log-ratio of the best S of each pair at H."""
    likely = choose(scores)
    gaps = np.where(likely, likelier - other, 0.0).sum(axis=-1)
    return log_ratio(gaps, np.where(likely, other, 0.0).sum(axis=-1), epsilon)


def _foremost(
    channels: Floats, value: Floats, epsilon: Floats, measure: Measure
) -> tuple[Integers, Integers]:
    """Return the target values x and x' of each channel that measure most at H = exp(value).

    Scores are taken over sqrt(H), which keeps both terms from overflow.
    """
    half = _half(value)[:, None, None]
    above, below = channels * np.exp(-half), (channels * np.exp(half))[:, None]
    count, targets, _ = channels.shape
    every, found = np.arange(count), np.zeros((3, count))
    step = max(1, BLOCK // channels.size)
    for begin in range(0, targets, step):
        mine = slice(begin, begin + step)
        measured = measure(
            above[:, mine, None] - below,
            channels[:, mine, None],
            channels[:, None],
            epsilon[:, None, None],
        ).reshape(count, -1)
        pair = measured.argmax(axis=1)
        most = measured[every, pair]
        found = np.where(most > found[0], [most, begin + pair // targets, pair % targets], found)
    return found[1].astype(np.int64), found[2].astype(np.int64)


def _half(value: Floats) -> Floats:
    """Return ln sqrt(H); an H beyond e^1380 needs no distinction."""
    return np.asarray(np.minimum(value / 2, LARGE_EPSILON))
