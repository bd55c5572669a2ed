"""Dinkelbach's iteration over pairs of target values and their likely sets.

At ratio H the score of input u is G[x, u] - H G[x', u]; the best S of a pair holds the
inputs of positive score, or those of the `size` largest scores where the size of S is
given.  The pair with the largest gain, the sum of its scores over S, gives the next H,
until no pair can raise it; see `likely_sets`.  Scores and gains are scaled where they
could overflow.

The largest gain at H is the *hockey-stick profile* E(H) of the channel, from which the
delta of every leakage follows: `delta_at`.

NumPy does the work; for channels of at least `COMPILED_CELLS` cells `dinkelbach_numba`
(Numba) does. The shape of the channel and the budget alone decide, never what the
process did before, so that the same channel always has the same value and witness.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats
from seepage._core.log_ratios import LARGE_EPSILON, log_ratio, one_minus_exp
from seepage._core.rounding import ROOT_SCALE, UNIT

BLOCK = 1 << 17
"""Cells (pairs of rows times source values) per block, whose memory is reused."""


COMPILED_CELLS = 1 << 22
"""Minimum number of cells (m^2 t) of a channel for Numba, which takes 2 to 4 s to load:
as long as NumPy takes for hundreds of such channels."""


MAX_SHORT_ROW = 128
"""Maximum length of two rows that are compared in pure Python, which is then faster."""


MAX_PRODUCT_TERMS = 24
"""Maximum number of terms that are summed by a product with ones: as precise, and
faster."""


ONES = np.ones(MAX_PRODUCT_TERMS)
"""The other factor of these products."""


GAIN_ROUNDINGS = 64
"""Roundings in the gains of two pairs: six in each term, and those of pairwise
summation."""


FIRST_SHARE = 0.5
"""The first pair is chosen at this share of the budget: it is often the best one."""


ATTAINED_SHARE = 1 - 2.0**-40
"""Share of the budget above which a pair counts as attaining it; ties are broken at
log-ratio 0."""


NEGLIGIBLE = 2.0**-41
"""Relative error of gains up to which it is added to the log-ratio, without further
search."""


class Pair(NamedTuple):
    """The largest log-ratio of one channel, with the x, x' and S that attain it."""

    value: float
    likelier: int
    other: int
    likely: Booleans

    def is_of(self, likelier: int, other: int) -> bool:
        """Return whether the best pair of Dinkelbach's iteration is the pair of these
        rows.
        """
        return self.likelier == likelier and self.other == other


