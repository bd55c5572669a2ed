"""Upper limits of `exact` totals for the people behind a table: of all reports, or of one form.

A report y of several attributes has the likelihood E[w_y(z) given x] under the target value x, up
to a factor: the mean of a weight over the answers z of the people with x.  From n_x people drawn
at random, one record each, it has an upper and a lower limit, each wrong with probability e^-c,
and where all hold

    T <= ln max over y, x != x' of upper_x(y) / lower_x'(y)   [theory-population].

Which limit is used is decided before looking, by sizes of attributes and mechanisms alone:

* GRR-like reports weigh an answer by the questions on which they differ.  With one contrast only
  their number matters: KL_inf (`seepage.leakage.deviations`) on the s + 1 counts of answers by
  number of differences;
* any other reports: KL_inf on all combinations of answers where they are few, else kl on the range
  of each report's likelihoods.

Where the adversary knows or sees other attributes of the person, the people are split into strata
by them: known values are conditions like x, and of public ones the weight is that of the report
for people who have them, 0 for the others.  A declared value that never occurred counts with every
distribution.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from seepage._numerics import Floats, Integers, round_up, rounding, summed_up
from seepage._results import Progress
from seepage.data.records import Records
from seepage.leakage.deviations import (
    GUARD,
    Limits,
    kl_inf_limits,
    kl_lower,
    kl_upper,
    mixture_radius,
)
from seepage.totals.report_columns import ReportColumns, TwoLevelColumns
from seepage.totals.result import GuaranteeError

SCOPES = ("table", "population")
"""Whom totals hold for: the people in the table, or those whom it was drawn from."""

MAX_CELLS = 1 << 24
"""The most (target value, report tuple) combinations of one target."""

MAX_ATOMS = 1 << 22
"""Combinations of report, target value and answers up to which KL_inf is used in general."""

BLOCK = 1 << 16
"""Reports whose limits are computed at once."""

FORM_ROUNDS = 3
"""Rounds of Newton's method for the limits of likelihoods; more gain less than 1e-5."""


def form_statements(sizes: Sequence[int] | Integers, values: int, asked: int) -> int:
    """Return the number of statements about all forms that ask so many of the attributes.

    Both sides, for every report of every form and every one of the `values` of all targets.

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
    """Return how many people differ from each report on how many of s questions of these sizes.

    From people by answers (the last question fastest) and value of the target, shape (cells, v), to
    shape (s + 1, reports, v): exact integers, as long as the counts are.  With `each` one entry for
    each set of questions, 2^s, the first question in the highest bit.  One pass for each question,
    in place of comparing each report with each combination of answers.
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
        The attributes asked, by index, with their numbers of values and budgets.
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
    totals = largest_limit_ratios(found, firsts).reshape(len(strata), -1).max(axis=0)
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


