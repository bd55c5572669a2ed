"""The fourth step: what a plan is to keep, the search, and the plans to compare."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from seepage._core.errors import InputError
from seepage.app import plan_work
from seepage.app.equivalent_commands import plan_command, plan_python
from seepage.app.form_entries import entry, entry_at, form_entries
from seepage.app.looks import LOOKS
from seepage.app.plan_wish import (
    FIRST_ENTRIES,
    LIMIT_ODDS,
    PAIR_KINDS,
    QuestionPair,
)
from seepage.app.step_pages import redirect_to, step_page
from seepage.app.study import Study
from seepage.app.study_routes import StudyRoute
from seepage.app.tasks import BackgroundTask, Fault

MOST_NOTES = 30
"""Maximum number of remarks of a plan that are shown."""


async def show_plan(study: Study, request: Request) -> Response:
    """Show the plan step: what the plan is to keep, and the plan."""
    study.take_results()
    if not study.columns and not study.plans:
        return redirect_to(study, "columns")
    left = None
    if study.source is not None:
        left = study.looks.left
    return step_page(
        study,
        "plan",
        odds_stops=LIMIT_ODDS,
        plan=study.plan,
        looks=LOOKS,
        looks_left=left,
        pair_kinds=PAIR_KINDS,
        most_notes=MOST_NOTES,
        **_equivalents(study),
    )


def _equivalents(study: Study) -> dict[str, Any]:
    """Return the command and the Python that give the plan which the plan step
    shows.
    """
    plan = study.plan
    if plan is None or not plan.keywords or study.source is None:
        return {"command": "", "python": ""}
    name = study.source.name
    return {
        "command": plan_command(name, plan.keywords),
        "python": plan_python(name, plan.keywords),
    }


async def keep_entries(study: Study, request: Request) -> Response:
    """Keep what stands in the plan step's form, right or wrong, for when the page is
    shown again.
    """
    _keep(study, await form_entries(request))
    return Response(status_code=204)


def _keep(study: Study, form: dict[str, str]) -> None:
    """Keep the fields of the plan step's form; a limit that is none raises an
    InputError.
    """
    if "limit" in form:
        entry_at(form, "limit", LIMIT_ODDS, "limit")
    study.entries |= {name: form[name] for name in FIRST_ENTRIES if name in form}
    if study.plan is not None:
        study.wished = {
            position
            for position, _ in study.plan.offered
            if f"change{position}" in form
        }


async def start_search(study: Study, request: Request) -> Response:
    """Start the search of a plan in the plan step, or an estimate."""
    form = await form_entries(request)
    _keep(study, form)
    try:
        if entry(form, "what") == "estimate":
            _start_estimate(study)
        else:
            _make_wished_changes(study)
            _start_design(study)
    except InputError as problem:
        study.faults["plan"] = Fault.of(problem)
    return redirect_to(study, "plan")


def _make_wished_changes(study: Study) -> None:
    """Decide in the plan step what the changes say that were switched on."""
    plan = study.plan
    if plan is None or not study.wished:
        return
    study.looks.check()
    for position, change in plan.offered:
        if position in study.wished:
            study.apply_change(change)
    study.wished = set()


def _start_design(study: Study, start: int | None = None) -> None:
    """Start the plan step's search of a certified plan, one try; from another plan if
    its number is given.
    """
    keywords = study.design_keywords()
    study.looks.check()
    task = BackgroundTask.start(
        "searching for the plan that asks the fewest people",
        study.folder,
        plan_work.design_plan,
        data=study.data,
        keywords=keywords,
        start=start,
        number=study.next_number(),
        folder=study.folder,
    )
    study.start_task("plan", task)


def _start_estimate(study: Study) -> None:
    """Start the plan step's search of a plan of the explored part, which certifies
    nothing.
    """
    task = BackgroundTask.start(
        "estimating how many people it takes",
        study.folder,
        plan_work.estimate_plan,
        data=study.data,
        used=study.used,
        reading=study.exploring,
        wish=study.explored_design_keywords(),
        folder=study.folder,
    )
    study.start_task("plan", task)


async def try_change(study: Study, request: Request) -> Response:
    """Decide in the plan step what a change of the plan that is shown says, and search
    again.
    """
    form = await form_entries(request)
    plan = study.plan
    if plan is None or not plan.keywords:
        raise InputError("there is no plan to change")
    change = entry_at(form, "change", plan.changes, "change")
    try:
        study.looks.check()
        study.apply_change(change)
        _start_design(study, plan.number)
    except InputError as problem:
        study.faults["plan"] = Fault.of(problem)
    return redirect_to(study, "plan")


async def take_pair(study: Study, request: Request) -> Response:
    """Decide in the plan step about two questions, or no longer."""
    form = await form_entries(request)
    removed = entry(form, "remove")
    if removed:
        pair = entry_at(form, "remove", study.pairs, "pair of questions")
        study.pairs.remove(pair)
        return redirect_to(study, "plan")
    try:
        study.pairs.append(_entered_pair(study, form))
    except InputError as problem:
        study.faults["plan"] = Fault.of(problem)
    else:
        study.faults.pop("plan", None)
    return redirect_to(study, "plan")


def _entered_pair(study: Study, form: dict[str, str]) -> QuestionPair:
    """Return a pair of questions that the plan step's form gives by the positions of
    the questions.
    """
    kind = entry(form, "kind")
    first = entry_at(form, "first", study.asked, "question")
    second = entry_at(form, "second", study.asked, "question")
    if kind not in PAIR_KINDS:
        raise InputError("there is no such decision about two questions")
    if first == second:
        raise InputError("choose two different questions", parameter="pair")
    for pair in study.pairs:
        if {pair.first, pair.second} == {first, second}:
            raise InputError(
                f"there is a decision on {first} and {second} already", parameter="pair"
            )
    return QuestionPair(kind, first, second)


async def select_plan(study: Study, request: Request) -> Response:
    """Show another of the plans in the plan step."""
    form = await form_entries(request)
    study.selected = _entered_number(study, form)
    study.wished = set()
    return redirect_to(study, "plan")


async def remove_plan(study: Study, request: Request) -> Response:
    """Compare a plan no longer in the plan step."""
    form = await form_entries(request)
    study.remove_plan(_entered_number(study, form))
    return redirect_to(study, "plan")


def _entered_number(study: Study, form: dict[str, str]) -> int:
    """Return the number of the plan that the plan step's form names."""
    text = entry(form, "plan")
    for plan in study.plans:
        if str(plan.number) == text:
            return plan.number
    raise InputError("there is no such plan")


PLAN_ROUTES = (
    StudyRoute("plan", show_plan),
    StudyRoute("entries", keep_entries, "POST"),
    StudyRoute("search", start_search, "POST"),
    StudyRoute("change", try_change, "POST"),
    StudyRoute("pair", take_pair, "POST"),
    StudyRoute("select", select_plan, "POST"),
    StudyRoute("remove", remove_plan, "POST"),
)
"""Addresses of the fourth step."""
