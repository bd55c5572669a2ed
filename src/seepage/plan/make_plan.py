"""`plan_of_forms` and `make_plan`: plans of forms, or of one budget for each attribute, checked."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import json_ready
from seepage.data.domain import Attribute, Domain, for_each
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.mechanisms import Mechanism
from seepage.plan.form import (
    Form,
    MatrixChannel,
    ProductChannel,
    Question,
    best_mechanism,
    whole_shares,
)
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import (
    CLAIMS,
    Alternative,
    PlannedAttribute,
    Provenance,
    check_limits,
    overall,
)
from seepage.totals.result import GUARANTEES, TotalLeakage, check_whole_table


class FormDraft(NamedTuple):
    """A form whose share is a real number yet.

    Parameters
    ----------
    share
        How many people are given the form, relative to the other forms.
    channel
        How answers become reports.
    guarantee
        What the totals rest on; None for that of the plan.
    totals, deltas
        One for each attribute of the domain, asked or not; no deltas stand for zeros.
    record
        What the form tells about the whole record; None for what its channel says.
    """

    share: float
    channel: ProductChannel | MatrixChannel
    guarantee: str | None = None
    totals: Sequence[float] | Floats = ()
    record: float | None = None
    deltas: Sequence[float] | Floats = ()


def plan_of_forms(
    pairs: PairCounts,
    drafts: Iterable[FormDraft | tuple[Any, ...]],
    *,
    limit: Any,
    guarantee: str | None = None,
    public: Iterable[str] = (),
    basis: Literal["bound", "mechanism"] = "mechanism",
    view: Literal["report", "inferred"] = "report",
    confidence: float | None = None,
    scope: Literal["table", "population"] = "table",
    frequencies: Sequence[Sequence[float] | Floats] | None = None,
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    alternatives: Sequence[Alternative] = (),
) -> Plan:
    """Return the plan that consists of these forms.

    Parameters
    ----------
    pairs
        The counts that the forms were designed with: domain, records, digest, and nominal
        frequencies.  A sample raises an error, unless all totals rest on `"worst"`.
    drafts
        The forms; a form whose share rounds to 0 out of 2^64 is left out.
    limit
        The largest admissible total of each attribute: one for all, a sequence, or a mapping by
        name; None or infinity for no limit.
    guarantee
        The guarantee of forms that name none.
    public
        Attributes that are public already.
    basis, view, confidence, scope
        As in `Plan`.
    frequencies
        Nominal frequencies of each attribute's values; by default those of the counts, where
        there is more than one form or a matrix.
    settings, notes
        For the provenance, as plain JSON, and for the reader.
    alternatives
        Other ways to keep the same limits.

    Returns
    -------
    Plan
        Every total is at most its limit; a larger one raises an InputError.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan import Question
    >>> adult = sp.load_pairs("adult").select(["sex", "race"])
    >>> ask = [
    ...     Question(attribute=name, mechanism="grr", epsilon=1.0) for name in adult.domain.names
    ... ]
    >>> forms = [(1.0, ProductChannel(questions=(one,)), "worst", [1.0, 1.0]) for one in ask]
    >>> plan = plan_of_forms(adult, forms, limit=1.0)
    >>> plan.guarantee, plan["sex"].epsilon, [form.attributes for form in plan.forms]
    ('worst', 1.0, [('sex',), ('race',)])
    """
    forms = _forms([FormDraft(*draft) for draft in drafts], guarantee)
    for name in dict.fromkeys(form.guarantee for form in forms):
        check_whole_table(pairs, name, "plans", scope)
    together, kind = overall(forms, scope)
    known = {pairs.domain[name].name for name in public}
    limits = [_limit(value) for value in for_each(pairs.domain, limit, "limit")]
    nominal = _nominal(pairs, forms) if frequencies is None else frequencies
    planned = [
        PlannedAttribute(
            name=attribute.name,
            values=attribute.values,
            edges=tuple(json_ready(attribute.edges)),
            public=attribute.name in known,
            limit=limits[index],
            frequencies=tuple(map(float, nominal[index])) if len(nominal) else (),
            **largest_total(forms, index, attribute.name),
        )
        for index, attribute in enumerate(pairs.domain)
    ]
    plan = Plan(
        attributes=tuple(planned),
        forms=forms,
        guarantee=together,
        kind=kind,
        basis=basis,
        view=view,
        confidence=confidence,
        scope=scope,
        provenance=Provenance.of(pairs, _plain(settings or {})),
        notes=tuple(notes),
        alternatives=tuple(alternatives),
    )
    check_limits(plan)
    return plan


def _forms(drafts: Sequence[FormDraft], guarantee: str | None) -> tuple[Form, ...]:
    shares = whole_shares([draft.share for draft in drafts])
    return tuple(
        Form(
            share=str(share),
            channel=draft.channel,
            guarantee=draft.guarantee or guarantee or "",
            totals=tuple(json_ready([float(total) for total in draft.totals])),
            total_deltas=tuple(map(float, draft.deltas)) if np.any(draft.deltas) else (),
            record=json_ready(max(draft.record or 0.0, draft.channel.record)),
        )
        for draft, share in zip(drafts, shares, strict=True)
        if share
    )


def largest_total(forms: Sequence[Form], index: int, name: str) -> dict[str, Any]:
    """Return the fields of an attribute that say what its worst form tells."""
    try:
        totals = [float(form.totals[index]) for form in forms]
    except IndexError:
        raise InputError(
            f"every form must have a total of every attribute, {name!r} has none"
        ) from None
    worst = int(np.argmax(totals))
    return {
        "total": forms[worst].totals[index],
        "total_delta": max(form.deltas[index] for form in forms),
        "form": worst + 1,
    }


def _nominal(pairs: PairCounts, forms: Sequence[Form]) -> Sequence[Floats]:
    if not pairs.records or (len(forms) == 1 and forms[0].is_product):
        return []
    return [marginal / pairs.records for marginal in pairs.marginals]


def _limit(value: Any) -> float | None:
    if value is None or value == math.inf:
        return None
    return _checks.epsilon(value, "limit")


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as what reading them back from JSON gives."""
    try:
        return dict(msgspec.json.decode(msgspec.json.encode(json_ready(settings))))
    except TypeError as problem:
        raise InputError(f"settings must be plain JSON: {problem}") from None


