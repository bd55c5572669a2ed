"""Local hashing: report a hash function and the perturbed bucket of the value.

Each person draws a hash function (a 64-bit seed) at random, hashes the value with it
into one of g buckets, and reports the seed together with the bucket, perturbed by
randomised response over the g buckets: the true one with probability p = e^epsilon /
(e^epsilon + g - 1) [Wang et al. 2017; paper, Appendix A].  The report makes the values
of the reported bucket likelier than the others by epsilon.  For k = 1 a report carries
no information: epsilon is 0 and the frequency is 1.

The hash function of seed s maps value v, in arithmetic modulo 2^64, to

    x = s + (v + 1) STEP,   then twice:  x = (x xor x >> shift) factor,
    bucket = floor(x g / 2^64), from the upper 48 bits of x.

These are the steps of SplitMix64 [Steele, Lea and Flood 2014] without its last shift,
which affects lower bits only: the values of a seed are hashed to the successive outputs
of a tested generator that starts at the seed.

* One value: s -> x is a bijection, so over uniform seeds x is exactly uniform, and a
  bucket has probability 1/g to within 2^-48, exactly if g is a power of 2.  (This bias
  affects only the estimate, far below any standard error; privacy does not depend on
  the hash.)
* Several values: tests detect no dependence, for pairs and for splits of the whole
  alphabet. Multiply-shift hashing has a proof for pairs, but it can split successive
  values in few ways only; the attack's hit rate and the leakage need all splits.

The definition is fixed: report files depend on it.
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._core import checks
from seepage._core.arrays import Booleans, Integers
from seepage.mechanisms.exact_probabilities import exp_below, log_nearest
from seepage.mechanisms.randomness import ROWS, Randomness
from seepage.mechanisms.reports import DamagedReportError, HashReports
from seepage.mechanisms.two_level import MixtureMechanism

MAX_BUCKETS = 1 << 16
"""Largest g: a product of g and a 48-bit integer must fit a 64-bit word."""


Words = NDArray[np.uint64]


_STEP = np.uint64(0x9E3779B97F4A7C15)


_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


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
    codes = np.atleast_1d(np.asarray(values, dtype=np.uint64))
    mixed = (
        np.atleast_1d(np.asarray(seeds, dtype=np.uint64))
        + (codes + np.uint64(1)) * _STEP
    )
    for shift, factor in _ROUNDS:
        mixed ^= mixed >> shift
        mixed *= factor
    mixed >>= np.uint64(16)
    mixed *= np.uint64(buckets)
    mixed >>= np.uint64(48)
    return mixed


class LocalHashing(MixtureMechanism):
    """Base class of local hashing, given epsilon and the number of buckets.

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
    `leakage` takes every set of values as a possible likely set, which holds for a hash
    family that contains every split of the alphabet [theory: Whole reports].  This one
    has 2^64 functions: up to about 60 values for g = 2, fewer for more buckets, it is
    likely to contain every split and the leakage is exact; beyond, it is an upper
    bound.  A witness has the set, and no seed of it.

    `perturb` is O(1) per report; `estimate` and `infer` hash all k values for each
    report, O(n k).
    """

    reports: ClassVar[type[HashReports]] = HashReports

    def __init__(self, k: int, epsilon: float, buckets: int) -> None:
        """Set the number of buckets that values are hashed to."""
        self.buckets = checks.integer(buckets, "buckets", 2, MAX_BUCKETS)
        growth = exp_below(epsilon)
        true = growth / (growth + self.buckets - 1)
        super().__init__(k, true, Fraction(1, self.buckets), epsilon=epsilon)

    @property
    def bits(self) -> float:
        """The size of one report of local hashing: 64 bits of the seed plus those of
        the bucket.
        """
        return float(64 + (self.buckets - 1).bit_length())

    def draw(self, codes: Integers, source: Randomness) -> HashReports:
        """Return a random hash seed for each value, and its perturbed bucket."""
        seeds = np.empty(len(codes), dtype=np.uint64)
        reported = np.empty(len(codes), dtype=np.min_scalar_type(self.buckets - 1))
        for start in range(0, len(codes), ROWS):
            rows = slice(start, min(start + ROWS, len(codes)))
            seeds[rows] = source.words(len(codes[rows]))
            reported[rows] = bucket_of(seeds[rows], codes[rows], self.buckets)
            replaced = start + np.flatnonzero(
                ~source.happens(self.keep, len(codes[rows]))
            )
            reported[replaced] = source.below(self.buckets, len(replaced))
        return HashReports(self.describe(), seeds, reported)

    def supported(self, reports: HashReports) -> Booleans:
        """Return the values that hash to each report's bucket, shape (n, k)."""
        hashed = bucket_of(reports.seeds[:, None], np.arange(self.k), self.buckets)
        return np.asarray(hashed == reports.buckets[:, None])

    @cached_property
    def _logarithms(self) -> tuple[float, float]:
        """The log-probabilities of the true bucket of a hash and of each other
        bucket.
        """
        return log_nearest(self.true), log_nearest((1 - self.true) / (self.buckets - 1))

    def check_reports(self, reports: Any) -> None:
        """Raise where reports are not of this local hashing, or a bucket is not below
        g.
        """
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
        """Hash to 2 buckets at a budget (binary local hashing)."""
        super().__init__(k, epsilon, 2)


class OLH(LocalHashing):
    """Optimised local hashing: g = round(e^epsilon) + 1 buckets [Wang et al. 2017].

    That g minimises the variance of rare values.  From epsilon 11.1 on it is 2^16, the
    largest that a report can hold; epsilon is exact for every g.

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
        """Set the number of buckets of least variance (optimal local hashing)."""
        growth = math.exp(min(checks.epsilon(epsilon), math.log(MAX_BUCKETS)))
        super().__init__(k, epsilon, min(round(growth) + 1, MAX_BUCKETS))