def largest_limit_ratios(found: Limits, starts: Integers) -> Floats:
    """Return ln max over reports and x != x' of upper_x / lower_x', for every attribute.

    Limits are reports by values of all attributes side by side, which begin at `starts`.
    """
    sizes = np.diff(starts, append=found.upper.shape[1])
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
    most, second = (-np.partition(-upper, 1, axis=-1)[..., index] for index in (0, 1))
    least, other = (np.partition(lower, 1, axis=-1)[..., index] for index in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.maximum(second / least, most / other)
        return np.where(first == last, apart, most / least)


class _Target(NamedTuple):
    """A target: its column, the columns of the others, reports and combinations of answers."""

    column: int
    sources: list[int]
    reports: int
    cells: int


def _targets(columns: Sequence[ReportColumns]) -> list[_Target]:
    found = []
    for index in range(len(columns)):
        sources = [k for k in range(len(columns)) if k != index and columns[k].k > 1]
        reports = math.prod(columns[k].count for k in sources)
        found.append(_Target(index, sources, reports, math.prod(columns[k].k for k in sources)))
    return found


def _table_cells(columns: Sequence[ReportColumns]) -> int:
    return max(max(t.reports, t.cells) * columns[t.column].k for t in _targets(columns))


def population_fits(columns: Sequence[ReportColumns]) -> bool:
    """Return whether `exact` totals for people can be computed."""
    return _table_cells(columns) <= MAX_CELLS


def exact_population_totals(
    data: Records,
    columns: Sequence[ReportColumns],
    confidence: float,
    progress: Progress | None = None,
) -> Floats:
    """Return upper limits of the exact total of every attribute, all with one confidence.

    c = ln(N / beta) with N = 2 sum over targets of values times report tuples of the others.  The
    target's own report is independent of the others' given the target, so its best log-ratio
    between x and x' is added.  O(s^2) passes over the report tuples of each target.
    """
    size = _table_cells(columns)
    if size > MAX_CELLS:
        raise GuaranteeError(
            f"exact totals for the population need {size:.3g} combinations of reports, at most "
            f"{MAX_CELLS:.3g} fit; choose fewer attributes, or guarantee 'merged' or 'worst'"
        )
    targets = _targets(columns)
    number = 2 * sum(columns[target.column].k * target.reports for target in targets)
    c = math.log(max(number, 1)) - math.log1p(-confidence)
    totals = []
    for target in targets:
        totals.append(_exact_total(data, columns, target, c))
        if progress is not None:
            progress(len(totals), len(columns))
    return np.array(totals)


def _exact_total(
    data: Records, columns: Sequence[ReportColumns], target: _Target, c: float
) -> float:
    column = columns[target.column]
    own = column.own()
    best = float(own.max())
    if column.k < 2 or not target.sources:
        return best
    counts = data.counts((*target.sources, target.column)).reshape(-1, column.k)
    for limits in _likelihood_limits(columns, target, counts.astype(np.float64), c):
        with np.errstate(divide="ignore"):
            upper, lower = np.log(limits.upper), np.log(limits.lower)
        for x, other in permutations(range(column.k), 2):
            ratio = float((upper[:, x] - lower[:, other]).max())
            best = max(best, ratio + float(own[x, other]))
    sizes = [columns[k].k for k in target.sources]
    return round_up(best, 16) + rounding([*sizes, column.k])


def _likelihood_limits(
    columns: Sequence[ReportColumns], target: _Target, counts: Floats, c: float
) -> Iterator[Limits]:
    """Yield limits of the likelihood of every report tuple under every value, block by block."""
    sources = [columns[k] for k in target.sources]
    people = counts.sum(axis=0)
    contrast = _one_contrast(sources)
    if contrast is not None:
        table = counts_by_difference(counts, [source.k for source in sources])
        levels = difference_weights(np.full(len(sources), contrast), each=False)
        for begin in range(0, target.reports, BLOCK):
            block = np.moveaxis(table[:, begin : begin + BLOCK], 0, -1)
            shares = block / np.maximum(people, 1.0)[:, None]
            radius = mixture_radius(people, c)
            yield kl_inf_limits(levels, shares, radius, levels[-1], levels[0], FORM_ROUNDS)
        return
    matrices = [source.matrix().astype(np.float64) for source in sources]
    if target.reports * target.cells * len(people) <= MAX_ATOMS:
        yield _by_answers(matrices, counts, people, c)
    else:
        yield _by_range(matrices, counts, people, c)


def _one_contrast(sources: Sequence[ReportColumns]) -> float | None:
    """Return the contrast of GRR-like reports that all have the same one, else None."""
    contrasts = {
        source.contrast
        if isinstance(source, TwoLevelColumns)
        and (source.sets.kind == "singletons" or source.k == source.count == 2)
        else None
        for source in sources
    }
    contrast = contrasts.pop() if len(contrasts) == 1 else None
    return None if contrast == math.inf else contrast


def _by_answers(matrices: list[Floats], counts: Floats, people: Floats, c: float) -> Limits:
    """Return KL_inf limits from the distribution over all combinations of answers."""
    weights: Floats = np.ones((1, 1))
    for matrix in matrices:
        weights = np.asarray(np.kron(weights, matrix), dtype=np.float64)
    shares = counts / np.maximum(people, 1.0)
    least, most = (part[:, None] for part in (weights.min(axis=0), weights.max(axis=0)))
    return kl_inf_limits(
        weights.T[:, None, :], shares.T[None], mixture_radius(people, c), least, most, FORM_ROUNDS
    )


def _by_range(matrices: list[Floats], counts: Floats, people: Floats, c: float) -> Limits:
    """Return kl limits from the mean and the range of each report's likelihood."""
    means, least, most = counts / np.maximum(people, 1.0), np.ones(1), np.ones(1)
    done = 1
    for matrix in matrices:
        means = matrix.T @ means.reshape(done, len(matrix), -1)
        done *= matrix.shape[1]
        least = np.multiply.outer(least, matrix.min(axis=0)).reshape(-1)
        most = np.multiply.outer(most, matrix.max(axis=0)).reshape(-1)
    low, width = least[:, None], (most - least)[:, None]
    scaled = np.divide(
        means.reshape(done, -1) - low, width, out=np.zeros((done, len(people))), where=width > 0
    )
    scaled, radius = np.clip(scaled, 0.0, 1.0), c / np.maximum(people, 0.5)
    seen = people > 0
    upper = np.where(seen, kl_upper(scaled, radius, 4), 1.0)
    lower = np.where(seen, kl_lower(scaled, radius, 4), 0.0)
    return Limits((low + width * lower) * (1 - GUARD), (low + width * upper) * (1 + GUARD))
