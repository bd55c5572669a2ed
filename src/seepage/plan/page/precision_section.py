"""How precise the results of a plan are, beside other ways to keep its limits."""

import math
from typing import NamedTuple

from seepage._pages import Markup, element, joined
from seepage.collection.form_estimates import alternatives, expected_variances, half_width
from seepage.plan.plan import Plan
from seepage.plan.plan_checks import BY_FORM
from seepage.plan.provenance import Alternative
from seepage.totals.result import GUARANTEES

PEOPLE = 10_000
"""For so many people where the plan does not know how many records there are."""

SHOWN = 3
"""Alternatives beside the plan in the table of attributes."""

OURS = "this plan"


class Way(NamedTuple):
    """One way to collect: its name, what it rests on, and half-widths by attribute."""

    name: str
    rests_on: str
    certified: bool
    widths: dict[str, float]
    variance: float


class Precision(NamedTuple):
    """Half-widths of a plan's estimates and of other ways, the plan first, for so many people."""

    people: int
    ways: tuple[Way, ...]
    names: tuple[str, ...]


def points(width: float) -> str:
    """Return a half-width in percentage points with two digits, rounded up.

    Examples
    --------
    >>> points(0.00801), points(0.2), points(0.034), points(math.inf)
    ('0.81', '20', '3.4', 'not known')
    """
    if not math.isfinite(width):
        return "not known"
    if width <= 0:
        return "0"
    grown = 100 * width
    digits = 1 - math.floor(math.log10(grown))
    return f"{math.ceil(grown * 10.0**digits - 1e-9) / 10.0**digits:.{max(0, digits)}f}"


def plan_precision(plan: Plan) -> Precision:
    """Return the precision of a plan and of the other ways, for as many people as it was made of.

    Attributes with one value are left out: nothing is estimated of them.
    """
    people = plan.provenance.records or PEOPLE
    own = expected_variances(plan)
    names = tuple(name for name in own if plan.domain[name].size > 1)
    others = alternatives(plan)
    compared = [
        name
        for name in names
        if math.isfinite(own[name]) and all(name in other.variances for other in others)
    ]
    sizes = {name: plan.domain[name].size for name in names}

    def way(name: str, rests_on: str, certified: bool, variances: dict[str, float]) -> Way:
        widths = {
            each: half_width(variances.get(each, math.inf), sizes[each], people) for each in names
        }
        mean = sum(variances[each] for each in compared) / max(1, len(compared))
        return Way(name, rests_on, certified, widths, mean)

    ways = [way(OURS, _sure(plan, plan.guarantee), plan.kind != "assumed", own)]
    for other in others if compared else ():
        found = {name: float(v) for name, v in other.variances.items()}
        ways.append(way(other.name, _rests(plan, other), other.certified, found))
    return Precision(people, tuple(ways), names)


def _rests(plan: Plan, other: Alternative) -> str:
    if other.certified:
        return _sure(plan, other.rests_on)
    plain = other.rests_on.startswith("assum")
    return other.rests_on if plain else f"assumed: {other.rests_on}"


def _sure(plan: Plan, guarantee: str) -> str:
    """Return a guarantee with the confidence that it has, or the word that it is an assumption."""
    if plan.scope == "population" and guarantee in ("exact", "merged", BY_FORM):
        return f"{guarantee}, with confidence {plan.confidence:.4g}"
    kind = GUARANTEES.get(guarantee, "certified")
    return guarantee if kind == "certified" else f"{guarantee} ({kind})"


def precision_sentence(plan: Plan, found: Precision) -> str:
    """Return how precise one share will be, beside the best of the others."""
    if not found.names:
        return ""
    name = min(found.names, key=lambda each: plan.domain[each].size)
    ours, values = found.ways[0], plan.domain[name].values
    share = f"the share of each value of {name}"
    if len(values) == 2:
        share = f"the share of people with {name} = {values[1]}"
    source = "as many as the table has records" if plan.provenance.records else "say"
    text = (
        f"With {found.people:,} people ({source}), {share} will be known to within "
        f"{points(ours.widths[name])} percentage points, 19 times out of 20"
    )
    compared = [
        f"within {points(way.widths[name])} with {way.name}"
        for way in _shown(found)[1:]
        if way.widths[name] < math.inf
    ]
    return text + (f"; {', '.join(compared)}." if compared else ".")


def _shown(found: Precision) -> list[Way]:
    """Return the plan and few others: the equal split, everyone asked everything, the best SMP."""
    others = [way for way in found.ways[1:] if way.certified and "RS+FD" not in way.name]
    sampled = [way for way in others if "SMP" in way.name]
    if len(sampled) > 1:
        best = min(sampled, key=lambda way: way.variance)
        others = [way for way in others if way not in sampled or way is best]
    return [found.ways[0], *others[:SHOWN]]


def precision_section(plan: Plan, found: Precision) -> Markup:
    """Return the sentence, the ways as bars, and the table of attributes."""
    if not found.names:
        return element("p", "No attribute has more than one value: nothing is estimated.")
    parts: list[str] = [element("p", precision_sentence(plan, found), class_="headline")]
    if len(found.ways) > 1:
        parts.append(_ways_table(found))
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
            f", for {found.people:,} people; for four times as many it is half.",
            class_="muted small",
        ),
        _attributes_table(found),
    )


def _ways_table(found: Precision) -> Markup:
    ours = found.ways[0].variance
    ordered = sorted(found.ways, key=lambda way: way.variance)
    most = max((w.variance for w in ordered if math.isfinite(w.variance)), default=1.0)
    head = element(
        "tr",
        element("th", "way to keep the limits", scope="col"),
        element("th", "people needed for the same precision", scope="col", class_="told"),
        element("th", "rests on", scope="col"),
    )
    rows = [
        element(
            "tr",
            element("th", way.name, scope="row"),
            element(
                "td",
                _times(way.variance / ours) if ours > 0 else "",
                bar(way.variance / most, "ours" if way.name == OURS else "other"),
                class_="told",
            ),
            element("td", way.rests_on, class_="words"),
            class_="ours" if way.name == OURS else None,
        )
        for way in ordered
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", "Mean over attributes; the fewer people, the better"),
            element("thead", head),
            element("tbody", rows),
            class_="ways",
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Ways to keep the limits",
    )


def _times(ratio: float) -> str:
    return "not possible" if not math.isfinite(ratio) else f"{ratio:.3g} ×"


def bar(share: float, kind: str) -> Markup:
    """Return a horizontal bar from 0 to 1."""
    long = 100 * min(1.0, share) if math.isfinite(share) else 0.0
    return element(
        "svg",
        element("rect", class_="track", width=100, height=10),
        element("rect", class_=kind, width=long and max(0.5, long), height=10),
        class_="meter",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _attributes_table(found: Precision) -> Markup:
    shown = _shown(found)
    widest = max(
        (w for way in shown for w in way.widths.values() if math.isfinite(w)), default=1.0
    ) or 1.0  # fmt: skip
    head = [element("th", "attribute", scope="col")]
    head += [element("th", way.name, scope="col") for way in shown]
    rows = [
        element(
            "tr",
            element("th", element("bdi", name), scope="row"),
            [
                element(
                    "td",
                    f"± {points(way.widths[name])}" if math.isfinite(way.widths[name]) else "-",
                    bar(way.widths[name] / widest, "ours" if way.name == OURS else "other"),
                )
                for way in shown
            ],
        )
        for name in found.names
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", "Half-width in percentage points, 95 %"),
            element("thead", element("tr", head)),
            element("tbody", rows),
            class_="precision",
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Half-widths by attribute",
    )
