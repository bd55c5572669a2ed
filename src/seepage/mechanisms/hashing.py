"""The hash functions of local hashing: one for each 64-bit seed, into g buckets.

For seed s and value v, in arithmetic modulo 2^64,

    x = s + (v + 1) STEP,   then twice:  x = (x xor x >> shift) factor,
    bucket = floor(x g / 2^64), from the upper 48 bits of x.

These are the steps of SplitMix64 [Steele, Lea and Flood 2014] without its last shift, which only
concerns lower bits: a seed's values are hashed to the successive outputs of a tested generator
that starts at the seed.

* One value: s -> x is a bijection, so over uniform seeds x is exactly uniform, and a bucket has
  probability 1/g to within 2^-48, exactly if g is a power of 2.  (This bias reaches only the
  estimate, far below any standard error; the privacy of local hashing does not rest on the hash.)
* Several values: independent as far as tests can tell, for pairs and for whole splits of the
  alphabet.  Multiply-shift hashing has a proof for pairs, but it can split successive values in a
  few ways only; the attack's hit rate and the leakage need all splits.

The definition is fixed: reports in files are read back by it.

Local hashing: hash the value into one of g buckets, and report the bucket noisily.

Each person draws a hash function (its seed) at random, hashes the value with it, and reports the
seed together with the bucket, perturbed by randomised response over the g buckets: the right one
with probability p = e^epsilon / (e^epsilon + g - 1) [Wang et al. 2017; paper, Appendix A].  The
report makes the values that fall into the reported bucket likelier than the others by epsilon.

With one value (k = 1) a report says nothing: epsilon is 0 and the frequency is known to be 1.
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.mechanisms.exact_probabilities import exp_below, log_nearest
from seepage.mechanisms.randomness import ROWS, Randomness
from seepage.mechanisms.reports import DamagedReportError, HashReports
from seepage.mechanisms.two_level import MixtureMechanism

MAX_BUCKETS = 1 << 16
"""The largest g: the product of g and 48 bits still fits a 64-bit word."""

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)

MAX_SEEDS = 1 << 22
"""Seeds tried in search of a witness, about a tenth of a second."""


def bucket_of(seeds: ArrayLike, values: ArrayLike, buckets: int) -> Words:
    """Return the bucket of each value under each seed's hash function.

    Parameters
    ----------
    seeds, values
        Unsigned 64-bit seeds and codes of values, broadcast against each other.
    buckets
        The number g of buckets, from 2 to 2^16.

    Examples
    --------
    >>> bucket_of([[1], [2]], [0, 1, 2, 3, 4, 5], 3).tolist()
    [[1, 2, 2, 1, 1, 2], [1, 2, 1, 2, 0, 1]]
    """
    mixed = _mix(np.asarray(seeds, dtype=np.uint64), np.asarray(values, dtype=np.uint64))
    return (mixed >> np.uint64(16)) * np.uint64(buckets) >> np.uint64(48)


def hashes_to(seeds: Words, reported: ArrayLike, k: int, buckets: int) -> Booleans:
    """Return which of the values 0 to k - 1 fall into each seed's reported bucket.

    One row per seed, one column per value; about 4 nanoseconds per cell.  A bucket is an interval
    of x, so that one subtraction and comparison replace the product with g.

    Examples
    --------
    >>> hashes_to(np.array([1, 2], dtype=np.uint64), [1, 2], 6, 3).astype(int).tolist()
    [[1, 0, 0, 1, 1, 0], [0, 1, 0, 1, 0, 0]]
    """
    rows = np.asarray(reported, dtype=np.uint64)
    begin, end = _first_of(rows, buckets), _first_of(rows + np.uint64(1), buckets)
    mixed = _mix(seeds[:, None], np.arange(k, dtype=np.uint64))
    mixed -= begin[:, None]
    return np.asarray(mixed < (end - begin)[:, None])


def _mix(seeds: Words, values: Words) -> Words:
    mixed = np.atleast_1d(seeds) + (np.atleast_1d(values) + np.uint64(1)) * _STEP
    for shift, factor in _ROUNDS:
        mixed ^= mixed >> shift
        mixed *= factor
    return mixed


def _first_of(bucket: Words, buckets: int) -> Words:
    """Return the least x of a bucket, ceil(b 2^48 / g) 2^16, modulo 2^64: 0 for b = g."""
    upper = (bucket << np.uint64(48)) + np.uint64(buckets - 1)
    return upper // np.uint64(buckets) << np.uint64(16)


class LocalHashing(MixtureMechanism):
    """The base of local hashing: all that follows from epsilon and the number of buckets.

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget of one report.
    buckets
        The number g, from 2 to 2^16.

    Notes
    -----
    `leakage` takes every set of values for a possible likely set, which holds for a hash family
    that contains every split of the alphabet [theory: Whole reports].  Ours has 2^64 functions:
    while a split has a fair chance among them (about 60 values for g = 2, fewer for more buckets)
    the leakage is exact, beyond it is an upper bound, never too low.  `witness_report` finds a seed
    for a split if that takes about four million tries (some 20 values for g = 2); else None.

    `perturb` is O(1) per report; `estimate` and `infer` hash all k values for each, O(n k).
    """

    reports: ClassVar[type[HashReports]] = HashReports

    def __init__(self, k: int, epsilon: float, buckets: int) -> None:
        self.buckets = _checks.integer(buckets, "buckets", 2, MAX_BUCKETS)
        growth = exp_below(epsilon)
        right = growth / (growth + self.buckets - 1)
        super().__init__(k, right, Fraction(1, self.buckets), epsilon=epsilon)

    @property
    def blind(self) -> Fraction:
        """The probability 1/g that a bucket drawn without the value holds it."""
        return self.other

    @property
    def bits(self) -> float:
        """The 64 bits of the seed, and the bucket's."""
        return float(64 + (self.buckets - 1).bit_length())

    def draw(self, codes: Integers, source: Randomness) -> HashReports:
        """Return a random seed for each value, and its bucket with noise."""
        seeds = np.empty(len(codes), dtype=np.uint64)
        reported = np.empty(len(codes), dtype=np.min_scalar_type(self.buckets - 1))
        for begin in range(0, len(codes), ROWS):
            rows = slice(begin, min(begin + ROWS, len(codes)))
            seeds[rows] = source.words(len(codes[rows]))
            reported[rows] = bucket_of(seeds[rows], codes[rows], self.buckets)
            redrawn = begin + np.flatnonzero(~source.happens(self.keep, len(codes[rows])))
            reported[redrawn] = source.below(self.buckets, len(redrawn))
        return HashReports(self.describe(), seeds, reported)

    def supported(self, reports: HashReports) -> Booleans:
        """Return which values fall into each report's bucket."""
        return hashes_to(reports.seeds, reports.buckets, self.k, self.buckets)

    @cached_property
    def hit_rate(self) -> float:
        """The rate a = p (g/k) (1 - (1-1/g)^k) + (1-p) (1-1/g)^(k-1) / k, summed directly."""
        away = math.log1p(-1 / self.buckets)
        chosen = -math.expm1(self.k * away) * self.buckets / self.k
        alone = math.exp((self.k - 1) * away) / self.k
        return float(self.true) * chosen + float(1 - self.true) * alone

    @cached_property
    def _logarithms(self) -> tuple[float, float]:
        """The logarithms of the probabilities of the right bucket and of each other."""
        return log_nearest(self.true), log_nearest((1 - self.true) / (self.buckets - 1))

    def log_likelihood(self, reports: HashReports) -> Floats:
        """Return ln P(bucket given the seed and u)."""
        self.check_reports(reports)
        return np.where(self.supported(reports), *self._logarithms)

    def witness_report(self, likely: Booleans) -> HashReports | None:
        """Return a report whose bucket holds exactly these values, or None if none is in reach.

        Seeds are tried in turn, at most `MAX_SEEDS`, and none where success is unlikely.
        """
        wanted = np.asarray(likely, dtype=np.bool_)
        if self._tries_needed(int(wanted.sum())) > MAX_SEEDS:
            return None
        for begin in range(0, MAX_SEEDS, ROWS):
            seeds = np.arange(begin, begin + ROWS, dtype=np.uint64)
            found = self._splitting(seeds, wanted)
            if found is not None:
                return found
        return None

    def _tries_needed(self, size: int) -> float:
        """Return the expected number of seeds to try for a set of this size."""
        outside = (self.k - size) * math.log1p(-1 / self.buckets)
        together = -max(0, size - 1) * math.log(self.buckets)
        return math.exp(min(700.0, -outside - together))

    def _splitting(self, seeds: Words, wanted: Booleans) -> HashReports | None:
        """Return the report of the first of these seeds that puts exactly the wanted together."""
        inside, outside = np.flatnonzero(wanted), np.flatnonzero(~wanted)
        if len(inside):
            buckets = bucket_of(seeds, inside[0], self.buckets)
        else:
            buckets = np.zeros(len(seeds), dtype=np.uint64)
        for value in (*inside[1:], *outside):
            agrees = (bucket_of(seeds, value, self.buckets) == buckets) == wanted[value]
            seeds, buckets = seeds[agrees], buckets[agrees]
        if not len(seeds):
            return None
        named = buckets[:1].astype(np.min_scalar_type(self.buckets - 1))
        return HashReports(self.describe(), seeds[:1], named)

    def check_reports(self, reports: Any) -> None:
        """Raise where reports are not of this very mechanism, or name another bucket."""
        super().check_reports(reports)
        if len(reports) and reports.buckets.max() >= self.buckets:
            rule = f"reports must name buckets below {self.buckets}"
            raise DamagedReportError(rule, reports.buckets >= self.buckets)


