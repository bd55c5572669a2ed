"""Dinkelbach's iteration over pairs of target values and their likely sets, with NumPy.

At ratio H the best S of a pair holds the u with G[x, u] > H G[x', u], or, where its size is given,
those with the largest G[x, u] - H G[x', u].  The pair that gains most gives the next H, until no
pair can raise it; see `likely_sets`.  `size` is the number of inputs in S, None for every S.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from seepage._numerics import (
    LARGE_EPSILON,
    ROOT_SCALE,
    UNIT,
    Booleans,
    Floats,
    Integers,
    log_ratio,
    one_minus_exp,
)

BLOCK = 1 << 14
"""Cells (pairs of rows times source values) handled at once: a block fits the cache."""

SCRATCH = 1 << 17
"""The same where the memory is used over and over."""

GAIN_CELLS = 1 << 16
"""Differences of rows in `sums_of_gains` at once: what a core's cache holds."""

SHORT = 128
"""Rows of at most this many source values are compared, two at a time, without NumPy."""

FEW = 24
"""A product with ones takes the sum of this few terms as precisely, and sooner."""

ONES = np.ones(FEW)

GAIN_ROUNDINGS = 64
"""Roundings in the gains of two pairs: six in each term, and those of a sum taken in halves."""

GUESS = 0.5
"""The share of the budget at which the first pair is looked for: it is often the best one."""

ATTAINED = 1 - 2.0**-40
"""Share of the budget above which a pair counts as attaining it; ties are broken at log-ratio 0."""

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


class Pair(NamedTuple):
    """The same of one channel: a log-ratio with the two rows and the S that attain it."""

    value: float
    likelier: int
    other: int
    likely: Booleans


