"""What the pictures of a plan show: who is asked what, people by strategy, the promise
as odds.

The templates in `templates/components.html` draw these views, on the plan's page and in
the app alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from seepage._core.text import factor, points, rounded_people
from seepage.designs.strategies import (
    CALIBRATED,
    NO_NOISE,
    OPTIMAL_SMP,
    RECORD_SMP,
    SPLIT,
    UNIFORM_SMP,
)
from seepage.plan.content import PlanContent
from seepage.plan.plan_precision import THIS_PLAN, Precision, pairs_together
from seepage.plan.promises import form_sizes

COSTLY = 20
"""Ratio of people with and without privacy from which it is said first."""

ROW_HEIGHTS = {"tall": 31, "middle": 24, "low": 16}
"""Height of a question's row in px, by density; the style sheet has the same."""

MOST_TALL = 12
"""Maximum number of questions for tall rows."""

MOST_MIDDLE = 24
"""Maximum number of questions for rows of middle height."""

ROOMY = 6.0
"""Width of a group in % from which its boxes have a number."""

WIDE = 13.0
"""Width of a group in % from which its numbers also fit on a phone."""

LABELLED = 2.5
"""Width of a group in % from which its letter fits above it."""

STRATEGY_LABELS = {
    NO_NOISE: "No privacy",
    THIS_PLAN: "This plan",
    OPTIMAL_SMP: "One question each",
    UNIFORM_SMP: "One question each, at random",
    CALIBRATED: "Everyone asked everything",
    SPLIT: "Equal split of noise",
    RECORD_SMP: "One question each, same promise to insiders",
}
"""Strategies in the words of who decides."""

SHOWN_STRATEGIES = (THIS_PLAN, OPTIMAL_SMP, UNIFORM_SMP, SPLIT)
"""Strategies in the picture of people needed, below no privacy, if their errors are
known."""

MAX_LINES = 12
"""Maximum number of lines over which a long bar goes on."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A question that a group is asked.

    `truthful` is how many of 100 reports equal the true answer; None for answers that
    are sent as one report.
    """

    top: int
    baseline: float
    truthful: int | None


@dataclass(frozen=True, kw_only=True)
class Group:
    """People who get the same form, as a column of the mosaic; x and width in %."""

    letter: str
    percent: str
    left: float
    width: float
    description: str
    cells: tuple[Cell, ...]

    @property
    def right(self) -> float:
        """The right edge, in %."""
        return round(self.left + self.width, 2)

    @property
    def middle(self) -> float:
        """The middle, in %."""
        return round(self.left + self.width / 2, 2)

    @property
    def is_labelled(self) -> bool:
        """Whether the letter fits above the column."""
        return self.width >= LABELLED

    @property
    def is_roomy(self) -> bool:
        """Whether a number fits in a box."""
        return self.width >= ROOMY

    @property
    def is_wide(self) -> bool:
        """Whether a number also fits on a phone."""
        return self.width >= WIDE


@dataclass(frozen=True, kw_only=True)
class QuestionRow:
    """A question as a row of the mosaic; `asked` is the share of people, in %."""

    name: str
    top: int
    asked: str


@dataclass(frozen=True, kw_only=True)
class Mosaic:
    """Who is asked what: groups as columns as wide as their shares, questions as rows."""

    rows: tuple[QuestionRow, ...]
    groups: tuple[Group, ...]
    density: str

    @property
    def box(self) -> int:
        """Height of a box in px."""
        return ROW_HEIGHTS[self.density] - 4

    @property
    def height(self) -> int:
        """Height of the picture in px."""
        return ROW_HEIGHTS[self.density] * len(self.rows)

    @property
    def description(self) -> str:
        """The picture in words."""
        return ". ".join(group.description for group in self.groups)


def mosaic_of(plan: PlanContent) -> Mosaic:
    """Return who is asked what, groups and questions sorted so that boxes form blocks.

    Examples
    --------
    >>> import seepage as sp
    >>> view = mosaic_of(sp.calibrate("survey", 2.0, columns=["coffee", "sleep"]))
    >>> [row.name for row in view.rows], view.groups[0].description
    (['coffee', 'sleep'], 'Group A, 100 of 100 people: coffee, sleep')
    """
    order = _similar_forms(plan)
    names = _questions_in_blocks(plan, order)
    density = _density(len(names))
    height = ROW_HEIGHTS[density]
    tops = {name: 2 + height * row for row, name in enumerate(names)}
    groups = list[Group]()
    left = 0.0
    for number, form_number in enumerate(order):
        form = plan.forms[form_number]
        width = round(100 * form.share, 2)
        letter = group_letter(number)
        percent = _percent(form.share)
        asked = [name for name in names if name in form.attributes]
        cells = tuple(
            Cell(
                top=tops[name],
                baseline=tops[name] + height / 2 + 2.5,
                truthful=_truthful(plan, form_number, name),
            )
            for name in asked
        )
        groups.append(
            Group(
                letter=letter,
                percent=percent,
                left=round(left, 2),
                width=width,
                description=f"Group {letter}, {percent} of 100 people: {', '.join(asked)}",
                cells=cells,
            )
        )
        left += 100 * form.share
    rows = tuple(
        QuestionRow(name=name, top=tops[name], asked=_percent(_share_asked(plan, name)))
        for name in names
    )
    return Mosaic(rows=rows, groups=tuple(groups), density=density)


