"""Limits of report likelihoods among people, and the totals that follow, from counts of answers.

A report y of several attributes has the likelihood E[w_y(z) given x] under the target value x, up
to a factor: the mean of a weight over the answers z of the people with x.  From n_x people drawn
at random it has an upper and a lower limit, each wrong with probability e^-c (KL_inf, see
`seepage.leakage.deviations`), and where all hold

    T <= ln max over y, x != x' of upper_x(y) / lower_x'(y).

A GRR report weighs an answer by the questions on which they differ.  With equal budgets only their
number matters: the counts of answers by number of differences suffice, s + 1 of s questions.

Where the adversary knows or sees other attributes of the person, the people are split into strata
by them: known values are conditions like x, and of public ones the weight is that of the report
for people who have them, 0 for the others.
"""

import math
from collections.abc import Sequence

import numpy as np

from seepage._numerics import Floats, Integers, round_up, rounding, summed_up
from seepage.leakage.deviations import Limits, kl_inf_limits, mixture_radius

FORM_ROUNDS = 3
"""Rounds of Newton's method for the limits of likelihoods; more gain less than 1e-5."""


def form_statements(sizes: Sequence[int] | Integers, values: int, asked: int) -> int:
    """Return the number of statements about all forms that ask so many attributes.

    Both sides, for every report of every form and every value of every target.

    Parameters
    ----------
    sizes
        The number of values of each attribute that may be asked.
    values
        The number of values of all targets together.
    asked
        The number of attributes of a form.

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
    """Return the c with which all statements about all forms of up to `largest` attributes hold.

    The error probability is shared out evenly over the numbers of attributes asked.

    Examples
    --------
    >>> [round(form_level([2] * 40, 80, asked, 8, 0.95), 1) for asked in (3, 4, 5, 6)]
    [21.4, 24.3, 27.0, 29.5]
    """
    number = form_statements(sizes, values, asked) * largest
    return math.log(max(number, 1)) - math.log1p(-confidence)


def counts_by_difference(counts: Floats, sizes: Sequence[int], each: bool = False) -> Floats:
    """Return how many people differ from each report on how many questions.

    Parameters
    ----------
    counts
        People by answers (the last question fastest) and value of the target, shape (cells, v).
    sizes
        The number of values of each question.
    each
        Whether to tell on which questions they differ: then one entry for each set of questions,
        the first question in the highest bit.

    Returns
    -------
    Floats
        Shape (s + 1 or 2^s, reports, v): exact integers, as long as the counts are.

    Notes
    -----
    One pass for each question, in place of comparing each report with each combination of answers.
    """
    width = counts.shape[-1]
    found, stride = np.asarray(counts, dtype=np.float64)[None], len(counts)
    for size in sizes:
        stride //= size
        axes = found.reshape(len(found), -1, size, stride * width)
        other = axes.sum(axis=2, keepdims=True) - axes
        if each:
            found = np.stack([axes, other], axis=1).reshape(2 * len(axes), -1)
        else:
            found = np.zeros((len(axes) + 1, *axes.shape[1:]))
            found[:-1] += axes
            found[1:] += other
    return np.asarray(found.reshape(len(found), -1, width))


def difference_weights(epsilons: Floats, each: bool) -> Floats:
    """Return the weight of every number or set of differences, in that order."""
    budgets = np.asarray(epsilons, dtype=np.float64)
    if not each:
        return np.asarray(np.exp(-budgets[:1].sum() * np.arange(len(budgets) + 1)))
    bits = np.arange(1 << len(budgets))[:, None] >> np.arange(len(budgets))[::-1] & 1
    return np.asarray(np.exp(-(bits * budgets).sum(axis=1)))


def form_limits(
    counts: Floats,
    people: Floats,
    starts: Integers,
    attributes: Sequence[int],
    sizes: Sequence[int] | Integers,
    epsilons: Floats,
    c: float,
    rounds: int = FORM_ROUNDS,
    public: bool = False,
) -> Floats:
    """Return upper limits of the totals of every attribute among people, for a form of GRR reports.

    Parameters
    ----------
    counts
        People by answers to the form and value of each attribute of the table, shape (cells, v):
        the last question fastest, all attributes' values side by side; or (strata, cells, v).
    people
        How many people have each value, shape (v,) or (strata, v).
    starts
        The first column of each attribute's values.
    attributes, sizes, epsilons
        The attributes asked, by place, with their numbers of values and budgets.
    c
        Each statement errs with probability e^-c: see `form_level`.
    rounds
        Of Newton's method: with fewer the limits are wider, and valid all the same.
    public
        Whether strata are seen beside the report: then `people` are those of all strata with the
        same known values, and the weight of whoever is not in a stratum is 0 there.

    Returns
    -------
    Floats
        One total for each attribute, the largest over strata, rounded up; at most the sum of the
        budgets where nothing is public.

    Notes
    -----
    Equal budgets: O(s^2) passes over the cells, then Newton's method on s + 1 weights for each
    report and value: some 5 ms for six binary questions and 80 values.  Else 2^s weights.

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
    >>> form_limits(counts, people, starts, [0, 1], [2, 2], np.ones(2), 10.0).round(3).tolist()
    [1.071, 1.071, 0.493]
    """
    budgets = np.asarray(epsilons, dtype=np.float64)
    sizes, width = [int(size) for size in sizes], counts.shape[-1]
    strata, number = counts.reshape(-1, math.prod(sizes), width), np.ravel(people)
    each = bool(len(budgets)) and bool((budgets != budgets[0]).any())
    # strata side by side, like the attributes
    columns = np.moveaxis(strata, 0, 1).reshape(-1, len(number))
    firsts = np.add.outer(width * np.arange(len(strata)), starts).ravel()
    shares = np.moveaxis(counts_by_difference(columns, sizes, each), 0, -1)
    shares = shares / np.maximum(number, 1.0)[:, None]
    levels = difference_weights(budgets, each)
    ranges = _ranges(starts, attributes, sizes, budgets, width)
    least, most = (np.tile(part, len(strata)) for part in ranges)
    if public:
        others = (number - columns.sum(axis=0)) / np.maximum(number, 1.0)
        others = np.broadcast_to(others[:, None], (*shares.shape[:-1], 1))
        shares, levels = np.concatenate([shares, others], axis=-1), np.append(levels, 0.0)
        least = np.zeros_like(least)
    found = kl_inf_limits(levels, shares, mixture_radius(number, c), least, most, rounds)
    totals = largest_log_ratios(found, firsts).reshape(len(strata), -1).max(axis=0)
    totals = np.asarray(round_up(totals, 16) + rounding([*sizes, 2]) * (totals > 0))
    return totals if public else np.minimum(totals, summed_up(budgets.tolist()))


def _ranges(
    starts: Integers, attributes: Sequence[int], sizes: list[int], budgets: Floats, width: int
) -> tuple[Floats, Floats]:
    """Return the least and the largest weight of each report under each value.

    People with value x of an attribute that is asked all answer x there.
    """
    reports = math.prod(sizes)
    log_most, span = np.zeros((reports, width)), np.full(width, float(budgets.sum()))
    stride = reports
    for attribute, size, budget in zip(attributes, sizes, budgets.tolist(), strict=True):
        stride //= size
        answer = np.arange(reports) // stride % size
        columns = slice(starts[attribute], starts[attribute] + size)
        log_most[:, columns] = np.where(answer[:, None] == np.arange(size), 0.0, -budget)
        span[columns] -= budget
    return np.exp(log_most - span), np.exp(log_most)


def largest_log_ratios(found: Limits, starts: Integers) -> Floats:
    """Return ln max over reports and x != x' of upper_x / lower_x', for every attribute.

    Parameters
    ----------
    found
        Limits of likelihoods, reports by values of all attributes side by side.
    starts
        The first column of each attribute's values.
    """
    ends = np.append(starts[1:], found.upper.shape[1])
    sizes = ends - starts
    totals = np.zeros(len(starts))
    for size in np.unique(sizes[sizes > 1]).tolist():
        chosen = np.flatnonzero(sizes == size)
        columns = starts[chosen][:, None] + np.arange(size)
        ratios = _different_values(found.upper[:, columns], found.lower[:, columns])
        with np.errstate(divide="ignore"):
            totals[chosen] = np.log(np.maximum(ratios.max(axis=0), 1.0))
    return totals


def _different_values(upper: Floats, lower: Floats) -> Floats:
    """Return the largest quotient of an upper and another value's lower limit, last axis values."""
    first, last = upper.argmax(axis=-1), lower.argmin(axis=-1)
    most, second = (-np.partition(-upper, 1, axis=-1)[..., place] for place in (0, 1))
    least, other = (np.partition(lower, 1, axis=-1)[..., place] for place in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.maximum(second / least, most / other)
        return np.where(first == last, apart, most / least)