def climb(channels: Floats, epsilon: Floats, size: int | None = None) -> Best:
    """Raise each channel's log-ratio from 0 to its maximum over S of one size, or over every S.

    Pairs are chosen by their gain, which is quick to compute.  But its rounding error is relative
    to the mass of S, and that of one pair can hide the whole gain of another.  Where more than
    `NEGLIGIBLE` of the log-ratio may be hidden, as with large budgets, all pairs are compared in
    the end by the ratios themselves, which are right to a few roundings; elsewhere it is added.

    Many small channels are climbed at once, large ones one by one.
    """
    cells = channels.shape[1] ** 2 * channels.shape[2]
    together = max(1, BLOCK // cells) if len(channels) > 1 else 1
    best = Best.of_nothing(channels)
    for begin in range(0, len(channels), together):
        part = slice(begin, begin + together)
        if together > 1:
            _climb_together(channels[part], epsilon[part], size, [field[part] for field in best])
        else:
            alone = climb_alone(channels[begin], float(epsilon[begin]), size)
            best.value[begin], best.likely[begin] = alone.value, alone.likely
            best.likelier[begin], best.other[begin] = alone.likelier, alone.other
    return best


def _climb_together(channels: Floats, epsilon: Floats, size: int | None, best: list[Any]) -> None:
    """Raise the log-ratios of a stack in place, all pairs of rows of all channels at once."""
    value, likelier, other, likely = best

    def raised(active: Integers, by_ratio: bool) -> Integers:
        """Take the pair of each channel that measures most; return the channels it raises."""
        known, budget = value[active], epsilon[active]
        rows, others = channels[active][:, :, None], channels[active][:, None]
        half = np.minimum(known / 2, LARGE_EPSILON)[:, None, None, None]
        scores = rows * np.exp(-half) - others * np.exp(half)
        if by_ratio:
            measured = _ratios(best_sets(scores, size), rows, others, budget[:, None, None])
        else:
            measured = _gains(scores, size)
        indices = measured.reshape(len(active), -1).argmax(axis=1)
        first, second = np.divmod(indices, channels.shape[1])
        pairs = channels[active, first], channels[active, second]
        ratios, sets = _between(*pairs, budget, known, size)
        better = ratios > known
        higher: Integers = active[better]
        value[higher], likely[higher] = ratios[better], sets[better]
        likelier[higher], other[higher] = first[better], second[better]
        return higher

    active = np.arange(len(channels))
    while len(active):
        while len(active):
            active = raised(active, by_ratio=False)
        with np.errstate(invalid="ignore"):
            hidden = _hidden(value, epsilon, size)
        certain = hidden <= NEGLIGIBLE * value
        doubtful = np.flatnonzero(~certain)
        active = raised(doubtful, by_ratio=True) if len(doubtful) else doubtful
    value[certain] += hidden[certain]


def climb_alone(channel: Floats, epsilon: float, size: int | None = None) -> Pair:
    """Raise the log-ratio of one channel, some rows x at a time.

    Each block of rows begins where the last one ended.  At the end of a block no pair in it is
    above the value then by more than may be hidden, and so none is above `upper`.
    """
    step = max(1, SCRATCH // channel.size)
    large = size is None and step < len(channel) and 0 < epsilon <= LARGE_EPSILON
    best = _start(channel, epsilon) if large else _nothing(channel)
    upper = 0.0
    scratch = np.empty((min(step, len(channel)), *channel.shape))
    for by_ratio in (False, True):
        for begin in range(0, len(channel), step):
            rows = channel[begin : begin + step]
            space = None if by_ratio else scratch[: len(rows)]
            found = climb_rows(rows, channel, epsilon, best.value, size, space)
            if found is not None:
                best = Pair(found.value, begin + found.likelier, found.other, found.likely)
            hidden = _hidden(best.value, epsilon, size)
            upper = max(upper, best.value + hidden) if hidden < math.inf else math.inf
        if upper - best.value <= NEGLIGIBLE * best.value:
            return Pair(upper, *best[1:])
    return best


def _nothing(channel: Floats) -> Pair:
    return Pair(0.0, 0, 0, np.zeros(channel.shape[1], dtype=np.bool_))


def _start(channel: Floats, epsilon: float) -> Pair:
    """Return the log-ratio of the pair that the best singleton tells apart."""
    scale, floor = _scale_and_floor(epsilon)
    high, low = np.maximum.reduce(channel, axis=0), np.minimum.reduce(channel, axis=0)
    quotients = scale * (high - low) / (floor + scale * low)
    column = channel[:, int(quotients.argmax())]
    first, second = int(column.argmax()), int(column.argmin())
    value, likely = _between_two(channel[first], channel[second], epsilon, 0.0, None)
    return Pair(value, first, second, likely) if value > 0 else _nothing(channel)


@lru_cache(maxsize=256)
def _scale_and_floor(epsilon: float) -> tuple[float, float]:
    """Return 1 - e^-eps and e^-eps, both scaled as in `log_ratio`."""
    scale = one_minus_exp(epsilon) * ROOT_SCALE**2
    return scale, (float(np.exp(-epsilon / 2)) * ROOT_SCALE) ** 2


def climb_rows(
    rows: Floats,
    others: Floats,
    epsilon: float,
    start: float,
    size: int | None = None,
    scratch: Floats | None = None,
) -> Pair | None:
    """Return the largest log-ratio above `start` of a row and one of the others; None if none is.

    Parameters
    ----------
    rows, others
        Candidates for x and for x', both over the same source values.
    epsilon
        The contrast of the report.
    start
        The log-ratio to be exceeded.
    size
        The size of S; None for every S.
    scratch
        Pairs are compared by their log-ratios, right to a few roundings; or, where memory for one
        number for each pair and source value is given, by their gains, which is quicker.
    """
    value, pair, each = start, (-1, -1), rows[:, None]
    guess = 0.0 if start else GUESS * epsilon
    likely: Booleans | None = None
    while True:
        half = min(max(value, guess) / 2, LARGE_EPSILON)
        above, below = (each * math.exp(-half), others * math.exp(half)) if half else (each, others)
        if scratch is None:
            sets = best_sets(above - below, size)
            measured = _ratios(sets, each, others, epsilon)
        else:
            measured = _gains(np.subtract(above, below, out=scratch), size)
        index = int(measured.argmax())
        by_gain = scratch is not None and not guess
        if by_gain and not _can_raise(measured.item(index), epsilon, half):
            break
        chosen = divmod(index, len(others))
        if size is None and chosen == pair:
            break
        found, its = _between_two(rows[chosen[0]], others[chosen[1]], epsilon, value, size)
        if guess and found > ATTAINED * epsilon:
            found = 0.0
        if found > value:
            value, pair, likely = found, chosen, its
        elif not guess:
            break
        guess = 0.0
    return None if likely is None else Pair(value, *pair, likely)


def _hidden(value: Any, epsilon: Any, size: int | None) -> Any:
    """Return how much of the log-ratio the rounding errors of gains can hide at most.

    At H the gains of two pairs are off by at most k UNIT times the masses that they are sums of:
    1, and H where S must have inputs of negative score.  A pair whose gain is larger by that
    exceeds H by lambda times it at most.
    """
    mass = 0.0 if size is None else np.logaddexp(0.0, value)
    exponent = epsilon - value + mass
    if isinstance(exponent, float):
        power = float(np.exp(min(exponent, LARGE_EPSILON)))
        return GAIN_ROUNDINGS * UNIT * one_minus_exp(epsilon) * power
    return GAIN_ROUNDINGS * UNIT * -np.expm1(-epsilon) * np.exp(np.minimum(exponent, LARGE_EPSILON))


def _can_raise(gain: float, epsilon: float, half: float) -> bool:
    """Return whether lambda E(H) > H - 1 for a pair with this gain, E(H) / sqrt(H) [theory].

    Always where exp(epsilon) nears overflow.  If not, no pair of a smaller gain is above H by more
    than may be hidden.
    """
    if epsilon > LARGE_EPSILON:
        return True
    return -math.expm1(-epsilon) * gain >= math.exp(-epsilon) * 2 * math.sinh(half)


def _gains(scores: Floats, size: int | None) -> Floats:
    """Return the sum of the scores over the best S of each pair; they are overwritten."""
    if size is not None:
        return np.asarray(np.partition(scores, -size, axis=-1)[..., -size:].sum(axis=-1))
    np.maximum(scores, 0.0, out=scores)
    terms = scores.shape[-1]
    return np.asarray(scores.sum(axis=-1) if terms > FEW else scores @ ONES[:terms])


def _ratios(likely: Booleans, likelier: Floats, other: Floats, epsilon: Any) -> Floats:
    """Return the log-ratio of each pair of rows for its S."""
    gaps = np.where(likely, likelier - other, 0.0).sum(axis=-1)
    return log_ratio(gaps, np.where(likely, other, 0.0).sum(axis=-1), epsilon)


def best_sets(scores: Floats, size: int | None) -> Booleans:
    """Return the inputs of positive score, or those of the largest scores."""
    if size is None:
        return scores > 0
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    kept = np.argpartition(scores, -size, axis=-1)[..., -size:]
    np.put_along_axis(chosen, kept, True, axis=-1)
    return chosen


def _between(
    likelier: Floats, other: Floats, epsilon: Floats, value: Floats, size: int | None
) -> tuple[Floats, Booleans]:
    """Return a log-ratio and its S for each pair of rows, shape (n, t).

    Over every S it is the largest.  The best S holds the u with the largest G[x,u] / G[x',u], so
    the inputs are sorted by it and every beginning is tried [paper, Algorithm 2, lines 5 to 13],
    O(t log t).  For S of one size, it is that of the S with the largest scores at `value`.
    """
    gap = likelier - other
    if size is not None:
        half = np.minimum(value / 2, LARGE_EPSILON)[:, None]
        chosen = best_sets(gap * np.exp(-half) - other * (2 * np.sinh(half)), size)
        return _ratios(chosen, likelier, other, epsilon), chosen
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        order = np.argsort(np.where(gap > 0, other / gap, np.inf), axis=1, kind="stable")
    every = np.arange(len(gap))
    rows = every[:, None], order
    ratios = log_ratio(gap[rows].cumsum(axis=1), other[rows].cumsum(axis=1), epsilon[:, None])
    last = ratios.argmax(axis=1)
    chosen = np.empty(gap.shape, dtype=np.bool_)
    chosen[rows] = np.arange(gap.shape[1]) <= last[:, None]
    return ratios[every, last], chosen


def best_of_pairs(
    likelier: Floats, other: Floats, epsilon: float, size: int | None
) -> tuple[Floats, Booleans]:
    """Return the largest log-ratio and its S for each pair of rows, shape (n, t)."""
    budget = np.full(len(other), epsilon)
    value, likely = _between(likelier, other, budget, np.zeros(len(other)), size)
    while size is not None:
        found, chosen = _between(likelier, other, budget, np.maximum(value, 0.0), size)
        grown = found > value
        if not grown.any():
            break
        value[grown], likely[grown] = found[grown], chosen[grown]
    return value, likely


def _between_two(
    likelier: Floats, other: Floats, epsilon: float, value: float, size: int | None
) -> tuple[float, Booleans]:
    """Return the same for two rows; rows that are short without NumPy, whose calls cost more.

    In exact numbers the quotient falls after its maximum.  Rounded, a source of next to no mass
    leaves it as it is before others raise it, so every beginning is tried.
    """
    if size is not None or len(other) > SHORT or epsilon > LARGE_EPSILON:
        budget, known = np.array([epsilon]), np.array([value])
        found, chosen = _between(likelier[None], other[None], budget, known, size)
        return float(found[0]), chosen[0]
    scale, floor = _scale_and_floor(epsilon)
    terms = zip((likelier - other).tolist(), other.tolist(), strict=True)
    order = sorted([(low / gap, u, gap, low) for u, (gap, low) in enumerate(terms) if gap > 0])
    gap_sum, low_sum, most, length = 0.0, 0.0, 0.0, 0
    for index, (_, _, gap, low) in enumerate(order):
        gap_sum += gap
        low_sum += low
        quotient = scale * gap_sum / (floor + scale * low_sum)
        if quotient > most:
            most, length = quotient, index + 1
    chosen = np.zeros(len(other), dtype=np.bool_)
    chosen[[term[1] for term in order[:length]]] = True
    return float(np.log1p(most)), chosen


# Rows given by two masses, and all pairs of rows -------------------------------------------------


class BestRows(NamedTuple):
    """For each set the two rows of the largest log-ratio, and that ratio."""

    ratio: Floats
    likelier: Integers
    other: Integers


def best_rows(high: Floats, low: Floats, contrast: ArrayLike) -> BestRows:
    """Return the largest log-ratio of one row's `high` to another row's `low`, for each set.

    The two largest and the two smallest suffice: at most one row is both.  Masses above 1 count as
    1, those below 0 as 0.
    """
    first, last = high.argmax(axis=-2), low.argmin(axis=-2)

    def ratio(x: Integers, y: Integers) -> Floats:
        most = np.take_along_axis(high, x[..., None, :], axis=-2)[..., 0, :]
        least = np.maximum(np.take_along_axis(low, y[..., None, :], axis=-2)[..., 0, :], 0.0)
        return log_ratio(np.minimum(most, 1.0) - least, least, contrast)

    same = first == last
    if not same.any():
        return BestRows(ratio(first, last), first, last)
    others, rest = high.copy(), low.copy()
    np.put_along_axis(others, first[..., None, :], -np.inf, axis=-2)
    np.put_along_axis(rest, last[..., None, :], np.inf, axis=-2)
    second, next_last = others.argmax(axis=-2), rest.argmin(axis=-2)
    swapped = same & (ratio(second, last) >= ratio(first, next_last))
    first, last = np.where(swapped, second, first), np.where(same & ~swapped, next_last, last)
    return BestRows(ratio(first, last), first, last)


def sums_of_gains(gains: Floats, losses: Floats) -> Floats:
    """Return for each two rows the sum over u of max(0, gains[x, u] - losses[x', u])."""
    step = max(1, GAIN_CELLS // losses.size)
    starts = range(0, max(len(gains), 1), step)
    parts = (gains[start : start + step, None] - losses for start in starts)
    return np.concatenate([np.maximum(part, 0.0, out=part).sum(axis=2) for part in parts])
