"""Direct response and subset selection: report the value, or a set of values of one
size.

Generalised randomised response (`GRR`), its relaxation `ApproximateGRR`, and the
exponential mechanism with 0/1 utility (`Exponential`), which is GRR at half the budget.
`SubsetSelection` reports a random set of w values that is likelier to contain the true
value; for w = 1 it is GRR.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage.mechanisms.exact_probabilities import exp_below
from seepage.mechanisms.randomness import ROWS, Randomness
from seepage.mechanisms.reports import BitReports, ValueReports
from seepage.mechanisms.two_level import (
    MixtureMechanism,
    RelaxedMechanism,
    SetMechanism,
)

KEYS = 1 << 19
"""Random keys per block, so that they fit the cache."""


MAX_SHORT_KEYS = 1 << 12
"""Up to this many values, keys have 16 bits: at most one report in 16 is rejected."""


TIE_TOLERANCE = 1e-9
"""Relative difference up to which two variances are tied."""


def true_probability(k: int, epsilon: float, delta: float = 0.0) -> Fraction:
    """Return the largest probability of a true direct response, p = (e^eps + (k-1)
    delta) / (e^eps + k - 1).

    Examples
    --------
    >>> true_probability(4, 0.0), round(float(true_probability(2, 1.0)), 4)
    (Fraction(1, 4), 0.7311)
    """
    growth = exp_below(epsilon)
    others = checks.integer(k, "k", 1) - 1
    return (growth + others * Fraction(checks.delta(delta))) / (growth + others)


class DirectResponse(MixtureMechanism):
    """Report the true value with probability p and each other value with probability q
    <= p.

    Parameters
    ----------
    k
        The alphabet size.
    true
        The probability p as an exact fraction, at least 1/k and below 1; q = (1 - p)/(k
        - 1). Ignored for k = 1, where there is one report.
    parameters
        The stated parameters.

    Notes
    -----
    Drawn as a mixture: the value itself with probability p - q, else a uniform one of k
    values.
    """

    reports = ValueReports

    def __init__(self, k: int, true: Fraction, **parameters: Any) -> None:
        """Set the probability of a true direct response."""
        super().__init__(k, true if k != 1 else Fraction(1), size=1, **parameters)

    def draw(self, codes: Integers, source: Randomness) -> ValueReports:
        """Return direct responses: the values, each replaced by a uniform one unless
        kept.
        """
        reports = ValueReports.of(self.describe(), codes, self.k)
        for start in range(0, len(codes), ROWS):
            values = reports.values[start : start + ROWS]
            replaced = np.flatnonzero(~source.happens(self.keep, len(values)))
            values[replaced] = source.below(self.k, len(replaced))
        return reports

    def supported(self, reports: ValueReports) -> Booleans:
        """Return the singleton that each direct response supports, shape (n, k)."""
        return np.equal.outer(reports.below(self.k), np.arange(self.k))

    def tally(self, reports: ValueReports) -> Floats:
        """Return the number of direct responses of each value."""
        self.check_reports(reports)
        return np.bincount(reports.below(self.k), minlength=self.k).astype(np.float64)

    def guess(self, reports: ValueReports, source: Randomness) -> Integers:
        """Return the directly reported values themselves [paper, Appendix B]."""
        return reports.below(self.k)

    def report_of(self, likely: Booleans) -> ValueReports:
        """Return the direct response of the one likely value."""
        return ValueReports.of(self.describe(), np.flatnonzero(likely), self.k)


class GRR(DirectResponse):
    """Generalised randomised response: p = e^eps / (e^eps + k - 1) [paper, Appendix A].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The privacy budget.

    Examples
    --------
    >>> mechanism = GRR(4, epsilon=1.0)
    >>> round(mechanism.hit_rate, 4), round(mechanism.epsilon, 12)
    (0.4754, 1.0)
    >>> reports = mechanism.perturb([0] * 70_000 + [1] * 20_000 + [3] * 10_000, rng=7)
    >>> mechanism.estimate(reports, consistent=True).frequencies.round(1).tolist()
    [0.7, 0.2, 0.0, 0.1]
    """

    name = "grr"

    def __init__(self, k: int, epsilon: float) -> None:
        """Set the probabilities of a generalised randomised response."""
        super().__init__(k, true_probability(k, epsilon), epsilon=epsilon)


class Exponential(DirectResponse):
    """The exponential mechanism whose utility is 1 for the true value and 0 otherwise.

    Output r is drawn with probability proportional to exp(eps u(x, r) / (2 D)), with u
    the utility of r for the true value x and D its sensitivity [paper, Appendix A]. Its
    sensitivity is 1, so it is direct response with p = e^(eps/2) / (e^(eps/2) + k - 1)
    and realises half of its budget: `epsilon` is eps/2 [theory: Whole reports].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The stated budget eps.

    See Also
    --------
    MatrixMechanism : any other utility, by its transition matrix.

    Examples
    --------
    >>> mechanism = Exponential(4, epsilon=1.0)
    >>> round(mechanism.hit_rate, 4), mechanism.epsilon
    (0.3547, 0.5)
    """

    name = "exp"

    def __init__(self, k: int, epsilon: float) -> None:
        """Set the probabilities of an exponential mechanism's direct response."""
        super().__init__(
            k, true_probability(k, checks.epsilon(epsilon) / 2), epsilon=epsilon
        )


class ApproximateGRR(RelaxedMechanism, DirectResponse):
    """GRR with a relaxation: p slightly above the largest one of pure eps-LDP.

    p = (e^eps + (k-1) delta) / (e^eps + k - 1), the largest p that is (eps, delta)-LDP
    [theory: Whole reports].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon, delta
        The budget.

    Notes
    -----
    For two values, P(report) - e^eps P'(report) is p - e^eps q = delta for the first
    value's report and negative for others, so (eps, delta) is tight; so is every (e, p
    - e^e q) on the same curve.  The likelihood ratio p/q exceeds e^eps, so
    `pure_leakage` may exceed epsilon; then `leakage` is a pair of l and its delta.

    Examples
    --------
    >>> mechanism = ApproximateGRR(4, epsilon=1.0, delta=0.01)
    >>> round(mechanism.hit_rate, 4), mechanism.epsilon, mechanism.delta
    (0.4806, 1.0, 0.01)
    >>> round(mechanism.contrast, 4)
    1.021
    """

    name = "approximate-grr"
    outputs_apart = 1

    def __init__(self, k: int, epsilon: float, delta: float) -> None:
        """Set the probabilities of a direct response with a delta."""
        super().__init__(
            k, true_probability(k, epsilon, delta), epsilon=epsilon, delta=delta
        )


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
    """Return the pure direct mechanism with the lowest variance: GRR or subset
    selection.

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
