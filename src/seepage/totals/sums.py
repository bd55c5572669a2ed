"""The totals that add up: `worst`, of all budgets, and `independent`, of the pairwise leakages."""

import numpy as np

from seepage._numerics import Floats
from seepage.leakage import LeakageMatrix, Release
from seepage.totals.result import direct, summed_up

__all__ = ["independent_totals", "worst_totals"]


def worst_totals(matrix: LeakageMatrix) -> tuple[Floats, Floats]:
    """Return the sum of what all reports say about their own attributes, for every attribute.

    Parameters
    ----------
    matrix
        How the attributes are released; no look is taken at the leakages in it.

    Returns
    -------
    tuple[Floats, Floats]
        Totals and their deltas: certified, for all reports together are (sum eps, sum delta)-LDP
        for the whole record, and so for each attribute of it, whatever the joint distribution.
    """
    parts = np.array([direct(release, matrix.view) for release in matrix.releases])
    shape = len(matrix.domain)
    return np.full(shape, summed_up(parts[:, 0])), np.full(shape, summed_up(parts[:, 1]))


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
        matrix = LeakageMatrix(matrix.pairs, bounded, matrix.view, matrix.smoothing)
    parts = np.array([direct(release, matrix.view) for release in matrix.releases])
    values = [summed_up((own, *row)) for own, row in zip(parts[:, 0], matrix.values, strict=True)]
    deltas = [
        summed_up((own, *row)) for own, row in zip(parts[:, 1], matrix.relaxations, strict=True)
    ]
    return np.array(values), np.array(deltas)
