"""The convex programs of column generation of reports: linear pricing, and the A-optimal mixture.

A report is a vector w of likelihoods, scaled to w . f = 1 at the nominal frequencies f.  Shares
theta >= 0 with sum_y theta_y w_y = 1 are a mechanism, whose information matrix about the
frequencies is I = sum_y theta_y w_y w_y'.  The estimates of the wanted linear functions B of the
frequencies have a total second moment phi = tr(B I^-1 B'), convex in theta: an A-optimal design
[Pukelsheim 1993], solved by a primal-dual interior-point method.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array

from seepage._numerics import Floats

ACCURACY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The finest tolerances of HiGHS."""

DUAL, PRIMAL = 1, 4
"""HiGHS codes of the simplex strategy: dual after new rows, primal after a new objective."""


def padded(rows: Floats, width: int) -> Floats:
    """Return rows with zeros appended up to a width."""
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


class LinearPrograms:
    """Maximise c . x subject to A x <= 0, E x = (1, 0, ...) and x >= 0, for a sequence of c.

    HiGHS with one model: each objective starts from the basis of the last (warm start), which
    takes a few pivots, .1 to .4 ms for 40 unknowns; without a basis it takes 2 ms.

    Parameters
    ----------
    upper
        The rows of A.
    equal
        The rows of E.
    """

    def __init__(self, upper: Floats, equal: Floats) -> None:
        import highspy

        highs: Any = highspy
        self._optimal, self._solver = highs.HighsModelStatus.kOptimal, highs.Highs()
        for name, value in {"output_flag": False, "presolve": "off", **ACCURACY}.items():
            self._solver.setOptionValue(name, value)
        width = upper.shape[1]
        self._solver.addVars(width, np.zeros(width), np.full(width, np.inf))
        self._columns = np.arange(width, dtype=np.int32)
        self._add_rows(equal, *[np.eye(1, len(equal))[0]] * 2)
        self.add(upper)
        self._minimise(np.zeros(width))

    def add(self, rows: Floats) -> None:
        """Add rows to A, padded with zeros to its width."""
        wide = padded(rows, len(self._columns))
        self._add_rows(wide, np.full(len(rows), -np.inf), np.zeros(len(rows)))

    def _add_rows(self, rows: Floats, lower: Floats, upper: Floats) -> None:
        sparse: Any = csr_array(rows)
        cells = sparse.nnz, sparse.indptr[:-1], sparse.indices, sparse.data
        self._solver.addRows(len(rows), lower, upper, *cells)
        self._solver.setOptionValue("simplex_strategy", DUAL)

    def maximise(self, gain: Floats) -> Floats | None:
        """Return the x that maximises gain . x, gain padded with zeros; None on failure."""
        costs = np.zeros(len(self._columns))
        costs[: len(gain)] = -gain
        return self._minimise(costs)

    def _minimise(self, costs: Floats) -> Floats | None:
        """Return x with the minimum of costs . x; None if infeasible, or if the solver fails."""
        self._solver.changeColsCost(len(costs), self._columns, costs)
        for warm in (True, False):
            if not warm:
                self._solver.clearSolver()
            self._solver.run()
            if self._solver.getModelStatus() == self._optimal:
                self._solver.setOptionValue("simplex_strategy", PRIMAL)
                return np.array(self._solver.getSolution().col_value)
        return None


# The A-optimal mixture ----------------------------------------------------------------------------

MAX_STEPS = 80
"""Maximum number of Newton steps."""

TO_BOUNDARY = 0.99
"""Fraction-to-the-boundary rule: maximum step, relative to the first zero of a share or slack."""

CENTRING = 0.2
"""Centring parameter: factor by which one step reduces the complementarity."""

RIDGE = 1e-12
"""Added to the diagonal of the scaled Hessian, which rounding could make indefinite."""


class Mixture(NamedTuple):
    """Primal and dual solution of the master problem: shares of reports, and prices.

    With M = B I^-1, each report of the mixture has |M w|^2 <= w . prices up to the accuracy of the
    solution, with equality where its share is positive; 1 . prices = phi.
    """

    shares: Floats
    prices: Floats
    """Dual variables of the constraint sum_y theta_y w_y = 1."""
    coefficients: Floats
    """M = B I^-1: the estimate of the wanted functions is the mean of M w over the reports."""
    second_moment: float
    """phi = tr(B I^-1 B')."""

    def reduced_gains(self, reports: Floats) -> Floats:
        """Return |M w|^2 - w . prices of each report: adding one above 0 lowers phi."""
        gains = ((reports @ self.coefficients.T) ** 2).sum(axis=1)
        return np.asarray(gains - reports @ self.prices)

    def lower_bound(self, ones: Floats, largest: float) -> float:
        """Return a lower bound of phi over all mixtures, from the largest reduced gain.

        Notes
        -----
        For any mixture with information J, phi^2 = tr(M B')^2 <= tr(M J M') tr(B J^-1 B') by
        Cauchy-Schwarz, and tr(M J M') = sum theta |M w|^2 <= sum theta (w . prices + largest)
        = 1 . prices + largest, since the shares sum to 1.
        """
        bound = float(ones @ self.prices) + largest
        return self.second_moment**2 / bound if bound > 0 else 0.0


