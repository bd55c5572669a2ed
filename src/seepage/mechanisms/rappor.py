"""Basic RAPPOR: a permanent noisy answer, and a fresh noisy view of it at every collection.

The client flips each bit of its one-hot vector once, with probability f/2, and keeps the result:
the *permanent response*.  Each collection gets an *instantaneous response*: a 1 with probability
q where the kept bit is 1, and p where it is 0.  However many are collected, they tell no more
than the permanent response does [Erlingsson, Pihur and Korolova 2014].
"""

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Booleans, Integers, round_down
from seepage.errors import InputError
from seepage.mechanisms.exact_math import log_above, log_nearest
from seepage.mechanisms.randomness import CERTAIN, Randomness, Seed, chance, randomness
from seepage.mechanisms.reports import BitReports
from seepage.mechanisms.unary import UnaryEncoding, bit_contrast, chance_above

__all__ = ["BasicRAPPOR"]


class BasicRAPPOR(UnaryEncoding):
    """Basic RAPPOR with one bit a value, from the original's (f, p, q).

    One report is a unary encoding whose true bit is a 1 with probability q* and any other with p*:

        q* = f (p + q)/2 + (1 - f) q,   p* = f (p + q)/2 + (1 - f) p.

    The letters are those of the original, so q belongs to the *true* bit, where unary encodings
    elsewhere call that p.  Defaults: the paper's, and the original's, f = 1/2, p = 1/2, q = 3/4.

    Parameters
    ----------
    k
        The alphabet size.
    f
        The permanent noise, in [0, 1]: each bit is flipped with probability f/2.  At 0 the
        permanent response is the truth, and many reports reveal it.
    p, q
        The probability of a reported 1 where the permanent bit is 0, and where it is 1; p <= q.

    Notes
    -----
    `perturb` draws one report for every code, straight from q* and p*, as if its permanent
    response were forgotten at once.  A client that will report the same value again must keep its
    `permanent` response and call `instantaneous` for each collection; else the budgets add up.

    Examples
    --------
    >>> rappor = BasicRAPPOR(4)
    >>> [round(rappor.epsilon_after(reports), 4) for reports in (1, 2, 10)]
    [0.5371, 1.0085, 2.1497]
    >>> round(rappor.epsilon_infinity, 4)
    2.1972
    >>> kept = rappor.permanent([0, 1, 2], rng=1)
    >>> monday, tuesday = (rappor.instantaneous(kept, rng=day) for day in (2, 3))
    >>> len(monday), bool((monday.words == tuesday.words).all())
    (3, False)
    """

    name = "basic-rappor"

    def __init__(self, k: int, f: float = 0.5, p: float = 0.5, q: float = 0.75) -> None:
        self.f = _checks.probability(f, "f")
        self.p, self.q = _checks.probability(p, "p"), _checks.probability(q, "q")
        if self.p > self.q:
            raise InputError(
                f"p must be at most q, got p = {self.p} and q = {self.q}; "
                "q is the probability of a 1 where the permanent bit is 1"
            )
        self._flip = Fraction(self.f) / 2
        other_bit, true_bit = _one_report(self._flip, Fraction(self.p), Fraction(self.q))
        if not (other_bit > 0 and true_bit < 1):
            raise InputError(
                f"f, p and q must leave every bit uncertain, got f = {self.f}, p = {self.p}, "
                f"q = {self.q}; take f above 0, or p above 0 and q below 1"
            )
        super().__init__(k, true_bit, other_bit, {"f": self.f, "p": self.p, "q": self.q})

    # What it promises ---------------------------------------------------------------------------

    @property
    def epsilon_infinity(self) -> float:
        """The epsilon of any number of reports, 2 ln((1 - f/2) / (f/2)); infinite at f = 0.

        It is the epsilon of the permanent response, as if that were seen.
        """
        if self.k == 1:
            return 0.0
        return log_above(((1 - self._flip) / self._flip) ** 2) if self._flip else math.inf

    def epsilon_after(self, reports: int) -> float:
        """Return the epsilon of so many instantaneous reports of one permanent response.

        The most telling reports agree: always 1 for one value's bit, always 0 for the other's.
        With b the flip probability f/2, r = (p/q)^n and s = ((1-q)/(1-p))^n for n reports,

            ln ((1-b) + b r) / (b + (1-b) r)  +  ln ((1-b) + b s) / (b + (1-b) s),

        which is `epsilon` for one report and rises to `epsilon_infinity`.

        Parameters
        ----------
        reports
            How many, at least 1.
        """
        count = _checks.integer(reports, "reports", 1, 1 << 53)
        if self.k == 1:
            return 0.0
        p, q = Fraction(self.p), Fraction(self.q)
        ratio = Fraction(1)
        for agreeing in (_power_below(p / q, count), _power_below((1 - q) / (1 - p), count)):
            other, true = _one_report(self._flip, agreeing, Fraction(1))
            if not other:
                return math.inf
            ratio *= true / other
        return log_above(ratio)

    @cached_property
    def _two_steps(self) -> tuple[int, int, int]:
        """The chances of a flip, of a 1 for a kept 0, and for a kept 1; rounded towards noise."""
        set_bit = chance(Fraction(self.q))
        return (
            chance_above(self._flip),
            min(chance_above(Fraction(self.p)), set_bit),
            set_bit,
        )

    @property
    def realised_epsilon(self) -> float:
        """The larger epsilon of one report drawn by `perturb`, and of one drawn in two steps."""
        if self.k == 1:
            return 0.0
        flip, unset_bit, set_bit = (Fraction(step, CERTAIN) for step in self._two_steps)
        other_bit, true_bit = _one_report(flip, unset_bit, set_bit)
        return max(super().realised_epsilon, bit_contrast(true_bit, other_bit))

    # What it does -------------------------------------------------------------------------------

    def permanent(self, codes: ArrayLike, rng: Seed = None, *, secure: bool = False) -> BitReports:
        """Return the permanent response of each code: to be kept by the client, never released.

        Parameters
        ----------
        codes
            Integers from 0 to k - 1.
        rng, secure
            As in `perturb`.
        """
        checked = self._codes(codes)
        source = randomness(rng, secure)
        kept = self._packed(len(checked), lambda rows: self._keep(checked[rows], source))
        return BitReports(self._kept_origin(), kept.words)

    def instantaneous(
        self, kept: BitReports, rng: Seed = None, *, secure: bool = False
    ) -> BitReports:
        """Return a fresh report of each permanent response, to be released.

        Parameters
        ----------
        kept
            What `permanent` returned.
        rng, secure
            As in `perturb`.
        """
        if not isinstance(kept, BitReports) or dict(kept.origin) != self._kept_origin():
            raise InputError(f"kept must be permanent responses of {self.describe()}")
        source = randomness(rng, secure)
        return self._packed(len(kept), lambda rows: self._release(kept[rows].bits(), source))

    def _kept_origin(self) -> dict[str, object]:
        return {**self.describe(), "mechanism": f"{self.name}-permanent"}

    def _keep(self, codes: Integers, source: Randomness) -> Booleans:
        bits = source.happens(self._two_steps[0], (len(codes), self.k))
        every = np.arange(len(codes))
        bits[every, codes] = ~bits[every, codes]
        return bits

    def _release(self, kept: Booleans, source: Randomness) -> Booleans:
        _, unset_bit, set_bit = self._two_steps
        as_unset, as_set = (source.happens(step, kept.shape) for step in (unset_bit, set_bit))
        return np.where(kept, as_set, as_unset)


def _one_report(flip: Fraction, unset: Fraction, kept: Fraction) -> tuple[Fraction, Fraction]:
    """Return the chance of an event for another value's bit, and for the true one's.

    The event has these chances where the permanent bit is 0, and where it is 1.
    """
    return flip * kept + (1 - flip) * unset, (1 - flip) * kept + flip * unset


def _power_below(base: Fraction, count: int) -> Fraction:
    """Return base^count, for a base from 0 to 1, rounded down."""
    if base in (0, 1):
        return base
    exponent = count * log_nearest(base)
    return Fraction(max(0.0, round_down(math.exp(exponent), int(-2 * exponent))))
