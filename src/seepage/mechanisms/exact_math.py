"""Exponentials and logarithms of exact fractions, rounded to the safe side.

Mechanisms keep their probabilities as `Fraction`s, so that the epsilon they promise can be
recomputed from them without cancellation at any budget.  Powers of e are irrational; they enter
through `exp_below`, 40 digits and never above the truth, and leave through `log_above`, 80 digits
and never below it.  The difference is far below one unit in the last place of a double, so a
budget of at least 1e-20 comes back as the very number that went in.

The tail of the normal distribution, and the noise that (epsilon, delta) asks for: double precision
cannot tell delta = 1e-12 at epsilon 0, nor delta at epsilon 700, where a tail of 1e-300 is
multiplied by e^700.  Arb (python-flint) gives certified bounds; it is imported only here, since
loading it takes longer than `decimal` from the standard library, which rounds e^x and ln x
correctly to any number of digits.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from seepage import _checks
from seepage._numerics import UNIT

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
        value = Decimal(min(_checks.epsilon(epsilon), LARGEST_EPSILON)).exp().next_minus()
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


SPARE = 2.0**-30
"""The share of delta that the noise leaves unused, for what drawing from a grid adds."""

DELTA_DIGITS = 25
"""Digits of delta that decide about sigma."""

GUARD_BITS = 96
"""Bits beyond those asked for, which roundings may spoil."""


def normal_tail(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return bounds on P(Z > x) of a standard normal Z, a share of 10^-digits apart at most.

    The bounds are certified: interval arithmetic of Arb [Johansson 2017].

    Examples
    --------
    >>> low, high = normal_tail(Fraction(2), 20)
    >>> f"{float(low):.16f}", low < high < low * (1 + Fraction(1, 10**20))
    ('0.0227501319481792', True)
    """
    from flint import arb, ctx, fmpq

    with ctx.workprec(_bits(digits)):
        ball = (arb(fmpq(x.numerator, x.denominator)) / arb(2).sqrt()).erfc() / 2
        return _exactly(ball.lower()), _exactly(ball.upper())


def gaussian_delta(epsilon: float, sigma: float, digits: int) -> Fraction:
    """Return the delta of Gaussian noise on a one-hot vector, rounded up by 10^-digits at most.

    delta = Phi(D/(2 sigma) - eps sigma/D) - e^eps Phi(-D/(2 sigma) - eps sigma/D), with D = sqrt 2
    the distance between two one-hot vectors [Balle and Wang 2018, Theorem 8].

    Examples
    --------
    >>> f"{float(gaussian_delta(1.0, 1.0, 20)):.6f}"
    '0.286208'
    """
    from flint import arb, ctx

    with ctx.workprec(_bits(digits)):
        near, far = 1 / (2 * arb(sigma)), arb(epsilon) * arb(sigma) / 2
        likely, unlikely = (far - near).erfc(), (far + near).erfc()
        return _exactly(((likely - arb(epsilon).exp() * unlikely) / 2).upper())


def _bits(digits: int) -> int:
    return math.ceil(digits * math.log2(10)) + GUARD_BITS


def _exactly(bound: Any) -> Fraction:
    """Return an exact number of Arb as a fraction."""
    mantissa, exponent = map(int, bound.man_exp())
    return mantissa * Fraction(2) ** exponent


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
    limit = Fraction(delta) * Fraction(1 - SPARE)
    digits = math.ceil(-math.log10(delta)) + DELTA_DIGITS

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
