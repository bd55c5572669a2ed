"""`seepage design`: the forms of least error within limits."""

from pathlib import Path
from typing import Any

import click

from seepage.cli import console, options, parsing, plan_options, reading
from seepage.cli.file_command import FileCommand
from seepage.cli.keywords import explicit_keywords, reject
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE
from seepage.tables.table_options import ANSWERS

DESIGN_KEYWORDS = (
    *plan_options.LIMITS_KEYWORDS,
    "known",
    "importance",
    "objective",
    "people",
    "precision",
    "title",
    "record_limit",
    "never",
    "want",
    "largest",
    "scope",
    "answers",
    "order",
    "codebook",
    "shape",
    "effort",
    "start",
    "rounds",
    "seconds",
    "confidence",
    "looks",
    "rng",
    *options.DATA_KEYWORDS,
)
"""Keywords of `seepage.design` that are options of the command."""


DESIGN_HEADINGS = {
    "What is asked": (
        "want",
        "importance",
        "objective",
        "people",
        "precision",
        "public",
        "left_out",
        "keep",
        "never",
        "answers",
        "order",
        "codebook",
        "title",
    ),
    "What is promised": (
        "limit",
        "limit_of",
        "limits",
        "record_limit",
        "known",
        "scope",
        "confidence",
        "looks",
    ),
    "The search": (
        "start",
        "effort",
        "rounds",
        "seconds",
        "rng",
        "largest",
        "shape",
        "sample",
    ),
    options.READING_HEADING: options.READING_NAMES,
    options.OUTPUT_HEADING: ("details", *options.OUTPUT_NAMES),
}
"""Parameters by the heading under which the help shows them."""


