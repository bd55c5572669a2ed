"""What a plan's page and the app show: the decision, people by strategy, the promise as
odds, and when to choose which way to ask.

The templates in `templates/components.html` draw these views, on the plan's page and in
the app alike.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from seepage._core.odds import odds_text
from seepage._core.text import factor, nats, rounded_people, two_digits
from seepage.designs.strategies import (
    BEYOND,
    CALIBRATED,
    NO_NOISE,
    OPTIMAL_SMP,
    RECORD_SMP,
    SPLIT,
    UNIFORM_SMP,
)
from seepage.plan.advice import (
    is_estimated,
    order_sentence,
    precision_sentence,
    proportion_sentence,
)
from seepage.plan.plan_content import PlanContent
from seepage.plan.plan_precision import (
    NO_BETTER,
    THIS_PLAN,
    Precision,
    pairs_together,
    people_text,
)
from seepage.plan.promises import unlimited

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
        """Height of a bar of people in a plan's view, in px."""
        return self.lines[-1].top + self.lines[-1].height


@dataclass(frozen=True, kw_only=True)
class PeopleBars:
    """People needed by strategy, on one scale; a full line is `full` people."""

    full: str
    rows: tuple[PeopleRow, ...]

    @property
    def is_wrapped(self) -> bool:
        """Whether some bar of people in a plan's view goes on over several lines."""
        return any(len(row.lines) > 1 for row in self.rows)


def people_bars(precision: Precision) -> PeopleBars:
    """Return the bars of a plan's view: the people that each strategy needs for its
    precision.

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
    labelled = {STRATEGY_LABELS[name]: people for name, people in counts.items()}
    return bars_of_counts(labelled, this=STRATEGY_LABELS[THIS_PLAN])


def bars_of_counts(counts: Mapping[str, int], *, this: str) -> PeopleBars:
    """Return numbers of people by label as bars of a plan's view, and each as a
    multiple of one of them.
    """
    own = counts[this]
    alike = [people for people in counts.values() if people <= 4 * own]
    full = _round_number(max(1.15 * max(alike), max(counts.values()) / MAX_LINES))
    rows = tuple(
        PeopleRow(
            label=label,
            people=rounded_people(people),
            times=_times(people, own),
            is_this=label == this,
            lines=_lines(people, full),
        )
        for label, people in counts.items()
    )
    return PeopleBars(full=f"{full:,}", rows=rows)


def _times(people: int, own: int) -> str:
    """Return for the view of a plan how many times as many people as its own; empty for
    no more.
    """
    if people <= own:
        return ""
    return f"{two_digits(people / own)} ×"


def _round_number(people: float) -> int:
    """Return the people of the longest bar of a plan's view: the next larger number of
    one digit and zeros.
    """
    unit = 10 ** math.floor(math.log10(people))
    return int(math.ceil(people / unit) * unit)


def _lines(people: int, full: int) -> tuple[Line, ...]:
    """Return the lines of a bar in the view of a plan: one of 18 px, or several of 6
    px.
    """
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
        """How many of 100 an even guess becomes at least, in the view of a plan."""
        return 100 - self.surest


def odds_of(total: float) -> Odds:
    """Return a total of a plan's view as odds: exp(total) times, an even guess at most
    exp(total) / (1 + exp(total)).

    Examples
    --------
    >>> odds_of(2.0)
    Odds(times='7.4', surest=89)
    """
    surest = 1 / (1 + math.exp(-min(total, 700.0)))
    return Odds(times=odds_text(total), surest=min(100, math.ceil(100 * surest - 1e-9)))


def promised_total(plan: PlanContent) -> float:
    """Return what the view of a plan says is promised in nats: its largest limit, else
    its largest total.
    """
    limits = [planned.limit for planned in plan.attributes if planned.limit is not None]
    if limits and not unlimited(plan):
        return max(limits)
    return max(planned.total for planned in plan.attributes)


def promised_odds(plan: PlanContent) -> Odds:
    """Return the odds that the view of a plan says are promised: its largest limit,
    else its largest total.
    """
    return odds_of(promised_total(plan))


@dataclass(frozen=True, kw_only=True)
class StrategyRow:
    """A way to ask, the people that it needs, and what it tells; `nats` for details."""

    label: str
    people: str
    odds: str
    nats: str
    rests_on: str
    is_this: bool
    keeps_limits: bool


def strategy_rows(precision: Precision) -> tuple[StrategyRow, ...]:
    """Return all ways to ask in the view of a plan, the one with the fewest people
    first.
    """
    return tuple(
        StrategyRow(
            label=STRATEGY_LABELS.get(strategy.name, strategy.name),
            people=people_text(precision, precision.ratio(strategy)),
            odds=_record_odds(float(strategy.record)),
            nats=_record_nats(float(strategy.record)),
            rests_on=strategy.rests_on,
            is_this=strategy.name == THIS_PLAN,
            keeps_limits=strategy.name not in BEYOND,
        )
        for strategy in sorted(precision.strategies, key=precision.ratio)
    )


def _record_odds(record: float) -> str:
    """Return for the view of a plan how far a report changes the odds between two whole
    records.
    """
    if math.isinf(record):
        return "tells everything"
    return f"{factor(record)} ×"


def _record_nats(record: float) -> str:
    """Return the leakage about the whole record in nats, for the view of a plan."""
    if math.isinf(record):
        return "everything"
    return nats(record)


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


def decision_view(plan: PlanContent, precision: Precision) -> Decision:
    """Return the view of a plan in the words of who decides.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan.plan_precision import plan_precision
    >>> plan = sp.calibrate("survey", 2.0, columns=["coffee", "sleep"])
    >>> decision_view(plan, plan_precision(plan)).order
    'Ask 1,940 people all 2 questions, with noise added before anything is sent.'
    """
    if not is_estimated(precision):
        return Decision(
            order="Nothing is asked: no question has two answers.",
            precision="",
            proportion="",
        )
    return Decision(
        order=order_sentence(plan, precision),
        precision=precision_sentence(precision),
        proportion=proportion_sentence(precision),
    )


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of two ways to ask, and when to choose it."""

    title: str
    reasons: tuple[str, ...]