def make_plan(
    data: Any,
    epsilon: Any,
    *,
    limit: Any,
    totals: Any,
    mechanism: Any = None,
    guarantee: str | None = None,
    delta: Any = 0.0,
    collect: Iterable[str] | None = None,
    public: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    **table_options: Any,
) -> Plan:
    """Return the plan that collects the attributes of a table with these budgets.

    Parameters
    ----------
    data
        The table that the budgets were found with, or its pair counts: domain, records and
        digest.  A sample raises an error, unless the totals rest on the guarantee `"worst"`.
    epsilon, delta
        The budget of every attribute: one for all, a sequence, or a mapping by name.
    limit
        The largest admissible total of each attribute, likewise; None for no limit.
    totals
        The total leakages: a `TotalLeakage`, which brings its guarantee, view, confidence and
        notes and must have been computed for these budgets; or one number for each attribute, as
        a bound for any mechanisms with these budgets.
    mechanism
        A name or `Mechanism` for all, a sequence, or a mapping by name.  None stands for
        `best_mechanism`, which needs no delta.
    guarantee
        The name of what the totals rest on; only where `totals` are plain numbers.
    collect
        The attributes to collect; by default those with a budget above 0.  The others have no
        report, and their totals say what the collected ones tell about them.
    public
        Attributes that are public already: not collected, and known to the adversary.
    settings
        What the caller chose, as plain JSON, for the provenance.
    notes
        Further remarks for the reader.
    table_options
        Table options of `count_pairs`.

    Returns
    -------
    Plan
        Every total is at most its limit; a larger one raises an InputError.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> plan = make_plan(adult, 1.0, limit=3.0, guarantee="worst", totals=[3.0, 3.0, 3.0])
    >>> plan["race"].mechanism, plan.kind, plan.provenance.records
    ('grr', 'certified', 48842)
    """
    pairs = as_pairs(data, **table_options)
    domain = pairs.domain
    values, deltas, claim = _promised(totals, guarantee, domain)
    budgets = [_checks.epsilon(value) for value in for_each(domain, epsilon, "epsilon")]
    slacks = [_checks.delta(value) for value in for_each(domain, delta, "delta")]
    chosen = for_each(domain, mechanism, "mechanism")
    known = {domain[name].name for name in public}
    kept = _collected(domain, budgets, collect, known)
    if not any(kept):
        raise InputError("a plan must collect at least one attribute, got none")
    questions = [
        _question(attribute, chosen[i], budgets[i], slacks[i])
        for i, attribute in enumerate(domain)
        if kept[i]
    ]
    plan = plan_of_forms(
        pairs,
        [FormDraft(1.0, ProductChannel(questions=tuple(questions)), totals=values, deltas=deltas)],
        limit=limit,
        public=known,
        settings=settings,
        notes=(*totals.notes, *notes) if isinstance(totals, TotalLeakage) else notes,
        **claim,
    )
    if isinstance(totals, TotalLeakage):
        _check_computed(totals, pairs, plan)
    return plan


