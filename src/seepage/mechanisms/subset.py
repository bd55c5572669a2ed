"""Subset selection: report a set of values that contains the true one more often than not."""

import itertools
import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.base import ROWS, PureMechanism
from seepage.mechanisms.exact_math import exp_below, log_above, log_nearest
from seepage.mechanisms.packed_bits import count_bits, guess_supported
from seepage.mechanisms.randomness import CERTAIN, Randomness, chance
from seepage.mechanisms.reports import BitReports

__all__ = ["SubsetSelection"]

MOST_CELLS = 1 << 22
"""The largest transition matrix that `channel` returns: 32 MB."""

KEYS = 1 << 19
"""Keys drawn at once, so that they fit the cache and memory does not grow."""

SHORT_KEYS_UP_TO = 1 << 12
"""Up to so many values keys have 16 bits: at most one report in 16 is drawn again."""


class SubsetSelection(PureMechanism):
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
    reports = BitReports

    def __init__(self, k: int, epsilon: float) -> None:
        super().__init__(k)
        self._stated = _checks.epsilon(epsilon)
        growth = exp_below(self._stated)
        self.size = max(1, math.floor(self.k / (growth + 1)))
        self._inside = self.size * growth / (self.size * growth + self.k - self.size)
        uniform = Fraction(self.size, self.k)
        self._force = chance((self._inside - uniform) / (1 - uniform)) if self.k > 1 else 0

    @cached_property
    def _probabilities(self) -> tuple[Fraction, Fraction]:
        """The probability of a subset under a value in it, and under another (for k > 1)."""
        chosen = math.comb(self.k - 1, self.size - 1)
        return self._inside / chosen, (1 - self._inside) / math.comb(self.k - 1, self.size)

    @cached_property
    def epsilon(self) -> float:
        """The privacy budget ln p (k - w) / ((1 - p) w), recomputed from p; 0 for one value."""
        if self.k == 1:
            return 0.0
        odds = self._inside / (1 - self._inside)
        return log_above(odds * Fraction(self.k - self.size, self.size))

    @property
    def realised_epsilon(self) -> float:
        """The log-ratio 1 + s k / ((1 - s) w) of what is really drawn."""
        forced = Fraction(self._force, CERTAIN)
        return log_above(1 + forced / (1 - forced) * Fraction(self.k, self.size))

    def describe(self) -> dict[str, Any]:
        """Return name, k and the stated epsilon; the size of the subsets follows from these."""
        return {"mechanism": self.name, "k": self.k, "epsilon": self._stated}

    @property
    def bits(self) -> float:
        """The size of one report: one bit a value, as it is sent."""
        return float(self.k)

    # What it does -------------------------------------------------------------------------------

    def _perturb(self, codes: Integers, source: Randomness) -> BitReports:
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
            pending = pending[_members(drawn) != self.size]
        return words

    def _keys(self, rows: int, source: Randomness) -> NDArray[np.unsignedinteger[Any]]:
        """Return a uniform key for each value, as many rows."""
        width = 2 if self.k <= SHORT_KEYS_UP_TO else 4
        octets = source.bytes(width * rows * self.k)
        return octets.view(f"<u{width}").reshape(rows, self.k).copy()

    @property
    def support(self) -> tuple[float, float]:
        """The probabilities p* = p and q* = (p (w - 1) + (1 - p) w) / (k - 1) = (w - p)/(k - 1)."""
        if self.k == 1:
            return 1.0, 0.0
        return float(self._inside), float((self.size - self._inside) / (self.k - 1))

    def tally(self, reports: BitReports) -> Floats:
        """Return in how many reports each value is."""
        return count_bits(reports.words, self.k).astype(np.float64)

    # What an adversary makes of it --------------------------------------------------------------

    def _infer(self, reports: BitReports, source: Randomness) -> Integers:
        """Return one of the reported values, each equally likely."""
        return guess_supported(reports.words, self.k, source)

    @cached_property
    def hit_rate(self) -> float:
        """The rate a = p / w [theory: The paper's attacker]."""
        return float(self._inside / self.size)

    @property
    def guess_contrast(self) -> float:
        """The logarithm of a (k - 1)/(1 - a) = p (k - 1)/(w - p)."""
        if self.k == 1:
            return 0.0
        return log_above(self._inside * (self.k - 1) / (self.size - self._inside))

    def channel(self) -> Floats:
        """Return P(subset given value), one column for each subset of w values.

        Columns are in the order of `itertools.combinations(range(k), w)`: (0, 1), (0, 2), ...
        """
        if math.comb(self.k, self.size) * self.k > MOST_CELLS:
            return super().channel()
        subsets = list(itertools.combinations(range(self.k), self.size))
        inside, outside = map(float, self._probabilities) if self.k > 1 else (1.0, 0.0)
        matrix = np.full((self.k, len(subsets)), outside)
        matrix[np.array(subsets).T, np.arange(len(subsets))] = inside
        return matrix

    def log_likelihood(self, reports: BitReports) -> Floats:
        """Return ln p / C(k-1, w-1) for the values in it, ln (1-p) / C(k-1, w) for others."""
        self._own(reports)
        if self.k == 1:
            return np.zeros((len(reports), 1))
        inside, outside = map(log_nearest, self._probabilities)
        return np.where(reports.bits(), inside, outside)

    @property
    def likely_sets(self) -> LikelySets:
        """Every set of w values [theory: Whole reports]."""
        return LikelySets("subsets", self.epsilon, self.size)

    def witness_report(self, likely: Booleans) -> BitReports:
        """Return the report of exactly these w values."""
        members = np.asarray(likely, dtype=np.bool_)
        if members.shape != (self.k,) or members.sum() != self.size:
            raise InputError(
                f"a report of {self.name} makes exactly {self.size} of {self.k} values likely"
            )
        return BitReports(self.describe(), BitReports.pack(members[None]))

    def _own(self, reports: Any) -> None:
        super()._own(reports)
        words, width, used = reports.words, -(-self.k // 64), self.k % 64
        outside = used and words.shape[1] == width and (words[:, -1] >> np.uint64(used)).any()
        if words.shape[1] != width or outside or (_members(words) != self.size).any():
            raise InputError(f"reports must hold exactly {self.size} of {self.k} values each")


def _members(words: NDArray[np.uint64]) -> Integers:
    """Return the number of set bits of each row."""
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.int64))
