"""The page of a plan as one HTML file, without a script."""

import math
import os
from collections.abc import Iterator

from seepage import _checks
from seepage._files import whole_file
from seepage._pages import Markup, element, joined, static_page
from seepage._results import json_text
from seepage.plan.page.forms_picture import forms_picture
from seepage.plan.page.precision_section import (
    bar,
    plan_precision,
    precision_section,
    precision_sentence,
)
from seepage.plan.page.promise_text import (
    FACTOR,
    assessment,
    factor,
    ground,
    nats,
    promise,
    unpromised,
)
from seepage.plan.plan import Plan
from seepage.plan.planned_attribute import PlannedAttribute

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
        The plan; one that was edited and not certified since raises an InputError.
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
    plan.check_certified()
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
    return static_page(
        f"{title}: a plan",
        joined(_header(plan, title), element("main", _sections(content))),
        STYLES,
    )


def write_plan_page(plan: Plan, path: str | os.PathLike[str], *, name: str | None = None) -> None:
    """Write a plan as an HTML page, which appears whole or not at all.

    Parameters
    ----------
    plan, name
        As in `plan_page`.
    path
        The file.
    """
    page = plan_page(plan, name=name)
    with whole_file(path) as file:
        file.write(page.encode())


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
    rests = "note warning" if plan.kind == "assumed" else None
    return joined(
        element("p", promise(plan), class_="headline"),
        element("p", ground(plan), class_=rests),
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
    drawn = [float(n) for p in plan.attributes for n in (p.limit, p.total) if n is not None]
    most = max(filter(math.isfinite, drawn), default=1.0)
    titles = ["attribute", "all reports tell at most", "limit"]
    if len(plan.forms) > 1:
        titles.append("in form")
    titles.append("rests on")
    head = [
        element("th", text, scope="col", class_="told" if place == 1 else None)
        for place, text in enumerate(titles)
    ]
    rows = [_attribute(plan, planned, most) for planned in plan.attributes]
    return joined(
        element(
            "p",
            f"In nats; {FACTOR}. The total is the largest over all forms, over those that do not "
            "ask for the attribute too; the mark is the limit.",
            class_="muted",
        ),
        element(
            "div",
            element(
                "table",
                element("thead", element("tr", head)),
                element("tbody", rows),
                class_="attributes",
            ),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="The promise for each attribute",
        ),
    )


def _attribute(plan: Plan, planned: PlannedAttribute, most: float) -> Markup:
    total = float(planned.total)
    how = "public" if planned.public else "" if planned.asking else "not collected"
    form = plan.forms[planned.form - 1]
    several = [element("td", str(planned.form))] if len(plan.forms) > 1 else []
    delta = f", but for delta {planned.total_delta:g}" if planned.total_delta > 0 else ""
    if planned.public or not math.isfinite(total):
        told, picture = "known" if planned.public else "everything: no bound", Markup("")
    else:
        told = f"{nats(total)} (a factor of {factor(total)})"
        picture = _against(total, planned.limit, most)
    return element(
        "tr",
        element(
            "th",
            element("bdi", planned.name),
            joined(" ", element("span", how, class_="badge")) if how else "",
            scope="row",
        ),
        element("td", told, picture, class_="told"),
        element("td", "no limit" if planned.limit is None else f"{planned.limit:g}"),
        several,
        element("td", form.guarantee + delta, class_="words"),
    )


def _against(total: float, limit: float | None, most: float) -> Markup:
    """Return a total as a bar, with a mark at the limit."""
    share = total / most if most > 0 else 0.0
    drawn = bar(share, "ours")
    if limit is None or not most > 0:
        return drawn
    place = min(99.0, 100 * limit / most)
    mark = element("rect", class_="limit", x=place, width=1, height=10)
    return Markup(drawn.replace("</svg>", f"{mark}</svg>"))


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
