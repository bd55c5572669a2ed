"""Exponentials and logarithms of exact fractions, rounded to the safe side.

Mechanisms keep their probabilities as `Fraction`s, so that the epsilon they promise can be
recomputed from them without cancellation at any budget.  Powers of e are irrational; they enter
through `exp_below`, 40 digits and never above the truth, and leave through `log_above`, 80 digits
and never below it.  The difference is far below one unit in the last place of a double, so a
budget of at least 1e-20 comes back as the very number that went in.

The normal distribution to any number of digits, and the noise that (epsilon, delta) asks for.

Double precision cannot tell delta = 1e-12 at epsilon 0, nor delta at epsilon 700, where a tail
of 1e-300 is multiplied by e^700.  `decimal` from the standard library can, in milliseconds.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from seepage._numerics import UNIT

__all__ = [
    "exp_below",
    "float_above",
    "gaussian_delta",
    "gaussian_sigma",
    "log_above",
    "log_nearest",
    "normal_tail",
    "square_root_below",
]

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


GUARD = 25
"""Digits beyond those asked for, which roundings may spoil."""

SPARE = 2.0**-30
"""The share of delta that the noise leaves unused, for what drawing from a grid adds."""


def normal_tail(x: Decimal, digits: int) -> Decimal:
    """Return P(Z > x) of a standard normal Z, with relative error below 10^-digits.

    Examples
    --------
    >>> f"{normal_tail(Decimal(2), 20):.20f}", f"{normal_tail(Decimal(40), 10):.5g}"
    ('0.02275013194817920720', '3.6559e-350')
    """
    if x < 0:
        return 1 - normal_tail(-x, digits)
    square = float(x) ** 2
    if 3 * square > digits * math.log(10):
        with localcontext(prec=digits + GUARD):
            return _density(x) * _mills_ratio(x)
    lost = math.ceil(square)
    with localcontext(prec=digits + lost + GUARD):
        return Decimal("0.5") - _density(x) * _integral(x)


def _density(x: Decimal) -> Decimal:
    with localcontext() as context:
        return (-x * x / 2).exp() / _root_of_two_pi(context.prec)


def _integral(x: Decimal) -> Decimal:
    """Return (Phi(x) - 1/2) / phi(x) = x + x^3/3 + x^5/(3 5) + ..., for moderate x >= 0."""
    with localcontext() as context:
        negligible = Decimal(10) ** -context.prec
        square, term, total, odd = x * x, x, x, 1
        while term > negligible * total:
            odd += 2
            term *= square / odd
            total += term
        return total


def _mills_ratio(x: Decimal) -> Decimal:
    """Return P(Z > x) / phi(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))), for large x.

    Lentz's evaluation; successive convergents lie on either side of the value, so it stops when
    they agree.
    """
    with localcontext() as context:
        negligible = Decimal(10) ** -context.prec
        upper, lower, fraction, step = x, Decimal(0), x, 0
        change = Decimal(2)
        while abs(change - 1) > 10 * negligible:
            step += 1
            upper = x + step / upper
            lower = 1 / (x + step * lower)
            change = upper * lower
            fraction *= change
        return 1 / fraction


@lru_cache(maxsize=64)
def _root_of_two_pi(digits: int) -> Decimal:
    """Return sqrt(2 pi), with Machin's pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    unit = 10 ** (digits + GUARD)
    pi = 16 * _arctan_of_inverse(5, unit) - 4 * _arctan_of_inverse(239, unit)
    with localcontext(prec=digits + GUARD):
        return (Decimal(2 * pi) / Decimal(unit)).sqrt()


def _arctan_of_inverse(inverse: int, unit: int) -> int:
    """Return arctan(1 / inverse) in units, as an integer."""
    total, power, odd, sign = 0, unit // inverse, 1, 1
    while power:
        total += sign * (power // odd)
        power //= inverse * inverse
        odd, sign = odd + 2, -sign
    return total


def gaussian_delta(epsilon: float, sigma: float, digits: int) -> Decimal:
    """Return the delta of Gaussian noise on a one-hot vector, within 10^-digits.

    delta = Phi(D/(2 sigma) - eps sigma/D) - e^eps Phi(-D/(2 sigma) - eps sigma/D), with D = sqrt 2
    the distance between two one-hot vectors [Balle and Wang 2018, Theorem 8].

    Examples
    --------
    >>> f"{gaussian_delta(1.0, 1.0, 20):.6f}"
    '0.286208'
    """
    with localcontext(prec=digits + GUARD + len(str(int(epsilon)))):
        deviation, root = Decimal(sigma), Decimal(2).sqrt()
        near = 1 / (root * deviation)
        far = Decimal(epsilon) * deviation / root
        tail = normal_tail(far + near, digits)
        return normal_tail(far - near, digits) - Decimal(epsilon).exp() * tail


@lru_cache(maxsize=1024)
def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the least noise with which the Gaussian mechanism is (epsilon, delta)-LDP.

    The delta of `gaussian_delta` falls as sigma grows; bisection finds sigma to 12 digits, and
    the end that keeps delta, with 2^-30 of it to spare, is returned.

    Examples
    --------
    >>> f"{gaussian_sigma(1.0, 1e-6):.6f}"
    '5.974598'
    """
    limit = Decimal(delta) * Decimal(1 - SPARE)
    digits = math.ceil(-math.log10(delta)) + GUARD

    def keeps(sigma: float) -> bool:
        return gaussian_delta(epsilon, sigma, digits) <= limit

    high = 1.0
    while not keeps(high):
        high *= 2
    low = high / 2
    while keeps(low):
        low, high = low / 2, low
    while high - low > 4096 * UNIT * high:
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high