class BLH(LocalHashing):
    """Binary local hashing: two buckets [Bassily and Smith 2015; Wang et al. 2017].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget of one report.

    Examples
    --------
    >>> blh = BLH(6, 2.0)
    >>> blh.buckets, blh.epsilon
    (2, 2.0)
    >>> blh.leakage([[0.5, 0.5, 0, 0, 0, 0], [0, 0, 0.5, 0.5, 0, 0]]).value
    2.0
    """

    name = "blh"

    def __init__(self, k: int, epsilon: float) -> None:
        super().__init__(k, epsilon, 2)


class OLH(LocalHashing):
    """Optimised local hashing: g = round(e^epsilon) + 1 buckets [Wang et al. 2017].

    That g makes the variance of rare values least.  From epsilon 11.1 on it stays at 2^16, more
    than which a report has no place for; epsilon is exact whatever g is.

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget of one report.

    Examples
    --------
    >>> olh = OLH(100, 1.0)
    >>> olh.buckets, olh.epsilon, olh.bits
    (4, 1.0, 66.0)
    >>> reports = olh.perturb([7] * 20_000, rng=1)
    >>> int(olh.estimate(reports).frequencies.argmax())
    7
    """

    name = "olh"

    def __init__(self, k: int, epsilon: float) -> None:
        growth = math.exp(min(_checks.epsilon(epsilon), math.log(MAX_BUCKETS)))
        super().__init__(k, epsilon, min(round(growth) + 1, MAX_BUCKETS))
