"""Making plans: budgets, mechanisms and totals, checked against each other and the limits.

`calibrate`: from an allowed total to a plan that keeps it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seepage import _checks
from seepage.data.domain import Attribute, Domain
from seepage.data.inputs import as_pairs
from seepage.data.pairs import PairCounts
from seepage.designs.calibration import Calibration, find_budgets
from seepage.errors import InputError
from seepage.leakage.release import Release, for_each
from seepage.mechanisms import Mechanism
from seepage.plan.form import ProductChannel
from seepage.plan.plan import Plan
from seepage.plan.plan_checks import CLAIMS
from seepage.plan.plan_of_forms import FormDraft, plan_of_forms
from seepage.plan.planned_attribute import PlannedAttribute
from seepage.plan.question import Question, best_mechanism
from seepage.totals.result import GUARANTEES, TotalLeakage, refuse_sample


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
    refuse_sample(pairs, claim["guarantee"], "plans", claim.get("scope", "table"))
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
        _check_source(totals, pairs)
        _check_budgets(totals.matrix.releases, plan.attributes)
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
    refuse_sample(totals.matrix.pairs, totals.guarantee, "the totals of a plan", totals.scope)
    if totals.kind != GUARANTEES[totals.guarantee] and totals.scope == "table":
        raise InputError(
            f"a plan needs totals that are {GUARANTEES[totals.guarantee]}, and these are "
            f"{totals.kind}: {totals.notes[0]}"
        )


def _check_source(totals: TotalLeakage, pairs: PairCounts) -> None:
    """Raise where totals are of another table than the provenance names; budgets add up in any."""
    if totals.guarantee != "worst" and totals.matrix.pairs != pairs:
        raise InputError(
            f"the totals must be of the plan's own table of {pairs.records:,} records, and were "
            f"computed from another one, of {totals.matrix.pairs.records:,}"
        )


def _check_budgets(releases: Iterable[Release], planned: Iterable[PlannedAttribute]) -> None:
    """Raise where attributes are collected otherwise than the totals assume."""
    for release, attribute in zip(releases, planned, strict=True):
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


def calibrate(
    data: Any, limit: Any, *, mechanism: Any = None, guarantee: str = "auto", **options: Any
) -> Plan:
    """Return the plan with the largest budgets whose totals stay within the limit.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  A sample of records
        raises, but for the guarantee `"worst"`, which needs none; the plan's provenance then says
        so.
    limit
        The allowed total of every attribute, or one for each (a mapping by name).
    mechanism
        A mechanism by name, for all or by attribute.  None: budgets that hold for any mechanism,
        and the plan takes the one with the least variance for each attribute.
    guarantee
        What the totals rest on, by the names of `total_leakage`; an assumption is marked as such
        in the plan, and with records a witness is searched for against it.
    options
        The other keywords of `find_budgets` (`budgets`, `public`, `left_out`, `least`, `weights`,
        `audit`, `seed`, ...), and table options of `count_pairs`.

    Notes
    -----
    `find_budgets` gives the same with all evidence: the witness, the gain, the totals.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> plan = sp.calibrate(adult, limit=1.0)
    >>> plan.guarantee, plan.kind
    ('independent', 'assumed')
    >>> round(plan["sex"].epsilon, 4), max(a.total for a in plan.attributes) <= 1.0
    (0.7289, True)
    """
    return plan_of(find_budgets(data, limit, mechanism=mechanism, guarantee=guarantee, **options))


def plan_of(found: Calibration) -> Plan:
    """Return the plan of a calibration, its evidence in the notes."""
    problem = found.problem
    names = problem.domain.names
    return make_plan(
        problem.pairs,
        found.epsilons,
        mechanism=problem.mechanism,
        limit=problem.limits,
        totals=found.totals,
        collect=[name for name, kept in zip(names, problem.collected, strict=True) if kept],
        public=[name for name, known in zip(names, problem.public, strict=True) if known],
        settings={"budgets": found.budgets, "guarantee": found.totals.guarantee},
        notes=[*found.notes, *_evidence(found)],
    )


def _evidence(found: Calibration) -> list[str]:
    notes = []
    audit = found.audit
    if audit is not None and audit.strongest is not None and audit.surviving is not None:
        strongest = audit.strongest
        share = float(audit.surviving.sum() / found.epsilons.sum())
        notes.append(
            f"REFUTED: {strongest.sentence()}: {strongest.value:.2f} nats about "
            f"{strongest.target}, above its limit; budgets scaled by {share:.2f} survive the search"
        )
    elif audit is not None:
        notes.append("a search found no reports that exceed a limit; that is no guarantee")
    if found.gain is not None:
        notes.append(f"the weighted variance is {found.gain:.3g} times less than with equal ones")
    if found.dropped:
        notes.append(
            "the smallest useful budgets do not fit; drop first: " + ", ".join(found.dropped)
        )
    return notes
