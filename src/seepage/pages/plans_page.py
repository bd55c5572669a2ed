"""Several plans side by side as one HTML page: what differs, a picture, a sign-off."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seepage._core.text import nats, points, rounded_people, span, two_digits
from seepage.pages.mosaic import group_letter, share_asked
from seepage.pages.plan_page import STYLES
from seepage.pages.plan_view import (
    Choice,
    Odds,
    PeopleBars,
    bars_of_counts,
    odds_of,
    promised_total,
)
from seepage.pages.render import render_page
from seepage.plan.advice import is_estimated
from seepage.plan.plan_content import PlanContent
from seepage.plan.plan_precision import Precision, pairs_together, plan_precision
from seepage.plan.promises import form_sizes

PAIR = 2
"""Number of plans that reasons are given for: each against the other."""

SHOWN_QUESTIONS = 15
"""Maximum number of questions in the open table; the others are folded."""


@dataclass(frozen=True, kw_only=True)
class ComparedPlan:
    """One plan of several: its letter, its name, and what is compared.

    Parameters
    ----------
    label
        "Plan A", and so on.
    title, file
        The title that the plan states, or empty, and the name that it was given by.
    people
        The number of people for the common half-width; 0 if nothing is estimated.
    total, whole
        The promise about each question, and between two whole sets of answers, in nats.
    odds, record
        The same as odds.
    questions, tables
        The number of questions that are asked, and of pairs that are asked together.
    facts, details
        What is compared, in words, and the same in nats.
    """

    label: str
    title: str
    file: str
    people: int
    total: float
    whole: float
    odds: Odds
    record: Odds
    questions: int
    tables: int
    facts: Mapping[str, str]
    details: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ComparedRow:
    """One row of a table: what is compared, and a text for each plan."""

    name: str
    cells: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the plans differ in a row of their page."""
        return len(set(self.cells)) > 1


def plans_page(plans: Mapping[str, PlanContent]) -> str:
    """Return several plans side by side as one HTML page.

    Parameters
    ----------
    plans
        The plans by name; numbers of people are for the half-width of the first one
        that estimates anything.

    Examples
    --------
    >>> import seepage as sp
    >>> strict = sp.calibrate("survey", "2x", columns=["coffee", "sleep"])
    >>> loose = sp.calibrate("survey", "7.4x", columns=["coffee", "sleep"])
    >>> page = plans_page({"strict.json": strict, "loose.json": loose})
    >>> "times as many people" in page
    True
    """
    precisions = [plan_precision(plan) for plan in plans.values()]
    width = _common_width(precisions)
    compared = [
        _compared(number, name, plan, precision, width)
        for number, (name, plan, precision) in enumerate(
            zip(plans, plans.values(), precisions, strict=True)
        )
    ]
    questions = _question_rows(list(plans.values()), precisions)
    different = [row for row in questions if row.differs]
    same = [row for row in questions if not row.differs]
    return render_page(
        "plans.html",
        f"{len(compared)} plans side by side",
        styles=STYLES,
        plans=compared,
        order=_order(compared),
        width=points(width).removesuffix(".0"),
        people=_people(compared),
        choices=_choices(compared),
        rows=_rows([plan.facts for plan in compared]),
        details=_rows([plan.details for plan in compared]),
        questions=different[:SHOWN_QUESTIONS],
        further=[*different[SHOWN_QUESTIONS:], *same],
    )


def _common_width(precisions: Sequence[Precision]) -> float:
    """Return the half-width that the plans on a page are compared for; infinite for
    none.
    """
    for precision in precisions:
        if is_estimated(precision):
            return precision.half_width
    return math.inf


def _compared(
    number: int, name: str, plan: PlanContent, precision: Precision, width: float
) -> ComparedPlan:
    """Return what the page of several plans compares of one."""
    people = 0
    if is_estimated(precision):
        people = math.ceil(precision.people * (precision.half_width / width) ** 2)
    together, pairs = pairs_together(plan)
    total = promised_total(plan)
    whole = max(form.record for form in plan.forms)
    odds = odds_of(total)
    record = odds_of(whole)
    return ComparedPlan(
        label=f"Plan {group_letter(number)}",
        title=str(plan.provenance.settings.get("title", "")),
        file=name,
        people=people,
        total=total,
        whole=whole,
        odds=odds,
        record=record,
        questions=len(plan.collected),
        tables=len(together),
        facts={
            "People for the same precision": rounded_people(people)
            if people
            else "none",
            "Questions asked": f"{len(plan.collected)} of {len(plan.attributes)}",
            "Questions a person gets": form_sizes(plan),
            "Groups of people": str(len(plan.forms)),
            "Odds between two answers to one question": f"at most {odds.times} times",
            "Odds between two sets of answers": f"at most {record.times} times",
            "Holds": plan.whom or f"by assumption ({plan.guarantee})",
            "Tables of two questions": f"{len(together)} of {len(pairs)} pairs",
        },
        details={
            "Limit for each question, nats": span(p.limit for p in plan.attributes),
            "Largest total, nats": nats(max(p.total for p in plan.attributes)),
            "Whole set of answers, nats": nats(whole),
            "Rests on": plan.guarantee,
            "Digest of the plan": plan.digest,
        },
    )


