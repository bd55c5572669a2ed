"""Certifying a plan: its totals computed again, from the data and under its own guarantee."""

from typing import Any

import msgspec

from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.errors import DomainError
from seepage.leakage.release import PUBLIC
from seepage.plan.making import check_limits
from seepage.plan.model import Plan, Provenance
from seepage.plan.planned_attribute import as_json_number
from seepage.plan.promise import Promise
from seepage.totals import TotalLeakage, total_leakage

__all__ = ["certify"]


def certify(plan: Plan, data: Any, **options: Any) -> Plan:
    """Return a plan with its totals computed again, or refuse it where one exceeds its limit.

    What makes a plan that was edited by hand valid again: `save` the plan that is returned.

    Parameters
    ----------
    plan
        The plan, as `Plan.load(path, unchecked=True)` gives it.
    data
        Records, as any table that can be read in the plan's domain; or pair counts or tuples of
        that domain.  Pair counts do for the guarantees `worst`, `independent` and `tree`.  A
        sample does for `worst` only.
    options
        Options of `total_leakage` (`structure`, `reports`, `seed`, `progress`) and of tables.

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
    found = _totals(plan, data, options)
    promise = Promise.of(found, plan.guarantee, plan.domain)
    attributes = tuple(
        msgspec.structs.replace(planned, total=as_json_number(total), total_delta=delta)
        for planned, total, delta in zip(
            plan.attributes, promise.totals, promise.deltas, strict=True
        )
    )
    notes = dict.fromkeys((*promise.notes, *plan.notes))
    certified = msgspec.structs.replace(
        plan,
        attributes=attributes,
        provenance=Provenance.of(found.matrix.pairs, plan.provenance.settings),
        notes=tuple(notes),
        confidence=promise.confidence,
    )
    check_limits(certified)
    return certified


def _totals(plan: Plan, data: Any, options: dict[str, Any]) -> TotalLeakage:
    """Return the totals of a plan's budgets under its guarantee."""
    settings = dict(options)
    if isinstance(data, (PairCounts, Records)):
        if data.domain != plan.domain:
            where = data.domain.differences(plan.domain)
            raise DomainError(f"the data must be of the plan's domain: {where}")
    else:
        settings["domain"] = plan.domain
    if plan.guarantee == "sampled":
        stated = max(planned.total_delta for planned in plan.attributes)
        settings = {
            "seed": None,
            "confidence": plan.confidence or 0.95,
            **({"target_delta": stated} if 0 < stated < 1 else {}),
            **settings,
        }
    return total_leakage(
        data,
        {planned.name: planned.epsilon for planned in plan.attributes},
        mechanism={planned.name: _released(plan, planned.name) for planned in plan.attributes},
        guarantee=plan.guarantee,
        delta={planned.name: planned.delta for planned in plan.attributes},
        view=plan.view,
        **settings,
    )


def _released(plan: Plan, name: str) -> Any:
    """Return how an attribute is released, as `total_leakage` takes it."""
    planned = plan[name]
    if planned.public:
        return PUBLIC
    if plan.basis == "bound":
        return None
    return planned.made if planned.parameters else planned.mechanism
