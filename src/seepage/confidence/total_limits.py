"""Upper confidence limits of `exact` totals, for the population the records were drawn
from.

A report y of several answers has the likelihood E[w_y(z) given x] under the target
value x, up to a factor: the mean of a weight over the answers z of the people with x,
which has an upper and a lower confidence limit, each wrong with probability at most
e^-c (`seepage.confidence.mean_limits`).  The limit of the total is

    U = ln max over y, x != x' of upper_x(y) / lower_x'(y).

The total itself is attained at one report and pair of values, so U is below it with
probability at most 2 e^-c, however many there are [theory-certificate: The theorem].
The two limits may be one joint statement about the ratio (`joint_ratios`).

Which limit is used depends on the sizes of attributes and on mechanisms alone, never on
the counts:

* GRR reports weigh z by the questions on which y and z differ, exp(-sum of their
  budgets).  With equal budgets only the number of differences matters: KL_inf on the s
  + 1 counts of people by that number; for a form with unequal budgets, on the 2^s
  counts by set of questions.
* Any other reports: KL_inf on all combinations of answers where they are few, else kl
  on the range of each report's likelihoods.

A declared value that never occurred may have any distribution of the other attributes.

If the adversary knows or sees other attributes of the person, the people who fill in a
form are split into strata by them: known values are conditions like x; for public ones
a report is observed together with the stratum, so its weight is 0 for people outside
the stratum.
"""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage._core.errors import GuaranteeError
from seepage._core.log_ratios import largest_log_ratio, pair_log_ratios
from seepage._core.progress import Progress
from seepage._core.rounding import round_up, rounding, summed_up
from seepage.channel.records import Records
from seepage.confidence.joint_ratios import Ratios, largest_joint_ratios
from seepage.confidence.mean_limits import (
    GUARD,
    ConfidenceLimits,
    kl_inf_interval,
    kl_interval,
    mixture_radius,
)
from seepage.mechanisms.likelihood_columns import LikelihoodColumns, TwoLevelColumns

MAX_TUPLE_CELLS = 1 << 24
"""Maximum number of (target value, report tuple) cells of one target."""


MAX_ATOMS = 1 << 22
"""Maximum number of (report, target value, answers) cells for KL_inf on combinations of
answers."""


JOINT_BLOCK = 1 << 20
"""Statements, report tuples by pairs of values, that are bounded in one call."""


NEWTON_ITERATIONS = 3
"""Newton iterations for each limit of a likelihood; more tighten it by less than
1e-5."""


def _sources(columns: Sequence[LikelihoodColumns], target: int) -> list[int]:
    """Return the sources of the total of a target: other attributes that have several
    values.
    """
    return [k for k in range(len(columns)) if k != target and columns[k].k > 1]


def _report_tuples(columns: Sequence[LikelihoodColumns], target: int) -> int:
    """Return the number of report tuples that a total's limit is about: those of a
    target's sources.
    """
    return math.prod(columns[k].count for k in _sources(columns, target))


def check_population_size(columns: Sequence[LikelihoodColumns]) -> None:
    """Raise a GuaranteeError if limits of totals need too large a table (target values
    by report or value tuples).
    """
    size = 0
    for target, column in enumerate(columns):
        values = math.prod(columns[k].k for k in _sources(columns, target))
        size = max(size, max(values, _report_tuples(columns, target)) * column.k)
    if size > MAX_TUPLE_CELLS:
        raise GuaranteeError(
            f"exact totals for the population need {size:.3g} combinations of reports, "
            f"at most {MAX_TUPLE_CELLS:.3g} fit; choose fewer attributes, or guarantee "
            "'merged' or 'worst'"
        )


def exact_population_totals(
    data: Records,
    columns: Sequence[LikelihoodColumns],
    c: float,
    progress: Progress | None = None,
) -> Floats:
    """Return upper confidence limits of the exact totals of all attributes.

    Each is wrong with probability at most 2 e^-c.  The target's own report is
    independent of the others' given the target, so its best log-ratio between x and x'
    is added. O(s^2) passes over the report tuples of each target.
    """
    check_population_size(columns)
    totals: list[float] = []
    for target in range(len(columns)):
        totals.append(_total_limit(data, columns, target, c))
        if progress is not None:
            progress(len(totals), len(columns))
    return np.array(totals)


