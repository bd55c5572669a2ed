"""A plan as one self-contained HTML page without scripts, as a chart, and as an
evidence pack.
"""

import math
from collections.abc import Mapping
from datetime import date
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from seepage._core import checks
from seepage._core.results import json_text
from seepage._core.text import FACTOR, nats, points, rounded_people, span
from seepage.pages.render import render_page
from seepage.plan.advice import advice, assessment, people_sentence
from seepage.plan.content import wanted_of
from seepage.plan.plan_precision import (
    THIS_PLAN,
    Precision,
    cross_tables,
    pairs_together,
    people_text,
    plan_precision,
)
from seepage.plan.promises import answer_text, form_sizes, merged_text, statements
from seepage.workflow.plan import Plan

STYLES = ("base", "figures", "print", "plan")


SHADES = 5
"""Number of shades of budgets, `shade-1` to `shade-5` in the style sheet."""


MAX_ROOMY = 8


MAX_NARROW = 24
"""Maximum number of forms for cells with budget and mechanism, and with the budget;
else shades."""


def plan_page(plan: Plan, *, name: str | None = None) -> str:
    """Return a plan as one HTML page, to be signed.

    Parameters
    ----------
    plan
        The plan.
    name
        What is collected, for the heading, if the plan states no title.

    Examples
    --------
    >>> import seepage as sp
    >>> page = plan_page(sp.calibrate("adult", 2.0, columns=["sex", "race"]))
    >>> page.startswith("<!doctype html>"), "<script" in page, "https://" in page
    (True, False, False)
    """
    heading = plan_title(plan, name)
    forms = len(plan.forms)
    today = date.today()
    precision = plan_precision(plan)
    sentence = people_sentence(plan, precision)
    numbers = [n for p in plan.attributes for n in (p.limit, p.total) if n is not None]
    return render_page(
        "plan.html",
        f"{heading}: a plan",
        styles=STYLES,
        heading=heading,
        author=plan.provenance.settings.get("author"),
        date=f"{today.day} {today:%B %Y}",
        sentence=sentence,
        advice=advice(plan, precision),
        factor_text=FACTOR,
        means=[plan.domain.names[j] for j in wanted_of(plan).scores],
        cross_tables=cross_tables(plan, precision),
        assessment=assessment(plan, sentence),
        settings=json_text(plan.provenance.settings),
        density="roomy"
        if forms <= MAX_ROOMY
        else "narrow"
        if forms <= MAX_NARROW
        else "dense",
        max_roomy=MAX_ROOMY,
        largest_total=max(filter(math.isfinite, numbers), default=1.0) or 1.0,
        percent=percent,
        budget=budget,
        points=points,
        **statements(plan),
        **_questions(plan),
        **_precision(precision),
    )


def plan_title(plan: Plan, name: str | None) -> str:
    """Return the title of a plan's page: that of its settings, or else the given name."""
    given = name if name is None else checks.text(name, "name")
    return str(plan.provenance.settings.get("title") or given or "Plan of a collection")


def compare_page(plans: Mapping[str, Plan]) -> str:
    """Return several plans side by side as one HTML page.

    Parameters
    ----------
    plans
        The plans by name; half-widths are for as many people as the first one asks.
    """
    precisions = [plan_precision(plan) for plan in plans.values()]
    people = precisions[0].people
    width = max(one.half_width for one in precisions)
    columns = [_column(*each) for each in zip(plans.values(), precisions, strict=True)]
    titles = [plan_title(plan, name) for name, plan in plans.items()]
    if len(set(titles)) < len(titles):  # two designs of one collection
        titles = [
            f"{title} ({name})" for title, name in zip(titles, plans, strict=True)
        ]
    needs = [
        f"{title} needs {rounded_people(math.ceil(one.people * (one.half_width / width) ** 2))} "
        f"people (limit {column[LIMIT]}, whole record {column[RECORD]})"
        for title, one, column in zip(titles, precisions, columns, strict=True)
    ]
    names = dict.fromkeys(name for one in precisions for name in one.sizes)
    return render_page(
        "plans.html",
        "Plans side by side",
        styles=STYLES,
        names=titles,
        sentence=f"For every share within {points(width)} points, {', '.join(needs)}."
        if 0 < width < math.inf
        else "",
        rows={what: [column[what] for column in columns] for what in columns[0]},
        widths={
            name: [_width(one, name, people) for one in precisions] for name in names
        },
        people=rounded_people(people),
    )


