"""Rounding to the safe side, the conventions for zero, and small systems in one thread.

Conventions, used everywhere:

* an outcome that no input can produce (0 against 0) says nothing and is left out;
* an outcome possible under one input and impossible under another is an infinite ratio;
* a value called a bound is rounded up and a budget down, by more than the rounding errors that
  went into it, so that neither is ever on the leaking side.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, Decimal
from threading import Lock
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

UNIT = 2.0**-53
"""The largest relative error of one rounded operation in double precision."""

LARGE_EPSILON = 690.0
"""Above this exp(epsilon) nears overflow; callers take another way from there."""

ROOT_SCALE = 2.0**300
"""The square root of the factor that keeps tiny probabilities clear of underflow."""


Number = TypeVar("Number", float, Floats)


def round_up(value: Number, operations: int) -> Number:
    """Return `value` raised by the relative error of so many rounded operations; 0 stays 0."""
    return value * (1.0 + 2.0 * (operations + 8) * UNIT)


def round_down(value: Number, operations: int) -> Number:
    """Return `value` lowered by the relative error of so many rounded operations; 0 stays 0."""
    return value * (1.0 - 2.0 * (operations + 8) * UNIT)


def summed_up(parts: Iterable[float]) -> float:
    """Return a sum rounded up."""
    numbers = [float(part) for part in parts]
    return round_up(math.fsum(numbers), 1) if len(numbers) > 1 else math.fsum(numbers)


def rounding(sizes: Iterable[int]) -> float:
    """Return more than the rounding error of a log-ratio of likelihoods.

    A likelihood p(y given x) is a sum of products over the values of each attribute, all terms
    at least 0: one product with a column of k entries adds at most k + 3 relative roundings.  A
    ratio has two likelihoods.
    """
    return 4 * UNIT * sum(size + 8 for size in sizes)


def log_ratio(difference: ArrayLike, smaller: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return ln (1 + lambda A) / (1 + lambda B), with A = B + difference and lambda = e^eps - 1.

    Parameters
    ----------
    difference
        A - B >= -B, summed from its parts, so that small leakages keep their relative precision.
    smaller
        B >= 0.
    epsilon
        The budget eps >= 0, broadcast against the other two; it may be infinite.

    Notes
    -----
    With w = exp(-eps) the ratio is 1 + (1 - w)(A - B) / (w + (1 - w) B), evaluated with a few
    roundings.  Where that quotient is beyond double precision (eps above 700 and B next to 0)
    the logarithm exceeds 700, and the two are taken apart: `logaddexp(-eps, ln A)` and so for B.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    gap = np.asarray(difference, dtype=np.float64)
    low = np.asarray(smaller, dtype=np.float64)
    weight = -np.expm1(-eps)
    floor = (np.exp(-eps / 2) * ROOT_SCALE) ** 2
    scale = weight * ROOT_SCALE**2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = scale * gap / (floor + scale * low)
        ratio = np.log1p(quotient)
        if np.isfinite(quotient).all():
            return np.asarray(ratio)
        apart = np.logaddexp(-eps, np.log(low + gap)) - np.logaddexp(-eps, np.log(low))
    return np.where(gap == 0, 0.0, np.where(np.isinf(quotient), apart, ratio))


def nearest_distribution(frequencies: Floats) -> Floats:
    """Return the distribution nearest to a vector in Euclidean distance.

    Projection onto the simplex: subtract the one constant that leaves a sum of 1 after negative
    entries are set to 0, O(k log k).

    Examples
    --------
    >>> nearest_distribution(np.array([0.6, 0.6, -0.1])).tolist()
    [0.5, 0.5, 0.0]
    """
    descending = np.sort(frequencies)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(frequencies) + 1)
    kept = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(frequencies - excess[kept], 0.0))


def clustered_order(strengths: Floats) -> list[int]:
    """Return rows in an order that puts those with large symmetric strengths side by side.

    Leaves of average-linkage clustering on the largest strength minus each.

    Examples
    --------
    >>> clustered_order(np.array([[0, 0, 9], [0, 0, 1], [9, 1, 0]]))
    [1, 2, 0]
    """
    if len(strengths) < 3:
        return list(range(len(strengths)))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    strength = np.minimum(strengths, 700.0)
    distance = strength.max() - strength
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return [int(leaf) for leaf in leaves_list(tree)]


def rounded_up(value: float, indices: int = 4) -> str:
    """Return a number with so many decimals, never below the number that `repr` shows.

    Examples
    --------
    >>> rounded_up(1.98761), rounded_up(1.1, 2), rounded_up(math.inf)
    ('1.9877', '1.10', 'inf')
    """
    if not math.isfinite(value):
        return str(float(value))
    return f"{Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-indices), ROUND_CEILING):f}"


def shortest_above(value: float) -> str:
    """Return the same with three decimals, without those at the end that are zeros.

    Examples
    --------
    >>> shortest_above(1.99999), shortest_above(0.1234)
    ('2', '0.124')
    """
    found = rounded_up(value, 3)
    return found.rstrip("0").rstrip(".") if "." in found else found


# Threads of linear algebra -----------------------------------------------------------------------

_threads_lock = Lock()
_one_thread: list[Any] = []
"""What restores the threads; one entry for each open context, the first restores."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra in one thread: faster for systems of up to some hundred unknowns.

    NumPy and SciPy each bring an OpenBLAS whose threads wait for one another busily, so that small
    systems take 5 to 30 times as long with two threads as with one.  For the whole process while
    any such context is open.
    """
    from threadpoolctl import threadpool_limits

    with _threads_lock:
        _one_thread.append(None if _one_thread else threadpool_limits(1, "blas"))
    try:
        yield
    finally:
        with _threads_lock:
            if len(_one_thread) == 1:
                _one_thread[0].restore_original_limits()
            _one_thread.pop()
