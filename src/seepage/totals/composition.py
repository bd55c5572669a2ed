"""Totals composed of single leakages: `worst`, `sum`, `independent` and `merged`."""

import math

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import GuaranteeError
from seepage._core.progress import Progress
from seepage._core.rounding import round_up, summed_up
from seepage.channel.records import Records
from seepage.confidence.all_sets_bound import upper_over_all_sets
from seepage.leakage.bound import relaxation
from seepage.leakage.likely_sets import LikelySets
from seepage.leakage.matrix import RATIO_CELLS, LeakageMatrix
from seepage.totals.exact_total import MAX_TARGET_CELLS

MAX_POPULATION_CELLS = 1 << 24
"""The same for merged totals for the population."""


MAX_RADIUS = 50.0
"""Nats per person, c plus ln 2 for each combination of the others, beyond which the
merged limit for the population is taken as the sum of budgets: it is hardly below."""


# All sources as one -------------------------------------------------------------------


def merged_totals(
    data: Records,
    matrix: LeakageMatrix,
    level: float | None = None,
    progress: Progress | None = None,
) -> tuple[Floats, Floats]:
    """Return composed totals, eps_k + bound(P(Z given X_k), sum of the others' eps), Z
    all other attributes.

    Parameters
    ----------
    data
        The joint distribution.
    matrix
        How each attribute is released, and what the adversary keeps; only budgets
        matter.
    level
        None for the table's own distribution.  Else c: the totals are upper confidence
        limits for the population of which the records are a random sample, each wrong
        with probability at most 2 e^-c.
    progress
        Called with the number of targets done and of all targets.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas, rounded up: certified.  The others' reports together
        are one (sum eps, sum delta)-LDP report of Z, independent of the target's own
        report given the target [theory-totals].  Between `exact` and `worst`.

    Notes
    -----
    For each target one sort of the distinct records and O(m^2 z), with m target values
    and z distinct combinations of the others.

    For the population the bound is attained at one set of combinations of the other
    attributes, those that never occurred included, so no union over sets is needed
    [theory-certificate: The theorem].
    """
    direct = matrix.direct.T
    totals = np.zeros_like(direct)
    for target in range(len(direct)):
        others = np.delete(direct, target, axis=0)
        budget = summed_up(others[:, 0])
        slack = summed_up(others[:, 1])
        if level is None:
            counts = _joint_counts(data, target, MAX_TARGET_CELLS)
            channel = counts / counts.sum(axis=1, keepdims=True)
            value = LikelySets("all", budget).best_pair(channel).value
            delta = relaxation(channel, value, budget, slack)
        else:
            value = _population_limit(data, target, budget, level)
            delta = slack
            if budget > 0:  # `relaxation` uses the channel, unknown here, at 0 only
                delta = relaxation(np.ones((1, 1)), value, budget, slack)
        own, own_delta = direct[target]
        totals[target] = summed_up((own, value)), summed_up((own_delta, delta))
        if progress is not None:
            progress(target + 1, len(direct))
    return totals[:, 0], totals[:, 1]


def _joint_counts(
    data: Records,
    target: int,
    max_cells: int,
    scope: str = "",
    alternative: str = "sampled",
) -> Floats:
    """Return the records to compose as one source: by target value and combination of
    all others.

    `scope` and `alternative` are words of the message if they exceed `max_cells`.
    """
    groups = data.groups(k for k in range(len(data.domain)) if k != target)
    columns = int(groups.max()) + 1
    seen, rows = np.unique(data.column(target), return_inverse=True)
    if len(seen) * columns > max_cells:
        raise GuaranteeError(
            f"merged totals{scope} need a table of {len(seen):,} values of "
            f"{data.domain.names[target]!r} by {columns:,} combinations of the others, "
            f"at most {max_cells:.3g} cells fit; use {alternative!r}, or choose fewer "
            "attributes or values"
        )
    cells = np.bincount(
        rows * columns + groups, data.weights, minlength=len(seen) * columns
    )
    return np.asarray(cells.reshape(len(seen), columns))


