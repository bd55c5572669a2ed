"""From an allowed total to a plan that keeps it: `calibrate`, and by forms `design`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from seepage._results import json_ready
from seepage.designs.calibration import Calibration, find_budgets
from seepage.plan.form import MatrixChannel, ProductChannel, Question
from seepage.plan.make_plan import make_plan
from seepage.plan.plan import Plan
from seepage.plan.plan_of_forms import FormDraft, plan_of_forms
from seepage.plan.plan_parts import Alternative

if TYPE_CHECKING:
    from seepage.designs.design import Design, DesignedForm


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


def design(data: Any, limit: Any, **options: Any) -> Plan:
    """Return the plan of forms with the least error that provably keeps every total in its limit.

    Everyone is given one form, some attributes with a budget each, drawn without looking at the
    record.  Each form's totals are computed for every attribute of the table, asked or not.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`; for `scope="population"` a sample of
        records is enough.
    limit
        The allowed total of every attribute, or one for each (a mapping by name); None for an
        attribute that is not protected.
    options
        The keywords of `find_design` (`public`, `left_out`, `known`, `weights`, `least`,
        `record_limit`, `together`, `never`, `largest`, `joint`, `scope`, `confidence`, `sample`,
        `seconds`, `seed`, `progress`), and table options of `count_pairs`.

    Notes
    -----
    `find_design` gives the same with all evidence: expected errors, the gap to the least error,
    and a comparison with other ways to spend the limit.

    By default every limit holds for the people whom the records are a random sample of, with
    confidence 0.95; `scope="table"` is for whoever has everybody in the table.

    The totals are per attribute, against an adversary who knows the distribution and nothing else
    about the person.  What a form tells about the whole record is its `record`, the sum of budgets.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain([sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")])
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> plan = sp.design(coins, 1.0, scope="table")
    >>> plan.guarantee, plan.kind, sorted(form.attributes for form in plan.forms)
    ('exact', 'certified', [('a', 'b'), ('a', 'differ'), ('b', 'differ')])

    Four people say little about a population, so each is asked one question:

    >>> sp.design(coins, 1.0)  # doctest: +ELLIPSIS
    Plan(3 forms, 3 of 3 ... largest total 1, guarantee worst (certified, for everybody))
    """
    from seepage.designs.find_design import find_design

    return plan_of_design(find_design(data, limit, **options))


def plan_of_design(found: "Design") -> Plan:
    """Return the plan of a design, its evidence in the notes."""
    return plan_of_forms(
        found.pairs,
        [
            FormDraft(form.share, _channel(form), form.guarantee, form.totals, form.record)
            for form in found.forms
        ],
        limit=found.limits.tolist(),
        public=found.public,
        frequencies=[marginal / found.pairs.records for marginal in found.pairs.marginals],
        confidence=found.confidence,
        scope="population" if found.scope == "population" else "table",
        settings={
            "scope": found.scope,
            "confidence": found.confidence,
            "records": found.people,
            "design": {
                "seed": found.seed,
                "forms considered": found.considered,
                "gap": found.gap,
                "error": found.error,
                "ended": found.ended,
            },
            "known": list(found.known),
        },
        notes=[*found.notes, *found.remarks()],
        alternatives=list(_alternatives(found)),
    )


def _channel(form: "DesignedForm") -> ProductChannel | MatrixChannel:
    if form.matrix is not None:
        return MatrixChannel.of(
            form.attributes,
            form.matrix,
            frequencies=form.matrix.nominal.tolist(),
            told=form.known_answers,
        )
    questions = zip(form.attributes, form.mechanisms, form.epsilons, strict=True)
    return ProductChannel(
        questions=tuple(
            Question(attribute=name, mechanism=mechanism, epsilon=epsilon)
            for name, mechanism, epsilon in questions
        )
    )


def _alternatives(found: "Design") -> Iterator[Alternative]:
    """Yield what the design was compared with, for one person."""
    asked = [n for n, weight in zip(found.domain.names, found.weights, strict=True) if weight > 0]
    for one in found.comparison[:-1]:
        variances = dict(zip(asked, (e * found.people for e in one.errors), strict=True))
        yield Alternative(
            name=one.name,
            rests_on=one.rests_on,
            certified=one.certified,
            variances=json_ready(variances),
        )
