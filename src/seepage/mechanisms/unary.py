"""Unary encodings: one bit for each value, each bit flipped on its own.

The bit of the true value is reported as 1 with probability p, every other bit with q < p, all
independent.  A report that sets the bits S makes the values in S likelier than the others by the
contrast ln(p(1-q) / (q(1-p))), and S may be any set [theory: Whole reports].

With one value (k = 1) a report says nothing: epsilon is 0 and the frequency is known to be 1.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.base import PureMechanism
from seepage.mechanisms.exact_math import (
    exp_below,
    float_above,
    log_above,
    log_nearest,
    square_root_below,
)
from seepage.mechanisms.packed_bits import count_bits, guess_supported
from seepage.mechanisms.randomness import CERTAIN, Randomness, chance
from seepage.mechanisms.reports import BitReports

__all__ = ["OUE", "RAPPOR", "ApproximateSUE", "UnaryEncoding"]

CELLS = 1 << 20
"""Bits drawn or unpacked at once, so that memory does not grow with the column."""


class UnaryEncoding(PureMechanism):
    """The base of the unary encodings: all that follows from the two bit probabilities.

    Parameters
    ----------
    k
        The alphabet size.
    true_bit, other_bit
        p and q, the exact probabilities of a 1 for the true value and for another, with
        0 < q <= p < 1.
    parameters
        What the probabilities were made from; it goes into `describe`.

    Notes
    -----
    `perturb` draws one byte a bit and O(k) operations a report; `estimate` counts 64 bits at a
    time; `infer` finds its bit in O(k / 64) a report.
    """

    reports: ClassVar[type[BitReports]] = BitReports

    def __init__(
        self, k: int, true_bit: Fraction, other_bit: Fraction, parameters: dict[str, float]
    ) -> None:
        super().__init__(k)
        self.true_bit, self.other_bit = true_bit, other_bit
        self._parameters = parameters

    # What it promises ---------------------------------------------------------------------------

    @cached_property
    def _contrast(self) -> float:
        return bit_contrast(self.true_bit, self.other_bit) if self.k > 1 else 0.0

    @property
    def epsilon(self) -> float:
        """ln(p(1-q) / (q(1-p))), rounded up; 0 with one value."""
        return self._contrast

    @cached_property
    def realised_bits(self) -> tuple[Fraction, Fraction]:
        """The probabilities p and q that are really drawn: p rounded down, q up, to 2^-64."""
        true, other = self._thresholds
        return Fraction(true, CERTAIN), Fraction(other, CERTAIN)

    @cached_property
    def _thresholds(self) -> tuple[int, int]:
        true = chance(self.true_bit)
        return true, min(chance_above(self.other_bit), true)

    @property
    def realised_epsilon(self) -> float:
        """The epsilon of the drawn bits; at most `epsilon`, since p is lower and q higher."""
        return bit_contrast(*self.realised_bits) if self.k > 1 else 0.0

    def describe(self) -> dict[str, Any]:
        """Return the mechanism's name and parameters."""
        return {"mechanism": self.name, "k": self.k, **self._parameters}

    @property
    def bits(self) -> float:
        """One bit for each value."""
        return float(self.k)

    # What it does -------------------------------------------------------------------------------

    def _perturb(self, codes: Integers, source: Randomness) -> BitReports:
        return self._packed(len(codes), lambda rows: self._draw(codes[rows], source))

    def _draw(self, codes: Integers, source: Randomness) -> Booleans:
        """Return the bits of one block of reports."""
        true, other = self._thresholds
        bits = source.happens(other, (len(codes), self.k))
        bits[np.arange(len(codes)), codes] = source.happens(true, len(codes))
        return bits

    def _packed(self, count: int, draw: Callable[[slice], Booleans]) -> BitReports:
        """Return so many reports whose bits are drawn block by block."""
        words = np.empty((count, -(-self.k // 64)), dtype=np.uint64)
        rows = max(1, CELLS // self.k)
        for begin in range(0, count, rows):
            block = slice(begin, min(begin + rows, count))
            words[block] = BitReports.pack(draw(block))
        return BitReports(self.describe(), words)

    @property
    def support(self) -> tuple[float, float]:
        """The probabilities p and q; with one value, every report supports it."""
        return (float(self.true_bit), float(self.other_bit)) if self.k > 1 else (1.0, 0.0)

    def tally(self, reports: BitReports) -> Floats:
        """Return how many reports set each value's bit."""
        self._own(reports)
        if self.k == 1:
            return np.array([float(len(reports))])
        return count_bits(reports.words, self.k).astype(np.float64)

    # What an adversary makes of it --------------------------------------------------------------

    def _infer(self, reports: BitReports, source: Randomness) -> Integers:
        """Return a value uniform among the set bits, or among all if none is set."""
        return guess_supported(reports.words, self.k, source)

    @cached_property
    def hit_rate(self) -> float:
        """The rate a = p (1 - (1-q)^k) / (k q) + (1-p) (1-q)^(k-1) / k.

        [theory: The paper's attacker]
        """
        return 1.0 - self._miss_rate

    @property
    def guess_contrast(self) -> float:
        """The logarithm of a (k - 1)/(1 - a), with 1 - a summed from its own parts."""
        if self._contrast == 0:
            return 0.0
        if self._miss_rate == 0:
            return math.inf
        return max(0.0, math.log(self.hit_rate * (self.k - 1) / self._miss_rate))

    @cached_property
    def _miss_rate(self) -> float:
        """The rate 1 - a: the true bit is set but another chosen, or unset and not the guess."""
        none_else = math.exp((self.k - 1) * log_nearest(1 - self.other_bit))
        chosen_over = _chosen_over(float(self.other_bit), self.k)
        hidden = float(1 - self.true_bit) * (1.0 - none_else / self.k)
        return hidden + float(self.true_bit) * chosen_over

    @cached_property
    def _logarithms(self) -> tuple[float, float, float, float]:
        """The logarithms of q, 1 - q, p / q and (1 - p) / (1 - q)."""
        p, q = self.true_bit, self.other_bit
        q_set, q_unset, gain, loss = map(log_nearest, (q, 1 - q, p / q, (1 - p) / (1 - q)))
        return q_set, q_unset, gain, loss

    def log_likelihood(self, reports: BitReports) -> Floats:
        """Return ln P(report given u): each bit as if it were another's, corrected at u."""
        self._own(reports)
        q_set, q_unset, gain, loss = self._logarithms
        bits = reports.bits()
        count = bits.sum(axis=1)
        shared = count * q_set + (self.k - count) * q_unset
        return np.asarray(shared[:, None] + np.where(bits, gain, loss))

    @property
    def likely_sets(self) -> LikelySets:
        """Any set of values, by ln(p(1-q) / (q(1-p)))."""
        return LikelySets("all", self._contrast)

    def witness_report(self, likely: Booleans) -> BitReports:
        """Return the report that sets exactly these bits."""
        return BitReports(self.describe(), BitReports.pack(np.asarray(likely)[None]))

    def _own(self, reports: Any) -> None:
        super()._own(reports)
        width, used = -(-self.k // 64), self.k % 64
        if reports.words.shape[1] != width:
            raise InputError(
                f"reports of {self.k} values must have {width} words, got {reports.words.shape[1]}"
            )
        if used and (reports.words[:, -1] >> np.uint64(used)).any():
            raise InputError(f"reports must set bits below {self.k} only; one sets another")


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
    >>> rappor.epsilon, round(float(rappor.true_bit), 6)
    (2.0, 0.731059)
    >>> reports = rappor.perturb([0, 1, 2, 3] * 5000, rng=1)
    >>> bool(abs(rappor.estimate(reports).frequencies - 0.25).max() < 0.05)
    True
    """

    name = "rappor"

    def __init__(self, k: int, epsilon: float) -> None:
        budget = _checks.epsilon(epsilon)
        flip = 1 / (1 + exp_below(budget / 2))
        super().__init__(k, 1 - flip, flip, {"epsilon": budget})


class OUE(UnaryEncoding):
    """Optimised unary encoding: the variance of rare values is the least at its budget.

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
        budget = _checks.epsilon(epsilon)
        super().__init__(k, Fraction(1, 2), 1 / (1 + exp_below(budget)), {"epsilon": budget})


class ApproximateSUE(UnaryEncoding):
    """Symmetric unary encoding with a relaxation: (epsilon, delta)-LDP with less noise.

    The set of reports with the bit of u and not that of u' has probability p^2 under u and q^2
    under u', so the relaxation is p^2 - e^epsilon q^2, and q = 1 - p where that is delta:

        q = (1 - delta) / (1 + s),   s = sqrt(1 + (e^epsilon - 1)(1 - delta)),

    which is p = (e^eps - sqrt(e^eps (1-delta) + delta)) / (e^eps - 1) [theory: Whole reports]
    without its 0/0 at epsilon 0.  There it is the limit, q = (1 - delta)/2: with delta above 0 the
    reports still tell something; with delta 0 nothing.

    `leakage` is that of the pure contrast 2 ln(p/q), above epsilon; `relaxed_leakage` is what
    holds but for its delta'.

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
    approximate = True

    def __init__(self, k: int, epsilon: float, delta: float) -> None:
        budget, slack = _checks.epsilon(epsilon), _checks.delta(delta)
        self._ratio, self._slack = exp_below(budget), Fraction(slack)
        root = square_root_below(1 + (self._ratio - 1) * (1 - self._slack))
        flip = (1 - self._slack) / (1 + root)
        super().__init__(k, 1 - flip, flip, {"epsilon": budget, "delta": slack})

    @cached_property
    def epsilon(self) -> float:
        """ln((p^2 - delta) / q^2), rounded up: the least budget for its delta."""
        return self._epsilon_of(self.true_bit, self.other_bit)

    @property
    def delta(self) -> float:
        """The relaxation p^2 - e^epsilon q^2 at the stated epsilon, rounded up."""
        excess = self.true_bit**2 - self._ratio * self.other_bit**2
        return float_above(max(Fraction(0), excess)) if self.k > 1 else 0.0

    @property
    def realised_epsilon(self) -> float:
        """The least budget with which the drawn bits keep the stated delta."""
        return self._epsilon_of(*self.realised_bits)

    def _epsilon_of(self, p: Fraction, q: Fraction) -> float:
        return log_above(max(Fraction(1), (p**2 - self._slack) / q**2)) if self.k > 1 else 0.0


def chance_above(probability: Fraction) -> int:
    """Return a probability as a threshold out of 2^64, rounded up."""
    return CERTAIN - chance(1 - probability)


def bit_contrast(p: Fraction, q: Fraction) -> float:
    """Return ln(p(1-q) / (q(1-p))), rounded up, for p >= q."""
    return log_above(p * (1 - q) / (q * (1 - p))) if p > q else 0.0


def _chosen_over(q: float, k: int) -> float:
    """Return the chance that a set bit is not the one chosen among all set bits.

    1 - (1 - (1-q)^k) / (k q) where k q > 1; else the same as the integral of 1 - (1-qx)^(k-1)
    over x from 0 to 1, by Gauss' rule, which keeps its relative precision however small q is.
    """
    if k * q > 1:
        return 1.0 + math.expm1(k * math.log1p(-q)) / (k * q)
    places, weights = np.polynomial.legendre.leggauss(16)
    exponents = (k - 1) * np.log1p(-q * (places + 1) / 2)
    return float(weights @ -np.expm1(exponents)) / 2
