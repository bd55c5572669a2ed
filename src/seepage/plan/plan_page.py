"""The page of a plan as one self-contained HTML file, without scripts."""

import math
from collections.abc import Iterator

from markupsafe import Markup

from seepage import _checks
from seepage._pages import element, joined, render_page
from seepage._results import json_text
from seepage.designs.strategies import Strategy
from seepage.plan.forms_picture import forms_picture, scroll_table
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import PlannedAttribute
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

SECTIONS = {
    "promise": "What it promises",
    "forms": "Who is asked what",
    "attributes": "The promise for each attribute",
    "precision": "How precise the results will be",
    "assessment": "For an impact assessment",
    "provenance": "Provenance",
}


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
    title = name or "Plan of a collection"
    precision = plan_precision(plan)
    content = {
        "promise": _promise(plan),
        "forms": forms_picture(plan),
        "attributes": _attributes(plan),
        "precision": precision_section(plan, precision),
        "assessment": _assessment(plan, precision_sentence(plan, precision)),
        "provenance": _provenance(plan),
    }
    body = joined(_header(plan, title), element("main", _sections(content)))
    return render_page("static.html", f"{title}: a plan", styles=STYLES, body=body)


def _header(plan: Plan, title: str) -> Markup:
    forms = "1 form" if len(plan.forms) == 1 else f"{len(plan.forms)} forms"
    links = [element("a", text, href=f"#{key}") for key, text in SECTIONS.items()]
    return element(
        "header",
        element("p", "seepage plan", class_="kind"),
        element("h1", element("bdi", title)),
        element(
            "p",
            f"{forms}, {len(plan.collected)} of {len(plan.attributes)} attributes collected; "
            f"guarantee {plan.guarantee} ({plan.kind})",
            class_="muted",
        ),
        element("nav", links, aria_label="Sections"),
    )


def _sections(content: dict[str, Markup]) -> Iterator[Markup]:
    for key, body in content.items():
        heading = element("h2", SECTIONS[key], id=f"{key}-title")
        yield element("section", heading, body, id=key, aria_labelledby=f"{key}-title")


def _promise(plan: Plan) -> Markup:
    css_class = "note warning" if plan.kind == "assumed" else None
    return joined(
        element("p", promise(plan), class_="headline"),
        element("p", ground(plan), class_=css_class),
        element("h3", "What it does not promise"),
        element(
            "ul",
            [
                element("li", element("strong", heading), f" {text}")
                for heading, text in unpromised(plan)
            ],
            class_="leaks",
        ),
    )


def _attributes(plan: Plan) -> Markup:
    numbers = [float(n) for p in plan.attributes for n in (p.limit, p.total) if n is not None]
    largest = max(filter(math.isfinite, numbers), default=1.0)
    titles = ["attribute", "all reports tell at most", "limit"]
    if len(plan.forms) > 1:
        titles.append("in form")
    titles.append("rests on")
    head = [
        element("th", text, scope="col", class_="metered" if index == 1 else None)
        for index, text in enumerate(titles)
    ]
    rows = [_attribute(plan, planned, largest) for planned in plan.attributes]
    return joined(
        element(
            "p",
            f"In nats; {FACTOR}. The total is the largest over all forms, over those that do not "
            "ask for the attribute too; the mark is the limit.",
            class_="muted",
        ),
        scroll_table(
            SECTIONS["attributes"],
            element("thead", element("tr", head)),
            element("tbody", rows),
            class_="attributes",
        ),
    )


def _attribute(plan: Plan, planned: PlannedAttribute, largest: float) -> Markup:
    total = planned.total
    badge = "public" if planned.public else "" if planned.asking else "not collected"
    form = plan.forms[planned.form - 1]
    index = plan.attributes.index(planned)
    attaining = attaining_form([float(form.totals[index]) for form in plan.forms])
    form_cell = [element("td", attaining)] if len(plan.forms) > 1 else []
    delta = f", but for delta {planned.total_delta:g}" if planned.total_delta > 0 else ""
    if planned.public or not math.isfinite(total):
        text, picture = "known" if planned.public else "everything: no bound", Markup("")
    else:
        text = f"{nats(total)} (a factor of {factor(total)})"
        picture = _total_bar(total, planned.limit, largest)
    return element(
        "tr",
        element(
            "th",
            element("bdi", planned.name),
            joined(" ", element("span", badge, class_="badge")) if badge else "",
            scope="row",
        ),
        element("td", text, picture, class_="metered"),
        element("td", "no limit" if planned.limit is None else f"{planned.limit:g}"),
        form_cell,
        element("td", form.guarantee + delta, class_="words"),
    )


def _total_bar(total: float, limit: float | None, largest: float) -> Markup:
    """Return a total as a bar on the scale 0 to `largest`, with a mark at the limit."""
    total_bar = bar(total / largest if largest > 0 else 0.0, "ours")
    if limit is None or not largest > 0:
        return total_bar
    x = min(99.0, 100 * limit / largest)
    mark = element("rect", class_="limit", x=x, width=1, height=10)
    return Markup(str(total_bar).replace("</svg>", f"{mark}</svg>"))