def best_mixture(
    reports: Floats, wanted: Floats, ones: Floats, start: Floats, accuracy: float = 1e-7
) -> Mixture:
    """Return the mixture of reports that minimises phi, to a relative accuracy.

    Parameters
    ----------
    reports
        One row per report.
    wanted
        B, one row per wanted linear function.
    ones
        The vector that the mixture must sum to: all ones, in the coordinates of the reports.
    start
        Positive start shares with a regular information matrix; their mixture need not be `ones`.
    accuracy
        Stop at a complementarity sum_y theta_y s_y of this share of phi, with the slacks
        s = w . prices - |M w|^2.

    Notes
    -----
    The Hessian of phi is 2 (w_i I^-1 w_j)(w_i M'M w_j).  O(n^3) a step for n reports; some twenty
    steps.  Solved in coordinates in which the information of `start` is the identity.
    """
    _, root = np.linalg.qr(np.sqrt(start)[:, None] * reports)
    back = solve_triangular(root, np.eye(len(root)), check_finite=False)
    mixture = _interior_point(reports @ back, wanted @ back, ones @ back, start, accuracy)
    coefficients = mixture.coefficients @ back.T
    return mixture._replace(prices=back @ mixture.prices, coefficients=coefficients)


def _interior_point(
    reports: Floats, wanted: Floats, ones: Floats, start: Floats, accuracy: float
) -> Mixture:
    """Return `best_mixture` in scaled coordinates, by primal-dual Newton steps."""
    shares = start
    inner, scores, moment = _information(reports, wanted, shares)
    gains = (scores**2).sum(axis=1)
    prices = np.linalg.lstsq(reports, gains, rcond=None)[0]
    slacks = np.maximum(reports @ prices - gains, moment / len(shares))
    for _ in range(MAX_STEPS):
        primal = ones - shares @ reports
        dual = float(np.abs(reports @ prices - gains - slacks).max())
        complementarity = float(shares @ slacks)
        converged = max(complementarity, dual / 10) <= accuracy * moment
        if converged and np.abs(primal).max() < 1e-10:
            break
        centre = CENTRING * complementarity / len(shares)
        hessian = 2.0 * inner * (scores @ scores.T)
        hessian[np.diag_indices_from(hessian)] += slacks / shares
        try:
            step, new_prices = _newton_step(hessian, reports, gains + centre / shares, primal)
        except np.linalg.LinAlgError:  # shares close to 0 make it singular near the end
            break
        slack_step = (centre - slacks * step) / shares - slacks
        length = min(1.0, _max_step(shares, step), _max_step(slacks, slack_step))
        shares, slacks = shares + length * step, slacks + length * slack_step
        prices = prices + length * (new_prices - prices)
        inner, scores, moment = _information(reports, wanted, shares)
        gains = (scores**2).sum(axis=1)
    information = (reports * shares[:, None]).T @ reports
    coefficients = np.linalg.lstsq(information, wanted.T, rcond=None)[0].T
    return Mixture(shares, prices, np.asarray(coefficients), moment)


def _information(reports: Floats, wanted: Floats, shares: Floats) -> tuple[Floats, Floats, float]:
    """Return w_i I^-1 w_j, the scores M w_i, and phi, from a QR factor of the root of I."""
    _, triangle = np.linalg.qr(np.sqrt(shares)[:, None] * reports)
    half = solve_triangular(triangle, reports.T, trans="T", check_finite=False)
    target = solve_triangular(triangle, wanted.T, trans="T", check_finite=False)
    return half.T @ half, half.T @ target, float((target**2).sum())


def _newton_step(
    hessian: Floats, reports: Floats, right: Floats, primal: Floats
) -> tuple[Floats, Floats]:
    """Return step and prices of H step + W prices = right, W' step = primal.

    `primal` is the residual of the constraint on the mixture.
    """
    scale = 1.0 / np.sqrt(np.diag(hessian))
    scaled = hessian * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += RIDGE
    factor = cho_factor(scaled, check_finite=False)
    solved = scale[:, None] * cho_solve(factor, scale[:, None] * np.column_stack([reports, right]))
    system = reports.T @ solved[:, :-1]
    prices = np.linalg.solve(system, reports.T @ solved[:, -1] - primal)
    return np.asarray(solved[:, -1] - solved[:, :-1] @ prices), np.asarray(prices)


def _max_step(values: Floats, step: Floats) -> float:
    """Return the largest multiple of a step, up to a fraction, that keeps all values positive."""
    falling = step < 0
    return TO_BOUNDARY * float((values[falling] / -step[falling]).min(initial=np.inf))
