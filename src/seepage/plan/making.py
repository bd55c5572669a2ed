"""Making plans, and the mechanism that serves an attribute best."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from seepage import _checks
from seepage.data.pairs import PairCounts
from seepage.errors import InputError
from seepage.leakage.release import for_each
from seepage.mechanisms import Mechanism, registered
from seepage.plan.model import Plan, Provenance
from seepage.plan.planned_attribute import PlannedAttribute, as_json_number
from seepage.plan.promise import Promise
from seepage.totals.result import TotalLeakage, refuse_sample

__all__ = ["best_mechanism", "check_limits", "make_plan"]

TIE = 1e-9
"""Variances within this relative distance are equal; the shorter report wins."""


def best_mechanism(k: int, epsilon: float) -> str:
    """Return the name of the registered mechanism with the least variance at a pure budget.

    Parameters
    ----------
    k
        The alphabet size.
    epsilon
        The budget.

    Notes
    -----
    Compared is `variance(1, 1/k)`: closed-form variances are affine in the frequency, so this is
    the mean over the k values whatever their distribution.  Of equal ones the shortest report
    wins, then the one registered first.  Mechanisms that need a delta are not considered.

    Examples
    --------
    >>> [best_mechanism(k, 1.0) for k in (1, 2, 4, 100)]
    ['grr', 'grr', 'grr', 'ss']
    """
    size, budget = _checks.integer(k, "k", 1), _checks.epsilon(epsilon)
    made: list[Mechanism] = [
        family(size, budget)  # type: ignore[call-arg]
        for family in registered().values()
        if not family.approximate
    ]
    variances = [float(mechanism.variance(1, 1 / size)) for mechanism in made]
    least = [m for m, v in zip(made, variances, strict=True) if v <= min(variances) * (1 + TIE)]
    return min(least, key=lambda mechanism: mechanism.bits).name


def make_plan(
    pairs: PairCounts,
    epsilon: Any,
    mechanism: Any = None,
    *,
    limit: Any,
    totals: Any,
    guarantee: str | None = None,
    delta: Any = 0.0,
    collect: Iterable[str] | None = None,
    public: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Plan:
    """Return the plan that collects the attributes of some counts with these budgets.

    Parameters
    ----------
    pairs
        The counts that the budgets were found with: domain, records and digest.  Those of a
        sample are refused, but for totals under the guarantee `"worst"`.
    epsilon, delta
        The budget of every attribute: one for all, a sequence, or a mapping by name.
    mechanism
        A name or `Mechanism` for all, a sequence, or a mapping by name.  None stands for
        `best_mechanism`, which needs no delta.
    limit
        The most that may be told about each attribute, likewise; None for no limit.
    totals
        What is told: a `TotalLeakage`, which brings its guarantee, view, confidence and notes and
        must have been computed for these budgets; or one number for each attribute, as a bound
        for any mechanisms with these budgets.
    guarantee
        The name of what the totals rest on; only where `totals` are plain numbers.
    collect
        The attributes to collect; by default those with a budget above 0.  The others have no
        report, and their totals say what the collected ones tell about them.
    public
        Attributes that are public already: not collected, and known to the adversary in clear.
    settings
        What the caller chose, as plain JSON, for the provenance.
    notes
        What a reader must know besides.

    Returns
    -------
    Plan
        Every total is at most its limit; else the plan is refused.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> plan = make_plan(adult, 1.0, limit=3.0, guarantee="worst", totals=[3.0, 3.0, 3.0])
    >>> plan["race"].mechanism, plan.kind, plan.provenance.records
    ('grr', 'certified', 48842)
    """
    if not isinstance(pairs, PairCounts):
        raise InputError(f"a plan is made from PairCounts, got {type(pairs).__name__}")
    domain = pairs.domain
    promise = Promise.of(totals, guarantee, domain)
    refuse_sample(pairs, promise.guarantee, "plans")
    _check_source(totals, pairs)
    budgets = [_checks.epsilon(value) for value in for_each(domain, epsilon, "epsilon")]
    slacks = [_checks.delta(value) for value in for_each(domain, delta, "delta")]
    limits = [_limit(value) for value in for_each(domain, limit, "limit")]
    chosen = for_each(domain, mechanism, "mechanism")
    known = {domain[name].name for name in public}
    kept = _collected(pairs, budgets, collect, known)
    planned = [
        PlannedAttribute(
            name=attribute.name,
            public=attribute.name in known,
            **(_how(chosen[i], attribute.size, budgets[i], slacks[i]) if kept[i] else NOT_AT_ALL),
            limit=limits[i],
            total=as_json_number(promise.totals[i]),
            total_delta=promise.deltas[i],
            values=attribute.values,
            edges=tuple(map(as_json_number, attribute.edges)),
        )
        for i, attribute in enumerate(domain)
    ]
    promise.check_budgets(planned)
    plan = Plan(
        attributes=tuple(planned),
        provenance=Provenance.of(pairs, _plain(settings or {})),
        notes=(*promise.notes, *notes),
        **promise.fields(),
    )
    check_limits(plan)
    return plan


NOT_AT_ALL: dict[str, Any] = {"mechanism": None, "epsilon": 0.0}
"""How an attribute is collected that is not."""


def _check_source(totals: Any, pairs: PairCounts) -> None:
    """Refuse totals of another table than the provenance would name; budgets add up in any."""
    if not isinstance(totals, TotalLeakage) or totals.guarantee == "worst":
        return
    if totals.matrix.pairs != pairs:
        raise InputError(
            f"the totals must be of the plan's own table of {pairs.records:,} records, and were "
            f"computed from another one, of {totals.matrix.pairs.records:,}"
        )


def _how(chosen: Any, k: int, epsilon: float, delta: float) -> dict[str, Any]:
    """Return the fields that say how an attribute with k values is collected."""
    if chosen is None:
        return {"mechanism": best_mechanism(k, epsilon), "epsilon": epsilon}
    if not isinstance(chosen, Mechanism):
        return {"mechanism": str(chosen).casefold(), "epsilon": epsilon, "delta": delta}
    described = chosen.describe()
    if chosen.k != k:
        raise InputError(f"the mechanism of an attribute with {k} values has k = {chosen.k}")
    return {
        "mechanism": described.pop("mechanism"),
        "epsilon": described.pop("epsilon", chosen.epsilon),
        "delta": described.pop("delta", 0.0),
        "parameters": {name: described[name] for name in described if name != "k"},
    }


def _limit(value: Any) -> float | None:
    if value is None or value == math.inf:
        return None
    return _checks.epsilon(value, "limit")


def _collected(
    pairs: PairCounts, budgets: Sequence[float], names: Iterable[str] | None, public: set[str]
) -> list[bool]:
    domain = pairs.domain
    if names is None:
        worth = zip(domain.names, budgets, strict=True)
        return [budget > 0 and name not in public for name, budget in worth]
    chosen = {domain[name].name for name in names}
    if chosen & public:
        raise InputError(f"{min(chosen & public)!r} cannot be both public and collected")
    return [name in chosen for name in domain.names]


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as what reading them back from JSON gives."""
    try:
        return dict(msgspec.json.decode(msgspec.json.encode(dict(settings), enc_hook=_number)))
    except (TypeError, NotImplementedError) as problem:
        raise InputError(f"settings must be plain JSON: {problem}") from None


def _number(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def check_limits(plan: Plan) -> None:
    """Refuse a plan with a total above its limit."""
    for planned in plan.attributes:
        if planned.exceeds:
            raise InputError(
                f"the total of {planned.name!r} must be at most its limit {planned.limit}, "
                f"got {planned.total} under guarantee {plan.guarantee!r}; lower the budgets"
            )
