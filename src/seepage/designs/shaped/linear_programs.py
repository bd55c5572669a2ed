"""Linear programs that differ in their objective, each started from the solution of the last."""

from importlib import import_module
from typing import Any

import numpy as np
from scipy.optimize import linprog

from seepage._numerics import Floats

ACCURACY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The finest tolerances of HiGHS."""

DUAL, PRIMAL = 1, 4
"""Strategies of the simplex method: after new rows, and after a new objective."""


class LinearPrograms:
    """The largest c . x within A x <= 0, E x = (1, 0, ...) and x >= 0, for one c after another.

    A program that starts from the basis of the last takes a few pivots, .1 to .4 ms for 40
    unknowns; `linprog` starts anew and takes 2 ms.  SciPy has HiGHS as a private module only, so
    `linprog` is the way where that is missing or different.

    Parameters
    ----------
    above
        The rows of A.
    equal
        The rows of E.
    """

    def __init__(self, above: Floats, equal: Floats) -> None:
        self._above, self._equal, self._added = above, equal, above[:0]
        self._warm = _warm_solver(above, equal)

    def add(self, rows: Floats) -> None:
        """Add rows to A; what they lack at their end is 0."""
        wide = self._wide(rows)
        self._added = np.vstack([self._added, wide])
        if self._warm is not None:
            self._warm.add(wide)

    def replace(self, rows: Floats) -> None:
        """Put rows in place of all that were added."""
        self._added = self._wide(rows)
        self._warm = _warm_solver(np.vstack([self._above, self._added]), self._equal)

    def _wide(self, rows: Floats) -> Floats:
        return np.hstack([rows, np.zeros((len(rows), self._above.shape[1] - rows.shape[1]))])

    def largest(self, gain: Floats) -> Floats | None:
        """Return x with the largest gain . x; None where the solver fails."""
        costs = np.zeros(self._above.shape[1])
        costs[: len(gain)] = -gain
        if self._warm is not None:
            return self._warm.smallest(costs)
        above = np.vstack([self._above, self._added])
        found = linprog(  # type: ignore[call-overload]
            costs,
            A_ub=above,
            b_ub=np.zeros(len(above)),
            A_eq=self._equal,
            b_eq=np.eye(1, len(self._equal))[0],
            options={"presolve": False, **ACCURACY},
        )
        return np.asarray(found.x) if found.status == 0 else None


def _warm_solver(above: Floats, equal: Floats) -> "_WarmSolver | None":
    """Return HiGHS with a first solution; None where SciPy has it in another form."""
    try:
        found = _WarmSolver(above, equal)
        return None if found.smallest(np.zeros(above.shape[1])) is None else found
    except (ImportError, AttributeError, TypeError):
        return None


class _WarmSolver:
    """HiGHS with one model, whose basis stays from one objective to the next."""

    def __init__(self, above: Floats, equal: Floats) -> None:
        highs: Any = import_module("scipy.optimize._highspy._core")
        self._optimal = highs.HighsModelStatus.kOptimal
        self._solver = highs._Highs()
        for name, value in {"output_flag": False, "presolve": "off", **ACCURACY}.items():
            self._solver.setOptionValue(name, value)
        model, columns = highs.HighsLp(), above.shape[1]
        model.num_col_ = model.a_matrix_.num_col_ = columns
        model.col_cost_ = model.col_lower_ = np.zeros(columns)
        model.col_upper_ = np.full(columns, np.inf)
        self._solver.passModel(model)
        self._columns = np.arange(columns, dtype=np.int32)
        self._add(equal, *[np.eye(1, len(equal))[0]] * 2)
        self.add(above)

    def add(self, rows: Floats) -> None:
        """Add rows a with a . x <= 0."""
        self._add(rows, np.full(len(rows), -np.inf), np.zeros(len(rows)))

    def _add(self, rows: Floats, lower: Floats, upper: Floats) -> None:
        filled = rows != 0
        ends = np.cumsum(filled.sum(axis=1), dtype=np.int32)
        begins = np.concatenate([[0], ends[:-1]]).astype(np.int32)
        places = np.nonzero(filled)[1].astype(np.int32)
        self._solver.addRows(len(rows), lower, upper, len(places), begins, places, rows[filled])
        self._solver.setOptionValue("simplex_strategy", DUAL)

    def smallest(self, costs: Floats) -> Floats | None:
        """Return x with the smallest costs . x; None where there is none, or it is not found."""
        self._solver.changeColsCost(len(costs), self._columns, costs)
        for start in ("last", "none"):
            if start == "none":
                self._solver.clearSolver()
            self._solver.run()
            if self._solver.getModelStatus() == self._optimal:
                self._solver.setOptionValue("simplex_strategy", PRIMAL)
                return np.array(self._solver.getSolution().col_value)
        return None
