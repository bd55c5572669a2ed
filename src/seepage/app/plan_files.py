"""The files of a plan in the folder of a study, and all of them as one zip."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

RESULTS_PAGE = "results.html"
"""The page of the results of reports that were received."""

SIMULATED_PAGE = "simulated.html"
"""The page of the results of reports that were drawn for the records of the table."""

PLAN_FILES: Mapping[str, str] = MappingProxyType(
    {
        "plan.json": "The plan",
        "plan.html": "Page to sign",
        "questionnaire.html": "Questionnaire",
        "evidence.html": "Evidence",
        RESULTS_PAGE: "Results",
        SIMULATED_PAGE: "Simulated results",
    }
)
"""Files that are given one by one, and what they are."""

START_PLAN = "start.json"
"""The plan from which the search of another one started."""

MERGED_ANSWERS = "merged.csv"
"""The codebook of the answers that were merged by hand."""

EVIDENCE = "evidence"
"""Name of the folder of evidence in the zip."""

EVIDENCE_PAGE = "evidence.html"
"""The page for reviewers, in the folder of evidence."""


def plan_file(folder: Path, number: int, name: str) -> Path:
    """Return the path of a file of a plan."""
    if name == EVIDENCE_PAGE:
        return evidence_folder(folder, number) / name
    stem, _, suffix = name.rpartition(".")
    return folder / f"{stem}-{number}.{suffix}"


def evidence_folder(folder: Path, number: int) -> Path:
    """Return the folder of a plan's evidence."""
    return folder / f"{EVIDENCE}-{number}"


def zip_of_plan(folder: Path, number: int, texts: Mapping[str, str]) -> bytes:
    """Return all files of a plan as one zip.

    Parameters
    ----------
    folder
        The folder of the study.
    number
        The number of the plan.
    texts
        Further files by name: how the plan was made.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (*PLAN_FILES, START_PLAN, MERGED_ANSWERS):
            path = plan_file(folder, number, name)
            if path.exists() and name != EVIDENCE_PAGE:
                archive.write(path, name)
        for path in sorted(evidence_folder(folder, number).iterdir()):
            archive.write(path, f"{EVIDENCE}/{path.name}")
        for name, text in texts.items():
            archive.writestr(name, text)
    return buffer.getvalue()
