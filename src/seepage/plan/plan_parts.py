"""Attributes, provenance and alternatives of a plan, and the checks that its parts agree."""

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from seepage import __version__, _checks
from seepage.data.domain import Attribute
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.plan.form import Budget, Form, Question, Stored, Unbounded, check_frequencies
from seepage.totals.result import GUARANTEES

if TYPE_CHECKING:
    from seepage.plan.plan import Plan

ASKED = "forms that ask for it"
"""Key under which an attribute of a plan knows its forms."""

CLAIMS = [name for name, kind in GUARANTEES.items() if kind != "lower bound"]
"""The guarantees that a plan can rest on: all but lower bounds."""

BY_FORM = "by form"
"""The guarantee of a plan whose forms rest on different ones."""

MAX_FORMS = 65_535
"""Reports carry the number of their form in 16 bits."""

WEAKEST = ("assumed", "statistical", "certified")
"""Kinds of guarantees, the weakest first."""


class Provenance(Stored, frozen=True, kw_only=True):
    """What a plan was computed from.

    Parameters
    ----------
    digest
        SHA-256 of the pair counts, `PairCounts.digest`.
    records
        How many records they count.
    population
        Where those are a sample, how many records it was drawn from; not set otherwise.
    seepage
        The version of this package.
    settings
        What the caller chose, as plain JSON.
    """

    digest: str
    records: Annotated[int, msgspec.Meta(ge=0)]
    seepage: str
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    population: Annotated[int, msgspec.Meta(ge=0)] | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(cls, pairs: PairCounts, settings: dict[str, Any]) -> "Provenance":
        """Return the provenance of a plan that was computed from these counts."""
        return cls(
            digest=pairs.digest,
            records=pairs.records,
            population=msgspec.UNSET if pairs.population is None else pairs.population,
            seepage=__version__,
            settings=settings,
        )


class Alternative(Stored, frozen=True, kw_only=True):
    """Another way to collect the same attributes within the same limits.

    Parameters
    ----------
    name
        What it is.
    rests_on
        Why its totals stay within the limits, or what must hold for that.
    certified
        Whether they do so without any assumption.
    variances
        By attribute, the variance of an estimate from one person, summed over the values at the
        nominal frequencies, noise and sampling together; from n people it is this over n.
    """

    name: str
    rests_on: str
    certified: bool
    variances: dict[str, Unbounded]


class PlannedAttribute(Stored, frozen=True, kw_only=True, dict=True):
    """One attribute of a plan, and what is promised about it.

    Parameters
    ----------
    name
        The attribute's name.
    public
        Whether its value is public already: released as it is, without a mechanism.
    limit
        The largest admissible total in nats; None for no limit.
    total, total_delta
        What all reports of one form together leak about it, the largest over all forms, and the
        delta with which that holds.
    form
        The number of the form that attains it, from 1.
    values, edges
        The values in the order of their codes, and the bin edges of a binned number.
    frequencies
        Nominal frequencies of the values, fixed beforehand: they decide how much each form counts
        in an estimate.  Empty: all alike.

    Notes
    -----
    `forms`, `mechanism`, `epsilon`, `delta`, `parameters` and `made` say how a plan collects it;
    an attribute outside of a plan is not collected.
    """

    name: str
    public: bool = False
    limit: Budget | None = None
    total: Unbounded
    total_delta: Budget = 0.0
    form: Annotated[int, msgspec.Meta(ge=1)] = 1
    values: tuple[str, ...]
    edges: tuple[float | Literal["inf", "-inf"], ...] = ()
    frequencies: tuple[Budget, ...] = ()

    def __post_init__(self) -> None:
        if self.attribute.size and self.frequencies:
            check_frequencies(self.frequencies, self.attribute.size, f"{self.name!r}")

    @cached_property
    def attribute(self) -> Attribute:
        """The attribute with its values and bin edges."""
        return Attribute(self.name, self.values, tuple(map(float, self.edges)))

    # How it is collected ------------------------------------------------------------------------

    @property
    def asking(self) -> tuple[tuple[int, Form], ...]:
        """The forms that ask for it, each with its number."""
        return tuple(self.__dict__.get(ASKED, ()))

    @property
    def mechanism(self) -> str | None:
        """The names of the mechanisms that perturb it; None where it is not collected."""
        used = [question.mechanism if question else "matrix" for question in self._questions]
        return ", ".join(dict.fromkeys(used)) or None

    @property
    def epsilon(self) -> float:
        """The largest stated budget over its forms; 0 where it is not collected."""
        budgets = [
            question.epsilon if (question := form.question(self.name)) else float(form.record)
            for _, form in self.asking
        ]
        return max(budgets, default=0.0)

    @property
    def delta(self) -> float:
        """The largest stated relaxation over its forms."""
        return max((question.delta for question in self._questions if question), default=0.0)

    @property
    def parameters(self) -> dict[str, float]:
        """Further parameters of its mechanism; empty where several forms ask for it."""
        alone = self._questions[0] if len(self._questions) == 1 else None
        return dict(alone.parameters) if alone else {}

    @cached_property
    def made(self) -> Mechanism | None:
        """The mechanism of the one form that asks for it; None where none does."""
        if not self.asking:
            return None
        if len(self.asking) > 1 or self._questions[0] is None:
            raise InputError(
                f"{self.name!r} is asked for in {len(self.asking)} forms or together with others, "
                "so it has no mechanism of its own; see `Plan.forms`"
            )
        return self._questions[0].made_for(self.attribute.size)

    @property
    def _questions(self) -> list[Question | None]:
        return [form.question(self.name) for _, form in self.asking]

    # What is promised ---------------------------------------------------------------------------

    @property
    def exceeds(self) -> bool:
        """Whether the total is above its limit."""
        return self.limit is not None and not float(self.total) <= self.limit