@click.command("design", cls=FileCommand, headings=DESIGN_HEADINGS)
@click.argument("data")
@plan_options.LIMITS
@click.option(
    "--known",
    metavar="A,B,...",
    callback=parsing.parse_names,
    help="Attributes whose values everyone who sees reports knows of the person: "
    "totals are conditional on them, and nothing is promised about them.",
)
@click.option(
    "--importance",
    metavar="NAME=FACTOR",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_number, others=1.0),
    help="Factor of each attribute's error in the mean that is minimised; by default 1 "
    "for all.",
)
@click.option(
    "--objective",
    type=click.Choice(["mean", "largest"]),
    default="mean",
    help="The error that is minimised: the mean over attributes, or the largest, per "
    "value.",
)
@click.option(
    "--people",
    type=INTEGER_TYPE,
    metavar="N",
    help="The number of people who will be asked, which errors are then for; by "
    "default as many as the table has records.",
)
@click.option(
    "--precision",
    metavar="POINTS",
    callback=parsing.parse_half_width,
    help="The half-width that every share is to have, such as 3, '3 points', 3% or "
    "0.03, from which the number to ask follows.",
)
@click.option("--title", help="What is collected, for the plan's page.")
@click.option(
    "--record-limit",
    metavar="ODDS|NATS",
    callback=parsing.parse_limit,
    help="The maximum sum of budgets of a form, which bounds its leakage about the "
    "whole record.",
)
@click.option(
    "--never",
    metavar="A,B",
    multiple=True,
    callback=parsing.parse_name_lists,
    help="Pairs of attributes that are never asked together.",
)
@click.option(
    "--want",
    metavar="STATISTIC",
    multiple=True,
    help="A joint table to estimate beside all frequencies (ill x income), or a mean "
    "in place of those of a numeric answer (mean hours).",
)
@click.option(
    "--largest",
    type=INTEGER_TYPE,
    help="The maximum number of attributes of a form; by default 8.",
)
@click.option(
    "--scope",
    type=click.Choice(["population", "table"]),
    default="population",
    help="For whom every limit holds: the population that the records are a random "
    "sample of, or the people in the table only.",
)
@click.option(
    "--answers",
    type=click.Choice(ANSWERS),
    help="merged (the default for the population): answers that have people enough, "
    "chosen on a random part of the records; as-is (the default for the table): all "
    "values.",
)
@click.option(
    "--order",
    metavar="COLUMN=A,B,...|CODEBOOK",
    multiple=True,
    callback=parsing.parse_order,
    help="The scale of an attribute, labels in their order, whose neighbours are then "
    "merged.",
)
@click.option(
    "--codebook",
    type=click.Path(dir_okay=False),
    help="Scales, intervals, what means missing, merged answers and roles of the "
    "columns: the CSV file that seepage check --codebook writes, edited.",
)
@click.option(
    "--shape",
    type=click.Choice(["never", "forms"]),
    default="forms",
    help="forms: a form may send one shaped report for all of its answers, if that is "
    "more precise and has at most 32 combinations of answers, or 48 where all "
    "questions together have no more.",
)
@click.option(
    "--from",
    "start",
    metavar="PLAN",
    type=click.Path(exists=True, dir_okay=False),
    help="A plan to start from, so that one change of the options costs a fifth of the "
    "work.",
)
@click.option(
    "--effort",
    type=NUMBER_TYPE,
    default=1.0,
    help="How much the search computes, as a multiple of the default: 4 may find a "
    "slightly better plan, 0.1 is a quick look.",
)
@click.option(
    "--rounds",
    type=INTEGER_TYPE,
    help="End the search after this many rounds: an interrupted search states how many "
    "repeat it.",
)
@click.option(
    "--seconds",
    type=NUMBER_TYPE,
    default=300.0,
    help="Cap on the time of the search; Ctrl-C ends it too. Either way the best "
    "design so far is certified and kept.",
)
@click.option(
    "--confidence",
    type=NUMBER_TYPE,
    default=0.95,
    help="Confidence of all limits for the population at once.",
)
@click.option(
    "--looks",
    type=INTEGER_TYPE,
    default=1,
    help="How many plans may be computed from these records before one of them is "
    "used: the error probability is divided by it.",
)
@click.option(
    "--seed",
    "rng",
    type=options.SEED,
    default=0,
    help="Seed of the search and the sample.",
)
@options.DATA
@click.option(
    "--limits",
    metavar="A,B,...",
    callback=parsing.parse_limits,
    help="Compare designs of limits that all hold together; saves no plan.",
)
@click.option(
    "--details",
    is_flag=True,
    help="Print groups, questions, ways to ask and notes too, in nats.",
)
@options.chart("the forms of the plan, or what each of --limits costs")
@plan_options.PLAN_RESULT
def design(data: str, limits: list[float] | None, **_: Any) -> None:
    """Find the forms that keep every attribute's total within a limit with the least
    error.

    Ctrl-C ends the search; the best design so far is certified and kept.

    \b
    Examples:
      seepage design survey.csv --limit 7.4x -o plan.json --report plan.html
      seepage design survey.csv --limit 7.4x --known sex,age --record-limit 400x
      seepage design survey.csv --limit 7.4x --want "smoker x ill" --want "mean age"
      seepage design survey.csv --limits 2.7x,7.4x,20x --chart limits.svg
    """
    if limits is not None:
        _compare_limits(data, limits)
        return
    from seepage.workflow.within_limits import design as design_data

    keywords = explicit_keywords(DESIGN_KEYWORDS)
    plan_options.check_limit(keywords.get("limit"))
    with reading.reading_progress(data, "searching") as progress:
        plan = design_data(data, progress=progress, **keywords)
    answers_are_merged = plan.scope != "table" and keywords.get("answers") != "as-is"
    if not answers_are_merged:  # merged answers are listed instead
        reading.print_reading_notes(data, plan.domain)
    plan_options.write_plan(plan, data, lambda: _design_text(plan))


def _design_text(plan: Any) -> str:
    """Return a plan as one screen of text, and with `--details` as what it is made
    of.
    """
    from seepage.cli.plan_text import design_details, design_summary, next_command

    parameters = click.get_current_context().params
    parts = [design_summary(plan)]
    if parameters["details"]:
        parts.append(design_details(plan))
    else:
        parts.append(
            "--details: groups, questions and notes; --report: the page to sign"
        )
    parts.append(next_command(parameters["output"], parameters["report"]))
    return "\n\n".join(part for part in parts if part)


def _compare_limits(data: str, limits: list[float]) -> None:
    """Print the table of designs for several limits, and draw it where a file is
    given.
    """
    from seepage.cli.plan_text import limits_text
    from seepage.workflow.limit_comparison import compare_limits

    reject(["limit", "limit_of"], "--limits gives several")
    reject(["output", "report"], "--limits compares; --limit designs the plan to keep")
    with reading.reading_progress(data, "searching") as progress:
        comparison = compare_limits(
            data, limits, progress=progress, **explicit_keywords(DESIGN_KEYWORDS)
        )
    name = Path(data).name
    details = click.get_current_context().params["details"]
    console.write_result(
        comparison, lambda: limits_text(comparison, name, details), printed=True
    )
