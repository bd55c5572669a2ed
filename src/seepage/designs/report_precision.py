"""`Precisions`: the variance of one report of each mechanism."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from seepage._core.arrays import Floats
from seepage.channel.no_answer import completed, completed_frequencies
from seepage.channel.records import Records
from seepage.mechanisms.direct import GRR
from seepage.mechanisms.subset_selection import SubsetSelection, best_mechanism

# The precision of one report ----------------------------------------------------------

FAMILIES = {"grr": GRR, "ss": SubsetSelection}
"""The mechanisms that `best_mechanism` names."""


GRID_SIZE = 1024
"""Number of budgets at which precisions are tabulated, to bound the gains of candidate
forms."""


MAX_EPSILON = 32.0
"""Budget from which noise is negligible."""


BISECTIONS = 50
"""Halvings of the range of a budget, to the precision of floats."""


def grr_chances(k: int, epsilon: float) -> tuple[float, float]:
    """Return q and p - q of GRR for its precision: the probability of another value,
    and what the true one adds.
    """
    growth = math.exp(-epsilon)
    rest = 1 + (k - 1) * growth
    return growth / rest, -math.expm1(-epsilon) / rest


class Precisions:
    """Precision 1 / v of each quantity from one report of a form of GRR reports.

    Parameters
    ----------
    records
        The records, for the frequencies.
    joint
        Attributes, by ascending index, of each joint distribution that is to be
        estimated.
    rows
        B of the attributes of which another statistic than the frequencies is to be
        estimated.

    Attributes
    ----------
    quantities
        The attributes of each quantity: single ones, then joint distributions.

    Notes
    -----
    With f the frequencies, v = k alpha + beta - sum f^2 for one attribute; for a joint
    distribution the product of k alpha + beta over its attributes, minus sum f^2 over
    its cells, since reports are independent given the answers.  For a statistic B, with
    b_y its columns and b their sum, v = sum_y P(y) |b_y - q b|^2 / (p - q)^2 - |B f|^2.
    An attribute with one value has v = 0; its precision is set to 0, as there is
    nothing to estimate.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute("a", ("0", "1"))])
    >>> people = sp.Records(domain, [[0], [1]])
    >>> noise = sp.GRR(2, 1.0).variance(1, [0.5, 0.5]).sum()
    >>> float(round(1 / Precisions(people).single(0, 1.0) - noise, 12))
    0.5
    """

    def __init__(
        self,
        records: Records,
        joint: Sequence[tuple[int, ...]] = (),
        rows: Mapping[int, Floats] | None = None,
    ) -> None:
        """Prepare the precision of reports of each attribute and joint table."""
        self.rows = dict(rows or {})
        domain = records.domain
        self.sizes = domain.as_reported().sizes
        number = max(records.records, 1)
        self.frequencies = [
            completed_frequencies(records.marginal(j), attribute) / number
            for j, attribute in enumerate(domain)
        ]
        wanted = [self.rows.get(j, np.eye(size)) for j, size in enumerate(self.sizes)]
        products = zip(wanted, self.frequencies, strict=True)
        self.squares = [float(((b @ f) ** 2).sum()) for b, f in products]
        self.joint = tuple(joint)
        self.quantities = [*((j,) for j in range(len(domain))), *self.joint]
        self._mechanism = lru_cache(None)(
            lambda name, k, epsilon: FAMILIES[name](k, epsilon)
        )
        self._records = records
        self._joint_squares = [self._square(table) for table in self.joint]

    def _square(self, table: Sequence[int]) -> float:
        """Return for the precision of a joint table the sum of its squared
        frequencies.
        """
        domain = self._records.domain
        coded = self._records.counts(list(table))
        counts, factor = completed(coded, [domain[j] for j in table])
        number = max(self._records.records, 1)
        return float(((counts / factor / number) ** 2).sum())

    def _second_moment(self, j: int, epsilon: float) -> float:
        """Return k alpha + beta: the expected sum of squares of one report's estimate,
        which its precision rests on.

        a_u = ([y = u] - q) / (p - q) is the unbiased estimate of [x = u] from a GRR
        report y, so E[a_u^2 given x] = alpha + beta [x = u] with alpha = q (1 - q) / (p
        - q)^2 and beta = (1 - 2 q) / (p - q); infinite at budget 0.
        """
        if epsilon <= 0:
            return math.inf
        q, gap = grr_chances(self.sizes[j], epsilon)
        return self.sizes[j] * (q * (1 - q) / gap / gap) + (1 - 2 * q) / gap

    def _moment(self, j: int, epsilon: float) -> float:
        """Return the second moment of one report's estimate of the statistic that is
        wanted.
        """
        if j not in self.rows or epsilon <= 0:
            return self._second_moment(j, epsilon)
        rows = self.rows[j]
        (q, gap) = grr_chances(self.sizes[j], epsilon)
        distances = ((rows - q * rows.sum(axis=1, keepdims=True)) ** 2).sum(axis=0)
        return float((q + gap * self.frequencies[j]) @ distances) / gap / gap

    def single(self, j: int, epsilon: float) -> float:
        """Return the precision of attribute j from one report with this budget."""
        if epsilon <= 0 or self.sizes[j] == 1:
            return 0.0
        return 1 / (self._moment(j, epsilon) - self.squares[j])

    def largest_to_mean(self, j: int, precision: float) -> float:
        """Return for GRR reports of a precision the largest variance of an answer over
        the mean of all.

        v_u = alpha + beta f_u - f_u^2 for answer u, noise and sampling together; 1 for
        another statistic.

        Examples
        --------
        >>> import seepage as sp
        >>> domain = sp.Domain([sp.Attribute("a", ("0", "1", "2"))])
        >>> people = sp.Records(domain, [[0], [0], [1], [2]])
        >>> precisions = Precisions(people)
        >>> noise = sp.GRR(3, 1.0).variance(1, [0.5, 0.25, 0.25])
        >>> v = noise + [0.25, 0.1875, 0.1875]
        >>> float(round(v.max() / v.mean(), 9))
        1.083446539
        >>> round(precisions.largest_to_mean(0, 1 / v.sum()), 9)
        1.083446539
        """
        if j in self.rows or precision <= 0:
            return 1.0
        epsilon = self._epsilon_of(j, precision)
        size = self.sizes[j]
        q, gap = grr_chances(size, epsilon)
        f = self.frequencies[j]
        variances = q * (1 - q) / gap / gap + (1 - 2 * q) / gap * f - f * f
        return float(variances.max() / variances.mean())

    def _epsilon_of(self, j: int, precision: float) -> float:
        """Return the budget at which a GRR report has a precision, by bisection; the
        largest if none has.
        """
        low = 0.0
        high = MAX_EPSILON
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if self.single(j, middle) < precision:
                low = middle
            else:
                high = middle
        return high

    def of_mechanism(self, j: int, name: str, epsilon: float) -> float:
        """Return the precision of attribute j from one report of a mechanism in
        `FAMILIES`.
        """
        if j in self.rows:
            return self.single(j, epsilon)
        mechanism = self._mechanism(name, self.sizes[j], epsilon)
        noise = float(mechanism.variance(1, self.frequencies[j]).sum())
        variance = noise + 1 - self.squares[j]
        return 1 / variance if variance > 0 else 0.0

    def best_mechanism(self, j: int, epsilon: float) -> str:
        """Return the pure mechanism with the highest precision of attribute j; ties go
        to GRR.

        GRR for a mean: reports that are shaped to it are far more precise than any of
        these.
        """
        return "grr" if j in self.rows else best_mechanism(self.sizes[j], epsilon).name

    def best(self, j: int, epsilon: float) -> float:
        """Return the highest precision of attribute j from one report of a pure
        mechanism.
        """
        return self.of_mechanism(j, self.best_mechanism(j, epsilon), epsilon)

    def sampling_variance(self, j: int) -> float:
        """Return the variance of one answer without noise, the best precision of the
        statistic that is wanted.
        """
        rows = self.rows.get(j, np.eye(self.sizes[j]))
        return float(self.frequencies[j] @ (rows**2).sum(axis=0) - self.squares[j])

    def row(self, attributes: Sequence[int], epsilons: Sequence[float]) -> Floats:
        """Return V[f, :], the precision of every quantity from one report of a form."""
        row = np.zeros(len(self.quantities))
        budgets = dict(zip(attributes, epsilons, strict=True))
        for j, epsilon in budgets.items():
            row[j] = self.single(j, epsilon)
        for index, (table, square) in enumerate(
            zip(self.joint, self._joint_squares, strict=True)
        ):
            if min(budgets.get(j, 0.0) for j in table) > 0:
                moment = math.prod(self._second_moment(j, budgets[j]) for j in table)
                row[len(self.sizes) + index] = 1 / (moment - square)
        return row

    def joint_precision(self, table: Sequence[int], epsilons: Sequence[float]) -> float:
        """Return the precision of a joint table from one GRR report of each answer."""
        pairs = zip(table, epsilons, strict=True)
        moment = math.prod(self._second_moment(j, epsilon) for j, epsilon in pairs)
        return 1 / (moment - self._square(table))

    def tabulate(self, caps: Floats) -> tuple[Floats, Floats]:
        """Return a grid of budgets, and the precision of each attribute at each of
        them.

        Parameters
        ----------
        caps
            The largest budget of each attribute; its precision is constant beyond.
        """
        grid = np.linspace(0.0, float(caps.max()), GRID_SIZE)
        table = np.zeros((len(self.sizes), GRID_SIZE))
        squares: dict[int, Floats] = {}
        for j, cap in enumerate(caps.tolist()):
            size = self.sizes[j]
            if size > 1 and cap > 0:
                key = -j - 1 if j in self.rows else size
                if key not in squares:
                    squares[key] = np.array([self._moment(j, e) for e in grid.tolist()])
                table[j] = 1 / (squares[key] - self.squares[j])
                table[j, grid > cap] = self.single(j, cap)
        return grid, table
