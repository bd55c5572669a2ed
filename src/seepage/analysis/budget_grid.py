"""Leakages of a table at a grid of other budgets."""

import numpy as np

from seepage._core.errors import InputError
from seepage.leakage.matrix import LeakageMatrix
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.release import releases

GRID = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
"""Budgets of the page's slider, beside the analysed one; in proportion if that is above
10."""


def leakage_grid(matrix: LeakageMatrix) -> list[LeakageMatrix]:
    """Return the leakage matrix at each budget of a grid, all budgets in proportion,
    and itself.

    In ascending order of budgets.  Only the matrix itself if its mechanisms are not
    those that the registry creates by name; a budget that a mechanism does not accept
    is left out.
    """
    names = [release.name for release in matrix.releases]
    are_known = all(name is None or name in MECHANISMS for name in names)
    if not are_known:
        return [matrix]
    largest = float(matrix.epsilons.max())
    if not np.array_equal(_scaled(matrix, largest).values, matrix.values):
        return [matrix]
    stretch = max(1.0, largest / GRID[-1])
    budgets = {largest, *(stretch * step for step in GRID)}
    grid = list[LeakageMatrix]()
    for budget in sorted(budgets):
        if budget == largest:
            grid.append(matrix)
            continue
        try:
            grid.append(_scaled(matrix, budget))
        except InputError:  # a budget that a mechanism does not accept
            continue
    return grid


def _scaled(matrix: LeakageMatrix, budget: float) -> LeakageMatrix:
    """Return the leakage matrix at a budget of the grid: its largest one, all others in
    proportion.
    """
    largest = float(matrix.epsilons.max())
    if budget == largest:
        epsilons = matrix.epsilons
    elif largest == 0:
        epsilons = np.full(len(matrix.epsilons), budget)
    else:
        epsilons = budget * (matrix.epsilons / largest)
    names = [release.name for release in matrix.releases]
    deltas = [release.delta for release in matrix.releases]
    released = releases(matrix.domain, epsilons.tolist(), names, deltas)
    return LeakageMatrix(matrix.pairs, released, matrix.view, matrix.smoothing)
