"""A value that is public already: released in clear, by nobody's mechanism."""

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.errors import InputError
from seepage.leakage.likely_sets import LikelySets
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.randomness import Randomness
from seepage.mechanisms.reports import ValueReports

__all__ = ["InClear"]


class InClear(Mechanism):
    """An attribute that everyone knows: the adversary sees the value itself.

    It is no mechanism to deploy, and not in the registry: `perturb` refuses.  It stands for an
    attribute that is public already, whose leakage about the others is the saturation level
    ln max_u,x,x' G[x,u] / G[x',u], whatever is done.

    Parameters
    ----------
    k
        The alphabet size.

    Examples
    --------
    >>> round(InClear(2).leakage([[0.9, 0.1], [0.2, 0.8]]).value, 3)
    2.079
    """

    name = "in-clear"
    reports = ValueReports

    @property
    def epsilon(self) -> float:
        """Infinite; 0 with one value, which says nothing."""
        return math.inf if self.k > 1 else 0.0

    @property
    def realised_epsilon(self) -> float:
        """The same."""
        return self.epsilon

    def describe(self) -> dict[str, Any]:
        """Return the name and the alphabet size."""
        return {"mechanism": self.name, "k": self.k}

    @property
    def bits(self) -> float:
        """The bits of one value."""
        return math.log2(self.k)

    def _perturb(self, codes: Integers, source: Randomness) -> ValueReports:
        raise InputError("a public attribute is not collected, so it is not perturbed")

    def tally(self, reports: ValueReports) -> Floats:
        """Return how often each value occurs."""
        return np.bincount(reports.values, minlength=self.k).astype(np.float64)

    def _frequencies(self, tally: Floats, records: int) -> Floats:
        return tally / records

    def variance(self, n: int, frequency: ArrayLike = 0.0) -> Floats:
        """Return 0: the frequencies are known."""
        _checks.integer(n, "n", 1)
        return np.zeros(np.shape(frequency))

    def _infer(self, reports: ValueReports, source: Randomness) -> Integers:
        return reports.values.astype(np.int64)

    @cached_property
    def hit_rate(self) -> float:
        """Every guess is right."""
        return 1.0

    def channel(self) -> Floats:
        """Return the identity."""
        return np.eye(self.k)

    def log_likelihood(self, reports: ValueReports) -> Floats:
        """Return 0 for the value itself and minus infinity for all others."""
        return np.where(np.arange(self.k) == reports.values[:, None], 0.0, -np.inf)

    @property
    def likely_sets(self) -> LikelySets:
        """The value itself, infinitely likelier than any other."""
        return LikelySets("singletons", self.epsilon)

    def witness_report(self, likely: Booleans) -> ValueReports:
        """Return the value itself."""
        value = np.flatnonzero(likely)[:1].astype(np.uint64)
        return ValueReports(self.describe(), value)