def dinkelbach(channel: Floats, epsilon: float, size: int | None = None) -> Pair:
    """Solve for the largest log-ratio of one channel over S of one size, or over every
    S, by Dinkelbach's iteration.

    Pairs are chosen by their gain, which is fast to compute.  But its rounding error is
    relative to the mass of S, and for one pair can exceed the gain of another
    (`_hidden`).  Where that is more than `NEGLIGIBLE` of the log-ratio, as with large
    budgets, all pairs are compared in the end by the ratios themselves, which are right
    to a few roundings; elsewhere the error is added.

    Rows x are taken in blocks.  Each block starts from the value of the previous one.
    At the end of a block none of its pairs exceeds the current value by more than
    `_hidden`, and so none exceeds `upper`.
    """
    if size is None and use_compiled(channel.shape, epsilon):
        from seepage.leakage.dinkelbach_numba import best_rows_of_all_sets

        first, second = best_rows_of_all_sets(channel, epsilon)
        value, likely = _best_set(channel[first], channel[second], epsilon)
        return Pair(value, first, second, likely)
    step = min(len(channel), max(1, BLOCK // channel.size))
    best: Pair | None = None
    value = 0.0
    upper = 0.0
    scratch = np.empty((step, *channel.shape))
    for by_ratio in (False, True):
        for first in range(0, len(channel), step):
            rows = channel[first : first + step]
            better = dinkelbach_rows(
                rows,
                channel,
                epsilon,
                start=value,
                size=size,
                scratch=None if by_ratio else scratch[: len(rows)],
            )
            if better:
                value = better.value
                best = better._replace(likelier=first + better.likelier)
            hidden = _hidden(value, epsilon, size)
            # At an infinite value `hidden` is NaN.
            upper = max(upper, value + hidden) if hidden < math.inf else math.inf
        if best and upper - value <= NEGLIGIBLE * value:
            return best._replace(value=upper)
    return best or Pair(0.0, 0, 0, np.zeros(channel.shape[1], dtype=np.bool_))


def use_compiled(shape: tuple[int, ...], epsilon: float) -> bool:
    """Return whether Dinkelbach's iteration for a channel of this shape, m x t, is that
    of Numba rather than NumPy.
    """
    targets, sources = shape
    large = targets**2 * sources >= COMPILED_CELLS and epsilon <= LARGE_EPSILON
    return large and checks.is_installed("numba")


@lru_cache(maxsize=256)
def _scale_and_floor(epsilon: float) -> tuple[float, float]:
    """Return Dinkelbach's constants 1 - e^-eps and e^-eps, both scaled as in
    `log_ratio`.
    """
    scale = one_minus_exp(epsilon) * ROOT_SCALE**2
    return scale, (float(np.exp(-epsilon / 2)) * ROOT_SCALE) ** 2


def dinkelbach_rows(
    rows: Floats,
    others: Floats,
    epsilon: float,
    start: float,
    *,
    size: int | None = None,
    scratch: Floats | None = None,
) -> Pair | None:
    """Solve for the largest log-ratio above `start` of a row and one of the others by
    Dinkelbach's iteration; None if none is.

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
        Memory of shape (rows, others, t) to compare pairs by their gains, which is
        faster; None to compare them by their log-ratios, right to a few roundings.
    """
    best: Pair | None = None
    value = start
    trial = 0.0 if start else FIRST_SHARE * epsilon
    x = rows[:, None]
    if rows.shape[1] <= MAX_PRODUCT_TERMS:
        # Contiguous pairs: NumPy's inner loops are longer.
        x = x.repeat(len(others), axis=1)
    while True:
        height = max(value, trial)
        above, below = _scaled_rows(x, others, height)
        if scratch is None:
            likely = best_sets(above - below, size)
            criterion = _ratios(likely, x, others, epsilon)
        else:
            criterion = _gains(np.subtract(above, below, out=scratch), size)
        index = int(criterion.argmax())
        by_gain = scratch is not None and not trial
        if by_gain and not _can_raise(criterion.item(index), epsilon, height):
            return best
        likelier, other = divmod(index, len(others))
        if size is None and best is not None and best.is_of(likelier, other):
            return best
        ratio, likely = _best_set(
            rows[likelier], others[other], epsilon, value=value, size=size
        )
        if trial and ratio > ATTAINED_SHARE * epsilon:
            ratio = 0.0
        if ratio > value:
            value = ratio
            best = Pair(ratio, likelier, other, likely)
        elif not trial:
            return best
        trial = 0.0


def _scaled_rows(rows: Floats, others: Floats, height: float) -> tuple[Floats, Floats]:
    """Return the rows that Dinkelbach's iteration compares, G[x] and H G[x'] at H =
    exp(height), both scaled down where H would overflow.
    """
    above = rows
    excess = min(max(0.0, height - LARGE_EPSILON), LARGE_EPSILON)
    if excess:
        above = rows * math.exp(-excess)
    return above, others * math.exp(min(height, LARGE_EPSILON))


def _hidden(value: float, epsilon: float, size: int | None) -> float:
    """Return how far a pair that Dinkelbach's iteration rejects can exceed the
    log-ratio, due to rounding.

    At H the gains of two pairs have errors of at most k UNIT times the masses that they
    are sums of: 1, and H where S must have inputs of negative score.  A pair whose gain
    is larger by that exceeds H by at most lambda times it.
    """
    mass = 0.0 if size is None else float(np.logaddexp(0.0, value))
    power = math.exp(min(epsilon - value + mass, LARGE_EPSILON))
    return GAIN_ROUNDINGS * UNIT * one_minus_exp(epsilon) * power


def _can_raise(gain: float, epsilon: float, value: float) -> bool:
    """Return whether Dinkelbach's iteration can raise its value: lambda E(H) > H - 1
    for the gain E(H), H = exp(value) [theory].

    Always true above `LARGE_EPSILON`.  If false, no pair of smaller gain exceeds H by
    `_hidden`.
    """
    if epsilon > LARGE_EPSILON:
        return True
    return -math.expm1(-epsilon) * gain >= math.exp(-epsilon) * math.expm1(value)


def _gains(scores: Floats, size: int | None) -> Floats:
    """Return the gain of each pair in Dinkelbach's problem, the sum of the scores over
    the best S, flat; overwrites `scores`.
    """
    scores = scores.reshape(-1, scores.shape[-1])
    if size is not None:
        largest = np.partition(scores, -size, axis=1)[:, -size:]
        return np.asarray(largest.sum(axis=1))
    np.maximum(scores, 0.0, out=scores)
    terms = scores.shape[1]
    if terms <= MAX_PRODUCT_TERMS:
        return np.asarray(scores.dot(ONES[:terms]))
    return np.asarray(scores.sum(axis=1))


def _ratios(likely: Booleans, likelier: Floats, other: Floats, epsilon: Any) -> Floats:
    """Return the log-ratio of each pair of rows in Dinkelbach's iteration for its S."""
    gaps = np.where(likely, likelier - other, 0.0).sum(axis=-1)
    return log_ratio(gaps, np.where(likely, other, 0.0).sum(axis=-1), epsilon)


def best_sets(scores: Floats, size: int | None) -> Booleans:
    """Return Dinkelbach's best sets S by sums of scores: the inputs of positive score,
    or those of the `size` largest scores.
    """
    if size is None:
        return scores > 0
    sets = np.zeros(scores.shape, dtype=np.bool_)
    kept = np.argpartition(scores, -size, axis=-1)[..., -size:]
    np.put_along_axis(sets, kept, True, axis=-1)
    return sets


def best_of_pairs(
    likelier: Floats, other: Floats, epsilon: Floats, size: int | None
) -> tuple[Floats, Booleans]:
    """Return the largest log-ratio and its S for each pair of rows, solved by
    Dinkelbach's iteration, shape (n, t).

    For S of one size by iteration.  An input of large mass whose own ratio is H has a
    score of 0 up to rounding, which can hide the scores of all others.  So after
    convergence the scores are lowered by more than their rounding errors, and the
    iteration is continued: a larger ratio than H cannot be hidden then [if F(S) is the
    score of S and M(S) its mass, the S of the largest F - margin M has a ratio above H
    by about the margin wherever any set's is above it by twice as much].
    """
    if size is None:
        return _best_prefixes(likelier, other, epsilon)
    start = np.zeros(len(other))
    values, likely = _best_of_size(likelier, other, epsilon, start, size)
    for margin in (0.0, 16 * (other.shape[1] + 4) * UNIT, 0.0):
        better = np.ones(len(other), dtype=np.bool_)
        while better.any():
            height = np.maximum(values, 0.0)
            ratios, sets = _best_of_size(
                likelier, other, epsilon, height, size, margin=margin
            )
            better = ratios > values
            values[better] = ratios[better]
            likely[better] = sets[better]
    return values, likely


def _best_of_size(
    likelier: Floats,
    other: Floats,
    epsilon: Floats,
    value: Floats,
    size: int,
    *,
    margin: float = 0.0,
) -> tuple[Floats, Booleans]:
    """Return Dinkelbach's S of one size with the largest scores at `value`, and its
    log-ratio.

    For each pair of rows, shape (n, t).  Each score is lowered by `margin` times the
    sum of its two terms.
    """
    half = np.minimum(value / 2, LARGE_EPSILON)[:, None]
    scores = (likelier - other) * np.exp(-half) - other * (2 * np.sinh(half))
    if margin:
        scores -= margin * (likelier * np.exp(-half) + other * np.exp(half))
    likely = best_sets(scores, size)
    return _ratios(likely, likelier, other, epsilon), likely


def _best_prefixes(
    likelier: Floats, other: Floats, epsilon: Floats
) -> tuple[Floats, Booleans]:
    """Solve by sorting: return the largest log-ratio over every S, and its S, for each
    pair of rows.

    The best S holds the u with the largest G[x,u] / G[x',u], so the inputs are sorted
    by it and every prefix is tried [paper, Algorithm 2, lines 5 to 13], O(t log t).
    """
    gap = likelier - other
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        keys = np.where(gap > 0, other / gap, np.inf)
        order = np.argsort(keys, axis=1, kind="stable")
    pairs = np.arange(len(gap))
    cells = (pairs[:, None], order)
    ratios = log_ratio(
        gap[cells].cumsum(axis=1), other[cells].cumsum(axis=1), epsilon[:, None]
    )
    last = ratios.argmax(axis=1)
    likely = np.empty(gap.shape, dtype=np.bool_)
    likely[cells] = np.arange(gap.shape[1]) <= last[:, None]
    return ratios[pairs, last], likely


def _best_set(
    likelier: Floats,
    other: Floats,
    epsilon: float,
    *,
    value: float = 0.0,
    size: int | None = None,
) -> tuple[float, Booleans]:
    """Return the log-ratio of two rows and its S by Dinkelbach's iteration: the best S,
    or that of one size with the largest scores at `value`.

    Short rows are compared in pure Python, which is faster.
    """
    if size is None and len(other) <= MAX_SHORT_ROW and epsilon <= LARGE_EPSILON:
        return _best_prefix(likelier, other, epsilon)
    rows = (likelier[None], other[None], np.array([epsilon]))
    if size is None:
        ratios, sets = _best_prefixes(*rows)
    else:
        ratios, sets = _best_of_size(*rows, np.array([value]), size)
    return float(ratios[0]), sets[0]


def _best_prefix(
    likelier: Floats, other: Floats, epsilon: float
) -> tuple[float, Booleans]:
    """Return Dinkelbach's `_best_prefixes` of two rows, in pure Python.

    In exact arithmetic the quotient decreases after its maximum.  Rounded, a source of
    tiny mass can leave it unchanged before others raise it, so every prefix is tried.
    """
    scale, floor = _scale_and_floor(epsilon)
    terms = zip((likelier - other).tolist(), other.tolist(), strict=True)
    order = sorted(
        [(low / gap, u, gap, low) for u, (gap, low) in enumerate(terms) if gap > 0]
    )
    gap_sum = 0.0
    low_sum = 0.0
    largest = 0.0
    length = 0
    for index, (_, _, gap, low) in enumerate(order):
        gap_sum += gap
        low_sum += low
        quotient = scale * gap_sum / (floor + scale * low_sum)
        if quotient > largest:
            largest = quotient
            length = index + 1
    likely = np.zeros(len(other), dtype=np.bool_)
    for _, u, _, _ in order[:length]:
        likely[u] = True
    return float(np.log1p(largest)), likely
