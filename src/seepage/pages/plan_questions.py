"""The questions of a plan as rows: who is asked, how precise, what is told at most."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from seepage._core.odds import odds_text
from seepage._core.text import factor, points, rounded_people
from seepage.designs.changes import people_difference
from seepage.pages.mosaic import (
    group_letter,
    questions_in_blocks,
    share_asked,
    similar_forms,
)
from seepage.plan.attributes import PlannedAttribute
from seepage.plan.plan_content import PlanContent, wanted_of
from seepage.plan.plan_precision import Precision
from seepage.plan.promises import answer_text, merged_text

MOST_OPEN = 15
"""Maximum number of questions that are all on the open page."""

SHOWN_OPEN = 8
"""Of more, the number of the least precise ones that are; the others are folded."""

SHOWN_CHANGES = 6
"""Maximum number of changes that are not about one question."""

SHOWN_ANSWERS = 6
"""Maximum number of answers that are named in a row."""

ANSWERS_LENGTH = 46
"""Maximum length of the named answers, which fit on two lines."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """People fewer or more after one change, and the bar of that; width in %.

    Of people fewer the number is rounded down, of people more up.
    """

    people: str
    width: float
    is_saving: bool


@dataclass(frozen=True, kw_only=True)
class PlanQuestion:
    """One question of a plan.

    Parameters
    ----------
    name
        Its name.
    answers
        The answers in words.
    asked
        The share of people who are asked, in %.
    precision
        The half-width of its shares, in words.
    odds
        How many times all reports of a person change the odds between two answers, at
        most, in words.
    note
        Why it is not asked; empty if it is.
    price
        What it costs not to ask it, or to ask it too; None if that is not known.
    """

    name: str
    answers: str
    asked: float
    precision: str
    odds: str
    note: str
    price: Price | None

    @property
    def is_asked(self) -> bool:
        """Whether some people are asked a question of the plan."""
        return not self.note


@dataclass(frozen=True, kw_only=True)
class PlanQuestions:
    """The questions of a plan; `further` are folded.

    `full` is how many people the longest bar of a price is, and `others` are changes
    that are not about one question, each with its price in words.
    """

    rows: tuple[PlanQuestion, ...]
    further: tuple[PlanQuestion, ...]
    full: str = ""
    others: tuple[tuple[str, str], ...] = ()


def plan_questions(plan: PlanContent, precision: Precision) -> PlanQuestions:
    """Return the questions of a plan, those asked first, as in its picture.

    Of more than `MOST_OPEN`, the least precise ones are on the open page, all others
    folded.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan.plan_precision import plan_precision
    >>> plan = sp.calibrate("survey", "7.4x", columns=["coffee"], guarantee="worst")
    >>> row = plan_questions(plan, plan_precision(plan)).rows[0]
    >>> row.name, row.answers, row.asked, row.precision, row.odds
    ('coffee', 'no, yes', 100.0, '± 3.0 points', '7.4 ×')
    """
    asked = questions_in_blocks(plan, similar_forms(plan))
    others = [planned.name for planned in plan.attributes if not planned.asking]
    names = [*asked, *others]
    prices = _prices(plan, precision.people)
    rows = {
        name: _question(plan, plan[name], precision, prices.get(name)) for name in names
    }
    shown = names
    if len(names) > MOST_OPEN:
        widths = {name: _half_width(precision, name) for name in names}
        shown = sorted(asked, key=lambda name: -widths[name])[:SHOWN_OPEN]
    return PlanQuestions(
        rows=tuple(rows[name] for name in shown),
        further=tuple(rows[name] for name in names if name not in set(shown)),
        full=f"{_longest(plan, precision.people):,}" if prices else "",
        others=_other_changes(plan, precision.people)[:SHOWN_CHANGES],
    )


def _other_changes(plan: PlanContent, people: int) -> tuple[tuple[str, str], ...]:
    """Return the changes of a plan that are not about one question with their prices in
    words, for below its questions.
    """
    return tuple(
        (change.sentence, people_difference(change.people, people))
        for change in plan.changes
        if change.kind not in ("drop", "add")
    )


def _of_one_question(plan: PlanContent) -> dict[str, float]:
    """Return the factor of people of each question of a plan that is dropped or added
    alone.
    """
    return {
        change.attributes[0]: change.people
        for change in plan.changes
        if change.kind in ("drop", "add") and len(change.attributes) == 1
    }


def _longest(plan: PlanContent, people: int) -> int:
    """Return how many people the longest bar of a question's price is: a round
    number.
    """
    factors = _of_one_question(plan).values()
    largest = max((abs(factor - 1) * people for factor in factors), default=1.0)
    unit = int(10 ** math.floor(math.log10(max(1.0, largest))))
    return max(1, math.ceil(largest / unit) * unit)


def _prices(plan: PlanContent, people: int) -> dict[str, Price]:
    """Return what it costs not to ask a question of the plan, or to ask it too, by
    question.
    """
    longest = _longest(plan, people)
    return {
        name: _price((factor - 1) * people, longest)
        for name, factor in _of_one_question(plan).items()
    }


def _price(more: float, longest: int) -> Price:
    """Return the price of a question of the plan: a number of people more, or fewer if
    it is negative.
    """
    if more <= 0:
        fewer = math.floor(-more)
        unit = 10 ** max(0, len(str(fewer)) - 2)
        text = f"\N{MINUS SIGN}{fewer // unit * unit:,}" if fewer else "0"
    else:
        text = f"+{rounded_people(math.ceil(more))}"
    return Price(
        people=text,
        width=round(100 * abs(more) / longest, 2),
        is_saving=more <= 0,
    )


def _question(
    plan: PlanContent,
    planned: PlannedAttribute,
    precision: Precision,
    price: Price | None,
) -> PlanQuestion:
    """Return one question of a plan."""
    return PlanQuestion(
        name=planned.name,
        answers=short_answers(
            [answer_text(value) for value in planned.attribute.values]
        ),
        asked=round(100 * share_asked(plan, planned.name), 2),
        precision=_precision_text(plan, planned.name, precision),
        odds=largest_odds(planned),
        note=_why_not_asked(planned),
        price=price,
    )


def short_answers(answers: Sequence[str]) -> str:
    """Return the first answers to a question of the plan in words, as many as fit on
    two lines.

    Examples
    --------
    >>> short_answers(["no", "yes"]), short_answers("abcdefgh")
    ('no, yes', 'a, b, c, d, e, f and 2 more')
    >>> short_answers(
    ...     ["a town by the sea", "a town in the mountains", "a city", "other"]
    ... )
    'a town by the sea, a town in the mountains and 2 more'
    """
    shown = list(answers[:SHOWN_ANSWERS])
    while len(shown) > 1 and len(", ".join(shown)) > ANSWERS_LENGTH:
        shown.pop()
    text = ", ".join(shown)
    if len(text) > ANSWERS_LENGTH:
        text = f"{text[: ANSWERS_LENGTH - 1]}…"
    more = len(answers) - len(shown)
    if more:
        text = f"{text} and {more:,} more"
    return text


def merged_answers(plan: PlanContent) -> dict[str, str]:
    """Return what counts as which answer to the plan's questions, where there is
    something to say.
    """
    texts = {attribute.name: merged_text(attribute) for attribute in plan.collected}
    return {name: text for name, text in texts.items() if text}


def largest_odds(planned: PlannedAttribute) -> str:
    """Return how many times all reports change the odds of a question of the plan at
    most.
    """
    if planned.public:
        return "public"
    if not math.isfinite(planned.total):
        return "no bound"
    if planned.total == planned.limit:
        return f"{odds_text(planned.limit)} ×"
    return f"{factor(planned.total)} ×"


def _why_not_asked(planned: PlannedAttribute) -> str:
    """Return why a question of the plan is not asked; empty if it is."""
    if planned.asking:
        return ""
    if planned.public:
        return "public: known without asking"
    if planned.limit is None:
        return "not asked, and not protected"
    return "not asked, but protected: the limit holds for it"


def _half_width(precision: Precision, name: str) -> float:
    """Return the half-width of the shares of a question of the plan; infinite if it is
    not estimated.
    """
    if name not in precision.sizes:
        return math.inf
    return precision.width(precision.strategies[0], name)


def _precision_text(plan: PlanContent, name: str, precision: Precision) -> str:
    """Return the half-width of the shares of a plan's question, or of its mean, in
    words.
    """
    width = _half_width(precision, name)
    if not math.isfinite(width):
        return "none"
    means = [plan.domain.names[index] for index in wanted_of(plan).scores]
    if name in means:
        return f"mean ± {points(width)} % of its range"
    return f"± {points(width)} points"


@dataclass(frozen=True, kw_only=True)
class GroupDetails:
    """One group with its noise, for who checks the arithmetic."""

    letter: str
    number: int
    share: float
    questions: tuple[tuple[str, str], ...]
    """Each question with its budget and mechanism."""
    record: float
    guarantee: str
    is_product: bool


def group_details(plan: PlanContent) -> tuple[GroupDetails, ...]:
    """Return the questions of each group of a plan with their budgets, in the order of
    the picture.
    """
    details = list[GroupDetails]()
    for position, number in enumerate(similar_forms(plan)):
        form = plan.forms[number]
        questions = list[tuple[str, str]]()
        for name in form.attributes:
            question = form.question(name)
            noise = ""
            if question is not None:
                noise = f"{budget(question.epsilon)} ({question.mechanism})"
            questions.append((name, noise))
        details.append(
            GroupDetails(
                letter=group_letter(position),
                number=number + 1,
                share=form.share,
                questions=tuple(questions),
                record=form.record,
                guarantee=form.guarantee,
                is_product=form.is_product,
            )
        )
    return tuple(details)


def budget(epsilon: float) -> str:
    """Return the budget of a plan's question with two decimals, rounded down; with more
    where those are zeros.

    Examples
    --------
    >>> budget(1.9673), budget(0.00123), budget(0.0)
    ('1.96', '0.0012', '0')
    """
    if epsilon == 0 or not math.isfinite(epsilon):
        return f"{epsilon:g}"
    digits = max(2, 1 - math.floor(math.log10(epsilon)))
    return str(Decimal(epsilon).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR))
