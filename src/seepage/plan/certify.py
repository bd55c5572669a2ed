"""`certify`: compute the totals of every form of a plan again, after an edit or on new data.

`total_leakage` enumerates the joint table of all attributes.  A form asks few of them, and its
totals need only the joint table of these, with one target at a time (`ExactForms`); those of
a form with one report for all answers are computed in integers (`matrix_totals`).
"""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from seepage._numerics import Floats, Integers
from seepage._results import json_ready
from seepage.data.inputs import as_counted, as_pairs
from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.forms.form_totals import ExactForms, FormCounter
from seepage.errors import InputError
from seepage.leakage import leakage_matrix
from seepage.leakage.release import PUBLIC
from seepage.mechanisms.exact_probabilities import Thresholds, exact_cells, largest_ratio, log_above
from seepage.plan.form import Form, MatrixChannel, ProductChannel
from seepage.plan.make_plan import check_totals, largest_total_fields
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import PlannedAttribute, Provenance, check_limits
from seepage.totals import TotalLeakage, total_leakage
from seepage.totals.total import TotalSettings

MATRIX_GUARANTEES = ("exact", "worst")
"""The guarantees of the totals of a matrix."""


def certify(plan: Plan, data: Any, **options: Any) -> Plan:
    """Return a plan with its totals computed again; a total above its limit raises an InputError.

    A plan that was edited by hand becomes valid again: `save` the returned plan.

    Parameters
    ----------
    plan
        The plan, as `Plan.load(path, unchecked=True)` gives it.
    data
        Any table that can be read in the plan's domain, or `Records` or `PairCounts` of it; other
        columns are ignored.  Pair counts suffice for the guarantees `worst` and
        `independent`, a sample for `worst` only.
    options
        Options of `total_leakage` (`reports`, `seed`, `progress`) and table options.

    Returns
    -------
    Plan
        The same budgets and limits, with new totals, provenance and digest.

    Notes
    -----
    Statistical totals are computed from new random reports unless a seed is given, so that budgets
    cannot be repeated until a seed lets them pass.

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
    settings, table_options = TotalSettings.split(options)
    needs_records = any(form.guarantee not in ("worst", "independent") for form in plan.forms)
    counted = as_counted(data, records=needs_records, within=plan.domain, **table_options)
    pairs = as_pairs(counted)
    certified, notes, confidence = list[Form](), list[str](), plan.confidence
    for form in plan.forms:
        if isinstance(form.channel, MatrixChannel):
            values = matrix_totals(form.channel, form.guarantee, counted, _public(plan))
            certified.append(_with_totals(form, values, []))
        elif (exact := _exact_totals(plan, form, counted)) is not None:
            certified.append(_with_totals(form, exact.tolist(), []))
        else:
            totals = _product_totals(plan, form, counted, settings)
            certified.append(_with_totals(form, totals.values.tolist(), totals.deltas.tolist()))
            notes += totals.notes
            confidence = totals.confidence
    is_unchanged = not plan.edited and pairs.digest == plan.provenance.digest
    certified_plan = msgspec.structs.replace(
        plan,
        attributes=tuple(
            msgspec.structs.replace(planned, **largest_total_fields(certified, index, planned.name))
            for index, planned in enumerate(plan.attributes)
        ),
        forms=tuple(certified),
        provenance=Provenance.of(pairs, plan.provenance.settings),
        notes=tuple(dict.fromkeys((*notes, *plan.notes))),
        confidence=confidence,
        alternatives=plan.alternatives if is_unchanged else (),
    )
    check_limits(certified_plan)
    return certified_plan


def _with_totals(form: Form, totals: list[float], deltas: list[float]) -> Form:
    return msgspec.structs.replace(
        form,
        totals=tuple(json_ready(totals)),
        total_deltas=tuple(deltas) if any(deltas) else (),
        record=json_ready(form.channel.record),
    )


def _exact_totals(plan: Plan, form: Form, counted: PairCounts | Records) -> Floats | None:
    """Return the exact totals of a product form from the joint table of the attributes it asks.

    None if the form needs `total_leakage`: it asks for all attributes, or it has several questions,
    not all of GRR, or a table that does not fit.
    """
    known, public = plan.provenance.settings.get("known", []), _public(plan)
    if form.guarantee != "exact" or plan.basis == "bound" or not isinstance(counted, Records):
        return None
    if plan.is_single and len(form.attributes) == len(plan.attributes) and not known:
        return None
    assert isinstance(form.channel, ProductChannel)
    index, questions = plan.domain.index, form.channel.questions
    asked = [index(question.attribute) for question in questions]
    budgets = np.array([question.epsilon for question in questions])
    if {question.mechanism for question in questions} == {"grr"}:
        counter = FormCounter(counted, list(map(index, public)), list(map(index, known)))
        scorer = ExactForms(counter)
        if scorer.fits(asked):
            return scorer.totals(counter.table(asked), budgets)
    elif len(asked) == 1 and not (public or known or questions[0].parameters or questions[0].delta):
        epsilons = np.zeros(len(plan.domain))
        epsilons[asked] = budgets
        matrix = leakage_matrix(counted.pairs(), epsilons, mechanism=questions[0].mechanism)
        return np.asarray(matrix.values[:, asked[0]] + epsilons)  # the diagonal is 0
    if known:
        raise InputError("totals conditional on known attributes need forms of GRR reports")
    return None


def _public(plan: Plan) -> list[str]:
    return [planned.name for planned in plan.attributes if planned.public]


def _product_totals(
    plan: Plan, form: Form, counted: PairCounts | Records, settings: dict[str, Any]
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
    totals = total_leakage(
        counted,
        {name: question.epsilon if question else 0.0 for name, question in asked.items()},
        mechanism={planned.name: _release(plan, form, planned) for planned in plan.attributes},
        guarantee=form.guarantee,
        delta={name: question.delta if question else 0.0 for name, question in asked.items()},
        view=plan.view,
        **settings,
    )
    check_totals(totals, form.guarantee, plan.domain)
    return totals


def _release(plan: Plan, form: Form, planned: PlannedAttribute) -> Any:
    """Return the `mechanism` argument of `total_leakage` for an attribute."""
    question = form.question(planned.name)
    if planned.public:
        return PUBLIC
    if plan.basis == "bound" or question is None:
        return None
    return question.mechanism_for(planned.attribute.size)


def matrix_totals(
    channel: MatrixChannel,
    guarantee: str,
    counted: PairCounts | Records,
    public: Sequence[str] = (),
) -> list[float]:
    """Return the total leakage of a matrix's report about every attribute, asked or not, in nats.

    ln max over y, x, x' of P(y | x) / P(y | x'), P(y | x) = sum_z n[x, z] T[z, y] / (n_x 2^64),
    with n the counts of target value x and cell z of the answers, T the thresholds.

    Parameters
    ----------
    channel
        The channel.
    guarantee
        `"exact"`: as above, in integers, rounded up; `"worst"`: the epsilon of the matrix, for
        any distribution.
    counted
        Records; pair counts suffice for `"worst"`.
    public
        Attributes that the adversary sees besides the report.

    Notes
    -----
    O(k cells outputs) integer products for a target with k values.
    """
    if guarantee not in MATRIX_GUARANTEES:
        raise InputError(
            f"the guarantee of a matrix form must be {' or '.join(MATRIX_GUARANTEES)}, "
            f"got {guarantee!r}"
        )
    if guarantee == "worst":
        if public:
            raise InputError("totals by 'worst' do not count public attributes; use 'exact'")
        return [channel.epsilon] * len(counted.domain)
    if not isinstance(counted, Records):
        raise InputError("the exact totals of a matrix need records, got pair counts")
    from seepage.designs.shaped.shape_form import answer_cells, counts_by_cell  # imports SciPy

    cells, public_groups = answer_cells(counted, channel.attributes), counted.groups(public)
    thresholds = exact_cells(int, channel.mechanism.thresholds)
    totals = list[float]()
    for name in counted.domain.names:
        occurs = counted.marginal(name) > 0
        if name in public and occurs.sum() > 1:
            totals.append(math.inf)
        else:
            counts = counts_by_cell(counted, name, cells, len(thresholds), public_groups)
            totals.append(_target_total(counts.swapaxes(0, 1)[occurs], thresholds))
    return totals


def _target_total(counts: Integers, thresholds: Thresholds) -> float:
    """Return the total of one target, from counts by value, public values and cell."""
    from seepage.designs.shaped.admissible_reports import scaled_means

    means = scaled_means(thresholds, counts)
    impossible = (means.max(axis=0) > 0) & (means.min(axis=0) == 0)
    return math.inf if impossible.any() else log_above(largest_ratio(means))
