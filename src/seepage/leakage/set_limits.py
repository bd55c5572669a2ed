"""Limits of one pair's leakage among the people, from its counts, over all likely sets at once.

For a likely set S the records with target value x hold its mass with limits L_x(S) and U_x(S),
each wrong with probability e^-c.  Where all hold, the leakage of every S lies between

    ln (1 + lambda L_x(S)) / (1 + lambda U_x'(S))   and   the largest ln (1 + lambda U_x) / (1 +
    lambda L_x')   over x != x',

which factorises for a given S: O(m) after the limits.  Sets and complements share a statement.
All sets of up to 12 values are enumerated, and up to 4,096 of one size (Clopper-Pearson).  All S
of larger alphabets are bounded by straight lines above and below the kl limits, which turn the
maximum over S into Dinkelbach's problem of `solver` [theory-population: The bound over all sets].
"""

import math
from collections.abc import Sequence

import numpy as np

from seepage._numerics import UNIT, Floats, Integers, log_ratio, round_down, round_up
from seepage.leakage.deviations import (
    Limits,
    binomial_lower,
    binomial_upper,
    clopper_pearson,
    kl_lower,
    kl_upper,
)
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.linear_limits import upper_over_all_sets
from seepage.leakage.solver import best_rows, best_sets, sums_of_gains

MAX_VALUES = 12
"""Source values of which all sets are enumerated; beyond, straight lines."""

MAX_SETS = 1 << 12
"""Sets of one size that are enumerated."""

DIRECT = 128
"""Masses up to which every limit is computed; of more, those that a simpler inequality leaves."""

MAX_ROWS = 128
"""Target values told apart by lower limits: of many, those with most records establish most."""

BATCH = 16
"""Sets that rank first whose limits are computed, where there are many."""


