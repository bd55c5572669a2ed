"""Who is asked what, as a picture: groups of people as columns, questions as rows.

The template `templates/components.html` draws it, on the plan's page and in the app
alike.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from string import ascii_uppercase
from typing import Protocol

import numpy as np

from seepage._core.percent import percent_of_people
from seepage._core.text import short_list, two_digits
from seepage.designs.forms.form_channels import MatrixChannel
from seepage.plan.plan_content import PlanContent
from seepage.plan.report_vectors import nominal_frequencies, summing_matrix

ROW_HEIGHTS = {"tall": 31, "middle": 24, "low": 16, "dense": 13}
"""Height of a question's row in px, by density; the style sheet has the same."""

MOST_TALL = 12
"""Maximum number of questions for tall rows."""

MOST_MIDDLE = 24
"""Maximum number of questions for rows of middle height."""

SHOWN_QUESTIONS = 12
"""Maximum number of questions that the description of a group names."""

MOST_LOW = 32
"""Maximum number of questions for low rows; rows of more are dense."""

MOST_ROWS = 46
"""Maximum number of questions in the picture; of more, those of the largest groups."""

ROOMY = 6.0
"""Width of a group in % from which its boxes have a number."""

ROOMY_WITH_SIGN = 9.0
"""Width of a group in % from which its boxes have a number after a +."""

WIDE_WITH_SIGN = 18.0
"""Width of a group in % from which a number after a + also fits on a phone."""

WIDE = 13.0
"""Width of a group in % from which its numbers also fit on a phone."""

LABELLED = 2.5
"""Width of a group in % from which its letter fits above it."""

LABELLED_ON_PHONES = 8.0
"""Width of a group in % from which its letter also fits on a phone."""

MOST_ALONE = 20
"""Maximum number of groups that are drawn where each is asked one question."""

MOST_SKETCHED = 100
"""Maximum number of groups that are drawn while a search runs."""

NAMED_GROUPS = 6
"""Maximum number of groups without a letter that are named."""

SHOWN_PEOPLE = 50.0
"""Minimum share of people, in %, of whose questions the picture shows some."""

APART = 0.9
"""Width of a group in % from which a gap tells it from the next one."""


Hits = Mapping[str, int]
"""How many of 100 true answers are guessed from a report of a form, by question."""


class AskedForm(Protocol):
    """A set of questions that some people are asked."""

    @property
    def attributes(self) -> Sequence[str]:
        """The questions of a form of the mosaic."""

    @property
    def share(self) -> float:
        """The share of the people who are asked a form, its width in the mosaic."""

    @property
    def chance(self) -> float:
        """A number in proportion to the share of a form of the mosaic."""


class AskedPlan(Protocol):
    """Forms that people are divided among: a plan, or a sketch of one."""

    @property
    def forms(self) -> Sequence[AskedForm]:
        """The forms that people are divided among, the columns of the mosaic."""


@dataclass(frozen=True)
class SketchedForm:
    """A form of a search's best so far."""

    share: float
    attributes: tuple[str, ...]

    @property
    def chance(self) -> float:
        """The share of a sketched form of the mosaic."""
        return self.share


