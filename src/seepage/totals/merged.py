"""`merged`: all sources seen as one, released with the sum of their budgets."""

from collections.abc import Sequence

import numpy as np

from seepage._numerics import Floats
from seepage.evidence import relaxation
from seepage.leakage import Release
from seepage.leakage.release import View
from seepage.ratios import best_of_all
from seepage.totals.result import GuaranteeError, Progress, direct, summed_up
from seepage.tuples import Tuples

__all__ = ["merged_totals"]

MOST_CELLS = 1 << 27
"""The largest channel from a target to all other attributes: 1 GB."""


def merged_totals(
    tuples: Tuples,
    released: Sequence[Release],
    view: View,
    progress: Progress | None = None,
) -> tuple[Floats, Floats]:
    """Return eps_k + bound(P(Z given X_k), sum of the others' eps), Z all other attributes.

    Parameters
    ----------
    tuples
        The joint distribution.
    released
        How each attribute is released; only budgets matter.
    view
        What the adversary keeps.
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
    """
    parts = np.array([direct(release, view) for release in released])
    totals = np.zeros_like(parts)
    for target in range(len(released)):
        others = np.delete(parts, target, axis=0)
        channel = _channel(tuples, target)
        budget, slack = summed_up(others[:, 0]), summed_up(others[:, 1])
        value = float(best_of_all(channel[None], np.array([budget])).value[0])
        delta = relaxation(channel, value, budget, slack)
        totals[target] = summed_up((parts[target, 0], value)), summed_up((parts[target, 1], delta))
        if progress is not None:
            progress(target + 1, len(released))
    return totals[:, 0], totals[:, 1]


def _channel(tuples: Tuples, target: int) -> Floats:
    """Return P(all other attributes given the target), rows the target values that occurred."""
    groups = tuples.groups(k for k in range(len(tuples.domain)) if k != target)
    columns = int(groups.max()) + 1
    seen, rows = np.unique(tuples.column(target), return_inverse=True)
    if len(seen) * columns > MOST_CELLS:
        raise GuaranteeError(
            f"merged totals need a table of {len(seen):,} values of "
            f"{tuples.domain.names[target]!r} by {columns:,} combinations of the others, at most "
            f"{MOST_CELLS:.3g} cells fit; use 'sampled', or choose fewer attributes or values"
        )
    cells = np.bincount(rows * columns + groups, tuples.weights, minlength=len(seen) * columns)
    counts = cells.reshape(len(seen), columns)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
