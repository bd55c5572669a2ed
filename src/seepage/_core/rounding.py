"""Directed rounding, used everywhere: a bound up and a budget down.

Each by more than the rounding errors that went into it, so that neither is ever on the
leaking side.
"""

import math
from collections.abc import Iterable

from seepage._core.arrays import Number

UNIT = 2.0**-53
"""Unit roundoff of double precision: the largest relative error of one rounded
operation."""


def round_up(value: Number, operations: int) -> Number:
    """Return a number rounded up: value (1 + 2 (n + 8) u), above the error of n rounded
    operations.
    """
    return value * (1.0 + 2.0 * (operations + 8) * UNIT)


def round_down(value: Number, operations: int) -> Number:
    """Return a number rounded down: value (1 - 2 (n + 8) u), below the error of n
    rounded operations.
    """
    return value * (1.0 - 2.0 * (operations + 8) * UNIT)


def summed_up(terms: Iterable[float]) -> float:
    """Return a sum rounded up: the smallest number that is not below the exact sum of
    the terms.

    Examples
    --------
    >>> summed_up([1.0, 1.0]), summed_up([0.1, 0.2, 0.3])
    (2.0, 0.6000000000000001)
    """
    numbers = [float(term) for term in terms]
    try:
        total = math.fsum(numbers)
    except OverflowError:
        return math.inf
    if not math.isfinite(total):
        return total
    remainder = math.fsum([*numbers, -total])  # its sign is exact
    if remainder > 0:
        return math.nextafter(total, math.inf)
    return total


def rounding(sizes: Iterable[int]) -> float:
    """Return an upper bound on the rounding error of a log-ratio of two likelihoods.

    A likelihood p(y given x) is a sum of nonnegative products over the values of each
    attribute, with alphabet sizes `sizes`: a product with a column of k entries adds at
    most k + 3 relative roundings.
    """
    return 4 * UNIT * sum(size + 8 for size in sizes)


ROOT_SCALE = 2.0**300
"""Square root of the factor that keeps tiny probabilities away from underflow."""
