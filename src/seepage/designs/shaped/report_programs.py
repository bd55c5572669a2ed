"""The two convex programs of a search for reports: linear ones, and the A-optimal mixture.

A report is a vector w of likelihoods, scaled so that its chance at the nominal frequencies is 1.
Shares theta >= 0 with sum_y theta_y w_y = 1 make a mechanism, whose information about the
frequencies is I = sum_y theta_y w_y w_y'.  The wanted linear functions B of the frequencies are
estimated with a total second moment of phi = tr(B I^-1 B'), convex in theta: an A-optimal design
[Pukelsheim 1993], found by a primal-dual interior-point method.
"""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

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
        from scipy.optimize import linprog

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
        indices = np.nonzero(filled)[1].astype(np.int32)
        self._solver.addRows(len(rows), lower, upper, len(indices), begins, indices, rows[filled])
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


# The A-optimal mixture ----------------------------------------------------------------------------

STEPS = 80
"""Newton steps before the mixture reached is taken."""

TO_BOUNDARY = 0.99
"""The share of the way to the first zero of a share or a slack that one step may go."""

CENTRING = 0.2
"""The factor by which one step lowers the complementarity."""

RIDGE = 1e-12
"""Added to the scaled Hessian, whose rounding could make it indefinite."""


class Mixture(NamedTuple):
    """Shares of reports, and the prices that prove how good they are.

    With M = B I^-1, each report of the mixture has |M w|^2 <= w . prices up to the accuracy
    reached, with equality where its share is positive; 1 . prices = phi.
    """

    shares: Floats
    prices: Floats
    coefficients: Floats
    """M = B I^-1: M w is what a report adds to the wanted estimates."""
    second_moment: float
    """phi = tr(B I^-1 B')."""

    def excess(self, reports: Floats) -> Floats:
        """Return |M w|^2 - w . prices of each report: above 0 where adding it lowers phi."""
        gains = ((reports @ self.coefficients.T) ** 2).sum(axis=1)
        return np.asarray(gains - reports @ self.prices)

    def lower_bound(self, whole: Floats, excess: float) -> float:
        """Return what no mixture of reports goes below, given that none exceeds this excess.

        Notes
        -----
        For any mixture with information J, phi^2 = tr(M B')^2 <= tr(M J M') tr(B J^-1 B') by
        Cauchy-Schwarz, and tr(M J M') = sum theta |M w|^2 <= sum theta (w . prices + excess)
        = 1 . prices + excess, since the shares sum to 1.
        """
        most = float(whole @ self.prices) + excess
        return self.second_moment**2 / most if most > 0 else 0.0


def best_mixture(
    reports: Floats, wanted: Floats, whole: Floats, start: Floats, accuracy: float = 1e-7
) -> Mixture:
    """Return shares that minimise phi, to a relative accuracy.

    Parameters
    ----------
    reports
        One row per report.
    wanted
        B, one row per wanted linear function.
    whole
        The vector that the mixture must sum to: all ones, in the coordinates of the reports.
    start
        Positive shares to start from, whose information is regular; they need not sum to `whole`.
    accuracy
        The complementarity sum_y theta_y s_y at which to stop, as a share of phi; s are the slacks
        w . prices - |M w|^2.

    Notes
    -----
    The Hessian of phi is 2 (w_i I^-1 w_j)(w_i M'M w_j).  O(n^3) a step for n reports; some twenty
    steps.  Solved in coordinates in which the information of `start` is the identity.
    """
    _, root = np.linalg.qr(np.sqrt(start)[:, None] * reports)
    back = solve_triangular(root, np.eye(len(root)), check_finite=False)
    found = _solved(reports @ back, wanted @ back, whole @ back, start, accuracy)
    return found._replace(prices=back @ found.prices, coefficients=found.coefficients @ back.T)


def _solved(
    reports: Floats, wanted: Floats, whole: Floats, start: Floats, accuracy: float
) -> Mixture:
    shares = start
    inner, scores, moment = _information(reports, wanted, shares)
    gains = (scores**2).sum(axis=1)
    prices = np.linalg.lstsq(reports, gains, rcond=None)[0]
    slacks = np.maximum(reports @ prices - gains, moment / len(shares))
    for _ in range(STEPS):
        missing = whole - shares @ reports
        distance = float(shares @ slacks)
        unmet = float(np.abs(reports @ prices - gains - slacks).max())
        if max(distance, unmet / 10) <= accuracy * moment and np.abs(missing).max() < 1e-10:
            break
        centre = CENTRING * distance / len(shares)
        hessian = 2.0 * inner * (scores @ scores.T)
        hessian[np.diag_indices_from(hessian)] += slacks / shares
        try:
            step, aim = _newton_step(hessian, reports, gains + centre / shares, missing)
        except np.linalg.LinAlgError:  # shares that vanish make it singular near the end
            break
        slack_step = (centre - slacks * step) / shares - slacks
        length = min(1.0, _reach(shares, step), _reach(slacks, slack_step))
        shares, slacks = shares + length * step, slacks + length * slack_step
        prices = prices + length * (aim - prices)
        inner, scores, moment = _information(reports, wanted, shares)
        gains = (scores**2).sum(axis=1)
    information = (reports * shares[:, None]).T @ reports
    coefficients = np.linalg.lstsq(information, wanted.T, rcond=None)[0].T
    return Mixture(shares, prices, np.asarray(coefficients), moment)


def _information(reports: Floats, wanted: Floats, shares: Floats) -> tuple[Floats, Floats, float]:
    """Return w_i I^-1 w_j, the scores M w_i, and phi, from a QR factor of the root of I."""
    _, triangle = np.linalg.qr(np.sqrt(shares)[:, None] * reports)
    half = solve_triangular(triangle, reports.T, trans="T", check_finite=False)
    aim = solve_triangular(triangle, wanted.T, trans="T", check_finite=False)
    return half.T @ half, half.T @ aim, float((aim**2).sum())


def _newton_step(
    hessian: Floats, reports: Floats, right: Floats, missing: Floats
) -> tuple[Floats, Floats]:
    """Solve H step + W prices = right, W' step = missing: the step of the shares, new prices."""
    scale = 1.0 / np.sqrt(np.diag(hessian))
    scaled = hessian * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += RIDGE
    factor = cho_factor(scaled, check_finite=False)
    solved = scale[:, None] * cho_solve(factor, scale[:, None] * np.column_stack([reports, right]))
    system = reports.T @ solved[:, :-1]
    prices = np.linalg.solve(system, reports.T @ solved[:, -1] - missing)
    return np.asarray(solved[:, -1] - solved[:, :-1] @ prices), np.asarray(prices)


def _reach(values: Floats, step: Floats) -> float:
    """Return how much of a step keeps all values positive."""
    falling = step < 0
    return TO_BOUNDARY * float((values[falling] / -step[falling]).min(initial=np.inf))
