"""The content of a plan: attributes and provenance, and checks of their consistency."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

import msgspec

from seepage._core import checks
from seepage._core.errors import InputError
from seepage._core.progress import Progress
from seepage.channel.domain import Domain
from seepage.designs.forms.form import Form
from seepage.designs.forms.question import Stored
from seepage.designs.strategies import Strategy
from seepage.designs.want import Wanted, parse_want
from seepage.mechanisms.exact_probabilities import CERTAIN
from seepage.mechanisms.randomness import Seed
from seepage.plan.attributes import PlannedAttribute, StoredAttribute
from seepage.plan.provenance import Provenance
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
class PerturbOptions(TableOptions):
    """Options of `Plan.perturb`; of tables, except `domain`, `bins` and `pool`.

    A record with a value outside the domain raises a DomainError with its row and
    column, unless its attribute has a catch-all value.  A report is always sent: a
    missing answer is a value like any other if the domain has it.

    Parameters
    ----------
    person
        The column that identifies the person, by default that of the plan: each person
        sends one report, of the first record that is not dropped.
    rng
        None draws from the operating system's generator.  For research only: a seed or
        NumPy generator gives the same reports again, and whoever knows it can remove
        the noise.
    identifier, key
        A column of stable identifiers from which forms and noise are derived, so that a
        person who is asked again gets the same form, and sends the same report for the
        same answers; and the secret key, bytes or the path of its file (see
        `seepage.collection.perturb.IdentifiedPeople`).
    progress
        Called with the number of records done and their total, None if unknown.
    """

    rng: Seed = field(default=None, repr=False)
    identifier: str | None = None
    key: bytes | str | os.PathLike[str] | None = field(default=None, repr=False)
    progress: Progress | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.progress(self.progress)


@dataclass(frozen=True, kw_only=True)
class QuestionnaireOptions:
    """Options of the questionnaire of a plan.

    Parameters
    ----------
    labels
        A codebook with the texts to show for attributes and values, see
        `seepage.collection.client_files.read_labels`.  A missing value is the answer
        "Prefer not to say", where the plan has it.
    endpoint
        The address that reports are sent to.  Without one the page makes no request,
        and offers the report as a file.
    title
        The heading; by default the plan's.
    texts
        A file of the page's other texts: introduction, consent, contact, another
        language; see `seepage.collection.client_files.read_texts`.
    """

    labels: str | os.PathLike[str] | None = None
    endpoint: str | None = None
    title: str | None = None
    texts: str | os.PathLike[str] | None = None


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

    def __post_init__(self) -> None:
        _check_plan(self)

    @cached_property
    def domain(self) -> Domain:
        """Every attribute, collected or not."""
        return Domain(stored.attribute for stored in self.listed)

    @property
    def public(self) -> list[str]:
        """The attributes that are released as they are."""
        return [stored.name for stored in self.listed if stored.public]

    @cached_property
    def attributes(self) -> tuple[PlannedAttribute, ...]:
        """The attributes in the order of the domain, with their totals and forms."""
        return tuple(
            PlannedAttribute.of(stored, index, self.forms)
            for index, stored in enumerate(self.listed)
        )


def _check_plan(plan: PlanContent) -> None:
    """Raise unless forms and alternatives fit the attributes, and totals are within
    limits.
    """
    for form in checks.items(plan.forms, "forms"):
        checks.instance(form, "each of forms", Form, "a Form")
    for stored in checks.items(plan.listed, "listed"):
        checks.instance(stored, "each of listed", StoredAttribute, "a StoredAttribute")
    if not 1 <= len(plan.forms) <= MAX_FORMS:
        number = len(plan.forms) or "none"
        raise InputError(f"a plan must have from 1 to {MAX_FORMS} forms, got {number}")
    if plan.scope == "population" and plan.confidence is None:
        raise InputError("totals for the population must have a confidence, got none")
    for number, form in enumerate(plan.forms, 1):
        _check_form(plan, number, form)
    if (total := sum(form.chance for form in plan.forms)) != CERTAIN:
        raise InputError(
            f"the shares of all forms must sum to 2^64 = {CERTAIN}, got {total}"
        )
    for other in plan.alternatives:
        for name in other.errors:
            if name not in plan.domain:
                raise InputError(
                    f"{other.name!r} has an error of {name!r}, which is no attribute"
                )
    for planned in plan.attributes:
        if planned.limit is not None and not planned.total <= planned.limit:
            raise InputError(
                f"the total of {planned.name!r} must be at most its limit {planned.limit}, "
                f"got {planned.total} in form {planned.form}"
            )


def _check_form(plan: PlanContent, number: int, form: Form) -> None:
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
                f"attribute {name!r} is public, so no form must ask for it, and form {number} does"
            )
    if len(form.totals) != len(plan.listed):
        raise InputError(
            f"form {number} must have one total for each of {len(plan.listed)} attributes, "
            f"got {len(form.totals)}"
        )
    try:
        form.channel.mechanisms(plan.domain)
    except InputError as problem:
        raise InputError(f"form {number}: {problem}") from None


def wanted_of(plan: PlanContent) -> Wanted:
    """Return the means and joint tables that a plan was designed for."""
    return parse_want(plan.domain, plan.provenance.settings.get("want", ()))