def _assessment(plan: Plan, precision: str) -> Markup:
    return joined(
        element("p", "Ready to paste: one click selects it.", class_="muted"),
        element("p", assessment(plan, precision), class_="note paste"),
    )


def _provenance(plan: Plan) -> Markup:
    from_ = plan.provenance
    rows = {
        "Computed from": f"{from_.records:,} records"
        + (f", a sample of {from_.population:,}" if isinstance(from_.population, int) else ""),
        "Digest of the counts": from_.digest,
        "Digest of the plan": plan.digest,
        "Digest of the collection": plan.collection,
        "Totals hold for": "any mechanisms with these budgets"
        if plan.basis == "bound"
        else "the mechanisms in the plan",
        "The adversary keeps": "the whole report"
        if plan.view == "report"
        else "the value inferred from each report",
        "seepage": from_.seepage,
    }
    listed = [
        (element("dt", term), element("dd", element("code", text))) for term, text in rows.items()
    ]
    parts: list[str] = [element("dl", [joined(*pair) for pair in listed])]
    if plan.notes:
        parts.append(element("h3", "Notes"))
        parts.append(element("ul", [element("li", note) for note in plan.notes]))
    if from_.settings:
        settings = element("pre", element("code", json_text(from_.settings)))
        parts.append(element("details", element("summary", "Settings"), settings))
    return joined(parts)


# Precision ---------------------------------------------------------------------------------------


def precision_section(plan: Plan, precision: Precision) -> Markup:
    """Return the sentence, the strategies as bars, and the table of attributes."""
    if not precision.sizes:
        return element("p", "No attribute has more than one value: nothing is estimated.")
    parts: list[str] = [element("p", precision_sentence(plan, precision), class_="headline")]
    if len(precision.strategies) > 1:
        parts.append(_strategies_table(precision))
    return joined(
        parts,
        element(
            "p",
            "A half-width is 1.96 standard errors of a share that is estimated from the reports, ",
            "noise and sampling together, in percentage points; where an attribute has several "
            "values, their root mean square. ",
            "It is computed at the frequencies of the table"
            if any(planned.frequencies for planned in plan.attributes)
            else "It is computed for values that are equally frequent, which is the largest it is",
            f", for {precision.people:,} people; for four times as many it is half.",
            class_="muted small",
        ),
        _attributes_table(precision),
    )


def _strategies_table(precision: Precision) -> Markup:
    plan_error = precision.error(precision.strategies[0])
    ordered = sorted(precision.strategies, key=precision.error)
    errors = map(precision.error, ordered)
    largest = max(filter(math.isfinite, errors), default=1.0)
    head = element(
        "tr",
        element("th", "strategy within the limits", scope="col"),
        element("th", "people needed for the same precision", scope="col", class_="metered"),
        element("th", "rests on", scope="col"),
    )
    rows = [
        element(
            "tr",
            element("th", strategy.name, scope="row"),
            element(
                "td",
                _ratio_text(precision.error(strategy) / plan_error) if plan_error > 0 else "",
                bar(precision.error(strategy) / largest, _bar_class(strategy)),
                class_="metered",
            ),
            element("td", strategy.rests_on, class_="words"),
            class_="ours" if strategy.name == THIS_PLAN else None,
        )
        for strategy in ordered
    ]
    return scroll_table(
        "Strategies within the limits",
        element("caption", "Mean over attributes; the fewer people, the better"),
        element("thead", head),
        element("tbody", rows),
        class_="ways",
    )


def _ratio_text(ratio: float) -> str:
    return "not possible" if not math.isfinite(ratio) else f"{ratio:.3g} ×"


def _bar_class(strategy: Strategy) -> str:
    return "ours" if strategy.name == THIS_PLAN else "other"


def bar(share: float, css_class: str) -> Markup:
    """Return a horizontal bar on the scale 0 to 1."""
    length = 100 * min(1.0, share) if math.isfinite(share) else 0.0
    return element(
        "svg",
        element("rect", class_="track", width=100, height=10),
        element("rect", class_=css_class, width=length and max(0.5, length), height=10),
        class_="meter",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _attributes_table(precision: Precision) -> Markup:
    shown = shown_strategies(precision)
    widths = [precision.width(s, name) for s in shown for name in precision.sizes]
    widest = max(filter(math.isfinite, widths), default=1.0) or 1.0

    def cell(strategy: Strategy, name: str) -> Markup:
        width = precision.width(strategy, name)
        text = f"± {points(width)}" if math.isfinite(width) else "-"
        return element("td", text, bar(width / widest, _bar_class(strategy)))

    head = [element("th", text, scope="col") for text in ("attribute", *(s.name for s in shown))]
    rows = [
        element(
            "tr",
            element("th", element("bdi", name), scope="row"),
            [cell(strategy, name) for strategy in shown],
        )
        for name in precision.sizes
    ]
    return scroll_table(
        "Half-widths by attribute",
        element("caption", "Half-width in percentage points, 95 %"),
        element("thead", element("tr", head)),
        element("tbody", rows),
        class_="precision",
    )
