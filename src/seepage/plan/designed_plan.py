"""Plans within limits: `calibrate` (everyone is asked everything), `design`,
`compare_limits`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from seepage import _checks
from seepage._options import takes
from seepage._results import Result, json_ready
from seepage.data.records import Records
from seepage.designs import CalibrationOptions, DesignOptions, design_limit
from seepage.designs.a_optimal import OPTIMAL_SMP, UNIFORM_SMP
from seepage.designs.calibration import Calibration, calibrated
from seepage.designs.form import Form, with_shares
from seepage.designs.report_channels import ProductChannel, Question
from seepage.errors import InputError
from seepage.mechanisms.direct import best_mechanism
from seepage.plan import Plan
from seepage.plan.plan_parts import Provenance, stored_attributes

if TYPE_CHECKING:
    from seepage.designs.design_search import Design

MAX_LIMITS = 20
"""Maximum number of limits that are compared: each has a share of the time and
confidence."""


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
    questions = tuple(
        Question.of(
            names[j],
            releases[j].mechanism or best_mechanism(problem.domain.sizes[j], e),
        )
        for j, e in enumerate(calibration.epsilons.tolist())
        if problem.collected[j]
    )
    channel = ProductChannel(questions=questions)
    form = Form.of(
        channel, totals.guarantee, totals.values.tolist(), totals.deltas.tolist()
    )
    public = [name for name, mask in zip(names, problem.public, strict=True) if mask]
    settings = {"guarantee": totals.guarantee}
    person = None
    if isinstance(problem.data, Records):
        person = problem.data.person
        fixed = problem.data.fixed
        settings |= {} if fixed is None else fixed.settings()
    return Plan(
        listed=stored_attributes(problem.pairs, problem.limits.tolist(), public),
        forms=with_shares([form], [1.0]),
        basis="bound" if all(r.mechanism is None for r in releases) else "mechanism",
        view=totals.view,
        confidence=totals.confidence,
        scope=_scope(totals.scope),
        provenance=Provenance.of(problem.pairs, settings, person),
        notes=(*totals.notes, *calibration.notes),
    )


def _scope(name: str) -> Literal["table", "population"]:
    return "population" if name == "population" else "table"


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


# Several limits -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class LimitComparison(Result):
    """Plans of one table for several limits, and what each limit costs.

    Parameters
    ----------
    plans
        The plans, in ascending order of their limits.
    limits
        The limit of each plan in nats.
    people, width
        The number of people that half-widths are for, and the half-width that people
        are for.
    confidence
        Confidence of the limits of all plans together; None for `scope="table"`.
    """

    plans: tuple[Plan, ...]
    limits: tuple[float, ...]
    people: int
    width: float
    confidence: float | None

    def _columns(self) -> dict[str, Sequence[Any]]:
        from seepage.plan.plan_precision import plan_precision

        rows = list[dict[str, Any]]()
        for limit, plan in zip(self.limits, self.plans, strict=True):
            precision = plan_precision(plan)
            variance = precision.people * precision.half_width**2
            known = math.isfinite(variance)
            smp = precision.named(OPTIMAL_SMP, UNIFORM_SMP)
            row = {
                "limit": limit,
                "half_width": math.sqrt(variance / self.people),
                "people": math.ceil(variance / self.width**2 * (1 - 1e-12))
                if known
                else None,
                "record": max(form.record for form in plan.forms),
                "forms": len(plan.forms),
                "one_question_each": None if smp is None else precision.ratio(smp),
            }
            rows.append(row)
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return the table, and what it is for, as plain JSON."""
        stated = {one.name: getattr(self, one.name) for one in fields(self)[2:]}
        return dict(json_ready({**stated, "designs": self._columns()}))

    def chart(self) -> Any:
        """Return the half-width of a share and the whole record against the limit."""
        from seepage.charts import curve_panels

        columns = self._columns()
        design = "the design"
        rival = "one question each"
        rows = list[dict[str, Any]]()
        for number, limit in enumerate(self.limits):
            width = columns["half_width"][number]
            ratio = columns["one_question_each"][number]
            shown = {design: (width, columns["record"][number])}
            if ratio is not None:
                shown[rival] = (width * math.sqrt(ratio), limit)
            rows += [
                {"panel": panel, "axis": axis, "series": series, "x": limit, "y": y}
                for series, (half, record) in shown.items()
                for panel, axis, y in (
                    (
                        f"Every share within, {self.people:,} people",
                        "points",
                        100 * half,
                    ),
                    (
                        "Leakage of a form about the whole record",
                        "at most, nats",
                        record,
                    ),
                )
            ]
        series = list(dict.fromkeys(row["series"] for row in rows))
        return curve_panels(
            rows, x_title="Limit for each attribute, nats", series=series
        )

    def _headline(self) -> str:
        limits = ", ".join(f"{limit:g}" for limit in self.limits)
        return f"LimitComparison(limits {limits}; {self.people:,} people, or ± {self.width:g})"


