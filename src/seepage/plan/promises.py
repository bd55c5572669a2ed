"""A plan in one line; sentences on what it guarantees and what not, and on its
precision.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from seepage._core.odds import odds_text
from seepage._core.text import (
    delta_text,
    factor,
    nats,
    number_of,
    short_list,
    span,
)
from seepage.channel.domain import ALL_OTHERS, MISSING, OTHER, Attribute
from seepage.plan.attributes import PlannedAttribute
from seepage.plan.left_out import left_out_of
from seepage.plan.plan_content import PlanContent
from seepage.plan.provenance import StatedSettings
from seepage.totals.guarantees import GUARANTEES, KINDS

SHOWN_NAMES = 12
"""Maximum number of questions that a sentence names."""


def headline(plan: PlanContent) -> str:
    """Return the promise of a plan in one line: forms, attributes, budgets, largest
    odds and guarantee.
    """
    forms = ""
    if len(plan.forms) > 1:
        forms = f"{number_of(len(plan.forms), 'form')}, "
    claim: str = plan.kind
    if plan.whom:
        claim = f"{plan.kind}, {plan.whom}"
    return (
        f"Plan({forms}{_columns_collected(plan)}, "
        f"odds change at most {_largest_odds(plan)} times"
        f"{delta_text(largest_delta(plan))}, {_budgets(plan)}, "
        f"guarantee {plan.guarantee} ({claim}))"
    )


def _columns_collected(plan: PlanContent) -> str:
    """Return how many attributes a plan's promise is about: collected, and others
    protected only or not at all.
    """
    left_out = left_out_of(plan)
    text = f"{len(plan.collected)} of {left_out.columns} attributes collected"
    protected = len(left_out.rare) + len(left_out.unasked)
    if protected:
        text += f", {protected} protected only"
    if left_out.unpromised:
        text += f", nothing promised about {left_out.unpromised}"
    return text


def _largest_odds(plan: PlanContent) -> str:
    """Return how many times by the plan's promise all reports change the odds about an
    attribute at most.
    """
    total = float(plan.totals.max())
    limits = [planned.limit for planned in plan.attributes if planned.limit is not None]
    if total in limits:
        return odds_text(total)
    return factor(total)


def _budgets(plan: PlanContent) -> str:
    """Return for the promise of a plan the range of the budgets of products, and the
    number of shaped forms.
    """
    products = [form for form in plan.forms if form.is_product]
    shaped = len(plan.forms) - len(products)
    parts = list[str]()
    if products:
        epsilons = {epsilon for form in products for epsilon in form.epsilons}
        rounded = {float(f"{epsilon:.4g}") for epsilon in epsilons}
        parts.append(f"epsilon {span(rounded)}")
    if shaped:
        parts.append(f"{shaped} shaped")
    return ", ".join(parts)


def form_sizes(plan: PlanContent) -> str:
    """Return for the promise of a plan how many questions a form has."""
    return span(len(form.attributes) for form in plan.forms)


def mechanism_names(plan: PlanContent) -> str:
    """Return the names of all mechanisms that a plan promises to use; "shaped" for
    reports of several answers.
    """
    return ", ".join(sorted({name for form in plan.forms for name in form.mechanisms}))


def but_for(delta: float) -> str:
    """Return the exception of a promise that has a delta; empty without one.

    Examples
    --------
    >>> but_for(0.0), but_for(2e-5)
    ('', ', but for delta 2e-05 in the probability of any set of reports')
    """
    if not delta:
        return ""
    stated = delta_text(delta).removeprefix(", ")
    return f", but for {stated} in the probability of any set of reports"


BIN = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)([)\]])")
"""The value of a bounded bin: two edges and the closing bracket."""


def answer_text(value: str) -> str:
    """Return an answer that a promise is about in words: a bounded bin as a range, any
    other value as it is.

    Examples
    --------
    >>> answer_text("[18, 40)"), answer_text("[40, 60]"), answer_text("yes")
    ('18 to under 40', '40 to 60', 'yes')
    """
    ends = BIN.fullmatch(value)
    if ends is None:
        return value
    low, high, bracket = ends.groups()
    if bracket == ")":
        return f"{low} to under {high}"
    return f"{low} to {high}"


def merged_text(attribute: Attribute) -> str:
    """Return which further values count as an answer that a promise is about; empty if
    none does.

    Examples
    --------
    >>> merged = (("mid", "mid to top"), ("top", "mid to top"), ("*", "low"))
    >>> merged_text(Attribute("rank", ("low", "mid to top"), (), merged))
    'mid to top: mid, top; low: anything else'
    >>> merged_text(Attribute("sex", ("F", "M"), shares=(50, 50)))
    'prefer not to say: no answer, anything else'
    """
    values_by_answer = dict[str, list[str]]()
    for value, answer in attribute.merged:
        shown = "anything else" if value == ALL_OTHERS else value
        values_by_answer.setdefault(answer, []).append(shown)
    if OTHER in attribute.values:
        values_by_answer.setdefault(OTHER, ["anything else"])
    if attribute.shares:
        left_open = values_by_answer.setdefault(MISSING, [])
        left_open.append("no answer")
        if attribute.catch_all == MISSING:
            left_open.append("anything else")
    shown_as = {MISSING: "prefer not to say", OTHER: "other"}
    return "; ".join(
        f"{shown_as.get(answer, answer_text(answer))}: {short_list(values, 6)}"
        for answer, values in values_by_answer.items()
    )


def unlimited(plan: PlanContent) -> list[PlannedAttribute]:
    """Return the attributes without a promised limit that are neither public nor
    known.
    """
    return [
        planned
        for planned in plan.attributes
        if planned.limit is None
        and not planned.public
        and planned.name not in plan.provenance.known
    ]


def promise(plan: PlanContent) -> str:
    """Return a plan's promise: what is collected, and the limits that are
    guaranteed.
    """
    return f"{_collection(plan)}. {promised(plan)}"


def promised(plan: PlanContent, subject: str = "It") -> str:
    """Return the sentence of a plan's promise on the limits that are guaranteed, as
    odds.
    """
    limits = {p.limit for p in plan.attributes if p.limit is not None}
    claim = _claim(plan)
    exception = but_for(largest_delta(plan))
    if not limits:
        largest = max(planned.total for planned in plan.attributes)
        return (
            f"{subject} has no limits; {claim}all that a person sends together changes "
            "the odds between any two answers to one question at most "
            f"{factor(largest)} times{exception}."
        )
    question = "one question"
    if any(planned.limit is None for planned in plan.attributes):
        question = "one question that has a limit"
    elif left_out_of(plan).unpromised:
        question = f"one of its {len(plan.attributes)} questions"
    times = f"at most {odds_text(max(limits))} times"
    if len(limits) > 1:
        least = odds_text(min(limits))
        times = f"at most {least} to {odds_text(max(limits))} times, by question"
    promises = "promises"
    if plan.kind == "assumed":
        promises = "does not prove but assumes"
    return (
        f"{subject} {promises}, {claim}that all that a person sends together changes "
        f"the odds between any two answers to {question} {times}{exception}."
    )


def largest_delta(plan: PlanContent) -> float:
    """Return the largest delta of the totals, the exception of a plan's promise."""
    return max((planned.total_delta for planned in plan.attributes), default=0.0)


