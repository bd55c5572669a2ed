"""Basic RAPPOR: a permanent and an instantaneous randomised response of each bit."""

import math
from fractions import Fraction

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.rounding import round_down
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_probabilities import (
    exp_below,
    float_above,
    log_above,
    log_nearest,
)
from seepage.mechanisms.unary import UnaryEncoding

MAX_COUNTED = 1000
"""Maximum number of reports of a bit whose 1s are counted."""


class BasicRAPPOR(UnaryEncoding):
    """Basic RAPPOR: a permanent randomised response, and an instantaneous one per
    collection.

    By name, `mechanism("basic-rappor", k, epsilon)`, epsilon is the budget of any
    number of reports, `epsilon_infinity`, at p = 1/2 and q = 3/4: f = 2 / (1 +
    e^(epsilon/2)), which is 1/2, the setting of both papers, at 2 ln 3 = 2.197.

    The client flips each bit of its one-hot vector once, with probability f/2, and
    stores the result: the *permanent response*.  Each collection gets an *instantaneous
    response*: a 1 with probability q where the permanent bit is 1, and p where it is 0.
    Any number of them reveals no more than the permanent response [Erlingsson, Pihur
    and Korolova 2014].

    One report is a unary encoding whose true bit is 1 with probability q*, any other
    with p*:

        q* = f (p + q)/2 + (1 - f) q,   p* = f (p + q)/2 + (1 - f) p.

    The symbols are those of the original: q belongs to the *true* bit, whose
    probability is p in other unary encodings.  Defaults, in both papers: f = 1/2, p =
    1/2, q = 3/4.

    Parameters
    ----------
    k
        The alphabet size.
    f
        The permanent noise, in [0, 1]: each bit is flipped with probability f/2.  At 0
        the permanent response is the one-hot vector itself, which many reports reveal.
    p, q
        The probability of a reported 1 where the permanent bit is 0, and where it is 1;
        p <= q.

    Notes
    -----
    `perturb` draws one report per code directly from q* and p*, without storing a
    permanent response; of several such reports the budgets add up.

    Examples
    --------
    >>> rappor = BasicRAPPOR(4)
    >>> [round(rappor.epsilon_after(reports), 4) for reports in (1, 2, 10)]
    [0.5371, 1.0085, 2.1497]
    >>> round(rappor.epsilon_infinity, 4)
    2.1972
    """

    name = "basic-rappor"

    def __init__(self, k: int, f: float = 0.5, p: float = 0.5, q: float = 0.75) -> None:
        """Set the probabilities of basic RAPPOR's permanent and instantaneous bits."""
        self.f = checks.probability(f, "f")
        self.p = checks.probability(p, "p")
        self.q = checks.probability(q, "q")
        if self.p > self.q:
            raise InputError(
                f"p must be at most q, got p = {self.p} and q = {self.q}; "
                "q is the probability of a 1 where the permanent bit is 1"
            )
        self._flip = Fraction(self.f) / 2
        other_bit, true_bit = _after_flip(
            self._flip, Fraction(self.p), Fraction(self.q)
        )
        if not (other_bit > 0 and true_bit < 1):
            raise InputError(
                f"f, p and q must leave every bit random, got f = {self.f}, p = "
                f"{self.p}, q = {self.q}; take f above 0, or p above 0 and q below 1"
            )
        super().__init__(k, true_bit, other_bit, f=self.f, p=self.p, q=self.q)

    @classmethod
    def create(cls, k: int, epsilon: float, delta: float = 0.0) -> Mechanism:
        """Return the basic RAPPOR whose `epsilon_infinity` is this budget, at p = 1/2
        and q = 3/4.
        """
        f = 2 / (1 + exp_below(checks.epsilon(epsilon) / 2))
        return super().create(k, min(1.0, float_above(f)), delta)

    @property
    def epsilon_infinity(self) -> float:
        """The epsilon of any number of RAPPOR reports, 2 ln((1 - f/2) / (f/2));
        infinite at f = 0.

        It is the epsilon of releasing the permanent response.
        """
        if self.k == 1:
            return 0.0
        return (
            log_above(((1 - self._flip) / self._flip) ** 2) if self._flip else math.inf
        )

    def epsilon_after(self, reports: int) -> float:
        """Return the epsilon of n instantaneous reports of one permanent RAPPOR
        response.

        The likelihood ratio of two values is largest where all reports agree: 1 for the
        bit of the first and 0 for that of the second.  With b the flip probability f/2,
        r = (p/q)^n and s = ((1-q)/(1-p))^n, its logarithm is

            ln ((1-b) + b r) / (b + (1-b) r)  +  ln ((1-b) + b s) / (b + (1-b) s),

        which is `epsilon` for one report and increases to `epsilon_infinity`.

        Parameters
        ----------
        reports
            The number n of reports, at least 1.
        """
        count = checks.integer(reports, "reports", 1, 1 << 53)
        if self.k == 1:
            return 0.0
        p = Fraction(self.p)
        q = Fraction(self.q)
        ratio = Fraction(1)
        for power in (
            _power_below(p / q, count),
            _power_below((1 - q) / (1 - p), count),
        ):
            other, true = _after_flip(self._flip, power, Fraction(1))
            if not other:
                return math.inf
            ratio *= true / other
        return log_above(ratio)

    def counts_of_ones(self, reports: int) -> Floats:
        """Return P(number of 1s among n RAPPOR reports of one bit).

        In the first row for the bit of the true value, in the second for any other.
        The permanent bit is 1 with probability 1 - b or b, b = f/2, and then the number
        is binomial with q, else with p.

        Parameters
        ----------
        reports
            The number n of reports, at least 1.

        Notes
        -----
        O(n) fractions of O(n) digits, each rounded once.
        """
        count = checks.integer(reports, "reports", 1, MAX_COUNTED)
        set_bit = _binomial(Fraction(self.q), count)
        unset = _binomial(Fraction(self.p), count)
        both = [
            _after_flip(self._flip, *pair) for pair in zip(unset, set_bit, strict=True)
        ]
        return np.array(
            [[float(true) for _, true in both], [float(other) for other, _ in both]]
        )


def _binomial(p: Fraction, count: int) -> list[Fraction]:
    """Return the binomial distribution of the number of 1s in some RAPPOR reports."""
    return [
        math.comb(count, ones) * p**ones * (1 - p) ** (count - ones)
        for ones in range(count + 1)
    ]


def _after_flip(
    flip: Fraction, unset: Fraction, kept: Fraction
) -> tuple[Fraction, Fraction]:
    """Return P(event) after a flip, for the bit of another value and for that of the
    true value.

    `unset` and `kept` are P(event) where the permanent bit is 0, and where it is 1.
    """
    return flip * kept + (1 - flip) * unset, (1 - flip) * kept + flip * unset


def _power_below(base: Fraction, count: int) -> Fraction:
    """Return base^count for RAPPOR's reports, for 0 <= base <= 1, rounded down."""
    if base in (0, 1):
        return base
    exponent = count * log_nearest(base)
    return Fraction(max(0.0, round_down(math.exp(exponent), int(-2 * exponent))))
