"""How precisely one report of a form estimates each quantity that is wanted.

A quantity is an attribute's frequencies, or the joint distribution of two attributes that are
asked together.  v is the variance of the unbiased estimate from one report, summed over the
values, for a person drawn from the population: noise and sampling together.
"""

import math
from collections.abc import Sequence

import numpy as np

from seepage._numerics import Floats
from seepage.data.records import Records
from seepage.mechanisms import mechanism

GRID = 1024
"""Budgets at which precisions are tabulated, to tell which forms can pay."""


def grr_terms(k: int, epsilon: float) -> tuple[float, float]:
    """Return (alpha, beta) with E[a_u^2 given x] = alpha + beta [x = u].

    a_u = ([y = u] - q) / (p - q) is the unbiased estimate of [x = u] from a GRR report y, so
    alpha = q (1 - q) / (p - q)^2 and beta = (1 - 2 q) / (p - q); infinite at budget 0.
    """
    if epsilon <= 0:
        return math.inf, math.inf
    growth = math.exp(-epsilon)
    rest = 1 + (k - 1) * growth
    q, gap = growth / rest, -math.expm1(-epsilon) / rest
    return q * (1 - q) / gap / gap, (1 - 2 * q) / gap


class Precisions:
    """Precision 1 / v of each quantity from one report of a form of GRR reports.

    Parameters
    ----------
    records
        The people, for the frequencies.
    joint
        Pairs of places whose joint distribution is wanted.

    Notes
    -----
    With f the frequencies, v = k alpha + beta - sum f^2 for one attribute; for two
    v = (k alpha + beta)(k' alpha' + beta') - sum f^2 over pairs of values, since the two reports
    are independent given the two answers.  An attribute with one value has v = 0; its precision
    is 0 here, for nothing is to be learnt.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute("a", ("0", "1"))])
    >>> people = sp.Records(domain, [[0], [1]])
    >>> noise = sp.GRR(2, 1.0).variance(1, [0.5, 0.5]).sum()
    >>> float(round(1 / Precisions(people).single(0, 1.0) - noise, 12))
    0.5
    """

    def __init__(self, records: Records, joint: Sequence[tuple[int, int]] = ()) -> None:
        self.sizes = records.domain.sizes
        people = max(records.records, 1)
        count = len(self.sizes)
        self.frequencies = [records.marginal(j) / people for j in range(count)]
        self.squares = [float((f**2).sum()) for f in self.frequencies]
        self.joint = tuple(joint)
        self._joint_squares = [
            float(((records.counts([i, j]) / people) ** 2).sum()) for i, j in self.joint
        ]

    @property
    def count(self) -> int:
        """The number of quantities."""
        return len(self.sizes) + len(self.joint)

    def _square(self, j: int, epsilon: float) -> float:
        """Return the expected sum of squares of one report's estimate."""
        alpha, beta = grr_terms(self.sizes[j], epsilon)
        return self.sizes[j] * alpha + beta

    def single(self, j: int, epsilon: float) -> float:
        """Return the precision of attribute j from one report with this budget."""
        if epsilon <= 0 or self.sizes[j] == 1:
            return 0.0
        return 1 / (self._square(j, epsilon) - self.squares[j])

    def of_mechanism(self, j: int, name: str, epsilon: float) -> float:
        """Return the precision of attribute j from one report of any mechanism."""
        shares = self.frequencies[j]
        noise = float(mechanism(name, self.sizes[j], epsilon).variance(1, shares).sum())
        variance = noise + 1 - self.squares[j]
        return 1 / variance if variance > 0 else 0.0

    def row(self, attributes: Sequence[int], epsilons: Sequence[float]) -> Floats:
        """Return the precision of every quantity from one report of a form."""
        found = np.zeros(self.count)
        budgets = dict(zip(attributes, epsilons, strict=True))
        for j, epsilon in budgets.items():
            found[j] = self.single(j, epsilon)
        for place, (i, j) in enumerate(self.joint, len(self.sizes)):
            if min(budgets.get(i, 0.0), budgets.get(j, 0.0)) > 0:
                square = self._square(i, budgets[i]) * self._square(j, budgets[j])
                found[place] = 1 / (square - self._joint_squares[place - len(self.sizes)])
        return found

    def tabulate(self, caps: Floats) -> tuple[Floats, Floats]:
        """Return a grid of budgets, and the precision of each attribute at it.

        Parameters
        ----------
        caps
            The largest budget of each attribute: at a larger one its precision no longer grows.
        """
        grid = np.linspace(0.0, float(caps.max()), GRID)
        table = np.zeros((len(self.sizes), GRID))
        for j, cap in enumerate(caps.tolist()):
            table[j] = [self.single(j, min(e, cap)) for e in grid.tolist()]
        return grid, table
