"""The app: five steps from a file to a signed plan, as pages and parts of pages.

Each step is an address below `/s/<study>/`.  Entries are forms; long work is a task that
the page asks about.  Templates are in `pages/templates/app/`.
"""

import contextlib
import io
import zipfile
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from seepage._core.errors import InputError, SeepageError
from seepage._core.text import factor
from seepage.app import work
from seepage.app.access import SAVED_PAGE_POLICY
from seepage.app.equivalent import equivalent_command, equivalent_python
from seepage.app.study import (
    LIMIT_ODDS,
    LOOKS,
    ROLES,
    DataSource,
    PlanWish,
    Study,
    bin_rule,
    limit_of_odds,
    pairs_never,
)
from seepage.app.tasks import BackgroundTask
from seepage.pages.render import render_text, template_text

MAX_BYTES = 2 << 30
"""Maximum size of a file that is dropped."""

MAX_FORM_BYTES = 1 << 20
"""Maximum size of what is entered."""

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".arrow")
"""Endings of the tables that can be dropped."""

REPORT_SUFFIXES = (".parquet", ".csv", ".jsonl", ".db", ".sqlite")
"""Endings of the files of reports that can be dropped."""

PAGE_ROWS = 60
"""Columns on one page of the second step."""

STEPS = {
    "data": "Data",
    "columns": "Columns",
    "leaks": "What leaks",
    "plan": "Plan",
    "collect": "Collect",
}
"""The steps and their titles."""

SHIPPED = {
    "design.css": ("css/design.css", "text/css"),
    "app.css": ("css/app.css", "text/css"),
    "htmx.min.js": ("js/htmx.min.js", "text/javascript"),
    "app.js": ("js/app.js", "text/javascript"),
}
"""Style sheets and scripts by the name under which they are served."""

SHOWN_PAGES = ("plan.html", "questionnaire.html", "preview.html", "results.html")
"""Saved pages that are shown in the browser; other files are downloaded."""


NOT_GIVEN = ("preview.html", "reports.parquet")
"""Files of a plan that are not in its zip."""

PREVIEW_POLICY = "frame-ancestors 'self'"
"""Policy of the preview, beside its own: our script alone, which keeps and sends nothing."""


