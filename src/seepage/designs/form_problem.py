"""The constraints of a design, the precision of a form, and its largest equal budgets."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from seepage._numerics import Booleans, Floats, summed_up
from seepage.data.domain import Domain
from seepage.data.records import Records
from seepage.designs.equal_budgets import largest_within
from seepage.designs.form import Form
from seepage.designs.form_totals import ExactForms, FormTable
from seepage.designs.report_channels import MatrixChannel, ProductChannel
from seepage.mechanisms import mechanism, registered

if TYPE_CHECKING:
    from seepage.designs.shaped_mechanism import ShapedMechanism

Indices = tuple[int, ...]
"""Attributes of a form, by index, ascending."""

MAX_BUDGET = 16.0
"""Budget in nats of an attribute without a limit: its noise is 10^-7 of the sampling error."""

TOLERANCE = 1e-7
"""Relative accuracy of a budget during the search."""

MAX_FORM = 8
"""Maximum number of attributes of a form, unless the caller gives another."""

GRID_SIZE = 1024
"""Number of budgets at which precisions are tabulated, to bound the gains of candidate forms."""


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
        The records, for the frequencies.
    joint
        Pairs of attributes, by ascending index, whose joint distribution is to be estimated.

    Attributes
    ----------
    quantities
        The attributes of each quantity: single ones, then pairs.

    Notes
    -----
    With f the frequencies, v = k alpha + beta - sum f^2 for one attribute; for two
    v = (k alpha + beta)(k' alpha' + beta') - sum f^2 over pairs of values, since the two reports
    are independent given the two answers.  An attribute with one value has v = 0; its precision
    is set to 0, as there is nothing to estimate.

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
        number = max(records.records, 1)
        attributes = range(len(self.sizes))
        self.frequencies = [records.marginal(j) / number for j in attributes]
        self.squares = [float((f**2).sum()) for f in self.frequencies]
        self.joint = tuple(joint)
        self.quantities = [*((j,) for j in attributes), *self.joint]
        self._mechanism = lru_cache(None)(mechanism)
        self._joint_squares = [
            float(((records.counts([i, j]) / number) ** 2).sum()) for i, j in self.joint
        ]

    def _second_moment(self, j: int, epsilon: float) -> float:
        """Return k alpha + beta: the expected sum of squares of one report's estimate."""
        alpha, beta = grr_terms(self.sizes[j], epsilon)
        return self.sizes[j] * alpha + beta

    def single(self, j: int, epsilon: float) -> float:
        """Return the precision of attribute j from one report with this budget."""
        if epsilon <= 0 or self.sizes[j] == 1:
            return 0.0
        return 1 / (self._second_moment(j, epsilon) - self.squares[j])

    def of_mechanism(self, j: int, name: str, epsilon: float) -> float:
        """Return the precision of attribute j from one report of any mechanism."""
        made = self._mechanism(name, self.sizes[j], epsilon)
        noise = float(made.variance(1, self.frequencies[j]).sum())
        variance = noise + 1 - self.squares[j]
        return 1 / variance if variance > 0 else 0.0

    def best_mechanism(self, j: int, epsilon: float) -> str:
        """Return the pure mechanism with the highest precision of attribute j; ties go to GRR."""
        best, highest = "grr", self.of_mechanism(j, "grr", epsilon) * (1 + 1e-9)
        for name, family in registered().items():
            if not family.approximate:
                precision = self.of_mechanism(j, name, epsilon)
                within = self._mechanism(name, self.sizes[j], epsilon).epsilon <= epsilon
                if precision > highest and within:
                    best, highest = name, precision
        return best

    def row(self, attributes: Sequence[int], epsilons: Sequence[float]) -> Floats:
        """Return V[f, :], the precision of every quantity from one report of a form."""
        row = np.zeros(len(self.quantities))
        budgets = dict(zip(attributes, epsilons, strict=True))
        for j, epsilon in budgets.items():
            row[j] = self.single(j, epsilon)
        for index, (i, j) in enumerate(self.joint, len(self.sizes)):
            if min(budgets.get(i, 0.0), budgets.get(j, 0.0)) > 0:
                square = self._second_moment(i, budgets[i]) * self._second_moment(j, budgets[j])
                row[index] = 1 / (square - self._joint_squares[index - len(self.sizes)])
        return row

    def tabulate(self, caps: Floats) -> tuple[Floats, Floats]:
        """Return a grid of budgets, and the precision of each attribute at each of them.

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
                if size not in squares:
                    squares[size] = np.array([self._second_moment(j, e) for e in grid.tolist()])
                table[j] = 1 / (squares[size] - self.squares[j])
                table[j, grid > cap] = self.single(j, cap)
        return grid, table


@dataclass(eq=False)
class FormProblem:
    """Constraints of a design; arrays have one entry for each attribute of the table.

    Parameters
    ----------
    domain
        The attributes.
    scorer
        Computes the totals of a form.
    precisions
        Computes the precisions of a form.
    limits
        The maximum total of each attribute in nats; infinite if it is not protected.
    collected
        Mask of the attributes that may be asked.
    weights
        Weight of the error of each quantity: attributes, then pairs.
    least
        The minimum useful budget of each attribute.
    items
        Groups of attributes that are only asked together; groups of one for all others.
    never_together
        Symmetric mask of the pairs that no form may contain.
    record_limit
        The maximum sum of budgets of a form.
    largest
        The maximum number of attributes of a form.
    fixed_caps
        True: the largest budget of an attribute is its limit, which does not depend on the records
        (needed for the population).  False: it is the largest one that the attribute may have in a
        form of its own.
    max_cells
        The maximum number of combinations of answers of a form; set while the search is for forms
        that can be shaped.
    """

    domain: Domain
    scorer: ExactForms
    precisions: Precisions
    limits: Floats
    collected: Booleans
    weights: Floats
    least: Floats
    items: tuple[Indices, ...]
    never_together: Booleans
    record_limit: float = math.inf
    largest: int = MAX_FORM
    fixed_caps: bool = False
    max_cells: float = math.inf
    caps: Floats = field(init=False)
    _positions: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._positions = {name: j for j, name in enumerate(self.domain.names)}
        caps = np.minimum(self.limits, min(self.record_limit, MAX_BUDGET))
        self.caps = np.where(self.collected, caps, 0.0)
        if not self.fixed_caps:
            for j in np.flatnonzero(self.collected).tolist():
                if self.scorer.fits((j,)):
                    self.caps[j] = self.fit((j,)).max_budget

    @property
    def public(self) -> Indices:
        """Attributes released in the clear."""
        return self.scorer.counter.public

    @property
    def known(self) -> Indices:
        """Attributes that the adversary knows of the person."""
        return self.scorer.counter.known

    @property
    def min_limit(self) -> float:
        """The smallest limit, that of the whole record included."""
        return min(float(self.limits.min()), self.record_limit)

    @property
    def everything(self) -> Indices:
        """The form of all attributes that may be asked."""
        return tuple(sorted(j for item in self.items for j in item))

    def has_clash(self, form: Sequence[int]) -> bool:
        """Return whether a form has two attributes that must not be asked together."""
        return bool(self.never_together[np.ix_(form, form)].any())

    def listed(self, form: Iterable[int]) -> str:
        """Return the names of attributes, separated by commas, for a message."""
        return ", ".join(self.domain.names[j] for j in form)

    def excess(self, totals: Floats, epsilons: Floats) -> float:
        """Return the largest excess over a limit, of a total or of the sum of budgets, in nats."""
        limited = self.limits < np.inf
        excess = totals[limited] - self.limits[limited]
        return max(float(excess.max()), summed_up(epsilons.tolist()) - self.record_limit)

    def is_allowed(self, form: Sequence[int]) -> bool:
        """Return whether a form is small enough and has no two attributes that clash."""
        indices = list(form)
        if len(indices) > self.largest or not self.scorer.fits(indices):
            return False
        cells = math.prod(self.domain.sizes[j] for j in indices)
        if cells > self.max_cells and len(indices) > 1:
            return False
        return not self.has_clash(indices)

    def capped_budgets(self, attributes: Sequence[int], budget: float) -> Floats:
        """Return equal budgets, each lowered to the cap of its attribute."""
        return np.minimum(budget, self.caps[list(attributes)])

    def fit(self, attributes: Sequence[int]) -> Form:
        """Return the form with the largest equal budgets that keep all limits.

        Cheapest if a form with the same attributes but the last was counted before (see
        `FormCounter`).
        """
        return self.fit_table(self.scorer.counter.table(attributes))

    def fit_table(
        self, table: FormTable, max_budget: float = math.inf, tolerance: float = TOLERANCE
    ) -> Form:
        """Return the same as `fit` from the counts of a form, with budgets up to `max_budget`."""

        def excess(budget: float) -> float:
            budgets = self.capped_budgets(table.attributes, budget)
            return self.excess(self.scorer.totals(table, budgets), budgets)

        highest = min(max_budget, float(self.caps[list(table.attributes)].max()))
        budget = largest_within(excess, highest, tolerance * min(highest, 1.0, self.min_limit))
        return self.fitted(table, self.capped_budgets(table.attributes, budget))

    def fitted(self, table: FormTable, epsilons: Floats) -> Form:
        """Return the form with these budgets and its totals, attributes in ascending order."""
        totals = self.scorer.totals(table, epsilons)
        order = np.argsort(table.attributes)
        attributes = tuple(table.attributes[index] for index in order.tolist())
        return self.form(attributes, epsilons[order], totals)

    def form(
        self,
        attributes: Indices,
        epsilons: Floats,
        totals: Floats,
        mechanisms: Sequence[str] = (),
        guarantee: str = "exact",
    ) -> Form:
        """Return a form of one report per answer, by GRR unless mechanisms are given."""
        names = [self.domain.names[j] for j in attributes]
        how = mechanisms or ("grr",) * len(names)
        channel = ProductChannel.of(names, how, epsilons.tolist())
        return Form.of(channel, guarantee, totals.tolist())

    def indices(self, form: Form) -> Indices:
        """Return the attributes that a form asks for, by index."""
        return tuple(self._positions[name] for name in form.attributes)

    def is_useful(self, form: Form) -> bool:
        """Return whether every budget is at least the minimum useful one, and one is above 0."""
        epsilons, least = form.epsilons, self.least[list(self.indices(form))]
        return epsilons.max() > 0 and bool((epsilons >= least).all())

    def row(self, form: Form) -> Floats:
        """Return V[f, :], the precision of every quantity from one report of a form."""
        indices = self.indices(form)
        if isinstance(form.channel, MatrixChannel):
            return self._shaped_row(indices, form.channel.shaped)
        if set(form.mechanisms) == {"grr"}:
            return self.precisions.row(indices, form.epsilons.tolist())
        row = np.zeros(len(self.precisions.quantities))
        for j, name, epsilon in zip(indices, form.mechanisms, form.epsilons.tolist(), strict=True):
            row[j] = self.precisions.of_mechanism(j, name, epsilon)
        return row

    def _shaped_row(self, indices: Indices, made: "ShapedMechanism") -> Floats:
        """Return `row` of a shaped report; raises if that cannot estimate every answer."""
        row = np.zeros(len(self.precisions.quantities))
        for axes, variance in zip(made.wanted, made.variances.values(), strict=True):
            quantity = tuple(indices[axis] for axis in axes)
            row[self.precisions.quantities.index(quantity)] = 1 / variance
        return row

    def gain(self, form: Form, prices: Floats) -> float:
        """Return g_f = sum_j prices_j / v_j(f), with v_j(f) of one report of the form."""
        return float(self.row(form) @ prices)


def with_item(form: Iterable[int], item: Iterable[int]) -> Indices:
    """Return the union of a form and an item, ascending."""
    return tuple(sorted({*form, *item}))