def _order(plans: Sequence[ComparedPlan]) -> str:
    """Return the difference of the plans that decides, in a sentence."""
    asking = sorted((plan for plan in plans if plan.people), key=lambda p: p.people)
    if not asking:
        return "No plan asks anything."
    least = asking[0]
    most = asking[-1]
    if rounded_people(least.people) == rounded_people(most.people):
        return f"All plans need {rounded_people(least.people)} people."
    times = most.people / least.people
    return (
        f"{most.label} needs {two_digits(times)} times as many people as "
        f"{least.label}: {rounded_people(most.people)} in place of "
        f"{rounded_people(least.people)}."
    )


def _choices(plans: Sequence[ComparedPlan]) -> tuple[Choice, ...]:
    """Return when to choose which of two plans on a page that differ; nothing for more
    plans.
    """
    if len(plans) != PAIR or not all(plan.people for plan in plans):
        return ()
    first, second = plans
    choices = tuple(
        Choice(title=f"Choose {own.label} if", reasons=_reasons(own, other))
        for own, other in ((first, second), (second, first))
    )
    if not all(choice.reasons for choice in choices):
        return ()
    return choices


def _reasons(own: ComparedPlan, other: ComparedPlan) -> tuple[str, ...]:
    """Return what speaks for one of two plans on a page and against the other one."""
    reasons = list[str]()
    if own.total < other.total and own.odds.times != other.odds.times:
        reasons.append(
            f"odds that change {other.odds.times} times tell too much about a "
            f"question: at most {own.odds.times} times here;"
        )
    if own.whole < other.whole and own.record.times != other.record.times:
        reasons.append(
            "somebody who already knows a person's other answers may see the data: at "
            f"most {own.record.times} times here, {other.record.times} there;"
        )
    needed = rounded_people(own.people)
    if needed != rounded_people(other.people) and own.people < other.people:
        reasons.append(
            f"you can reach {needed} people, but not {rounded_people(other.people)};"
        )
    if own.tables > other.tables:
        reasons.append(
            f"you want tables of two questions: {own.tables} here, {other.tables} "
            "there;"
        )
    if own.questions > other.questions:
        reasons.append(
            f"you need more questions: {own.questions} here, {other.questions} there;"
        )
    if reasons:
        reasons[-1] = f"{reasons[-1][:-1]}."
    return tuple(reasons)


def _people(plans: Sequence[ComparedPlan]) -> PeopleBars | None:
    """Return the people that each of several plans needs, as bars; None if none asks
    anything.
    """
    counts = {plan.label: plan.people for plan in plans if plan.people}
    if not counts:
        return None
    return bars_of_counts(counts, this=min(counts, key=lambda label: counts[label]))


def _rows(columns: Sequence[Mapping[str, str]]) -> list[ComparedRow]:
    """Return what the page compares of several plans as rows, those that differ
    first.
    """
    rows = [
        ComparedRow(name=name, cells=tuple(column[name] for column in columns))
        for name in columns[0]
    ]
    return sorted(rows, key=lambda row: not row.differs)


def _question_rows(
    plans: Sequence[PlanContent], precisions: Sequence[Precision]
) -> list[ComparedRow]:
    """Return the questions of all plans, each with its precision for as many people as
    the first plan asks.
    """
    people = precisions[0].people
    names = dict.fromkeys(name for plan in plans for name in plan.domain.names)
    return [
        ComparedRow(
            name=name,
            cells=tuple(
                _question_text(plan, precision, name, people)
                for plan, precision in zip(plans, precisions, strict=True)
            ),
        )
        for name in names
    ]


def _question_text(
    plan: PlanContent, precision: Precision, name: str, people: int
) -> str:
    """Return for the page of several plans the share of people who are asked a
    question, and its precision.
    """
    if name not in plan.domain.names:
        return "not in the plan"
    if name not in precision.sizes:
        return "not asked"
    width = precision.width(precision.strategies[0], name)
    if not math.isfinite(width):
        return "not asked"
    share = 100 * share_asked(plan, name)
    scaled = points(width * math.sqrt(precision.people / people))
    return f"± {scaled} points, {share:.0f} % asked"
