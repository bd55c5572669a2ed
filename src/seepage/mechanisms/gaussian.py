"""The analytic Gaussian mechanism: normal noise on the one-hot vector of a value.

Double precision cannot resolve delta = 1e-12 at epsilon 0, nor delta at epsilon 700,
where a tail of 1e-300 is multiplied by e^700.  Arb (python-flint) gives certified
bounds on the tail of the normal distribution [Johansson 2017]; it is imported only here
and when needed, since it loads more slowly than `decimal`, which all other mechanisms
use.
"""

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.rounding import UNIT
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.exact_probabilities import MAX_EPSILON, float_above
from seepage.mechanisms.histogram import MAX_ENTRY, HistogramEncoding
from seepage.mechanisms.randomness import Randomness
from seepage.mechanisms.reports import VectorReports

MAX_PROFILE = 1e4
"""Largest epsilon at which a profile is computed."""


MIN_DELTA = 1e-280
"""A smaller delta raises: intermediate results would not be doubles."""


WITNESS_NATS = 700.0
"""Log-likelihood ratio by which the witness report favours its value."""


SPARE_SHARE = 2.0**-30
"""Share of delta that the noise leaves unused, for the rounding of probabilities on the
grid."""


DELTA_DIGITS = 25
"""Significant digits of delta in the search for sigma."""


GUARD_BITS = 96
"""Working precision beyond the digits asked for, for rounding errors."""


GAUSSIAN_CELLS = 5
"""The standard deviation is at least 2^5 cells wide: the variance is larger by a share
of 1e-4."""


TABLE_SIGMAS = 12
"""Range of the table in standard deviations; noise beyond it has probability 1e-32."""


LEAD_BITS = 32
"""Leading bits of a draw; they decide all but a few of a million draws from a table."""


class Gaussian(HistogramEncoding):
    """The analytic Gaussian mechanism: normal noise on the one-hot vector [Balle and
    Wang 2018].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The privacy budget; above 10,000 it counts as 10,000.
    delta
        The relaxation, from 1e-280 to below 1.  It cannot be 0: normal noise has no
        pure budget.

    Notes
    -----
    Two one-hot vectors are sqrt 2 apart, and sigma is the smallest standard deviation
    that is (epsilon, delta)-LDP (`gaussian_sigma`).  An entry's log-likelihood ratio (y
    - 1/2)/sigma^2 is unbounded: `pure_leakage` is the supremum ln max_u G[x,u]/G[x',u]
    over reports, which none attains, infinite where a value occurs under one target
    value only.  Its witness is a report within e^-700 of it.  So `leakage` is a pair of
    l and its delta.

    Examples
    --------
    >>> mechanism = Gaussian(4, epsilon=1.0, delta=1e-6)
    >>> round(mechanism.sigma, 4), mechanism.epsilon, mechanism.delta <= 1e-6
    (5.9746, 1.0, True)
    >>> reports = mechanism.perturb([0] * 90_000 + [1] * 10_000, rng=7)
    >>> mechanism.estimate(reports, consistent=True).frequencies.round(1).tolist()
    [0.9, 0.1, 0.0, 0.0]
    """

    name = "gauss"
    approximate = True

    def __init__(self, k: int, epsilon: float, delta: float) -> None:
        """Set the smallest Gaussian noise that keeps a budget, calibrated exactly."""
        super().__init__(k, epsilon=epsilon, delta=delta)
        if self.parameters["delta"] < MIN_DELTA:
            name = "delta of the Gaussian mechanism"
            hint = "; for a delta of 0 use SHE"
            raise checks.violation(name, f"at least {MIN_DELTA}", delta, hint)
        self._budget = min(self.parameters["epsilon"], float(MAX_EPSILON))
        self.sigma = gaussian_sigma(self._budget, self.parameters["delta"])
        self.noise_variance = self.sigma * self.sigma
        self.reach = (
            16 * self.sigma + 1
        )  # the grid ends at 12 sigma, NumPy's normals below 14

    @property
    def epsilon(self) -> float:
        """The epsilon at which the Gaussian `delta` is computed; 0 for k = 1."""
        return self._budget if self.k > 1 else 0.0

    @cached_property
    def delta(self) -> float:
        """The Gaussian relaxation at this epsilon, recomputed from sigma and rounded
        up.
        """
        return self.privacy_profile(self._budget)

    def privacy_profile(self, epsilon: float) -> float:
        """Return `gaussian_delta` at an epsilon, rounded up; 0 for one value.

        It falls with epsilon; from `MAX_PROFILE` on it is that at `MAX_PROFILE`.
        """
        epsilon = min(checks.epsilon(epsilon), MAX_PROFILE)
        if self.k == 1:
            return 0.0
        digits = 20 - math.floor(math.log10(self.parameters["delta"]))
        return float_above(gaussian_delta(epsilon, self.sigma, digits))

    @property
    def realised_delta(self) -> float:
        """The delta of the secure Gaussian noise on its grid, at most the stated one.

        The grid increases only delta: `realised_epsilon` is `epsilon`.
        """
        if self.k == 1:
            return 0.0
        return float_above(Fraction(self.delta) + self.grid.added)

    @cached_property
    def grid(self) -> "GaussianGrid":
        """The grid of secure Gaussian noise, computed at first use."""
        return gaussian_grid(self.sigma, self.parameters["delta"] * SPARE_SHARE / 4)

    def _fill(self, block: Floats, generator: np.random.Generator) -> None:
        """Fill a block of entries with Gaussian noise."""
        generator.standard_normal(out=block)
        block *= self.sigma

    def log_likelihood(self, reports: VectorReports) -> Floats:
        """Return ln P(report given u) less that of Gaussian noise around the zero
        vector.
        """
        self.check_reports(reports)
        reports.check_within(-MAX_ENTRY, MAX_ENTRY)
        return np.asarray((reports.vectors - 0.5) / self.sigma / self.sigma)

    @cached_property
    def miss_rate(self) -> float:
        """The probability 1 - a that another entry is the largest with Gaussian noise.

        The integral of phi(z) (1 - Phi(z + 1/sigma)^(k-1)), by the trapezoidal rule.
        The integrand is smooth and decays like phi, so steps of 1/32 up to |z| = 40
        give double precision.
        """
        from scipy.special import log_ndtr

        z = np.arange(-40 * 32, 40 * 32 + 1) / 32
        missed = -np.expm1((self.k - 1) * log_ndtr(z + 1 / self.sigma))
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return float(density @ missed) / 32

    @property
    def likely_sets(self) -> LikelySets:
        """Likely sets under Gaussian noise: singletons with infinite contrast; 0 for k
        = 1.
        """
        return LikelySets("singletons", math.inf if self.k > 1 else 0.0)

    def report_of(self, likely: Booleans) -> VectorReports:
        """Return a noisy Gaussian report that favours the likely values by a
        log-likelihood ratio of 700.
        """
        vector = np.where(likely, WITNESS_NATS * self.sigma * self.sigma, 0.0)
        return VectorReports(self.describe(), vector[None])