def asked_in(forms: Iterable[Form], planned: PlannedAttribute) -> PlannedAttribute:
    """Return the same attribute, which knows the forms that ask for it."""
    known = msgspec.structs.replace(planned)
    asking = [(n, form) for n, form in enumerate(forms, 1) if planned.name in form.attributes]
    known.__dict__[ASKED] = tuple(asking)
    return known


def overall(forms: tuple[Form, ...], scope: str = "table") -> tuple[str, Any]:
    """Return the guarantee of all forms together and its kind, that of the weakest.

    For a population totals hold with a confidence at best, but for the sum of all budgets.
    """
    names = {_checks.choice(form.guarantee, "guarantee", CLAIMS) for form in forms}
    kind = min((GUARANTEES[name] for name in names), key=WEAKEST.index)
    if scope == "population" and kind == "certified" and names != {"worst"}:
        kind = "statistical"
    return (names.pop() if len(names) == 1 else BY_FORM), kind


def check_plan(plan: "Plan") -> None:
    """Raise where guarantee, kind and scope are not those of the forms, or forms do not fit."""
    for form in _checks.items(plan.forms, "forms"):
        _checks.instance(form, "each of forms", Form, "a Form")
    for planned in _checks.items(plan.attributes, "attributes"):
        _checks.instance(planned, "each of attributes", PlannedAttribute, "a PlannedAttribute")
    if not 1 <= len(plan.forms) <= MAX_FORMS:
        many = len(plan.forms) or "none"
        raise InputError(f"a plan must have at least one form, and at most {MAX_FORMS}, got {many}")
    _checks.choice(plan.guarantee, "guarantee", [*CLAIMS, BY_FORM])
    guarantee, kind = overall(plan.forms, plan.scope)
    if plan.guarantee != guarantee:
        raise InputError(
            f"the guarantee of a plan must be that of its forms, {guarantee!r}, "
            f"got {plan.guarantee!r}"
        )
    if plan.kind != kind:
        raise InputError(f"the kind of guarantee {guarantee!r} must be {kind!r}, got {plan.kind!r}")
    if plan.scope == "population" and plan.confidence is None:
        raise InputError("totals for the population must have a confidence, got none")
    _check_forms(plan)


def _check_forms(plan: "Plan") -> None:
    """Raise where shares do not sum to 2^64, or a form does not fit the attributes."""
    for number, form in enumerate(plan.forms, 1):
        _check_form(plan, number, form)
    if (total := sum(form.chance for form in plan.forms)) != CERTAIN:
        raise InputError(f"the shares of all forms must sum to 2^64 = {CERTAIN}, got {total}")
    for planned in plan.attributes:
        if planned.form > len(plan.forms):
            raise InputError(
                f"the form of {planned.name!r} must be from 1 to {len(plan.forms)}, "
                f"got {planned.form}"
            )
    for other in plan.alternatives:
        for name in other.variances:
            if name not in plan.domain:
                raise InputError(
                    f"{other.name!r} has a variance of {name!r}, which is no attribute"
                )


def _check_form(plan: "Plan", number: int, form: Form) -> None:
    for name in form.attributes:
        if name not in plan.domain:
            hint = _checks.near_miss(name, plan.domain.names)
            raise InputError(f"form {number} asks for {name!r}, which is no attribute{hint}")
        if plan[name].public:
            raise InputError(
                f"attribute {name!r} is public, so no form must ask for it, and form {number} does"
            )
    if len(form.totals) != len(plan.attributes):
        raise InputError(
            f"form {number} must have one total for each of {len(plan.attributes)} attributes, "
            f"got {len(form.totals)}"
        )
    try:
        form.channel.mechanisms(plan.domain)
    except InputError as problem:
        raise InputError(f"form {number}: {problem}") from None


def check_promises(plan: "Plan") -> None:
    """Raise where what a plan promises does not follow from its forms.

    A plan edited by hand does not keep this until it is certified again.
    """
    for number, form in enumerate(plan.forms, 1):
        if not float(form.record) >= form.channel.record:
            raise InputError(
                f"form {number} tells up to {form.channel.record!r} about the whole record, "
                f"and says {form.record!r}"
            )
    for index, planned in enumerate(plan.attributes):
        largest = max(float(form.totals[index]) for form in plan.forms)
        delta = max(form.deltas[index] for form in plan.forms)
        attained = float(plan.forms[planned.form - 1].totals[index])
        if not (float(planned.total) == largest == attained and planned.total_delta == delta):
            raise InputError(
                f"the total of {planned.name!r} must be the largest of its forms, {largest!r} "
                f"with delta {delta!r}, and name the form that attains it"
            )


def check_limits(plan: "Plan") -> None:
    """Raise where a total is above its limit, or does not follow from the forms."""
    check_promises(plan)
    for planned in plan.attributes:
        if planned.exceeds:
            where = f" in form {planned.form}" if len(plan.forms) > 1 else ""
            raise InputError(
                f"the total of {planned.name!r} must be at most its limit {planned.limit}, "
                f"got {planned.total}{where} under guarantee {plan.guarantee!r}; lower the budgets"
            )
