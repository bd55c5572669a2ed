"""The forms of a plan as an HTML table: attributes by forms, shares as bars, budgets as shades."""

import math
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from markupsafe import Markup

from seepage._pages import element, joined
from seepage.designs.form import Form
from seepage.mechanisms.exact_draws import CERTAIN
from seepage.plan.plan import Plan
from seepage.plan.plan_text import nats

SHADES = 5
"""Number of shades of budgets, `shade-1` to `shade-5` in the style sheet."""

MAX_ROOMY, MAX_NARROW = 8, 24
"""Maximum number of forms for cells with budget and mechanism, and with the budget; else shades."""


def form_share(form: Form) -> float:
    """Return the share of people who get a form."""
    return form.chance / CERTAIN


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


def scroll_table(label: str, *parts: str, class_: str) -> Markup:
    """Return a table in a region that scrolls if the page is narrow."""
    table = element("table", *parts, class_=class_)
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)


def forms_picture(plan: Plan) -> Markup:
    """Return the table of attributes by forms, its legend, and a sentence on every form."""
    largest = max((e for form in plan.forms for e in _budgets(form).values()), default=1.0)
    return joined(
        element("p", _caption(plan), class_="muted"),
        _legend(plan, largest),
        scroll_table(
            "Attributes by forms",
            _head(plan),
            element("tbody", [_row(plan, name, largest) for name in plan.collected.names]),
            _foot(plan),
            class_=f"forms {_density(plan)}",
        ),
        element(
            "details",
            element("summary", "Every form in words"),
            element("ol", [element("li", _sentence(form)) for form in plan.forms]),
        ),
    )


def _density(plan: Plan) -> str:
    number = len(plan.forms)
    return "roomy" if number <= MAX_ROOMY else "narrow" if number <= MAX_NARROW else "dense"


def _budgets(form: Form) -> dict[str, float]:
    """Return the budget of each question; empty for one shaped report on all answers."""
    asked = {name: form.question(name) for name in form.attributes}
    return {name: question.epsilon for name, question in asked.items() if question}


def _caption(plan: Plan) -> str:
    if len(plan.forms) == 1:
        return "One form for everybody: each attribute with its budget in nats."
    return "One column is one form; a filled cell is a question, with its budget in nats."


def _legend(plan: Plan, largest: float) -> Markup:
    swatches = [_swatch(f"shade-{step}") for step in range(1, SHADES + 1)]
    noise = f" {budget(largest)}: the larger, the less noise."
    shaped = " shaped: one report for all answers."
    return element(
        "p",
        ["Budget of a question: small ", *swatches, noise]
        if any(map(_budgets, plan.forms))
        else "",
        ""
        if all(form.is_product for form in plan.forms)
        else [" ", element("span", _swatch("shaped", "⊞"), shaped, class_="whole")],
        class_="legend-line",
    )


def _swatch(kind: str, sign: str = " ") -> Markup:
    return element("span", sign, class_=f"cell {kind}", aria_hidden="true")


def _head(plan: Plan) -> Markup:
    largest = max(form_share(form) for form in plan.forms)
    is_single, is_roomy = len(plan.forms) == 1, len(plan.forms) <= MAX_ROOMY
    cells = [
        element(
            "th",
            "" if is_single else _vertical_bar(form_share(form) / largest),
            element("span", f"Form {n}" if is_roomy else str(n), class_="number"),
            element("span", percent(form_share(form)), class_="share"),
            scope="col",
            title=f"Form {n}: {percent(form_share(form))} of people",
        )
        for n, form in enumerate(plan.forms, 1)
    ]
    title = "" if is_single else "share of people who get the form"
    first = element("th", title, scope="col", class_="corner")
    last = element("th", "asked of", scope="col", class_="asked")
    return element("thead", element("tr", first, cells, last))


def _vertical_bar(share: float) -> Markup:
    """Return a vertical bar on the scale 0 to 1."""
    height = max(1.0, 40 * share)
    bar = element("rect", x=0, y=40 - height, width=10, height=height)
    return element(
        "svg", bar, class_="tower", viewBox="0 0 10 40", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip


def _row(plan: Plan, name: str, largest: float) -> Markup:
    share = sum(form.chance for _, form in plan[name].asking) / CERTAIN
    cells = [_cell(n, form, name, largest) for n, form in enumerate(plan.forms, 1)]
    return element(
        "tr",
        element("th", element("bdi", name), scope="row"),
        cells,
        element("td", percent(share), class_="asked"),
    )


def _cell(number: int, form: Form, name: str, largest: float) -> Markup:
    if name not in form.attributes:
        return element("td", class_="empty")
    question = form.question(name)
    where = f"form {number}, {name}: "
    if question is None:
        return element(
            "td",
            element("span", "⊞", class_="budget"),
            element("span", " shaped", class_="how"),
            class_="cell shaped",
            title=f"{where}shaped, one report for all answers",
        )
    shade = max(1, math.ceil(SHADES * question.epsilon / largest)) if largest > 0 else 1
    text = budget(question.epsilon)
    return element(
        "td",
        element("span", text, class_="budget"),
        element("span", f" {question.mechanism}", class_="how"),
        class_=f"cell shade-{min(shade, SHADES)}",
        title=f"{where}{text} nats, {question.mechanism}",
    )


def _foot(plan: Plan) -> Markup:
    cells = [
        element("td", element("span", nats(form.record), class_="budget"),
                title=f"form {n}: up to {nats(form.record)} nats about the whole record")
        for n, form in enumerate(plan.forms, 1)
    ]  # fmt: skip
    first = element("th", "whole record, at most", scope="row")
    return element("tfoot", element("tr", first, cells, element("td", class_="asked")))


def _sentence(form: Form) -> Markup:
    """Return a form as a sentence."""
    asked = []
    for name in form.attributes:
        question = form.question(name)
        detail = f" {budget(question.epsilon)} ({question.mechanism})" if question else ""
        asked.append(joined(element("bdi", name), detail))
    listed = [joined(", " if index else "", text) for index, text in enumerate(asked)]
    channel = "" if form.is_product else " as one report for all answers together"
    record = nats(form.record)
    return joined(
        f"{percent(form_share(form))} of people: ",
        listed,
        f"{channel}; up to {record} nats about the whole record; totals rest on {form.guarantee}.",
    )


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