LIMIT = "Limit for each attribute, nats"


RECORD = "Whole record, at most, nats"


def _column(plan: Plan, precision: Precision) -> dict[str, str]:
    """Return what is compared of a plan."""
    return {
        "In a sentence": people_sentence(plan, precision),
        "People to ask": rounded_people(precision.people),
        "Every share within, points": points(precision.half_width),
        "Forms": str(len(plan.forms)),
        "Questions a person gets": form_sizes(plan),
        LIMIT: span(planned.limit for planned in plan.attributes),
        RECORD: nats(max(form.record for form in plan.forms)),
        "Holds": plan.whom or f"by assumption ({plan.guarantee})",
        "Cross-tables": " of ".join(str(len(pairs)) for pairs in pairs_together(plan)),
    }


def _width(precision: Precision, name: str, people: int) -> str:
    """Return the half-width of an attribute's shares with a number of people."""
    width = (
        precision.width(precision.strategies[0], name)
        if name in precision.sizes
        else math.inf
    )
    if not math.isfinite(width):
        return "not asked"
    return f"± {points(width * math.sqrt(precision.people / people))}"


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
    largest = max(
        (question.epsilon for question in questions if question), default=None
    )

    def shade(epsilon: float) -> int:
        return (
            min(SHADES, max(1, math.ceil(SHADES * epsilon / largest))) if largest else 1
        )

    return {
        "shares": [form.share for form in plan.forms],
        "answers": {
            name: [answer_text(value) for value in plan.domain[name].values]
            for name in plan.collected.names
        },
        "covered": plan.provenance.settings.get("values", {}),
        "merged": {
            attribute.name: merged_text(attribute) for attribute in plan.collected
        },
        "asked": {
            name: sum(form.share for _, form in plan[name].asking)
            for name in plan.collected.names
        },
        "shades": SHADES,
        "shade": shade,
        "largest_budget": largest,
    }


def _precision(precision: Precision) -> dict[str, Any]:
    """Return the strategies, the best first, with the people that each needs, and the
    widths.
    """
    ordered = sorted(precision.strategies, key=precision.ratio)
    ratios = [precision.ratio(strategy) for strategy in ordered]
    largest = max(filter(math.isfinite, ratios), default=1.0) or 1.0
    widths = {
        name: precision.width(precision.strategies[0], name) for name in precision.sizes
    }
    return {
        "precision": precision,
        "people": rounded_people(precision.people),
        "this_plan": THIS_PLAN,
        "strategies": [
            {
                "of": strategy,
                "people": people_text(precision, ratio),
                "record": "everything" if math.isinf(record) else nats(record),
                "share": ratio / largest,
            }
            for strategy, ratio in zip(ordered, ratios, strict=True)
            for record in [float(strategy.record)]
        ],
        "widths": widths,
        "widest": max(filter(math.isfinite, widths.values()), default=1.0) or 1.0,
    }


def plan_picture(plan: Plan) -> Any:
    """Return an Altair chart of forms with their budgets and shares, totals and limits."""
    from seepage.charts.result_charts import forms_chart

    title = f"{plan.guarantee}, {plan.kind}"
    attributes = [
        {"attribute": planned.name, "total": planned.total, "limit": planned.limit}
        for planned in plan.attributes
    ]
    questions = [
        {
            "form": number,
            "share": form.share,
            "attribute": name,
            "mechanism": question.mechanism
            if (question := form.question(name))
            else "shaped",
            "epsilon": question.epsilon if question else None,
        }
        for number, form in enumerate(plan.forms, 1)
        for name in form.attributes
    ]
    return forms_chart(questions, attributes, title)
