"""What was downloaded from the app before, and is opened again: a plan, a codebook, or
all of it as a zip.

A zip is read in a child process; only files with the names that the app gives are read
from it, each up to a size, and none is unpacked under a name from the zip.
"""

import csv
import zipfile
from pathlib import Path
from typing import NamedTuple

import seepage as sp
from seepage._core.errors import InputError
from seepage._core.progress import Progress
from seepage.app.plan_work import write_plan
from seepage.app.summaries import PlanSummary
from seepage.tables.codebooks import (
    REQUIRED_COLUMNS,
    CodebookRow,
    read_codebook_rows,
)

MAX_FILE_BYTES = 64 << 20
"""Maximum size of a file in a zip."""

MAX_HEADER_BYTES = 4096
"""Bytes from which a codebook is told from a table."""


class EarlierFiles(NamedTuple):
    """A plan and a codebook that were opened; None for what there was not."""

    plan: PlanSummary | None
    codebook: list[CodebookRow] | None


def is_codebook(path: Path) -> bool:
    """Return whether an earlier CSV file is a codebook: by the columns of its
    header.
    """
    with path.open("rb") as file:
        start = file.read(MAX_HEADER_BYTES).decode("utf-8-sig", "replace")
    first_line = start.partition("\n")[0]
    header = next(csv.reader([first_line]), [])
    names = {name.strip().lower() for name in header}
    if not names >= set(REQUIRED_COLUMNS):
        return False
    return not names.isdisjoint(("role", "order", "question", "label"))


def open_codebook(path: str, *, progress: Progress) -> EarlierFiles:
    """Open an earlier file that is a codebook."""
    progress(0, 1)
    return EarlierFiles(None, read_codebook_rows(path))


def open_plan(
    path: str, number: int, folder: Path, *, progress: Progress
) -> EarlierFiles:
    """Open an earlier file that is a saved plan."""
    progress(0, 1)
    return EarlierFiles(write_plan(sp.Plan.load(path), number, folder, {}), None)


def open_zip(
    path: str, number: int, folder: Path, *, progress: Progress
) -> EarlierFiles:
    """Open an earlier file that was downloaded as a zip."""
    progress(0, 2)
    codebook = None
    try:
        with zipfile.ZipFile(path) as archive:
            plan_text = _content(archive, "plan.json")
            codebook_text = _content(archive, "codebook.csv")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
        raise InputError(f"the zip cannot be read: {problem}") from None
    if plan_text is None:
        raise InputError("the zip must have a file plan.json, as the app gives it")
    file = folder / "opened-plan.json"
    file.write_bytes(plan_text)
    plan = write_plan(sp.Plan.load(file), number, folder, {})
    progress(1, 2)
    if codebook_text is not None:
        file = folder / "opened-codebook.csv"
        file.write_bytes(codebook_text)
        codebook = read_codebook_rows(file)
    return EarlierFiles(plan, codebook)


def _content(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return a file of an earlier zip; None if there is none of the name."""
    if name not in archive.namelist():
        return None
    with archive.open(name) as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"{name} in the zip must have at most 64 MB")
    return content
