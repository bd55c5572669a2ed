"""`calibrate`: from an allowed total to a plan that keeps it."""

from collections.abc import Iterable
from typing import Any

from seepage.data.pairs import PairCounts
from seepage.data.records import Records
from seepage.designs.calibration import Calibration, find_budgets
from seepage.designs.equal_budgets import Budgets
from seepage.plan.make_plan import make_plan
from seepage.plan.plan import Plan

__all__ = ["calibrate", "plan_of"]


def calibrate(
    data: Any,
    limit: Any,
    guarantee: str = "auto",
    mechanism: Any = None,
    budgets: Budgets = "equal",
    *,
    public: Iterable[str] = (),
    left_out: Iterable[str] = (),
    least: Any = 0.0,
    weights: Any = 1.0,
    audit: bool = True,
    **options: Any,
) -> Plan:
    """Return the plan with the largest budgets whose totals stay within the limit.

    Parameters
    ----------
    data
        Records (any table, or `Records`), or `PairCounts`.  A sample of records is refused, but
        for the guarantee `"worst"`, which needs none; the plan's provenance then says so.
    limit
        The allowed total of every attribute, or one for each (a mapping by name).
    guarantee
        What the totals rest on, by the names of `total_leakage`; an assumption is marked as such
        in the plan, and with records a witness is searched for against it.
    mechanism
        A mechanism by name, for all or by attribute.  None: budgets that hold for any mechanism,
        and the plan takes the one with the least variance for each attribute.
    budgets
        `"equal"`, or `"per-attribute"` for those that minimise the weighted variance.
    public, left_out
        Attributes that are public already, and attributes that are not collected.
    least
        The smallest useful budget, for all or by attribute; where the limit does not allow it,
        the attributes to drop first are named in the plan's notes.
    weights
        How much each attribute's variance counts, for `"per-attribute"`.
    audit
        Whether to search for a witness after an assumption.
    options
        Further options of `total_leakage`: `structure`, `seed`, `reports`, `confidence`.

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
    records = data if isinstance(data, (PairCounts, Records)) else Records.from_data(data)
    found = find_budgets(
        records,
        limit,
        guarantee=guarantee,
        mechanism=mechanism,
        budgets=budgets,
        public=public,
        left_out=left_out,
        least=least,
        weights=weights,
        audit=audit,
        options=options,
    )
    return plan_of(found, records)


def plan_of(found: Calibration, data: PairCounts | Records) -> Plan:
    """Return the plan of a calibration, its evidence in the notes."""
    pairs = data if isinstance(data, PairCounts) else data.pairs()
    problem = found.problem
    names = problem.domain.names
    return make_plan(
        pairs,
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
    if audit is not None and audit.strongest is not None:
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