def statements(sets: LikelySets, size: int) -> int:
    """Return how many two-sided statements about each row cover a family over `size` values."""
    if sets.kind == "all":
        return max(1, (1 << (size - 1)) - 1)
    chosen = 1 if sets.kind == "singletons" else sets.size
    number = math.comb(size, chosen)
    return max(1, number // 2 if 2 * chosen == size else number)


def enumerable(sets: LikelySets, size: int) -> bool:
    """Return whether `set_limits` tries every set of a family over `size` values."""
    return size <= MAX_VALUES if sets.kind == "all" else statements(sets, size) <= MAX_SETS


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
    masks, paired = sets.masks(size)
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


def _every(hits: Floats, totals: Integers, c: Floats, contrast: Floats, paired: bool) -> Limits:
    """Return limits from every set; hits of shape (p, m, sets)."""
    masses = clopper_pearson(hits, totals[:, :, None], c[:, None, None])
    return _over_sets(_both_sides(masses) if paired else masses, contrast[:, None])


def _both_sides(masses: Limits) -> Limits:
    """Return the limits of sets and those of their complements beside them."""
    low, high = masses
    return Limits(
        np.concatenate([low, 1.0 - high], axis=-1), np.concatenate([high, 1.0 - low], axis=-1)
    )


def _over_sets(masses: Limits, contrast: Floats) -> Limits:
    """Return limits of leakages from limits of masses of shape (..., m, sets)."""
    return Limits(
        best_rows(masses.lower, masses.upper, contrast).ratio.max(axis=-1),
        best_rows(masses.upper, masses.lower, contrast).ratio.max(axis=-1),
    )


def _some(
    hits: Floats, totals: Integers, c: float, contrast: float, paired: bool
) -> tuple[float, float]:
    """Return the same limits of one pair; hits of shape (m, sets).

    A simpler inequality than Clopper-Pearson's, never narrower, ranks sets and rows.  The upper
    limit is exact: binomial limits are computed wherever the simpler ones exceed the largest ratio
    found.  The lower limit is that of the sets which rank first: every set gives a valid one.
    """
    simple = _simple_limits(hits, totals[:, None], c + math.exp(-c))
    if paired:
        hits, simple = np.hstack([hits, totals[:, None] - hits]), _both_sides(simple)
    low, high = simple
    lower = _established(hits, totals, c, contrast, simple)
    guess = best_rows(high, low, contrast)
    sets = _largest(guess.ratio, 4)
    x, y = guess.likelier[sets], guess.other[sets]
    most = binomial_upper(hits[x, sets], totals[x], c)
    least = binomial_lower(hits[y, sets], totals[y], c)
    upper = float(log_ratio(most - least, least, contrast).max())
    step, left = BATCH, np.argsort(-guess.ratio)
    while True:
        left = left[guess.ratio[left] > upper]
        if not len(left):
            return lower, upper
        sets, left, step = left[:step], left[step:], 4 * step
        masses = Limits(low[:, sets], high[:, sets])
        upper = max(upper, _refined(hits[:, sets], totals, c, contrast, masses, upper))


def _refined(
    hits: Floats, totals: Integers, c: float, contrast: float, guess: Limits, least: float
) -> float:
    """Return the largest upper limit of some sets, if it is above `least`.

    Binomial limits replace the guess of the masses where a ratio may be above.
    """
    low, high = guess
    above = log_ratio(high - low.min(axis=0), low.min(axis=0), contrast) > least
    below = log_ratio(high.max(axis=0) - low, low, contrast) > least
    for limits, wanted, limit in ((high, above, binomial_upper), (low, below, binomial_lower)):
        rows, sets = np.nonzero(wanted)
        limits[rows, sets] = limit(hits[rows, sets], totals[rows], c)
    return float(best_rows(high, low, contrast).ratio.max())


def _established(hits: Floats, totals: Integers, c: float, contrast: float, guess: Limits) -> float:
    """Return the largest lower limit of the sets and rows that rank first by a guess.

    Two rows on each side; one row on both sides establishes nothing.
    """
    least = guess.upper.min(axis=0)
    sets = _largest(log_ratio(guess.lower.max(axis=0) - least, least, contrast), BATCH)
    x = np.argpartition(-guess.lower[:, sets], 1, axis=0)[:2]
    y = np.argpartition(guess.upper[:, sets], 1, axis=0)[:2]
    high = binomial_lower(hits[x, sets], totals[x], c).max(axis=0)
    low = binomial_upper(hits[y, sets], totals[y], c).min(axis=0)
    return float(log_ratio(high - low, low, contrast).max())


def _largest(values: Floats, count: int) -> Integers:
    """Return the indices of the largest values."""
    return (
        np.argpartition(-values, count)[:count] if count < len(values) else np.arange(len(values))
    )


def _simple_limits(hits: Floats, totals: Integers, c: float) -> Limits:
    """Return limits outside those of `kl_lower` and `kl_upper` by elementary inequalities.

    kl(a, q) is the integral of (s - a)/(s (1 - s)) over s from a to q, so at least
    (q - a)^2/(2 v) with v the largest s (1 - s) there: q (1 - q), where that keeps q below 1/2, or
    a (1 - a), or 1/4.
    """
    people = np.maximum(totals, 1)
    a, r = hits / people, c / people
    root = np.sqrt(r * (r + 2 * a * (1.0 - a)))
    upper, rest = (
        np.minimum(_wilson(part, r, root), part + _spread(part, r)) for part in (a, 1.0 - a)
    )
    unknown = totals[:, 0] == 0
    lower, upper = np.maximum(1.0 - rest, 0.0), np.minimum(upper, 1.0)
    lower[unknown], upper[unknown] = 0.0, 1.0
    return Limits(lower, upper)


def _wilson(a: Floats, r: Floats, root: Floats) -> Floats:
    found = (a + r + root) / (1 + 2 * r)
    return np.asarray(found + (found > 0.5))


def _spread(a: Floats, r: Floats) -> Floats:
    at = np.maximum(a, 0.5)
    return np.sqrt(2 * r * (at * (1.0 - at)))


def column_limits(tables: Sequence[Integers], columns: Floats, c: Floats) -> Limits:
    """Return limits of the leakages of all targets through a transition matrix.

    By the kl limits of each report: its likelihood under x is a mean over the people with x,
    between the least and the largest entry of its column.
    """
    most, least = columns.max(axis=0), columns.min(axis=0)
    width = most - least
    scaled = np.divide(columns - least, width, out=np.zeros_like(columns), where=width > 0)
    with np.errstate(divide="ignore"):
        contrast = np.log(most) - np.log(least)
    lower, upper = np.zeros((2, len(tables)))
    for index, (table, level) in enumerate(zip(tables, c.tolist(), strict=True)):
        totals = table.sum(axis=1)[:, None]
        people = np.maximum(totals, 1)
        share = np.clip(table @ scaled / people, 0.0, 1.0)
        high = np.where(totals > 0, kl_upper(share, level / people), 1.0)
        low = np.where(totals > 0, kl_lower(share, level / people), 0.0)
        lower[index], upper[index] = _over_sets(Limits(low, high), contrast)
    cap = float(contrast.max())
    return Limits(np.clip(lower - 1e-9, 0.0, cap), np.clip(upper + 1e-9, 0.0, cap))


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
    Upper limits are over all sets, whatever their size; lower ones are from the target values that
    most records have, `MAX_ROWS` of them at most.
    """
    contrast = sets.contrast
    lower, upper = np.zeros(len(tables)), np.full(len(tables), contrast)
    people = [table.sum(axis=1) for table in tables]
    some = [k for k, number in enumerate(people) if (number > 0).sum() > 1]
    full = [k for k in some if people[k].all()]
    if some and contrast > 0:
        known = [tables[k][_largest(people[k], MAX_ROWS)] for k in some]
        known = [table[table.any(axis=1)] for table in known]
        lower[some] = _found_lower(known, c[some], sets)
    if full and contrast > 0:
        shares = [tables[k] / people[k][:, None] for k in full]
        upper[full] = upper_over_all_sets(shares, [c[k] / people[k] for k in full], contrast)
    return _rounded(Limits(lower, upper), np.full(len(tables), contrast))


def _found_lower(tables: Sequence[Integers], c: Floats, sets: LikelySets) -> Floats:
    """Return the largest lower limits among sets that tell two rows apart in their table."""
    counts, contrast = np.concatenate(tables), sets.contrast
    sizes, people = [len(table) for table in tables], counts.sum(axis=1)
    rows, level = counts / people[:, None], np.repeat(c, sizes)
    wobble = np.sqrt(level / people / 2)
    width = sets.size if sets.kind == "subsets" else None
    best = np.zeros(len(tables))
    for ratio in np.exp(min(contrast, 50.0) * np.array([0.1, 0.6])):
        found = []
        for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True):
            some = slice(end - size, end)
            gain = sums_of_gains(rows[some], ratio * rows[some])
            gain -= wobble[some, None] + ratio * wobble[some]
            np.fill_diagonal(gain, -np.inf)
            best_pairs = np.divmod(_largest(gain.ravel(), 2 * BATCH), size)
            found.append(np.array(best_pairs) + end - size)
        x, y = np.concatenate(found, axis=1)
        table = np.repeat(np.arange(len(tables)), [part.shape[1] for part in found])
        chosen = best_sets(rows[x] - ratio * rows[y], width)
        above, below = ((counts[row] * chosen).sum(axis=1) for row in (x, y))
        high = binomial_lower(above, people[x], level[x])
        low = binomial_upper(below, people[y], level[y])
        np.maximum.at(best, table, log_ratio(high - low, low, contrast))
    return best
