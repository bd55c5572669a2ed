"""The second step: what the columns are, and what will be done with each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from seepage._core.errors import InputError, SeepageError
from seepage._core.number_grammar import is_count, number_of_text
from seepage.app import column_work
from seepage.app.column_choices import (
    READ_ROLES,
    READINGS,
    ROLES,
    ColumnChoice,
    answers_by_value,
    bin_rule,
    reading_keywords,
    shown_bins,
)
from seepage.app.equivalent_commands import check_command, check_python
from seepage.app.form_entries import entry, entry_at, form_entries
from seepage.app.step_pages import is_part_wanted, page_part, redirect_to, step_page
from seepage.app.study import Study, shown_counts
from seepage.app.study_routes import StudyRoute
from seepage.app.summaries import CheckedColumn
from seepage.app.tasks import BackgroundTask, Fault

PAGE_ROWS = 60
"""Columns on one page of the second step."""

SHOWN = {
    "all": "All",
    "ask": "Asked",
    "protect": "Protected",
    "never": "Not used",
    "decide": "To decide",
}
"""Which columns are shown, in words."""

MISSING_VALUE = "missing"
"""What the form says of a value that means missing."""

SAME_AS = "same"
"""How the form says that a value is the same answer as another, whose position follows.
"""


async def show_columns(study: Study, request: Request) -> Response:
    """Show the columns step: what the columns are, and what will be done with each."""
    if study.source is None:
        return redirect_to(study, "data")
    study.take_results()
    if study.check is None and "columns" not in {*study.tasks, *study.faults}:
        start_check(study)
    show = request.query_params.get("show", "all")
    positions = [
        position
        for position, column in enumerate(study.columns)
        if _is_shown(study, column, show)
    ]
    start = _page_start(request, len(positions))
    name = study.source.name
    return step_page(
        study,
        "columns",
        positions=positions[start : start + PAGE_ROWS],
        start=start,
        count=len(positions),
        page_rows=PAGE_ROWS,
        show=show,
        shown=_filters(study),
        counts=shown_counts(study),
        opened=_position(request.query_params.get("open", ""), study),
        command=check_command(name),
        python=check_python(name),
        **_row_values(),
    )


def start_check(study: Study) -> None:
    """Start the check of the columns of that step."""
    task = BackgroundTask.start(
        "reading the table",
        study.folder,
        column_work.check_columns,
        data=study.data,
        used=study.used,
        reading=study.reading,
        folder=study.folder,
    )
    study.start_task("columns", task)


def _filters(study: Study) -> dict[str, str]:
    """Return the filters of the columns step that show some, in words with their
    numbers.
    """
    numbers = {
        show: sum(_is_shown(study, column, show) for column in study.columns)
        for show in SHOWN
    }
    return {
        show: f"{text} {numbers[show]:,}"
        for show, text in SHOWN.items()
        if show == "all" or numbers[show]
    }


def _is_shown(study: Study, column: CheckedColumn, show: str) -> bool:
    """Return whether a column is among those that the columns step shows."""
    if show == "decide":
        return bool(column.codes) and study.choices[column.name].role in READ_ROLES
    return show == "all" or study.choices[column.name].role == show


async def start_again(study: Study, request: Request) -> Response:
    """Start the check of the columns again after it failed or was stopped."""
    if study.source is not None and study.check is None:
        start_check(study)
    return redirect_to(study, "columns")


async def take_role(study: Study, request: Request) -> Response:
    """Take the role that the columns step gives a column; one that was not read is read
    first.
    """
    form = await form_entries(request)
    position = _column_position(study, form)
    column = study.columns[position]
    role = entry(form, "role")
    if role not in ROLES:
        raise InputError(f"there is no such choice: {role!r}")
    choice = replace(study.choices[column.name], role=role)
    if role in READ_ROLES and column.asked is None:
        return await _read_column(study, request, position, choice)
    study.choose(column.name, choice)
    return _column_answer(study, request, position, None)


async def take_reading(study: Study, request: Request) -> Response:
    """Take how a column is read from the columns step."""
    form = await form_entries(request)
    position = _column_position(study, form)
    column = study.columns[position]
    try:
        choice = _entered_choice(study.choices[column.name], column, form)
    except InputError as problem:
        return _column_answer(study, request, position, Fault.of(problem))
    return await _read_column(study, request, position, choice)


async def _read_column(
    study: Study, request: Request, position: int, choice: ColumnChoice
) -> Response:
    """Read a column anew for the columns step, and take the decision if that can be
    done.
    """
    column = study.columns[position]
    choices = {**study.choices, column.name: choice}
    alone = {
        name: other
        for name, other in choices.items()
        if name == column.name or other.role == "person"
    }
    try:
        keywords = reading_keywords(alone)
        reread = await run_in_threadpool(
            column_work.reread_column, study.data, column, keywords, study.folder
        )
    except SeepageError as problem:
        return _column_answer(study, request, position, Fault.of(problem))
    study.take_column(position, reread)
    study.choose(column.name, choice)
    return _column_answer(study, request, position, None)


def _entered_choice(
    choice: ColumnChoice, column: CheckedColumn, form: Mapping[str, str]
) -> ColumnChoice:
    """Return how a column is read, as the columns step's form says."""
    reading = entry(form, "reading")
    if reading not in READINGS:
        raise InputError(f"there is no such way to read a column: {reading!r}")
    values = [value for value, _ in column.values]
    decisions = [entry(form, f"value{index}") for index in range(len(values))]
    missing = _entered_missing(values, decisions)
    scale = _entered_scale(form) if reading == "scale" else ()
    bins = _entered_bins(form) if reading == "numbers" else ""
    same_as = _entered_merges(values, decisions)
    if reading == "numbers" and same_as:
        raise InputError(
            "intervals are merged by leaving out the number between them",
            parameter="bins",
        )
    ordered = scale or _in_their_order(values)
    answers = [value for value in ordered if value not in missing]
    merges = _merged_answers(answers, same_as, has_others=column.others > 0)
    return ColumnChoice(
        role=choice.role,
        reading=reading,
        bins=bin_rule(bins),
        scale=scale,
        missing=missing,
        merges=merges,
    )


