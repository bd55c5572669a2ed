"""Certifying a plan again: the totals of every form computed anew, after an edit or on new data."""

from dataclasses import fields
from typing import Any

import msgspec

from seepage._results import json_ready
from seepage.data.inputs import as_counted
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import InputError
from seepage.leakage.release import PUBLIC
from seepage.plan.form import Form, MatrixChannel
from seepage.plan.form_recertification import exact_form_totals
from seepage.plan.make_plan import check_totals
from seepage.plan.matrix_totals import matrix_totals
from seepage.plan.plan import Plan
from seepage.plan.plan_checks import check_limits, check_promises
from seepage.plan.plan_of_forms import largest_total
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.plan.provenance import Provenance
from seepage.totals import TotalLeakage, total_leakage
from seepage.totals.total import TotalSettings


def certify(plan: Plan, data: Any, **options: Any) -> Plan:
    """Return a plan with its totals computed again; a total above its limit raises an InputError.

    This makes a plan valid again that was edited by hand: `save` the plan that is returned.

    Parameters
    ----------
    plan
        The plan, as `Plan.load(path, unchecked=True)` gives it.
    data
        Any table that can be read in the plan's domain, or what is counted in that domain; other
        columns are ignored.  Pair counts suffice for the guarantees `worst`, `independent` and
        `tree`, a sample for `worst` only.
    options
        Options of `total_leakage` (`structure`, `reports`, `seed`, `progress`) and table options.

    Returns
    -------
    Plan
        The same budgets and limits, with new totals, provenance and digest.

    Notes
    -----
    Statistical totals are computed from fresh reports unless a seed is given, so that budgets
    cannot be tried until one seed lets them pass.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan import make_plan
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> plan = make_plan(adult, 1.0, limit=3.1, guarantee="worst", totals=[3.1, 3.1, 3.1])
    >>> certify(plan, adult).totals.round(9).tolist()
    [3.0, 3.0, 3.0]
    """
    if plan.scope == "population":
        raise InputError(
            "totals for the population are not computed again from a table: design the plan anew"
        )
    settings, table = _split(options)
    records = any(form.guarantee not in ("worst", "independent") for form in plan.forms)
    known = as_counted(data, records=records, within=plan.domain, **table)
    pairs = known if isinstance(known, PairCounts) else known.pairs()
    certified, notes, confidence = list[Form](), list[str](), plan.confidence
    for form in plan.forms:
        if isinstance(form.channel, MatrixChannel):
            values = matrix_totals(form.channel, form.guarantee, known, _public(plan))
            certified.append(_renewed(form, values, []))
        elif (short := _short_way(plan, form, known)) is not None:
            certified.append(_renewed(form, short, []))
        else:
            found = _product_totals(plan, form, known, settings)
            certified.append(_renewed(form, found.values.tolist(), found.deltas.tolist()))
            notes += found.notes
            confidence = found.confidence
    same = not plan.edited and pairs.digest == plan.provenance.digest
    renewed = msgspec.structs.replace(
        plan,
        attributes=tuple(
            msgspec.structs.replace(planned, **largest_total(certified, place, planned.name))
            for place, planned in enumerate(plan.attributes)
        ),
        forms=tuple(certified),
        provenance=Provenance.of(pairs, plan.provenance.settings),
        notes=tuple(dict.fromkeys((*notes, *plan.notes))),
        confidence=confidence,
        alternatives=plan.alternatives if same else (),
    )
    check_promises(renewed)
    check_limits(renewed)
    return renewed


def _split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of totals, and the table options."""
    kept = {field.name for field in fields(TotalSettings)}
    settings = {name: value for name, value in options.items() if name in kept}
    return settings, {name: value for name, value in options.items() if name not in kept}


def _renewed(form: Form, totals: list[float], deltas: list[float]) -> Form:
    return msgspec.structs.replace(
        form,
        totals=tuple(json_ready(totals)),
        total_deltas=tuple(deltas) if any(deltas) else (),
        record=json_ready(form.channel.record),
    )


def _short_way(plan: Plan, form: Form, known: PairCounts | Records) -> list[float] | None:
    """Return the exact totals of a form from the joint table of what it asks, where it has them."""
    told = plan.provenance.settings.get("known", [])
    if form.guarantee != "exact" or plan.basis == "bound" or not isinstance(known, Records):
        return None
    if plan.is_single and len(form.attributes) == len(plan.attributes) and not told:
        return None
    found = exact_form_totals(form, plan.domain, known, _public(plan), told)
    if found is None and told:
        raise InputError("totals conditional on known attributes need forms of GRR reports")
    return None if found is None else found.tolist()


def _public(plan: Plan) -> list[str]:
    return [planned.name for planned in plan.attributes if planned.public]


def _product_totals(
    plan: Plan, form: Form, known: PairCounts | Records, settings: dict[str, Any]
) -> TotalLeakage:
    """Return the totals of a form's budgets under its guarantee."""
    if form.guarantee == "sampled":
        stated = max(form.deltas)
        settings = {
            "seed": None,
            "confidence": plan.confidence or 0.95,
            **({"target_delta": stated} if 0 < stated < 1 else {}),
            **settings,
        }
    asked = {name: form.question(name) for name in plan.domain.names}
    found = total_leakage(
        known,
        {name: question.epsilon if question else 0.0 for name, question in asked.items()},
        mechanism={planned.name: _released(plan, form, planned) for planned in plan.attributes},
        guarantee=form.guarantee,
        delta={name: question.delta if question else 0.0 for name, question in asked.items()},
        view=plan.view,
        **settings,
    )
    check_totals(found, form.guarantee, plan.domain)
    return found


def _released(plan: Plan, form: Form, planned: PlannedAttribute) -> Any:
    """Return the release of an attribute, as `total_leakage` takes it."""
    question = form.question(planned.name)
    if planned.public:
        return PUBLIC
    if plan.basis == "bound" or question is None:
        return None
    return question.made_for(planned.attribute.size) if question.parameters else question.mechanism