def _population_limit(data: Records, target: int, budget: float, c: float) -> float:
    """Return the upper confidence limit of `merged`, the bound of a composition for all
    others as one source.

    Wrong with probability at most 2 e^-c.
    """
    sizes = data.domain.sizes
    cells = math.prod(size for k, size in enumerate(sizes) if k != target)
    if sizes[target] == 1 or cells == 1 or budget == 0:
        return 0.0
    people = data.marginal(target)
    if min(float(cells), 1e300) * math.log(2.0) + c > MAX_RADIUS * people.min():
        return budget
    counts = _joint_counts(
        data, target, MAX_POPULATION_CELLS, " for the population", "worst"
    )
    rows = counts / counts.sum(axis=1, keepdims=True)
    if rows.shape[1] < cells:  # a combination that never occurred
        rows = np.hstack([rows, np.zeros((len(rows), 1))])
    return float(upper_over_all_sets([rows], [c / people], budget)[0])


# Totals from pair counts --------------------------------------------------------------


def worst_totals(matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return composed totals, the sum of the direct leakages (DPL) of all attributes,
    the same for every target.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas.  Certified for any joint distribution: all reports
        together are (sum eps, sum delta)-LDP for the whole record, hence for each
        attribute of it.
    """
    budgets, deltas = matrix.direct
    values = np.full(len(budgets), summed_up(budgets))
    return values, np.full(len(deltas), summed_up(deltas))


def sum_totals(matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return composed totals, DPL plus the CPL of every source [paper, equation for
    L-bar].

    Parameters
    ----------
    matrix
        The pairwise leakages.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas, never below `independent_totals` and under the same
        assumption.
    """
    budgets, deltas = matrix.direct
    return _row_sums(budgets, matrix.values), _row_sums(deltas, matrix.deltas)


def _row_sums(own: Floats, others: Floats) -> Floats:
    """Return composed totals: each attribute's own part plus its row of the others',
    rounded up.
    """
    rows = np.column_stack([own, others])
    return np.array([summed_up(row) for row in rows])


def independent_totals(matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return composed totals, the largest sum over sources of the log-ratios of one
    pair of target values.

    max over x, x' of own(x, x') + sum over sources j of l_j(x, x'), where l_j(x, x') is
    the largest log-ratio ln p(y given x) / p(y given x') of a report of j
    [theory-totals].

    Parameters
    ----------
    matrix
        The pairwise leakages.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas.  An assumption, not a guarantee: valid only if the
        sources are independent given the target; real data often violate it
        [theory-totals].  A source with a delta counts with its leakage l for every pair
        of values.

    Notes
    -----
    O(m^2 t) for each source with t values and a target with m; O(m^2 t log t) if every
    likely set is possible, O(m^2 r) for a transition matrix with r reports.  A target
    with more than `RATIO_CELLS` pairs of values has the sum of maxima, and so has a
    source whose reports are neither two-level nor listed.
    """
    values, deltas = sum_totals(matrix)
    sizes = matrix.domain.sizes
    sums = {}
    for target, size in enumerate(sizes):
        if size**2 <= RATIO_CELLS:
            sums[target] = np.zeros((size, size))
    rest = matrix.values.copy()
    for targets, sources, ratios in matrix.ratios_by_pair():
        rest[targets, sources] = 0.0
        order = np.argsort(targets, kind="stable")
        names, starts = np.unique(targets[order], return_index=True)
        parts = np.add.reduceat(ratios[order], starts, axis=0)
        for target, part in zip(names.tolist(), parts, strict=True):
            sums[target] += part
    for target, pairs in sums.items():
        never_occurs = matrix.pairs.marginals[target] == 0
        pairs[never_occurs] = 0.0
        pairs[:, never_occurs] = 0.0
        pairs += matrix.own_ratios(target) + rest[target].sum()
        np.fill_diagonal(pairs, 0.0 if len(pairs) > 1 else np.inf)
        values[target] = min(
            values[target], round_up(float(pairs.max()), 2 * len(sizes))
        )
    return values, deltas
