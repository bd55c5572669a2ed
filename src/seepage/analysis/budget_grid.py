"""Leakages of a table at a grid of other budgets."""

from collections.abc import Sequence

import numpy as np

from seepage._core.errors import InputError
from seepage.leakage.matrix import LeakageMatrix
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.release import releases

GRID = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
"""Budgets of the page's slider, beside the analysed one; in proportion if that is above
10."""


MAX_ATTRIBUTES = 100
"""Of more attributes a page has the analysed budgets only, and as many pairs as of so
many."""


# Input of the script ------------------------------------------------------------------


def leakage_grid(matrix: LeakageMatrix) -> list[LeakageMatrix]:
    """Return the matrix at each budget of `GRID`, all budgets in proportion, and
    itself.

    In ascending order of budgets.  Only the matrix itself if it has many attributes, or
    if its mechanisms are not those that the registry creates by name; a budget that a
    mechanism does not accept is left out.
    """
    largest = float(matrix.epsilons.max())
    names = [release.name for release in matrix.releases]
    known = all(name is None or name in MECHANISMS for name in names)
    if not known or len(names) > MAX_ATTRIBUTES:
        return [matrix]

    def scaled(budget: float) -> LeakageMatrix:
        shares = matrix.epsilons / largest if largest else np.ones(len(names))
        epsilons = matrix.epsilons if budget == largest else budget * shares
        deltas = [release.delta for release in matrix.releases]
        released = releases(matrix.domain, epsilons.tolist(), names, deltas)
        return LeakageMatrix(matrix.pairs, released, matrix.view, matrix.smoothing)

    if not np.array_equal(scaled(largest).values, matrix.values):
        return [matrix]
    grid = []
    for budget in sorted(
        {largest, *(max(1.0, largest / GRID[-1]) * step for step in GRID)}
    ):
        try:
            grid.append(matrix if budget == largest else scaled(budget))
        except InputError:
            continue
    return grid


def grid_note(grid: Sequence[LeakageMatrix]) -> str:
    """Return why there are no other budgets to choose from; "" if there are."""
    count = len(grid[0].domain)
    if count > MAX_ATTRIBUTES:
        few = f"the analysed budgets only, and the witnesses of the {MAX_ATTRIBUTES**2:,} largest"
        return f"Of {count} attributes this page has the leakages at {few}."
    known = len(grid) > 1 or count == 1
    return (
        "" if known else "Leakages at other budgets are not known for these mechanisms."
    )
