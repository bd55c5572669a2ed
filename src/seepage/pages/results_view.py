"""What a page of results shows: shares, tables of two questions, whether promises
hold.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from seepage._core.percent import percent_text
from seepage._core.text import number_of, points, rounded_people, short_list
from seepage.channel.domain import MISSING, OTHER
from seepage.collection.estimated_table import Table
from seepage.collection.frequencies import Frequencies
from seepage.designs.search_progress import NORMAL
from seepage.leakage.pair_leak import Leak
from seepage.pages.dot_rows import DotBlock, dot_row, possible_share
from seepage.plan.plan_check import PlanCheck
from seepage.plan.plan_content import PlanContent
from seepage.plan.plan_precision import joint_half_width
from seepage.plan.promises import answer_text, promised

AFFIRMATIVE = ("yes", "true", "1", "y", "ja", "oui")
"""Answers of which, of two, the share is shown."""

SHOWN_FINDINGS = 3
"""Number of shares in the first sentence."""

MOST_ROWS = 42
"""Maximum number of shares on the open page; the others are folded."""

ANSWER_LENGTH = 60
"""Maximum length of a question or an answer in the first sentence."""


@dataclass(frozen=True)
class Wording:
    """What the results call questions and answers: their texts where a codebook has
    some, else the names of columns and values.

    Examples
    --------
    >>> wording = Wording({"ill": {"": "Are you ill?", "y": "yes"}})
    >>> wording.question("ill"), wording.answer("ill", "y"), wording.question("age")
    ('Are you ill?', 'yes', 'age')
    """

    texts: Mapping[str, Mapping[str, str]]

    def question(self, name: str) -> str:
        """Return what the results call a question."""
        return self.texts.get(name, {}).get("", name)

    def answer(self, name: str, value: str) -> str:
        """Return what the results call an answer to a question."""
        return self.texts.get(name, {}).get(value) or answer_text(value)


AS_COLUMNS = Wording({})
"""The wording of results without a codebook."""


def finding(frequencies: Frequencies, wording: Wording = AS_COLUMNS) -> str:
    """Return the first shares of the results in a sentence, of each question the
    commonest answer that says something.
    """
    parts = list[str]()
    names = [name for name in frequencies.estimates if name not in frequencies.means]
    for name in names[:SHOWN_FINDINGS]:
        shares = dict(
            zip(
                frequencies.domain[name].values,
                frequencies[name].frequencies.tolist(),
                strict=True,
            )
        )
        answer = _told_answer(shares)
        share = min(100.0, max(0.0, 100 * shares[answer]))
        text = _short(wording.answer(name, answer))
        parts.append(f"{share:.0f} % “{text}” to {_asked(name, wording)}")
    if not parts:
        return f"{frequencies.records:,} people answered."
    parts[0] = parts[0].replace(" % ", " % answer ", 1)
    return f"About {', '.join(parts)}."


def _asked(name: str, wording: Wording) -> str:
    """Return a question in a sentence of the results, its text in quotation marks."""
    text = wording.question(name)
    if text == name:
        return _short(name)
    return f"“{_short(text)}”"


def _told_answer(shares: Mapping[str, float]) -> str:
    """Return the answer whose share the view of results tells: of two the drawn one,
    else the commonest that is not for all others.

    Examples
    --------
    >>> _told_answer({"nurse": 0.3, "smith": 0.2, "(other)": 0.5})
    'nurse'
    """
    if len(shares) == 2:
        return drawn_answer(list(shares))
    named = [value for value in shares if value not in (MISSING, OTHER)]
    return max(named, key=lambda value: shares[value])


def _short(text: str) -> str:
    """Return a text cut to what fits in a sentence of the results."""
    if len(text) <= ANSWER_LENGTH:
        return text
    return f"{text[: ANSWER_LENGTH - 1]}…"


def drawn_answer(values: Sequence[str]) -> str:
    """Return the answer whose share the view of results draws, of two.

    Examples
    --------
    >>> drawn_answer(["Yes", "No"]), drawn_answer(["bad", "good"])
    ('Yes', 'good')
    """
    for value in values:
        if value.casefold() in AFFIRMATIVE:
            return value
    return values[-1]


def precision_found(frequencies: Frequencies) -> str:
    """Return how precisely each share of the results is known, and all of them at
    once.
    """
    names = [name for name in frequencies.estimates if name not in frequencies.means]
    errors = [frequencies[name].standard_errors for name in names]
    if not errors:
        return f"{frequencies.records:,} people answered."
    distinct = [each[:1] if len(each) == 2 else each for each in errors]
    widest = points(NORMAL * max(float(each.max()) for each in errors))
    what = "Each share"
    if frequencies.means:
        what = f"Each share of {short_list(names)}"
    text = (
        f"{what} is known to within {widest.removesuffix('.0')} points, 19 times of 20"
    )
    number = sum(map(len, distinct))
    if number > 1:
        joint = points(joint_half_width([each**2 for each in distinct], 1))
        text += f", and all {number} at once to within {joint.removesuffix('.0')}"
    return f"{text}. Nobody's own answer is certain."


def share_blocks(
    frequencies: Frequencies, wording: Wording = AS_COLUMNS
) -> tuple[list[DotBlock], list[DotBlock]]:
    """Return the view of the results' shares of all questions, and those that are
    folded.

    Of a question of two answers one is shown, under a common heading, since the other
    is what is left.
    """
    blocks = list[DotBlock]()
    for name, estimate in frequencies.estimates.items():
        values = frequencies.domain[name].values
        if len(values) == 2 and name not in frequencies.means:
            continue
        blocks.append(
            DotBlock(
                title=wording.question(name),
                remark=_remark(frequencies, name, estimate.records),
                rows=tuple(
                    dot_row(wording.answer(name, value), frequencies.share(name, value))
                    for value in values
                ),
            )
        )
    pairs = _one_of_two(frequencies, wording)
    if pairs is not None:
        blocks.append(pairs)
    return _open_and_folded(blocks)


def _remark(frequencies: Frequencies, name: str, people: int) -> str:
    """Return for the view of results how many people were asked, and the mean where it
    was wanted.
    """
    asked = f"{people:,} people asked"
    mean = frequencies.means.get(name)
    if mean is None:
        return asked
    low, high = mean.interval
    return f"mean {mean.value:.4g}, {low:.4g} to {high:.4g}; {asked}"


def _one_of_two(frequencies: Frequencies, wording: Wording) -> DotBlock | None:
    """Return one share of each question of two answers for the view of results; None if
    there is no such one.
    """
    rows = list[tuple[str, str]]()
    people = list[int]()
    for name, estimate in frequencies.estimates.items():
        values = frequencies.domain[name].values
        if len(values) == 2 and name not in frequencies.means:
            rows.append((name, drawn_answer(values)))
            people.append(estimate.records)
    if not rows:
        return None
    asked = f"{min(people):,} to {max(people):,} people asked"
    if min(people) == max(people):
        asked = f"{people[0]:,} people asked"
    return DotBlock(
        title="One of two answers",
        remark=asked,
        rows=tuple(
            dot_row(
                f"{name}: {wording.answer(name, value)}",
                frequencies.share(name, value),
            )
            for name, value in rows
        ),
    )


def _open_and_folded(
    blocks: Sequence[DotBlock],
) -> tuple[list[DotBlock], list[DotBlock]]:
    """Return the blocks of results that fit on the open page, and the rest; only a
    block that fills a page alone is cut.
    """
    shown = list[DotBlock]()
    left = MOST_ROWS
    for position, block in enumerate(blocks):
        if len(block.rows) <= left:
            shown.append(block)
            left -= len(block.rows)
        elif shown:
            return shown, list(blocks[position:])
        else:
            shown.append(_part(block, block.rows[:left]))
            rest = _part(block, block.rows[left:])
            return shown, [rest, *blocks[position + 1 :]]
    return shown, []


def _part(block: DotBlock, rows: Sequence[object]) -> DotBlock:
    """Return some of the rows of a block of results."""
    kept = tuple(row for row in block.rows if row in rows)
    return DotBlock(title=block.title, remark=block.remark, rows=kept)


@dataclass(frozen=True, kw_only=True)
class TogetherView:
    """Two questions together: the shares of one in the groups of the other.

    `cells` are shares of all people with both ends of their intervals, by row and
    column, for the folded table; `difference` says whether two groups differ, and
    `is_whole` whether all answers are drawn.
    """

    first: str
    second: str
    blocks: tuple[DotBlock, ...]
    answers: tuple[str, ...]
    groups: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    difference: str
    people: str
    clear: str
    is_whole: bool


def together_view(
    table: Table, most_rows: int, wording: Wording = AS_COLUMNS
) -> TogetherView:
    """Return the view of results on two questions, shares of the first in groups of the
    second.

    Of more than `most_rows` shares, those of the commonest answers are drawn.
    """
    first, second = table.attributes
    shares = table.shares()
    answers = _drawn_answers(table, max(1, most_rows // second.size))
    blocks = tuple(
        DotBlock(
            title=f"{first.name}: {wording.answer(first.name, answer)}",
            remark=f"by {second.name}",
            rows=tuple(
                dot_row(wording.answer(second.name, group), shares[answer, group])
                for group in second.values
            ),
        )
        for answer in answers
    )
    cells = tuple(
        tuple(_cell_text(table, answer, group) for group in second.values)
        for answer in first.values
    )
    clear = table.equivalent_people
    return TogetherView(
        first=first.name,
        second=second.name,
        blocks=blocks,
        answers=tuple(wording.answer(first.name, value) for value in first.values),
        groups=tuple(wording.answer(second.name, value) for value in second.values),
        cells=cells,
        difference=largest_difference(table, answers, wording),
        people=f"{table.records:,}",
        clear=rounded_people(round(clear)) if math.isfinite(clear) else "all",
        is_whole=len(answers) == first.size or first.size == 2,
    )


def largest_difference(
    table: Table, answers: Sequence[str], wording: Wording = AS_COLUMNS
) -> str:
    """Return for the view of results which two groups differ most, if their intervals
    do not overlap.

    Whatever the correlation of two estimates, sd(a - b) <= sd(a) + sd(b): intervals
    that do not overlap exclude that the shares are equal, at least 19 times of 20.
    """
    first, second = table.attributes
    shares = table.shares()
    gaps = [
        (
            shares[answer, most].interval[0] - shares[answer, least].interval[1],
            answer,
            most,
            least,
        )
        for answer in answers
        for most, least in permutations(second.values, 2)
    ]
    apart = [gap for gap in gaps if gap[0] > 0]
    if not apart:
        return (
            f"The intervals of no two groups of {second.name} lie apart for these "
            "answers; a smaller difference may still be there."
        )
    _, answer, most, least = max(apart)
    more = percent_text(possible_share(shares[answer, most]))
    fewer = percent_text(possible_share(shares[answer, least]))
    label = _short(wording.answer(first.name, answer))
    groups = [_short(wording.answer(second.name, group)) for group in (most, least)]
    text = (
        f"“{label}” is the answer to {_asked(first.name, wording)} of {more} % with "
        f"{_short(second.name)} “{groups[0]}” and of {fewer} % with “{groups[1]}”."
    )
    differences = len(gaps) // 2
    if differences == 1:
        return text
    return (
        f"{text} It is the clearest of {differences:,} differences: see it again "
        "before you publish it."
    )


def _drawn_answers(table: Table, most: int) -> list[str]:
    """Return the answers to the first question whose shares the view of results draws,
    in their order.
    """
    first, second = table.attributes
    answers = list(first.values)
    if len(answers) == 2:
        return [drawn_answer(answers)]
    share = {
        answer: sum(table[answer, group].value for group in second.values)
        for answer in answers
    }
    commonest = sorted(answers, key=lambda answer: -share[answer])[:most]
    return [answer for answer in answers if answer in commonest]


def _cell_text(table: Table, answer: str, group: str) -> str:
    """Return the share of all people in a cell of the results with both ends of its
    interval.
    """
    share = table[answer, group]
    low, high = share.interval
    value = possible_share(share)
    return f"{percent_text(value)} ({percent_text(low)} to {percent_text(high)})"


State = Literal["yes", "no", "open"]
"""Whether something holds, does not, or is not known."""

CHIPS: dict[State, str] = {"yes": "within", "no": "decide", "open": ""}
"""The colour of each state, as a class of the style sheet."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Whether one part of the promise holds, in words."""

    state: State
    title: str
    text: str

    @property
    def colour(self) -> str:
        """The class of the mark of a standing in the results."""
        return CHIPS[self.state]


