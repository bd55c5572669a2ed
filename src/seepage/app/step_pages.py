"""Answers of the app: the page of a step, a part of it, a saved page, a redirection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)

from seepage.app.access import SAVED_PAGE_POLICY
from seepage.app.study import Study
from seepage.app.summaries import AnalysisSummary
from seepage.pages.render import render_text

STEPS = {
    "data": "Data",
    "columns": "Columns",
    "leaks": "What leaks",
    "plan": "Plan",
    "collect": "Collect",
}
"""The steps and their titles."""


def address_of(study: Study, path: str) -> str:
    """Return the address of a step's page of a study."""
    return f"/s/{study.identifier}/{path}"


def redirect_to(study: Study, step: str) -> Response:
    """Send the browser to a step."""
    return RedirectResponse(address_of(study, step), status_code=303)


def next_address(study: Study, step: str) -> Response:
    """Return the address of a step as the answer to a file that was sent."""
    return PlainTextResponse(address_of(study, step))


def step_page(study: Study, step: str, **values: Any) -> Response:
    """Return the page of a step of the study."""
    study.take_results()
    text = render_text(
        f"app/{step}.html",
        study=study,
        base=f"/s/{study.identifier}",
        step=step,
        steps=STEPS,
        findings=step_findings(study),
        task=study.tasks.get(step),
        fault=study.faults.get(step),
        **values,
    )
    return HTMLResponse(text)


def page_part(
    template: str, study: Study, *, status: int = 200, **values: Any
) -> Response:
    """Return a part of a step's page."""
    base = f"/s/{study.identifier}"
    text = render_text(template, study=study, base=base, **values)
    return HTMLResponse(text, status_code=status)


def is_part_wanted(request: Request) -> bool:
    """Return whether a request is of a part of a step's page, not of a whole one."""
    return request.headers.get("hx-request") == "true"


def step_findings(study: Study) -> Mapping[str, str]:
    """Return what every step's page shows beside each step: what it found, in few
    words.
    """
    findings = dict[str, str]()
    if study.source is not None:
        findings["data"] = study.source.name
    if study.columns:
        findings["columns"] = f"{len(study.names('ask')):,} asked"
    if study.analysis is not None:
        findings["leaks"] = _leaks_found(study.analysis, study.odds)
    if study.plan is not None:
        findings["plan"] = f"{study.plan.people_needed} people"
    if study.results is not None and study.results.plan == study.selected:
        findings["collect"] = study.results.words
    return findings


def _leaks_found(analysis: AnalysisSummary, odds: float) -> str:
    """Return the finding of the leaks step: how many questions give away too much, or
    else of how many it is open.
    """
    over = analysis.number_over(odds)
    open_limits = analysis.number_open(odds)
    if over or not open_limits:
        return f"{over:,} over the limit"
    return f"{open_limits:,} not known"


def saved_page(path: Path, policy: str = SAVED_PAGE_POLICY) -> Response:
    """Return a saved page to a step, by default without an origin of its own."""
    if not path.exists():
        raise HTTPException(404, "there is no such page yet")
    headers = {"Content-Security-Policy": policy}
    return FileResponse(path, media_type="text/html", headers=headers)


def download(content: bytes, name: str, kind: str) -> Response:
    """Return bytes that a step's page gives as a file to keep."""
    disposition = f'attachment; filename="{name}"'
    return Response(
        content, media_type=kind, headers={"Content-Disposition": disposition}
    )
