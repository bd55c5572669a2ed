"""Upper limits, for the population, of the totals of a form of GRR reports.

A report y of several answers has the likelihood E[w_y(z) given x] under the target value x, up to
a factor: the mean of a weight over the answers z of the people with x.  A GRR report weighs z by
the questions on which y and z differ, exp(-sum of their budgets); with equal budgets only the
number of differences matters.  From n_x people drawn at random, KL_inf
(`seepage.leakage.deviations`) on the s + 1 counts of people by number of differences (2^s counts
by set of questions where budgets differ) bounds the mean from above and from below, each bound
wrong with probability at most e^-c.  Where all hold

    T <= ln max over y, x != x' of upper_x(y) / lower_x'(y)   [theory-population].

If the adversary knows or sees other attributes of the person, the people are split into strata by
them: known values are conditions like x; for public ones a report is observed together with the
stratum, so its weight is 0 for people outside the stratum.
"""

import math
from collections.abc import Sequence

import numpy as np

from seepage._numerics import Floats, Integers, round_up, rounding, summed_up
from seepage.leakage.deviations import Limits, kl_inf_limits, mixture_radius

NEWTON_ITERATIONS = 3
"""Newton iterations for each limit of a likelihood; more tighten it by less than 1e-5."""


def form_statements(sizes: Sequence[int] | Integers, values: int, asked: int) -> int:
    """Return the number of limits that hold at once: all forms that ask `asked` of the attributes.

    An upper and a lower limit for every report of every form and each of the `values` values of
    all targets.

    Examples
    --------
    Forty binary attributes, three of them asked: 9,880 forms of 8 reports, 80 values, two sides.

    >>> form_statements([2] * 40, 80, 3)
    12646400
    """
    reports = [1] + [0] * asked
    for size in sizes:
        for number in range(asked, 0, -1):
            reports[number] += reports[number - 1] * int(size)
    return 2 * values * reports[asked]


def form_level(
    sizes: Sequence[int] | Integers, values: int, asked: int, largest: int, confidence: float
) -> float:
    """Return c = ln(N / beta) of one limit, so that those of all forms hold at once (union bound).

    The error probability 1 - confidence is shared equally by the numbers of questions 1, ...,
    `largest`; N counts the limits of the forms with `asked` questions (`form_statements`).

    Examples
    --------
    >>> [round(form_level([2] * 40, 80, asked, 8, 0.95), 1) for asked in (3, 4, 5, 6)]
    [21.4, 24.3, 27.0, 29.5]
    """
    number = form_statements(sizes, values, asked) * largest
    return math.log(max(number, 1)) - math.log1p(-confidence)


def counts_by_difference(counts: Floats, sizes: Sequence[int], by_set: bool = False) -> Floats:
    """Return the number of people by number of questions on which they differ from each report.

    Parameters
    ----------
    counts
        People by answers (row-major) and target value, shape (cells, v).
    sizes
        The number of values of each of the s questions.
    by_set
        Count by the set of questions that differ instead, 2^s entries, the first question in the
        highest bit.

    Returns
    -------
    Floats
        Shape (s + 1, reports, v), or (2^s, reports, v): integers wherever the counts are.

    Notes
    -----
    One pass over the cells for each question, in place of comparing each report with each
    combination of answers.
    """
    width = counts.shape[-1]
    result, stride = np.asarray(counts, dtype=np.float64)[None], len(counts)
    for size in sizes:
        stride //= size
        same = result.reshape(len(result), -1, size, stride * width)
        different = same.sum(axis=2, keepdims=True) - same
        if by_set:
            result = np.stack([same, different], axis=1).reshape(2 * len(same), -1)
        else:
            result = np.zeros((len(same) + 1, *same.shape[1:]))
            result[:-1] += same
            result[1:] += different
    return np.asarray(result.reshape(len(result), -1, width))


def difference_weights(epsilons: Floats, by_set: bool) -> Floats:
    """Return exp(-budgets of the differing questions), in the order of `counts_by_difference`.

    Without `by_set` all budgets must be equal.
    """
    budgets = np.asarray(epsilons, dtype=np.float64)
    if not by_set:
        return np.asarray(np.exp(-budgets[:1].sum() * np.arange(len(budgets) + 1)))
    bits = np.arange(1 << len(budgets))[:, None] >> np.arange(len(budgets))[::-1] & 1
    return np.asarray(np.exp(-(bits * budgets).sum(axis=1)))


