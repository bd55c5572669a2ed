"""Plans within given limits: `calibrate` (everyone is asked everything) and `design` (forms)."""

from typing import TYPE_CHECKING, Any

from seepage._options import takes
from seepage.designs.calibration import Calibration, calibrated
from seepage.designs.design_options import CalibrationOptions, DesignOptions
from seepage.designs.report_channels import rounded_frequencies
from seepage.plan.make_plan import make_plan, plan_of_forms
from seepage.plan.plan import Plan

if TYPE_CHECKING:
    from seepage.designs.design import Design


@takes(CalibrationOptions)
def calibrate(data: Any, options: CalibrationOptions) -> Plan:
    """Return the plan with the largest budgets whose totals stay within the limit.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  A sample of records
        raises, except for the guarantee `"worst"`, which needs no records (the plan's provenance
        states the sample), and for `scope="population"`.

    Notes
    -----
    `find_budgets` returns the same budgets with all evidence: the witness, the totals.

    Examples
    --------
    >>> import seepage as sp
    >>> adult = sp.load_pairs("adult").select(["sex", "race", "income"])
    >>> plan = sp.calibrate(adult, limit=1.0)
    >>> plan.guarantee, plan.kind
    ('independent', 'assumed')
    >>> round(plan["sex"].epsilon, 4), max(a.total for a in plan.attributes) <= 1.0
    (0.7297, True)
    """
    return plan_of(calibrated(data, options))


def plan_of(calibration: Calibration) -> Plan:
    """Return the plan of a calibration, its evidence in the notes."""
    problem = calibration.problem
    names = problem.domain.names
    return make_plan(
        problem.pairs,
        calibration.epsilons,
        mechanism=problem.mechanism,
        delta=problem.deltas,
        limit=problem.limits,
        totals=calibration.totals,
        collect=[name for name, mask in zip(names, problem.collected, strict=True) if mask],
        public=[name for name, mask in zip(names, problem.public, strict=True) if mask],
        settings={"guarantee": calibration.totals.guarantee},
        notes=[*calibration.notes, *_evidence(calibration)],
    )


def _evidence(calibration: Calibration) -> list[str]:
    """Return notes on the audit and the attributes to drop."""
    notes = []
    audit = calibration.audit
    if audit is not None and audit.strongest is not None and audit.surviving is not None:
        strongest = audit.strongest
        scale = float(audit.surviving.sum() / calibration.epsilons.sum())
        notes.append(
            f"REFUTED: {strongest.sentence()}: {strongest.value:.2f} nats about "
            f"{strongest.target}, above its limit; budgets scaled by {scale:.2f} survive the search"
        )
    elif audit is not None:
        notes.append("a search found no reports that exceed a limit; that is no guarantee")
    if calibration.dropped:
        dropped = ", ".join(calibration.dropped)
        notes.append(f"the smallest useful budgets do not fit; drop first: {dropped}")
    return notes


@takes(DesignOptions)
def design(data: Any, options: DesignOptions) -> Plan:
    """Return the plan of forms with the least error that provably keeps every total in its limit.

    Everyone is given one form, some attributes with a budget each, drawn independently of the
    record.  Each form's totals are computed for every attribute of the table, asked or not.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`; for `scope="population"` a sample of
        records is enough.

    Notes
    -----
    `find_design` returns the same forms with all evidence: expected errors, the optimality gap,
    and a comparison with other strategies within the limit.

    By default every limit holds for the population that the records are a random sample of, with
    confidence 0.95; use `scope="table"` if everybody is in the table.

    The totals are per attribute, against an adversary who knows the distribution and nothing else
    about the person.  The leakage of a form about the whole record is its `record`, the sum of its
    budgets.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> plan = sp.design(coins, 1.0, scope="table")
    >>> plan.guarantee, plan.kind, sorted(form.attributes for form in plan.forms)
    ('exact', 'certified', [('a', 'b'), ('a', 'differ'), ('b', 'differ')])

    Four records certify little about a population, so each person is asked one question:

    >>> sp.design(coins, 1.0)  # doctest: +ELLIPSIS
    Plan(3 forms, 3 of 3 ... largest total 1, guarantee worst (certified, for everybody))
    """
    from seepage.designs.design_search import designed  # imports SciPy

    return plan_of_design(designed(data, options))


def plan_of_design(design: "Design") -> Plan:
    """Return the plan of a design, its evidence in the notes."""
    return plan_of_forms(
        design.pairs,
        design.forms,
        limit=design.limits.tolist(),
        public=design.public,
        frequencies=[rounded_frequencies(marginal) for marginal in design.pairs.marginals],
        confidence=design.confidence,
        scope="population" if design.scope == "population" else "table",
        settings={
            "scope": design.scope,
            "confidence": design.confidence,
            "records": design.pairs.records,
            **design.settings,
            "design": {
                "seed": design.seed,
                "forms considered": design.considered,
                "gap": design.gap,
                "error": design.error,
                "ended": design.ended,
            },
            "known": list(design.known),
            "want": list(design.want),
        },
        notes=[*design.notes, *design.remarks()],
        alternatives=design.comparison[:-1],
    )