def compare_limits(
    data: Any, limits: Sequence[float], **options: Any
) -> LimitComparison:
    """Return plans for several limits, with the precision and the whole record of each.

    The records are read once, and the searches share the time.  For the population each
    plan has the confidence 1 - (1 - confidence) / (number of limits), rounded up, so
    that all limits hold together, and one plan may be chosen by looking at all of them.

    Parameters
    ----------
    data
        As in `design`.
    limits
        The limits of every attribute in nats, at most 20.
    options
        As in `design`, for all plans together; `people` and `precision` set what
        half-widths and numbers of people are for (by default as many people as the
        table has, and 3 points).

    Returns
    -------
    LimitComparison
        `to_pandas()` has a row for each limit, `plans` the plans; Ctrl-C ends the
        searches.

    Examples
    --------
    >>> import seepage as sp
    >>> people = sp.make_survey(1_000).select(["coffee", "sleep"])
    >>> found = sp.compare_limits(people, [2, 1], shape="never")
    >>> found.limits, [plan.confidence for plan in found.plans]
    ((1.0, 2.0), [0.975, 0.975])
    >>> strict, loose = found.to_arrow()["half_width"].to_pylist()
    >>> strict > loose
    True
    """
    from seepage.designs.design_search import (
        read_records,
        search_design,
    )  # imports SciPy
    from seepage.designs.form_search import Timer
    from seepage.plan.plan_precision import DEFAULT_WIDTH

    _checks.options(
        options, [one.name for one in fields(DesignOptions) if one.name != "limit"]
    )
    chosen = sorted(set(_checks.numbers(limits, "limits")))
    if not 1 <= len(chosen) <= MAX_LIMITS:
        raise InputError(
            f"limits must be 1 to {MAX_LIMITS} numbers, got {len(chosen)}",
            parameter="limits",
        )
    each = [
        DesignOptions(limit=design_limit(limit, "limits"), **options)
        for limit in chosen
    ]
    shared = each[0]
    timer = Timer(each[0].seconds)
    plans = list[Plan]()
    records, notes = read_records(data, shared)
    timer.seconds = max(timer.seconds, timer.elapsed + shared.seconds / 2)
    for number, one in enumerate(each):
        left = max(timer.seconds - timer.elapsed, 0.1) / (len(each) - number)
        level = divided(one.confidence, len(each))
        found = search_design(
            records, replace(one, seconds=left, confidence=level), notes
        )
        plans.append(plan_of_design(found))
        if found.ended == "interrupted":
            break
    return LimitComparison(
        tuple(plans),
        tuple(chosen[: len(plans)]),
        shared.people or records.records,
        shared.precision or DEFAULT_WIDTH,
        shared.confidence if shared.scope == "population" else None,
    )


def divided(confidence: float, statements: int) -> float:
    """Return 1 - (1 - confidence) / statements, rounded up: all statements hold
    together.

    Examples
    --------
    >>> divided(0.95, 3), divided(0.95, 1), divided(0.9, 2)
    (0.9834, 0.95, 0.95)
    """
    share = (1 - confidence) / statements
    digits = 2 - math.floor(math.log10(share))
    return round(
        1 - math.floor(share * 10.0**digits * (1 + 1e-9)) / 10.0**digits, digits
    )
