"""The content of a plan: attributes and provenance, and checks of their consistency."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, SupportsIndex

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.arrays import Floats
from seepage._core.errors import InputError
from seepage._core.progress import Progress
from seepage.channel.domain import Domain
from seepage.designs.changes import Change, Changes
from seepage.designs.forms.form import Form
from seepage.designs.forms.question import Stored
from seepage.designs.strategies import Strategy
from seepage.designs.want import Wanted, parse_want
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.randomness import Seed
from seepage.plan.attributes import (
    PlanKind,
    PlannedAttribute,
    StoredAttribute,
    weakest_kind,
)
from seepage.plan.provenance import Provenance
from seepage.plan.wire import Wire, described_collection, drawable, wire_digest
from seepage.tables.table_options import TableOptions
from seepage.totals.guarantees import GUARANTEES

PLAN_GUARANTEES = [
    name for name in GUARANTEES if GUARANTEES[name].kind != "lower bound"
]
"""The guarantees of the totals of a plan: all except lower bounds."""


BY_FORM = "by form"
"""The guarantee of a plan whose forms have different ones."""


MAX_FORMS = 65_535
"""Maximum number of forms: reports have the number of their form in 16 bits."""


@dataclass(frozen=True, kw_only=True)
class PerturbOptions:
    """Options of `Plan.perturb`, which describes them; `reading` are those of its
    table.
    """

    rng: Seed = field(default=None, repr=False)
    identifier: str | None = None
    key: bytes | str | os.PathLike[str] | None = field(default=None, repr=False)
    progress: Progress | None = None
    reading: TableOptions = field(default_factory=TableOptions)

    def __post_init__(self) -> None:
        """Check the options of perturbing in a plan's content."""
        checks.progress(self.progress)


class PlanContent(Stored, frozen=True, kw_only=True, dict=True):
    """The content of a plan, checked for consistency when it is made; see `Plan`."""

    listed: tuple[StoredAttribute, ...] = msgspec.field(name="attributes")
    forms: tuple[Form, ...]
    basis: Literal["bound", "mechanism"] = "bound"
    view: Literal["report", "inferred"] = "report"
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    scope: Literal["table", "population"] = "table"
    provenance: Provenance
    notes: tuple[str, ...] = ()
    alternatives: tuple[Strategy, ...] = ()
    priced: tuple[Change, ...] = msgspec.field(default=(), name="changes")

    def __post_init__(self) -> None:
        """Check the content of a plan."""
        _check_plan(self)

    @cached_property
    def domain(self) -> Domain:
        """Every attribute of the plan's content, collected or not."""
        return Domain(stored.attribute for stored in self.listed)

    @property
    def public(self) -> list[str]:
        """The attributes that the plan's content releases as they are."""
        return [stored.name for stored in self.listed if stored.public]

    @cached_property
    def attributes(self) -> tuple[PlannedAttribute, ...]:
        """The attributes of the plan's content in the order of the domain, with their
        totals and forms.
        """
        return tuple(
            PlannedAttribute.of(stored, index, self.forms)
            for index, stored in enumerate(self.listed)
        )

    @cached_property
    def changes(self) -> Changes:
        """The changes in the plan's content: what they cost or save in people, at
        most.
        """
        return Changes(self.priced)

    @cached_property
    def guarantee(self) -> str:
        """The guarantee of the totals in the plan's content; `"by form"` if forms
        differ.
        """
        names = {form.guarantee for form in self.forms}
        if len(names) > 1:
            return BY_FORM
        return names.pop()

    @cached_property
    def kind(self) -> PlanKind:
        """Whether the totals of the plan's content are certified, statistical or
        assumed: as the weakest form's.
        """
        return weakest_kind(self.forms, self.scope)

    @cached_property
    def form_mechanisms(self) -> tuple[dict[str, Mechanism], ...]:
        """The mechanisms of each form of the plan's content by the name of their
        report.

        The name is that of the attribute in a product, and "report" for a matrix.
        """
        return tuple(form.channel.mechanisms(self.domain) for form in self.forms)

    @property
    def is_single(self) -> bool:
        """Whether by the plan's content everyone is asked the same, with one report for
        each answer.
        """
        return len(self.forms) == 1 and self.forms[0].is_product

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanism of each attribute that the plan's content collects, in order;
        raises unless `is_single`.
        """
        if not self.is_single:
            raise InputError(
                "forms have mechanisms of their own; see `form_mechanisms`"
            )
        (mechanisms,) = self.form_mechanisms
        return {
            name: mechanisms[name] for name in self.domain.names if name in mechanisms
        }

    @property
    def collected(self) -> Domain:
        """The attributes that some form of the plan's content asks for."""
        return self.domain.select(
            planned.name for planned in self.attributes if planned.asking
        )

    @property
    def person(self) -> str | None:
        """The column of the plan's content that identifies a person, who sends one
        report; None if each record does.
        """
        return self.provenance.person or None

    @property
    def epsilons(self) -> Floats:
        """The largest budget of every attribute that the plan's content states, 0 if it
        is not collected.
        """
        return np.array([planned.epsilon for planned in self.attributes])

    @property
    def totals(self) -> Floats:
        """The total leakage about every attribute in the plan's content, in nats."""
        return np.array([planned.total for planned in self.attributes])

    def __getitem__(self, name: str | SupportsIndex) -> PlannedAttribute:
        """Return one attribute of the plan's content."""
        return self.attributes[self.domain.index(name)]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan's content in canonical JSON: sorted keys, no blanks."""
        content = msgspec.json.decode(
            msgspec.json.encode(self, enc_hook=str), type=PlanContent
        )
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()

    @property
    def description(self) -> Wire:
        """The wire form of the plan's content, with a mechanism that has none described
        by its parameters.
        """
        return described_collection(self.collected, self.forms, self.form_mechanisms)

    @property
    def wire(self) -> Wire:
        """What a client needs of the plan's content to draw reports; see `plan.wire`.

        A mechanism that is not drawn by integer thresholds (SHE, Gaussian) raises an
        InputError.
        """
        return drawable(self.description)

    @cached_property
    def collection(self) -> str:
        """SHA-256 of the plan's content in its wire form, which determines the meaning
        of reports, and is stored in them.

        A mechanism without a wire form enters by its parameters.  Plans that differ in
        limits, totals or notes alone share it.
        """
        return wire_digest(self.description)

    @property
    def whom(self) -> str:
        """For whom the totals of the plan's content hold, in words; empty if they are
        an assumption.
        """
        if self.guarantee == "worst":
            return "for everybody"
        if self.scope == "population":
            return f"for the population at {self.confidence:g}"
        if self.kind == "assumed":
            return ""
        return "for this table only"