def group_letter(number: int) -> str:
    """Return the name of a group: A to Z, then A2 to Z2, and so on.

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


def _similar_forms(plan: PlanContent) -> list[int]:
    """Return the numbers of the forms, the largest first, each followed by the one most
    like it.
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


def _overlap(names: set[str], plan: PlanContent, number: int) -> tuple[float, int]:
    """Return the Jaccard similarity of a form's questions to others, then its share."""
    form = plan.forms[number]
    asked = set(form.attributes)
    return len(names & asked) / len(names | asked), form.chance


def _questions_in_blocks(plan: PlanContent, order: Sequence[int]) -> list[str]:
    """Return the questions by the first group that is asked, then by their share."""
    first = dict[str, int]()
    for position, number in enumerate(order):
        for name in plan.forms[number].attributes:
            first.setdefault(name, position)
    return sorted(first, key=lambda name: (first[name], -_share_asked(plan, name)))


def _density(questions: int) -> str:
    """Return how high rows are."""
    if questions <= MOST_TALL:
        return "tall"
    if questions <= MOST_MIDDLE:
        return "middle"
    return "low"


def _share_asked(plan: PlanContent, name: str) -> float:
    """Return the share of people who are asked a question."""
    return math.fsum(form.share for _, form in plan[name].asking)


def _percent(share: float) -> str:
    """Return a share in whole percent; "<1" below one."""
    if 0 < share < 0.01:
        return "<1"
    return f"{100 * share:.0f}"


def _truthful(plan: PlanContent, number: int, name: str) -> int | None:
    """Return how many of 100 guesses from the report of a question are its answer,
    rounded down.
    """
    mechanism = plan.form_mechanisms[number].get(name)
    if mechanism is None:
        return None
    return math.floor(100 * float(mechanism.hit_rate))


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a bar; width in %."""

    top: int
    width: float
    height: int


@dataclass(frozen=True, kw_only=True)
class PeopleRow:
    """A strategy, the people that it needs, and its bar, which goes on over lines."""

    label: str
    people: str
    times: str
    is_this: bool
    lines: tuple[Line, ...]

    @property
    def height(self) -> int:
        """Height of the bar in px."""
        return self.lines[-1].top + self.lines[-1].height


@dataclass(frozen=True, kw_only=True)
class PeopleBars:
    """People needed by strategy, on one scale; a full line is `full` people."""

    full: str
    rows: tuple[PeopleRow, ...]

    @property
    def is_wrapped(self) -> bool:
        """Whether some bar goes on over several lines."""
        return any(len(row.lines) > 1 for row in self.rows)


def people_bars(precision: Precision) -> PeopleBars:
    """Return the people that each strategy needs for the plan's precision.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan.plan_precision import plan_precision
    >>> plan = sp.calibrate("survey", 2.0, columns=["coffee"], guarantee="worst")
    >>> [(row.label, row.people) for row in people_bars(plan_precision(plan)).rows]
    [('No privacy', '1,070'), ('This plan', '1,840')]
    """
    counts = dict[str, int]()
    if precision.without_privacy:
        counts[NO_NOISE] = precision.without_privacy
    for name in SHOWN_STRATEGIES:
        strategy = precision.named(name)
        if strategy is None or (name == UNIFORM_SMP and OPTIMAL_SMP in counts):
            continue
        ratio = precision.ratio(strategy)
        if math.isfinite(ratio):
            counts[name] = math.ceil(ratio * precision.people)
    own = counts[THIS_PLAN]
    alike = [people for people in counts.values() if people <= 4 * own]
    full = _round_number(max(1.15 * max(alike), max(counts.values()) / MAX_LINES))
    rows = tuple(
        PeopleRow(
            label=STRATEGY_LABELS[name],
            people=rounded_people(people),
            times=_times(people, own),
            is_this=name == THIS_PLAN,
            lines=_lines(people, full),
        )
        for name, people in counts.items()
    )
    return PeopleBars(full=f"{full:,}", rows=rows)


def _times(people: int, own: int) -> str:
    """Return how many times as many people as the plan's; empty for no more."""
    if people <= own:
        return ""
    return f"{people / own:.2g} ×"


def _round_number(people: float) -> int:
    """Return the next larger number of one digit and zeros."""
    unit = 10 ** math.floor(math.log10(people))
    return int(math.ceil(people / unit) * unit)


