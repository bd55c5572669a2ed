"""Plans within limits: `calibrate` (everyone is asked everything), `design`,
`compare_limits`.
"""

from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

from seepage._core.options import takes
from seepage.calibration.calibration_options import CalibrationOptions
from seepage.calibration.safe import Calibration, calibrated
from seepage.channel.records import Records
from seepage.designs.design_options import DesignOptions
from seepage.designs.forms.form import Form, with_shares
from seepage.designs.forms.form_channels import ProductChannel
from seepage.designs.forms.question import Question
from seepage.mechanisms.direct import best_mechanism
from seepage.plan.attributes import stored_attributes
from seepage.plan.provenance import Provenance
from seepage.workflow.plan import Plan

if TYPE_CHECKING:
    from seepage.designs.design import Design


@takes(CalibrationOptions)
def calibrate(data: Any, options: CalibrationOptions) -> Plan:
    """Return the plan with the largest budgets whose totals stay within the limit.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `Records` or `PairCounts`.  A sample of
        records raises, except for the guarantee `"worst"`, which needs no records (the
        plan's provenance states the sample), and for `scope="population"`.

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
    """Return the plan of a calibration: one form, which asks everyone for everything
    collected.
    """
    problem = calibration.problem
    totals = calibration.totals
    releases = totals.matrix.releases
    names = problem.domain.names
    questions = list[Question]()
    for index, epsilon in enumerate(calibration.epsilons.tolist()):
        if problem.collected[index]:
            mechanism = releases[index].mechanism
            if mechanism is None:
                mechanism = best_mechanism(problem.domain.sizes[index], epsilon)
            questions.append(Question.of(names[index], mechanism))
    form = Form.of(
        ProductChannel(questions=tuple(questions)),
        totals.guarantee,
        totals.values.tolist(),
        totals.deltas.tolist(),
    )
    settings: dict[str, Any] = {"guarantee": totals.guarantee}
    person = None
    if isinstance(problem.data, Records):
        person = problem.data.person
        if problem.data.fixed is not None:
            settings |= problem.data.fixed.settings()
    basis: Literal["bound", "mechanism"] = "mechanism"
    if all(release.mechanism is None for release in releases):
        basis = "bound"
    return Plan(
        listed=stored_attributes(
            problem.pairs,
            problem.limits.tolist(),
            compress(names, problem.roles.public),
        ),
        forms=with_shares([form], [1.0]),
        basis=basis,
        view=totals.view,
        confidence=totals.confidence,
        scope=_scope(totals.scope),
        provenance=Provenance.of(problem.pairs, settings, person),
        notes=(*totals.notes, *calibration.notes),
    )


def _scope(name: str) -> Literal["table", "population"]:
    """Return whom totals hold for, as a plan states it."""
    if name == "population":
        return "population"
    return "table"


@takes(DesignOptions)
def design(data: Any, options: DesignOptions) -> Plan:
    """Return the plan of forms with the least error that provably keeps every total in
    its limit.

    Everyone is given one form, some attributes with a budget each, drawn independently
    of the record.  Each form's totals are computed for every attribute of the table,
    asked or not.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, or `Records`; for `scope="population"` a
        sample of records is enough.

    Notes
    -----
    Its provenance states the optimality gap over the forms considered, its alternatives the errors
    of other strategies within the limit.

    By default every limit holds for the population that the records are a random sample
    of, with confidence 0.95; use `scope="table"` if everybody is in the table.

    The totals are per attribute, against an adversary who knows the distribution and
    nothing else about the person.  The leakage of a form about the whole record is its
    `record`, the sum of its budgets.

    Examples
    --------
    >>> import seepage as sp
    >>> domain = sp.Domain(
    ...     [sp.Attribute(name, ("0", "1")) for name in ("a", "b", "differ")]
    ... )
    >>> coins = sp.Records(domain, [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> plan = sp.design(coins, 1.0, scope="table")
    >>> plan.guarantee, plan.kind, sorted(form.attributes for form in plan.forms)
    ('exact', 'certified', [('a', 'b', 'differ')])

    Four records certify little about a population, so each person is asked one
    question:

    >>> sp.design(coins, 1.0)  # doctest: +ELLIPSIS
    Plan(3 forms, 3 of 3 ... largest total 1, guarantee worst (certified, for everybody))
    """
    from seepage.designs.design_search import designed  # imports SciPy

    return plan_of_design(designed(data, options))


def plan_of_design(design: "Design") -> Plan:
    """Return the plan of a design, its evidence in the settings and notes."""
    pairs = design.records.pairs()
    certifier = design.certifier
    limits = design.problem.limits.tolist()
    return Plan(
        listed=stored_attributes(pairs, limits, design.public, with_frequencies=True),
        forms=design.forms,
        basis="mechanism",
        confidence=certifier.confidence,
        scope=_scope(certifier.scope),
        provenance=Provenance.of(pairs, design.settings, design.records.person),
        notes=design.notes,
        alternatives=design.comparison[:-1],
    )