def _check_plan(plan: PlanContent) -> None:
    """Raise unless the fields of a plan's content agree with each other."""
    _check_types(plan)
    if not 1 <= len(plan.forms) <= MAX_FORMS:
        number = len(plan.forms) or "none"
        raise InputError(f"a plan must have from 1 to {MAX_FORMS} forms, got {number}")
    if plan.scope == "population" and plan.confidence is None:
        raise InputError("totals for the population must have a confidence, got none")
    for number, form in enumerate(plan.forms, 1):
        _check_form(plan, number, form)
    _check_shares(plan.forms)
    _check_alternatives(plan)
    _check_changes(plan)
    _check_known(plan)
    _check_limits(plan)
    wanted_of(plan)


def _check_types(plan: PlanContent) -> None:
    """Raise unless forms and attributes of a plan's content are objects of their
    classes.
    """
    for form in checks.items(plan.forms, "forms"):
        checks.instance(form, "each of forms", Form, "a Form")
    for stored in checks.items(plan.listed, "listed"):
        checks.instance(stored, "each of listed", StoredAttribute, "a StoredAttribute")


def _check_form(plan: PlanContent, number: int, form: Form) -> None:
    """Raise unless a form fits the attributes of the plan's content."""
    checks.choice(form.guarantee, "guarantee", PLAN_GUARANTEES)
    if not form.chance:
        raise InputError(
            f"the share of form {number} must be at least 1 out of 2^64, got 0"
        )
    for name in form.attributes:
        if name not in plan.domain:
            hint = checks.near_miss(name, plan.domain.names)
            raise InputError(
                f"form {number} asks for {name!r}, which is no attribute{hint}"
            )
        if name in plan.public:
            raise InputError(
                f"attribute {name!r} is public, so no form must ask for it, and form "
                f"{number} does"
            )
    if len(form.totals) != len(plan.listed):
        raise InputError(
            f"form {number} must have one total for each of {len(plan.listed)} "
            f"attributes, got {len(form.totals)}"
        )
    try:
        form.channel.mechanisms(plan.domain)
    except InputError as problem:
        raise InputError(f"form {number}: {problem}") from None


def _check_shares(forms: Sequence[Form]) -> None:
    """Raise unless the shares of all forms of a plan's content sum to 2^64."""
    total = sum(form.chance for form in forms)
    if total != CERTAIN:
        raise InputError(
            f"the shares of all forms must sum to 2^64 = {CERTAIN}, got {total}"
        )


def _check_alternatives(plan: PlanContent) -> None:
    """Raise if a plan's content has a strategy with an error of something that is no
    attribute.
    """
    for strategy in plan.alternatives:
        for name in strategy.errors:
            if name not in plan.domain:
                raise InputError(
                    f"{strategy.name!r} has an error of {name!r}, which is no attribute"
                )


def _check_changes(plan: PlanContent) -> None:
    """Raise if a plan's content has a change about something that is no attribute."""
    for change in checks.items(plan.priced, "priced"):
        checks.instance(change, "each of priced", Change, "a Change")
        for name in change.attributes:
            if name not in plan.domain:
                raise InputError(
                    f"a change is about {name!r}, which is no attribute of the plan"
                )


def _check_known(plan: PlanContent) -> None:
    """Raise if an attribute of a plan's content is both public and known, or one of
    these has a limit.
    """
    for name in plan.provenance.known:
        if name not in plan.domain:
            raise InputError(f"{name!r} is stated as known, and it is no attribute")
        if name in plan.public:
            raise InputError(f"{name!r} cannot be both public and known")
    for stored in plan.listed:
        unprotected = stored.public or stored.name in plan.provenance.known
        if unprotected and stored.limit is not None:
            raise InputError(
                f"{stored.name!r} is public or known, so it cannot have a limit, and "
                f"it has {stored.limit}"
            )


def _check_limits(plan: PlanContent) -> None:
    """Raise if a total of a plan's content is above the limit of its attribute."""
    for planned in plan.attributes:
        if planned.limit is not None and not planned.total <= planned.limit:
            raise InputError(
                f"the total of {planned.name!r} must be at most its limit "
                f"{planned.limit}, got {planned.total} in form {planned.form}"
            )


def wanted_of(plan: PlanContent) -> Wanted:
    """Return from the content of a plan the means and joint tables that it was designed
    for.
    """
    return parse_want(plan.domain, plan.provenance.settings.get("want", ()))
