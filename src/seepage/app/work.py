"""The long work of the app, each function run in a child process by a `BackgroundTask`.

Files are written to the folder of the study; what is returned is small and can be shown
without loading anything again.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import seepage as sp
from seepage._core.text import rounded_people
from seepage.app.tasks import Report
from seepage.pages.plan_view import (
    Choice,
    Decision,
    Mosaic,
    Odds,
    PeopleBars,
    choices_of,
    decision_of,
    mosaic_of,
    odds_of,
    people_bars,
)
from seepage.pages.questionnaire import questionnaire_page
from seepage.plan.plan_precision import plan_precision
from seepage.tables.opening import first_records, open_source
from seepage.tables.read import table_of
from seepage.tables.table_options import TableOptions

FIRST_RECORDS = 20_000
"""Records from which the picture of a column is drawn."""

SHOWN_ANSWERS = 5
"""Answers of a column that its picture shows apart; the others are one."""

SHOWN_LEAKS = 5
"""Number of strongest leaks that are shown."""

EPSILON = 1.0
"""Budget of each question in the analysis: the odds change at most 2.7 times."""


@dataclass(frozen=True, kw_only=True)
class PlanSummary:
    """What the app shows of a plan without loading it.

    Attributes
    ----------
    number
        Which plan of the study it is, from 1: part of its files' names.
    digest
        The digest of the plan.
    decision, choices
        The plan in the words of who decides, and when to choose it.
    odds, record
        The promise about each question, and about the whole record, as odds.
    mosaic, people
        The pictures, see `seepage.pages.plan_view`.
    limit
        The limit in nats.
    people_needed
        The number of people to ask.
    questions
        The number of questions that are asked.
    notes
        Remarks of the design.
    keywords
        The keywords of `seepage.design` that give this plan.
    """

    number: int
    digest: str
    decision: Decision
    choices: tuple[Choice, ...]
    odds: Odds
    record: Odds
    mosaic: Mosaic
    people: PeopleBars
    limit: float
    people_needed: str
    questions: int
    notes: tuple[str, ...]
    keywords: Mapping[str, Any]


def check_columns(
    data: str, reading: Mapping[str, Any], *, progress: Report
) -> dict[str, Any]:
    """Return what the columns of a table are, each with the shares of its answers."""
    progress(0, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.DataWarning)  # shown column by column
        found = sp.check(data, **reading)
    progress(1, 2)
    shares = _shares(data)
    columns = [
        {
            **vars(column),
            "shares": shares.get(column.name, ()),
        }
        for column in found
    ]
    progress(2, 2)
    return {"columns": columns, "records": found.records, "whole": found.whole}


def _shares(data: str) -> dict[str, tuple[tuple[str, float], ...]]:
    """Return the commonest answers of each column with their shares, the rest as one."""
    origin, keywords = table_of(data, {})
    source = open_source(origin, TableOptions(**keywords))
    table, _ = first_records(source, list(source.names), FIRST_RECORDS)
    shares = dict[str, tuple[tuple[str, float], ...]]()
    for name in table.column_names:
        column = table[name]
        if not len(column):
            continue
        counts = pc.value_counts(pc.cast(column.combine_chunks(), pa.string()))
        pairs = zip(
            counts.field("values").to_pylist(),
            counts.field("counts").to_pylist(),
            strict=True,
        )
        ordered = sorted(pairs, key=lambda pair: -pair[1])
        shown = [
            ("missing" if value is None else value, count / len(column))
            for value, count in ordered[:SHOWN_ANSWERS]
        ]
        rest = 1 - math.fsum(share for _, share in shown)
        if rest > 1e-9 and len(ordered) > SHOWN_ANSWERS:
            shown.append((f"{len(ordered) - SHOWN_ANSWERS} others", rest))
        shares[name] = tuple(shown)
    return shares


def analyse_table(
    data: str, reading: Mapping[str, Any], folder: Path, *, progress: Report
) -> dict[str, Any]:
    """Analyse a table as if everybody were asked everything; write the full page."""
    origin, keywords = table_of(data, dict(reading))  # the records of a dataset
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SeepageWarning)
        analysis = sp.analyse(
            origin, epsilon=EPSILON, limit=2.0, progress=progress, **keywords
        )
    analysis.report(folder / "analysis.html")
    judgements = [
        {
            "name": judgement.attribute,
            "upper": judgement.proof[0],
            "lower": judgement.lower,
        }
        for judgement in analysis.verdict.judgements
    ]
    leaks = [
        {
            "source": leak.source,
            "target": leak.target,
            "leakage": leak.leakage,
            "sentence": leak.sentence(),
        }
        for leak in analysis.leaks(SHOWN_LEAKS)
    ]
    return {
        "judgements": sorted(judgements, key=lambda judgement: -judgement["lower"]),
        "leaks": leaks,
        "records": analysis.matrix.pairs.records,
    }


def design_plan(
    data: str,
    keywords: Mapping[str, Any],
    number: int,
    folder: Path,
    *,
    progress: Report,
) -> PlanSummary:
    """Search a plan, and write its file, its page, its questionnaire and its evidence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SeepageWarning)
        plan = sp.design(data, progress=progress, **keywords)
    return written_plan(plan, number, folder, keywords)