def uses_ranges(columns: Sequence[LikelihoodColumns]) -> bool:
    """Return whether the limit of some total rests on the range of a report's
    likelihoods.

    These limits are not known never to fall as budgets grow; those by KL_inf are not
    below the supremum of the totals over a fixed set of distributions, which grows
    [theory-certificate: Families].  Depends on sizes and mechanisms only.
    """
    for target, column in enumerate(columns):
        sources = [columns[k] for k in _sources(columns, target)]
        answers = math.prod(source.k for source in sources) * column.k
        reports = _report_tuples(columns, target)
        if (
            sources
            and _common_contrast(sources) is None
            and reports * answers > MAX_ATOMS
        ):
            return True
    return False


def _total_limit(
    data: Records, columns: Sequence[LikelihoodColumns], target: int, c: float
) -> float:
    """Return the upper confidence limit of the total of one target."""
    column = columns[target]
    indices = _sources(columns, target)
    own = column.max_log_ratios()
    best = float(own.max())
    if column.k < 2 or not indices:
        return best
    sources = [columns[k] for k in indices]
    counts = data.counts((*indices, target)).reshape(-1, column.k).astype(np.float64)
    contrast = _common_contrast(sources)
    if contrast is not None:
        sizes = [source.k for source in sources]
        best = max(best, _joint_total(counts, sizes, contrast, own, c))
        return round_up(best, 16) + rounding([*sizes, column.k])
    different = ~np.eye(column.k, dtype=np.bool_)
    limits = _likelihood_limits(sources, counts, c)
    ratios = pair_log_ratios(limits.upper, limits.lower) + own
    best = max(best, float(ratios[different].max()))
    return round_up(best, 16) + rounding([*(source.k for source in sources), column.k])


