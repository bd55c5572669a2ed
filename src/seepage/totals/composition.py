"""`worst`, `independent` and `merged`: totals from sums of budgets or of leakages.

`worst` is the sum of all budgets, `independent` that of the pairwise leakages; `merged` is the
bound for all sources as one, released with the sum of their budgets.
"""

import math
from collections.abc import Sequence

import numpy as np

from seepage._numerics import Floats, summed_up
from seepage._results import Progress
from seepage.data.records import Records
from seepage.leakage import LeakageMatrix, Release
from seepage.leakage.likely_sets import best_of_all, relaxation
from seepage.leakage.linear_limits import upper_over_all_sets
from seepage.leakage.release import View
from seepage.totals.result import GuaranteeError, direct

MAX_CELLS = 1 << 27
"""The largest channel from a target to all other attributes: 1 GB."""

MAX_POPULATION_CELLS = 1 << 24
"""The same where limits for people are computed from it."""

MAX_RADIUS = 50.0
"""Relative entropy beyond which nothing is known of a row."""


def check_pure(matrix: LeakageMatrix) -> None:
    """Raise where (epsilon, delta) is all that is known of a mechanism and delta > 0."""
    if any(release.mechanism is None and release.delta > 0 for release in matrix.releases):
        raise GuaranteeError(
            "exact totals need delta 0 or the mechanism's name: (epsilon, delta) alone bounds "
            "no likelihood ratio; use 'merged'"
        )


def worst_totals(released: Sequence[Release], view: View) -> tuple[Floats, Floats]:
    """Return the sum of what all reports say about their own attributes, for every attribute.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas: certified, for all reports together are (sum eps, sum delta)-LDP
        for the whole record, and so for each attribute of it, whatever the joint distribution.
    """
    parts = np.array([direct(release, view) for release in released])
    value, delta = (np.full(len(released), summed_up(part)) for part in parts.T)
    return value, delta


def independent_totals(matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return DPL plus the CPL of every source [paper, equation for L-bar].

    Parameters
    ----------
    matrix
        The pairwise leakages.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas.  They hold where the sources are independent given the target,
        and are exceeded by real tables [theory-totals]: an assumption, not a guarantee.  A
        source with delta > 0 counts with the bound of its (epsilon, delta) and its delta'.
    """
    if any(release.delta > 0 and release.mechanism is not None for release in matrix.releases):
        bounded = [Release(r.epsilon, r.delta) if r.delta > 0 else r for r in matrix.releases]
        matrix = LeakageMatrix(matrix.pairs, bounded, matrix.view, matrix.smoothing, matrix.radius)
    parts = np.array([direct(release, matrix.view) for release in matrix.releases])
    values = [summed_up((own, *row)) for own, row in zip(parts[:, 0], matrix.values, strict=True)]
    deltas = [
        summed_up((own, *row)) for own, row in zip(parts[:, 1], matrix.relaxations, strict=True)
    ]
    return np.array(values), np.array(deltas)


def merged_totals(
    data: Records,
    released: Sequence[Release],
    view: View,
    confidence: float | None = None,
    progress: Progress | None = None,
) -> tuple[Floats, Floats]:
    """Return eps_k + bound(P(Z given X_k), sum of the others' eps), Z all other attributes.

    Parameters
    ----------
    data
        The joint distribution.
    released
        How each attribute is released; only budgets matter.
    view
        What the adversary keeps.
    confidence
        None for the table's own distribution.  Else the totals are upper limits for the people of
        whom the records are a random sample, all at once with this confidence.
    progress
        Called with the targets done and in all.

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

    For people the statements range over every set of combinations of the other attributes, those
    that never occurred included: c grows by ln 2 for each combination.  So it says something only
    where the others have far fewer combinations than there are people with each value.
    """
    parts = np.array([direct(release, view) for release in released])
    totals = np.zeros_like(parts)
    for target in range(len(released)):
        others = np.delete(parts, target, axis=0)
        budget, slack = summed_up(others[:, 0]), summed_up(others[:, 1])
        if confidence is None:
            counts = _counts(data, target)
            channel = counts / counts.sum(axis=1, keepdims=True)
            value = float(best_of_all(channel[None], np.array([budget])).value[0])
            delta = relaxation(channel, value, budget, slack)
        else:
            value = _limit_for_people(data, target, budget, confidence)
            # the channel, which is not known among people, matters at budget 0 only
            delta = relaxation(np.ones((1, 1)), value, budget, slack) if budget > 0 else slack
        totals[target] = summed_up((parts[target, 0], value)), summed_up((parts[target, 1], delta))
        if progress is not None:
            progress(target + 1, len(released))
    return totals[:, 0], totals[:, 1]


def _counts(data: Records, target: int, people: bool = False) -> Floats:
    """Return people by target value and combination of the others, as far as these occur."""
    groups = data.groups(k for k in range(len(data.domain)) if k != target)
    columns = int(groups.max()) + 1
    seen, rows = np.unique(data.column(target), return_inverse=True)
    most = MAX_POPULATION_CELLS if people else MAX_CELLS
    if len(seen) * columns > most:
        raise GuaranteeError(
            f"merged totals{' for the population' * people} need a table of {len(seen):,} values "
            f"of {data.domain.names[target]!r} by {columns:,} combinations of the others, at most "
            f"{most:.3g} cells fit; use {'worst' if people else 'sampled'!r}, or choose fewer "
            "attributes or values"
        )
    cells = np.bincount(rows * columns + groups, data.weights, minlength=len(seen) * columns)
    return np.asarray(cells.reshape(len(seen), columns))


def _limit_for_people(data: Records, target: int, budget: float, confidence: float) -> float:
    """Return the upper limit of the bound over all sets of combinations of the others."""
    sizes = data.domain.sizes
    cells = math.prod(size for k, size in enumerate(sizes) if k != target)
    if sizes[target] == 1 or cells == 1 or budget == 0:
        return 0.0
    c = math.log(len(sizes) * sizes[target]) - math.log1p(-confidence)
    c += min(float(cells), 1e300) * math.log(2.0)
    people = data.marginal(target)
    if c > MAX_RADIUS * people.min():
        return budget
    counts = _counts(data, target, people=True)
    rows = counts / counts.sum(axis=1, keepdims=True)
    if rows.shape[1] < cells:  # a combination that never occurred
        rows = np.hstack([rows, np.zeros((len(rows), 1))])
    return float(upper_over_all_sets([rows], [c / people], budget)[0])


def merged_may_tell(data: Records) -> bool:
    """Return whether `merged` totals for people can be below the sum of budgets at all."""
    sizes = data.domain.sizes
    cells = min(math.prod(sizes) / size for size in sizes)
    return cells * math.log(2.0) <= MAX_RADIUS * data.records
