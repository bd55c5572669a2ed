"""The work of the fourth step: search a plan, open one, and write its files."""

import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import seepage as sp
from seepage._core.progress import Progress
from seepage._core.text import points, rounded_people
from seepage.app.plan_files import evidence_folder, plan_file
from seepage.app.summaries import PlanSummary
from seepage.pages.plan_view import (
    choices_of,
    decision_of,
    mosaic_of,
    odds_of,
    people_bars,
)
from seepage.pages.questionnaire import questionnaire_page
from seepage.plan.plan_precision import plan_precision


def design_plan(
    data: str,
    keywords: Mapping[str, Any],
    number: int,
    folder: Path,
    *,
    progress: Progress,
) -> PlanSummary:
    """Search a plan, and write its file, its page, its questionnaire and its evidence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SeepageWarning)
        plan = sp.design(data, progress=progress, **keywords)
    return write_plan(plan, number, folder, keywords)


def open_plan(
    path: str, number: int, folder: Path, *, progress: Progress
) -> PlanSummary:
    """Open a saved plan."""
    progress(0, 1)
    return write_plan(sp.Plan.load(path), number, folder, {})


def write_plan(
    plan: sp.Plan, number: int, folder: Path, keywords: Mapping[str, Any]
) -> PlanSummary:
    """Write the files of a plan, and return what is shown of it."""
    plan.save(plan_file(folder, number, "plan.json"))
    plan.report(plan_file(folder, number, "plan.html"))
    remarks = [str(note) for note in plan.notes]
    if _is_drawable(plan):
        remarks += _write_questionnaires(plan, number, folder)
    plan.evidence(evidence_folder(folder, number), force=True)
    precision = plan_precision(plan)
    promised = [planned for planned in plan.attributes if not planned.public]
    limits = [p.limit for p in promised if p.limit is not None]
    return PlanSummary(
        number=number,
        digest=plan.digest,
        decision=decision_of(plan, precision),
        choices=choices_of(plan, precision),
        odds=odds_of(max(limits, default=max(p.total for p in promised))),
        record=odds_of(max(form.record for form in plan.forms)),
        mosaic=mosaic_of(plan),
        people=people_bars(precision),
        people_needed=rounded_people(precision.people),
        precision=_width_in_words(precision.half_width),
        questions=len(plan.collected),
        groups=len(plan.forms),
        notes=tuple(remarks),
        keywords=dict(keywords),
    )


def _width_in_words(half_width: float) -> str:
    """Return a half-width in points."""
    if not math.isfinite(half_width):
        return "not known"
    return f"± {points(half_width).removesuffix('.0')} points"


def _write_questionnaires(plan: sp.Plan, number: int, folder: Path) -> list[str]:
    """Write the questionnaire, and the one to try; return what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sp.SeepageWarning)
        plan.write_questionnaire(plan_file(folder, number, "questionnaire.html"))
    preview = questionnaire_page(plan, preview=True)
    plan_file(folder, number, "preview.html").write_text(preview, encoding="utf-8")
    return [str(warning.message) for warning in caught]


def _is_drawable(plan: sp.Plan) -> bool:
    """Return whether clients can draw the reports of a plan."""
    try:
        return bool(plan.wire)
    except sp.InputError:
        return False
