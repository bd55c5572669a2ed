"""The first step: a table, a dataset or a saved plan."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from seepage._core.errors import InputError
from seepage.app import earlier_files
from seepage.app.earlier_files import EarlierFiles, is_codebook
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

ZIP_SUFFIX = ".zip"
"""Ending of all files of a plan."""

FIRST_DATASET = "survey"
"""The dataset that stands first."""


async def show_data(study: Study, request: Request) -> Response:
    """Show the data step: where to drop a table."""
    return step_page(study, "data", datasets=await run_in_threadpool(datasets_at_hand))


async def take_file(study: Study, request: Request) -> Response:
    """Take a table in the data step, or what was downloaded before, as the raw body of
    a request.
    """
    name = uploaded_name(request)
    suffix = Path(name).suffix.lower()
    if suffix not in (*TABLE_SUFFIXES, PLAN_SUFFIX, ZIP_SUFFIX):
        kinds = "CSV, TSV, Parquet or Feather"
        raise InputError(f"a table must be a {kinds} file, got {name!r}")
    arrived = study.folder / f"arrived-{secrets.token_hex(8)}{suffix}"
    file = await receive_file(request, arrived)
    if suffix == PLAN_SUFFIX:
        return await _open_earlier(study, earlier_files.open_plan, arrived)
    if suffix == ZIP_SUFFIX:
        return await _open_earlier(study, earlier_files.open_zip, arrived)
    if suffix == ".csv" and await run_in_threadpool(is_codebook, arrived):
        return await _open_codebook(study, arrived)
    path = study.folder / f"table{suffix}"
    arrived.replace(path)
    study.open_data(DataSource(name, name, str(path), file.digest))
    return next_address(study, "columns")


async def _open_earlier(study: Study, work: Callable[..., Any], path: Path) -> Response:
    """Open a plan in the data step, or a zip, and go to its plan."""
    opened = await _opened(
        study, work, path=str(path), number=study.next_number(), folder=study.folder
    )
    assert opened.plan is not None
    if opened.codebook is not None:
        study.take_codebook(opened.codebook)
    study.add_plan(opened.plan)
    return next_address(study, "plan")


async def _open_codebook(study: Study, path: Path) -> Response:
    """Take the decisions of a codebook in the data step; without a table they wait for
    one.
    """
    opened = await _opened(study, earlier_files.open_codebook, path=str(path))
    assert opened.codebook is not None
    study.take_codebook(opened.codebook)
    if study.source is None:
        return next_address(study, "data")
    return next_address(study, "columns")


async def _opened(
    study: Study, work: Callable[..., Any], **keywords: Any
) -> EarlierFiles:
    """Return what a child process has opened for the data step."""
    task = BackgroundTask.start("opening what was kept", study.folder, work, **keywords)
    await run_in_threadpool(task.wait)
    if task.fault is not None:
        raise InputError(task.fault.text)
    return cast(EarlierFiles, task.result)


async def take_dataset(study: Study, request: Request) -> Response:
    """Take one of the datasets in the data step."""
    name = entry(await form_entries(request), "name")
    titles = await run_in_threadpool(datasets_at_hand)
    if name not in titles:
        raise InputError(f"there is no dataset {name!r}")
    study.open_data(dataset_source(name))
    return redirect_to(study, "columns")


def dataset_source(name: str) -> DataSource:
    """Return a dataset as the data of a study; its name is its digest."""
    return DataSource(name, name, name, f"dataset-{name}")


def datasets_at_hand() -> dict[str, str]:
    """Return the titles of the datasets that the data step offers, whose records can be
    read here, by name.
    """
    at_hand = {
        name: dataset.title.partition(";")[0]
        for name, dataset in DATASETS.items()
        if dataset.at_hand
    }
    first = {name: title for name, title in at_hand.items() if name == FIRST_DATASET}
    return first | at_hand


DATA_ROUTES = (
    StudyRoute("data", show_data),
    StudyRoute("file", take_file, "PUT"),
    StudyRoute("dataset", take_dataset, "POST"),
)
"""Addresses of the first step."""