def _claim(plan: PlanContent) -> str:
    """Return a clause of a plan's promise: for whom the totals hold."""
    if plan.guarantee == "worst":
        return "whoever the people are, "
    if plan.scope == "population":
        return (
            f"with {100 * (plan.confidence or 0):.4g} % confidence "
            "for the people whom its table was drawn from, "
        )
    return "for people distributed as in its table, "


def _collection(plan: PlanContent) -> str:
    """Return a clause of a plan's promise: how many questions everyone is asked."""
    if len(plan.forms) == 1:
        number = number_of(len(plan.forms[0].attributes), "question")
        noise = "the answers together get"
        if plan.forms[0].is_product:
            noise = "each answer gets"
        return f"Everyone is asked the same {number}, and {noise} noise"
    return (
        f"People are divided into {len(plan.forms)} groups by lot, without looking at "
        f"their answers; each group is asked {form_sizes(plan)} of "
        f"{number_of(len(plan.collected), 'question')}, and the answers get noise"
    )


def ground(plan: PlanContent) -> str:
    """Return the ground of a plan's promise: the guarantee of the totals, and for whom
    they hold.
    """
    delta = largest_delta(plan)
    parts = [_guarantee_sentence(plan)]
    if delta > 0:
        stated = delta_text(delta).removeprefix(", delta ")
        parts.append(
            f"Its delta is {stated}, in the probability of any set of reports."
        )
    if (
        plan.scope == "table"
        and plan.confidence is not None
        and plan.kind == "statistical"
    ):
        parts.append(f"Its confidence is {plan.confidence:.4g}.")
    return " ".join([*parts, whom(plan)])


