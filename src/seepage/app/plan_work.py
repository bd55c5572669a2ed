"""The work of the fourth step: search a plan, estimate one, and write its files."""

import math
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import seepage as sp
from seepage._core.progress import Progress
from seepage._core.text import rounded_people, whole_points
from seepage.app.codebook_choices import merged_rows
from seepage.app.explored_part import asked_answers, read_explored, write_explored
from seepage.app.plan_files import (
    MERGED_ANSWERS,
    START_PLAN,
    evidence_folder,
    plan_file,
)
from seepage.app.question_texts import write_questionnaires
from seepage.app.summaries import PlanEstimate, PlanSummary
from seepage.designs.changes import NO_CHANGE, Change, ChangeKind
from seepage.pages.mosaic import mosaic_of
from seepage.pages.plan_view import (
    Odds,
    choices_of,
    decision_view,
    odds_of,
    people_bars,
)
from seepage.plan.left_out import left_out_sentence
from seepage.plan.plan_precision import plan_precision
from seepage.tables.codebooks import write_codebook
from seepage.workflow.plan import Plan

ESTIMATE_EFFORT = 0.2
"""Work of an estimate, as a share of that of a search."""

SHOWN_CHANGES = 3
"""Number of changes of each kind that are shown."""


def design_plan(
    data: str,
    keywords: Mapping[str, Any],
    start: int | None,
    number: int,
    folder: Path,
    *,
    progress: Progress,
) -> PlanSummary:
    """Work out a plan: search it, and write its file, its page, its questionnaire and
    its evidence.

    Parameters
    ----------
    data
        The table.
    keywords
        The keywords of `seepage.design`.
    start
        The number of the plan to start from; None for none.
    number
        The number of the plan.
    folder
        The folder of the study.
    progress
        Called with the work done, and with the best so far in words.
    """
    repeating = dict(keywords)
    merges = repeating.pop("merges", {})
    wish = dict(repeating)
    if merges:
        wish["codebook"] = plan_file(folder, number, MERGED_ANSWERS)
        repeating["codebook"] = MERGED_ANSWERS
        write_codebook(wish["codebook"], merged_rows(merges))
    if start is not None:
        wish["start"] = plan_file(folder, number, START_PLAN)
        repeating["start"] = START_PLAN
        shutil.copyfile(plan_file(folder, start, "plan.json"), wish["start"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SeepageWarning)
        plan = sp.design(data, progress=progress, **wish)
    searched = plan.provenance.settings.get("design", {})
    if searched.get("ended") == "interrupted":
        repeating["rounds"] = searched["rounds"]
    return write_plan(plan, number, folder, repeating)


def estimate_plan(
    data: str,
    used: Sequence[str],
    reading: Mapping[str, Any],
    wish: Mapping[str, Any],
    folder: Path,
    *,
    progress: Progress,
) -> PlanEstimate:
    """Work out a plan of the explored part alone: about what a certified plan will
    need.

    Parameters
    ----------
    data, used, reading
        The table, the columns that the promise is about, and how they are read.
    wish
        The keywords of `seepage.design` beside those of reading.
    folder
        The folder of the study.
    progress
        Called with the work done.
    """
    fixed = asked_answers(data, used, {**reading, "keep": tuple(used)})
    part = read_explored(data, fixed.domain.names, reading)
    path = write_explored(part, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SeepageWarning)
        plan = sp.design(
            path,
            scope="table",
            domain=fixed.domain,
            effort=ESTIMATE_EFFORT,
            progress=progress,
            **wish,
        )
    decision = decision_view(plan, plan_precision(plan))
    return PlanEstimate(
        order=decision.order,
        precision=decision.precision,
        odds=_promised_odds(plan).times,
        people=part.table.num_rows,
    )


def write_plan(
    plan: Plan, number: int, folder: Path, keywords: Mapping[str, Any]
) -> PlanSummary:
    """Write the files of a plan that was worked out, and return what is shown of it."""
    plan.save(plan_file(folder, number, "plan.json"))
    plan.report(plan_file(folder, number, "plan.html"))
    if _is_drawable(plan):
        write_questionnaires(plan, number, folder)
    plan.evidence(evidence_folder(folder, number), force=True)
    precision = plan_precision(plan)
    return PlanSummary(
        number=number,
        digest=plan.digest,
        decision=decision_view(plan, precision),
        choices=choices_of(plan, precision),
        odds=_promised_odds(plan),
        record=odds_of(max(form.record for form in plan.forms)),
        mosaic=mosaic_of(plan),
        people=people_bars(precision),
        size=precision.people,
        people_needed=rounded_people(precision.people),
        precision=_width_in_words(precision.half_width),
        asked=tuple(plan.collected.names),
        questions=len(plan.collected),
        groups=len(plan.forms),
        changes=shown_changes(plan.changes),
        left_out=left_out_sentence(plan),
        notes=tuple(str(note) for note in plan.notes),
        keywords=dict(keywords),
    )


def _promised_odds(plan: Plan) -> Odds:
    """Return what the plan worked out promises about each question: the largest limit,
    or total without one.
    """
    promised = [planned for planned in plan.attributes if not planned.public]
    limits = [p.limit for p in promised if p.limit is not None]
    return odds_of(max(limits, default=max(p.total for p in promised)))


def shown_changes(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes shown with a plan worked out: of each kind those that need the
    fewest people, of questions that are dropped those that save some.

    Examples
    --------
    >>> free = Change(kind="drop", attributes=("ill",), people=1.0)
    >>> cheap = Change(kind="drop", attributes=("sex",), people=0.8)
    >>> changes = [free, Change(kind="drop", attributes=("age",), people=0.9), cheap]
    >>> [change.attributes for change in shown_changes(changes)]
    [('sex',), ('age',)]
    """
    shown = list[Change]()
    for kind in get_args(ChangeKind):
        of_kind = [change for change in changes if change.kind == kind]
        if kind == "drop":  # asking for less, for nothing in return
            of_kind = [c for c in of_kind if c.people <= 1 - NO_CHANGE]
        of_kind.sort(key=lambda change: change.people)
        shown += of_kind[:SHOWN_CHANGES]
    return tuple(shown)


def _width_in_words(half_width: float) -> str:
    """Return the precision of a plan worked out, a half-width in points."""
    if not math.isfinite(half_width):
        return "not known"
    return f"± {whole_points(half_width)} points"


def _is_drawable(plan: Plan) -> bool:
    """Return whether clients can draw the reports of a plan worked out, so that it has
    a questionnaire.
    """
    try:
        return bool(plan.wire)
    except sp.InputError:
        return False
