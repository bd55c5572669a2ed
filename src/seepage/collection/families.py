"""Families of regressions, linear and logit: the mean by the linear predictor."""

import numpy as np

from seepage._core.arrays import Floats


def mean_of(predictor: Floats, family: str) -> tuple[Floats, Floats]:
    """Return the mean mu of a family of regressions, and its derivative, at a linear
    predictor.
    """
    if family == "linear":
        return predictor, np.ones_like(predictor)
    from scipy.special import expit

    mu = expit(predictor)
    return mu, mu * (1.0 - mu)
