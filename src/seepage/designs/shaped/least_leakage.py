"""Leakage of one report of all answers of a form that no distribution makes smaller."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from seepage._core.arrays import Floats
from seepage.mechanisms.exact_probabilities import CERTAIN, Thresholds


def least_leakage(thresholds: Thresholds, sizes: Sequence[int], axis: int) -> float:
    """Return a lower bound of a report's leakage about one answer, whatever the data.

    With W[z, S] the probability of a set S of reports given the answers z, the largest

        ln (min over z with a = x of W[z, S] / max over z with a = x' of W[z, S])

    over values x, x' of answer a and some sets S: single reports, and for each pair the
    sets of the reports that are likeliest under x against x' if the other answers are
    uniform.  P(S | x) lies between the least and the largest W[z, S] with a = x under
    every distribution, so every set gives a lower bound.  The largest over all sets,
    randomised ones included, is the value of a linear program and can be larger.

    Parameters
    ----------
    thresholds
        One row per cell of answers, in row-major order, and one column per report:
        integers out of 2^64.
    sizes
        The number of values of each answer.
    axis
        The index of the answer.

    Notes
    -----
    O(m^2 cells outputs) for an answer with m values.

    Examples
    --------
    The nearly identical matrix over two binary answers:

    >>> import seepage as sp
    >>> mechanism = sp.MatrixMechanism(0.999 * np.eye(4) + 0.00025)
    >>> bound = least_leakage(mechanism.thresholds, [2, 2], axis=0)
    >>> round(bound, 2), round(mechanism.epsilon, 2)
    (7.6, 8.29)
    """
    probabilities = np.array(thresholds, dtype=np.float64) / CERTAIN
    answers = np.indices(sizes)[axis].ravel()
    rows = [probabilities[answers == value] for value in range(sizes[axis])]
    return max(
        (_least_log_ratio(likely, other) for likely, other in permutations(rows, 2)),
        default=0.0,
    )


def _least_log_ratio(likely: Floats, other: Floats) -> float:
    """Return the least leakage of some likely sets, the largest log-ratio of least and
    largest probabilities.

    Parameters
    ----------
    likely, other
        P(report | answers) under one value and under another, one row for each
        combination of the other answers.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-likely.mean(axis=0) / other.mean(axis=0), kind="stable")
    likely_sets = np.hstack([likely, likely[:, order].cumsum(axis=1)])
    other_sets = np.hstack([other, other[:, order].cumsum(axis=1)])
    least = likely_sets.min(axis=0)
    largest = other_sets.max(axis=0)
    is_possible = least > 0
    if not is_possible.any():
        return 0.0
    with np.errstate(divide="ignore"):
        ratios = np.log(least[is_possible]) - np.log(largest[is_possible])
    return max(0.0, float(ratios.max()))
