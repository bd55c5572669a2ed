"""Log-ratios, safe rounding and small numerical tools, with the conventions for zero.

Conventions, used everywhere:

* an outcome that no input can produce (0/0) is excluded from maxima over outcomes;
* an outcome possible under one input and impossible under another is an infinite ratio;
* a bound is rounded up and a budget down, by more than the rounding errors that went into it, so
  that neither is ever on the leaking side.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import Lock
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]
Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Codes of the values of a column, uint8 or uint16."""

UNIT = 2.0**-53
"""Unit roundoff of double precision: the largest relative error of one rounded
operation."""

LARGE_EPSILON = 690.0
"""Above this exp(epsilon) nears overflow; callers then use another formula."""

ROOT_SCALE = 2.0**300
"""Square root of the factor that keeps tiny probabilities away from underflow."""


Number = TypeVar("Number", float, Floats)


def round_up(value: Number, operations: int) -> Number:
    """Return value (1 + 2 (n + 8) u), raised by more than the error of n rounded
    operations.
    """
    return value * (1.0 + 2.0 * (operations + 8) * UNIT)


def round_down(value: Number, operations: int) -> Number:
    """Return value (1 - 2 (n + 8) u), lowered by more than the error of n rounded
    operations.
    """
    return value * (1.0 - 2.0 * (operations + 8) * UNIT)


def summed_up(terms: Iterable[float]) -> float:
    """Return the smallest number that is not below the exact sum of the terms.

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
    if (
        math.isfinite(total) and math.fsum([*numbers, -total]) > 0
    ):  # of the exact remainder's sign
        return math.nextafter(total, math.inf)
    return total


def rounding(sizes: Iterable[int]) -> float:
    """Return an upper bound on the absolute rounding error of a log-ratio of two
    likelihoods.

    A likelihood p(y given x) is a sum of nonnegative products over the values of each
    attribute, with alphabet sizes `sizes`: a product with a column of k entries adds at
    most k + 3 relative roundings.
    """
    return 4 * UNIT * sum(size + 8 for size in sizes)


# Likelihood ratios --------------------------------------------------------------------


def quotient(upper: Floats, lower: Floats) -> Floats:
    """Return upper / lower; 0 for 0/0, infinite for a positive number over 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = upper / lower
    return np.where(upper == 0, 0.0, ratio)


def pair_log_ratios(upper: Floats, lower: Floats) -> Floats:
    """Return ln max over reports y of upper_x(y) / lower_x'(y), for each pair (x, x')
    of values.

    Parameters
    ----------
    upper, lower
        Upper and lower bounds of p(y given x), one row per report y and one column per
        value x of one target; twice the same array if the likelihoods are known.
    """
    columns = range(upper.shape[1])
    ratios = [quotient(upper[:, [x]], lower).max(axis=0, initial=0.0) for x in columns]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(ratios))


def largest_log_ratio(
    upper: Floats,
    lower: Floats,
    starts: Integers,
    guard: float | Floats,
    occurs: Booleans | None = None,
) -> Floats:
    """Return ln max over reports y and values x != x' of upper_x(y) / lower_x'(y), by
    target.

    Parameters
    ----------
    upper, lower
        Upper and lower bounds of p(y given x): the last axis has the values x of all
        targets, concatenated, the others have the reports y.  If the likelihoods are
        known, twice the same array.
    starts
        The index of each target's first value.
    guard
        Absolute rounding error of a log-ratio of the bounds, see `rounding`; or one per
        target.
    occurs
        Mask, broadcast against the bounds, of the values to compare; all by default.

    Returns
    -------
    Floats
        One logarithm per target, rounded up by more than its own and the bounds'
        rounding errors; 0 for a target with a single value.

    Examples
    --------
    >>> known, starts = np.array([[0.9, 0.2, 0.5], [0.1, 0.8, 0.5]]), np.array([0, 2])
    >>> largest_log_ratio(known, known, starts, rounding([2])).round(4).tolist()
    [2.0794, 0.0]
    """
    known = upper is lower
    sizes = np.diff(starts, append=upper.shape[-1])
    if occurs is not None:
        upper = np.where(occurs, upper, 0.0)
        lower = np.where(occurs, lower, np.inf)
    if known:  # x = x' has ratio 1
        highest = np.maximum.reduceat(upper, starts, axis=-1)
        ratios = quotient(highest, np.minimum.reduceat(lower, starts, axis=-1))
        largest = ratios.reshape(-1, len(starts)).max(axis=0, initial=1.0)
    else:
        largest = _largest_of_different(upper, lower, starts, sizes)
    return np.where(sizes > 1, round_up(np.log(largest), 8) + guard, 0.0)


