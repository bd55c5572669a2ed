"""`calibrate`: from an allowed total to a plan that keeps it."""

from typing import Any

from seepage.designs.calibration import Calibration, find_budgets
from seepage.plan.make_plan import make_plan
from seepage.plan.plan import Plan

__all__ = ["calibrate", "plan_of"]


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
