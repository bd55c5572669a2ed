"""`plan_of_forms`: a plan from its forms, with shares as integers and every limit checked."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import json_ready
from seepage.data.domain import for_each
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.plan.form import Form, MatrixChannel, ProductChannel, integer_shares
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import (
    Alternative,
    PlannedAttribute,
    Provenance,
    check_limits,
    overall_guarantee,
)
from seepage.totals.result import check_whole_table


class FormDraft(NamedTuple):
    """A form before its share is rounded to an integer out of 2^64.

    Parameters
    ----------
    share
        Share of people who are given the form, up to a factor common to all forms.
    channel
        The channel from answers to reports.
    guarantee
        The guarantee of the totals; None for that of the plan.
    totals, deltas
        Total leakage about each attribute of the domain, asked or not, and its delta; empty
        deltas are zeros.
    record
        Leakage of the form about the whole record; None for that of its channel.
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
        The pair counts that the forms were designed for: they give domain, number of records,
        digest and nominal frequencies.  A sample raises an error, unless all
        totals have the guarantee `"worst"`.
    drafts
        The forms; a form whose share rounds to 0 out of 2^64 is dropped.
    limit
        The largest admissible total of each attribute: one for all, a sequence, or a mapping by
        name; None or infinity for no limit.
    guarantee
        The guarantee of drafts that have none.
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
    >>> from seepage.plan import Question
    >>> adult = sp.load_pairs("adult").select(["sex", "race"])
    >>> questions = [
    ...     Question(attribute=name, mechanism="grr", epsilon=1.0) for name in adult.domain.names
    ... ]
    >>> forms = [(1.0, ProductChannel(questions=(q,)), "worst", [1.0, 1.0]) for q in questions]
    >>> plan = plan_of_forms(adult, forms, limit=1.0)
    >>> plan.guarantee, plan["sex"].epsilon, [form.attributes for form in plan.forms]
    ('worst', 1.0, [('sex',), ('race',)])
    """
    forms = _forms([FormDraft(*draft) for draft in drafts], guarantee)
    for name in dict.fromkeys(form.guarantee for form in forms):
        check_whole_table(pairs, name, "plans", scope)
    plan_guarantee, kind = overall_guarantee(forms, scope)
    public_names = {pairs.domain[name].name for name in public}
    limits = [_limit(value) for value in for_each(pairs.domain, limit, "limit")]
    nominal = _nominal_frequencies(pairs, forms) if frequencies is None else frequencies
    planned = [
        PlannedAttribute(
            name=attribute.name,
            values=attribute.values,
            edges=tuple(json_ready(attribute.edges)),
            public=attribute.name in public_names,
            limit=limits[index],
            frequencies=tuple(map(float, nominal[index])) if len(nominal) else (),
            **largest_total_fields(forms, index, attribute.name),
        )
        for index, attribute in enumerate(pairs.domain)
    ]
    plan = Plan(
        attributes=tuple(planned),
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


def _forms(drafts: Sequence[FormDraft], guarantee: str | None) -> tuple[Form, ...]:
    shares = integer_shares([draft.share for draft in drafts])
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


def largest_total_fields(forms: Sequence[Form], index: int, name: str) -> dict[str, Any]:
    """Return `total`, `total_delta` and `form` of an attribute: its maximum over all forms."""
    try:
        totals = [float(form.totals[index]) for form in forms]
    except IndexError:
        raise InputError(
            f"every form must have one total per attribute, {name!r} has none"
        ) from None
    worst = int(np.argmax(totals))
    return {
        "total": forms[worst].totals[index],
        "total_delta": max(form.deltas[index] for form in forms),
        "form": worst + 1,
    }


def _nominal_frequencies(pairs: PairCounts, forms: Sequence[Form]) -> Sequence[Floats]:
    if not pairs.records or (len(forms) == 1 and forms[0].is_product):
        return []
    return [marginal / pairs.records for marginal in pairs.marginals]


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
