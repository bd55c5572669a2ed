"""Limits of one pair's leakage among the people, from its counts, over all likely sets at once.

For a likely set S the records with target value x hold its mass with limits L_x(S) and U_x(S),
each wrong with probability e^-c.  Where all hold, the leakage of every S lies between

    ln (1 + lambda L_x(S)) / (1 + lambda U_x'(S))   and   the largest ln (1 + lambda U_x) / (1 +
    lambda L_x')   over x != x',

which factorises for a given S: O(m) after the limits.  Sets and complements share a statement.
Families of up to `MOST_SETS` sets are enumerated (Clopper-Pearson).  All S of larger alphabets are
bounded by straight lines above and below the kl limits, which turn the maximum over S into
Dinkelbach's problem of `solver` [theory-population: The bound over all sets].
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from seepage._numerics import UNIT, Booleans, Floats, Integers, log_ratio, round_down, round_up
from seepage.leakage.deviations import Limits, binomial_lower, binomial_upper, clopper_pearson
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.linear_limits import sums_of_gains, upper_over_all_sets

MOST_SETS = 1 << 12
"""Sets of a family that are enumerated: all of up to 12 values; beyond, straight lines."""

DIRECT = 128
"""Masses up to which every limit is computed; of more, those that a simpler inequality leaves."""

BATCH = 16
"""Sets that rank first whose limits are computed, where there are many."""

_Limit: TypeAlias = Callable[[Integers, Integers, float], Floats]


def statements(sets: LikelySets, size: int) -> int:
    """Return how many two-sided statements about each row cover a family over `size` values."""
    if sets.kind == "all":
        return max(1, (1 << (size - 1)) - 1)
    chosen = 1 if sets.kind == "singletons" else sets.size
    number = math.comb(size, chosen)
    return max(1, number // 2 if 2 * chosen == size else number)


def set_limits(counts: Integers, sets: LikelySets, c: Floats, contrast: Floats) -> Limits:
    """Return limits of the leakages of a stack of pairs.

    Parameters
    ----------
    counts
        Target values by source values, shape (p, m, t), m and t at least 2.
    sets
        The likely sets of the sources' reports.
    c, contrast
        Of each pair: e^-c for each statement, and the contrast of the report.
    """
    size = counts.shape[2]
    if sets.kind == "subsets" and sets.size == size:
        return Limits(np.zeros(len(counts)), np.zeros(len(counts)))
    masks, paired = _masks(sets, size)
    if len(masks) * counts.shape[1] <= DIRECT:
        return _rounded(_every(counts @ masks.T, counts.sum(2), c, contrast, paired), contrast)
    each = [
        _some(table @ masks.T, table.sum(1), level, budget, paired)
        for table, level, budget in zip(counts, c.tolist(), contrast.tolist(), strict=True)
    ]
    lower, upper = np.array(each).T
    return _rounded(Limits(lower, upper), contrast)


def _rounded(found: Limits, contrast: Floats) -> Limits:
    upper = np.minimum(round_up(found.upper, 16) + 16 * UNIT, contrast)
    lower = np.clip(round_down(found.lower, 16) - 16 * UNIT, 0.0, contrast)
    return Limits(lower, np.where(contrast > 0, np.maximum(upper, 0.0), 0.0))


def _masks(sets: LikelySets, size: int) -> tuple[Integers, bool]:
    """Return the sets of a family as rows of 0 and 1, and whether complements belong to it.

    Of a set and its complement, where both belong to it, the one without the last value.
    """
    if sets.kind == "all" or size == 2:
        numbers = np.arange(1, 2 ** (size - 1))
        return (numbers[:, None] >> np.arange(size)) & 1, True
    width = 1 if sets.kind == "singletons" else sets.size
    chosen = np.array(list(combinations(range(size), width)))
    masks = np.zeros((len(chosen), size), dtype=np.int64)
    np.put_along_axis(masks, chosen, 1, axis=1)
    return (masks[masks[:, -1] == 0], True) if 2 * width == size else (masks, False)


def _every(hits: Integers, totals: Integers, c: Floats, contrast: Floats, paired: bool) -> Limits:
    """Return limits from every set; hits of shape (p, m, sets)."""
    masses = clopper_pearson(hits, totals[:, :, None], np.asarray(c)[:, None, None])
    found = _by_set(masses, np.asarray(contrast)[:, None], paired)
    return Limits(found.lower.max(axis=-1), found.upper.max(axis=-1))


def _by_set(masses: Limits, contrast: Floats, paired: bool) -> Limits:
    """Return the limits that each set gives, from limits of masses of shape (..., m, sets)."""
    lower = best_rows(masses.lower, masses.upper, contrast).ratio
    upper = best_rows(masses.upper, masses.lower, contrast).ratio
    if paired:
        high, low = 1.0 - masses.lower, 1.0 - masses.upper
        lower = np.maximum(lower, best_rows(low, high, contrast).ratio)
        upper = np.maximum(upper, best_rows(high, low, contrast).ratio)
    return Limits(lower, upper)


class BestRows(NamedTuple):
    """For each set the two rows of the largest log-ratio, and that ratio."""

    ratio: Floats
    likelier: Integers
    other: Integers


def best_rows(high: Floats, low: Floats, contrast: ArrayLike) -> BestRows:
    """Return the largest log-ratio of one row's `high` to another row's `low`, for each set.

    The two largest and the two smallest suffice: at most one row is both.
    """
    first, last = high.argmax(axis=-2), low.argmin(axis=-2)

    def ratio(x: Integers, y: Integers) -> Floats:
        most = np.take_along_axis(high, x[..., None, :], axis=-2)[..., 0, :]
        least = np.take_along_axis(low, y[..., None, :], axis=-2)[..., 0, :]
        return log_ratio(most - least, least, contrast)

    same = first == last
    if not same.any():
        return BestRows(ratio(first, last), first, last)
    rows = np.arange(high.shape[-2])[:, None]
    second = np.where(rows == first[..., None, :], -np.inf, high).argmax(axis=-2)
    next_last = np.where(rows == last[..., None, :], np.inf, low).argmin(axis=-2)
    swapped = same & (ratio(second, last) >= ratio(first, next_last))
    first, last = np.where(swapped, second, first), np.where(same & ~swapped, next_last, last)
    return BestRows(ratio(first, last), first, last)


def _some(
    hits: Integers, totals: Integers, c: float, contrast: float, paired: bool
) -> tuple[float, float]:
    """Return the same limits of one pair; hits of shape (m, sets).

    A simpler inequality than Clopper-Pearson's, never narrower, ranks sets and rows.  The upper
    limit is exact: binomial limits are computed wherever the simpler ones exceed the largest ratio
    found.  The lower limit is that of the sets which rank first: every set gives a valid one.
    """
    low, high = _simple_limits(hits, totals[:, None], c + math.exp(-c))
    if paired:
        hits = np.hstack([hits, totals[:, None] - hits])
        low, high = np.hstack([low, 1.0 - high]), np.hstack([high, 1.0 - low])

    def exact(guess: BestRows, above: _Limit, below: _Limit) -> float:
        sets = _largest(guess.ratio, 2 * BATCH)
        x, y = guess.likelier[sets], guess.other[sets]
        most, least = above(hits[x, sets], totals[x], c), below(hits[y, sets], totals[y], c)
        return float(log_ratio(most - least, least, contrast).max())

    lower = exact(best_rows(low, high, contrast), binomial_lower, binomial_upper)
    guess = best_rows(high, low, contrast)
    upper = exact(guess, binomial_upper, binomial_lower)
    left = guess.ratio > upper
    hits, low, high = hits[:, left], low[:, left], high[:, left]
    least, most = low.min(axis=0, initial=1.0), high.max(axis=0, initial=0.0)
    for limits, limit, ratio in (
        (high, binomial_upper, log_ratio(high - least, least, contrast)),
        (low, binomial_lower, log_ratio(most - low, low, contrast)),
    ):
        rows, sets = np.nonzero(ratio > upper)
        limits[rows, sets] = limit(hits[rows, sets], totals[rows], c)
    return lower, max(upper, float(best_rows(high, low, contrast).ratio.max(initial=0.0)))


def _largest(values: Floats, count: int) -> Integers:
    """Return the places of the largest values."""
    return (
        np.argpartition(-values, count)[:count] if count < len(values) else np.arange(len(values))
    )


def _simple_limits(hits: Integers, totals: Integers, c: float) -> Limits:
    share = np.divide(hits, totals, out=np.zeros(hits.shape), where=totals > 0)
    radius = np.broadcast_to(c / np.maximum(totals, 0.5), share.shape)
    upper, rest = (_simple_upper(part, radius) for part in (share, 1.0 - share))
    unknown = np.broadcast_to(totals == 0, share.shape)
    return Limits(np.where(unknown, 0.0, 1.0 - rest), np.where(unknown, 1.0, upper))


def _simple_upper(a: Floats, r: Floats) -> Floats:
    """Return a number above `kl_upper` by elementary inequalities.

    kl(a, q) is the integral of (s - a)/(s (1 - s)) over s from a to q, so at least
    (q - a)^2/(2 v) with v the largest s (1 - s) there: q (1 - q), a (1 - a) or 1/4.
    """
    a = np.clip(a, 0.0, 1.0)
    wilson = (a + r + np.sqrt(r * (r + 2 * a * (1 - a)))) / (1 + 2 * r)
    middle = np.where(wilson <= 0.5, wilson, np.maximum(a + np.sqrt(r / 2), 0.5))
    return np.minimum(np.where(a < 0.5, middle, a + np.sqrt(2 * r * a * (1 - a))), 1.0)


# All sets of a large alphabet --------------------------------------------------------------------


def line_limits(tables: Sequence[Integers], sets: LikelySets, c: Floats) -> Limits:
    """Return limits of the leakages of all targets from one source with too many sets to try.

    Parameters
    ----------
    tables
        Target values by source values, shapes (m, t), m at least 2.
    sets
        The likely sets of the source's report.
    c
        Of each table: e^-c for each statement.

    Notes
    -----
    Upper limits are over all sets, whatever their size.
    """
    contrast = sets.contrast
    lower, upper = np.zeros(len(tables)), np.full(len(tables), contrast)
    people = [table.sum(axis=1) for table in tables]
    some = [k for k, number in enumerate(people) if (number > 0).sum() > 1]
    full = [k for k in some if people[k].all()]
    if some and contrast > 0:
        known = [tables[k][people[k] > 0] for k in some]
        lower[some] = _found_lower(known, c[some], sets)
    if full and contrast > 0:
        shares = [tables[k] / people[k][:, None] for k in full]
        upper[full] = upper_over_all_sets(shares, [c[k] / people[k] for k in full], contrast)
    return _rounded(Limits(lower, upper), np.full(len(tables), contrast))


def _found_lower(tables: Sequence[Integers], c: Floats, sets: LikelySets) -> Floats:
    """Return the largest lower limits among sets that tell two rows apart in their table."""
    counts, contrast = np.concatenate(tables), sets.contrast
    people = counts.sum(axis=1)
    rows, level = counts / people[:, None], np.repeat(c, [len(table) for table in tables])
    wobble = np.sqrt(level / people / 2)
    ends = np.cumsum([len(table) for table in tables])
    best = np.zeros(len(tables))
    for ratio in np.exp(min(contrast, 50.0) * np.array([0.1, 0.6])):
        found = []
        for start, end in zip(ends - [len(table) for table in tables], ends, strict=True):
            some = slice(start, end)
            gain = sums_of_gains(rows[some], ratio * rows[some])
            gain -= wobble[some, None] + ratio * wobble[some]
            np.fill_diagonal(gain, -np.inf)
            found.append(start + np.divmod(_largest(gain.ravel(), 2 * BATCH), end - start))
        x, y = np.concatenate(found, axis=1)
        table = np.repeat(np.arange(len(tables)), [part.shape[1] for part in found])
        chosen = _favoured(rows[x] - ratio * rows[y], sets.size if sets.kind == "subsets" else None)
        above, below = ((counts[row] * chosen).sum(axis=1) for row in (x, y))
        high = binomial_lower(above, people[x], level[x])
        low = binomial_upper(below, people[y], level[y])
        np.maximum.at(best, table, log_ratio(high - low, low, contrast))
    return best


def _favoured(scores: Floats, width: int | None) -> Booleans:
    """Return the values of positive score, or as many as given of the largest."""
    if width is None:
        return scores > 0
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    kept = np.argpartition(-scores, width - 1, axis=1)[:, :width]
    np.put_along_axis(chosen, kept, True, axis=1)
    return chosen
