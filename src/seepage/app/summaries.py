"""What the app keeps of long work: small, and shown without computing anything
again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seepage._core.odds import limit_in_nats
from seepage.app.column_choices import Role
from seepage.designs.changes import Change, people_difference
from seepage.pages.analysis_view import LeakPicture
from seepage.pages.mosaic import Mosaic
from seepage.pages.plan_view import Choice, Decision, Odds, PeopleBars


@dataclass(frozen=True, kw_only=True)
class AnswerShares:
    """The answers of a column, as they are asked, with their shares in a random part.

    Attributes
    ----------
    answers
        The commonest answers with their shares, what remains as one.
    number
        The number of all answers.
    """

    answers: tuple[tuple[str, float], ...]
    number: int


@dataclass(frozen=True, kw_only=True)
class CheckedColumn:
    """What was found about a column.

    Attributes
    ----------
    name, kind, reason
        Its name, its kind, and why it is of this kind.
    role
        What is proposed to do with it.
    missing
        The share of records without a value.
    codes
        Values that may mean missing.
    beside
        Texts beside numbers, which are read as missing.
    values
        The commonest values with their shares.
    others
        The number of further values.
    asked
        The answers as they are asked; None for a column that is not read.
    """

    name: str
    kind: str
    reason: str
    role: Role
    missing: float
    codes: tuple[str, ...]
    beside: tuple[str, ...]
    values: tuple[tuple[str, float], ...]
    others: int
    asked: AnswerShares | None


@dataclass(frozen=True, kw_only=True)
class CheckSummary:
    """What was found about a table's columns.

    Attributes
    ----------
    columns
        The columns.
    records
        The number of records.
    checked
        The number of records from which the kinds were told.
    part
        The number of records from which the answers and their shares were read.
    people
        Columns that identify people with several records, each with why.
    """

    columns: tuple[CheckedColumn, ...]
    records: int
    checked: int
    part: int
    people: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TotalRange:
    """What all reports of a person tell about a question, in nats: at least, at
    most.
    """

    name: str
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True)
class AnalysisSummary:
    """What each question gives away if all were asked of everybody.

    Attributes
    ----------
    totals
        What is told about each question, the most first.
    leaks
        The strongest leaks, with a picture each.
    records
        The number of records that were analysed.
    questions
        The number of questions, of which many are analysed in part.
    """

    totals: tuple[TotalRange, ...]
    leaks: tuple[LeakPicture, ...]
    records: int
    questions: int

    def number_over(self, odds: float) -> int:
        """Return how many questions of an analysis's summary give away more than odds
        allow.
        """
        limit = limit_in_nats(f"{odds:g}x")
        return sum(total.lower > limit for total in self.totals)

    def number_open(self, odds: float) -> int:
        """Return of how many questions of an analysis's summary it is not known whether
        they do.
        """
        limit = limit_in_nats(f"{odds:g}x")
        return sum(total.lower <= limit < total.upper for total in self.totals)


@dataclass(frozen=True)
class CollectedReports:
    """The reports that the page of results is about.

    Attributes
    ----------
    plan
        The number of their plan.
    records
        The number of reports.
    is_simulated
        Whether they were drawn for the records of the table.
    """

    plan: int
    records: int
    is_simulated: bool

    @property
    def words(self) -> str:
        """How many reports a summary has, and that nobody was asked if so."""
        if self.is_simulated:
            return f"{self.records:,} simulated reports"
        return f"{self.records:,} reports"


@dataclass(frozen=True)
class PlanEstimate:
    """What a plan would need, by a search on the explored part; it promises nothing.

    Attributes
    ----------
    order, precision
        How many people to ask, and how precise the results would be, in words.
    odds
        The limit in words.
    people
        The number of people of the part.
    """

    order: str
    precision: str
    odds: str
    people: int


@dataclass(frozen=True, kw_only=True)
class PlanSummary:
    """What the app shows of a plan without loading it.

    Attributes
    ----------
    number
        Which plan of the study it is, from 1: part of its files' names.
    digest
        The digest of the plan.
    decision, choices
        The plan in the words of who decides, and when to choose it.
    odds, record
        The promise about each question, and about the whole record, as odds.
    mosaic, people
        The pictures, see `seepage.pages.plan_view`.
    size
        The number of people to ask.
    people_needed
        The same in words.
    precision
        The half-width of each share, in words.
    asked
        The questions that are asked, by the names of their columns.
    questions, groups
        The number of questions that are asked, and of groups of people.
    changes
        What some changes of the plan cost or save.
    left_out
        What the plan leaves out, in words; empty for nothing.
    notes
        Remarks of the design.
    keywords
        The keywords of `seepage.design` that give this plan; empty for an opened one.
    """

    number: int
    digest: str
    decision: Decision
    choices: tuple[Choice, ...]
    odds: Odds
    record: Odds
    mosaic: Mosaic
    people: PeopleBars
    size: int
    people_needed: str
    precision: str
    asked: tuple[str, ...]
    questions: int
    groups: int
    changes: tuple[Change, ...]
    left_out: str
    notes: tuple[str, ...]
    keywords: Mapping[str, Any]

    @property
    def offered(self) -> tuple[tuple[int, Change], ...]:
        """The changes of a plan's summary that stand beside its search: the first of
        each kind, with their positions.
        """
        first = dict[str, tuple[int, Change]]()
        for position, change in enumerate(self.changes):
            first.setdefault(change.kind, (position, change))
        return tuple(first.values())

    def price_of(self, change: Change) -> str:
        """Return how many people more or fewer a change in a plan's summary needs, in
        words.
        """
        return people_difference(change.people, self.size)
