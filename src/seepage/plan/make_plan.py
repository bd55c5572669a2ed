"""Plans from budgets and totals: `make_plan` (one form for everyone) and `plan_of_forms`."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import json_ready
from seepage.data.domain import Attribute, Domain, for_each
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.designs.form import Form, with_shares
from seepage.designs.report_channels import ProductChannel, Question, rounded_frequencies
from seepage.designs.strategies import Strategy
from seepage.errors import InputError
from seepage.mechanisms import best_mechanism
from seepage.mechanisms.base import Mechanism
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import (
    PLAN_GUARANTEES,
    Provenance,
    StoredAttribute,
    check_limits,
    overall_guarantee,
)
from seepage.totals.result import GUARANTEES, TotalLeakage, check_whole_table


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
        The table that the budgets were computed from, or its pair counts: they give domain, number
        of records and digest.  A sample raises an error, unless the guarantee is `"worst"`.
    epsilon, delta
        The budget of every attribute: one for all, a sequence, or a mapping by name.
    limit
        The largest admissible total of each attribute, likewise; None for no limit.
    totals
        The total leakages in nats: a `TotalLeakage` computed for these budgets, which also gives
        guarantee, view, confidence and notes; or one number per attribute, an upper bound for any
        mechanisms with these budgets.
    mechanism
        A name or `Mechanism` for all, a sequence, or a mapping by name.  None stands for
        `best_mechanism`: the pure mechanism with the lowest variance.
    guarantee
        The guarantee of the totals; only where `totals` are plain numbers.
    collect
        The attributes to collect; by default those with a budget above 0.  Other attributes have
        no report; their totals are what the reports of collected attributes leak about them.
    public
        Attributes whose values are public: not collected, and known to the adversary.
    settings
        Settings of the caller, as plain JSON, for the provenance.
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
    name, values, total_deltas, claim = _totals_and_claim(totals, guarantee, domain)
    budgets = [_checks.epsilon(value) for value in for_each(domain, epsilon, "epsilon")]
    deltas = [_checks.delta(value) for value in for_each(domain, delta, "delta")]
    mechanisms = for_each(domain, mechanism, "mechanism")
    public_names = {domain[name].name for name in public}
    collected = _collected(domain, budgets, collect, public_names)
    if not collected:
        raise InputError("a plan must collect at least one attribute, got none")
    each = zip(domain, mechanisms, budgets, deltas, strict=True)
    questions = tuple(
        _question(attribute, *chosen) for attribute, *chosen in each if attribute.name in collected
    )
    channel = ProductChannel(questions=questions)
    plan = plan_of_forms(
        pairs,
        [Form.of(channel, name, values, total_deltas)],
        limit=limit,
        public=public_names,
        settings=settings,
        notes=(*totals.notes, *notes) if isinstance(totals, TotalLeakage) else notes,
        **claim,
    )
    if isinstance(totals, TotalLeakage):
        _check_computed_for(totals, pairs, plan)
    return plan


def _totals_and_claim(
    totals: Any, guarantee: str | None, domain: Domain
) -> tuple[str, list[float], list[float], dict[str, Any]]:
    """Return the guarantee, the totals, their deltas; and basis, view, confidence and scope."""
    if isinstance(totals, TotalLeakage):
        check_totals(totals, guarantee, domain)
        any_mechanism = all(r.mechanism is None for r in totals.matrix.releases)
        claim = {
            "basis": "bound" if any_mechanism else "mechanism",
            "view": totals.view,
            "confidence": totals.confidence,
            "scope": totals.scope,
        }
        return totals.guarantee, totals.values.tolist(), totals.deltas.tolist(), claim
    name = _checks.choice(guarantee, "guarantee", PLAN_GUARANTEES)
    numbers = list(np.atleast_1d(totals))
    if len(numbers) != len(domain):
        raise InputError(
            f"totals must be one number for each of the {len(domain)} attributes, "
            f"got {len(numbers)}"
        )
    return name, numbers, [], {"basis": "bound"}


def check_totals(totals: TotalLeakage, guarantee: str | None, domain: Domain) -> None:
    """Raise if the totals have another domain or guarantee, or come from a sample of records."""
    if guarantee not in (None, totals.guarantee):
        rule = f"that of the totals, {totals.guarantee!r}"
        raise _checks.violation("guarantee", rule, guarantee)
    if totals.domain != domain:
        difference = totals.domain.differences(domain)
        raise InputError(f"the totals must be of the same attributes: {difference}")
    check_whole_table(totals.matrix.pairs, totals.guarantee, "the totals of a plan", totals.scope)
    if totals.kind != GUARANTEES[totals.guarantee].kind and totals.scope == "table":
        raise InputError(
            f"a plan needs totals that are {GUARANTEES[totals.guarantee].kind}, and these are "
            f"{totals.kind}: {totals.notes[0]}"
        )


def _collected(
    domain: Domain, budgets: Sequence[float], names: Iterable[str] | None, public: set[str]
) -> set[str]:
    """Return the names of the attributes to collect."""
    if names is None:
        stated = zip(domain.names, budgets, strict=True)
        return {name for name, budget in stated if budget > 0} - public
    selected = {domain[name].name for name in names}
    if selected & public:
        raise InputError(f"{min(selected & public)!r} cannot be both public and collected")
    return selected


def _question(attribute: Attribute, given: Any, epsilon: float, delta: float) -> Question:
    """Return the question of an attribute from a mechanism, its name, or None for the best one."""
    name, k = attribute.name, attribute.size
    if given is None:
        best = best_mechanism(k, epsilon)
        return Question(attribute=name, mechanism=best, epsilon=epsilon)
    if not isinstance(given, Mechanism):
        key = str(given).casefold()
        return Question(attribute=name, mechanism=key, epsilon=epsilon, delta=delta)
    if given.k != k:
        raise InputError(
            f"the mechanism of {name!r} must have k = {k}, one input per value, got k = {given.k}"
        )
    return Question.of(name, given)


def _check_computed_for(totals: TotalLeakage, pairs: PairCounts, plan: Plan) -> None:
    """Raise unless the totals were computed for this table and the plan's mechanisms and budgets.

    Guarantee `"worst"` is a sum of budgets and holds for any table.
    """
    if totals.guarantee != "worst" and totals.matrix.pairs != pairs:
        raise InputError(
            f"the totals must be of the plan's own table of {pairs.records:,} records, and were "
            f"computed from another one, of {totals.matrix.pairs.records:,}"
        )
    for release, attribute in zip(totals.matrix.releases, plan.attributes, strict=True):
        planned, assumed = plan.mechanisms.get(attribute.name), release.mechanism
        if attribute.public or release.public:
            matches = attribute.public and release.public
        elif assumed is not None and planned is not None:
            matches = assumed.describe() == planned.describe()
        else:
            matches = attribute.epsilon <= release.epsilon and attribute.delta <= release.delta
        if not matches:
            raise InputError(
                f"the totals were not computed for the mechanism or budget of "
                f"{attribute.name!r}: {assumed or f'epsilon {release.epsilon}'} against "
                f"{planned or f'epsilon {attribute.epsilon}'}"
            )


# A plan of given forms ---------------------------------------------------------------------------


def plan_of_forms(
    pairs: PairCounts,
    forms: Iterable[Form],
    *,
    limit: Any,
    shares: Iterable[float] | None = None,
    public: Iterable[str] = (),
    basis: Literal["bound", "mechanism"] = "mechanism",
    view: Literal["report", "inferred"] = "report",
    confidence: float | None = None,
    scope: Literal["table", "population"] = "table",
    frequencies: Sequence[Sequence[float] | Floats] | None = None,
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    alternatives: Sequence[Strategy] = (),
) -> Plan:
    """Return the plan that consists of these forms.

    Parameters
    ----------
    pairs
        The pair counts that the forms were designed for: they give domain, number of records,
        digest and nominal frequencies.  A sample raises an error, unless all
        totals have the guarantee `"worst"`.
    forms
        The forms.
    limit
        The largest admissible total of each attribute: one for all, a sequence, or a mapping by
        name; None or infinity for no limit.
    shares
        The share of people who are given each form, up to a common factor; a form whose share
        rounds to 0 out of 2^64 is dropped.  By default those of the forms, or equal ones.
    public
        Attributes that are public already.
    basis, view, confidence, scope
        As in `Plan`.
    frequencies
        Nominal frequencies of each attribute's values; by default the marginals of the counts,
        where there is more than one form or a matrix.
    settings, notes
        Settings for the provenance, as plain JSON, and remarks for the reader.
    alternatives
        Other strategies within the same limits.

    Returns
    -------
    Plan
        Every total is at most its limit; a larger one raises an InputError.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan import Form, ProductChannel
    >>> adult = sp.load_pairs("adult").select(["sex", "race"])
    >>> channels = [ProductChannel.of([name], ["grr"], [1.0]) for name in adult.domain.names]
    >>> forms = [Form.of(channel, "worst", [1.0, 1.0]) for channel in channels]
    >>> plan = plan_of_forms(adult, forms, limit=1.0)
    >>> plan.guarantee, plan["sex"].epsilon, [form.attributes for form in plan.forms]
    ('worst', 1.0, [('sex',), ('race',)])
    """
    forms = tuple(forms)
    if shares is not None or not any(form.chance for form in forms):
        forms = with_shares(forms, [1.0] * len(forms) if shares is None else shares)
    for name in dict.fromkeys(form.guarantee for form in forms):
        check_whole_table(pairs, name, "plans", scope)
    plan_guarantee, kind = overall_guarantee(forms, scope)
    public_names = {pairs.domain[name].name for name in public}
    limits = [_limit(value) for value in for_each(pairs.domain, limit, "limit")]
    nominal = _nominal_frequencies(pairs, forms) if frequencies is None else frequencies
    listed = [
        StoredAttribute(
            name=attribute.name,
            values=attribute.values,
            edges=tuple(json_ready(attribute.edges)),
            merged=attribute.merged,
            public=attribute.name in public_names,
            limit=limits[index],
            frequencies=tuple(map(float, nominal[index])) if len(nominal) else (),
        )
        for index, attribute in enumerate(pairs.domain)
    ]
    plan = Plan(
        listed=tuple(listed),
        forms=forms,
        guarantee=plan_guarantee,
        kind=kind,
        basis=basis,
        view=view,
        confidence=confidence,
        scope=scope,
        provenance=Provenance.of(pairs, _json_settings(settings or {})),
        notes=tuple(notes),
        alternatives=tuple(alternatives),
    )
    check_limits(plan)
    return plan


def _nominal_frequencies(pairs: PairCounts, forms: Sequence[Form]) -> Sequence[Sequence[float]]:
    if not pairs.records or (len(forms) == 1 and forms[0].is_product):
        return []
    return [rounded_frequencies(marginal) for marginal in pairs.marginals]


def _limit(value: Any) -> float | None:
    if value is None or value == math.inf:
        return None
    return _checks.epsilon(value, "limit")


def _json_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings after a round trip through JSON: a saved and loaded plan stays equal."""
    try:
        return dict(msgspec.json.decode(msgspec.json.encode(json_ready(settings))))
    except TypeError as problem:
        raise InputError(f"settings must be plain JSON: {problem}") from None
