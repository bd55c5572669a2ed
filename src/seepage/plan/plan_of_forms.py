"""Plans made of forms: shares rounded to integers, totals checked against the limits."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from seepage import _checks
from seepage._numerics import Floats
from seepage._results import json_ready
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.leakage.release import for_each
from seepage.plan.form import Form, MatrixChannel, ProductChannel, whole_shares
from seepage.plan.plan import Plan
from seepage.plan.plan_checks import check_limits, check_promises, overall
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.plan.provenance import Alternative, Provenance
from seepage.totals.result import refuse_sample


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
        refuse_sample(pairs, name, "plans", scope)
    together, kind = overall(forms, scope)
    known = {pairs.domain[name].name for name in public}
    limits = [_limit(value) for value in for_each(pairs.domain, limit, "limit")]
    nominal = _nominal(pairs, forms) if frequencies is None else frequencies
    planned = [
        PlannedAttribute.of(
            attribute,
            public=attribute.name in known,
            limit=limits[place],
            frequencies=tuple(map(float, nominal[place])) if len(nominal) else (),
            **largest_total(forms, place, attribute.name),
        )
        for place, attribute in enumerate(pairs.domain)
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
    check_promises(plan)
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


def largest_total(forms: Sequence[Form], place: int, name: str) -> dict[str, Any]:
    """Return the fields of an attribute that say what its worst form tells."""
    try:
        totals = [float(form.totals[place]) for form in forms]
    except IndexError:
        raise InputError(
            f"every form must have a total of every attribute, {name!r} has none"
        ) from None
    worst = int(np.argmax(totals))
    return {
        "total": forms[worst].totals[place],
        "total_delta": max(form.deltas[place] for form in forms),
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
