"""Direct response: report the value itself, or another one.

Generalised randomised response (`GRR`), its relaxation `ApproximateGRR`, and the
exponential mechanism with 0/1 utility (`Exponential`), which is GRR at half the budget.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage.mechanisms.exact_probabilities import exp_below
from seepage.mechanisms.randomness import ROWS, Randomness
from seepage.mechanisms.reports import ValueReports
from seepage.mechanisms.two_level import (
    MixtureMechanism,
    RelaxedMechanism,
)


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
