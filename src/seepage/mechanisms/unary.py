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
from seepage._core.arrays import Booleans, Integers
from seepage.mechanisms.exact_probabilities import (
    CERTAIN,
    chance,
    exp_below,
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
        """The probabilities p and q with which a unary bit is drawn: p rounded down, q
        up, to 2^-64.
        """
        true = Fraction(chance(self.true), CERTAIN)
        return true, min(Fraction(math.ceil(self.other * CERTAIN), CERTAIN), true)

    def draw(self, codes: Integers, source: Randomness) -> BitReports:
        """Return the unary code (one-hot vector) of each value, every bit perturbed."""
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
        """Set the probabilities of symmetric unary encoding (one-time RAPPOR)."""
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