def form_total_limits(
    counts: Floats,
    people: Floats,
    starts: Integers,
    attributes: Sequence[int],
    sizes: Sequence[int] | Integers,
    epsilons: Floats,
    c: float,
    iterations: int = NEWTON_ITERATIONS,
    public: bool = False,
) -> Floats:
    """Return upper limits, for the population, of all totals from a form of GRR reports.

    Parameters
    ----------
    counts
        People by answers to the form (row-major) and target value, shape (cells, v) or
        (strata, cells, v); the v columns are the values of all attributes, concatenated.
    people
        The number of people with each value, shape (v,) or (strata, v).
    starts
        The index of each attribute's first column.
    attributes, sizes, epsilons
        The attributes asked, by index, with their numbers of values and budgets.
    c
        Each limit is wrong with probability at most e^-c: see `form_level`.
    iterations
        Newton iterations; fewer give wider limits, which are valid all the same.
    public
        Whether the adversary sees the stratum beside the report: then `people` counts all strata
        with the same known values, and people outside a stratum have weight 0 in it.

    Returns
    -------
    Floats
        One total per attribute, the maximum over strata, rounded up; capped at the sum of the
        budgets unless `public`.

    Notes
    -----
    Equal budgets: O(s^2) passes over the cells, then Newton's method on s + 1 weights for each
    report and value: about 5 ms for six binary questions and 80 values.  Else 2^s weights.

    The limit is the supremum of the total over all distributions within a radius of the table's,
    so it grows with the budgets as the total itself does [theory-population: Budgets chosen by
    looking].

    Examples
    --------
    Two fair coins and whether they differ, 10,000 people; both coins are asked.

    >>> counts = np.array(
    ...     [
    ...         [2500, 0, 2500, 0, 2500, 0],
    ...         [2500, 0, 0, 2500, 0, 2500],
    ...         [0, 2500, 2500, 0, 0, 2500],
    ...         [0, 2500, 0, 2500, 2500, 0],
    ...     ]
    ... )
    >>> people, starts = np.full(6, 5000.0), np.array([0, 2, 4])
    >>> limits = form_total_limits(counts, people, starts, [0, 1], [2, 2], np.ones(2), 10.0)
    >>> limits.round(3).tolist()
    [1.071, 1.071, 0.493]
    """
    budgets = np.asarray(epsilons, dtype=np.float64)
    sizes, width = [int(size) for size in sizes], counts.shape[-1]
    strata, group_sizes = counts.reshape(-1, math.prod(sizes), width), np.ravel(people)
    unequal = bool(len(budgets)) and bool((budgets != budgets[0]).any())
    # strata side by side, like the attributes
    columns = np.moveaxis(strata, 0, 1).reshape(-1, len(group_sizes))
    column_starts = np.add.outer(width * np.arange(len(strata)), starts).ravel()
    shares = np.moveaxis(counts_by_difference(columns, sizes, unequal), 0, -1)
    shares = shares / np.maximum(group_sizes, 1.0)[:, None]
    weights = difference_weights(budgets, unequal)
    ranges = _weight_ranges(starts, attributes, sizes, budgets, width)
    minimum, maximum = (np.tile(part, len(strata)) for part in ranges)
    if public:
        outside = (group_sizes - columns.sum(axis=0)) / np.maximum(group_sizes, 1.0)
        outside = np.broadcast_to(outside[:, None], (*shares.shape[:-1], 1))
        shares, weights = np.concatenate([shares, outside], axis=-1), np.append(weights, 0.0)
        minimum = np.zeros_like(minimum)
    radius = mixture_radius(group_sizes, c)
    limits = kl_inf_limits(weights, shares, radius, minimum, maximum, iterations)
    totals = largest_limit_ratios(limits, column_starts).reshape(len(strata), -1).max(axis=0)
    totals = np.asarray(round_up(totals, 16) + rounding([*sizes, 2]) * (totals > 0))
    return totals if public else np.minimum(totals, summed_up(budgets.tolist()))


def _weight_ranges(
    starts: Integers, attributes: Sequence[int], sizes: list[int], budgets: Floats, width: int
) -> tuple[Floats, Floats]:
    """Return the minimum and the maximum weight of each report under each value.

    People with value x of an attribute that is asked all answer x there.
    """
    reports = math.prod(sizes)
    log_maximum, span = np.zeros((reports, width)), np.full(width, float(budgets.sum()))
    stride = reports
    for attribute, size, budget in zip(attributes, sizes, budgets.tolist(), strict=True):
        stride //= size
        answer = np.arange(reports) // stride % size
        columns = slice(starts[attribute], starts[attribute] + size)
        log_maximum[:, columns] = np.where(answer[:, None] == np.arange(size), 0.0, -budget)
        span[columns] -= budget
    return np.exp(log_maximum - span), np.exp(log_maximum)


def largest_limit_ratios(limits: Limits, starts: Integers) -> Floats:
    """Return ln max over reports y and values x != x' of upper_x(y) / lower_x'(y), by attribute.

    `limits` has one row per report; the values of attribute k are the columns from `starts[k]` on.
    """
    sizes = np.diff(starts, append=limits.upper.shape[1])
    totals = np.zeros(len(starts))
    for size in np.unique(sizes[sizes > 1]).tolist():
        chosen = np.flatnonzero(sizes == size)
        columns = starts[chosen][:, None] + np.arange(size)
        ratios = _max_ratio(limits.upper[:, columns], limits.lower[:, columns])
        with np.errstate(divide="ignore"):
            totals[chosen] = np.log(np.maximum(ratios.max(axis=0), 1.0))
    return totals


def _max_ratio(upper: Floats, lower: Floats) -> Floats:
    """Return max over x != x' of upper_x / lower_x', with the values x on the last axis."""
    highest, lowest = upper.argmax(axis=-1), lower.argmin(axis=-1)
    largest, second_largest = (-np.partition(-upper, 1, axis=-1)[..., i] for i in (0, 1))
    smallest, second_smallest = (np.partition(lower, 1, axis=-1)[..., i] for i in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        different = np.maximum(second_largest / smallest, largest / second_smallest)
        return np.where(highest == lowest, different, largest / smallest)