def _joint_total(
    counts: Floats, sizes: Sequence[int], contrast: float, own: Floats, c: float
) -> float:
    """Return the limit of the total of GRR reports with one contrast, in blocks of
    reports.
    """
    people = counts.sum(axis=0)
    width = len(people)
    table = counts_by_difference(counts, sizes)
    weights = difference_weights(np.full(len(sizes), contrast), by_set=False)
    step = max(1, JOINT_BLOCK // width**2)
    best = np.zeros(1)
    for start in range(0, table.shape[1], step):
        block = np.moveaxis(table[:, start : start + step], 0, -1)
        edges = np.ones(block.shape[:2])
        ratios = Ratios(
            weights,
            block / np.maximum(people, 1.0)[:, None],
            people,
            weights[-1] * edges,
            weights[0] * edges,
        )
        limits = largest_joint_ratios(
            ratios,
            np.zeros(1, dtype=np.int64),
            c,
            rounds=NEWTON_ITERATIONS,
            enough=best,
            own=own,
        )
        best = np.maximum(best, limits)
    return float(best[0])


def _likelihood_limits(
    sources: Sequence[LikelihoodColumns], counts: Floats, c: float
) -> ConfidenceLimits:
    """Return the limits of p(y given x) for those of totals, report tuples y by target
    values x.
    """
    people = counts.sum(axis=0)
    matrices = [source.matrix() for source in sources]
    reports = math.prod(source.count for source in sources)
    if reports * counts.size <= MAX_ATOMS:
        return _limits_by_answers(matrices, counts, people, c)
    return _limits_by_range(matrices, counts, people, c)


def _common_contrast(sources: Sequence[LikelihoodColumns]) -> float | None:
    """Return the contrast that all sources of a total share if all reports are
    GRR-like, else None.
    """
    contrasts = {_contrast_of_singletons(source) for source in sources}
    if len(contrasts) > 1:
        return None
    contrast = contrasts.pop()
    if contrast == math.inf:
        return None
    return contrast


def _contrast_of_singletons(source: LikelihoodColumns) -> float | None:
    """Return the contrast of a total's source whose likely sets are singletons, else
    None.
    """
    if not isinstance(source, TwoLevelColumns):
        return None
    if source.sets.kind == "singletons" or source.k == source.count == 2:
        return source.contrast
    return None


def _limits_by_answers(
    matrices: list[Floats], counts: Floats, people: Floats, c: float
) -> ConfidenceLimits:
    """Return limits of p(y given x) for those of totals, by KL_inf from the counts of
    all combinations of answers.
    """
    weights = matrices[0]
    for matrix in matrices[1:]:
        weights = np.asarray(np.kron(weights, matrix))
    shares = counts / np.maximum(people, 1.0)
    minimum = weights.min(axis=0)[:, None]
    maximum = weights.max(axis=0)[:, None]
    radius = mixture_radius(people, c)
    return kl_inf_interval(
        weights.T[:, None, :],
        shares.T[None],
        radius,
        minimum,
        maximum,
        rounds=NEWTON_ITERATIONS,
    )


def _limits_by_range(
    matrices: list[Floats], counts: Floats, people: Floats, c: float
) -> ConfidenceLimits:
    """Return limits of p(y given x) for those of totals, by kl from its estimate and
    the range of the likelihoods of y.
    """
    means = counts / np.maximum(people, 1.0)
    reports = 1
    for matrix in matrices:
        means = matrix.T @ means.reshape(reports, len(matrix), -1)
        reports *= matrix.shape[1]
    low = reduce(np.kron, [matrix.min(axis=0) for matrix in matrices])[:, None]
    high = reduce(np.kron, [matrix.max(axis=0) for matrix in matrices])[:, None]
    excess = means.reshape(reports, -1) - low
    width = high - low
    scaled = np.divide(excess, width, out=np.zeros_like(excess), where=width > 0)
    lower, upper = kl_interval(np.clip(scaled, 0.0, 1.0), people, c, rounds=4)
    return ConfidenceLimits(
        (low + width * lower) * (1 - GUARD), (low + width * upper) * (1 + GUARD)
    )


# Forms of GRR reports -----------------------------------------------------------------


def counts_by_difference(
    counts: Floats, sizes: Sequence[int], by_set: bool = False
) -> Floats:
    """Return for limits of totals the number of people by number of questions on which
    they differ from each report.

    Parameters
    ----------
    counts
        People by answers (row-major) and target value, shape (cells, v).
    sizes
        The number of values of each of the s questions.
    by_set
        Count by the set of questions that differ instead, 2^s entries, the first
        question in the highest bit.

    Returns
    -------
    Floats
        Shape (s + 1, reports, v), or (2^s, reports, v): integers wherever the counts
        are.

    Notes
    -----
    One pass over the cells for each question, in place of comparing each report with
    each combination of answers.
    """
    width = counts.shape[-1]
    result = np.asarray(counts, dtype=np.float64)[None]
    stride = len(counts)
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
    """Return the likelihoods exp(-budgets of the differing questions) for limits of
    totals, in the order of `counts_by_difference`.

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
    epsilons: Floats,
    *,
    c: float,
    sizes: Sequence[int] | None = None,
    iterations: int = NEWTON_ITERATIONS,
    public: bool = False,
    joint: bool = True,
    enough: Floats | None = None,
) -> Floats:
    """Return upper confidence limits of all totals of a form of GRR reports.

    Parameters
    ----------
    counts
        People by answers to the form (row-major) and target value, shape (cells, v) or
        (strata, cells, v); the v columns are the values of all attributes,
        concatenated.
    people
        The number of people with each value, shape (v,) or (strata, v).
    starts
        The index of each attribute's first column.
    attributes, epsilons
        The attributes asked, by index, with their budgets.
    c
        Each ratio has two limits, wrong with probability at most e^-c each, or a joint
        one, wrong with at most 2 e^-c: see `level_of_maxima`.
    sizes
        The number of answers of each attribute asked; by default that of its columns.
        A further column of it is of people without an answer, whose counts are spread
        over the answers by fixed shares.
    iterations
        Newton iterations; fewer give wider limits, which are valid all the same.
    public
        Whether the adversary sees the stratum beside the report: then `people` counts
        all strata with the same known values, and people outside a stratum have weight
        0 in it.
    joint
        Whether a ratio has one joint statement where that is narrower by the numbers of
        people, in place of two limits; never beside public values.
    enough
        The total of each attribute from which on a bound of its limit suffices: one
        below is returned without computing the limit.

    Returns
    -------
    Floats
        One total per attribute, the maximum over strata, rounded up; capped at the sum
        of the budgets unless `public`.

    Notes
    -----
    Equal budgets: O(s^2) passes over the cells, then Newton's method on s + 1 weights
    for each report and value: about 5 ms for six binary questions and 80 values.  Else
    2^s weights.  Joint limits cost 2 to 4 ms more, and hardly anything for totals below
    `enough`.

    The likelihood of a report of a person without an answer is the mean w of the
    weights of her completions.  Counts that are spread put ln(1 - l (w_i - a)) of each
    completion in place of ln(1 - l (w - a)), which is at least their mean, as it is
    concave in w: a limit from spread counts is at least that from the mixtures, and n
    is the number of people.

    The limit is the supremum of the total over all distributions within a radius of the
    table's, so it grows with the budgets as the total itself does [theory-certificate:
    Families].

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
    >>> limits = form_total_limits(counts, people, starts, [0, 1], np.ones(2), c=10.0)
    >>> limits.round(3).tolist()
    [1.057, 1.057, 0.505]
    """
    budgets = np.asarray(epsilons, dtype=np.float64)
    width = counts.shape[-1]
    if sizes is None:
        sizes = np.diff(starts, append=width)[list(attributes)].tolist()
    strata = counts.reshape(-1, math.prod(sizes), width)
    group_sizes = np.ravel(people)
    unequal = bool(len(budgets)) and bool((budgets != budgets[0]).any())
    # strata side by side, like the attributes
    columns = np.moveaxis(strata, 0, 1).reshape(-1, len(group_sizes))
    column_starts = np.add.outer(width * np.arange(len(strata)), starts).ravel()
    shares = np.moveaxis(counts_by_difference(columns, sizes, unequal), 0, -1)
    shares = shares / np.maximum(group_sizes, 1.0)[:, None]
    weights = difference_weights(budgets, unequal)
    smallest, largest = _weight_ranges(starts, attributes, sizes, budgets, width)
    minimum = np.tile(smallest, len(strata))
    maximum = np.tile(largest, len(strata))
    if public:
        outside = (group_sizes - columns.sum(axis=0)) / np.maximum(group_sizes, 1.0)
        outside = np.broadcast_to(outside[:, None], (*shares.shape[:-1], 1))
        shares = np.concatenate([shares, outside], axis=-1)
        weights = np.append(weights, 0.0)
        minimum = np.zeros_like(minimum)
    guard = rounding([*sizes, 2])
    if joint and not public:
        ratios = Ratios(weights, shares, group_sizes, minimum, maximum)
        if enough is not None:
            enough = np.tile(enough - 2 * guard, len(strata))
        totals = largest_joint_ratios(
            ratios, column_starts, c, rounds=iterations, enough=enough
        )
        totals = np.where(totals > 0, round_up(totals, 16) + guard, 0.0)
    else:
        radius = mixture_radius(group_sizes, c)
        limits = kl_inf_interval(
            weights, shares, radius, minimum, maximum, rounds=iterations
        )
        totals = largest_log_ratio(limits.upper, limits.lower, column_starts, guard)
    totals = np.asarray(np.max(totals.reshape(len(strata), -1), axis=0))
    if public:
        return totals
    return np.minimum(totals, summed_up(budgets.tolist()))


def _weight_ranges(
    starts: Integers,
    attributes: Sequence[int],
    sizes: Sequence[int],
    budgets: Floats,
    width: int,
) -> tuple[Floats, Floats]:
    """Return for limits of totals the minimum and maximum likelihood of each report
    under each value.

    People with value x of an attribute that is asked all answer x there; those without
    an answer may give any.
    """
    reports = math.prod(sizes)
    log_maximum = np.zeros((reports, width))
    span = np.full(width, float(budgets.sum()))
    stride = reports
    for attribute, size, budget in zip(
        attributes, sizes, budgets.tolist(), strict=True
    ):
        stride //= size
        answer = np.arange(reports) // stride % size
        columns = slice(starts[attribute], starts[attribute] + size)
        log_maximum[:, columns] = np.where(
            answer[:, None] == np.arange(size), 0.0, -budget
        )
        span[columns] -= budget
    return np.exp(log_maximum - span), np.exp(log_maximum)
