"""A plan as one self-contained HTML page without scripts, and as a chart."""

import math
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from seepage import _checks
from seepage._pages import render_page
from seepage._results import json_text
from seepage.mechanisms.exact_draws import CERTAIN
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import wanted_of
from seepage.plan.plan_precision import (
    THIS_PLAN,
    Precision,
    plan_precision,
    points,
    precision_sentence,
    shown_strategies,
)
from seepage.plan.plan_text import (
    FACTOR,
    assessment,
    attaining_form,
    factor,
    ground,
    nats,
    promise,
    unpromised,
)

STYLES = ("base", "figures", "print", "plan")

SHADES = 5
"""Number of shades of budgets, `shade-1` to `shade-5` in the style sheet."""

MAX_ROOMY, MAX_NARROW = 8, 24
"""Maximum number of forms for cells with budget and mechanism, and with the budget; else shades."""


def plan_page(plan: Plan, *, name: str | None = None) -> str:
    """Return a plan as one HTML page.

    Parameters
    ----------
    plan
        The plan.
    name
        What is collected, for the title.

    Examples
    --------
    >>> import seepage as sp
    >>> page = plan_page(sp.calibrate("adult", 2.0, columns=["sex", "race"]))
    >>> page.startswith("<!doctype html>"), "<script" in page, "https://" in page
    (True, False, False)
    """
    _checks.instance(plan, "plan", Plan, "a Plan")
    if name is not None:
        _checks.instance(name, "name", str, "text")
    heading, forms = name or "Plan of a collection", len(plan.forms)
    precision = plan_precision(plan)
    sentence = precision_sentence(plan, precision)
    numbers = [n for p in plan.attributes for n in (p.limit, p.total) if n is not None]
    return render_page(
        "plan.html",
        f"{heading}: a plan",
        styles=STYLES,
        heading=heading,
        plan=plan,
        promise=promise(plan),
        ground=ground(plan),
        unpromised=list(unpromised(plan)),
        factor_text=FACTOR,
        means=[plan.domain.names[j] for j in wanted_of(plan).scores],
        precision_sentence=sentence,
        assessment=assessment(plan, sentence),
        settings=json_text(plan.provenance.settings),
        density="roomy" if forms <= MAX_ROOMY else "narrow" if forms <= MAX_NARROW else "dense",
        max_roomy=MAX_ROOMY,
        largest_total=max(filter(math.isfinite, numbers), default=1.0) or 1.0,
        attaining=[
            attaining_form([float(form.totals[index]) for form in plan.forms])
            for index in range(len(plan.attributes))
        ],
        infinity=math.inf,
        nats=nats,
        factor=factor,
        percent=percent,
        budget=budget,
        points=points,
        **_questions(plan),
        **_precision(precision),
    )


def percent(share: float) -> str:
    """Return a share as a percentage with about three digits.

    Examples
    --------
    >>> percent(0.33764), percent(0.00123), percent(1.0), percent(1e-9)
    ('33.8 %', '0.123 %', '100 %', '< 0.001 %')
    """
    if 0 < share < 1e-5:
        return "< 0.001 %"
    return f"{100 * share:.3g} %"


def budget(epsilon: float) -> str:
    """Return a budget with two decimals, rounded down; with more where those are zeros.

    Examples
    --------
    >>> budget(1.9673), budget(0.00123), budget(0.0)
    ('1.96', '0.0012', '0')
    """
    if epsilon == 0 or not math.isfinite(epsilon):
        return f"{epsilon:g}"
    digits = max(2, 1 - math.floor(math.log10(epsilon)))
    return str(Decimal(epsilon).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR))


def _questions(plan: Plan) -> dict[str, Any]:
    """Return the shares of forms and of people asked, and the shades of budgets."""
    questions = [form.question(name) for form in plan.forms for name in form.attributes]
    largest = max((question.epsilon for question in questions if question), default=None)

    def shade(epsilon: float) -> int:
        return min(SHADES, max(1, math.ceil(SHADES * epsilon / largest))) if largest else 1

    return {
        "shares": [form.chance / CERTAIN for form in plan.forms],
        "asked": {
            name: sum(form.chance for _, form in plan[name].asking) / CERTAIN
            for name in plan.collected.names
        },
        "shades": SHADES,
        "shade": shade,
        "largest_budget": largest,
    }


def _precision(precision: Precision) -> dict[str, Any]:
    """Return the strategies, the best first, with the people that each needs, and the widths."""
    own, shown = precision.error(precision.strategies[0]), shown_strategies(precision)
    ordered = sorted(precision.strategies, key=precision.error)
    errors = [precision.error(strategy) for strategy in ordered]
    largest = max(filter(math.isfinite, errors), default=1.0) or 1.0
    widths = [precision.width(s, name) for s in shown for name in precision.sizes]

    def people(error: float) -> str:
        if own <= 0:
            return ""
        return f"{error / own:.3g} ×" if math.isfinite(error / own) else "not possible"

    return {
        "precision": precision,
        "this_plan": THIS_PLAN,
        "strategies": [
            {"of": strategy, "people": people(error), "share": error / largest}
            for strategy, error in zip(ordered, errors, strict=True)
        ],
        "shown": shown,
        "widest": max(filter(math.isfinite, widths), default=1.0) or 1.0,
    }


def plan_picture(plan: Plan) -> Any:
    """Return an Altair chart of budgets, totals and limits; with several forms, of shares."""
    from seepage.charts.panels import forms_chart
    from seepage.charts.results import plan_chart

    title = f"{plan.guarantee}, {plan.kind}"
    attributes = [
        {
            "attribute": planned.name,
            "mechanism": planned.mechanism or "not collected",
            "epsilon": planned.epsilon,
            "total": planned.total,
            "limit": planned.limit,
        }
        for planned in plan.attributes
    ]
    if plan.is_single:
        return plan_chart(attributes, title)
    questions = [
        {
            "form": number,
            "share": form.chance / CERTAIN,
            "attribute": name,
            "mechanism": question.mechanism if (question := form.question(name)) else "shaped",
            "epsilon": question.epsilon if question else None,
        }
        for number, form in enumerate(plan.forms, 1)
        for name in form.attributes
    ]
    return forms_chart(questions, attributes, title)
