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

from itertools import combinations
from math import comb

import numpy as np

from seepage._numerics import UNIT, Booleans, Floats, Integers, log_ratio, round_down, round_up
from seepage.leakage.deviations import Limits, binomial_lower, binomial_upper, clopper_pearson
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.linear_limits import row_pairs, upper_over_all_sets

MOST_SETS = 1 << 12
"""Sets of a family that are enumerated: all of up to 12 values; beyond, straight lines."""

DIRECT = 64
"""Sets up to which every limit is computed; of more, those that a simpler inequality leaves."""

BATCH = 16
"""Sets whose limits are computed at once where there are many."""


def statements(sets: LikelySets, size: int) -> int:
    """Return how many two-sided statements about each row cover a family over `size` values."""
    if sets.kind == "all":
        return max(1, (1 << (size - 1)) - 1)
    chosen = 1 if sets.kind == "singletons" else sets.size
    number = comb(size, chosen)
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
    if statements(sets, size) <= MOST_SETS:
        masks, paired = _masks(sets, size)
        if len(masks) <= DIRECT:
            return _rounded(_every(counts @ masks.T, counts.sum(2), c, contrast, paired), contrast)
        each = [
            _some(table @ masks.T, table.sum(1), level, budget, paired)
            for table, level, budget in zip(counts, c.tolist(), contrast.tolist(), strict=True)
        ]
    else:
        width = sets.size if sets.kind == "subsets" else None
        each = [
            _lines(table, level, budget, width)
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
    lower = best_rows(masses.lower, masses.upper, contrast)
    upper = best_rows(masses.upper, masses.lower, contrast)
    if paired:
        high, low = 1.0 - masses.lower, 1.0 - masses.upper
        lower = np.maximum(lower, best_rows(low, high, contrast))
        upper = np.maximum(upper, best_rows(high, low, contrast))
    return Limits(lower, upper)


def best_rows(high: Floats, low: Floats, contrast: Floats) -> Floats:
    """Return the largest log-ratio of one row's `high` to another row's `low`, for each set.

    The two largest and the two smallest suffice: at most one row is both.
    """
    first, last = high.argmax(axis=-2)[..., None, :], low.argmin(axis=-2)[..., None, :]
    most = np.take_along_axis(high, first, axis=-2)[..., 0, :]
    least = np.take_along_axis(low, last, axis=-2)[..., 0, :]
    ratio = log_ratio(most - least, least, contrast)
    same = (first == last)[..., 0, :]
    if not same.any():
        return ratio
    rows = np.arange(high.shape[-2])[:, None]
    second = np.where(rows == first, -np.inf, high).max(axis=-2)
    next_least = np.where(rows == last, np.inf, low).min(axis=-2)
    apart = np.maximum(
        log_ratio(second - least, least, contrast),
        log_ratio(most - next_least, next_least, contrast),
    )
    return np.where(same, apart, ratio)


def _some(
    hits: Integers, totals: Integers, c: float, contrast: float, paired: bool
) -> tuple[float, float]:
    """Return the same limits of one pair; hits of shape (m, sets).

    A simpler inequality than Clopper-Pearson's, never narrower, ranks the sets; exact limits are
    computed in this order until no set left can exceed the largest.  The lower limit is that of
    the sets which rank first: every set gives a valid one.
    """
    budget = np.array(contrast)
    guess = _by_set(_simple_limits(hits, totals[:, None], c + 1e-3), budget, paired)

    def exact(chosen: Integers) -> Limits:
        masses = clopper_pearson(hits[:, chosen], totals[:, None], c)
        return _by_set(masses, budget, paired)

    order, upper, done = np.argsort(-guess.upper), 0.0, 0
    while done < len(order) and guess.upper[order[done]] > upper:
        upper = max(upper, float(exact(order[done : done + BATCH]).upper.max()))
        done += BATCH
    first = np.argsort(-guess.lower)[: 2 * BATCH]
    return float(exact(first).lower.max()), upper


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


def _lines(
    counts: Integers, c: float, contrast: float, width: int | None = None
) -> tuple[float, float]:
    """Return limits over all sets of one pair, or all of one width, counts of shape (m, t)."""
    totals = counts.sum(axis=1)
    known = totals > 0
    rows, people = counts[known] / totals[known, None], totals[known]
    lower = _found_lower(counts[known], rows, c, contrast, width) if known.sum() > 1 else 0.0
    if contrast == 0 or not known.all():
        return lower, contrast
    return lower, upper_over_all_sets(rows, c / people, contrast)


def _found_lower(
    counts: Integers, rows: Floats, c: float, contrast: float, width: int | None
) -> float:
    """Return the largest lower limit among sets that tell two rows apart in the table."""
    people = counts.sum(axis=1)
    first, second = row_pairs(len(rows))
    likelier, other = rows[first], rows[second]
    best = 0.0
    for ratio in np.exp(min(contrast, 50.0) * np.array([0.1, 0.6])):
        chosen = _favoured(likelier - ratio * other, width)
        high, low = ((part * chosen).sum(axis=1) for part in (likelier, other))
        high = 1.0 - _simple_upper(1.0 - high, c / people[first])
        low = _simple_upper(low, c / people[second])
        guess = log_ratio(high - low, low, contrast)
        top = np.argsort(-guess)[:BATCH]
        x, y = first[top], second[top]
        above, below = ((counts[row] * chosen[top]).sum(axis=1) for row in (x, y))
        high, low = binomial_lower(above, people[x], c), binomial_upper(below, people[y], c)
        best = max(best, float(log_ratio(high - low, low, contrast).max()))
    return best


def _favoured(scores: Floats, width: int | None) -> Booleans:
    """Return the values of positive score, or as many as given of the largest."""
    if width is None:
        return scores > 0
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    kept = np.argpartition(-scores, width - 1, axis=1)[:, :width]
    np.put_along_axis(chosen, kept, True, axis=1)
    return chosen