def choices_of(plan: PlanContent, precision: Precision) -> tuple[Choice, ...]:
    """Return the view of when to choose the plan and when one question each; nothing to
    choose for a plan that asks one question each.
    """
    single = precision.named(OPTIMAL_SMP, UNIFORM_SMP)
    record = max(form.record for form in plan.forms)
    limits = [planned.limit for planned in plan.attributes if planned.limit is not None]
    asks_several = any(len(form.attributes) > 1 for form in plan.forms)
    if single is None or not asks_several or not limits:
        return ()
    ratio = precision.ratio(single)
    if not math.isfinite(ratio):
        return ()
    own = rounded_people(precision.people)
    other = rounded_people(math.ceil(ratio * precision.people))
    together, pairs = pairs_together(plan)
    tables = (
        f"you want tables of two questions: {len(together)} of the {len(pairs)} pairs "
        "are asked together."
    )
    insider = (
        "somebody who already knows a person's other answers may see the data: a "
        f"relative, an employer, an insurer. Then {factor(float(single.record))} times "
        f"still hold; this plan promises only {factor(record)} times;"
    )
    if ratio < NO_BETTER:
        this = (tables,)
        enough = (
            f"single shares are enough: {other} people do, no more than this plan's."
        )
        return _two_choices(this, (insider, enough))
    outsiders = (
        "those who may see the data know no other answers of the same person: a leak, "
        "a supplier, a researcher;"
    )
    reach = f"you can reach {own} people; one question each takes {other};"
    each = (
        insider,
        f"you can reach {other} people;",
        "single shares are enough, without tables of two questions.",
    )
    return _two_choices((outsiders, reach, tables), each)


def _two_choices(this: tuple[str, ...], each: tuple[str, ...]) -> tuple[Choice, ...]:
    """Return the view of the reasons for the plan, and of those for one question
    each.
    """
    return (
        Choice(title="Choose this plan if", reasons=this),
        Choice(title="Choose one question each if", reasons=each),
    )
