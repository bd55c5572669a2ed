"""Goodness of fit: whether counts of drawn reports fit the chances that are stated."""

import numpy as np

from seepage._core.arrays import Floats, Integers

FALSE_ALARM = 1e-6
"""Probability with which counts of the stated distribution do not fit."""


def counts_fit(seen: Integers, stated: Floats) -> bool:
    """Return whether counts fit stated chances: each within 6 deviations, and all by
    the chi-square test of goodness of fit.
    """
    from scipy.special import chdtrc

    expected = stated * seen.sum(axis=-1, keepdims=True)
    possible = expected > 0
    distance = np.abs(seen - expected)
    slack = np.where(possible, 6 * np.sqrt(expected * (1 - stated)) + 6, 0.0)
    statistic = float(np.sum(distance[possible] ** 2 / expected[possible]))
    freedom = np.count_nonzero(possible) - np.atleast_2d(seen).shape[0]
    likely = not freedom or chdtrc(freedom, statistic) >= FALSE_ALARM
    return bool(likely and (distance <= slack).all())