class GaussianGrid:
    """Gaussian noise rounded to a grid, from a table of exact integer thresholds.

    Parameters
    ----------
    sigma
        The standard deviation.
    slack
        Upper bound on the delta that the rounded table may add to that of the density,
        above 0.

    Notes
    -----
    Rounding is post-processing, so noise rounded to any grid keeps the (epsilon, delta)
    of the density; a shift by 1 need not be an integer number of cells, and the grid
    can be as coarse as the noise is wide.  That is why this is not the discrete
    Gaussian of [Canonne, Kamath and Steinke 2020], whose cells cannot be wider than the
    shift.  Cell c represents 1/2 + c `step`; noise beyond the last cells, 12 sigma
    away, is clamped to them, again post-processing.

    A draw of `bits` random bits is compared with the distribution function at the
    cells' edges, as integers out of 2^bits.  Both tails have d digits, chosen so that
    the relative error of a cell's probability is at most h = 200 10^-d, of two entries'
    2.01 h; any distribution that close to one with delta has at most delta + 5 h, at
    every epsilon.  `added` = 10^(3-d).
    """

    mirror = 0
    origin = 0.5

    def __init__(self, sigma: float, slack: float) -> None:
        """Choose the grid on which Gaussian noise is drawn, and its table."""
        digits = math.ceil(3 - math.log10(slack))
        self.added = Fraction(1000, 10**digits)
        self.step = math.ldexp(1.0, math.frexp(sigma)[1] - 1 - GAUSSIAN_CELLS)
        self.edge = math.ceil((0.5 + TABLE_SIGMAS * sigma) / self.step) + 1
        farthest = (0.5 + self.edge * self.step) / sigma
        rarest = math.log2(10) * digits + math.log2(math.e) * farthest**2 / 2 + 12
        self.bits = LEAD_BITS * math.ceil(rarest / LEAD_BITS)
        self.thresholds = self._table(sigma, digits)
        self.leads = np.array(
            [t >> (self.bits - LEAD_BITS) for t in self.thresholds], dtype=np.uint32
        )

    def _table(self, sigma: float, digits: int) -> list[int]:
        """Return 2^bits times the Gaussian distribution function at the upper edge of
        each cell.
        """
        checks.need("flint", "python-flint", "the Gaussian mechanism")
        from flint import arb, ctx, fmpq

        units = 2**self.bits
        thresholds = []
        first = fmpq(*(1 / (2 * Fraction(sigma))).as_integer_ratio())
        half_width = fmpq(
            *(Fraction(self.step) / (2 * Fraction(sigma))).as_integer_ratio()
        )
        with ctx.workprec(_bits(digits)):
            for cell in range(-self.edge, self.edge):
                edge = first + (2 * cell + 1) * half_width
                tail = (
                    arb(abs(edge)) / arb(2).sqrt()
                ).erfc() / 2  # a certified ball of Arb
                beyond = math.floor(_as_fraction(tail.lower()) * units)
                thresholds.append(beyond if edge < 0 else units - beyond)
        return thresholds

    def draw(self, source: Randomness, size: int) -> Integers:
        """Return `size` independent draws of Gaussian noise around 0, in cells."""
        words = source.bytes(4 * size).view("<u4")
        indices = np.searchsorted(self.leads, words, side="right")
        undecided = np.flatnonzero(self.leads[np.maximum(indices, 1) - 1] == words)
        for index in undecided:
            rest = int.from_bytes(
                source.bytes((self.bits - LEAD_BITS) // 8).tobytes(), "little"
            )
            draw = (int(words[index]) << (self.bits - LEAD_BITS)) | rest
            indices[index] = bisect_right(self.thresholds, draw)
        return np.asarray(indices - self.edge, dtype=np.int64)


gaussian_grid = lru_cache(maxsize=32)(GaussianGrid)
"""The grid of a standard deviation and slack, computed once for all alphabets."""


def gaussian_delta(epsilon: float, sigma: float, digits: int) -> Fraction:
    """Return the delta of Gaussian noise on a one-hot vector, rounded up by at most
    10^-digits.

    delta = Phi(D/(2 sigma) - eps sigma/D) - e^eps Phi(-D/(2 sigma) - eps sigma/D), with
    D = sqrt 2 the distance between two one-hot vectors [Balle and Wang 2018, Theorem
    8].

    Examples
    --------
    >>> f"{float(gaussian_delta(1.0, 1.0, 20)):.6f}"
    '0.286208'
    """
    checks.need("flint", "python-flint", "the Gaussian mechanism")
    from flint import arb, ctx

    with ctx.workprec(_bits(digits)):
        near = 1 / (2 * arb(sigma))
        far = arb(epsilon) * arb(sigma) / 2
        likely = (far - near).erfc()
        unlikely = (far + near).erfc()
        return _as_fraction(((likely - arb(epsilon).exp() * unlikely) / 2).upper())


def _bits(digits: int) -> int:
    """Return the working precision of the Gaussian delta in bits for so many decimal
    digits.
    """
    return math.ceil(digits * math.log2(10)) + GUARD_BITS


def _as_fraction(bound: Any) -> Fraction:
    """Return an exact Arb number of the Gaussian delta as a fraction."""
    mantissa, exponent = map(int, bound.man_exp())
    return mantissa * Fraction(2) ** exponent


@lru_cache(maxsize=1024)
def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the smallest sigma for which the Gaussian mechanism is (epsilon,
    delta)-LDP.

    `gaussian_delta` decreases in sigma; bisection finds sigma to 12 digits and returns
    the upper end, at which it is at most delta (1 - 2^-30).

    Examples
    --------
    >>> f"{gaussian_sigma(1.0, 1e-6):.6f}"
    '5.974598'
    """
    limit = Fraction(delta) * Fraction(1 - SPARE_SHARE)
    digits = math.ceil(-math.log10(delta)) + DELTA_DIGITS

    def is_private(sigma: float) -> bool:
        """Return whether Gaussian noise of this sigma is (epsilon, delta)-LDP."""
        return gaussian_delta(epsilon, sigma, digits) <= limit

    high = 1.0
    while not is_private(high):
        high *= 2
    low = high / 2
    while is_private(low):
        high = low
        low = low / 2
    while high - low > 4096 * UNIT * high:
        middle = (low + high) / 2
        if is_private(middle):
            high = middle
        else:
            low = middle
    return high