LeakRow = tuple[Leak, float | None, str]
"""A leakage that is estimated from reports, the limit about its target, and whether it
is within it."""


def standings(
    plan: PlanContent, check: PlanCheck | None, leaks: Sequence[LeakRow]
) -> tuple[Standing, ...]:
    """Return for the view of results whether the promise of a plan still holds."""
    promise: State = "yes"
    if plan.kind == "assumed":
        promise = "open"
    return (
        Standing(
            state=promise,
            title="What was promised",
            text=promised(plan, "The plan"),
        ),
        _standing_of_check(check),
        _standing_of_leaks(leaks),
    )


def _standing_of_check(check: PlanCheck | None) -> Standing:
    """Return for the view of results whether the limits hold on a newer table."""
    title = "On newer records"
    if check is None:
        text = (
            "Whether it still holds was not checked on a newer table: newer records "
            "would show whether answers still depend on each other as in the table of "
            "the plan."
        )
        return Standing(state="open", title=title, text=text)
    if check.within:
        text = f"Every total is within its limit on {check.records:,} other records."
        return Standing(state="yes", title=title, text=text)
    text = (
        f"On {check.records:,} other records the total is above its limit about "
        f"{short_list(check.exceeded)}. A plan that holds for its own table only "
        "exceeds limits a little on any other, by chance; a larger excess is drift: "
        "design again before more is collected."
    )
    return Standing(state="no", title=title, text=text)


def _standing_of_leaks(leaks: Sequence[LeakRow]) -> Standing:
    """Return for the view of results what the reports themselves tell about
    leakages.
    """
    title = "In what was sent"
    if not leaks:
        text = (
            "No group is asked two questions with a report each, so the reports alone "
            "do not tell how answers are related."
        )
        return Standing(state="open", title=title, text=text)
    above = [leak for leak, _, state in leaks if state == "above the limit"]
    if above:
        pairs = [f"{leak.source} about {leak.target}" for leak in above]
        text = f"Single answers give away more than the limit: {short_list(pairs)}."
        return Standing(state="no", title=title, text=text)
    undecided = [leak for leak, _, state in leaks if state == "not decided"]
    if undecided:
        text = (
            "No single answer was found to give away more than the limit; for "
            f"{number_of(len(undecided), 'pair')} of the strongest {len(leaks)} there "
            "are too few reports to tell."
        )
        return Standing(state="open", title=title, text=text)
    text = f"None of the strongest {len(leaks)} pairs gives away more than the limit."
    return Standing(state="yes", title=title, text=text)
