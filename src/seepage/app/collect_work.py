"""The work of the fifth step: reports to results, simulated or received."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import seepage as sp
from seepage._core.progress import Progress
from seepage.app.plan_files import RESULTS_PAGE, SIMULATED_PAGE, plan_file
from seepage.app.question_texts import labels_of
from seepage.app.summaries import CollectedReports
from seepage.workflow.plan import Plan

PERTURBING = ("delimiter", "column_names", "encoding", "missing_markers", "person")
"""Keywords of reading the table that perturbing takes too; the plan has the others."""

SEED_DIGITS = 12
"""Digits of a plan's digest that are the seed of its simulation."""


def simulate_collection(
    data: str,
    reading: Mapping[str, Any],
    number: int,
    folder: Path,
    *,
    progress: Progress,
) -> CollectedReports:
    """Perturb the records of the table as if its people answered; write the results."""
    plan = sp.Plan.load(plan_file(folder, number, "plan.json"))
    perturbing = {name: reading[name] for name in PERTURBING if name in reading}
    reports = plan.perturb(data, rng=seed_of(plan), progress=progress, **perturbing)
    path = plan_file(folder, number, "reports.parquet")
    pq.write_table(reports, path)
    page = plan_file(folder, number, SIMULATED_PAGE)
    name = "A simulated collection"
    sp.write_results(plan, path, page, name=name, labels=labels_of(plan, folder))
    return CollectedReports(number, int(reports.num_rows), is_simulated=True)


def seed_of(plan: Plan) -> int:
    """Return the seed that simulates the collection of a plan: the same for the same
    plan, and none that a table is drawn with.
    """
    return int(plan.digest[:SEED_DIGITS], 16)


def show_results(
    reports: str, number: int, folder: Path, *, progress: Progress
) -> CollectedReports:
    """Write the results page of reports that were collected."""
    progress(0, 2)
    plan = sp.Plan.load(plan_file(folder, number, "plan.json"))
    page = plan_file(folder, number, RESULTS_PAGE)
    labels = labels_of(plan, folder)
    frequencies = sp.write_results(plan, reports, page, labels=labels)
    progress(1, 2)
    return CollectedReports(number, int(frequencies.records), is_simulated=False)
