"""Two-level mechanisms: given a report, each value is either likely or unlikely.

A report of a two-level (staircase) mechanism [Kairouz et al. 2014] supports a set S of
values: it has one probability under every value in S, and a smaller one under every
other value.  Its privacy, its estimates and the paper's attack depend only on two
probabilities,
    p = P(true value in S),   q = P(another given value in S),

kept as exact fractions, and on whether S has a fixed size or may be any set.
"""

import itertools
import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_probabilities import (
    CERTAIN,
    chance,
    exp_below,
    float_above,
    log_above,
    log_nearest,
)
from seepage.mechanisms.randomness import Randomness, guess_supported
from seepage.mechanisms.reports import BitReports, DamagedReportError, count_bits

MAX_MATRIX_CELLS = 1 << 24
"""Cells of the largest transition matrix that `channel` returns: 128 MB; a quarter for
w > 1."""


CELLS = 1 << 15
"""Set memberships per block, so that they stay in the cache."""


class TwoLevelMechanism(Mechanism):
    """A mechanism whose report is a set of supported values.

    A subclass defines `name`, `reports`, a constructor `(k, epsilon)` that passes the
    exact probabilities on, `draw` and `supported`; also `drawn` where it draws other
    probabilities than the stated ones.

    Parameters
    ----------
    k
        The alphabet size.
    true, other
        The probabilities p and q that a report supports the true value, and another
        given value, 0 < q <= p < 1.  Other values are supported independently of each
        other.
    size
        The number w of values in every set, if it is fixed; given whether the true
        value is in it, all sets of that size are then equally likely, and q = (w -
        p)/(k - 1) is implied.
    parameters
        The stated parameters, as for `Mechanism`.

    Notes
    -----
    A set that supports u and not v is likelier under u than under v by the contrast

        p (1 - q) / (q (1 - p)),   or   p (k - w) / ((1 - p) w)   for sets of w values.

    With C_v the number of reports that support v, the unbiased frequency is
    (C_v / n - q) / (p - q) [Wang et al. 2017, "pure" protocols].
    """

    def __init__(
        self,
        k: int,
        true: Fraction,
        other: Fraction | None = None,
        *,
        size: int | None = None,
        **parameters: Any,
    ) -> None:
        """Set the probabilities p and q of the two levels."""
        super().__init__(k, **parameters)
        self.size = size
        if size is not None:
            other = self._other_probability(true, size)
        assert other is not None
        self.true = Fraction(true)
        self.other = Fraction(other)

    def _other_probability(self, true: Fraction, size: int) -> Fraction:
        """Return the lower level q = (w - p)/(k - 1) of sets of w values."""
        return (size - true) / max(1, self.k - 1)

    # Privacy --------------------------------------------------------------------------

    @property
    def drawn(self) -> tuple[Fraction, Fraction]:
        """The two levels p and q that are drawn, from the integer thresholds."""
        return self.true, self.other

    @cached_property
    def contrast(self) -> float:
        """The largest log-likelihood ratio between the two levels, rounded up; 0 for
        one value.
        """
        return log_above(self.likelihood_ratio(self.true, self.other))

    @cached_property
    def epsilon(self) -> float:
        """The privacy budget, recomputed from the two levels p and q and rounded up; 0
        for one value.
        """
        return self._epsilon_of(self.true, self.other)

    @property
    def realised_epsilon(self) -> float:
        """The epsilon of the two levels that are drawn (integer thresholds), rounded
        up.
        """
        return self._epsilon_of(*self.drawn)

    def _epsilon_of(self, true: Fraction, other: Fraction) -> float:
        """Return the epsilon of two levels p and q, rounded up."""
        return log_above(self.likelihood_ratio(true, other))

    def likelihood_ratio(self, true: Fraction, other: Fraction) -> Fraction:
        """Return the ratio of the two levels of a report's likelihood: under a
        supported and another value.
        """
        if self.k == 1:
            return Fraction(1)
        if self.size is not None:
            return true * (self.k - self.size) / ((1 - true) * self.size)
        if true <= other:
            return Fraction(1)
        return true * (1 - other) / (other * (1 - true))

    @property
    def likely_sets(self) -> LikelySets:
        """Family of admissible likely sets at two levels [theory: Whole reports]: of
        one size, or any.
        """
        if self.size is None:
            return LikelySets("all", self.contrast)
        if self.size == 1:
            return LikelySets("singletons", self.contrast)
        return LikelySets("subsets", self.contrast, self.size)

    # Estimates ------------------------------------------------------------------------

    @property
    def support(self) -> tuple[float, float]:
        """The two levels p and q; with one value, every report supports it."""
        if self.k == 1:
            return 1.0, 0.0
        return float(self.true), float(self.other)

    @property
    def one_hot_map(self) -> tuple[float, float]:
        """(p - q, q) for two levels p and q."""
        true, other = self.support
        return true - other, other

    @abstractmethod
    def supported(self, reports: Any) -> Booleans:
        """Return which values each two-level report supports: one row per report, one
        column per value.

        Examples
        --------
        >>> import seepage as sp
        >>> grr = sp.GRR(3, 50.0)
        >>> grr.supported(grr.perturb([2, 0], rng=1)).astype(int).tolist()
        [[0, 0, 1], [1, 0, 0]]
        """

    def contributions(self, reports: Any) -> Booleans:
        """Return the values that two-level reports support; with one value, every
        report supports it.
        """
        self.check_reports(reports)
        if self.k == 1:
            return np.ones((len(reports), 1), np.bool_)
        return self.supported(reports)

    def packed(self, reports: Any) -> NDArray[np.uint64]:
        """Return the values that two-level reports support as bits of 64-bit words,
        computed in blocks.
        """
        return BitReports.pack_blocks(self.k, reports, self.supported, CELLS)

    def tally(self, reports: Any) -> Floats:
        """Return how many two-level reports support each value."""
        self.check_reports(reports)
        if self.k == 1:
            return np.array([float(len(reports))])
        return count_bits(self.packed(reports), self.k).astype(np.float64)

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return (f p (1-p) + (1-f) q (1-q)) / (n (p - q)^2) for two levels p and q;
        infinite where p = q.
        """
        count = checks.integer(n, "n", 1, checks.MAX_RECORDS)
        true, other = self.support
        share = checks.probabilities(frequency, "frequency")
        spread = share * true * (1 - true) + (1 - share) * other * (1 - other)
        if true == other:
            return np.full(share.shape, np.inf)
        with np.errstate(over="ignore"):
            return np.asarray(spread / count / (true - other) / (true - other))

    # The adversary --------------------------------------------------------------------

    def guess(self, reports: Any, source: Randomness) -> Integers:
        """Return a value uniform among those that a two-level report supports, or among
        all if none is.
        """
        return guess_supported(self.supported(reports), source)

    @cached_property
    def miss_rate(self) -> float:
        """The rate 1 - a of two levels: the true value is supported but not chosen, or
        not supported.

        a = p / w for sets of w values [theory: The paper's attacker]; for any set,
        a = p (1 - (1-q)^k) / (k q) + (1-p) (1-q)^(k-1) / k.
        """
        if self.size is not None:
            return float(1 - self.true / self.size)
        no_other = math.exp((self.k - 1) * log_nearest(1 - self.other))
        unsupported = float(1 - self.true) * (1.0 - no_other / self.k)
        return unsupported + float(self.true) * _not_chosen(float(self.other), self.k)

    @property
    def hit_rate(self) -> float:
        """The rate a of two levels, exact to rounding for sets of one size."""
        if self.size is None:
            return 1.0 - self.miss_rate
        return float(self.true / self.size)

    def inferred_channel(self) -> Floats:
        """Return P(guess given value) of two levels, k x k: a on the diagonal, (1 -
        a)/(k - 1) elsewhere.

        Computed from the rounded `1 - hit_rate`, so that simulations reproduce bit for
        bit.
        """
        channel = np.full((self.k, self.k), (1.0 - self.hit_rate) / max(1, self.k - 1))
        np.fill_diagonal(channel, self.hit_rate)
        return channel

    @property
    def guess_contrast(self) -> float:
        """The log-ratio ln a (k - 1)/(1 - a) of a guess from two levels; ln p (k -
        1)/(w - p) for sets of w values.
        """
        if self.contrast == 0:
            return 0.0
        if self.size is None or self.k == 1:
            return super().guess_contrast
        return log_above(self.true * (self.k - 1) / (self.size - self.true))

    @cached_property
    def _logarithms(self) -> tuple[float, float]:
        """The log-likelihoods at two levels: ln p / q of a value in the set, ln (1-p) /
        (1-q) of another.

        For sets of w values the log-likelihoods ln p / C(k-1, w-1) and ln (1-p) /
        C(k-1, w).
        """
        p = self.true
        q = self.other
        if self.size is None:
            return log_nearest(p / q), log_nearest((1 - p) / (1 - q))
        if self.k == 1:
            return 0.0, 0.0
        inside = p / math.comb(self.k - 1, self.size - 1)
        outside = (1 - p) / math.comb(self.k - 1, self.size)
        return log_nearest(inside), log_nearest(outside)

    def channel(self) -> Floats:
        """Return P(two-level report given value) for sets of w values, one column for
        each set.

        Columns are in the order of `itertools.combinations(range(k), w)`: (0, 1), (0,
        2), ...
        """
        w = self.size
        if w is None:
            return super().channel()
        most_cells = MAX_MATRIX_CELLS if w == 1 else MAX_MATRIX_CELLS // 4
        if math.comb(self.k, w) * self.k > most_cells:
            return super().channel()
        sets = list(itertools.combinations(range(self.k), w))
        inside = float(self.true / math.comb(self.k - 1, w - 1))
        outside = 0.0
        if self.k > 1:
            outside = float((1 - self.true) / math.comb(self.k - 1, w))
        matrix = np.full((self.k, len(sets)), outside)
        matrix[np.array(sets).T, np.arange(len(sets))] = inside
        return matrix

    def log_likelihood(self, reports: Any) -> Floats:
        """Return ln P(two-level report given u), one row per report and one column per
        value u.
        """
        self.check_reports(reports)
        return np.where(self.supported(reports), *self._logarithms)


class MixtureMechanism(TwoLevelMechanism):
    """A two-level mechanism that uses the value with some probability, else draws
    without it.

    A report drawn without the value supports every value with probability
    `uniform_support`.

    Notes
    -----
    The probability is a threshold out of 2^64, rounded down, so that p can only
    decrease; where p equals `uniform_support` it is 0, and every value has exactly the
    same distribution of reports.
    """

    @property
    def uniform_support(self) -> Fraction:
        """The probability w / k of sets of w values of a two-level mixture; q where
        values are supported independently.
        """
        if self.size is None:
            return self.other
        return Fraction(self.size, self.k)

    @property
    def kept_share(self) -> Fraction:
        """The probability (p - b)/(1 - b) that a two-level mixture uses the value, b
        `uniform_support`.
        """
        base = self.uniform_support
        if base == 1:
            return Fraction(1)
        return (self.true - base) / (1 - base)

    @cached_property
    def keep(self) -> int:
        """The probability that a two-level mixture uses the value, as it is drawn: a
        threshold out of 2^64.
        """
        return chance(self.kept_share)

    @property
    def drawn(self) -> tuple[Fraction, Fraction]:
        """The two levels p and q that a mixture draws."""
        kept = Fraction(self.keep, CERTAIN)
        true = kept + (1 - kept) * self.uniform_support
        if self.size is None:
            return true, self.other
        return true, self._other_probability(true, self.size)


class RelaxedMechanism(TwoLevelMechanism):
    """A two-level mechanism with a stated delta: likelihood ratios may exceed
    e^epsilon.

    With a = P(A given u) and b = P(A given u') of the set A of reports that favours a
    value u most against another u', it is (epsilon, delta)-LDP where a - e^epsilon b <=
    delta.  A fixes m = `outputs_apart` independent outputs: a = p^m and b = q^m.
    """

    approximate = True
    outputs_apart: ClassVar[int]

    def _epsilon_of(self, true: Fraction, other: Fraction) -> float:
        """Return the smallest epsilon of two levels at the stated delta, ln (a - delta)
        / b, rounded up.
        """
        if self.k == 1:
            return 0.0
        excess = true**self.outputs_apart - Fraction(self.parameters["delta"])
        return log_above(max(Fraction(1), excess / other**self.outputs_apart))

    @property
    def delta(self) -> float:
        """The relaxation a - e^epsilon b of two levels at the stated epsilon, rounded
        up; 0 for one value.
        """
        return self.privacy_profile(self.parameters["epsilon"])

    def privacy_profile(self, epsilon: float) -> float:
        """Return a - e^epsilon b of two levels, rounded up, at least 0; 0 for one
        value.
        """
        factor = exp_below(checks.epsilon(epsilon))
        power = self.outputs_apart
        excess = self.true**power - factor * self.other**power
        if self.k == 1 or excess <= 0:
            return 0.0
        return float_above(excess)


class SetMechanism(TwoLevelMechanism):
    """A two-level mechanism whose report is the set itself, one bit per value.

    A subclass defines `name`, a constructor `(k, epsilon)` and `draw`, which returns
    `BitReports`.

    Examples
    --------
    >>> import seepage as sp
    >>> oue = sp.OUE(3, 20.0)
    >>> (
    ...     isinstance(oue, sp.SetMechanism),
    ...     oue.supported(oue.perturb([1], rng=1)).tolist(),
    ... )
    (True, [[False, True, False]])
    """

    reports = BitReports

    @property
    def bits(self) -> float:
        """The size of a two-level report that is a set: one bit per value."""
        return float(self.k)

    def supported(self, reports: BitReports) -> Booleans:
        """Return the two-level reports themselves, which are sets, shape (n, k)."""
        return reports.bits()

    def packed(self, reports: BitReports) -> NDArray[np.uint64]:
        """Return the two-level reports as they are: sets in bits of 64-bit words."""
        return reports.words

    def log_likelihood(self, reports: BitReports) -> Floats:
        """Return ln P(two-level report given u): for any set, bits are independent."""
        relative = super().log_likelihood(reports)
        if self.size is not None:
            return relative
        count = BitReports.set_sizes(reports.words)
        q_set = log_nearest(self.other)
        q_unset = log_nearest(1 - self.other)
        common = count * q_set + (self.k - count) * q_unset
        return np.asarray(relative + common[:, None])

    def report_of(self, likely: Booleans) -> BitReports:
        """Return the two-level report that is the set `likely` itself."""
        return BitReports(self.describe(), BitReports.pack(likely[None]))

    def check_reports(self, reports: Any) -> None:
        """Raise where reports are not of this two-level mechanism, or are not sets that
        it can report.
        """
        super().check_reports(reports)
        words = reports.words
        width = -(-self.k // 64)
        used = self.k % 64
        if words.shape[1] != width:
            raise InputError(
                f"reports of {self.k} values must have {width} words, got "
                f"{words.shape[1]}"
            )
        if used and (beyond := words[:, -1] >> np.uint64(used)).any():
            raise DamagedReportError(
                f"reports must set bits below {self.k} only", beyond > 0
            )
        if self.size is None:
            return
        wrong = BitReports.set_sizes(words) != self.size
        if wrong.any():
            rule = f"reports must hold exactly {self.size} of {self.k} values each"
            raise DamagedReportError(rule, wrong)


def _not_chosen(q: float, k: int) -> float:
    """Return the probability that of two-level reports the true value, supported, is
    not chosen among all supported.

    1 - (1 - (1-q)^k) / (k q) where k q > 1; else the same as the integral of 1 -
    (1-qx)^(k-1) over x from 0 to 1, by Gauss-Legendre quadrature, which keeps relative
    precision for small q.
    """
    if k * q > 1:
        return 1.0 + math.expm1(k * math.log1p(-q)) / (k * q)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    exponents = (k - 1) * np.log1p(-q * (nodes + 1) / 2)
    return float(weights @ -np.expm1(exponents)) / 2
