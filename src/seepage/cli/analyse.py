"""`seepage analyse`: what attributes give away."""

from functools import partial
from typing import Any

import click

from seepage._core.text import sample_caution
from seepage.cli import console, options, parsing, reading
from seepage.cli.analysis_text import analysis_text
from seepage.cli.file_command import FileCommand
from seepage.cli.keywords import explicit_keywords, reject
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE

RELEASE_KEYWORDS = (
    "epsilon",
    "mechanism",
    "view",
    "delta",
    "min_count",
    "prior",
    "truncate",
    "uncertainty",
)
"""Keywords that say how attributes are released."""

JUDGED_KEYWORDS = ("limit", "guarantee", "keep", "sample", "people")
"""Keywords that say what is judged, and on which records."""

ANALYSE_KEYWORDS = (
    *RELEASE_KEYWORDS,
    *JUDGED_KEYWORDS,
    *options.TOTALS_KEYWORDS,
    *options.DATA_KEYWORDS,
)
"""Keywords of `seepage.analyse` that are options of the command."""


ANALYSE_HEADINGS = {
    "What is released": (
        "epsilon",
        "epsilon_of",
        "mechanism",
        "mechanism_of",
        "view",
        "delta",
    ),
    "What is judged": (
        "limit",
        "limit_of",
        "guarantee",
        "keep",
        "confidence",
        "target_delta",
        "reports",
        "people",
        "sample",
        "rng",
    ),
    "Smoothing": ("min_count", "prior", "truncate"),
    "Another table": ("uncertainty",),
    options.READING_HEADING: options.READING_NAMES,
    options.OUTPUT_HEADING: options.OUTPUT_NAMES,
}
"""Parameters by the heading under which the help shows them."""


@click.command("analyse", cls=FileCommand, headings=ANALYSE_HEADINGS)
@click.argument("data")
@click.option(
    "-e",
    "--epsilon",
    type=NUMBER_TYPE,
    default=1.0,
    help="The privacy budget of every attribute.",
)
@click.option(
    "--epsilon-of",
    metavar="NAME=VALUE",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_limit_or_none),
    help="--epsilon of one attribute.",
)
@click.option(
    "-m",
    "--mechanism",
    help="A mechanism, such as grr; by default the bound over all with this budget.",
)
@click.option(
    "--mechanism-of",
    metavar="NAME=VALUE",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_text),
    help="--mechanism of one attribute.",
)
@click.option(
    "--view",
    type=click.Choice(["report", "inferred"]),
    default="report",
    help="report: the adversary keeps the whole report; inferred: only the inferred "
    "value.",
)
@click.option(
    "--delta",
    type=NUMBER_TYPE,
    default=0.0,
    help="Delta of (epsilon, delta)-LDP.",
)
@click.option(
    "--min-count",
    type=NUMBER_TYPE,
    default=0.0,
    help="Smaller counts of a pair are raised to this.",
)
@click.option(
    "--prior",
    type=NUMBER_TYPE,
    default=0.0,
    help="Pseudo-count added to every count of a pair.",
)
@click.option(
    "--truncate",
    type=NUMBER_TYPE,
    default=0.0,
    help="Counts of a pair below this are then set to 0.",
)
@options.UNCERTAINTY
@click.option(
    "--limit",
    metavar="ODDS|NATS",
    callback=parsing.parse_limit,
    help="How far all reports of a person may change the odds between two values of "
    "any attribute, at most: 7.4x, or the same in nats, 2.",
)
@click.option(
    "--limit-of",
    metavar="NAME=VALUE",
    multiple=True,
    callback=parsing.parse_by_name(parsing.as_limit_or_none),
    help="--limit of one attribute.",
)
@click.option(
    "--guarantee",
    metavar="A,B,...|all",
    default="auto",
    callback=parsing.parse_names,
    help="Guarantees of the totals: exact, merged, worst, sampled, independent, sum, "
    "witness, all, or auto for what may decide the limit.",
)
@options.KEEP
@click.option(
    "--sample",
    type=INTEGER_TYPE,
    metavar="N",
    help="Number of records to draw without replacement: totals are assumed.",
)
@click.option(
    "--people",
    type=INTEGER_TYPE,
    metavar="N",
    help="Number of people drawn for the realised privacy loss; by default 1,000 if a "
    "guarantee needs records and all mechanisms are named, else 0; also for auto and "
    "more than 131,072 records.",
)
@options.TOTALS
@options.DATA
@options.MASTER
@options.page("the analysis")
@options.chart("the matrix")
@options.RESULT
def analyse(data: str, form: str, guarantee: list[str], **_: Any) -> None:
    """Analyse DATA: the leakage of every attribute about every other, and in total.

    \b
    Examples:
      seepage analyse adult --epsilon 1
      seepage analyse survey.csv --epsilon 2 --mechanism oue --view inferred
      seepage analyse survey.csv --mechanism grr --guarantee all --report survey.html
      seepage analyse data/ --engine spark --master spark://host:7077
      seepage analyse survey.pairs --epsilon-of income=0.5 --format json -o result.json
    """
    from seepage.analysis.analyse import analyse as analyse_data

    if form == "csv":
        reject(["limit"], "CSV has the leakages only; JSON and the table show it")
    if not {"sampled", "all"} & set(guarantee):
        reject(
            ["reports", "target_delta", "confidence"], "it is of --guarantee sampled"
        )
    keywords = explicit_keywords(ANALYSE_KEYWORDS)
    with reading.reading_progress(data, "analysing") as progress:
        analysis = analyse_data(
            data, progress=progress, command=console.command_line(), **keywords
        )
    reading.print_reading_notes(data, analysis.matrix.domain, analysis.notes)
    text = partial(analysis_text, analysis)
    console.write_result(analysis, text, page=analysis.report, private=True)
    if form == "csv" and (caution := sample_caution(analysis.matrix.pairs)) is not None:
        click.echo(f"{analysis.name}: {caution}", err=True)
