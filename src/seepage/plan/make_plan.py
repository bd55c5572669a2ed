"""`make_plan`: a plan of one form, with one budget for each attribute, its totals checked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seepage import _checks
from seepage.data.domain import Attribute, Domain, for_each
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.mechanisms import Mechanism, best_mechanism
from seepage.plan.form import ProductChannel, Question
from seepage.plan.plan import Plan
from seepage.plan.plan_of_forms import FormDraft, plan_of_forms
from seepage.plan.plan_parts import PLAN_GUARANTEES
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
    values, total_deltas, claim = _totals_and_claim(totals, guarantee, domain)
    budgets = [_checks.epsilon(value) for value in for_each(domain, epsilon, "epsilon")]
    deltas = [_checks.delta(value) for value in for_each(domain, delta, "delta")]
    mechanisms = for_each(domain, mechanism, "mechanism")
    public_names = {domain[name].name for name in public}
    collected = _collected(domain, budgets, collect, public_names)
    if not any(collected):
        raise InputError("a plan must collect at least one attribute, got none")
    questions = [
        _question(attribute, mechanisms[i], budgets[i], deltas[i])
        for i, attribute in enumerate(domain)
        if collected[i]
    ]
    channel = ProductChannel(questions=tuple(questions))
    plan = plan_of_forms(
        pairs,
        [FormDraft(1.0, channel, totals=values, deltas=total_deltas)],
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
) -> tuple[list[float], list[float], dict[str, Any]]:
    """Return the totals, their deltas, and the plan's guarantee, basis, view, confidence, scope."""
    if isinstance(totals, TotalLeakage):
        check_totals(totals, guarantee, domain)
        any_mechanism = all(r.mechanism is None for r in totals.matrix.releases)
        claim = {
            "guarantee": totals.guarantee,
            "basis": "bound" if any_mechanism else "mechanism",
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
    name = _checks.choice(guarantee, "guarantee", PLAN_GUARANTEES)
    return numbers, [0.0] * len(numbers), {"guarantee": name, "basis": "bound"}


def _total(value: Any) -> float:
    number = _checks.real(value, "total")
    if not number >= 0:
        raise InputError(f"a total must be at least 0, got {value!r}")
    return number


def check_totals(totals: TotalLeakage, guarantee: str | None, domain: Domain) -> None:
    """Raise if the totals have another domain or guarantee, or come from a sample of records."""
    if guarantee not in (None, totals.guarantee):
        raise InputError(
            f"guarantee must be that of the totals, {totals.guarantee!r}, got {guarantee!r}"
        )
    if totals.domain != domain:
        difference = totals.domain.differences(domain)
        raise InputError(f"the totals must be of the same attributes: {difference}")
    check_whole_table(totals.matrix.pairs, totals.guarantee, "the totals of a plan", totals.scope)
    if totals.kind != GUARANTEES[totals.guarantee] and totals.scope == "table":
        raise InputError(
            f"a plan needs totals that are {GUARANTEES[totals.guarantee]}, and these are "
            f"{totals.kind}: {totals.notes[0]}"
        )


def _collected(
    domain: Domain, budgets: Sequence[float], names: Iterable[str] | None, public: set[str]
) -> list[bool]:
    """Return a mask of the attributes to collect."""
    if names is None:
        pairs = zip(domain.names, budgets, strict=True)
        return [budget > 0 and name not in public for name, budget in pairs]
    selected = {domain[name].name for name in names}
    if selected & public:
        raise InputError(f"{min(selected & public)!r} cannot be both public and collected")
    return [name in selected for name in domain.names]


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
        planned, assumed = attribute.made, release.mechanism
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
