"""What a plan must keep: its guarantee, its forms, and that its promises follow from the forms."""

from typing import TYPE_CHECKING, Any

from seepage import _checks
from seepage.errors import InputError
from seepage.mechanisms.randomness import CERTAIN
from seepage.plan.form import Form
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.totals.result import GUARANTEES

if TYPE_CHECKING:
    from seepage.plan.plan import Plan

CLAIMS = [name for name, kind in GUARANTEES.items() if kind != "lower bound"]
"""The guarantees that a plan can rest on: all but lower bounds."""

BY_FORM = "by form"
"""The guarantee of a plan whose forms rest on different ones."""

MOST_FORMS = 65_535
"""Reports carry the number of their form in 16 bits."""

WEAKEST = ("assumed", "statistical", "certified")
"""Kinds of guarantees, the weakest first."""


def overall(forms: tuple[Form, ...], scope: str = "table") -> tuple[str, Any]:
    """Return the guarantee of all forms together and its kind, that of the weakest.

    For a population totals hold with a confidence at best, but for the sum of all budgets.
    """
    names = {_checks.choice(form.guarantee, "guarantee", CLAIMS) for form in forms}
    kind = min((GUARANTEES[name] for name in names), key=WEAKEST.index)
    if scope == "population" and kind == "certified" and names != {"worst"}:
        kind = "statistical"
    return (names.pop() if len(names) == 1 else BY_FORM), kind


def check_guarantee(plan: "Plan") -> None:
    """Raise where guarantee, kind or scope are not those of the forms."""
    for form in _checks.items(plan.forms, "forms"):
        _checks.instance(form, "each of forms", Form, "a Form")
    for planned in _checks.items(plan.attributes, "attributes"):
        _checks.instance(planned, "each of attributes", PlannedAttribute, "a PlannedAttribute")
    if not 1 <= len(plan.forms) <= MOST_FORMS:
        many = len(plan.forms) or "none"
        raise InputError(
            f"a plan must have at least one form, and at most {MOST_FORMS}, got {many}"
        )
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


def check_forms(plan: "Plan") -> None:
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
    for place, planned in enumerate(plan.attributes):
        largest = max(float(form.totals[place]) for form in plan.forms)
        delta = max(form.deltas[place] for form in plan.forms)
        attained = float(plan.forms[planned.form - 1].totals[place])
        if not (float(planned.total) == largest == attained and planned.total_delta == delta):
            raise InputError(
                f"the total of {planned.name!r} must be the largest of its forms, {largest!r} "
                f"with delta {delta!r}, and name the form that attains it"
            )


def check_limits(plan: "Plan") -> None:
    """Raise where a total is above its limit."""
    for planned in plan.attributes:
        if planned.exceeds:
            where = f" in form {planned.form}" if len(plan.forms) > 1 else ""
            raise InputError(
                f"the total of {planned.name!r} must be at most its limit {planned.limit}, "
                f"got {planned.total}{where} under guarantee {plan.guarantee!r}; lower the budgets"
            )
