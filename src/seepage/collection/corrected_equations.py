"""Corrected estimating equations of a linear model under the channel of a plan."""

import numpy as np

from seepage._core.arrays import Floats, Integers
from seepage.collection.logit_likelihood import (
    MAX_CHANGE,
    MAX_STEPS,
    checked_inverse,
    undetermined,
)
from seepage.collection.regression_result import mean_of

# Unperturbed covariates ---------------------------------------------------------------


def fit_entries(
    family: str,
    design: Floats,
    entries: Floats,
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
    u = np.ones(len(entries)) if weights is None else weights.copy()
    if family == "linear":
        u *= precisions
        inverse = checked_inverse(design.T @ (design * u[:, None]))
        values = inverse @ (design.T @ (u * entries))
        scores = design * (u * (entries - design @ values))[:, None]
        return values, inverse @ (scores.T @ scores) @ inverse, "sandwich"
    bounds = np.zeros((2, len(entries)))
    is_exact = weights is None
    for form in np.unique(forms):
        rows = forms == form
        given = entries[rows]
        low = min(given.min(), 0.0)
        high = max(given.max(), 1.0)
        bounds[:, rows] = [[low], [high]]
        mean = given.mean()
        spread = given.var()
        # The largest variance within the bounds over that of the entries: 1 for two
        # values.
        u[rows] *= (mean - low) * (high - mean) / spread if spread > 0 else 1.0
        is_exact &= len(np.unique(given)) <= 2
    values, information, sandwich = _fit_logit(design, entries, u, *bounds)
    return (
        (values, information, "information")
        if is_exact
        else (values, sandwich, "sandwich")
    )


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
    raise undetermined()
