"""The app: five steps from a file to a signed plan, as pages and parts of pages.

Each step is an address below `/s/<study>/`, in a module of its own.  Entries are forms;
long work is a task that the page asks about.  Templates are in `pages/templates/app/`.
"""

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from seepage._core.errors import SeepageError
from seepage.app.collect_step import COLLECT_ROUTES
from seepage.app.columns_step import COLUMNS_ROUTES
from seepage.app.data_step import DATA_ROUTES
from seepage.app.leaks_step import LEAKS_ROUTES
from seepage.app.plan_step import PLAN_ROUTES
from seepage.app.step_pages import redirect_to
from seepage.app.study import DataSource, Study
from seepage.app.study_routes import StudyHandler
from seepage.app.task_routes import TASK_ROUTES
from seepage.pages.render import template_text

ROUTES = (
    *DATA_ROUTES,
    *COLUMNS_ROUTES,
    *LEAKS_ROUTES,
    *PLAN_ROUTES,
    *COLLECT_ROUTES,
    *TASK_ROUTES,
)
"""Addresses below a study."""

SHIPPED = {
    "design.css": ("css/design.css", "text/css"),
    "app.css": ("css/app.css", "text/css"),
    "htmx.min.js": ("js/htmx.min.js", "text/javascript"),
    "app.js": ("js/app.js", "text/javascript"),
}
"""Style sheets and scripts by the name under which they are served."""


class Application:
    """The studies of one run of the app, and the pages that show them.

    Parameters
    ----------
    folder
        The private folder of the run.
    source
        The table that each new study starts with; None for none.
    """

    def __init__(self, folder: Path, source: DataSource | None = None) -> None:
        """Make the application: its routes, and how it answers faults."""
        self._folder = folder
        self._source = source
        self._studies = dict[str, Study]()
        below = [
            Route(
                f"/s/{{study}}/{route.path}",
                partial(self._answer, route.handle),
                methods=[route.method],
            )
            for route in ROUTES
        ]
        self.asgi = Starlette(
            routes=[
                Route("/", self._new_study),
                Route("/static/{name}", _shipped_file),
                *below,
            ],
            exception_handlers={
                SeepageError: _fault_line,
                HTTPException: _http_fault_line,
            },
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """End all work of the studies when the application ends."""
        yield
        for study in self._studies.values():
            study.stop_all()

    async def _answer(self, handle: StudyHandler, request: Request) -> Response:
        """Answer a request to the application for the study that its address names."""
        study = self._studies.get(request.path_params["study"])
        if study is None:
            raise HTTPException(404, "this study has ended: open the app again")
        return await handle(study, request)

    async def _new_study(self, _: Request) -> Response:
        """Start a study of the application in this window."""
        study = Study(self._folder)
        study.folder = self._folder / study.identifier
        study.folder.mkdir(mode=0o700)
        self._studies[study.identifier] = study
        if self._source is None:
            return redirect_to(study, "data")
        study.open_data(self._source)
        return redirect_to(study, "columns")


async def _shipped_file(request: Request) -> Response:
    """Serve a style sheet or a script that the application ships."""
    name = request.path_params["name"]
    if name not in SHIPPED:
        raise HTTPException(404, "there is no such file")
    path, kind = SHIPPED[name]
    return Response(template_text(path), media_type=kind)


async def _fault_line(_: Request, problem: Exception) -> Response:
    """Return as the application's answer what was wrong with an entry, in one line."""
    return PlainTextResponse(str(problem), status_code=422)


async def _http_fault_line(_: Request, problem: Exception) -> Response:
    """Return why the application did not answer a request, in one line."""
    if not isinstance(problem, HTTPException):
        raise problem
    return PlainTextResponse(problem.detail, status_code=problem.status_code)
