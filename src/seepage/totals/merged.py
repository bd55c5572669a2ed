"""`merged`: the bound for all sources as one attribute, released with the sum of their budgets."""

import math

import numpy as np

from seepage._numerics import Floats, summed_up
from seepage._results import Progress
from seepage.data.records import Records
from seepage.errors import GuaranteeError
from seepage.leakage.linear_bounds import upper_over_all_sets
from seepage.leakage.matrix import LeakageMatrix
from seepage.leakage.release import LikelySets, relaxation
from seepage.totals import direct_leakage

MAX_CELLS = 1 << 27
"""Maximum number of cells of the channel from a target to all other attributes: 1 GB."""

MAX_POPULATION_CELLS = 1 << 24
"""The same for limits for the population."""

MAX_RADIUS = 50.0
"""Radius in nats (relative entropy) beyond which the limits of a row are trivial."""


def merged_totals(
    data: Records,
    matrix: LeakageMatrix,
    confidence: float | None = None,
    progress: Progress | None = None,
) -> tuple[Floats, Floats]:
    """Return eps_k + bound(P(Z given X_k), sum of the others' eps), Z all other attributes.

    Parameters
    ----------
    data
        The joint distribution.
    matrix
        How each attribute is released, and what the adversary keeps; only budgets matter.
    confidence
        None for the table's own distribution.  Else the totals are upper confidence limits for the
        population of which the records are a random sample, valid at once.
    progress
        Called with the number of targets done and of all targets.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas, rounded up: certified.  The others' reports together are one
        (sum eps, sum delta)-LDP report of Z, independent of the target's own report given the
        target [theory-totals].  Between `exact` and `worst`.

    Notes
    -----
    For each target one sort of the distinct records and O(m^2 z), with m target values and z
    distinct combinations of the others.

    For the population a union bound over every set of combinations of the other attributes is
    needed, those that never occurred included: c grows by ln 2 for each combination.  So the limit
    is below the sum of budgets only if the others have far fewer combinations than there are
    people with each value.
    """
    direct = np.array([direct_leakage(release, matrix.view) for release in matrix.releases])
    totals = np.zeros_like(direct)
    for target in range(len(direct)):
        others = np.delete(direct, target, axis=0)
        budget, slack = summed_up(others[:, 0]), summed_up(others[:, 1])
        if confidence is None:
            counts = _joint_counts(data, target, MAX_CELLS)
            channel = counts / counts.sum(axis=1, keepdims=True)
            value = LikelySets("all", budget).best_pair(channel).value
            delta = relaxation(channel, value, budget, slack)
        else:
            value = _population_limit(data, target, budget, confidence)
            # the population's channel is unknown; `relaxation` uses it at budget 0 only
            delta = relaxation(np.ones((1, 1)), value, budget, slack) if budget > 0 else slack
        own, own_delta = direct[target]
        totals[target] = summed_up((own, value)), summed_up((own_delta, delta))
        if progress is not None:
            progress(target + 1, len(direct))
    return totals[:, 0], totals[:, 1]


def _joint_counts(
    data: Records, target: int, max_cells: int, scope: str = "", alternative: str = "sampled"
) -> Floats:
    """Return records by target value and combination of the others, those that occur.

    `scope` and `alternative` are words of the message if they exceed `max_cells`.
    """
    groups = data.groups(k for k in range(len(data.domain)) if k != target)
    columns = int(groups.max()) + 1
    seen, rows = np.unique(data.column(target), return_inverse=True)
    if len(seen) * columns > max_cells:
        raise GuaranteeError(
            f"merged totals{scope} need a table of {len(seen):,} values "
            f"of {data.domain.names[target]!r} by {columns:,} combinations of the others, at most "
            f"{max_cells:.3g} cells fit; use {alternative!r}, or choose fewer "
            "attributes or values"
        )
    cells = np.bincount(rows * columns + groups, data.weights, minlength=len(seen) * columns)
    return np.asarray(cells.reshape(len(seen), columns))


def _population_limit(data: Records, target: int, budget: float, confidence: float) -> float:
    """Return the upper confidence limit of the bound for all others as one source."""
    sizes = data.domain.sizes
    cells = math.prod(size for k, size in enumerate(sizes) if k != target)
    if sizes[target] == 1 or cells == 1 or budget == 0:
        return 0.0
    c = math.log(len(sizes) * sizes[target]) - math.log1p(-confidence)
    c += min(float(cells), 1e300) * math.log(2.0)
    people = data.marginal(target)
    if c > MAX_RADIUS * people.min():
        return budget
    counts = _joint_counts(data, target, MAX_POPULATION_CELLS, " for the population", "worst")
    rows = counts / counts.sum(axis=1, keepdims=True)
    if rows.shape[1] < cells:  # a combination that never occurred
        rows = np.hstack([rows, np.zeros((len(rows), 1))])
    return float(upper_over_all_sets([rows], [c / people], budget)[0])


def merged_is_informative(data: Records) -> bool:
    """Return whether `merged` totals for the population can be below the sum of budgets."""
    sizes = data.domain.sizes
    cells = min(math.prod(sizes) / size for size in sizes)
    return cells * math.log(2.0) <= MAX_RADIUS * data.records
