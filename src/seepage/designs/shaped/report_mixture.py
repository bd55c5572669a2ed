"""The A-optimal mixture of given reports, by a barrier Newton method."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from seepage._core.arrays import Floats

# The A-optimal mixture ----------------------------------------------------------------

MAX_STEPS = 80
"""Maximum number of Newton steps."""


TO_BOUNDARY = 0.99
"""Fraction-to-the-boundary rule: maximum step, relative to the first zero of a share or
slack."""


CENTRING = 0.2
"""Centring parameter: factor by which one step reduces the complementarity."""


RIDGE = 1e-12
"""Added to the diagonal of the scaled Hessian, which rounding could make indefinite."""


class Mixture(NamedTuple):
    """Primal and dual solution of the master problem: shares of reports, and prices.

    With M = B I^-1, each report of the mixture has |M w|^2 <= w . prices up to the
    accuracy of the solution, with equality where its share is positive; 1 . prices =
    phi.
    """

    shares: Floats
    prices: Floats
    """Dual variables of the constraint sum_y theta_y w_y = 1."""
    coefficients: Floats
    """M = B I^-1: the estimate of the wanted functions is the mean of M w over the
    reports."""
    second_moment: float
    """phi = tr(B I^-1 B')."""

    def lower_bound(self, largest: float) -> float:
        """Return a lower bound of phi over all mixtures of reports, from the largest
        reduced gain.

        Notes
        -----
        For any mixture with information J, by Cauchy-Schwarz and since the shares sum
        to 1,

            phi^2 = tr(M B')^2 <= tr(M J M') tr(B J^-1 B'),
            tr(M J M') = sum theta |M w|^2
                      <= sum theta (w . prices + largest) = 1 . prices + largest.
        """
        bound = float(np.ones(len(self.prices)) @ self.prices) + largest
        return self.second_moment**2 / bound if bound > 0 else 0.0


def best_mixture(
    reports: Floats, wanted: Floats, start: Floats, accuracy: float = 1e-7
) -> Mixture:
    """Return the mixture of reports that minimises phi, to a relative accuracy.

    Parameters
    ----------
    reports
        One row per report.
    wanted
        B, one row per wanted linear function.
    start
        Positive start shares with a regular information matrix; their mixture need not
        be 1.
    accuracy
        Stop at a complementarity sum_y theta_y s_y of this share of phi, with the
        slacks s = w . prices - |M w|^2.

    Notes
    -----
    The Hessian of phi is 2 (w_i I^-1 w_j)(w_i M'M w_j).  O(n^3) a step for n reports;
    some twenty steps.  Solved in coordinates in which the information of `start` is the
    identity.
    """
    _, root = np.linalg.qr(np.sqrt(start)[:, None] * reports)
    back = solve_triangular(root, np.eye(len(root)), check_finite=False)
    ones = np.ones(len(back)) @ back
    mixture = _interior_point(reports @ back, wanted @ back, ones, start, accuracy)
    coefficients = mixture.coefficients @ back.T
    return mixture._replace(prices=back @ mixture.prices, coefficients=coefficients)


def _interior_point(
    reports: Floats, wanted: Floats, ones: Floats, start: Floats, accuracy: float
) -> Mixture:
    """Return the best mixture of reports in scaled coordinates, by primal-dual Newton
    steps.
    """
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
            step, new_prices = _newton_step(
                hessian, reports, gains + centre / shares, primal
            )
        except np.linalg.LinAlgError:  # shares close to 0 make it singular near the end
            break
        slack_step = (centre - slacks * step) / shares - slacks
        length = min(1.0, _max_step(shares, step), _max_step(slacks, slack_step))
        shares = shares + length * step
        slacks = slacks + length * slack_step
        prices = prices + length * (new_prices - prices)
        inner, scores, moment = _information(reports, wanted, shares)
        gains = (scores**2).sum(axis=1)
    information = (reports * shares[:, None]).T @ reports
    coefficients = np.linalg.lstsq(information, wanted.T, rcond=None)[0].T
    return Mixture(shares, prices, np.asarray(coefficients), moment)


def _information(
    reports: Floats, wanted: Floats, shares: Floats
) -> tuple[Floats, Floats, float]:
    """Return a mixture's w_i I^-1 w_j, the scores M w_i, and phi, from a QR factor of
    the root of I.
    """
    _, triangle = np.linalg.qr(np.sqrt(shares)[:, None] * reports)
    half = solve_triangular(triangle, reports.T, trans="T", check_finite=False)
    target = solve_triangular(triangle, wanted.T, trans="T", check_finite=False)
    return half.T @ half, half.T @ target, float((target**2).sum())


def _newton_step(
    hessian: Floats, reports: Floats, right: Floats, primal: Floats
) -> tuple[Floats, Floats]:
    """Return step and prices of a mixture's Newton step H step + W prices = right, W'
    step = primal.

    `primal` is the residual of the constraint on the mixture.
    """
    scale = 1.0 / np.sqrt(np.diag(hessian))
    scaled = hessian * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] += RIDGE
    factor = cho_factor(scaled, check_finite=False)
    solved = scale[:, None] * cho_solve(
        factor, scale[:, None] * np.column_stack([reports, right])
    )
    system = reports.T @ solved[:, :-1]
    prices = np.linalg.solve(system, reports.T @ solved[:, -1] - primal)
    return np.asarray(solved[:, -1] - solved[:, :-1] @ prices), np.asarray(prices)


def _max_step(values: Floats, step: Floats) -> float:
    """Return the largest multiple of a mixture's step, up to a fraction, that keeps all
    values positive.
    """
    falling = step < 0
    return TO_BOUNDARY * float((values[falling] / -step[falling]).min(initial=np.inf))
