"""Least squares on unperturbed covariates, with unbiased entries as answers.

There is no likelihood without a model of the outcome.  The corrected score [Nakamura
1990] has the unbiased entry a_i of a report in place of the answer,

    sum_i u_i x_i (a_i - x_i b) = 0,

with sandwich errors; u_i is the weight of a person over the variance of the entries of
the form.
"""

import numpy as np

from seepage._core.arrays import Floats
from seepage._core.errors import InputError


def fit_linear(
    design: Floats, entries: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the coefficients that solve the equations of weighted least squares, and
    their sandwich covariance.

    Parameters
    ----------
    design, entries, weights
        x, a and u, one row per person.
    """
    inverse = checked_inverse(design.T @ (design * weights[:, None]))
    values = inverse @ (design.T @ (weights * entries))
    scores = design * (weights * (entries - design @ values))[:, None]
    return values, inverse @ (scores.T @ scores) @ inverse


def checked_inverse(matrix: Floats) -> Floats:
    """Return the inverse of a matrix of least-squares moments; raise where it is not
    positive definite.
    """
    if np.isfinite(matrix).all():
        eigenvalues = np.linalg.eigvalsh(matrix)
        if eigenvalues[0] > 1e-15 * eigenvalues[-1]:
            return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    raise InputError(
        "the reports do not determine the coefficients: there are too few for this "
        "noise, or the covariates separate or repeat each other; use fewer covariates "
        "or more people"
    )
