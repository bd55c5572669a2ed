"""Confidence limits of the leakage of one ordered pair, from its counts, over all
likely sets.

For a likely set S let L_x(S) and U_x(S) be confidence limits of P(source in S given x),
each wrong with probability at most e^-c.  Where all of them hold, the leakage of S is
between the maxima over x != x' of

    ln (1 + lambda L_x(S)) / (1 + lambda U_x'(S))  and  ln (1 + lambda U_x(S)) / (1 +
    lambda L_x'(S)),

which need only the largest and smallest limits over x: O(m) for each S.  A set and its
complement share a statement.  All sets of up to 12 values are enumerated, and up to
4,096 sets of one size, with Clopper-Pearson limits.  The sets of larger alphabets are
bounded by straight lines above and below the kl limits, which turn the maximum over S
into Dinkelbach's problem of `dinkelbach` [theory-population: The bound over all sets].
"""

from collections.abc import Sequence

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage._core.log_ratios import log_ratio
from seepage._core.rounding import UNIT, round_down, round_up
from seepage.confidence.all_sets_bound import upper_over_all_sets
from seepage.confidence.mean_limits import ConfidenceLimits, kl_interval
from seepage.confidence.proportion_limits import (
    binomial_confidence_limit,
    clopper_pearson,
)
from seepage.confidence.set_limits import largest_of_rows, ranked_limits, set_limits
from seepage.leakage.dinkelbach import best_sets
from seepage.leakage.likely_sets import LikelySets

MAX_VALUES = 12
"""Maximum alphabet size whose 2^t sets are all enumerated; beyond, straight lines."""


MAX_SETS = 1 << 12
"""Maximum number of sets of one size that are enumerated."""


MAX_BLOCK = 1 << 20
"""Limits of sets that are computed at once."""


MAX_DIRECT = 128
"""Up to this many masses (m times sets) every limit is computed; beyond, only those of
the sets that may attain the maximum."""


MAX_ROWS = 128
"""Maximum number of target values compared for lower limits: those with the most
records."""


GAIN_CELLS = 1 << 16
"""Cells per block in sums of gains, so that it fits a core's cache."""


MAX_PAIRS = 32
"""Pairs of rows per table and ratio whose lower limits are computed."""


def statements_per_row(sets: LikelySets, size: int) -> int:
    """Return the number of two-sided statements per row that the limits of a pair with
    a family of likely sets need.
    """
    number = sets.count(size)
    if sets.kind == "all" or 2 * sets.size == size:  # a set and its complement are one
        number //= 2
    return max(1, number)


def is_enumerable(sets: LikelySets, size: int) -> bool:
    """Return whether the limits of a pair can enumerate every likely set of a family
    over `size` values.
    """
    if sets.kind == "all":
        return size <= MAX_VALUES
    return statements_per_row(sets, size) <= MAX_SETS


