"""Direct response: report the value itself, or occasionally any value at all.

Generalised randomised response (`GRR`), its relaxation `ApproximateGRR`, and the exponential
mechanism with 0/1 utility (`Exponential`), which is GRR at half the budget.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.errors import InputError
from seepage.mechanisms.exact_math import exp_below, float_above, log_above
from seepage.mechanisms.randomness import CERTAIN, ROWS, Randomness, chance
from seepage.mechanisms.reports import ValueReports
from seepage.mechanisms.two_level import TwoLevelMechanism

MOST_CELLS = 1 << 24
"""The largest transition matrix that `channel` returns: 128 MB."""


def truthful(k: int, epsilon: float, delta: float = 0.0) -> Fraction:
    """Return (e^eps + (k-1) delta) / (e^eps + k - 1): the largest probability of a true report.

    Examples
    --------
    >>> truthful(4, 0.0), round(float(truthful(2, 1.0)), 4)
    (Fraction(1, 4), 0.7311)
    """
    growth, others = exp_below(epsilon), _checks.integer(k, "k", 1) - 1
    return (growth + others * Fraction(delta)) / (growth + others)


class DirectResponse(TwoLevelMechanism):
    """Report the true value with probability p and each other value with probability q <= p.

    Parameters
    ----------
    k
        The alphabet size.
    true
        The probability p as an exact fraction, at least 1/k and below 1; q = (1 - p)/(k - 1).
        Ignored for k = 1, where there is one report.
    parameters
        The stated parameters.

    Notes
    -----
    Drawn as a mixture: keep the value with chance p - q, else take any of the k values alike.
    The chance is a threshold out of 2^64, rounded down, so p can only become smaller and q
    larger; where p = q it is 0 and every value has exactly the same probability.
    """

    reports = ValueReports

    def __init__(self, k: int, true: Fraction, **parameters: Any) -> None:
        super().__init__(k, true if k != 1 else Fraction(1), size=1, **parameters)
        self._keep = chance(self.true - self.other)

    @property
    def drawn(self) -> tuple[Fraction, Fraction]:
        """The probabilities p and q of what is drawn."""
        keep = Fraction(self._keep, CERTAIN)
        other = (1 - keep) / self.k
        return keep + other, other

    @property
    def bits(self) -> float:
        """The size of one report: log2(k)."""
        return math.log2(self.k)

    def draw(self, codes: Integers, source: Randomness) -> ValueReports:
        """Return the values themselves, some of them replaced by a uniform one."""
        reports = ValueReports.of(self.describe(), codes, self.k)
        for begin in range(0, len(codes), ROWS):
            values = reports.values[begin : begin + ROWS]
            dropped = np.flatnonzero(~source.happens(self._keep, len(values)))
            values[dropped] = source.below(self.k, len(dropped))
        return reports

    def tally(self, reports: ValueReports) -> Floats:
        """Return how many reports hold each value."""
        self.check_reports(reports)
        return np.bincount(reports.below(self.k), minlength=self.k).astype(np.float64)

    def check_drawn(self, reports: Any) -> None:
        """Raise where a report is not an integer below k."""
        self.check_reports(reports)
        reports.below(self.k)

    def guess(self, reports: ValueReports, source: Randomness) -> Integers:
        """Return the reported values themselves [paper, Appendix B]."""
        return reports.below(self.k)

    def channel(self) -> Floats:
        """Return the k x k matrix with p on the diagonal and q elsewhere; column y is report y."""
        if self.k**2 > MOST_CELLS:
            return super().channel()
        true, other = self.support
        matrix = np.full((self.k, self.k), other)
        np.fill_diagonal(matrix, true)
        return matrix

    def witness_report(self, likely: Booleans) -> ValueReports:
        """Return the report of the one likely value."""
        values = np.flatnonzero(likely)
        if len(likely) != self.k or len(values) != 1:
            raise InputError(f"a report of {self.name} makes exactly one of {self.k} values likely")
        return ValueReports.of(self.describe(), values, self.k)


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
        stated = _checks.epsilon(epsilon)
        super().__init__(k, truthful(k, stated), epsilon=stated)


class Exponential(DirectResponse):
    """The exponential mechanism whose utility is 1 for the true value and 0 otherwise.

    Output r is drawn with probability proportional to exp(eps u(x, r) / (2 D)), with u the
    utility of r for the true value x and D its sensitivity [paper, Appendix A].
    Its sensitivity is 1, so it is direct response with p = e^(eps/2) / (e^(eps/2) + k - 1) and
    realises half of its budget: `epsilon` is eps/2 [theory: Whole reports].

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The stated budget eps.

    See Also
    --------
    UtilityExponential : any other utility.

    Examples
    --------
    >>> mechanism = Exponential(4, epsilon=1.0)
    >>> round(mechanism.hit_rate, 4), mechanism.epsilon
    (0.3547, 0.5)
    """

    name = "exp"

    def __init__(self, k: int, epsilon: float) -> None:
        stated = _checks.epsilon(epsilon)
        super().__init__(k, truthful(k, stated / 2), epsilon=stated)


class ApproximateGRR(DirectResponse):
    """GRR that tells the truth a little more often than e^eps allows.

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
    A pair of values differs by p - e^eps q = delta in the one report that favours the first, so
    (eps, delta) is tight; every other pair (e, p - e^e q) on the same curve holds as well.  The
    likelihood ratio p/q exceeds e^eps, so `leakage` may exceed epsilon; `relaxed_leakage` does
    not.

    Examples
    --------
    >>> mechanism = ApproximateGRR(4, epsilon=1.0, delta=0.01)
    >>> round(mechanism.hit_rate, 4), mechanism.epsilon, mechanism.delta
    (0.4806, 1.0, 0.01)
    >>> round(mechanism.contrast, 4)
    1.021
    """

    name = "approximate-grr"
    approximate = True

    def __init__(self, k: int, epsilon: float, delta: float) -> None:
        stated, slack = _checks.epsilon(epsilon), _checks.delta(delta)
        super().__init__(k, truthful(k, stated, slack), epsilon=stated, delta=slack)

    @property
    def epsilon(self) -> float:
        """The epsilon of the stated pair, a point on the mechanism's curve; 0 for one value."""
        return float(self.parameters["epsilon"]) if self.k > 1 else 0.0

    @property
    def delta(self) -> float:
        """The relaxation p - e^eps q at `epsilon`, recomputed from p and q; 0 for one value."""
        if self.k == 1:
            return 0.0
        return float_above(max(Fraction(0), self.true - exp_below(self.epsilon) * self.other))

    @property
    def realised_epsilon(self) -> float:
        """The smallest e with which what is drawn is (e, delta)-LDP for the stated delta."""
        if self.k == 1:
            return 0.0
        true, other = self.drawn
        return log_above(max((true - Fraction(self.parameters["delta"])) / other, Fraction(1)))
