"""What one window of the app works on: the data, what was decided, and what was
computed.

A study lives in the memory of the app and in a folder of its own; its identifier is in
the path of its pages, so that two windows do not mix and a reload keeps everything.
"""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from seepage._core.errors import InputError
from seepage.app.tasks import BackgroundTask
from seepage.app.work import PlanSummary
from seepage.tables.labels import NUMBER

Role = Literal["ask", "protect", "never", "public", "person"]

ROLES: dict[Role, str] = {
    "ask": "Ask",
    "protect": "Protect, do not ask",
    "public": "Known to everybody",
    "person": "Identifies a person",
    "never": "Never use",
}
"""What can be done with a column, in words."""

LOOKS = 20
"""Number of plans that may be tried on the same data, see `Study.confidence`."""

ALL_LOOKS = 0.95
"""Confidence that every plan tried keeps its limits."""

LIMIT_ODDS = (1.5, 2.0, 2.7, 4.5, 7.4, 12.0, 20.0)
"""The limits of the slider: how many times the odds may change."""

MAX_COMPARED = 3
"""Number of plans that are kept to compare."""


@dataclass(frozen=True)
class DataSource:
    """A table: the name that the user knows, and what functions of data take."""

    name: str
    data: str
    size: int | None = None


@dataclass
class PlanWish:
    """What a plan is to keep and to reach, as entered.

    Parameters
    ----------
    odds
        How many times the odds may change at most.
    goal
        Whether `amount` is a precision in points, or a number of people.
    amount
        The precision or the number of people.
    largest
        The maximum number of questions for a person; None for any.
    never
        Pairs of questions that are never asked together.
    title
        What is collected.
    """

    odds: float = 7.4
    goal: Literal["precision", "people"] = "precision"
    amount: float = 3.0
    largest: int | None = None
    never: tuple[tuple[str, str], ...] = ()
    title: str = ""


