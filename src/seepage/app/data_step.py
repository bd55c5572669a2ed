"""The first step: a table, a dataset or a saved plan."""

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from seepage._core.errors import InputError
from seepage.app import plan_work
from seepage.app.form_entries import entry, form_entries
from seepage.app.step_pages import next_address, redirect_to, step_page
from seepage.app.study import DataSource, Study
from seepage.app.study_routes import StudyRoute
from seepage.app.tasks import BackgroundTask
from seepage.app.uploads import receive_file, uploaded_name
from seepage.datasets.catalogue import DATASETS

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".arrow")
"""Endings of the tables that can be dropped."""

PLAN_SUFFIX = ".json"
"""Ending of a saved plan."""

FIRST_DATASET = "survey"
"""The dataset that stands first."""


async def show_data(study: Study, request: Request) -> Response:
    """Show where to drop a table."""
    return step_page(study, "data", datasets=await run_in_threadpool(datasets_at_hand))


async def take_file(study: Study, request: Request) -> Response:
    """Take a table, or a saved plan, as the raw body of a request."""
    name = uploaded_name(request)
    suffix = Path(name).suffix.lower()
    if suffix not in (*TABLE_SUFFIXES, PLAN_SUFFIX):
        kinds = "CSV, TSV, Parquet or Feather"
        raise InputError(f"a table must be a {kinds} file, got {name!r}")
    path = study.folder / f"table{suffix}"
    file = await receive_file(request, path)
    if suffix == PLAN_SUFFIX:
        return await _open_plan(study, path)
    study.open_data(DataSource(name, name, str(path), file.digest))
    return next_address(study, "columns")


async def _open_plan(study: Study, path: Path) -> Response:
    """Open a saved plan, and go to it."""
    task = BackgroundTask.start(
        "opening the plan",
        study.folder,
        plan_work.open_plan,
        str(path),
        study.next_number(),
        study.folder,
    )
    await run_in_threadpool(task.wait)
    if task.fault is not None:
        raise InputError(task.fault.text)
    study.add_plan(task.result)
    return next_address(study, "plan")


async def take_dataset(study: Study, request: Request) -> Response:
    """Take one of the datasets."""
    name = entry(await form_entries(request), "name")
    titles = await run_in_threadpool(datasets_at_hand)
    if name not in titles:
        raise InputError(f"there is no dataset {name!r}")
    study.open_data(dataset_source(name))
    return redirect_to(study, "columns")


def dataset_source(name: str) -> DataSource:
    """Return a dataset as a table of the app; its name is its digest."""
    return DataSource(name, name, name, f"dataset-{name}")


def datasets_at_hand() -> dict[str, str]:
    """Return the titles of the datasets whose records can be read here, by name."""
    at_hand = {name: d.title for name, d in DATASETS.items() if d.at_hand}
    first = {name: title for name, title in at_hand.items() if name == FIRST_DATASET}
    return first | at_hand


DATA_ROUTES = (
    StudyRoute("data", show_data),
    StudyRoute("file", take_file, "PUT"),
    StudyRoute("dataset", take_dataset, "POST"),
)
"""Addresses of the first step."""