def _guarantee_sentence(plan: PlanContent) -> str:
    """Return the sentence of a promise on the guarantee; if forms differ, that of the
    weakest one.
    """
    names = sorted(
        {form.guarantee for form in plan.forms},
        key=lambda name: (-list(KINDS).index(GUARANTEES[name].kind), name),
    )
    weakest = GUARANTEES[names[0]].promise
    if len(names) == 1:
        return weakest
    return (
        f"Forms rest on different guarantees ({', '.join(names)}). The weakest: "
        f"{weakest}"
    )


def whom(plan: PlanContent) -> str:
    """Return a sentence of a plan's promise: for whom the totals hold, and against
    which adversary.
    """
    records = f"{plan.provenance.records:,} records"
    if fixing := plan.provenance.stated.fixing_records:
        people = plan.provenance.records + fixing
        records = (
            f"{people:,} records ({records} certify it, {fixing:,} fixed the answers)"
        )
    knows = "who knows the distribution"
    if known := plan.provenance.known:
        knows += f" and the person's {', '.join(known)}"
    knows += " and nothing else about the person"
    person = "person"
    if plan.person:
        person = f"person (column {plan.person!r})"
    if plan.guarantee == "worst":
        return "It holds for everybody, whoever they are."
    if plan.scope == "population":
        return (
            f"It holds for the people from whom the table of {records} was drawn, with "
            f"confidence {plan.confidence:.4g}, if that was a random sample with one "
            f"record per {person} and taking part does not depend on the answers; and "
            f"against an adversary {knows}. The confidence is that of this plan alone: "
            "whoever chooses among several divides 1 - confidence by their number."
        )
    return (
        f"It holds for people distributed as in the table of {records} that it was "
        f"computed from, one record per {person}, against an adversary {knows}; for "
        "other people only as far as that table describes them."
    )


def statements(plan: PlanContent) -> dict[str, Any]:
    """Return what pages say of a plan's promise: its words, its ground, what it
    excludes, and units.
    """
    return {
        "plan": plan,
        "promise": promise(plan),
        "ground": ground(plan),
        "unpromised": dict(unpromised(plan)),
        "nats": nats,
        "factor": factor,
        "but_for": but_for,
        "infinity": math.inf,
    }


Exclusion = tuple[str, str]
"""The heading and the sentences of something that the limits do not cover."""


def unpromised(plan: PlanContent) -> Iterator[Exclusion]:
    """Yield everything that a plan's promise does not cover."""
    for exclusion in EXCLUSIONS:
        stated = exclusion(plan)
        if stated is not None:
            yield stated


def _whole_record(plan: PlanContent) -> Exclusion:
    """Return what a plan does not promise about the whole set of answers."""
    largest = max(form.record for form in plan.forms)
    return (
        "The whole set of answers.",
        "Between two complete sets of answers the odds can change up to "
        f"{factor(largest)} "
        f"times{but_for(max(form.record_delta for form in plan.forms))}.",
    )


def _further_knowledge(plan: PlanContent) -> Exclusion | None:
    """Return what a plan does not promise against adversaries who know more."""
    if plan.guarantee == "worst":
        return None
    limits = [planned.limit for planned in plan.attributes if planned.limit is not None]
    more = ""
    if limits:
        more = f" than {odds_text(max(limits))} times"
    largest = factor(max(form.record for form in plan.forms))
    return (
        "People who know more.",
        "Somebody who already knows other answers of a person can learn more about one "
        f"question{more}, up to {largest} times.",
    )


