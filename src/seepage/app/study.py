"""What one window of the app works on: the data, what was decided, what was computed.

A study lives in the memory of the app and in a folder of its own; its identifier is in
the path of its pages, so that two windows do not mix and a reload keeps everything.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seepage._core.errors import InputError, SeepageError
from seepage.app.codebook_choices import choices_from
from seepage.app.column_choices import (
    ASKED_ROLES,
    ColumnChoice,
    Role,
    names_read,
    names_with,
    reading_keywords,
    role_keywords,
)
from seepage.app.explored_part import with_texts_beside
from seepage.app.leak_work import ANALYSIS_PAGE
from seepage.app.looks import LOOKS, Looks
from seepage.app.plan_wish import (
    FIRST_ENTRIES,
    LIMIT_ODDS,
    PairKind,
    PlanWish,
    QuestionPair,
    pair_keywords,
)
from seepage.app.question_texts import TEXTS_FILE, save_texts
from seepage.app.summaries import (
    AnalysisSummary,
    CheckedColumn,
    CheckSummary,
    CollectedReports,
    PlanEstimate,
    PlanSummary,
)
from seepage.app.tasks import BackgroundTask, Fault
from seepage.designs.changes import Change
from seepage.tables.codebooks import CodebookRow, Texts, texts_of
from seepage.tables.table_options import NO_PERSON

MAX_COMPARED = 3
"""Number of plans that are kept to compare."""


@dataclass(frozen=True)
class DataSource:
    """A table.

    Parameters
    ----------
    title
        The name that is shown.
    name
        The name in commands: of the file, or of the dataset.
    data
        What functions of data take: a path in the private folder or one that was given
        at the start, or the name of a dataset.
    digest
        The digest of its bytes, by which tries are counted.
    """

    title: str
    name: str
    data: str
    digest: str


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
    check
        What was found about the columns.
    choices
        What is decided about each column.
    is_each_row_a_person
        Whether it was decided that each record is of another person, though a column
        looks as if it identified people with several.
    codebook
        The lines of a codebook that waits for its table.
    texts
        What people read in place of names of columns and of answers.
    analysis
        What the questions give away.
    entries
        The form of the fourth step, as it was entered.
    pairs
        What is decided about pairs of questions.
    wished
        The positions of the changes of the plan that is shown which the next search is
        to make.
    estimate
        What a plan would need, by the last estimate.
    plans
        The plans to compare, the newest last.
    selected
        The number of the plan that is shown.
    plan_count
        How many plans the study has had.
    results
        The reports that the newest page of results is about.
    tasks
        Work by the step that it belongs to.
    faults
        What went wrong last, by step.
    """

    folder: Path
    identifier: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    source: DataSource | None = None
    check: CheckSummary | None = None
    choices: dict[str, ColumnChoice] = field(default_factory=dict)
    is_each_row_a_person: bool = False
    codebook: list[CodebookRow] = field(default_factory=list)
    texts: Texts = field(default_factory=dict)
    analysis: AnalysisSummary | None = None
    entries: dict[str, str] = field(default_factory=lambda: dict(FIRST_ENTRIES))
    pairs: list[QuestionPair] = field(default_factory=list)
    wished: set[int] = field(default_factory=set)
    estimate: PlanEstimate | None = None
    plans: list[PlanSummary] = field(default_factory=list)
    selected: int = 0
    plan_count: int = 0
    results: CollectedReports | None = None
    tasks: dict[str, BackgroundTask] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)

    # The table and its columns --------------------------------------------------------

    def open_data(self, source: DataSource) -> None:
        """Take a new table into the study, and forget what was found about another."""
        self.stop_all()
        self.source = source
        self.check = None
        self.choices = {}
        self.is_each_row_a_person = False
        self.texts = {}
        (self.folder / TEXTS_FILE).unlink(missing_ok=True)
        self.pairs = []
        self.wished = set()
        self.plans = []
        self.estimate = None
        self.faults = {}
        self.forget_results()

    def forget_results(self) -> None:
        """Forget results of the study that no longer fit, after a decision on the
        columns changed.
        """
        self.analysis = None
        self.results = None
        for step in ("leaks", "analysis", "collect"):
            self.faults.pop(step, None)
            task = self.tasks.pop(step, None)
            if task is not None:
                task.kill()

    @property
    def data(self) -> str:
        """The table of the study as functions take it; raises before there is one."""
        if self.source is None:
            raise InputError("there is no table yet: choose one in the first step")
        return self.source.data

    @property
    def columns(self) -> tuple[CheckedColumn, ...]:
        """What the study found about each column."""
        if self.check is None:
            return ()
        return self.check.columns

    def take_check(self, check: CheckSummary) -> None:
        """Take into the study what was found about the columns; decisions that were
        taken stay.
        """
        self.check = check
        self.choices = {
            column.name: self.choices.get(column.name, ColumnChoice(column.role))
            for column in check.columns
        }
        if self.codebook:
            rows = self.codebook
            self.codebook = []
            self.take_codebook(rows)

    def take_codebook(self, rows: list[CodebookRow]) -> None:
        """Take the decisions of a codebook into the study, now or once the columns are
        known.
        """
        self.take_texts(texts_of(rows))
        if self.check is None:
            self.codebook = rows
            return
        self.choices = choices_from(rows, self.choices)
        self.forget_results()
        if not all(choice.is_read_as_proposed for choice in self.choices.values()):
            self.check = None  # read anew as it was decided
            self.faults.pop("columns", None)

    def take_texts(self, texts: Texts) -> None:
        """Take texts of questions and answers into the study; an empty one removes the
        text that there was.
        """
        for name, of_column in texts.items():
            merged = {**self.texts.get(name, {}), **of_column}
            self.texts[name] = {key: text for key, text in merged.items() if text}
        if any(texts.values()):
            save_texts(self.texts, self.folder)

    def take_column(self, position: int, column: CheckedColumn) -> None:
        """Take into the study what was found about one column, read anew."""
        assert self.check is not None
        columns = list(self.check.columns)
        columns[position] = column
        self.check = replace(self.check, columns=tuple(columns))

    def choose(self, name: str, choice: ColumnChoice) -> None:
        """Decide about a column of the study; at most one column identifies a
        person.
        """
        if choice.role == "person":
            for other in self.names("person"):
                self.choices[other] = replace(self.choices[other], role="never")
        self.choices[name] = choice
        asked = self.asked
        self.pairs = [p for p in self.pairs if {p.first, p.second} <= set(asked)]
        self.forget_results()

    def names(self, *roles: Role) -> list[str]:
        """Return the study's columns with some roles, in the order of the table."""
        return names_with(self.choices, roles)

    @property
    def asked(self) -> list[str]:
        """The columns of the study that people are asked for."""
        return names_with(self.choices, ASKED_ROLES)

    @property
    def role_keywords(self) -> dict[str, Any]:
        """The study's keywords that say what is done with the columns."""
        proposed = {column.name: column.role for column in self.columns}
        return role_keywords(self.choices, proposed)

    @property
    def used(self) -> list[str]:
        """The columns of the study that the promise is about."""
        return names_read(self.choices)

    @property
    def reading(self) -> dict[str, Any]:
        """The study's keywords of reading the table that follow from the decisions."""
        keywords = reading_keywords(self.choices)
        if self.is_each_row_a_person and "person" not in keywords:
            keywords["person"] = NO_PERSON
        return keywords

    @property
    def exploring(self) -> dict[str, Any]:
        """The study's keywords of reading the explored part, as a design reads the
        table.
        """
        beside = {column.name: column.beside for column in self.columns}
        return with_texts_beside(self.reading, self.used, beside)

    @property
    def asks_who_is_a_person(self) -> bool:
        """Whether it must be decided who is a person of the study, and is not."""
        has_repeats = self.check is not None and bool(self.check.people)
        return has_repeats and "person" not in self.reading

    # The plan -------------------------------------------------------------------------

    @property
    def odds(self) -> float:
        """The limit of the study's slider: how many times the odds may change."""
        return LIMIT_ODDS[int(self.entries["limit"])]

    @property
    def looks(self) -> Looks:
        """The plans that were tried on the table of the study."""
        if self.source is None:
            raise InputError("there is no table yet: choose one in the first step")
        return Looks(self.source.digest)

    def design_keywords(self) -> dict[str, Any]:
        """Return the study's keywords of `seepage.design` that follow from all
        decisions.
        """
        if not self.asked:
            raise InputError("no column is asked: choose some in the second step")
        if self.asks_who_is_a_person:
            raise InputError("say in the second step who is a person")
        wish = PlanWish.of(self.entries)
        return {
            **self.role_keywords,
            **self.reading,
            **pair_keywords(self.pairs),
            **wish.keywords(),
            "looks": LOOKS,
        }

    def explored_design_keywords(self) -> dict[str, Any]:
        """Return the study's keywords of a design of the explored part alone."""
        keywords = self.design_keywords()
        proposed_only = self.names("protect")
        keywords["left_out"] = tuple(proposed_only)
        for name in ("looks", "drop", "keep", *self.reading):
            keywords.pop(name, None)
        return keywords

    def apply_change(self, change: Change) -> None:
        """Decide in the study what a change of a plan says."""
        if change.kind == "largest":
            self.entries["largest"] = str(change.questions)
        elif change.kind in ("never", "together"):
            kind: PairKind = "never" if change.kind == "never" else "table"
            first, second = change.attributes
            self.pairs.append(QuestionPair(kind, first, second))
        else:
            role: Role = "protect" if change.kind == "drop" else "ask"
            for name in change.attributes:
                self.choose(name, replace(self.choices[name], role=role))

    def add_plan(self, plan: PlanSummary) -> None:
        """Keep a plan in the study to compare, and show it; the same one found again
        stands once, and the oldest goes if there are too many.
        """
        self.plans = [kept for kept in self.plans if kept.digest != plan.digest]
        self.plans.append(plan)
        self.wished = set()
        del self.plans[:-MAX_COMPARED]
        self.selected = plan.number

    def remove_plan(self, number: int) -> None:
        """Compare a plan of the study no longer."""
        self.plans = [plan for plan in self.plans if plan.number != number]
        if self.plans and self.plan is None:
            self.selected = self.plans[-1].number

    @property
    def plan(self) -> PlanSummary | None:
        """The plan that the study shows."""
        for plan in self.plans:
            if plan.number == self.selected:
                return plan
        return None

    def next_number(self) -> int:
        """Return the number of a new plan of the study."""
        self.plan_count += 1
        return self.plan_count

    # Tasks ----------------------------------------------------------------------------

    def start_task(self, step: str, task: BackgroundTask) -> None:
        """Start the work of a step of the study in place of that which runs."""
        running = self.tasks.pop(step, None)
        if running is not None:
            running.kill()
        self.faults.pop(step, None)
        self.tasks[step] = task

    def stop_all(self) -> None:
        """End all work of the study."""
        for task in self.tasks.values():
            task.kill()
        self.tasks = {}

    def take_results(self) -> None:
        """Take the results of all tasks of the study that have ended."""
        for step in list(self.tasks):
            if self.tasks[step].state == "running":
                continue
            task = self.tasks.pop(step)
            if task.fault is not None:
                self.faults[step] = task.fault
                continue
            try:
                self._take_result(task.result)
            except SeepageError as problem:
                self.faults[step] = Fault.of(problem)

    def _take_result(self, result: Any) -> None:
        """Take the result of a task into the study by what it is."""
        if isinstance(result, CheckSummary):
            self.take_check(result)
        elif isinstance(result, AnalysisSummary):
            self.analysis = result
            (self.folder / ANALYSIS_PAGE).unlink(missing_ok=True)
        elif isinstance(result, PlanSummary):
            if result.keywords:  # counted before it is seen
                self.looks.add(result.digest)
            self.add_plan(result)
        elif isinstance(result, PlanEstimate):
            self.estimate = result
        elif isinstance(result, CollectedReports):
            self.results = result


def shown_counts(study: Study) -> Mapping[Role, list[str]]:
    """Return the study's columns that are not asked, by what is done with them."""
    roles: tuple[Role, ...] = ("protect", "public", "known", "person", "never")
    return {role: names for role in roles if (names := study.names(role))}
