"""The constraints of a design, and the largest equal budgets of a form that satisfy them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from seepage._numerics import Booleans, Floats, shortest_above, summed_up
from seepage.data.domain import Domain
from seepage.designs.equal_budgets import largest_within
from seepage.designs.forms.a_optimal import Precisions
from seepage.designs.forms.form_totals import FormScorer, FormTable

if TYPE_CHECKING:
    from seepage.designs.shaped.shaped_mechanism import ShapedMechanism

Indices = tuple[int, ...]
"""Attributes of a form, by index, ascending."""

MAX_BUDGET = 16.0
"""Budget in nats of an attribute without a limit: its noise is 10^-7 of the sampling error."""

TOLERANCE = 1e-7
"""Relative accuracy of a budget during the search."""

MAX_FORM = 8
"""Maximum number of attributes of a form, unless the caller gives another."""


Nats = Annotated[float, msgspec.Meta(ge=0)]


class ToldAnswers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Leakage in nats of one report for all answers beyond its totals, for the table.

    Parameters
    ----------
    answer
        Largest change of the report's log-likelihood when one answer changes, whatever is known.
    one, two
        Largest leakage about an answer given one or two of the other answers; None if the form has
        fewer others.
    xor, xor_of
        Largest leakage about the exclusive or of answers, and the attributes of those answers.
    """

    answer: Nats
    one: Nats | None = None
    two: Nats | None = None
    xor: Nats | None = None
    xor_of: tuple[str, ...] = ()

    @classmethod
    def of(cls, made: "ShapedMechanism") -> "ToldAnswers":
        """Return the leakages of a mechanism about its answers, in nats, rounded up."""
        others, xor = len(made.sources) - 1, made.worst_xor
        return cls(
            answer=max(made.answer_changes.values()),
            one=made.given_answers(1) if others >= 1 else None,
            two=made.given_answers(2) if others >= 2 else None,
            xor=None if xor is None else xor.leakage,
            xor_of=() if xor is None else tuple(name for name, _ in xor.answers),
        )

    def __str__(self) -> str:
        parts = [
            ("one answer changed", self.answer),
            ("to whoever knows one other answer", self.one),
            ("two", self.two),
            (f"about the xor of {', '.join(self.xor_of)}", self.xor),
        ]
        return ", ".join(
            f"{what} {shortest_above(nats)}" for what, nats in parts if nats is not None
        )


@dataclass(frozen=True, eq=False)
class FittedForm:
    """A form with budgets that keep every total within its limit.

    Parameters
    ----------
    attributes
        The attributes asked, by index, ascending.
    epsilons
        The budget of each attribute asked.
    totals
        The total leakage in nats about every attribute of the table, asked or not, rounded up.
    mechanisms
        The mechanism of each attribute asked, by name.
    guarantee
        The guarantee of the totals.
    matrix, precision
        Only for one shaped report about all answers: its mechanism, and the precision of every
        quantity from it.  `epsilons` are then the largest changes of the report's log-likelihood
        when one answer changes.
    """

    attributes: Indices
    epsilons: Floats
    totals: Floats
    mechanisms: tuple[str, ...] = ()
    guarantee: str = "exact"
    matrix: "ShapedMechanism | None" = None
    precision: Floats | None = None

    @property
    def max_budget(self) -> float:
        """The largest budget of the form, which is the equal one where budgets are equal."""
        return float(self.epsilons.max())

    @property
    def record(self) -> float:
        """Upper bound of the leakage about the whole record: the sum of its budgets."""
        return summed_up(self.record_budgets.tolist())

    @property
    def record_budgets(self) -> Floats:
        """The budgets that sum to `record`: one per question, or one for a shaped report."""
        return self.epsilons if self.matrix is None else np.array([self.matrix.realised_epsilon])


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
    public_indices, known_indices
        Attributes released in the clear, and attributes that the adversary knows of the person.
    max_cells
        The maximum number of combinations of answers of a form; set while the search is for forms
        that can be shaped.
    """

    domain: Domain
    scorer: FormScorer
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
    public_indices: Indices = ()
    known_indices: Indices = ()
    max_cells: float = math.inf
    caps: Floats = field(init=False)

    def __post_init__(self) -> None:
        caps = np.minimum(self.limits, min(self.record_limit, MAX_BUDGET))
        self.caps = np.where(self.collected, caps, 0.0)
        if not self.fixed_caps:
            for j in np.flatnonzero(self.collected).tolist():
                if self.scorer.fits((j,)):
                    self.caps[j] = self.fit((j,)).max_budget

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

    def fit(self, attributes: Sequence[int]) -> FittedForm:
        """Return the form with the largest equal budgets that keep all limits.

        Cheapest if a form with the same attributes but the last was counted before (see
        `FormCounter`).
        """
        return self.fit_table(self.scorer.table(attributes))

    def fit_table(
        self, table: FormTable, max_budget: float = math.inf, tolerance: float = TOLERANCE
    ) -> FittedForm:
        """Return the same as `fit` from the counts of a form, with budgets up to `max_budget`."""

        def excess(budget: float) -> float:
            budgets = self.capped_budgets(table.attributes, budget)
            return self.excess(self.scorer.totals(table, budgets), budgets)

        highest = min(max_budget, float(self.caps[list(table.attributes)].max()))
        budget = largest_within(excess, highest, tolerance * min(highest, 1.0, self.min_limit))
        return self.fitted(table, self.capped_budgets(table.attributes, budget))

    def fitted(self, table: FormTable, epsilons: Floats) -> FittedForm:
        """Return the form with these budgets and its totals, attributes in ascending order."""
        totals = self.scorer.totals(table, epsilons)
        order = np.argsort(table.attributes)
        attributes = tuple(table.attributes[index] for index in order.tolist())
        names = ("grr",) * len(attributes)
        return FittedForm(attributes, epsilons[order], totals, names, self.scorer.guarantee)

    def is_useful(self, form: FittedForm) -> bool:
        """Return whether every budget is at least the minimum useful one, and one is above 0."""
        least = self.least[list(form.attributes)]
        return form.max_budget > 0 and bool((form.epsilons >= least).all())

    def row(self, form: FittedForm) -> Floats:
        """Return V[f, :], the precision of every quantity from one report of a form."""
        if form.precision is not None:
            return form.precision
        if set(form.mechanisms) == {"grr"}:
            return self.precisions.row(form.attributes, form.epsilons.tolist())
        row = np.zeros(self.precisions.count)
        for j, name, epsilon in zip(
            form.attributes, form.mechanisms, form.epsilons.tolist(), strict=True
        ):
            row[j] = self.precisions.of_mechanism(j, name, epsilon)
        return row


def join(form: Iterable[int], item: Iterable[int]) -> Indices:
    """Return the union of a form and an item, ascending."""
    return tuple(sorted({*form, *item}))
