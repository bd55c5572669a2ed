"""Certifying a plan again: the totals of every form computed anew, after an edit or on new data.

`total_leakage` walks the joint table of all attributes.  A form asks few of them, and its totals
need the joint table of those alone, with one target at a time; those of a form whose answers are
one report are computed in integers.
"""

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np

from seepage._numerics import Floats, Integers
from seepage._results import json_ready
from seepage.data.domain import Domain
from seepage.data.inputs import as_counted, as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.forms.form_totals import ExactForms
from seepage.errors import InputError
from seepage.leakage import leakage_matrix
from seepage.leakage.release import PUBLIC
from seepage.mechanisms.exact_probabilities import Thresholds, exact_cells, largest_ratio, log_above
from seepage.plan.form import Form, MatrixChannel, ProductChannel
from seepage.plan.make_plan import check_totals
from seepage.plan.plan import Plan
from seepage.plan.plan_of_forms import largest_total_fields
from seepage.plan.plan_parts import PlannedAttribute, Provenance, check_limits
from seepage.totals import TotalLeakage, total_leakage
from seepage.totals.total import TotalSettings

BY_MATRIX = ("exact", "worst")
"""The guarantees that the totals of a matrix can rest on."""


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
    pairs = as_pairs(known)
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
            msgspec.structs.replace(planned, **largest_total_fields(certified, index, planned.name))
            for index, planned in enumerate(plan.attributes)
        ),
        forms=tuple(certified),
        provenance=Provenance.of(pairs, plan.provenance.settings),
        notes=tuple(dict.fromkeys((*notes, *plan.notes))),
        confidence=confidence,
        alternatives=plan.alternatives if same else (),
    )
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


def exact_form_totals(
    form: Form, domain: Domain, records: Records, public: list[str], known: list[str]
) -> Floats | None:
    """Return the totals of every attribute; None where the form has no such short way.

    Parameters
    ----------
    form
        The form.
    domain, records
        The attributes of the plan, and the people.
    public, known
        Attributes that are released in the clear, and that the adversary knows of the person.
    """
    channel = form.channel
    if not isinstance(channel, ProductChannel):
        return None
    names = {question.mechanism for question in channel.questions}
    indices = [domain.index(question.attribute) for question in channel.questions]
    budgets = np.array([question.epsilon for question in channel.questions])
    if names == {"grr"}:
        clear, held = ([domain.index(name) for name in part] for part in (public, known))
        scorer = ExactForms(records, clear, held)
        return scorer.totals(scorer.table(indices), budgets) if scorer.fits(indices) else None
    if len(indices) > 1 or public or known or channel.questions[0].parameters:
        return None
    every = np.zeros(len(domain))
    every[indices[0]] = budgets[0]
    totals = leakage_matrix(records.pairs(), every, mechanism=names.pop()).values[:, indices[0]]
    return np.where(np.arange(len(domain)) == indices[0], budgets[0], totals)


def matrix_totals(
    channel: MatrixChannel,
    guarantee: str,
    known: PairCounts | Records,
    public: Sequence[str] = (),
) -> list[float]:
    """Return what the one report of a matrix tells about every attribute, asked or not.

    ln max over y, x, x' of P(y | x) / P(y | x'), P(y | x) = sum_z n[x, z] T[z, y] / (n_x 2^64),
    with n the counts of target value x and cell z of the answers, T the thresholds.

    Parameters
    ----------
    channel
        The channel.
    guarantee
        `"exact"`: as above, in integers, rounded up; `"worst"`: the epsilon of the matrix, for
        any distribution.
    known
        Records; pair counts suffice for `"worst"`.
    public
        Attributes that the adversary sees besides the report.

    Notes
    -----
    O(k cells outputs) integer products for a target with k values.
    """
    if guarantee not in BY_MATRIX:
        raise InputError(
            f"the totals of a matrix form rest on {' or '.join(BY_MATRIX)}, got {guarantee!r}"
        )
    if guarantee == "worst":
        if public:
            raise InputError("totals by 'worst' do not count public attributes; use 'exact'")
        return [channel.epsilon] * len(known.domain)
    if not isinstance(known, Records):
        raise InputError("the exact totals of a matrix need records, got pair counts")
    from seepage.designs.shaped.shape_form import answer_cells, counts_by_cell  # imports SciPy

    cells, seen = answer_cells(known, channel.attributes), known.groups(public)
    thresholds = exact_cells(int, channel.made.thresholds)
    found = list[float]()
    for name in known.domain.names:
        occurs = known.marginal(name) > 0
        if name in public and occurs.sum() > 1:
            found.append(math.inf)
        else:
            counts = counts_by_cell(known, name, cells, len(thresholds), seen)
            found.append(_total(counts.swapaxes(0, 1)[occurs], thresholds))
    return found


def _total(counts: Integers, thresholds: Thresholds) -> float:
    """Return the total of one target, from counts by value, what is public, and cell."""
    from seepage.designs.shaped.admissible_reports import scaled_means

    means = scaled_means(thresholds, counts)
    impossible = (means.max(axis=0) > 0) & (means.min(axis=0) == 0)
    return math.inf if impossible.any() else log_above(largest_ratio(means))
