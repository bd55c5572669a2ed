"""Corrected estimating equations of a linear model under the channel of a plan."""

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage.collection.logit_likelihood import (
    MAX_CHANGE,
    MAX_STEPS,
    checked_inverse,
    undetermined_coefficients,
)
from seepage.collection.regression_result import mean_of

# Unperturbed covariates ---------------------------------------------------------------


def fit_entries(
    family: str,
    design: Floats,
    entries: Floats,
    *,
    weights: Floats | None,
    forms: Integers,
    precisions: Floats,
) -> tuple[Floats, Floats, str]:
    """Return the coefficients, their covariance, and where that is from.

    Parameters
    ----------
    family
        `"logit"` or `"linear"`.
    design, entries
        x and a, one row per person.
    weights
        The weights of the people; None for 1 each.
    forms, precisions
        The form of each person, and 1 / v(f) of it.
    """
    u = np.ones(len(entries))
    if weights is not None:
        u = weights.copy()
    if family == "linear":
        values, covariance = _fit_linear(design, entries, u * precisions)
        return values, covariance, "sandwich"
    low = np.zeros(len(entries))
    high = np.ones(len(entries))
    is_exact = weights is None
    for form in np.unique(forms):
        rows = forms == form
        of_form = entries[rows]
        least = min(of_form.min(), 0.0)
        largest = max(of_form.max(), 1.0)
        low[rows] = least
        high[rows] = largest
        mean = of_form.mean()
        spread = of_form.var()
        if spread > 0:
            # The largest variance within the bounds over that of the entries: 1 for
            # two values.
            u[rows] *= (mean - least) * (largest - mean) / spread
        is_exact &= len(np.unique(of_form)) <= 2
    values, information, sandwich = _fit_logit(design, entries, u, low, high)
    if is_exact:
        return values, information, "information"
    return values, sandwich, "sandwich"


def _fit_linear(
    design: Floats, entries: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the coefficients of weighted least squares, and their sandwich covariance."""
    inverse = checked_inverse(design.T @ (design * weights[:, None]))
    values = inverse @ (design.T @ (weights * entries))
    scores = design * (weights * (entries - design @ values))[:, None]
    return values, inverse @ (scores.T @ scores) @ inverse


def _fit_logit(
    design: Floats, entries: Floats, weights: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the coefficients, and their covariance by the information and by the
    sandwich.
    """
    beta = np.zeros(design.shape[1])
    largest = np.inf
    for _ in range(MAX_STEPS):
        mu, slope = mean_of(design @ beta, "logit")
        residuals = entries - mu
        lead = slope / ((mu - low) * (high - mu))
        pull = weights * lead * residuals
        expected = weights * lead * slope
        inverse = checked_inverse(design.T @ (design * expected[:, None]))
        if largest < 1e-10:
            turn = (
                residuals * lead * ((1.0 - 2.0 * mu) - lead * (low + high - 2.0 * mu))
            )
            observed = expected - weights * turn
            information = checked_inverse(design.T @ (design * observed[:, None]))
            scores = design * pull[:, None]
            return beta, information, inverse @ (scores.T @ scores) @ inverse
        step = inverse @ (design.T @ pull)
        largest = float(np.abs(design @ step).max())
        beta = beta + step * MAX_CHANGE / max(largest, MAX_CHANGE)
    raise undetermined_coefficients()