def open_plan(path: str, number: int, folder: Path, *, progress: Report) -> PlanSummary:
    """Open a saved plan."""
    return written_plan(sp.Plan.load(path), number, folder, {})


def written_plan(
    plan: sp.Plan, number: int, folder: Path, keywords: Mapping[str, Any]
) -> PlanSummary:
    """Write the files of a plan, and return what is shown of it."""
    files = plan_files(folder, number)
    plan.save(files["plan.json"])
    plan.report(files["plan.html"])
    remarks = [str(note) for note in plan.notes]
    if _is_drawable(plan):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", sp.SeepageWarning)
            plan.write_questionnaire(files["questionnaire.html"])
        remarks += [str(warning.message) for warning in caught]
        preview = questionnaire_page(plan, preview=True)
        files["preview.html"].write_text(preview, encoding="utf-8")
    plan.evidence(folder / f"evidence-{number}", force=True)
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
        limit=max(limits, default=math.inf),
        people_needed=rounded_people(precision.people),
        questions=len(plan.collected),
        notes=tuple(remarks),
        keywords=dict(keywords),
    )


def _is_drawable(plan: sp.Plan) -> bool:
    """Return whether clients can draw the reports of a plan."""
    try:
        return bool(plan.wire)
    except sp.InputError:
        return False


def plan_files(folder: Path, number: int) -> dict[str, Path]:
    """Return the paths of a plan's files by the names under which they are given."""
    return {
        name: folder / f"{stem}-{number}{suffix}"
        for name, stem, suffix in (
            ("plan.json", "plan", ".json"),
            ("plan.html", "plan", ".html"),
            ("questionnaire.html", "questionnaire", ".html"),
            ("preview.html", "preview", ".html"),
            ("reports.parquet", "reports", ".parquet"),
            ("results.html", "results", ".html"),
        )
    }


def simulate_collection(
    data: str,
    reading: Mapping[str, Any],
    number: int,
    folder: Path,
    *,
    progress: Report,
) -> int:
    """Perturb the records of the table as if its people answered; write the results."""
    files = plan_files(folder, number)
    plan = sp.Plan.load(files["plan.json"])
    kept = ("delimiter", "column_names", "encoding", "missing_markers", "person")
    reports = plan.perturb(
        data,
        rng=0,
        progress=progress,
        **{name: value for name, value in reading.items() if name in kept},
    )
    pq.write_table(reports, files["reports.parquet"])
    sp.write_results(plan, files["reports.parquet"], files["results.html"])
    return int(reports.num_rows)


def show_results(reports: str, number: int, folder: Path, *, progress: Report) -> int:
    """Write the results page of reports that were received."""
    files = plan_files(folder, number)
    plan = sp.Plan.load(files["plan.json"])
    sp.write_results(plan, reports, files["results.html"])
    return int(plan.estimate(reports).records)
