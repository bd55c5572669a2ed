"""`PlanCheck`: the totals of a plan's forms on another table, such as next year's.

`total_leakage` enumerates the joint table of all attributes.  A form asks few of them,
and its totals need only the joint table of these, with one target at a time
(`ExactFormTotals`); those of a form with one report for all answers are computed in
integers (`matrix_totals`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, SupportsIndex

import numpy as np

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError
from seepage._core.odds import limit_as_odds, odds_above
from seepage._core.results import Result, json_ready
from seepage._core.text import short_list
from seepage.calibration.calibration_options import (
    COMPLETE_RECORDS,
    check_all_records,
)
from seepage.channel.domain import Domain
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records
from seepage.designs.forms.form import Form
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.designs.forms.form_counter import FormCounter
from seepage.designs.forms.form_totals import ExactFormTotals
from seepage.designs.forms.question import Question
from seepage.leakage.matrix import leakage_matrix
from seepage.mechanisms.base import PUBLIC
from seepage.mechanisms.exact_probabilities import exact_cells
from seepage.plan.attributes import PlannedAttribute, weakest_kind
from seepage.plan.plan_content import PlanContent
from seepage.plan.plan_margin import plan_margins
from seepage.tables.read import as_counted, check_whole_table, is_counted
from seepage.tables.table_options import DataOptions
from seepage.totals.guarantees import FROM_PAIRS
from seepage.totals.total import total_leakage
from seepage.totals.total_result import TotalLeakage

FORMAT: Literal["seepage plan check"] = "seepage plan check"
"""First field of the JSON of the check of a plan."""


VERSION: Literal[1] = 1


@dataclass(frozen=True, eq=False, repr=False)
class PlanCheck(Result):
    """The totals of a plan's forms on a table, and whether each is within its limit.

    Made by `Plan.check`; `check["sex"]` is the total of one attribute.

    Parameters
    ----------
    domain
        The attributes of the plan.
    totals, deltas
        The total leakage in nats about each attribute, the largest over all forms, and
        its delta.
    forms
        The number of the form that attains each total, from 1.
    limits
        The maximum total of each attribute; infinite for none.
    guarantee, kind
        The guarantee of the totals, that of the plan, and its kind for this table.
    records
        The number of records.
    margins
        How far the rows of this table may move, in total variation, until the total of
        an attribute reaches its limit: 0 where it is above, 1 without a limit; None
        where it was not computed.  It covers other tables near this one; the margin of
        the table that a plan was certified on is its sampling error, so a confidence
        for the population and this margin are never claimed together.

    Examples
    --------
    >>> import seepage as sp
    >>> last = sp.make_survey(2_000, rng=1).select(["coffee", "screen", "sleep"])
    >>> plan = sp.design(last, 2.0, scope="table", shape="never")
    >>> check = plan.check(last)
    >>> check.within, check.margin < 0.01
    (True, True)
    >>> plan.check(sp.make_survey(2_000, rng=2))  # doctest: +ELLIPSIS
    PlanCheck(exceeded: coffee 7.99x above 7.39x, ...; exact on 2,000 records)
    """

    domain: Domain
    totals: Floats
    deltas: Floats
    forms: Integers
    limits: Floats
    guarantee: str
    kind: str
    records: int
    margins: Floats | None = None

    @property
    def margin(self) -> float | None:
        """The smallest of the margins in the check of a plan on a table; None where it
        was not computed.
        """
        if self.margins is None:
            return None
        return float(self.margins.min())

    @property
    def within(self) -> bool:
        """Whether every total in the check of a plan is within its limit."""
        return bool(self._is_within.all())

    @property
    def exceeded(self) -> tuple[str, ...]:
        """The attributes whose total in the check of a plan is above its limit."""
        return tuple(
            self.domain.names[k] for k in np.flatnonzero(~self._is_within).tolist()
        )

    @property
    def _is_within(self) -> Booleans:
        """Return for each attribute whether its total in the check of a plan is within
        its limit.
        """
        return np.asarray(self.totals <= self.limits)

    def __getitem__(self, name: str | SupportsIndex) -> float:
        """Return the total of one attribute in the check of a plan, in nats."""
        return float(self.totals[self.domain.index(name)])

    UPPER_NATS = ("total", "limit")

    def _columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns of the totals of a plan on a table in long form."""
        return {
            "attribute": self.domain.names,
            "total": self.totals.tolist(),
            "delta": self.deltas.tolist(),
            "limit": [
                limit if math.isfinite(limit) else None
                for limit in self.limits.tolist()
            ],
            "within": self._is_within.tolist(),
            "form": self.forms.tolist(),
            "margin": [None] * len(self.totals)
            if self.margins is None
            else self.margins.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the check of a plan as plain JSON, with its format and its version."""
        columns = self._columns()
        content = {
            "format": FORMAT,
            "version": VERSION,
            "within": self.within,
            "margin": self.margin,
            "guarantee": self.guarantee,
            "kind": self.kind,
            "records": self.records,
            "attributes": [
                dict(zip(columns, row, strict=True))
                for row in zip(*columns.values(), strict=True)
            ],
        }
        return dict(json_ready(content))

    def _headline(self) -> str:
        """Return the totals of a plan on a table in one line."""
        above = [
            f"{name} {odds_above(self[name])} above "
            f"{limit_as_odds(float(self.limits[self.domain.index(name)]))}"
            for name in self.exceeded
        ]
        verdict = "every total within its limit"
        if above:
            verdict = f"exceeded: {short_list(above, 3)}"
        if self.deltas.any():
            verdict += f", delta {self.deltas.max():g}"
        basis = self.guarantee
        if self.kind != "certified":
            basis += f", {self.kind}"
        if self.within and self.margin is not None and self.margin >= 1e-3:
            verdict += f", also for rows within {math.floor(1e3 * self.margin) / 1e3:g}"
        return f"PlanCheck({verdict}; {basis} on {self.records:,} records)"


def check_plan_on(plan: PlanContent, data: Any, options: DataOptions) -> PlanCheck:
    """Return the check of a plan on a table: its forms' totals there; see
    `Plan.check`.
    """
    reading = options.keywords
    if options.dropping:
        raise InputError(COMPLETE_RECORDS, parameter="missing")
    if not is_counted(data):
        reading = plan.provenance.reading | reading
    needs_records = any(form.guarantee not in FROM_PAIRS for form in plan.forms)
    counted = as_counted(data, records=needs_records, within=plan.domain, **reading)
    check_all_records(counted)
    for form in plan.forms:
        check_whole_table(counted, form.guarantee, "the totals of a plan")
    by_form = [_totals_on(counted, plan, form) for form in plan.forms]
    totals = np.array([form_totals.values for form_totals in by_form])
    deltas = np.array([form_totals.deltas for form_totals in by_form])
    limits = [
        math.inf if planned.limit is None else planned.limit
        for planned in plan.attributes
    ]
    return PlanCheck(
        domain=plan.domain,
        totals=totals.max(axis=0),
        deltas=deltas.max(axis=0),
        forms=totals.argmax(axis=0) + 1,
        limits=np.array(limits),
        guarantee=plan.guarantee,
        kind=weakest_kind(plan.forms),
        records=counted.records,
        margins=_margins(counted, plan, totals.max(axis=0), np.array(limits)),
    )


def _margins(
    counted: PairCounts | Records, plan: PlanContent, totals: Floats, limits: Floats
) -> Floats | None:
    """Return the margin of each attribute in the check of a plan; None for totals that
    are not exact, and where values are public or known.
    """
    guarantees = {form.guarantee for form in plan.forms}
    if guarantees == {"worst"}:
        return np.where(totals <= limits, 1.0, 0.0)
    conditional = bool(plan.public or plan.provenance.known)
    if guarantees != {"exact"} or conditional or plan.basis == "bound":
        return None
    if plan.view != "report" or not isinstance(counted, Records):
        return None
    if any(any(form.deltas) for form in plan.forms):
        return None
    return plan_margins(counted, plan.forms, limits)


class TotalsOfForm(NamedTuple):
    """The totals of one form about every attribute, and their deltas."""

    values: Floats
    deltas: Floats

    @classmethod
    def pure(cls, values: Sequence[float] | Floats) -> "TotalsOfForm":
        """Return a form's totals in the check of a plan, whose deltas are 0."""
        return cls(np.array(values), np.zeros(len(values)))


def _totals_on(
    counted: PairCounts | Records, plan: PlanContent, form: Form
) -> TotalsOfForm:
    """Return the totals of a plan's form on the table it is checked on."""
    if isinstance(form.channel, MatrixChannel):
        return TotalsOfForm.pure(
            matrix_totals(form.channel, form.guarantee, counted, plan.public)
        )
    if form.guarantee == "worst" and _may_decline(plan):
        return TotalsOfForm.pure([form.record] * len(plan.domain))
    if isinstance(counted, Records) and _needs_only_its_answers(plan, form):
        exact = _exact_totals(counted, plan, form.channel.questions)
        if exact is not None:
            return TotalsOfForm.pure(exact)
    if _may_decline(plan):
        raise InputError(
            "totals of a form whose questions may be left open need records, GRR "
            "reports, and a joint table of its answers that fits"
        )
    leakage = _totals_of_budgets(counted, plan, form)
    return TotalsOfForm(leakage.values, leakage.deltas)


def _may_decline(plan: PlanContent) -> bool:
    """Return whether a person of a checked plan may have no answer and is given one at
    random.
    """
    return any(stored.shares for stored in plan.listed)


def _needs_only_its_answers(plan: PlanContent, form: Form) -> bool:
    """Return whether the check of a plan's exact totals needs only the joint table of
    the asked attributes.

    That of all attributes is counted by `total_leakage`, unless some are known.
    """
    if form.guarantee != "exact" or plan.basis == "bound":
        return False
    if _may_decline(plan):
        return True
    asks_everything = plan.is_single and len(form.attributes) == len(plan.attributes)
    return not asks_everything or bool(plan.provenance.known)


def _exact_totals(
    records: Records, plan: PlanContent, questions: Sequence[Question]
) -> Floats | None:
    """Check a product form: return its exact totals from the joint table of its
    answers.

    None if the form needs `total_leakage`: it has several questions, not all of GRR, or
    a table that does not fit.
    """
    if {question.mechanism for question in questions} == {"grr"}:
        totals = _grr_totals(records, plan, questions)
    else:
        totals = _one_question_totals(records, plan, questions)
    if totals is None and plan.provenance.known:
        raise InputError(
            "totals conditional on known attributes need forms of GRR reports"
        )
    return totals


def _grr_totals(
    records: Records, plan: PlanContent, questions: Sequence[Question]
) -> Floats | None:
    """Check GRR reports of a plan: return their exact totals; None if their table does
    not fit.
    """
    index = plan.domain.index
    asked = [index(question.attribute) for question in questions]
    public = [index(name) for name in plan.public]
    known = [index(name) for name in plan.provenance.known]
    form_totals = ExactFormTotals(FormCounter(records, public, known))
    if not form_totals.fits(asked):
        return None
    budgets = np.array([question.epsilon for question in questions])
    return form_totals.totals(form_totals.counter.table(asked), budgets)


def _one_question_totals(
    records: Records, plan: PlanContent, questions: Sequence[Question]
) -> Floats | None:
    """Check a form of one question: return its exact totals, its leakages and its own
    budget.

    None if there are several reports, further values or parameters.
    """
    question = questions[0]
    if len(questions) > 1 or plan.public or plan.provenance.known:
        return None
    if question.parameters or question.delta:
        return None
    asked = plan.domain.index(question.attribute)
    epsilons = np.zeros(len(plan.domain))
    epsilons[asked] = question.epsilon
    matrix = leakage_matrix(records.pairs(), epsilons, mechanism=question.mechanism)
    return np.asarray(matrix.values[:, asked] + epsilons)  # the diagonal is 0


def _totals_of_budgets(
    counted: PairCounts | Records, plan: PlanContent, form: Form
) -> TotalLeakage:
    """Check the budgets of a plan's form: return their totals under its guarantee.

    Statistical totals are computed from new random reports.
    """
    settings: dict[str, Any] = {}
    if form.guarantee == "sampled":
        settings = {"rng": None, "confidence": plan.confidence or 0.95}
        stated = max(form.deltas)
        if 0 < stated < 1:
            settings["target_delta"] = stated
    epsilons = dict.fromkeys(plan.domain.names, 0.0)
    deltas = dict.fromkeys(plan.domain.names, 0.0)
    for name in form.attributes:
        question = form.question(name)
        if question is not None:
            epsilons[name] = question.epsilon
            deltas[name] = question.delta
    releases = {
        planned.name: _release(plan, form, planned) for planned in plan.attributes
    }
    return total_leakage(
        counted,
        epsilons,
        mechanism=releases,
        guarantee=form.guarantee,
        delta=deltas,
        view=plan.view,
        **settings,
    )


def _release(plan: PlanContent, form: Form, planned: PlannedAttribute) -> Any:
    """Return the `mechanism` argument of `total_leakage` for an attribute of a checked
    plan.
    """
    question = form.question(planned.name)
    if planned.public:
        return PUBLIC
    if plan.basis == "bound" or question is None:
        return None
    return question.mechanism_for(planned.attribute.size)


def matrix_totals(
    channel: MatrixChannel,
    guarantee: str,
    counted: PairCounts | Records,
    public: Sequence[str] = (),
) -> list[float]:
    """Check a matrix of a plan: return the total leakage of its report about every
    attribute, asked or not, in nats.

    ln max over y, x, x' of P(y | x) / P(y | x'), P(y | x) = sum_z n[x, z] T[z, y] /
    (n_x 2^64), with n the counts of target value x and cell z of the answers, T the
    thresholds.

    Parameters
    ----------
    channel
        The channel.
    guarantee
        `"exact"`: as above, in integers, rounded up; `"worst"`: the epsilon of the
        matrix, for any distribution, unless attributes are public.
    counted
        Records; pair counts suffice for `"worst"`.
    public
        Attributes that the adversary sees besides the report.

    Notes
    -----
    O(k cells outputs) integer products for a target with k values.
    """
    if guarantee == "worst" and not public:
        return [channel.epsilon] * len(counted.domain)
    checks.choice(guarantee, "guarantee of a form with one report", ("exact",))
    assert isinstance(counted, Records)
    from seepage.designs.shaped.report_thresholds import report_totals  # imports SciPy

    indices = [counted.domain.index(name) for name in public]
    thresholds = exact_cells(int, channel.mechanism.thresholds)
    return report_totals(FormCounter(counted, indices), channel.attributes, thresholds)
