"""Subset selection: report a random set of w values.

It is likelier to contain the true value; for w = 1 it is GRR.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Booleans, Integers
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.exact_probabilities import exp_below
from seepage.mechanisms.randomness import ROWS, Randomness
from seepage.mechanisms.reports import BitReports
from seepage.mechanisms.two_level import MixtureMechanism, SetMechanism

KEYS = 1 << 19
"""Random keys per block, so that they fit the cache."""


MAX_SHORT_KEYS = 1 << 12
"""Up to this many values, keys have 16 bits: at most one report in 16 is rejected."""


TIE_TOLERANCE = 1e-9
"""Relative difference up to which two variances are tied."""


class SubsetSelection(MixtureMechanism, SetMechanism):
    """Report a random subset of w = max(1, floor(k / (e^eps + 1))) values.

    The true value is in it with probability p = w e^eps / (w e^eps + k - w); the other
    members are uniform among the other values [paper, Appendix A].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The privacy budget.

    Notes
    -----
    A subset S has probability p / C(k-1, w-1) under the values in it and (1-p) / C(k-1,
    w) under the others; the ratio of these is e^eps.

    Drawn as a mixture: with probability s the true value and a uniform subset of w - 1
    others, else a uniform subset of w of all values, where s = w (e^eps - 1) / (k + w
    (e^eps - 1)).

    Every subset of its size is exactly equally likely: each value gets a uniform key
    and the values with the w smallest keys are chosen.  Where the w-th smallest key is
    tied, more than w values would be chosen; the draw is rejected and repeated with new
    keys.  A true value that is forced in has key 0.  The joint distribution of the
    other keys and of the rejection is exchangeable in the other values, so the accepted
    subset is still uniform.

    Examples
    --------
    >>> mechanism = SubsetSelection(16, epsilon=1.0)
    >>> mechanism.size, round(mechanism.hit_rate, 4), mechanism.epsilon
    (4, 0.1188, 1.0)
    >>> reports = mechanism.perturb([0, 1, 2, 3] * 5000, rng=7)
    >>> bool(abs(mechanism.estimate(reports).frequencies[:4] - 0.25).max() < 0.05)
    True
    """

    name = "ss"
    size: int

    def __init__(self, k: int, epsilon: float) -> None:
        """Set the size and the probabilities of a subset selection."""
        growth = exp_below(epsilon)
        values = checks.integer(k, "k", 1)
        size = max(1, math.floor(values / (growth + 1)))
        inside = size * growth / (size * growth + values - size)
        super().__init__(k, inside, size=size, epsilon=epsilon)

    def draw(self, codes: Integers, source: Randomness) -> BitReports:
        """Return uniform subsets of values; the true value is selected with probability
        s.
        """
        words = np.empty((len(codes), -(-self.k // 64)), dtype=np.uint64)
        rows = min(ROWS, 1 << max(0, KEYS.bit_length() - self.k.bit_length()))
        for start in range(0, len(codes), rows):
            block = codes[start : start + rows]
            forced = source.happens(self.keep, len(block))
            words[start : start + rows] = self._subsets(block, forced, source)
        return BitReports(self.describe(), words)

    def _subsets(
        self, codes: Integers, forced: Booleans, source: Randomness
    ) -> NDArray[np.uint64]:
        """Return uniform subsets of values as packed bits; a forced row's subset
        contains its code.
        """
        words = np.empty((len(codes), -(-self.k // 64)), dtype=np.uint64)
        inside = np.zeros((len(codes), 64 * words.shape[1]), dtype=np.bool_)
        pending = np.arange(len(codes))
        while len(pending):
            keys = self._keys(len(pending), source)
            forced_rows = np.flatnonzero(forced[pending])
            keys[forced_rows, codes[pending[forced_rows]]] = 0
            largest = np.partition(keys, self.size - 1, axis=1)[
                :, self.size - 1 : self.size
            ]
            np.less_equal(keys, largest, out=inside[: len(pending), : self.k])
            subsets = BitReports.pack(inside[: len(pending)])
            words[pending] = subsets
            pending = pending[BitReports.set_sizes(subsets) != self.size]
        return words

    def _keys(self, rows: int, source: Randomness) -> NDArray[np.unsignedinteger[Any]]:
        """Return the uniform keys that select subsets, of 16 or 32 bits, shape (rows,
        k).
        """
        width = 2 if self.k <= MAX_SHORT_KEYS else 4
        octets = source.bytes(width * rows * self.k)
        return octets.view(f"<u{width}").reshape(rows, self.k).copy()


def best_mechanism(k: int, epsilon: float) -> GRR | SubsetSelection:
    """Return GRR or subset selection, the pure mechanism with the lowest variance.

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget.

    Notes
    -----
    For every k and epsilon one of the two has a lower variance than all other pure
    mechanisms of this package.  They are compared by `variance(1, 1/k)`: variances are
    affine in the frequency, so this is the mean over the k values whatever their
    distribution.  Ties go to GRR, whose reports are shorter.

    Examples
    --------
    >>> [best_mechanism(k, 1.0).name for k in (1, 2, 4, 100)]
    ['grr', 'grr', 'grr', 'ss']
    """
    direct = GRR(k, epsilon)
    subsets = SubsetSelection(k, epsilon)
    threshold = direct.variance(1, 1 / k) * (1 - TIE_TOLERANCE)
    return subsets if subsets.variance(1, 1 / k) < threshold else direct
