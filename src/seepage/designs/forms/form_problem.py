"""What a design must satisfy, and the largest budgets of a form that satisfy it."""

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
"""Attributes asked together, by index, ascending."""

MAX_BUDGET = 16.0
"""The budget of an attribute that nothing limits: its noise is 10^-7 of the sampling error."""

TOLERANCE = 1e-7
"""To what share of it a budget is found while searching."""

MAX_FORM = 8
"""The most attributes of a form that is searched for, where no other number is given."""


Nats = Annotated[float, msgspec.Meta(ge=0)]


class ToldAnswers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the one report of a form tells beyond its totals, computed for the table.

    Parameters
    ----------
    answer
        By how much changing one answer changes the report's log-likelihood, whatever is known.
    one, two
        The most told about an answer to whoever knows one or two of the others; None where there
        are not so many.
    xor, xor_of
        The most told about the exclusive or of answers, and their attributes.
    """

    answer: Nats
    one: Nats | None = None
    two: Nats | None = None
    xor: Nats | None = None
    xor_of: tuple[str, ...] = ()

    @classmethod
    def of(cls, made: "ShapedMechanism") -> "ToldAnswers":
        """Return what a mechanism tells, rounded up."""
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
        return ", ".join(f"{of} {shortest_above(told)}" for of, told in parts if told is not None)


@dataclass(frozen=True, eq=False)
class FittedForm:
    """A form with budgets that keep every total within its limit.

    Parameters
    ----------
    attributes
        The attributes asked, by index, ascending.
    epsilons
        Their budgets.
    totals
        The total of every attribute of the table, rounded up.
    mechanisms
        Their mechanisms by name.
    guarantee
        What the totals rest on.
    matrix, precision
        Where one shaped report tells about all answers: its mechanism, and the precision of every
        quantity from it.  Budgets are then what changing one answer changes a report by at most.
    """

    attributes: Indices
    epsilons: Floats
    totals: Floats
    mechanisms: tuple[str, ...] = ()
    guarantee: str = "exact"
    matrix: "ShapedMechanism | None" = None
    precision: Floats | None = None

    @property
    def level(self) -> float:
        """The largest budget in the form: the equal budget where budgets are equal."""
        return float(self.epsilons.max())

    @property
    def record(self) -> float:
        """What the form tells about the whole record at most: the sum of its budgets."""
        return summed_up(self.spent.tolist())

    @property
    def spent(self) -> Floats:
        """Budgets whose sum is told about the whole record."""
        return self.epsilons if self.matrix is None else np.array([self.matrix.realised_epsilon])


@dataclass(eq=False)
class FormProblem:
    """Conditions of a design, one entry for each attribute of the table.

    Parameters
    ----------
    domain
        The attributes.
    scorer
        Totals of forms.
    precisions
        Precisions of forms.
    limits
        The allowed total of each attribute; infinite where it is not protected.
    collected
        Whether it may be asked.
    weights
        How much the error of each quantity counts.
    least
        The smallest useful budget of each attribute.
    items
        Attributes that are only asked together, a group each; single ones else.
    apart
        Pairs that are never asked together, as a symmetric matrix.
    record_limit
        The largest sum of budgets of a form.
    largest
        The most attributes of a form.
    fixed_caps
        Whether no budget depends on the records but by the level of its form: then the largest
        budget of an attribute is its limit, else what it may have alone.
    public_indices, known_indices
        Attributes released in the clear, and those that the adversary knows of the person.
    most_cells
        The most combinations of answers of a form, while forms that can be shaped are searched for.
    """

    domain: Domain
    scorer: FormScorer
    precisions: Precisions
    limits: Floats
    collected: Booleans
    weights: Floats
    least: Floats
    items: tuple[Indices, ...]
    apart: Booleans
    record_limit: float = math.inf
    largest: int = MAX_FORM
    fixed_caps: bool = False
    public_indices: Indices = ()
    known_indices: Indices = ()
    most_cells: float = math.inf
    caps: Floats = field(init=False)

    def __post_init__(self) -> None:
        most = np.minimum(self.limits, min(self.record_limit, MAX_BUDGET))
        self.caps = np.where(self.collected, most, 0.0)
        if not self.fixed_caps:
            for j in np.flatnonzero(self.collected).tolist():
                if self.scorer.fits((j,)):
                    self.caps[j] = self.fit((j,)).level

    @property
    def least_slack(self) -> float:
        """The smallest limit: how far all totals are within them where nothing is asked."""
        return min(float(self.limits.min()), self.record_limit)

    @property
    def everything(self) -> Indices:
        """The form of all attributes that may be asked."""
        return tuple(sorted(j for item in self.items for j in item))

    def clashes(self, form: Sequence[int]) -> bool:
        """Return whether a form has attributes that must not be asked together."""
        return bool(self.apart[np.ix_(form, form)].any())

    def listed(self, form: Iterable[int]) -> str:
        """Return the names of attributes, for a message."""
        return ", ".join(self.domain.names[j] for j in form)

    def excess(self, totals: Floats, epsilons: Floats) -> float:
        """Return how far the worst total, or the sum of budgets, is above its limit."""
        limited = self.limits < np.inf
        over = totals[limited] - self.limits[limited]
        return max(float(over.max()), summed_up(epsilons.tolist()) - self.record_limit)

    def allowed(self, form: Sequence[int]) -> bool:
        """Return whether a form is small enough and has no attributes that clash."""
        indices = list(form)
        if len(indices) > self.largest or not self.scorer.fits(indices):
            return False
        cells = math.prod(self.domain.sizes[j] for j in indices)
        if cells > self.most_cells and len(indices) > 1:
            return False
        return not self.clashes(indices)

    def level_budgets(self, attributes: Sequence[int], level: float) -> Floats:
        """Return equal budgets, none above what its attribute may have alone."""
        return np.minimum(level, self.caps[list(attributes)])

    def fit(self, attributes: Sequence[int]) -> FittedForm:
        """Return the form with the largest equal budgets that keep the limits.

        The last attribute is counted within the others.
        """
        return self.fit_table(self.scorer.table(attributes))

    def fit_table(
        self, table: FormTable, most: float = math.inf, tolerance: float = TOLERANCE
    ) -> FittedForm:
        """Return the same from a counted form, with no budget above `most`."""

        def excess(level: float) -> float:
            budgets = self.level_budgets(table.attributes, level)
            return self.excess(self.scorer.totals(table, budgets), budgets)

        top = min(most, float(self.caps[list(table.attributes)].max()))
        level = largest_within(excess, top, tolerance * min(top, 1.0, self.least_slack))
        return self.fitted(table, self.level_budgets(table.attributes, level))

    def fitted(self, table: FormTable, epsilons: Floats) -> FittedForm:
        """Return the form of a table at some budgets with its totals, attributes ascending."""
        totals = self.scorer.totals(table, epsilons)
        order = np.argsort(table.attributes)
        attributes = tuple(table.attributes[index] for index in order.tolist())
        names = ("grr",) * len(attributes)
        return FittedForm(attributes, epsilons[order], totals, names, self.scorer.guarantee)

    def useful(self, form: FittedForm) -> bool:
        """Return whether every budget is worth asking for."""
        least = self.least[list(form.attributes)]
        return form.level > 0 and bool((form.epsilons >= least).all())

    def row(self, form: FittedForm) -> Floats:
        """Return the precision of every quantity from one report of a form."""
        if form.precision is not None:
            return form.precision
        if set(form.mechanisms) == {"grr"}:
            return self.precisions.row(form.attributes, form.epsilons.tolist())
        found = np.zeros(self.precisions.count)
        for j, name, epsilon in zip(
            form.attributes, form.mechanisms, form.epsilons.tolist(), strict=True
        ):
            found[j] = self.precisions.of_mechanism(j, name, epsilon)
        return found


def join(form: Iterable[int], item: Iterable[int]) -> Indices:
    """Return a form with an item added, ascending."""
    return tuple(sorted({*form, *item}))