def _lines(people: int, full: int) -> tuple[Line, ...]:
    """Return the lines of a bar: one of 18 px, or several of 6 px."""
    if people <= full:
        width = max(0.4, round(100 * people / full, 2))
        return (Line(top=0, width=width, height=18),)
    lines = list[Line]()
    left = people
    while left > 0:
        width = max(0.4, round(100 * min(left, full) / full, 2))
        lines.append(Line(top=8 * len(lines), width=width, height=6))
        left -= full
    return tuple(lines)


@dataclass(frozen=True, kw_only=True)
class Odds:
    """A promise as odds: their largest change, and what an even guess becomes."""

    times: str
    surest: int
    """How many of 100 an even guess becomes at most, rounded up."""

    @property
    def least(self) -> int:
        """How many of 100 an even guess becomes at least."""
        return 100 - self.surest


def odds_of(total: float) -> Odds:
    """Return a total leakage as odds: exp(total) times, an even guess at most exp(total)
    / (1 + exp(total)).

    Examples
    --------
    >>> odds_of(2.0)
    Odds(times='7.4', surest=89)
    """
    surest = 1 / (1 + math.exp(-min(total, 700.0)))
    return Odds(times=factor(total), surest=min(100, math.ceil(100 * surest - 1e-9)))


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A plan in the words of who decides.

    Parameters
    ----------
    order
        What to do: how many people to ask how many questions.
    precision
        How precise the results will be.
    proportion
        What privacy costs, where it is out of proportion; else empty.
    """

    order: str
    precision: str
    proportion: str


def decision_of(plan: PlanContent, precision: Precision) -> Decision:
    """Return a plan in the words of who decides.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan.plan_precision import plan_precision
    >>> plan = sp.calibrate("survey", 2.0, columns=["coffee", "sleep"])
    >>> decision_of(plan, plan_precision(plan)).order
    'Ask 1,970 people all 2 questions, with noise added before anything is sent.'
    """
    if not precision.sizes or not math.isfinite(precision.half_width):
        return Decision(
            order="Nothing is asked: no question has two answers.",
            precision="",
            proportion="",
        )
    people = rounded_people(precision.people)
    width = points(precision.half_width).removesuffix(".0")
    return Decision(
        order=f"Ask {people} people {_questions_each(plan)}, with noise added before "
        "anything is sent.",
        precision=f"Each share will be known to within {width} percentage points, 19 "
        "times of 20.",
        proportion=_proportion(precision),
    )


def _questions_each(plan: PlanContent) -> str:
    """Return how many questions a person gets: "1 to 3 of 10 questions each"."""
    sizes = form_sizes(plan)
    count = len(plan.collected)
    if count == 1:
        return "one question"
    if sizes == str(count):
        return f"all {count} questions"
    return f"{sizes} of {count} questions each"


def _proportion(precision: Precision) -> str:
    """Return what privacy costs, from `COSTLY` times as many people on."""
    without = precision.without_privacy
    if not without or precision.people < COSTLY * without:
        return ""
    return (
        f"Privacy costs much here: without it {rounded_people(without)} people give the "
        "same precision. Fewer questions, fewer answers to each or a higher limit help."
    )


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of two ways to ask, and when to choose it."""

    title: str
    reasons: tuple[str, ...]


def choices_of(plan: PlanContent, precision: Precision) -> tuple[Choice, ...]:
    """Return when to choose the plan and when one question each; nothing to choose for
    a plan that asks one question each.
    """
    single = precision.named(OPTIMAL_SMP, UNIFORM_SMP)
    record = max(form.record for form in plan.forms)
    limits = [planned.limit for planned in plan.attributes if planned.limit is not None]
    asks_several = any(len(form.attributes) > 1 for form in plan.forms)
    if single is None or not asks_several or not limits:
        return ()
    limit = factor(max(limits))
    ratio = precision.ratio(single)
    if not math.isfinite(ratio):
        return ()
    own = rounded_people(precision.people)
    other = rounded_people(math.ceil(ratio * precision.people))
    together, pairs = pairs_together(plan)
    this = (
        "those who may see the data know no other answers of the same person: a leak, a "
        "supplier, a researcher;",
        f"you can reach {own} people; one question each takes {other};",
        f"you want tables of two questions: {len(together)} of the {len(pairs)} pairs "
        "are asked together.",
    )
    insider = (
        "somebody who already knows a person's other answers may see the data: a "
        f"relative, an employer, an insurer. Then {limit} times still hold; this plan "
        f"promises only {factor(record)} times;"
    )
    each = (
        insider,
        f"you can reach {other} people;",
        "single shares are enough, without tables of two questions.",
    )
    return (
        Choice(title="Choose this plan if", reasons=this),
        Choice(title="Choose one question each if", reasons=each),
    )
