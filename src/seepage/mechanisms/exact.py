"""Exponentials and logarithms of exact fractions, rounded to the safe side.

Mechanisms keep their probabilities as `Fraction`s, so that the epsilon they promise can be
recomputed from them without cancellation at any budget.  Powers of e are irrational; they enter
through `exp_below`, 40 digits and never above the truth, and leave through `log_above`, 80 digits
and never below it.  The difference is far below one unit in the last place of a double, so a
budget of at least 1e-20 comes back as the very number that went in.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

__all__ = ["exp_below", "float_above", "log_above", "log_nearest", "square_root_below"]

EXP_DIGITS = 40
LOG_DIGITS = 80
ROOT_BITS = 128

LARGEST_EPSILON = 10_000
"""Larger budgets are drawn, and stated, as this one."""


def exp_below(epsilon: float) -> Fraction:
    """Return a fraction at most e^epsilon, and less by a relative 2e-39 at most.

    A budget above 10,000 counts as 10,000: still a lower bound.

    Examples
    --------
    >>> exp_below(0.0) == 1 < exp_below(1e-12) < exp_below(800.0)
    True
    """
    with localcontext(prec=EXP_DIGITS):
        value = Decimal(min(epsilon, LARGEST_EPSILON)).exp().next_minus()
    return max(Fraction(value), Fraction(1))


def log_above(ratio: Fraction) -> float:
    """Return the smallest double that is not below ln(ratio), for a positive fraction.

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
    return nearest if Fraction(nearest) >= Fraction(value) else math.nextafter(nearest, math.inf)


def log_nearest(ratio: Fraction) -> float:
    """Return the double nearest to ln(ratio), for a positive fraction.

    Examples
    --------
    >>> log_nearest(Fraction(1, 10**400))
    -921.0340371976183
    """
    with localcontext(prec=LOG_DIGITS):
        return float(_logarithm(ratio))


def _logarithm(ratio: Fraction) -> Decimal:
    return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def square_root_below(value: Fraction) -> Fraction:
    """Return a fraction at most the root of a value of at least 1, and less by 2^-128 at most.

    Examples
    --------
    >>> square_root_below(Fraction(9))
    Fraction(3, 1)
    """
    scaled = value.numerator * 4**ROOT_BITS // value.denominator
    return Fraction(math.isqrt(scaled), 2**ROOT_BITS)
