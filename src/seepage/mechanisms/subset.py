"""Subset selection: report a set of values that contains the true one more often than not."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.exact_math import exp_below
from seepage.mechanisms.randomness import CERTAIN, ROWS, Randomness, chance
from seepage.mechanisms.reports import BitReports
from seepage.mechanisms.two_level import SetMechanism, members

MOST_CELLS = 1 << 22
"""The largest transition matrix that `channel` returns: 32 MB."""

KEYS = 1 << 19
"""Keys drawn at once, so that they fit the cache and memory does not grow."""

SHORT_KEYS_UP_TO = 1 << 12
"""Up to so many values keys have 16 bits: at most one report in 16 is drawn again."""


class SubsetSelection(SetMechanism):
    """Report a random subset of w = max(1, floor(k / (e^eps + 1))) values.

    The true value is in it with probability p = w e^eps / (w e^eps + k - w); the other members
    are uniform among the other values [paper, Appendix A].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The privacy budget.

    Notes
    -----
    A subset S has probability p / C(k-1, w-1) under the values in it and (1-p) / C(k-1, w) under
    the others; the ratio of these is e^eps.

    Drawn as a mixture: with chance s the true value is put in and w - 1 of the others chosen,
    else w of all values, where s = w (e^eps - 1) / (k + w (e^eps - 1)).  The chance is a
    threshold out of 2^64, rounded down, so the ratio 1 + s k / ((1 - s) w) can only become
    smaller; at epsilon 0 it is exactly 1.

    Every subset of its size is exactly equally likely: each value gets a uniform key and the w
    smallest keys win.  A draw where the w-th smallest key is not the only one of its size has
    too many winners and is made again, with new keys.  A true value that is put in has key 0; the
    keys of the others, and whether a draw is made again, do not change in distribution when those
    values swap places, so what is left is still uniform.

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
        stated, values = _checks.epsilon(epsilon), _checks.integer(k, "k", 1)
        growth = exp_below(stated)
        size = max(1, math.floor(values / (growth + 1)))
        inside = size * growth / (size * growth + values - size)
        super().__init__(k, inside, size=size, epsilon=stated)
        uniform = Fraction(size, values)
        self._force = chance((inside - uniform) / (1 - uniform)) if values > 1 else 0

    @property
    def drawn(self) -> tuple[Fraction, Fraction]:
        """The probabilities p and q of what is drawn."""
        forced = Fraction(self._force, CERTAIN)
        true = forced + (1 - forced) * Fraction(self.size, self.k)
        return true, (self.size - true) / max(1, self.k - 1)

    @property
    def likely_sets(self) -> LikelySets:
        """Every set of w values [theory: Whole reports]."""
        return LikelySets("subsets", self.contrast, self.size)

    def draw(self, codes: Integers, source: Randomness) -> BitReports:
        """Return uniform subsets, the true value forced into some of them."""
        words = np.empty((len(codes), -(-self.k // 64)), dtype=np.uint64)
        rows = min(ROWS, 1 << max(0, KEYS.bit_length() - self.k.bit_length()))
        for begin in range(0, len(codes), rows):
            block = codes[begin : begin + rows]
            forced = source.happens(self._force, len(block))
            words[begin : begin + rows] = self._subsets(block, forced, source)
        return BitReports(self.describe(), words)

    def _subsets(self, codes: Integers, forced: Booleans, source: Randomness) -> NDArray[np.uint64]:
        """Return uniform subsets, those of forced rows among the subsets with the row's code."""
        words = np.empty((len(codes), -(-self.k // 64)), dtype=np.uint64)
        chosen = np.zeros((len(codes), 64 * words.shape[1]), dtype=np.bool_)
        pending = np.arange(len(codes))
        while len(pending):
            keys = self._keys(len(pending), source)
            holders = np.flatnonzero(forced[pending])
            keys[holders, codes[pending[holders]]] = 0
            last = np.partition(keys, self.size - 1, axis=1)[:, self.size - 1 : self.size]
            np.less_equal(keys, last, out=chosen[: len(pending), : self.k])
            drawn = BitReports.pack(chosen[: len(pending)])
            words[pending] = drawn
            pending = pending[members(drawn) != self.size]
        return words

    def _keys(self, rows: int, source: Randomness) -> NDArray[np.unsignedinteger[Any]]:
        """Return a uniform key for each value, as many rows."""
        width = 2 if self.k <= SHORT_KEYS_UP_TO else 4
        octets = source.bytes(width * rows * self.k)
        return octets.view(f"<u{width}").reshape(rows, self.k).copy()

    def channel(self) -> Floats:
        """Return P(subset given value), one column for each subset of w values.

        Columns are in the order of `itertools.combinations(range(k), w)`: (0, 1), (0, 2), ...
        """
        if math.comb(self.k, self.size) * self.k > MOST_CELLS:
            return super().channel()
        subsets = list(itertools.combinations(range(self.k), self.size))
        inside = float(self.true / math.comb(self.k - 1, self.size - 1))
        outside = float((1 - self.true) / math.comb(self.k - 1, self.size)) if self.k > 1 else 0.0
        matrix = np.full((self.k, len(subsets)), outside)
        matrix[np.array(subsets).T, np.arange(len(subsets))] = inside
        return matrix
