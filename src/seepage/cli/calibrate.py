"""`seepage calibrate`: the largest budgets within limits."""

from pathlib import Path
from typing import Any

import click

from seepage.cli import options, plan_options, reading
from seepage.cli.file_command import FileCommand
from seepage.cli.keywords import explicit_keywords, reject
from seepage.cli.number_types import NUMBER_TYPE

CALIBRATE_KEYWORDS = (
    *plan_options.LIMITS_KEYWORDS,
    "mechanism",
    "guarantee",
    "audit",
    "scope",
    "delta",
    "uncertainty",
    *options.TOTALS_KEYWORDS,
    *options.DATA_KEYWORDS,
)
"""Keywords of `seepage.calibrate` that are options of the command."""


CALIBRATE_HEADINGS = {
    "What is asked": ("mechanism", "delta", "public", "left_out", "keep"),
    "What is promised": (
        "limit",
        "limit_of",
        "guarantee",
        "scope",
        "uncertainty",
        "confidence",
        "audit",
        "target_delta",
        "reports",
    ),
    "The search": ("rng", "sample"),
    options.READING_HEADING: options.READING_NAMES,
    options.OUTPUT_HEADING: options.OUTPUT_NAMES,
}
"""Parameters by the heading under which the help shows them."""


@click.command("calibrate", cls=FileCommand, headings=CALIBRATE_HEADINGS)
@click.argument("data")
@plan_options.LIMITS
@click.option(
    "-m",
    "--mechanism",
    help="A mechanism; by default any, and the one of least variance is planned.",
)
@click.option(
    "--guarantee",
    default="auto",
    help="Guarantee of the totals: worst, exact, merged, sampled, independent, sum, or "
    "auto.",
)
@click.option(
    "--audit/--no-audit",
    default=True,
    help="Search for a witness against a guarantee that is an assumption; needs "
    "records.",
)
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    help="For whom totals hold: the population that the records are a random sample of "
    "(the default for records and auto, exact or merged), or the people in the table.",
)
@click.option(
    "--delta",
    type=NUMBER_TYPE,
    default=0.0,
    help="Delta of (epsilon, delta)-LDP; totals then have one too.",
)
@options.UNCERTAINTY
@options.TOTALS
@options.DATA
@options.chart("the plan")
@plan_options.PLAN_RESULT
def calibrate(data: str, guarantee: str, **_: Any) -> None:
    """Find the largest budgets that keep every attribute's total within a limit.

    \b
    Examples:
      seepage calibrate survey.csv --limit 7.4x -o plan.json
      seepage calibrate survey.csv --limit 7.4x --mechanism grr
    """
    from seepage.workflow.within_limits import calibrate as calibrate_data

    if guarantee not in ("sampled", "auto"):
        reject(["reports", "target_delta"], "it is of --guarantee sampled")
    keywords = explicit_keywords(CALIBRATE_KEYWORDS)
    plan_options.check_limit(keywords.get("limit"))
    with reading.reading_progress(data, "searching") as progress:
        plan = calibrate_data(data, progress=progress, **keywords)
    reading.print_reading_notes(data, plan.domain)
    from seepage.cli.plan_text import calibration_text

    plan_options.write_plan(plan, data, lambda: calibration_text(plan, Path(data).name))