def _entered_missing(
    values: Sequence[str], decisions: Sequence[str]
) -> tuple[str, ...]:
    """Return the values that the columns step's form says are no answer."""
    return tuple(
        value
        for value, decision in zip(values, decisions, strict=True)
        if decision == MISSING_VALUE
    )


def _entered_scale(form: Mapping[str, str]) -> tuple[str, ...]:
    """Return the answers of a scale from the columns step's form in their order, one
    line each.
    """
    lines = (line.strip() for line in form.get("scale", "").split("\n"))
    return tuple(filter(None, lines))


def _entered_bins(form: Mapping[str, str]) -> str:
    """Return where the columns step's form cuts the intervals of numbers, as typed;
    raise for nothing.
    """
    bins = entry(form, "bins")
    if not bins:
        raise InputError("say where the intervals are cut", parameter="bins")
    return bins


def _merged_answers(
    answers: Sequence[str], same_as: Mapping[str, str], *, has_others: bool
) -> tuple[tuple[str, str], ...]:
    """Return values with the answer that the columns step codes each as; raise unless
    two are left.
    """
    if not {*same_as, *same_as.values()} <= set(answers):
        raise InputError(
            "a value can be the same as another answer, and no other value"
        )
    merges = answers_by_value(answers, same_as, has_others=has_others)
    if merges and len({answer for _, answer in merges}) == 1:
        raise InputError("a question needs two answers: merge fewer values")
    return merges


def _in_their_order(values: Sequence[str]) -> Sequence[str]:
    """Return a column's numbers in ascending order for the columns step, and other
    values as they are.
    """
    numbers = {value: number_of_text(value) for value in values}
    if None in numbers.values():
        return values
    return sorted(values, key=lambda value: numbers[value] or 0.0)


def _entered_merges(values: Sequence[str], decisions: Sequence[str]) -> dict[str, str]:
    """Return the values that the columns step's form says are the same answer as
    another one, with that.
    """
    same_as = dict[str, str]()
    for value, decision in zip(values, decisions, strict=True):
        if decision.startswith(SAME_AS):
            position = {"value": decision.removeprefix(SAME_AS)}
            same_as[value] = entry_at(position, "value", values, "value")
    return same_as


async def take_person(study: Study, request: Request) -> Response:
    """Take from the columns step who is a person: whom a column names, or each row."""
    name = entry(await form_entries(request), "person")
    if study.check is None:
        raise InputError("there is no table yet")
    if name == "":
        study.is_each_row_a_person = True
    elif name in study.choices:
        study.choose(name, replace(study.choices[name], role="person"))
    else:
        raise InputError("there is no such column")
    study.forget_results()
    return redirect_to(study, "columns")


async def show_editor(study: Study, request: Request) -> Response:
    """Show in the columns step how a column is read, to change it."""
    position = _column_position(study, request.query_params)
    return page_part("app/column_editor.html", study, **_editor(study, position, None))


def _editor(study: Study, position: int, fault: Fault | None) -> dict[str, Any]:
    """Return what the form of a column in the columns step shows."""
    return {"position": position, "row_fault": fault, **_row_values()}


def _row_values() -> dict[str, Any]:
    """Return what the templates of the columns step need beside a column."""
    return {"roles": ROLES, "readings": READINGS, "shown_bins": shown_bins}


def _column_answer(
    study: Study, request: Request, position: int, fault: Fault | None
) -> Response:
    """Return the parts of the columns step's page that a decision changes, or the
    page.
    """
    study.faults.pop("columns", None)
    if not is_part_wanted(request):
        if fault is not None:
            study.faults["columns"] = fault
        return redirect_to(study, "columns")
    return page_part(
        "app/column_change.html",
        study,
        status=200 if fault is None else 422,
        counts=shown_counts(study),
        **_editor(study, position, fault),
    )


def _column_position(study: Study, form: Mapping[str, str]) -> int:
    """Return the position of the column that a form of the columns step is about."""
    position = _position(entry(form, "column"), study)
    if position is None:
        raise InputError("there is no such column")
    return position


def _position(text: str, study: Study) -> int | None:
    """Return the position of a column in the columns step; None for none."""
    is_number = is_count(text) and len(text) < 8
    if not is_number or int(text) >= len(study.columns):
        return None
    return int(text)


def _page_start(request: Request, count: int) -> int:
    """Return the first row of a page of the columns step's long list."""
    text = request.query_params.get("start", "0")
    start = int(text) if is_count(text) and len(text) < 8 else 0
    return start if start < count else 0


COLUMNS_ROUTES = (
    StudyRoute("columns", show_columns),
    StudyRoute("columns", start_again, "POST"),
    StudyRoute("column", show_editor),
    StudyRoute("role", take_role, "POST"),
    StudyRoute("person", take_person, "POST"),
    StudyRoute("reading", take_reading, "POST"),
)
"""Addresses of the second step."""
