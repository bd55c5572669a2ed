"""The fifth step: the questionnaire, the files of the plan, reports and results."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from seepage._core.errors import InputError
from seepage.app import collect_work
from seepage.app.codebook_choices import codebook_of
from seepage.app.equivalent_commands import (
    collect_command,
    collect_python,
    plan_command,
    plan_python,
)
from seepage.app.form_entries import entry, form_entries
from seepage.app.plan_files import (
    PLAN_FILES,
    RESULTS_PAGE,
    SIMULATED_PAGE,
    plan_file,
    zip_of_plan,
)
from seepage.app.question_texts import (
    PREVIEW,
    refresh_questionnaires,
    with_texts,
    without_text,
)
from seepage.app.step_pages import (
    download,
    next_address,
    redirect_to,
    saved_page,
    step_page,
)
from seepage.app.study import Study
from seepage.app.study_routes import StudyRoute
from seepage.app.summaries import PlanSummary
from seepage.app.tasks import BackgroundTask
from seepage.app.uploads import receive_file, uploaded_name
from seepage.tables.codebooks import CodebookRow, codebook_text

REPORT_SUFFIXES = (".parquet", ".csv", ".jsonl", ".db", ".sqlite", ".sqlite3")
"""Endings of the files of reports that can be dropped."""

MOST_TEXTS = 60
"""Maximum number of questions whose texts are entered here; a codebook has more."""

LONGEST_TEXT = 500
"""Maximum length of the text of a question that is entered."""

PREVIEW_POLICY = "frame-ancestors 'self'"
"""Policy of the preview, beside its own: our script alone."""


async def show_collection(study: Study, request: Request) -> Response:
    """Show the step that collects: the questionnaire, the files, and what reports
    say.
    """
    study.take_results()
    plan = study.plan
    if plan is None:
        return redirect_to(study, "plan")
    await _refresh(study, plan)
    files = {
        name: title
        for name, title in PLAN_FILES.items()
        if plan_file(study.folder, plan.number, name).exists()
    }
    return step_page(
        study,
        "collect",
        plan=plan,
        files=files,
        results=_newest_results(study, plan, files),
        untold=without_text(plan.asked, study.texts),
        most_texts=MOST_TEXTS,
        command=collect_command(_table_name(study)),
        python=collect_python(_table_name(study)),
    )


def _newest_results(
    study: Study, plan: PlanSummary, files: Mapping[str, str]
) -> str | None:
    """Return the page of results that the collect step shows: the newest; None if there
    is none.
    """
    shown = [SIMULATED_PAGE, RESULTS_PAGE]
    newest = study.results
    if newest is None or newest.plan != plan.number or not newest.is_simulated:
        shown.reverse()
    return next((name for name in shown if name in files), None)


def _table_name(study: Study) -> str:
    """Return the name of the table in the collect step's commands."""
    if study.source is None:
        return "people.csv"
    return study.source.name


async def _refresh(study: Study, plan: PlanSummary) -> None:
    """Write the questionnaires of a plan in the collect step again if their texts
    changed.
    """
    refresh = partial(refresh_questionnaires, plan.number, study.folder)
    await run_in_threadpool(refresh)


async def take_texts(study: Study, request: Request) -> Response:
    """Take the texts of the questions in the collect step, as people read them."""
    form = await form_entries(request)
    if study.plan is None:
        raise InputError("there is no plan yet")
    names = study.plan.asked[:MOST_TEXTS]
    entered = [entry(form, f"text{index}") for index in range(len(names))]
    if any(len(text) > LONGEST_TEXT for text in entered):
        raise InputError(f"a question must have at most {LONGEST_TEXT} characters")
    study.take_texts(
        {name: {"": text} for name, text in zip(names, entered, strict=True)}
    )
    return redirect_to(study, "collect")