class Application:
    """The studies of one run of the app, and the pages that show them.

    Parameters
    ----------
    folder
        The private folder of the run.
    data
        A path or the name of a dataset that each new study starts with; None for none.
    """

    def __init__(self, folder: Path, data: str | None = None) -> None:
        self._folder = folder
        self._data = data
        self._studies = dict[str, Study]()
        self.asgi = Starlette(
            routes=self._routes(),
            exception_handlers={
                SeepageError: _fault_page,
                HTTPException: _http_fault,
            },
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """End all work when the app ends."""
        yield
        for study in self._studies.values():
            study.stop_all()

    def _routes(self) -> list[Route]:
        """Return the addresses."""
        steps = [
            Route(f"/s/{{study}}/{name}", getattr(self, f"_{name}_page"))
            for name in STEPS
        ]
        return [
            Route("/", self._new_study),
            Route("/static/{name}", self._static),
            *steps,
            Route("/s/{study}/file", self._take_file, methods=["PUT"]),
            Route("/s/{study}/dataset", self._take_dataset, methods=["POST"]),
            Route("/s/{study}/reports", self._take_reports, methods=["PUT"]),
            Route("/s/{study}/role", self._take_role, methods=["POST"]),
            Route("/s/{study}/detail", self._take_detail, methods=["POST"]),
            Route("/s/{study}/search", self._start_search, methods=["POST"]),
            Route("/s/{study}/select", self._select_plan, methods=["POST"]),
            Route("/s/{study}/simulate", self._start_simulation, methods=["POST"]),
            Route("/s/{study}/task/{step}", self._task_part),
            Route("/s/{study}/task/{step}/stop", self._stop_task, methods=["POST"]),
            Route("/s/{study}/verdict", self._verdict_part),
            Route("/s/{study}/files/{number:int}/{name}", self._plan_file),
            Route("/s/{study}/analysis.html", self._analysis_file),
        ]

    def _study(self, request: Request) -> Study:
        """Return the study of an address."""
        study = self._studies.get(request.path_params["study"])
        if study is None:
            raise HTTPException(404, "this study has ended: open the app again")
        return study

    # Entrance and files that are shipped ----------------------------------------------

    async def _new_study(self, _: Request) -> Response:
        """Start a study in this window."""
        study = Study(self._folder)
        study.folder = self._folder / study.identifier
        study.folder.mkdir(mode=0o700)
        self._studies[study.identifier] = study
        if self._data is None:
            return _to(study, "data")
        study.open_data(DataSource(name=Path(self._data).name, data=self._data))
        return _to(study, "columns")

    async def _static(self, request: Request) -> Response:
        """Serve a style sheet or a script of the package."""
        name = request.path_params["name"]
        if name not in SHIPPED:
            raise HTTPException(404, "there is no such file")
        path, kind = SHIPPED[name]
        return Response(template_text(path), media_type=kind)

    # 1. Data --------------------------------------------------------------------------

    async def _data_page(self, request: Request) -> Response:
        """Show where to drop a table."""
        study = self._study(request)
        return _page(study, "data", datasets=await run_in_threadpool(datasets_at_hand))

    async def _take_file(self, request: Request) -> Response:
        """Take a table, or a saved plan, as the raw body of a request."""
        study = self._study(request)
        name = _file_name(request)
        suffix = Path(name).suffix.lower()
        if suffix not in (*TABLE_SUFFIXES, ".json"):
            kinds = "CSV, TSV, Parquet or Feather"
            raise InputError(f"a table must be a {kinds} file, got {name!r}")
        path = study.folder / f"table{suffix}"
        size = await _stream_to(request, path)
        if suffix == ".json":
            task = BackgroundTask.start(
                "opening the plan",
                work.open_plan,
                str(path),
                study.looks + 1,
                study.folder,
            )
            await run_in_threadpool(task.wait)
            if task.state != "done":
                raise InputError(task.fault)
            study.add_plan(task.result)
            return PlainTextResponse(_address(study, "plan"))
        study.open_data(DataSource(name=name, data=str(path), size=size))
        return PlainTextResponse(_address(study, "columns"))

    async def _take_dataset(self, request: Request) -> Response:
        """Take one of the datasets."""
        study = self._study(request)
        form = await _form(request)
        name = _text(form, "name")
        known = await run_in_threadpool(datasets_at_hand)
        if name not in known:
            raise InputError(f"there is no dataset {name!r}")
        study.open_data(DataSource(name=known[name], data=name))
        return _to(study, "columns")

    # 2. Columns -----------------------------------------------------------------------

    async def _columns_page(self, request: Request) -> Response:
        """Show what the columns are, and what will be done with each."""
        study = self._study(request)
        if study.source is None:
            return _to(study, "data")
        if not study.columns and "columns" not in study.tasks:
            self._start_check(study)
        show = request.query_params.get("show", "all")
        rows = [
            (index, column)
            for index, column in enumerate(study.columns)
            if show == "all" or study.roles[column["name"]] == show
        ]
        start = _page_start(request, len(rows))
        return _page(
            study,
            "columns",
            rows=rows[start : start + PAGE_ROWS],
            start=start,
            count=len(rows),
            page_rows=PAGE_ROWS,
            show=show,
            bins={name: _shown_bins(rule) for name, rule in study.bins.items()},
            roles=ROLES,
        )

    def _start_check(self, study: Study) -> None:
        """Check the columns with what is decided about reading them."""
        reading = {
            name: value
            for name, value in (
                ("bins", study.bins),
                ("missing_markers", study.missing),
            )
            if value
        }
        study.tasks["columns"] = BackgroundTask.start(
            "reading the table", work.check_columns, study.data, reading
        )

    async def _take_role(self, request: Request) -> Response:
        """Take what is done with a column."""
        study = self._study(request)
        form = await _form(request)
        column = _column_of(study, form)
        role = _text(form, "role")
        if role not in ROLES:
            raise InputError(f"there is no such choice: {role!r}")
        name = column["name"]
        if role == "person":
            for other in study.names("person"):
                study.roles[other] = "never"
        study.roles[name] = role
        study.forget_results()
        return _part("app/columns_summary.html", study=study)

    async def _take_detail(self, request: Request) -> Response:
        """Take how a column's numbers are cut, and what means missing."""
        study = self._study(request)
        form = await _form(request)
        name = _column_of(study, form)["name"]
        bins = _text(form, "bins").strip()
        missing = _text(form, "missing").split(",")
        markers = tuple(text.strip() for text in missing if text.strip())
        study.bins.pop(name, None)
        study.missing.pop(name, None)
        if bins:
            study.bins[name] = bin_rule(bins)
        if markers:
            study.missing[name] = markers
        study.forget_results()
        study.tasks.pop("columns", None)
        study.columns = []
        return _to(study, "columns")

    # 3. What leaks --------------------------------------------------------------------

    async def _leaks_page(self, request: Request) -> Response:
        """Show what each question gives away."""
        study = self._study(request)
        if not study.columns:
            return _to(study, "columns")
        if study.analysis is None and "leaks" not in study.tasks:
            study.tasks["leaks"] = BackgroundTask.start(
                "computing what each answer gives away",
                work.analyse_table,
                study.data,
                study.reading,
                study.folder,
            )
        return _page(
            study,
            "leaks",
            odds_stops=LIMIT_ODDS,
            verdict=_verdict(study, study.wish.odds),
            factor=factor,
        )

    async def _verdict_part(self, request: Request) -> Response:
        """Return the verdict at another limit of the slider."""
        study = self._study(request)
        study.wish.odds = _stop_of(request.query_params.get("limit", ""))
        return _part(
            "app/verdict.html",
            study=study,
            verdict=_verdict(study, study.wish.odds),
            factor=factor,
        )

    async def _analysis_file(self, request: Request) -> Response:
        """Show the whole page of the analysis."""
        return _saved_page(self._study(request).folder / "analysis.html")

    # 4. Plan --------------------------------------------------------------------------

    async def _plan_page(self, request: Request) -> Response:
        """Show what the plan is to keep, and the plan."""
        study = self._study(request)
        if not study.columns and not study.plans:
            return _to(study, "columns")
        return _page(study, "plan", **_plan_values(study))

    async def _start_search(self, request: Request) -> Response:
        """Start the search of a plan."""
        study = self._study(request)
        form = await _form(request)
        try:
            study.wish = wish_of(form, study.names("ask"))
            choices = study.design_keywords()
            if study.looks_left < 1:
                raise InputError(
                    f"{LOOKS} plans were tried on this data, as many as the promise "
                    "covers; choose one of them"
                )
        except InputError as problem:
            study.faults["plan"] = str(problem)
            return _to(study, "plan")
        study.faults.pop("plan", None)
        running = study.tasks.get("plan")
        if running is not None:
            running.kill()
        study.looks += 1
        study.tasks["plan"] = BackgroundTask.start(
            "searching for the plan that asks the fewest people",
            work.design_plan,
            study.data,
            choices,
            study.looks,
            study.folder,
        )
        return _to(study, "plan")

    async def _select_plan(self, request: Request) -> Response:
        """Show another of the plans."""
        study = self._study(request)
        form = await _form(request)
        position = _text(form, "plan")
        if not position.isdecimal() or int(position) >= len(study.plans):
            raise InputError("there is no such plan")
        study.selected = int(position)
        return _to(study, "plan")

    # 5. Collect -----------------------------------------------------------------------

    async def _collect_page(self, request: Request) -> Response:
        """Show the questionnaire, and what reports say."""
        study = self._study(request)
        if study.plan is None:
            return _to(study, "plan")
        files = work.plan_files(study.folder, study.plan.number)
        return _page(
            study,
            "collect",
            has_questionnaire=files["questionnaire.html"].exists(),
            has_results=files["results.html"].exists(),
        )

    async def _start_simulation(self, request: Request) -> Response:
        """Simulate the collection with the records of the table."""
        study = self._study(request)
        if study.plan is None:
            return _to(study, "plan")
        study.tasks["collect"] = BackgroundTask.start(
            "drawing the reports of the people in the table",
            work.simulate_collection,
            study.data,
            study.reading,
            study.plan.number,
            study.folder,
        )
        return _to(study, "collect")

    async def _take_reports(self, request: Request) -> Response:
        """Take a file of reports, and show their results."""
        study = self._study(request)
        if study.plan is None:
            raise InputError("there is no plan yet")
        name = _file_name(request)
        suffix = Path(name).suffix.lower()
        if suffix not in REPORT_SUFFIXES:
            kinds = ", ".join(REPORT_SUFFIXES)
            raise InputError(f"a file of reports must end in {kinds}, got {name!r}")
        path = study.folder / f"received{suffix}"
        await _stream_to(request, path)
        study.tasks["collect"] = BackgroundTask.start(
            "estimating from the reports",
            work.show_results,
            str(path),
            study.plan.number,
            study.folder,
        )
        return PlainTextResponse(_address(study, "collect"))

    # Tasks and files ------------------------------------------------------------------

    async def _task_part(self, request: Request) -> Response:
        """Return the state of a task; the page loads again when it has ended."""
        study = self._study(request)
        step = request.path_params["step"]
        task = study.tasks.get(step)
        if task is None or task.state != "running":
            take_result(study, step)
            return Response(headers={"HX-Refresh": "true"})
        return _part("app/task.html", study=study, step=step, task=task)

    async def _stop_task(self, request: Request) -> Response:
        """Stop a task; a search keeps the best that it has."""
        study = self._study(request)
        step = request.path_params["step"]
        task = study.tasks.get(step)
        if task is not None:
            task.stop()
        return _to(study, step)

    async def _plan_file(self, request: Request) -> Response:
        """Give a file of a plan, or all of them as one zip."""
        study = self._study(request)
        number = request.path_params["number"]
        name = request.path_params["name"]
        plans = {plan.number: plan for plan in study.plans}
        if number not in plans:
            raise HTTPException(404, "there is no such plan")
        if name == "plan.zip":
            content = await run_in_threadpool(partial(zipped, study, plans[number]))
            return _download(content, "plan.zip", "application/zip")
        path = work.plan_files(study.folder, number).get(name)
        if path is None or not path.exists():
            raise HTTPException(404, "there is no such file")
        if name == "preview.html":
            return _saved_page(path, PREVIEW_POLICY)
        if name in SHOWN_PAGES and "download" not in request.query_params:
            return _saved_page(path)
        return FileResponse(path, filename=name)


def take_result(study: Study, step: str) -> None:
    """Take the result of a task that has ended."""
    task = study.tasks.get(step)
    if task is None or task.state == "running":
        return
    del study.tasks[step]
    if task.state != "done":
        study.faults[step] = task.fault
        return
    study.faults.pop(step, None)
    if step == "columns":
        study.take_check(task.result)
    elif step == "leaks":
        study.analysis = task.result
    elif step == "plan":
        study.add_plan(task.result)
    elif step == "collect":
        study.results = f"{task.result:,}"


def zipped(study: Study, plan: work.PlanSummary) -> bytes:
    """Return the files of a plan as one zip: plan, page, questionnaire, evidence, and
    how it was made.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in work.plan_files(study.folder, plan.number).items():
            if path.exists() and name not in NOT_GIVEN:
                archive.write(path, name)
        evidence = study.folder / f"evidence-{plan.number}"
        for path in sorted(evidence.iterdir()):
            archive.write(path, f"evidence/{path.name}")
        if plan.keywords and study.source is not None:
            name = study.source.name
            archive.writestr(
                "command.txt", equivalent_command(name, plan.keywords) + "\n"
            )
            archive.writestr("design.py", equivalent_python(name, plan.keywords) + "\n")
    return buffer.getvalue()


def wish_of(form: Mapping[str, str], names: list[str]) -> PlanWish:
    """Return what a plan is to keep and to reach, from the form of the fourth step."""
    goal = _text(form, "goal")
    if goal not in ("precision", "people"):
        raise InputError("choose a precision, or a number of people")
    largest = _text(form, "largest").strip()
    return PlanWish(
        odds=_stop_of(_text(form, "limit")),
        goal="precision" if goal == "precision" else "people",
        amount=_amount(_text(form, "amount"), goal),
        largest=None if not largest else _count(largest, "questions each"),
        never=pairs_never(_text(form, "never"), names),
        title=_text(form, "title").strip(),
    )


def _amount(text: str, goal: str) -> float:
    """Return the precision in points, or the number of people."""
    if goal == "people":
        return _count(text, "people")
    try:
        points = float(text.replace(",", "."))
    except ValueError:
        points = 0.0
    if not 0.05 <= points <= 50:
        raise InputError(
            f"the precision must be from 0.05 to 50 percentage points, got {text!r}"
        )
    return points


def _count(text: str, what: str) -> int:
    """Return an integer of at least 1."""
    plain = text.replace(",", "").replace(" ", "")
    if not (plain.isascii() and plain.isdigit()) or not 1 <= int(plain) <= 2**40:
        raise InputError(
            f"the number of {what} must be an integer of at least 1, got {text!r}"
        )
    return int(plain)


def _stop_of(text: str) -> float:
    """Return the odds at a stop of the slider."""
    if not text.isdecimal() or int(text) >= len(LIMIT_ODDS):
        raise InputError(f"there is no such limit: {text!r}")
    return LIMIT_ODDS[int(text)]


def _plan_values(study: Study) -> dict[str, Any]:
    """Return what the page of the fourth step shows."""
    plan = study.plan
    values: dict[str, Any] = {
        "odds_stops": LIMIT_ODDS,
        "plan": plan,
        "looks": LOOKS,
        "command": "",
        "python": "",
    }
    if plan is not None and plan.keywords and study.source is not None:
        values["command"] = equivalent_command(study.source.name, plan.keywords)
        values["python"] = equivalent_python(study.source.name, plan.keywords)
    return values


def _verdict(study: Study, odds: float) -> dict[str, Any] | None:
    """Return how many questions give away more than a limit, and each as a bar."""
    if study.analysis is None:
        return None
    limit = limit_of_odds(odds)
    judgements = study.analysis["judgements"]
    longest = max([limit, *(row["lower"] for row in judgements)]) * 1.08
    rows = []
    for row in judgements:
        state = "open"
        if row["upper"] <= limit:
            state = "within"
        elif row["lower"] > limit:
            state = "over"
        rows.append(
            {
                **row,
                "state": state,
                "width": round(100 * min(row["lower"], longest) / longest, 2),
            }
        )
    return {
        "rows": rows,
        "over": sum(row["state"] == "over" for row in rows),
        "open": sum(row["state"] == "open" for row in rows),
        "limit": round(100 * limit / longest, 2),
        "odds": f"{odds:g}",
        "leaks": study.analysis["leaks"],
    }


def datasets_at_hand() -> dict[str, str]:
    """Return the titles of the datasets whose records can be read here, by name."""
    from seepage.datasets.catalogue import DATASETS

    at_hand = {name: d.title for name, d in DATASETS.items() if d.at_hand}
    survey = {name: title for name, title in at_hand.items() if name == "survey"}
    return survey | at_hand


def _shown_bins(rule: str | list[float]) -> str:
    """Return how a column's numbers are cut, as it is entered."""
    if isinstance(rule, str):
        return rule
    return ", ".join(f"{edge:.15g}" for edge in rule)


# Requests and answers -----------------------------------------------------------------


def _address(study: Study, step: str) -> str:
    """Return the address of a step."""
    return f"/s/{study.identifier}/{step}"


def _to(study: Study, step: str) -> Response:
    """Send the browser to a step."""
    return RedirectResponse(_address(study, step), status_code=303)


def _page(study: Study, step: str, **values: Any) -> Response:
    """Return the page of a step."""
    take_result(study, step)
    base = f"/s/{study.identifier}"
    text = render_text(
        f"app/{step}.html",
        study=study,
        base=base,
        step=step,
        steps=STEPS,
        told=_told(study),
        task=study.tasks.get(step),
        fault=study.faults.get(step, ""),
        **values,
    )
    return HTMLResponse(text)


def _part(template: str, study: Study, **values: Any) -> Response:
    """Return a part of a page."""
    base = f"/s/{study.identifier}"
    return HTMLResponse(render_text(template, study=study, base=base, **values))


def _told(study: Study) -> Mapping[str, str]:
    """Return what each step found, in few words."""
    told = {}
    if study.source is not None:
        told["data"] = study.source.name
    if study.columns:
        told["columns"] = f"{len(study.names('ask')):,} asked"
    verdict = _verdict(study, study.wish.odds)
    if verdict is not None:
        told["leaks"] = f"{verdict['over']} over the limit"
    if study.plan is not None:
        told["plan"] = f"{study.plan.people_needed} people"
    if study.results:
        told["collect"] = f"{study.results} reports"
    return told


async def _form(request: Request) -> dict[str, str]:
    """Return the texts of a form."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise InputError("a form must have at most 1 MB")
    fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    return dict(fields)


def _text(form: Mapping[str, str], name: str) -> str:
    """Return a text of a form; empty if there is none."""
    return form.get(name, "").replace("\r\n", "\n")


def _column_of(study: Study, form: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the column that a form is about, by its position in the table."""
    position = _text(form, "column")
    if not position.isdecimal() or int(position) >= len(study.columns):
        raise InputError("there is no such column")
    return study.columns[int(position)]


def _page_start(request: Request, count: int) -> int:
    """Return the first row of a page of a long list."""
    text = request.query_params.get("start", "0")
    start = int(text) if text.isdecimal() and len(text) < 8 else 0
    return start if start < count else 0


def _file_name(request: Request) -> str:
    """Return the name that a file has in the browser: shown, and never opened."""
    name = request.query_params.get("name", "")
    name = name.replace("\\", "/").rpartition("/")[2]
    if not name or len(name) > 255 or not name.isprintable():
        raise InputError("a file must have a name of at most 255 printable characters")
    return name


async def _stream_to(request: Request, path: Path) -> int:
    """Write the raw body of a request to a file; return its size."""
    part = path.with_name(f"{path.name}.part")
    size = 0
    try:
        with part.open("wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > MAX_BYTES:
                    raise InputError(
                        "a file must have at most 2 GB; name a larger one where you "
                        "start the app"
                    )
                await run_in_threadpool(file.write, chunk)
        if not size:
            raise InputError("the file is empty")
        part.replace(path)
    except ClientDisconnect:
        raise InputError("the file did not arrive whole") from None
    except OSError as problem:
        raise InputError(f"the file could not be kept: {problem.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return size


def _saved_page(path: Path, policy: str = SAVED_PAGE_POLICY) -> Response:
    """Return a saved page, by default without an origin of its own."""
    if not path.exists():
        raise HTTPException(404, "there is no such page yet")
    headers = {"Content-Security-Policy": policy}
    return FileResponse(path, media_type="text/html", headers=headers)


def _download(content: bytes, name: str, kind: str) -> Response:
    """Return bytes as a file to keep."""
    disposition = f'attachment; filename="{name}"'
    return Response(
        content, media_type=kind, headers={"Content-Disposition": disposition}
    )


async def _fault_page(_: Request, problem: Exception) -> Response:
    """Return what was wrong with an entry, in one line."""
    return PlainTextResponse(str(problem), status_code=422)


async def _http_fault(_: Request, problem: Exception) -> Response:
    """Return why a request was not answered, in one line."""
    if not isinstance(problem, HTTPException):
        raise problem
    return PlainTextResponse(problem.detail, status_code=problem.status_code)