@dataclass(frozen=True)
class SketchedPlan:
    """The forms of a search's best so far."""

    forms: tuple[SketchedForm, ...]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A question that a group is asked.

    `truthful` is how many of 100 guesses from a report are the true answer, None where
    boxes are too small for a number; `is_shaped` tells whether the answers of the group
    are sent as one report.
    """

    top: int
    baseline: float
    truthful: int | None
    is_shaped: bool

    @property
    def text(self) -> str:
        """What stands in a box of the mosaic that is wide enough: the number, after a +
        if it is sent with the others of its group.
        """
        sign = "+" if self.is_shaped else ""
        if self.truthful is None:
            return sign
        return f"{sign}{self.truthful}"


@dataclass(frozen=True, kw_only=True)
class Group:
    """People who get the same form, as a column of the mosaic; x and width in %."""

    letter: str
    percent: str
    left: float
    width: float
    questions: str
    cells: tuple[Cell, ...]

    @property
    def description(self) -> str:
        """A group of the mosaic in words."""
        return f"Group {self.letter}, {self.percent} of 100 people: {self.questions}"

    @property
    def right(self) -> float:
        """The right edge of a group in the mosaic, in %."""
        return round(self.left + self.width, 2)

    @property
    def middle(self) -> float:
        """The middle of a group in the mosaic, in %."""
        return round(self.left + self.width / 2, 2)

    @property
    def is_apart(self) -> bool:
        """Whether a gap follows a group in the mosaic."""
        return self.width >= APART

    @property
    def is_labelled(self) -> bool:
        """Whether the letter of a group fits above its column in the mosaic."""
        return self.width >= LABELLED

    @property
    def is_labelled_on_phones(self) -> bool:
        """Whether the letter of a group of the mosaic also fits on a phone."""
        return self.width >= LABELLED_ON_PHONES

    @property
    def is_roomy(self) -> bool:
        """Whether a number fits in a box of the mosaic."""
        return self.width >= ROOMY

    @property
    def is_wide(self) -> bool:
        """Whether a number in a box of the mosaic also fits on a phone."""
        if any(cell.is_shaped for cell in self.cells):
            return self.width >= WIDE_WITH_SIGN
        return self.width >= WIDE


@dataclass(frozen=True, kw_only=True)
class QuestionRow:
    """A question as a row of the mosaic; `asked` is the share of people, in %."""

    name: str
    top: int
    asked: str


@dataclass(frozen=True, kw_only=True)
class NumberAsked:
    """The people who are asked so many questions, in %."""

    questions: int
    percent: float


@dataclass(frozen=True, kw_only=True)
class Lottery:
    """Who is asked what, where a picture of its groups would show few people.

    `numbers` has a row for each number of questions, if there are several.
    """

    sentence: str
    numbers: tuple[NumberAsked, ...]


@dataclass(frozen=True, kw_only=True)
class Mosaic:
    """Who is asked what: groups as columns as wide as their shares, questions as
    rows.
    """

    rows: tuple[QuestionRow, ...]
    groups: tuple[Group, ...]
    density: str
    further: int = 0
    """The number of questions that are not in the picture."""
    lottery: Lottery | None = None
    """What is said in place of a picture that shows few people."""

    @property
    def box(self) -> int:
        """Height of a box of the mosaic in px."""
        if self.density == "dense":
            return ROW_HEIGHTS[self.density] - 2
        return ROW_HEIGHTS[self.density] - 4

    @property
    def height(self) -> int:
        """Height of the mosaic in px."""
        return ROW_HEIGHTS[self.density] * len(self.rows)

    @property
    def caption(self) -> str:
        """How the mosaic is read."""
        if self.lottery is not None:
            return "Each person belongs to one group, drawn by lot."
        text = (
            "A column is a group of people, as wide as its share, drawn by lot. A blue "
            "box is a question that the group is asked"
        )
        cells = [
            cell for group in self.groups if group.is_roomy for cell in group.cells
        ]
        if any(cell.text and not cell.is_shaped for cell in cells):
            text += (
                "; a number says how many of 100 send their true answer, the others "
                "send another one at random"
            )
        shaped = [cell for cell in cells if cell.is_shaped]
        if shaped:
            text += "; boxes with a + are sent together as one report"
        if any(cell.truthful is not None for cell in shaped):
            text += ", from which so many of 100 true answers are guessed"
        return f"{text}."

    @property
    def unlabelled(self) -> str:
        """The groups of the mosaic that are too narrow for their letter, in words;
        empty for none.
        """
        narrow = [group for group in self.groups if not group.is_labelled]
        if not narrow:
            return ""
        if len(narrow) > NAMED_GROUPS:
            return f"{len(narrow):,} groups are too narrow for their letter."
        names = [f"{group.letter} ({group.percent} of 100)" for group in narrow]
        return f"Too narrow for a letter: {', '.join(names)}."

    @property
    def has_narrow_groups(self) -> bool:
        """Whether a group of the mosaic is too narrow for its letter on a phone."""
        return not all(group.is_labelled_on_phones for group in self.groups)

    @property
    def description(self) -> str:
        """The mosaic in words."""
        return ". ".join(group.description for group in self.groups)


def mosaic_of(plan: PlanContent) -> Mosaic:
    """Return the mosaic of who is asked what, groups and questions sorted so that boxes
    form blocks.

    Examples
    --------
    >>> import seepage as sp
    >>> view = mosaic_of(sp.calibrate("survey", 2.0, columns=["coffee", "sleep"]))
    >>> [row.name for row in view.rows], view.groups[0].description
    (['coffee', 'sleep'], 'Group A, 100 of 100 people: coffee, sleep')
    """
    hits = [
        (
            {name: _truthful(plan, number, name) for name in form.attributes},
            form.is_product,
        )
        for number, form in enumerate(plan.forms)
    ]
    return _mosaic(plan, hits)


def sketched_mosaic(sketch: Sequence[tuple[float, Sequence[str]]]) -> Mosaic:
    """Return the mosaic of a search's best so far: groups by share, with their
    questions.

    Examples
    --------
    >>> view = sketched_mosaic([(0.6, ("coffee", "sleep")), (0.4, ("sleep",))])
    >>> [group.description for group in view.groups]
    ['Group A, 60 of 100 people: sleep, coffee', 'Group B, 40 of 100 people: sleep']
    """
    forms = tuple(SketchedForm(share, tuple(names)) for share, names in sketch)
    plan = SketchedPlan(forms)
    if len(forms) > MOST_SKETCHED:
        return Mosaic(rows=(), groups=(), density="tall", lottery=lottery_of(plan))
    return _mosaic(plan, None)


def _mosaic(plan: AskedPlan, hits: Sequence[tuple[Hits, bool]] | None) -> Mosaic:
    """Return a mosaic; `hits` are the numbers in the boxes of each form, if known, and
    whether its answers are sent one by one.
    """
    is_diagonal = all(len(form.attributes) == 1 for form in plan.forms)
    if is_diagonal and len(plan.forms) > MOST_ALONE:
        return Mosaic(rows=(), groups=(), density="tall", lottery=lottery_of(plan))
    order = similar_forms(plan)
    everything = questions_in_blocks(plan, order)
    asked = shares_asked(plan)
    names = everything[:MOST_ROWS]
    density = _density(len(names))
    height = ROW_HEIGHTS[density]
    tops = {name: 2 + height * row for row, name in enumerate(names)}
    groups = list[Group]()
    left = 0.0
    for letter_number, form_number in enumerate(order):
        form = plan.forms[form_number]
        share = form.share
        told = None
        if hits is not None and density != "dense":
            told = hits[form_number]
        cells = tuple(
            _cell(name, tops[name], height, share, told)
            for name in names
            if name in form.attributes
        )
        groups.append(
            Group(
                letter=group_letter(letter_number),
                percent=percent_of_people(share),
                left=round(left, 2),
                width=round(100 * share, 2),
                questions=_group_questions(plan, form_number, everything),
                cells=cells,
            )
        )
        left += 100 * share
    rows = tuple(
        QuestionRow(
            name=name,
            top=tops[name],
            asked=percent_of_people(asked[name]),
        )
        for name in names
    )
    shown = math.fsum(group.width for group in groups if group.cells)
    if shown < SHOWN_PEOPLE:
        return Mosaic(rows=(), groups=(), density="tall", lottery=lottery_of(plan))
    return Mosaic(
        rows=rows,
        groups=tuple(groups),
        density=density,
        further=len(everything) - len(names),
    )


def _cell(
    name: str, top: int, height: int, share: float, told: tuple[Hits, bool] | None
) -> Cell:
    """Return a box of the mosaic, in a group with a share of the people.

    `told` are the numbers of the form, and whether its answers are sent one by one;
    None for no numbers.
    """
    truthful = None
    is_shaped = False
    if told is not None:
        numbers, is_product = told
        is_shaped = not is_product
        if is_product or 100 * share >= ROOMY_WITH_SIGN:
            truthful = numbers[name]
    return Cell(
        top=top,
        baseline=top + height / 2 + 2.5,
        truthful=truthful,
        is_shaped=is_shaped,
    )


def lottery_of(plan: AskedPlan) -> Lottery:
    """Return the mosaic's who is asked what in words, and how many people are asked how
    many questions.
    """
    people_of = dict[int, float]()
    for form in plan.forms:
        number = len(form.attributes)
        people_of[number] = people_of.get(number, 0.0) + 100 * form.share
    shares = list(shares_asked(plan).values())
    largest = max(form.share for form in plan.forms)
    each = _range_of(f"{number:,}" for number in sorted(people_of))
    asked = _range_of(_of_people(share) for share in sorted(shares))
    sentence = (
        f"Each person is asked {each} of {len(shares):,} questions. There are "
        f"{len(plan.forms):,} groups; the largest is {_of_people(largest)} people. A "
        f"question is asked of {asked} people."
    )
    numbers = tuple(
        NumberAsked(questions=number, percent=people_of[number])
        for number in sorted(people_of)
    )
    if len(numbers) == 1:
        numbers = ()
    return Lottery(sentence=sentence, numbers=numbers)


def _of_people(share: float) -> str:
    """Return a share of people beside the mosaic in words, small ones as one of so
    many.

    Examples
    --------
    >>> _of_people(0.25), _of_people(0.00067)
    ('25 of 100', '1 of 1,500')
    """
    if share >= 0.01:
        return f"{two_digits(100 * share)} of 100"
    return f"1 of {two_digits(1 / share)}"


def _range_of(texts: Iterable[str]) -> str:
    """Return the first and the last of some texts beside the mosaic, one if they are
    alike.
    """
    first, *others = texts
    if not others or others[-1] == first:
        return first
    return f"{first} to {others[-1]}"


def _group_questions(plan: AskedPlan, number: int, names: Sequence[str]) -> str:
    """Return the questions of a group of the mosaic in words, in the order of some
    names.
    """
    form = plan.forms[number]
    asked = [name for name in names if name in form.attributes]
    return short_list(asked, SHOWN_QUESTIONS)


def group_letter(number: int) -> str:
    """Return the name of a group of the mosaic: A to Z, then A2 to Z2, and so on.

    Examples
    --------
    >>> group_letter(0), group_letter(25), group_letter(26)
    ('A', 'Z', 'A2')
    """
    turn, position = divmod(number, len(ascii_uppercase))
    letter = ascii_uppercase[position]
    if turn == 0:
        return letter
    return f"{letter}{turn + 1}"


def similar_forms(plan: AskedPlan) -> list[int]:
    """Return the numbers of the forms in the mosaic's order, the largest first, each
    followed by the one most like it.
    """
    waiting = sorted(
        range(len(plan.forms)), key=lambda number: -plan.forms[number].chance
    )
    order = [waiting.pop(0)]
    while waiting:
        last = set(plan.forms[order[-1]].attributes)
        closest = max(waiting, key=lambda number: _overlap(last, plan, number))
        waiting.remove(closest)
        order.append(closest)
    return order


def _overlap(names: set[str], plan: AskedPlan, number: int) -> tuple[float, float]:
    """Return for the mosaic the Jaccard similarity of a form's questions to others,
    then its share.
    """
    form = plan.forms[number]
    asked = set(form.attributes)
    return len(names & asked) / len(names | asked), form.chance


def questions_in_blocks(plan: AskedPlan, order: Sequence[int]) -> list[str]:
    """Return the questions in the mosaic's order: by the first group that is asked,
    then by their share.
    """
    first = dict[str, int]()
    for position, number in enumerate(order):
        for name in plan.forms[number].attributes:
            first.setdefault(name, position)
    asked = shares_asked(plan)
    return sorted(first, key=lambda name: (first[name], -asked[name]))


def _density(questions: int) -> str:
    """Return how high the rows of the mosaic are."""
    if questions <= MOST_TALL:
        return "tall"
    if questions <= MOST_MIDDLE:
        return "middle"
    if questions <= MOST_LOW:
        return "low"
    return "dense"


def share_asked(plan: PlanContent, name: str) -> float:
    """Return the width of a question's boxes in the mosaic, the share of people who are
    asked.
    """
    return math.fsum(form.share for _, form in plan[name].asking)


def shares_asked(plan: AskedPlan) -> dict[str, float]:
    """Return the share of people who are asked each question of a mosaic."""
    shares = dict[str, list[float]]()
    for form in plan.forms:
        for name in form.attributes:
            shares.setdefault(name, []).append(form.share)
    return {name: math.fsum(each) for name, each in shares.items()}


def _truthful(plan: PlanContent, number: int, name: str) -> int:
    """Return the number in a box of the mosaic: how many of 100 guesses from the report
    of a question are its answer, rounded down.
    """
    mechanism = plan.form_mechanisms[number].get(name)
    if mechanism is not None:
        return math.floor(100 * float(mechanism.hit_rate))
    channel = plan.forms[number].channel
    assert isinstance(channel, MatrixChannel)
    return math.floor(100 * _guessed(plan, channel, name))


def _guessed(plan: PlanContent, channel: MatrixChannel, name: str) -> float:
    """Return how often a guess from a shaped report is the true answer to a question of
    the mosaic: sum over r of max over a of P(r | a), over k.

    P(r | a) is at the plan's nominal frequencies of the other answers, and the k
    answers count alike, as for the rate of a mechanism.
    """
    nominal = [nominal_frequencies(plan, asked) for asked in channel.attributes]
    cells = np.ravel(reduce(np.multiply.outer, nominal))
    if channel.frequencies:
        cells = np.array(channel.frequencies)
    shape = [len(frequencies) for frequencies in nominal]
    answers = summing_matrix(shape, [channel.attributes.index(name)])
    people = answers @ cells
    asked_of = people > 0
    joint = answers @ (cells[:, np.newaxis] * channel.mechanism.channel())
    reports = joint[asked_of] / people[asked_of, np.newaxis]
    return float(reports.max(axis=0).sum() / len(reports))
