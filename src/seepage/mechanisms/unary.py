"""Unary encodings: one bit for each value, each bit perturbed independently.

The bit of the true value is reported as 1 with probability p, every other bit with q <
p, all independent.  A report that sets the bits S makes the values in S likelier than
the others by the contrast ln(p(1-q) / (q(1-p))), and S may be any set [theory: Whole
reports].

For k = 1 a report carries no information: epsilon is 0 and the frequency is 1.
"""

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage._core.rounding import round_down
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_probabilities import (
    CERTAIN,
    chance,
    exp_below,
    float_above,
    log_above,
    log_nearest,
    square_root_below,
)
from seepage.mechanisms.randomness import Randomness
from seepage.mechanisms.reports import BitReports
from seepage.mechanisms.two_level import RelaxedMechanism, SetMechanism


class UnaryEncoding(SetMechanism):
    """Base class of the unary encodings, given their two bit probabilities.

    Parameters
    ----------
    k
        The alphabet size.
    true, other
        p and q, the exact probabilities of a 1 for the true value and for another, with
        0 < q <= p < 1.
    parameters
        The stated parameters.

    Notes
    -----
    `perturb` draws one byte per bit, O(k) per report; `estimate` counts 64 bits at a
    time; `infer` is O(k / 64) per report.
    """

    @cached_property
    def drawn(self) -> tuple[Fraction, Fraction]:
        """The probabilities p and q with which a bit is drawn: p rounded down, q up, to
        2^-64.
        """
        true = Fraction(chance(self.true), CERTAIN)
        return true, min(Fraction(math.ceil(self.other * CERTAIN), CERTAIN), true)

    def draw(self, codes: Integers, source: Randomness) -> BitReports:
        """Return the one-hot vector of each value with every bit perturbed."""
        bits = BitReports.pack_blocks(
            self.k, codes, lambda block: self._bits(block, source)
        )
        return BitReports(self.describe(), bits)

    def _bits(self, codes: Integers, source: Randomness) -> Booleans:
        """Return the perturbed bits of one block of unary reports, shape (n, k)."""
        true, other = map(chance, self.drawn)
        bits = source.happens(other, (len(codes), self.k))
        bits[np.arange(len(codes)), codes] = source.happens(true, len(codes))
        return bits


class RAPPOR(UnaryEncoding):
    """Symmetric unary encoding at a given budget: basic one-time RAPPOR.

    p = e^(epsilon/2) / (e^(epsilon/2) + 1) and q = 1 - p [Erlingsson et al. 2014].
    `BasicRAPPOR` takes the original's (f, p, q) instead.

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget of one report.

    Examples
    --------
    >>> rappor = RAPPOR(4, 2.0)
    >>> rappor.epsilon, round(float(rappor.true), 6)
    (2.0, 0.731059)
    >>> reports = rappor.perturb([0, 1, 2, 3] * 5000, rng=1)
    >>> bool(abs(rappor.estimate(reports).frequencies - 0.25).max() < 0.05)
    True
    """

    name = "rappor"

    def __init__(self, k: int, epsilon: float) -> None:
        """Set the probabilities of the bits of one-time RAPPOR."""
        flip = 1 / (1 + exp_below(checks.epsilon(epsilon) / 2))
        super().__init__(k, 1 - flip, flip, epsilon=epsilon)


class OUE(UnaryEncoding):
    """Optimised unary encoding: minimum variance of rare values among unary encodings.

    p = 1/2 and q = 1/(e^epsilon + 1) [Wang et al. 2017].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget of one report.

    Examples
    --------
    >>> oue = OUE(3, 1.0)
    >>> oue.epsilon, oue.support[0], round(oue.support[1], 6)
    (1.0, 0.5, 0.268941)
    >>> oue.leakage([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]).value
    1.0
    """

    name = "oue"

    def __init__(self, k: int, epsilon: float) -> None:
        """Set the probabilities of the bits of optimised unary encoding."""
        super().__init__(
            k, Fraction(1, 2), 1 / (1 + exp_below(epsilon)), epsilon=epsilon
        )


class Bits(UnaryEncoding):
    """Unary encoding with given bit probabilities.

    Parameters
    ----------
    k
        The alphabet size.
    p, q
        The probability of a 1 for the bit of the true value, and for any other: 0 < q
        <= p < 1.
    """

    name = "bits"

    def __init__(self, k: int, p: float | Fraction, q: float | Fraction) -> None:
        """Set any two probabilities of a 1 in a unary encoding."""
        super().__init__(k, Fraction(p), Fraction(q), p=float(p), q=float(q))


class ApproximateSUE(RelaxedMechanism, UnaryEncoding):
    """Symmetric unary encoding with a relaxation: (epsilon, delta)-LDP with less noise.

    The set of reports with the bit of u and not that of u' has probability p^2 under u
    and q^2 under u', so the relaxation is p^2 - e^epsilon q^2, and q = 1 - p where that
    is delta:

        q = (1 - delta) / (1 + s),   s = sqrt(1 + (e^epsilon - 1)(1 - delta)),

    which is p = (e^eps - sqrt(e^eps (1-delta) + delta)) / (e^eps - 1) [theory: Whole
    reports] without its 0/0 at epsilon 0.  There it is the limit, q = (1 - delta)/2:
    reports carry information if delta > 0.

    `pure_leakage` is that of the contrast 2 ln(p/q), above epsilon; then `leakage` is a
    pair of l and its delta.

    Parameters
    ----------
    k
        The alphabet size.
    epsilon, delta
        The budget of one report and its relaxation, in [0, 1).

    Examples
    --------
    >>> encoding = ApproximateSUE(5, 1.0, 0.01)
    >>> encoding.epsilon, encoding.delta, round(encoding.likely_sets.contrast, 4)
    (1.0, 0.01, 1.0259)
    >>> ApproximateSUE(5, 0.0, 0.5).support
    (0.75, 0.25)
    """

    name = "approximate-sue"
    outputs_apart = 2

    def __init__(self, k: int, epsilon: float, delta: float) -> None:
        """Set the probabilities of the bits of a unary encoding with a delta."""
        slack = Fraction(checks.delta(delta))
        root = square_root_below(1 + (exp_below(epsilon) - 1) * (1 - slack))
        flip = (1 - slack) / (1 + root)
        super().__init__(k, 1 - flip, flip, epsilon=epsilon, delta=delta)


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
        """Set the probabilities of the permanent and the instantaneous bits of basic
        RAPPOR.
        """
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
    """Return the binomial distribution of the number of 1s among `count` bits."""
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
    """Return base^count, for 0 <= base <= 1, rounded down."""
    if base in (0, 1):
        return base
    exponent = count * log_nearest(base)
    return Fraction(max(0.0, round_down(math.exp(exponent), int(-2 * exponent))))