def _promised(
    totals: Any, guarantee: str | None, domain: Domain
) -> tuple[list[float], list[float], dict[str, Any]]:
    """Return the totals, their deltas, and the fields of a plan that say what they rest on."""
    if isinstance(totals, TotalLeakage):
        check_totals(totals, guarantee, domain)
        free = all(r.mechanism is None for r in totals.matrix.releases)
        claim = {
            "guarantee": totals.guarantee,
            "basis": "bound" if free else "mechanism",
            "view": totals.view,
            "confidence": totals.confidence,
            "scope": totals.scope,
        }
        return totals.values.tolist(), totals.deltas.tolist(), claim
    numbers = [_total(total) for total in np.atleast_1d(totals)]
    if len(numbers) != len(domain):
        raise InputError(
            f"totals must be one number for each of the {len(domain)} attributes, "
            f"got {len(numbers)}"
        )
    name = _checks.choice(guarantee, "guarantee", CLAIMS)
    return numbers, [0.0] * len(numbers), {"guarantee": name, "basis": "bound"}


def _total(value: Any) -> float:
    number = _checks.real(value, "total")
    if not number >= 0:
        raise InputError(f"a total must be at least 0, got {value!r}")
    return number


def check_totals(totals: TotalLeakage, guarantee: str | None, domain: Domain) -> None:
    """Raise where totals are of other attributes or of another guarantee, or of a sample."""
    if guarantee not in (None, totals.guarantee):
        raise InputError(
            f"guarantee must be that of the totals, {totals.guarantee!r}, got {guarantee!r}"
        )
    if totals.domain != domain:
        where = totals.domain.differences(domain)
        raise InputError(f"the totals must be of the same attributes: {where}")
    check_whole_table(totals.matrix.pairs, totals.guarantee, "the totals of a plan", totals.scope)
    if totals.kind != GUARANTEES[totals.guarantee] and totals.scope == "table":
        raise InputError(
            f"a plan needs totals that are {GUARANTEES[totals.guarantee]}, and these are "
            f"{totals.kind}: {totals.notes[0]}"
        )


def _collected(
    domain: Domain, budgets: Sequence[float], names: Iterable[str] | None, public: set[str]
) -> list[bool]:
    if names is None:
        worth = zip(domain.names, budgets, strict=True)
        return [budget > 0 and name not in public for name, budget in worth]
    chosen = {domain[name].name for name in names}
    if chosen & public:
        raise InputError(f"{min(chosen & public)!r} cannot be both public and collected")
    return [name in chosen for name in domain.names]


def _question(attribute: Attribute, chosen: Any, epsilon: float, delta: float) -> Question:
    """Return how an attribute is asked for, from what the caller chose."""
    name, k = attribute.name, attribute.size
    if chosen is None:
        best = best_mechanism(k, epsilon)
        return Question(attribute=name, mechanism=best, epsilon=epsilon)
    if not isinstance(chosen, Mechanism):
        named = str(chosen).casefold()
        return Question(attribute=name, mechanism=named, epsilon=epsilon, delta=delta)
    if chosen.k != k:
        raise InputError(f"the mechanism of an attribute with {k} values has k = {chosen.k}")
    return Question.of(name, chosen)


def _check_computed(totals: TotalLeakage, pairs: PairCounts, plan: Plan) -> None:
    """Raise unless totals were computed for this table and for the plan's mechanisms and budgets.

    Totals that are sums of budgets hold for any table.
    """
    if totals.guarantee != "worst" and totals.matrix.pairs != pairs:
        raise InputError(
            f"the totals must be of the plan's own table of {pairs.records:,} records, and were "
            f"computed from another one, of {totals.matrix.pairs.records:,}"
        )
    for release, attribute in zip(totals.matrix.releases, plan.attributes, strict=True):
        made, assumed = attribute.made, release.mechanism
        if attribute.public or release.public:
            fits = attribute.public and release.public
        elif assumed is not None and made is not None:
            fits = assumed.describe() == made.describe()
        else:
            fits = attribute.epsilon <= release.epsilon and attribute.delta <= release.delta
        if not fits:
            raise InputError(
                f"the totals were not computed for the mechanism or budget of "
                f"{attribute.name!r}: {assumed or f'epsilon {release.epsilon}'} against "
                f"{made or f'epsilon {attribute.epsilon}'}"
            )
