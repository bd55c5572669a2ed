"""The state of long work, and how it is stopped."""

from starlette.requests import Request
from starlette.responses import Response

from seepage.app.step_pages import STEPS, page_part, redirect_to
from seepage.app.study import Study
from seepage.app.study_routes import StudyRoute


async def show_task(study: Study, request: Request) -> Response:
    """Return the state of a task; the page loads again when it has ended."""
    step = request.path_params["step"]
    task = study.tasks.get(step)
    if task is None or task.state != "running":
        study.take_results()
        return Response(headers={"HX-Refresh": "true"})
    return page_part("app/task.html", study, step=step, task=task)


async def stop_task(study: Study, request: Request) -> Response:
    """Stop a task; a search keeps the best that it has."""
    step = request.path_params["step"]
    task = study.tasks.get(step)
    if task is not None:
        task.stop()
    if step not in STEPS:
        step = "data"
    return redirect_to(study, step)


TASK_ROUTES = (
    StudyRoute("task/{step}", show_task),
    StudyRoute("task/{step}/stop", stop_task, "POST"),
)
"""Addresses of long work."""