def _repeats(plan: PlanContent) -> Exclusion:
    """Return what a plan does not promise where people are asked again."""
    named = ""
    if plan.person:
        named = f", by the column {plan.person!r},"
    second_group = ""
    if len(plan.forms) > 1:
        second_group = ", or as a member of a second group,"
    return (
        "Asking twice.",
        f"Each person{named} answers once. A second survey of the same people"
        f"{second_group} adds to what is told, and no limit covers both. What was sent "
        "may be sent again; a report drawn anew for a changed answer proves that it "
        "changed.",
    )


def _declining(_: PlanContent) -> Exclusion:
    """Return what a plan does not promise to people who decline."""
    return (
        "Declining.",
        "To stop after seeing the questions tells something without noise. Make “no "
        "answer” an answer that gets noise like the others, and always send.",
    )


def _whole_reports(plan: PlanContent) -> Exclusion | None:
    """Return what a plan does not promise about whole reports."""
    if plan.view != "inferred":
        return None
    return (
        "Whole reports.",
        "The totals are for an adversary who keeps only the value inferred from each "
        "report; whoever keeps the whole report can learn more.",
    )


def _public_attributes(plan: PlanContent) -> Exclusion | None:
    """Return what a plan does not promise about public attributes."""
    if not plan.public:
        return None
    return (
        "Public answers.",
        f"{short_list(plan.public, SHOWN_NAMES)}: sent as they are, without noise.",
    )


def _known_attributes(plan: PlanContent) -> Exclusion | None:
    """Return what a plan does not promise about attributes that the adversary knows."""
    known = plan.provenance.known
    if not known:
        return None
    return (
        "Known answers.",
        f"{', '.join(known)}: taken as known to everyone who sees reports, so what is "
        "told about them is not bounded. Whoever does not know them can learn more "
        "than the limits about other questions too.",
    )


def _without_limit(plan: PlanContent) -> Exclusion | None:
    """Return what a plan does not promise about attributes without a limit."""
    names = [planned.name for planned in unlimited(plan)]
    if not names or len(names) == len(plan.attributes):
        return None
    return (
        "Questions without a limit.",
        f"{short_list(names, SHOWN_NAMES)}: nothing bounds what is told.",
    )


def _other_attributes(plan: PlanContent) -> Exclusion:
    """Return what a plan does not promise about columns that are none of its
    attributes.
    """
    return (
        "Other questions.",
        "Nothing is said about what the plan does not name"
        f"{_columns_left_out(plan.provenance.stated)}.",
    )


def _columns_left_out(stated: StatedSettings) -> str:
    """Return the columns of the table that no promise of a plan is about, all of
    them.
    """
    texts = list[str]()
    if stated.too_rare:
        texts.append(
            f"{', '.join(stated.too_rare)}, whose answers but one are too rare"
        )
    if stated.columns.same:
        copies = [f"{name} as {twin}" for name, twin in stated.columns.same.items()]
        texts.append(f"what says the same as another question ({', '.join(copies)})")
    if not texts:
        return ""
    return ", such as " + " and ".join(texts)


def _other_people(plan: PlanContent) -> Exclusion | None:
    """Return what a plan does not promise to people unlike its table."""
    if plan.guarantee == "worst" or plan.kind == "assumed":
        return None
    records = f"{plan.provenance.records:,} records"
    if plan.scope != "population":
        return (
            "People unlike the table.",
            f"It holds for people distributed as in the table of {records}; for others "
            "only as far as that table describes them.",
        )
    return (
        "People unlike the table.",
        f"It holds, with {100 * (plan.confidence or 0):.4g} % confidence, for the "
        f"people of whom the {records} are a random sample.",
    )


EXCLUSIONS: tuple[Callable[[PlanContent], Exclusion | None], ...] = (
    _whole_record,
    _further_knowledge,
    _repeats,
    _declining,
    _whole_reports,
    _public_attributes,
    _known_attributes,
    _without_limit,
    _other_attributes,
    _other_people,
)
"""What the limits of a plan do not cover, in the order of its page."""
