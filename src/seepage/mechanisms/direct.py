"""Direct response: report the value itself, or now and then any value at all.

`GRR` and `ApproximateGRR` are here; the exponential mechanism with 0/1 utility is the same thing
at half the budget (`seepage.mechanisms.exponential`).
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.base import ROWS, PureMechanism
from seepage.mechanisms.exact_math import exp_below, float_above, log_above, log_nearest
from seepage.mechanisms.randomness import CERTAIN, Randomness, chance
from seepage.mechanisms.reports import Origin, ValueReports

__all__ = ["GRR", "ApproximateGRR", "DirectResponse"]

MOST_CELLS = 1 << 24
"""The largest transition matrix that `channel` returns: 128 MB."""


def pack_values(origin: Origin, values: Integers, outputs: int) -> ValueReports:
    """Return reports of values below `outputs` in the smallest unsigned integers."""
    return ValueReports(origin, values.astype(np.min_scalar_type(outputs - 1)))


def checked_values(reports: ValueReports, outputs: int) -> Integers:
    """Return the values of reports, or refuse those that no mechanism with so many outputs made."""
    values = reports.values
    if values.dtype.kind != "u" or (values.size and int(values.max()) >= outputs):
        raise InputError(f"reports must hold integers from 0 to {outputs - 1}")
    return values.astype(np.int64)


def truthful(k: int, epsilon: float, delta: float = 0.0) -> Fraction:
    """Return (e^eps + (k-1) delta) / (e^eps + k - 1): how often an honest answer is allowed.

    Examples
    --------
    >>> truthful(4, 0.0), round(float(truthful(2, 1.0)), 4)
    (Fraction(1, 4), 0.7311)
    """
    growth, others = exp_below(epsilon), _checks.integer(k, "k", 1) - 1
    return (growth + others * Fraction(delta)) / (growth + others)


class DirectResponse(PureMechanism):
    """Report the true value with probability p and each other value with probability q <= p.

    Parameters
    ----------
    k
        The alphabet size.
    true
        The probability p as an exact fraction, at least 1/k and below 1; q = (1 - p)/(k - 1).
        Ignored for k = 1, where there is one report.

    Notes
    -----
    Drawn as a mixture: keep the value with chance p - q, else take any of the k values alike.
    The chance is a threshold out of 2^64, rounded down, so p can only become smaller and q
    larger; where p = q it is 0 and every value has exactly the same probability.
    """

    reports = ValueReports

    def __init__(self, k: int, true: Fraction) -> None:
        super().__init__(k)
        self._true = true if self.k > 1 else Fraction(1)
        self._other = (1 - true) / (self.k - 1) if self.k > 1 else Fraction(0)
        self._keep = chance(self._true - self._other)

    @cached_property
    def contrast(self) -> float:
        """The largest log-likelihood ratio ln(p/q), rounded up; 0 for one value."""
        return log_above(self._true / self._other) if self.k > 1 else 0.0

    @property
    def epsilon(self) -> float:
        """The privacy budget ln(p/q), recomputed from p and q."""
        return self.contrast

    @property
    def realised_epsilon(self) -> float:
        """The epsilon ln(p/q) of what is really drawn."""
        return self._realised(Fraction(0))

    def _realised(self, delta: Fraction) -> float:
        """Return the smallest e with which what is drawn is (e, delta)-LDP: ln (p - delta)/q."""
        if self.k == 1:
            return 0.0
        keep = Fraction(self._keep, CERTAIN)
        other = (1 - keep) / self.k
        return log_above(max((keep + other - delta) / other, Fraction(1)))

    @property
    def bits(self) -> float:
        """The size of one report: log2(k)."""
        return math.log2(self.k)

    def _perturb(self, codes: Integers, source: Randomness) -> ValueReports:
        reports = pack_values(self.describe(), codes, self.k)
        for begin in range(0, len(codes), ROWS):
            values = reports.values[begin : begin + ROWS]
            dropped = np.flatnonzero(~source.happens(self._keep, len(values)))
            values[dropped] = source.below(self.k, len(dropped))
        return reports

    def tally(self, reports: ValueReports) -> Floats:
        """Return how many reports hold each value."""
        values = checked_values(reports, self.k)
        return np.bincount(values, minlength=self.k).astype(np.float64)

    @property
    def support(self) -> tuple[float, float]:
        """The probabilities p and q; (1, 0) for one value."""
        return float(self._true), float(self._other)

    def _infer(self, reports: ValueReports, source: Randomness) -> Integers:
        return checked_values(reports, self.k)

    @cached_property
    def hit_rate(self) -> float:
        """The probability p: the guess is the report itself [paper, Appendix B]."""
        return float(self._true)

    @property
    def guess_contrast(self) -> float:
        """The log-ratio ln(p/q), since the guess is the report."""
        return self.contrast

    def channel(self) -> Floats:
        """Return the k x k matrix with p on the diagonal and q elsewhere; column y is report y."""
        if self.k**2 > MOST_CELLS:
            return super().channel()
        matrix = np.full((self.k, self.k), float(self._other))
        np.fill_diagonal(matrix, float(self._true))
        return matrix

    def log_likelihood(self, reports: ValueReports) -> Floats:
        """Return ln p in the column of the reported value and ln q in the others."""
        self._own(reports)
        values = checked_values(reports, self.k)
        unlikely = log_nearest(self._other) if self.k > 1 else -math.inf
        logarithms = np.full((len(values), self.k), unlikely)
        logarithms[np.arange(len(values)), values] = log_nearest(self._true)
        return logarithms

    @property
    def likely_sets(self) -> LikelySets:
        """Singletons: a report favours the value it holds [theory: Whole reports]."""
        return LikelySets("singletons", self.contrast)

    def witness_report(self, likely: Booleans) -> ValueReports:
        """Return the report of the one likely value."""
        values = np.flatnonzero(likely)
        if len(likely) != self.k or len(values) != 1:
            raise InputError(f"a report of {self.name} makes exactly one of {self.k} values likely")
        return pack_values(self.describe(), values, self.k)


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
        self._stated = _checks.epsilon(epsilon)
        super().__init__(k, truthful(k, self._stated))

    def describe(self) -> dict[str, Any]:
        """Return name, k and the stated epsilon."""
        return {"mechanism": self.name, "k": self.k, "epsilon": self._stated}


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
        self._stated, self._relaxation = _checks.epsilon(epsilon), _checks.delta(delta)
        super().__init__(k, truthful(k, self._stated, self._relaxation))

    @property
    def epsilon(self) -> float:
        """The epsilon of the stated pair, a point on the mechanism's curve; 0 for one value."""
        return self._stated if self.k > 1 else 0.0

    @property
    def delta(self) -> float:
        """The relaxation p - e^eps q at `epsilon`, recomputed from p and q; 0 for one value."""
        if self.k == 1:
            return 0.0
        return float_above(max(Fraction(0), self._true - exp_below(self.epsilon) * self._other))

    @property
    def realised_epsilon(self) -> float:
        """The smallest e with which what is drawn is (e, delta)-LDP for the stated delta."""
        return self._realised(Fraction(self._relaxation))

    def describe(self) -> dict[str, Any]:
        """Return name, k and the stated epsilon and delta."""
        return {
            "mechanism": self.name,
            "k": self.k,
            "epsilon": self._stated,
            "delta": self._relaxation,
        }
