"""What a plan promises and does not promise, and how precise it is, in numbers and sentences."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from seepage._numerics import shortest_above
from seepage.collection.form_estimates import alternatives, expected_variances, half_width
from seepage.plan.plan import Plan
from seepage.plan.plan_parts import BY_FORM, WEAKEST, Alternative, PlannedAttribute
from seepage.totals.result import GUARANTEES

FACTOR = "1 nat: the odds between two values change by a factor of 2.7"

RESTS: dict[str, str] = {
    "exact": "It is proven for every report that can occur, from the joint distribution of the "
    "answers, without an assumption about how attributes depend on each other",
    "merged": "It is proven for every mechanism with these budgets, from a bound that merges "
    "values, without an assumption about how attributes depend on each other",
    "worst": "It is proven whatever the data and whatever the adversary knows: it is the sum of "
    "all budgets of a form",
    "sampled": "It is statistical: found on simulated reports",
    "independent": "It RESTS ON AN ASSUMPTION and is not proven: that the attributes are "
    "independent of each other given the one protected, which real data often violate",
    "tree": "It RESTS ON AN ASSUMPTION and is not proven: that the attributes depend on each other "
    "along a tree",
}


def attaining_form(totals: Sequence[float]) -> str:
    """Return the form with the largest of these totals, from 1; "each" where all forms have it.

    Examples
    --------
    >>> attaining_form([1.5, 2.0]), attaining_form([2.0, 2.0]), attaining_form([2.0])
    ('2', 'each', '1')
    """
    largest = max(totals)
    alike = len(totals) > 1 and min(totals) == largest
    return "each" if alike else str(totals.index(largest) + 1)


def nats(value: float) -> str:
    """Return a number of nats, rounded up at the third decimal and without trailing zeros.

    Examples
    --------
    >>> nats(1.99999), nats(0.1234), nats(math.inf)
    ('2', '0.124', 'any number of')
    """
    if not math.isfinite(value):
        return "any number of"
    return shortest_above(value)


def factor(value: float) -> str:
    """Return e to a number of nats, rounded up to two digits.

    Examples
    --------
    >>> factor(2.0), factor(0.1), factor(6.0), factor(8.0), factor(50.0)
    ('7.4', '1.2', '410', '3,000', '5.2e21')
    """
    if not value < 700:
        return "any number"
    grown = math.exp(value)
    digits = 1 - math.floor(math.log10(grown))
    above = math.ceil(grown * 10.0**digits) / 10.0**digits
    return f"{above:,.0f}" if 10 <= above < 1e6 else f"{above:.2g}".replace("e+", "e")


def protected(plan: Plan) -> list[PlannedAttribute]:
    """Return the attributes that have a limit."""
    return [planned for planned in plan.attributes if planned.limit is not None]


def unlimited(plan: Plan) -> list[PlannedAttribute]:
    """Return the attributes that are asked without a limit and are not public."""
    return [p for p in plan.attributes if p.limit is None and not p.public]


def promise(plan: Plan) -> str:
    """Return the first sentence: what the plan does and promises."""
    kept = protected(plan)
    if not kept:
        most = max(float(planned.total) for planned in plan.attributes)
        return (
            f"{_does(plan)}. It has no limits; {_claim(plan)}all reports of a person together tell "
            f"at most {nats(most)} nats about any one attribute ({FACTOR})."
        )
    limits = sorted({float(planned.limit or 0.0) for planned in kept})
    reach = " to ".join(f"{limit:g}" for limit in dict.fromkeys((limits[0], limits[-1])))
    about = "any one attribute" if not unlimited(plan) else "any one attribute that has a limit"
    each = ", by attribute" if len(limits) > 1 else ""
    promises = "It does not prove but assumes" if plan.kind == "assumed" else "It promises"
    return (
        f"{_does(plan)}. {promises}, {_claim(plan)}that all reports of a person together tell at "
        f"most {reach} nats about {about}{each}: they change the odds between any two of its "
        f"values by a factor of at most {factor(limits[-1])}."
    )


def _claim(plan: Plan) -> str:
    """Return for whom, in a few words."""
    if plan.guarantee == "worst":
        return "whoever the people are, "
    if plan.scope == "population":
        return (
            f"with confidence {plan.confidence:.4g} for the people whom its table was drawn from, "
        )
    return "for people distributed as in its table, "


def _does(plan: Plan) -> str:
    asked, forms = len(plan.collected), len(plan.forms)
    if forms == 1:
        many = len(plan.forms[0].attributes)
        noise = "each answer" if plan.forms[0].is_product else "the answers together"
        return f"Everyone is asked for the same {_count(many, 'attribute')}, and {noise} gets noise"
    sizes = sorted(len(form.attributes) for form in plan.forms)
    many_text = " to ".join(str(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
    return (
        f"Everyone is given one of {forms} forms, drawn without looking at their record, which "
        f"asks for {many_text} of {_count(asked, 'attribute')}, and the answers get noise"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def ground(plan: Plan) -> str:
    """Return the second sentence: what the promise rests on, and for whom it holds."""
    delta = max((planned.total_delta for planned in plan.attributes), default=0.0)
    parts = [_rests(plan)]
    if delta > 0:
        parts.append(f", but for reports that occur with probability {delta:g} at most")
    if plan.scope == "table" and plan.confidence is not None and plan.kind == "statistical":
        parts.append(f", with confidence {plan.confidence:.4g}")
    return "".join(parts) + ". " + whom(plan)


def _rests(plan: Plan) -> str:
    """Return what the totals rest on; where forms differ, the weakest in full."""
    names = sorted(
        {form.guarantee for form in plan.forms},
        key=lambda name: (WEAKEST.index(GUARANTEES[name]), name),
    )
    if len(names) == 1:
        return RESTS[names[0]]
    return (
        f"Forms rest on different guarantees ({', '.join(names)}). The weakest: {RESTS[names[0]]}"
    )


def whom(plan: Plan) -> str:
    """Return for whom the totals hold."""
    records = f"{plan.provenance.records:,}"
    knows = "who knows the distribution"
    told = known(plan)
    if told:
        knows += f" and the person's {', '.join(told)}"
    knows += " and nothing else about the person"
    if plan.guarantee == "worst":
        return "It holds for everybody, whoever they are."
    if plan.scope == "population":
        return (
            f"It holds for the people from whom the table of {records} records was drawn, with "
            f"confidence {plan.confidence:.4g}, if that was a random sample with one record per "
            f"person; and against an adversary {knows}."
        )
    return (
        f"It holds for people distributed as in the table of {records} records that it was "
        f"computed from, one record per person, against an adversary {knows}; for other people "
        "only as far as that table describes them."
    )


def known(plan: Plan) -> list[str]:
    """Return the attributes that the adversary is taken to know."""
    told = plan.provenance.settings.get("known", [])
    return [str(name) for name in told] if isinstance(told, list) else []


def unpromised(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield what is not promised: a heading, and a sentence or two."""
    records = [float(form.record) for form in plan.forms]
    worst = max(range(len(records)), key=records.__getitem__)
    where = f" (form {worst + 1})" if len(records) > 1 else ""
    adds = "the sum of its budgets" if plan.forms[worst].is_product else "the budget of its matrix"
    yield (
        "The whole record.",
        f"About all attributes at once a form tells up to {nats(records[worst])} nats{where}, "
        f"{adds}: a factor of {factor(records[worst])} between two whole records.",
    )
    if plan.guarantee != "worst":
        yield (
            "Adversaries with further knowledge.",
            "Whoever already knows other answers of the person can learn more about an attribute "
            "than its total, up to what the form tells about the whole record.",
        )
    yield (
        "Repeats.",
        "Each person answers once. Reports of a second collection"
        + (", or of a second form," if len(plan.forms) > 1 else "")
        + " add to what is told, and no limit covers both: keep reports and do not ask again.",
    )
    yield (
        "Declining.",
        "To decline after seeing the questions is itself a message, and has no noise: "
        "make “missing” a value that gets noise like any other, and always send a report.",
    )
    if plan.view == "inferred":
        yield (
            "Whole reports.",
            "The totals are for an adversary who keeps only the value inferred from each report; "
            "whoever keeps the whole report can learn more.",
        )
    public = [planned.name for planned in plan.attributes if planned.public]
    if public:
        yield "Public attributes.", f"{', '.join(public)}: released as they are, without noise."
    free = [planned.name for planned in unlimited(plan)]
    if free and len(free) < len(plan.attributes):
        yield "Attributes without a limit.", f"{', '.join(free)}: nothing bounds what is told."
    yield "Other attributes.", "Nothing is said about attributes that the plan does not name."