async def start_simulation(study: Study, request: Request) -> Response:
    """Simulate the collection with the records of the table."""
    if study.plan is None:
        return redirect_to(study, "plan")
    task = BackgroundTask.start(
        "drawing the reports of the people in the table",
        study.folder,
        collect_work.simulate_collection,
        data=study.data,
        reading=study.reading,
        number=study.plan.number,
        folder=study.folder,
    )
    study.start_task("collect", task)
    return redirect_to(study, "collect")


async def take_reports(study: Study, request: Request) -> Response:
    """Take a file of reports, or a receiver's database, and show their results."""
    if study.plan is None:
        raise InputError("there is no plan yet")
    name = uploaded_name(request)
    suffix = Path(name).suffix.lower()
    if suffix not in REPORT_SUFFIXES:
        kinds = ", ".join(REPORT_SUFFIXES)
        raise InputError(f"a file of reports must end in {kinds}, got {name!r}")
    path = study.folder / f"received{suffix}"
    await receive_file(request, path)
    task = BackgroundTask.start(
        "estimating from the reports",
        study.folder,
        collect_work.show_results,
        reports=str(path),
        number=study.plan.number,
        folder=study.folder,
    )
    study.start_task("collect", task)
    return next_address(study, "collect")


async def give_file(study: Study, request: Request) -> Response:
    """Show or give a file of a plan in the collect step."""
    plan = _plan_of(study, request)
    await _refresh(study, plan)
    name = request.path_params["name"]
    path = plan_file(study.folder, plan.number, name)
    if name not in (*PLAN_FILES, PREVIEW) or not path.exists():
        raise HTTPException(404, "there is no such file")
    if name == PREVIEW:
        return saved_page(path, PREVIEW_POLICY)
    if path.suffix == ".html" and "download" not in request.query_params:
        return saved_page(path)
    return FileResponse(path, filename=name)


async def give_codebook(study: Study, request: Request) -> Response:
    """Give the decisions about the columns as a codebook in the collect step."""
    if study.check is None:
        raise HTTPException(404, "there is no table yet")
    text = codebook_text(_decided(study))
    return download(text.encode(), "codebook.csv", "text/csv")


def _decided(study: Study) -> list[CodebookRow]:
    """Return the codebook that the collect step gives: decisions, and texts."""
    return with_texts(codebook_of(study.columns, study.choices), study.texts)


async def give_zip(study: Study, request: Request) -> Response:
    """Give all files of a plan as one zip in the collect step."""
    plan = _plan_of(study, request)
    await _refresh(study, plan)
    make = partial(zip_of_plan, study.folder, plan.number, how_made(study, plan))
    content = await run_in_threadpool(make)
    return download(content, "plan.zip", "application/zip")


def _plan_of(study: Study, request: Request) -> PlanSummary:
    """Return the plan that an address of the collect step names."""
    for plan in study.plans:
        if plan.number == request.path_params["number"]:
            return plan
    raise HTTPException(404, "there is no such plan")


def how_made(study: Study, plan: PlanSummary) -> dict[str, str]:
    """Return how a plan was made, for the zip that the collect step gives; of an opened
    one the texts alone.
    """
    codebook = codebook_text(_decided(study))
    if not plan.keywords:
        return {"codebook.csv": codebook} if study.texts else {}
    name = _table_name(study)
    return {
        "codebook.csv": codebook,
        "command.txt": plan_command(name, plan.keywords) + "\n",
        "design.py": plan_python(name, plan.keywords) + "\n",
    }


COLLECT_ROUTES = (
    StudyRoute("collect", show_collection),
    StudyRoute("texts", take_texts, "POST"),
    StudyRoute("simulate", start_simulation, "POST"),
    StudyRoute("reports", take_reports, "PUT"),
    StudyRoute("codebook.csv", give_codebook),
    StudyRoute("files/{number:int}/plan.zip", give_zip),
    StudyRoute("files/{number:int}/{name}", give_file),
)
"""Addresses of the fifth step."""