def _largest_of_different(
    upper: Floats, lower: Floats, starts: Integers, sizes: Integers
) -> Floats:
    """Return max over y and x != x' of upper_x(y) / lower_x'(y), at least 1, by target."""
    largest = np.ones(len(starts))
    for size in np.unique(sizes[sizes > 1]).tolist():
        chosen = np.flatnonzero(sizes == size)
        columns = starts[chosen][:, None] + np.arange(size)
        high = upper[..., columns]
        low = lower[..., columns]
        first, second = (-np.partition(-high, 1, axis=-1)[..., i] for i in (0, 1))
        least, next_least = (np.partition(low, 1, axis=-1)[..., i] for i in (0, 1))
        different = np.maximum(quotient(second, least), quotient(first, next_least))
        same_value = high.argmax(axis=-1) == low.argmin(axis=-1)
        ratios = np.where(same_value, different, quotient(first, least))
        largest[chosen] = ratios.reshape(-1, len(chosen)).max(axis=0, initial=1.0)
    return largest


@lru_cache(maxsize=256)
def one_minus_exp(epsilon: float) -> float:
    """Return 1 - e^-eps as NumPy computes it for arrays."""
    return float(-np.expm1(-epsilon))


def log_ratio(difference: ArrayLike, smaller: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return ln (1 + lambda A) / (1 + lambda B), with A = B + difference and lambda =
    e^eps - 1.

    Parameters
    ----------
    difference
        A - B >= -B, summed from its parts, so that small leakages keep their relative
        precision.
    smaller
        B >= 0.
    epsilon
        The budget eps >= 0, broadcast against the other two; it may be infinite.

    Notes
    -----
    With w = exp(-eps) the ratio is 1 + (1 - w)(A - B) / (w + (1 - w) B), evaluated with a few
    roundings.  Where that quotient overflows (eps above 700 and B near 0) it is the difference
    `logaddexp(-eps, ln A) - logaddexp(-eps, ln B)`.
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
        of_logs = np.logaddexp(-eps, np.log(low + gap)) - np.logaddexp(
            -eps, np.log(low)
        )
    return np.where(gap == 0, 0.0, np.where(np.isinf(quotient), of_logs, ratio))


def nearest_distribution(frequencies: Floats) -> Floats:
    """Return the Euclidean projection of a vector onto the probability simplex.

    Subtracts the constant that leaves a sum of 1 after negative entries are set to 0,
    O(k log k).

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
    """Return the indices of a symmetric matrix in an order that puts strong pairs side
    by side.

    Leaf order of average-linkage clustering with distance max(strengths) - strengths[i,
    j].

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


# Threads of linear algebra ------------------------------------------------------------

_threads_lock = Lock()
_one_thread: list[Any] = []
"""One entry per open context; the first holds the limiter that restores the threads."""


@cache
def _blas(has_scipy: bool) -> Any:
    """Return the BLAS libraries loaded, looked up anew once SciPy has loaded its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: faster for systems of up to some hundred unknowns.

    The threads of OpenBLAS wait for each other in busy loops, so that small systems
    take 5 to 30 times as long with two threads as with one.  The limit holds for the
    whole process while any such context is open.
    """
    with _threads_lock:
        loaded = _blas("scipy.linalg" in sys.modules)
        _one_thread.append(
            None if _one_thread else loaded.limit(limits=1, user_api="blas")
        )
    try:
        yield
    finally:
        with _threads_lock:
            if len(_one_thread) == 1:
                _one_thread[0].restore_original_limits()
            _one_thread.pop()


MAX_ITERATIONS = 200
"""Maximum number of iterations of the root search."""


def largest_within(
    excess: Callable[[float], float], maximum: float, tolerance: float = 1e-9
) -> float:
    """Return the largest budget up to `maximum` whose excess over the limit is not
    positive.

    Parameters
    ----------
    excess
        The largest total minus its limit, as a non-decreasing function of the budget.
    maximum
        Upper end of the search.
    tolerance
        How far the result may lie below the root; it is never above.

    Notes
    -----
    Regula falsi (the Illinois rule) inside a bracket whose lower end always satisfies the limit,
    with a bisection whenever it does not halve the bracket: about ten evaluations for smooth
    totals, at most fifty for any.

    Examples
    --------
    >>> budget = largest_within(lambda budget: 3 * budget - 1, maximum=1.0)
    >>> 1 / 3 - 1e-9 <= budget <= 1 / 3
    True
    """
    low = 0.0
    at_low = excess(0.0)
    if at_low > 0:
        raise InputError(
            f"no budget fits: the public attributes alone exceed a limit by {at_low:.4g}; raise "
            "the limit, or declare fewer attributes as public"
        )
    high = maximum
    at_high = excess(maximum)
    if at_high <= 0:
        return maximum
    for _ in range(MAX_ITERATIONS):
        width = high - low
        if width <= tolerance:
            break
        for share in (_chord_root(at_low, at_high), 0.5):
            middle = low + (high - low) * share
            if not low < middle < high:
                continue
            at_middle = excess(middle)
            if at_middle <= 0:
                low = middle
                at_low = at_middle
            else:
                high = middle
                at_high = at_middle
            if high - low <= width / 2:
                break
    return low


def _chord_root(at_low: float, at_high: float) -> float:
    """Return the root of the chord (regula falsi) as a share of the bracket, clipped to
    1e-3.
    """
    if math.isinf(at_high) or math.isinf(at_low):
        return 0.5
    return min(max(-at_low / (at_high - at_low), 1e-3), 1 - 1e-3)