def assessment(plan: Plan, precision: str) -> str:
    """Return the paragraph for a data-protection impact assessment.

    Parameters
    ----------
    plan
        The plan.
    precision
        The sentence on how precise the results are, or nothing.
    """
    names = ", ".join(plan.collected.names)
    not_asked = [p.name for p in plan.attributes if not p.asking and not p.public]
    also = f" (and about {', '.join(not_asked)}, not collected)" if not_asked else ""
    gaps = " ".join(f"{heading} {text}" for heading, text in unpromised(plan))
    used = sorted({m.name for made in plan.channels for m in made.values()})
    sentences = [
        f"Collected are {names}{also}, under local differential privacy: noise ({', '.join(used)}) "
        "is added to a person's answers before they are stored or sent, so that no answer can be "
        "known with certainty from a report.",
        promise(plan),
        ground(plan),
        f"Not promised: {gaps}",
        precision,
        f"Computed with seepage {plan.provenance.seepage}; the plan has SHA-256 {plan.digest}, "
        f"the counts it was computed from {plan.provenance.digest}.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


# Precision ---------------------------------------------------------------------------------------

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
        ways.append(way(other.name, _basis(plan, other), other.certified, found))
    return Precision(people, tuple(ways), names)


def _basis(plan: Plan, other: Alternative) -> str:
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
        for way in shown_ways(found)[1:]
        if way.widths[name] < math.inf
    ]
    return text + (f"; {', '.join(compared)}." if compared else ".")


def shown_ways(found: Precision) -> list[Way]:
    """Return the plan and few others: the equal split, everyone asked everything, the best SMP."""
    others = [way for way in found.ways[1:] if way.certified and "RS+FD" not in way.name]
    sampled = [way for way in others if "SMP" in way.name]
    if len(sampled) > 1:
        best = min(sampled, key=lambda way: way.variance)
        others = [way for way in others if way not in sampled or way is best]
    return [found.ways[0], *others[:SHOWN]]
