"""Confidence limits of the total variation distance of two tables' rows.

For t values and n records the empirical distribution is within

    sqrt((ln(2^t - 2) + c) / (2 n))

of its expectation in total variation, but for a probability of e^-c: a union of
Hoeffding's inequality over all sets of values [Hoeffding 1963, theorems 1 and 4], which
also holds for records drawn without replacement.  By the triangle inequality a distance
of two empirical rows is within the sum of both radii of the true one.
"""

import math

import numpy as np

from seepage._core.arrays import Floats, Integers


def sampling_radius(counts: Integers, size: int, c: float) -> Floats:
    """Return the distance of a sampled row from its distribution that it exceeds with
    probability at most e^-c; at most 1, and 1 without records.

    Parameters
    ----------
    counts
        The numbers of records n.
    size
        The number t of values.
    c
        The logarithm of 1 / (error probability).

    Examples
    --------
    >>> sampling_radius(np.array([0, 100, 10_000]), 2, np.log(40)).round(3).tolist()
    [1.0, 0.148, 0.015]
    """
    if size == 1:
        return np.zeros(len(counts))
    statements = size * math.log(2.0) + math.log1p(-(2.0 ** (1 - size)))
    with np.errstate(divide="ignore"):
        radius = np.sqrt((statements + c) / (2.0 * counts))
    return np.asarray(np.minimum(radius, 1.0))


def distance_limits(
    first: Integers, second: Integers, distances: Floats, c: float
) -> tuple[Floats, Floats]:
    """Return lower and upper confidence limits of the distance of each two rows, all
    but for a probability of 2 e^-c each.

    Parameters
    ----------
    first, second
        Two tables of counts, one row per value.
    distances
        The distances of their rows.
    c
        The logarithm of 1 / (error probability) of each row of each table.

    Examples
    --------
    >>> first = np.array([[900, 100]])
    >>> second = np.array([[500, 500]])
    >>> lower, upper = distance_limits(first, second, np.array([0.4]), np.log(80))
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.299], [0.501])
    """
    size = first.shape[1]
    reach = sampling_radius(first.sum(axis=1), size, c)
    reach = reach + sampling_radius(second.sum(axis=1), size, c)
    return np.maximum(distances - reach, 0.0), np.minimum(distances + reach, 1.0)
