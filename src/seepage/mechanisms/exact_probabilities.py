"""Exact fractions, integer thresholds out of 2^64, and draws with exactly these
probabilities.

Mechanisms keep their probabilities as `Fraction`s, so that the epsilon they promise can
be recomputed from them without cancellation at any budget.  Powers of e are irrational;
they enter through `exp_below`, 40 digits and never above the true value, and leave
through `log_above`, 80 digits and never below it.  The difference is far below one unit
in the last place of a double, so a budget of at least 1e-20 comes back as the same
double.

A *chance* is an integer threshold T out of 2^64: an event with chance T happens when a
uniform 64-bit integer is below T, so its probability is exactly T / 2^64 and the
epsilon that a mechanism realises is an exact fraction.  Thresholds are rounded so that
it never exceeds the stated one.

Research and deployment differ only in the source of random bytes: a seeded NumPy
`Generator`, or the operating system.

This protects against the leaks of floating-point noise [Mironov 2012], predictable
seeds and the bias of remainders.  It does not protect against timing, memory and power
side channels, or a compromised operating system.
"""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Floats

EXP_DIGITS = 40
"""Decimal digits of exponentials."""


LOG_DIGITS = 80
"""Decimal digits of logarithms."""


ROOT_BITS = 128
"""Binary digits of square roots after the point."""


MAX_EPSILON = 10_000
"""Larger budgets are drawn, and stated, as this one."""


CERTAIN = 1 << 64
"""The chance of an event that always happens."""


RARE_OUTPUT = 2.0**-32
"""Outputs less probable than this under every value get the same chance under all
values."""


Thresholds = NDArray[Any]
"""Python integers, one row per value and one column per output; each row sums to
2^64."""


# Exponentials and logarithms of exact fractions, rounded to the safe side -------------


def exp_below(epsilon: float) -> Fraction:
    """Return an exact lower bound on e^epsilon, a fraction with relative error at most
    2e-39.

    A budget above 10,000 counts as 10,000: still a lower bound.

    Examples
    --------
    >>> exp_below(0.0) == 1 < exp_below(1e-12) < exp_below(800.0)
    True
    """
    with localcontext(prec=EXP_DIGITS):
        value = Decimal(min(checks.epsilon(epsilon), MAX_EPSILON)).exp().next_minus()
    return max(Fraction(value), Fraction(1))


def log_above(ratio: Fraction) -> float:
    """Return the smallest double that is not below the exact ln(ratio), for a positive
    fraction.

    Examples
    --------
    >>> log_above(Fraction(1)), log_above(exp_below(1e-12)), log_above(exp_below(700.0))
    (0.0, 1e-12, 700.0)
    """
    if ratio == 1:
        return 0.0
    with localcontext(prec=LOG_DIGITS):
        return float_above(_logarithm(ratio).next_plus())


def float_above(value: Fraction | Decimal) -> float:
    """Return the smallest double that is not below an exact value.

    Examples
    --------
    >>> float_above(Fraction(1, 4)), float_above(Fraction(1, 10)) > Fraction(1, 10)
    (0.25, True)
    """
    nearest = float(value)
    if Fraction(nearest) >= Fraction(value):
        return nearest
    return math.nextafter(nearest, math.inf)


def log_nearest(ratio: Fraction) -> float:
    """Return the double nearest to the exact ln(ratio), for a positive fraction.

    Examples
    --------
    >>> log_nearest(Fraction(1, 10**400))
    -921.0340371976183
    """
    with localcontext(prec=LOG_DIGITS):
        return float(_logarithm(ratio))


def _logarithm(ratio: Fraction) -> Decimal:
    """Return ln of an exact positive fraction with 60 digits."""
    return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def square_root_below(value: Fraction) -> Fraction:
    """Return an exact lower bound on the square root of a value >= 1, with error at
    most 2^-128.

    Examples
    --------
    >>> square_root_below(Fraction(9))
    Fraction(3, 1)
    """
    scaled = value.numerator * 4**ROOT_BITS // value.denominator
    return Fraction(math.isqrt(scaled), 2**ROOT_BITS)


# Integer thresholds out of 2^64 -------------------------------------------------------


def chance(probability: Fraction) -> int:
    """Return the integer threshold floor(p 2^64) of a probability p.

    Examples
    --------
    >>> chance(Fraction(1, 2)) == 2**63
    True
    """
    return math.floor(probability * CERTAIN)


def integer_thresholds(channel: Floats, limit: Fraction) -> Thresholds:
    """Return exact thresholds out of 2^64 close to a channel, whose ratios within a
    column never exceed a limit.

    Parameters
    ----------
    channel
        P(output given value), rows summing to 1 up to rounding.
    limit
        The largest ratio allowed, at least 1.

    Returns
    -------
    Thresholds
        One row per value, each summing to 2^64.

    Notes
    -----
    The channel is mixed with a share t of its average row, t the smallest of 0, 2^-52,
    2^-51, ..., 1 for which the rounded ratios are within the limit; t = 1 always is.  A
    channel that is within the limit up to rounding needs a t of about the rounding
    error over ln(limit).  Outputs rarer than 2^-32 get the same threshold for all
    values, since rounding alone would distinguish them.

    Examples
    --------
    >>> thresholds = integer_thresholds(
    ...     np.array([[0.75, 0.25], [0.25, 0.75]]), Fraction(3)
    ... )
    >>> thresholds.sum(axis=1).tolist() == [2**64, 2**64], largest_ratio(thresholds)
    (True, Fraction(3, 1))
    """
    channel = np.where(channel.max(axis=0) < RARE_OUTPUT, channel.mean(axis=0), channel)
    average = channel.mean(axis=0)
    for share in (0.0, *(2.0**exponent for exponent in range(-52, 0))):
        thresholds = round_rows((1 - share) * channel + share * average)
        allowed = thresholds.min(axis=0) * limit.numerator  # Python integers: exact
        if (thresholds.max(axis=0) * limit.denominator <= allowed).all():
            return thresholds
    return round_rows(np.tile(average, (len(channel), 1)))


def round_rows(channel: Floats) -> Thresholds:
    """Return floor(channel 2^64) as exact integers; the remainder of each row goes to
    its likeliest output.
    """
    thresholds = exact_cells(int, np.floor(channel * CERTAIN))
    rows = np.arange(len(thresholds))
    likeliest = channel.argmax(axis=1)
    thresholds[rows, likeliest] += CERTAIN - thresholds.sum(axis=1)
    return thresholds


def exact_cells(number: Callable[[Any], Any], matrix: NDArray[Any]) -> Thresholds:
    """Return a matrix of exact Python numbers, each cell converted by `number` (int or
    Fraction).
    """
    return np.asarray(np.frompyfunc(number, 1, 1)(matrix))


def largest_ratio(thresholds: Thresholds) -> Fraction:
    """Return the largest exact ratio max / min within a column; columns of zeros are
    skipped.
    """
    possible = thresholds[:, (thresholds > 0).any(axis=0)]
    largest = possible.max(axis=0).tolist()
    smallest = possible.min(axis=0).tolist()
    return max(map(Fraction, largest, smallest))