@dataclass
class Study:
    """One study of the app.

    Attributes
    ----------
    identifier
        The part of the path that is its own.
    folder
        Its folder.
    source
        The table, if there is one.
    columns
        What the check found: one mapping for each column.
    records, is_whole
        The number of records looked at, and whether these are all.
    roles
        What is done with each column.
    bins
        The rule by which a column's numbers are cut into intervals, where one was
        entered.
    missing
        Texts that mean missing in a column, where some were entered.
    analysis
        What the analysis found.
    plans
        The plans to compare, the newest last.
    selected
        The position of the plan that is shown.
    looks
        How many plans were certified on this data.
    results
        The address of a page of results, once there is one.
    tasks
        Work by the step that it belongs to.
    fault
        Why the last entry was not taken, in one line, by step.
    """

    folder: Path
    identifier: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    source: DataSource | None = None
    columns: list[dict[str, Any]] = field(default_factory=list)
    records: int = 0
    is_whole: bool = True
    roles: dict[str, Role] = field(default_factory=dict)
    bins: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    analysis: dict[str, Any] | None = None
    wish: PlanWish = field(default_factory=PlanWish)
    plans: list[PlanSummary] = field(default_factory=list)
    selected: int = -1
    looks: int = 0
    results: str = ""
    tasks: dict[str, BackgroundTask] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def open_data(self, source: DataSource) -> None:
        """Take a new table, and forget what was found about another."""
        self.stop_all()
        self.source = source
        self.columns = []
        self.roles = {}
        self.bins = {}
        self.missing = {}
        self.forget_results()
        self.plans = []
        self.looks = 0
        self.faults = {}

    def forget_results(self) -> None:
        """Forget what no longer fits, after a decision on the columns changed."""
        self.analysis = None
        self.results = ""
        for step in ("leaks", "collect"):
            task = self.tasks.pop(step, None)
            if task is not None:
                task.kill()

    def stop_all(self) -> None:
        """End all work."""
        for task in self.tasks.values():
            task.kill()
        self.tasks = {}

    @property
    def data(self) -> str:
        """The table as functions take it; raises before there is one."""
        if self.source is None:
            raise InputError("there is no table yet: choose one in the first step")
        return self.source.data

    def take_check(self, found: Mapping[str, Any]) -> None:
        """Take what the check of the columns found; decisions that were taken stay."""
        self.columns = list(found["columns"])
        self.records = found["records"]
        self.is_whole = found["whole"]
        names = [column["name"] for column in self.columns]
        self.roles = {
            column["name"]: self.roles.get(column["name"], proposed_role(column))
            for column in self.columns
        }
        self.bins = {name: rule for name, rule in self.bins.items() if name in names}

    def names(self, *roles: Role) -> list[str]:
        """Return the columns with some roles, in the order of the table."""
        return [
            column["name"]
            for column in self.columns
            if self.roles[column["name"]] in roles
        ]

    @property
    def reading(self) -> dict[str, Any]:
        """The keywords of reading the table that follow from the decisions."""
        persons = self.names("person")
        keywords: dict[str, Any] = {
            "columns": tuple(self.names("ask", "protect", "public"))
        }
        if persons:
            keywords["person"] = persons[0]
        if self.bins:
            keywords["bins"] = dict(self.bins)
        if self.missing:
            keywords["missing_markers"] = dict(self.missing)
        return keywords

    @property
    def confidence(self) -> float:
        """The confidence of each plan, so that all `LOOKS` of them hold at once.

        Whoever tries many plans on the same records and keeps the best has chosen by
        looking.  Each plan therefore fails with a probability of at most
        (1 - `ALL_LOOKS`) / `LOOKS`.
        """
        return 1 - (1 - ALL_LOOKS) / LOOKS

    @property
    def looks_left(self) -> int:
        """How many plans may still be tried on this data."""
        return LOOKS - self.looks

    def design_keywords(self) -> dict[str, Any]:
        """Return the keywords of `seepage.design` that follow from all decisions."""
        if len(self.names("person")) > 1:
            raise InputError("at most one column can identify a person")
        if not self.names("ask"):
            raise InputError("no column is asked: choose some in the second step")
        keywords = dict(self.reading)
        keywords["limit"] = limit_of_odds(self.wish.odds)
        keywords["confidence"] = self.confidence
        left_out = self.names("protect")
        if left_out:
            keywords["left_out"] = tuple(left_out)
        public = self.names("public")
        if public:
            keywords["public"] = tuple(public)
        if self.wish.goal == "precision":
            keywords["precision"] = self.wish.amount / 100
        else:
            keywords["people"] = int(self.wish.amount)
        if self.wish.largest is not None:
            keywords["largest"] = self.wish.largest
        if self.wish.never:
            keywords["never"] = self.wish.never
        if self.wish.title:
            keywords["title"] = self.wish.title
        return keywords

    def add_plan(self, plan: PlanSummary) -> None:
        """Keep a plan to compare, the newest `MAX_COMPARED` of them."""
        self.plans.append(plan)
        del self.plans[:-MAX_COMPARED]
        self.selected = len(self.plans) - 1

    @property
    def plan(self) -> PlanSummary | None:
        """The plan that is shown."""
        if not self.plans:
            return None
        return self.plans[min(self.selected, len(self.plans) - 1)]


def proposed_role(column: Mapping[str, Any]) -> Role:
    """Return what is done with a column unless it is decided otherwise."""
    if column["used"]:
        return "ask"
    return "never"


def limit_of_odds(odds: float) -> float:
    """Return the limit in nats of odds that change at most so many times, rounded down.

    Examples
    --------
    >>> limit_of_odds(7.4)
    2.00148
    """
    return math.floor(1e5 * math.log(odds)) / 1e5


def bin_rule(text: str) -> str | list[float]:
    """Return how a column's numbers are cut: edges, or a rule such as "quantile:5".

    Examples
    --------
    >>> bin_rule("0, 18, 65"), bin_rule("quantile:5")
    ([0.0, 18.0, 65.0], 'quantile:5')
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(NUMBER.fullmatch(part) for part in parts):
        return text
    return [float(part) for part in parts]


def pairs_never(text: str, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of questions that are written one pair a line, "ill, income".

    Examples
    --------
    >>> pairs_never("ill, income", ["ill", "income", "age"])
    (('ill', 'income'),)
    """
    pairs = list[tuple[str, str]]()
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",") if part.strip()]
        if not parts:
            continue
        if len(parts) != 2 or parts[0] == parts[1]:
            raise InputError(
                "questions that are never asked together are two names a line, "
                f"separated by a comma, got {line!r}"
            )
        for part in parts:
            if part not in names:
                raise InputError(f"{part!r} is no question that is asked")
        pairs.append((parts[0], parts[1]))
    return tuple(pairs)
