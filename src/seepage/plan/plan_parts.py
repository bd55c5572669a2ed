"""The content of a plan: attributes and provenance, and checks of their consistency."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, cast

import msgspec

from seepage import __version__, _checks
from seepage._results import Progress, json_ready
from seepage.data import Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.data.table import TableOptions
from seepage.designs.form import Form, Strategy
from seepage.designs.report_channels import (
    Budget,
    Stored,
    check_frequencies,
    rounded_frequencies,
    stored_number,
)
from seepage.designs.wanted import Wanted, parse_want
from seepage.errors import InputError
from seepage.mechanisms.exact_draws import CERTAIN, Seed
from seepage.totals import GUARANTEES, KINDS

PLAN_GUARANTEES = [
    name for name in GUARANTEES if GUARANTEES[name].kind != "lower bound"
]
"""The guarantees of the totals of a plan: all except lower bounds."""

BY_FORM = "by form"
"""The guarantee of a plan whose forms have different ones."""

PlanKind = Literal["certified", "statistical", "assumed"]
"""The kinds of those guarantees."""

MAX_FORMS = 65_535
"""Maximum number of forms: reports have the number of their form in 16 bits."""


class Provenance(Stored, frozen=True, kw_only=True):
    """The data and settings that a plan was computed from.

    Parameters
    ----------
    digest
        SHA-256 of the pair counts, `PairCounts.digest`.
    records
        The number of records.
    population
        If they are a sample, the number of records that it was drawn from; not set
        otherwise.
    seepage
        The version of this package.
    settings
        Settings of the caller, as plain JSON.
    person
        The column that identifies the people, of each of whom one record was read; not
        set if every record was a person of its own.
    """

    digest: str
    records: Annotated[int, msgspec.Meta(ge=0)]
    seepage: str
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    population: Annotated[int, msgspec.Meta(ge=0)] | msgspec.UnsetType = msgspec.UNSET
    person: Annotated[str, msgspec.Meta(min_length=1)] | msgspec.UnsetType = (
        msgspec.UNSET
    )

    @property
    def reading(self) -> dict[str, Any]:
        """Table options by which records are read as those that the plan was computed
        from.
        """
        person = {"person": self.person} if self.person else {}
        return person | (
            {"missing": "drop"} if self.settings.get("missing") == "drop" else {}
        )

    @property
    def known(self) -> list[str]:
        """The attributes that the adversary is assumed to know of the person."""
        names = self.settings.get("known")
        return [str(name) for name in names] if isinstance(names, list) else []

    @classmethod
    def of(
        cls, pairs: PairCounts, settings: Mapping[str, Any], person: str | None = None
    ) -> "Provenance":
        """Return the provenance of a plan that was computed from these counts.

        The settings take a round trip through JSON, so that a plan that is loaded
        equals the one that was saved.
        """
        return cls(
            digest=pairs.digest,
            records=pairs.records,
            population=msgspec.UNSET if pairs.population is None else pairs.population,
            seepage=__version__,
            settings=msgspec.json.decode(msgspec.json.encode(json_ready(settings))),
            person=msgspec.UNSET if person is None else person,
        )


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
        _checks.progress(self.progress)


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


class StoredAttribute(Stored, frozen=True, kw_only=True):
    """One attribute in the file of a plan: its values, and what is promised about it.

    Parameters
    ----------
    name
        The attribute's name.
    public
        Whether its value is public: identity release, without a mechanism.
    limit
        The largest admissible total in nats; None for no limit.
    values, edges
        The values in the order of their codes, and the bin edges of a binned number.
    merged
        Further values and what each is coded as, `"*"` for all others, see `Attribute`.
    frequencies
        Nominal frequencies of the values, fixed in advance: they give the weights of
        the forms in an estimate.  Empty: uniform.
    """

    name: str
    public: bool = False
    limit: Budget | None = None
    values: tuple[str, ...]
    edges: tuple[float | Literal["inf", "-inf"], ...] = ()
    frequencies: tuple[Budget, ...] = ()
    merged: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.attribute.size and self.frequencies:
            check_frequencies(self.frequencies, self.attribute.size, f"{self.name!r}")

    @property
    def attribute(self) -> Attribute:
        """The attribute with its values and bin edges."""
        return Attribute(
            self.name, self.values, tuple(map(float, self.edges)), self.merged
        )


def stored_attributes(
    pairs: PairCounts,
    limits: Iterable[float],
    public: Iterable[str] = (),
    *,
    with_frequencies: bool = False,
) -> tuple[StoredAttribute, ...]:
    """Return the attributes of a plan.

    Parameters
    ----------
    pairs
        The pair counts that it was computed from.
    limits
        The largest admissible total of each attribute; infinity for no limit.
    public
        The attributes that are public.
    with_frequencies
        Store nominal frequencies, in whole percent.
    """
    names = set(public)
    return tuple(
        StoredAttribute(
            name=attribute.name,
            values=attribute.values,
            edges=tuple(map(stored_number, attribute.edges)),
            merged=attribute.merged,
            public=attribute.name in names,
            limit=None if limit == math.inf else float(limit),
            frequencies=tuple(rounded_frequencies(marginal))
            if with_frequencies
            else (),
        )
        for attribute, limit, marginal in zip(
            pairs.domain, limits, pairs.marginals, strict=True
        )
    )


class PlannedAttribute(StoredAttribute, frozen=True, kw_only=True):
    """One attribute of a plan, with its limit, its total, and the forms that ask for
    it.

    Parameters
    ----------
    name, public, limit, values, edges, frequencies
        As in the file of the plan.
    asking
        The forms that ask for it, each with its number from 1.
    mechanism
        The names of the mechanisms that perturb it; None if it is not collected.
    epsilon, delta
        The largest stated budget over its forms, 0 if it is not collected, and the
        largest delta.
    total, total_delta
        Total leakage in nats of all reports of one form about it, the maximum over all
        forms, and its delta.
    form
        The number of the form that attains it, from 1.
    observed
        For a population: the largest total on the table itself, for display; None if
        unknown.
    """

    asking: tuple[tuple[int, Form], ...]
    mechanism: str | None
    epsilon: float
    delta: float
    total: float
    total_delta: float
    form: int
    observed: float | None

    @classmethod
    def of(
        cls, stored: StoredAttribute, index: int, forms: Sequence[Form]
    ) -> "PlannedAttribute":
        """Return an attribute of a plan, by its index in the domain, with the plan's
        forms.
        """
        totals = [float(form.totals[index]) for form in forms]
        observed = [float((form.observed or form.totals)[index]) for form in forms]
        asking = tuple(
            one for one in enumerate(forms, 1) if stored.name in one[1].attributes
        )
        asked = [(form.question(stored.name), form.record) for _, form in asking]
        names = [question.mechanism if question else "matrix" for question, _ in asked]
        return cls(
            **msgspec.structs.asdict(stored),
            asking=asking,
            mechanism=", ".join(dict.fromkeys(names)) or None,
            epsilon=max(
                (one.epsilon if one else record for one, record in asked), default=0.0
            ),
            delta=max(
                (question.delta for question, _ in asked if question), default=0.0
            ),
            total=max(totals),
            total_delta=max(form.deltas[index] for form in forms),
            form=totals.index(max(totals)) + 1,
            observed=max(observed) if any(form.observed for form in forms) else None,
        )


def weakest_kind(forms: Iterable[Form], scope: str = "table") -> PlanKind:
    """Return the weakest kind of the guarantees of some forms.

    For a population `"certified"` totals are statistical, except those of guarantee
    `"worst"`.
    """
    names = {form.guarantee for form in forms}
    kind = max((GUARANTEES[name].kind for name in names), key=list(KINDS).index)
    is_proven = scope == "table" or names == {"worst"}
    return cast(PlanKind, kind if is_proven or kind != "certified" else "statistical")


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
    for form in _checks.items(plan.forms, "forms"):
        _checks.instance(form, "each of forms", Form, "a Form")
    for stored in _checks.items(plan.listed, "listed"):
        _checks.instance(stored, "each of listed", StoredAttribute, "a StoredAttribute")
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
    _checks.choice(form.guarantee, "guarantee", PLAN_GUARANTEES)
    if not form.chance:
        raise InputError(
            f"the share of form {number} must be at least 1 out of 2^64, got 0"
        )
    for name in form.attributes:
        if name not in plan.domain:
            hint = _checks.near_miss(name, plan.domain.names)
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