def set_intervals(
    counts: Integers, sets: LikelySets, c: Floats, contrast: Floats
) -> ConfidenceLimits:
    """Return confidence limits of the leakages of ordered pairs, by enumeration of all
    likely sets.

    Parameters
    ----------
    counts
        Target values by source values, shape (p, m, t), m and t at least 2.
    sets
        The likely sets of the sources' reports.
    c, contrast
        One per pair: each statement is wrong with probability at most e^-c; the
        contrast of the report.
    """
    size = counts.shape[2]
    if sets.kind == "subsets" and sets.size == size:
        return ConfidenceLimits(np.zeros(len(counts)), np.zeros(len(counts)))
    masks, paired = sets.masks(size)
    cells = len(masks) * counts.shape[1]
    if cells <= MAX_DIRECT:
        step = max(1, MAX_BLOCK // cells)
        parts = []
        for start in range(0, len(counts), step):
            part = slice(start, start + step)
            parts.append(
                _direct_limits(counts[part], masks, c[part], contrast[part], paired)
            )
        lower, upper = np.concatenate(parts, axis=1)
        return _rounded(ConfidenceLimits(lower, upper), contrast)
    levels = zip(counts, c.tolist(), contrast.tolist(), strict=True)
    limits = [
        ranked_limits(table @ masks.T, table.sum(1), level, budget, paired)
        for table, level, budget in levels
    ]
    lower, upper = np.array(limits).T
    return _rounded(ConfidenceLimits(lower, upper), contrast)


def _rounded(limits: ConfidenceLimits, contrast: Floats) -> ConfidenceLimits:
    """Return the limits of pairs rounded outwards by 16 operations, and clipped to [0,
    contrast].
    """
    upper = np.minimum(round_up(limits.upper, 16) + 16 * UNIT, contrast)
    lower = np.clip(round_down(limits.lower, 16) - 16 * UNIT, 0.0, contrast)
    return ConfidenceLimits(lower, np.where(contrast > 0, np.maximum(upper, 0.0), 0.0))


def _direct_limits(
    counts: Integers, masks: Floats, c: Floats, contrast: Floats, paired: bool
) -> Floats:
    """Return lower and upper limits of the leakages of pairs, shape (2, p), from those
    of every set.
    """
    totals = counts.sum(axis=2, keepdims=True)
    masses = clopper_pearson(counts @ masks.T, totals, c[:, None, None])
    return np.asarray(np.max(set_limits(masses, contrast[:, None], paired), axis=-1))


def column_intervals(
    tables: Sequence[Integers], columns: Floats, c: Floats
) -> ConfidenceLimits:
    """Return limits of the leakages of the pairs of a source with a transition matrix,
    about all targets.

    The likelihood of a report under x is the mean of its column over the people with x,
    between the smallest and the largest entry of the column.
    """
    largest = columns.max(axis=0)
    smallest = columns.min(axis=0)
    width = largest - smallest
    scaled = np.divide(
        columns - smallest, width, out=np.zeros_like(columns), where=width > 0
    )
    with np.errstate(divide="ignore"):
        contrast = np.log(largest) - np.log(smallest)
    lower, upper = np.zeros((2, len(tables)))
    for index, (table, level) in enumerate(zip(tables, c.tolist(), strict=True)):
        totals = table.sum(axis=1)[:, None]
        means = np.clip(table @ scaled / np.maximum(totals, 1), 0.0, 1.0)
        limits = set_limits(kl_interval(means, totals, level), contrast, paired=False)
        lower[index] = limits.lower.max()
        upper[index] = limits.upper.max()
    cap = float(contrast.max())
    return ConfidenceLimits(
        np.clip(lower - 1e-9, 0.0, cap), np.clip(upper + 1e-9, 0.0, cap)
    )


# All sets of a large alphabet ---------------------------------------------------------


def line_intervals(
    tables: Sequence[Integers], sets: LikelySets, c: Floats
) -> ConfidenceLimits:
    """Return limits of the leakages of the pairs of a source with too many likely sets
    to list, about all targets.

    Parameters
    ----------
    tables
        Target values by source values, shapes (m, t), m at least 2.
    sets
        The likely sets of the source's report.
    c
        One per table: each statement is wrong with probability at most e^-c.

    Notes
    -----
    Upper limits are over sets of all sizes; lower limits compare at most `MAX_ROWS`
    target values, those with the most records.
    """
    contrast = sets.contrast
    lower = np.zeros(len(tables))
    upper = np.full(len(tables), contrast)
    varying = []
    frequent = []
    complete = []
    shares = []
    radii = []
    for k, table in enumerate(tables):
        people = table.sum(axis=1)
        if (people > 0).sum() < 2:
            continue
        varying.append(k)
        rows = table[largest_of_rows(people, MAX_ROWS)]
        frequent.append(rows[rows.any(axis=1)])
        if people.all():
            complete.append(k)
            shares.append(table / people[:, None])
            radii.append(c[k] / people)
    if varying and contrast > 0:
        lower[varying] = _lower_over_best_pairs(frequent, c[varying], sets)
    if complete and contrast > 0:
        upper[complete] = upper_over_all_sets(shares, radii, contrast)
    return _rounded(ConfidenceLimits(lower, upper), np.full(len(tables), contrast))


def _lower_over_best_pairs(
    tables: Sequence[Integers], c: Floats, sets: LikelySets
) -> Floats:
    """Return the largest lower limit of each pair's table over the pairs of rows with
    the largest gains.

    Gains are sum_u max(0, G[x, u] - H G[x', u]) less the Hoeffding deviations of both
    rows, at two ratios H; the set of a pair is the best one at H.
    """
    counts = np.concatenate(tables)
    contrast = sets.contrast
    sizes = [len(table) for table in tables]
    people = counts.sum(axis=1)
    rows = counts / people[:, None]
    level = np.repeat(c, sizes)
    deviation = np.sqrt(level / people / 2)
    width = sets.size if sets.kind == "subsets" else None
    best = np.zeros(len(tables))
    for ratio in np.exp(min(contrast, 50.0) * np.array([0.1, 0.6])):
        pairs = []
        for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True):
            table_rows = slice(end - size, end)
            gain = _sums_of_gains(rows[table_rows], ratio)
            gain -= deviation[table_rows, None] + ratio * deviation[table_rows]
            np.fill_diagonal(gain, -np.inf)
            best_pairs = np.divmod(largest_of_rows(gain.ravel(), MAX_PAIRS), size)
            pairs.append(np.array(best_pairs) + end - size)
        x, y = np.concatenate(pairs, axis=1)
        table = np.repeat(np.arange(len(tables)), [part.shape[1] for part in pairs])
        likely = best_sets(rows[x] - ratio * rows[y], width)
        above = (counts[x] * likely).sum(axis=1)
        below = (counts[y] * likely).sum(axis=1)
        high = binomial_confidence_limit(above, people[x], level[x], above=False)
        low = binomial_confidence_limit(below, people[y], level[y], above=True)
        np.maximum.at(best, table, log_ratio(high - low, low, contrast))
    return best


def _sums_of_gains(rows: Floats, ratio: float) -> Floats:
    """Return the gains of all pairs of rows of a pair's table, sums over u of max(0,
    rows[x, u] - ratio rows[x', u]).
    """
    losses = ratio * rows
    step = max(1, GAIN_CELLS // losses.size)
    blocks = (rows[i : i + step, None] - losses for i in range(0, len(rows), step))
    return np.concatenate(
        [np.maximum(block, 0.0, out=block).sum(axis=2) for block in blocks]
    )
