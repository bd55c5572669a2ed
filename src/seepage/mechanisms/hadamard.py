"""Hadamard response: splits of the alphabet by the rows of a Hadamard matrix.

Like local hashing it reports the value's side of a split, but the splits are few, and
known to all.
"""

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from seepage._core.arrays import Booleans, Floats, Integers
from seepage.mechanisms.exact_probabilities import exp_below, log_nearest
from seepage.mechanisms.randomness import Randomness
from seepage.mechanisms.reports import ValueReports
from seepage.mechanisms.transition_matrix import ListedMechanism
from seepage.mechanisms.two_level import MixtureMechanism


class HadamardResponse(ListedMechanism, MixtureMechanism):
    """Hadamard response: report one of K outputs, each of which supports half of the
    codes below K.

    K is the smallest power of 2 above k, and output y supports the values v for which v
    + 1 and y have an even number of common bits.  Each of the K/2 outputs that support
    the true value has probability 2 p / K, p = e^epsilon / (e^epsilon + 1), and each
    other output 2 (1 - p) / K [Acharya, Sun and Zhang 2019, the case of high privacy].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget of one report.

    Notes
    -----
    Any two values are supported independently, so estimates are those of any two-level
    mechanism with q = 1/2.  All values together are not: there are K sets rather than
    2^k, and the leakage is the largest ratio over these, O(m k K) for m target values,
    at most the bound.

    Examples
    --------
    >>> hadamard = HadamardResponse(5, 1.0)
    >>> hadamard.outputs, hadamard.epsilon, hadamard.bits
    (8, 1.0, 3.0)
    >>> import seepage as sp
    >>> channel = sp.load_pairs("adult").channel("sex", "race")
    >>> (
    ...     round(hadamard.leakage(channel).value, 4),
    ...     round(sp.BLH(5, 1.0).leakage(channel).value, 4),
    ... )
    (0.1027, 0.105)
    """

    name = "hadamard"
    likely_sets = None  # type: ignore[assignment]

    def __init__(self, k: int, epsilon: float) -> None:
        """Set the Hadamard matrix and the probabilities of a Hadamard response."""
        growth = exp_below(epsilon)
        super().__init__(k, growth / (growth + 1), Fraction(1, 2), epsilon=epsilon)
        self.outputs = 1 << self.k.bit_length()

    def draw(self, codes: Integers, source: Randomness) -> ValueReports:
        """Return a uniform Hadamard output for each value, changed to one that supports
        it if it is kept.
        """
        outputs = source.below(self.outputs, len(codes)).astype(np.int64)
        rows = codes + 1
        changed = source.happens(self.keep, len(codes)) & (
            np.bitwise_count(rows & outputs) % 2 > 0
        )
        outputs[changed] ^= (rows & -rows)[changed]
        return ValueReports.of(self.describe(), outputs, self.outputs)

    def supported(self, reports: ValueReports) -> Booleans:
        """Return which values each Hadamard report supports, shape (n, k)."""
        return self._sets[reports.below(self.outputs)]

    @cached_property
    def _sets(self) -> Booleans:
        """The values that each Hadamard output supports, outputs x k."""
        common = np.arange(self.outputs)[:, None] & np.arange(1, self.k + 1)
        return np.asarray(np.bitwise_count(common) % 2 == 0)

    @cached_property
    def _relative(self) -> Floats:
        """The contrast, or 0, by value and Hadamard output, less that of the first
        value, k x outputs.
        """
        excess = np.where(self._sets.T, self.contrast, 0.0)
        return np.asarray(excess - excess[0])

    @cached_property
    def _logarithms(self) -> tuple[float, float]:
        """The log-probabilities of a Hadamard output that supports the value, and of
        another.
        """
        inside = 2 * self.true / self.outputs
        outside = 2 * (1 - self.true) / self.outputs
        return log_nearest(inside), log_nearest(outside)

    def channel(self) -> Floats:
        """Return P(Hadamard output given value), k x outputs."""
        inside, outside = map(math.exp, self._logarithms)
        return np.where(self._sets.T, inside, outside)
