"""`seepage audit`: what a randomiser realises beside what is claimed."""

from typing import Any

import click

from seepage._core.odds import odds_above, odds_below
from seepage.cli import console, options, parsing
from seepage.cli.analysis_text import SHOWN_LEAKS
from seepage.cli.file_command import EXIT_FAILED, FileCommand, with_option_names
from seepage.cli.keywords import explicit_keywords, reject
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE

AUDIT_KEYWORDS = (
    "claim",
    "delta",
    "record_claim",
    "values",
    "samples",
    "rounds",
    "memoised",
    "linked",
    "attribute",
    "reported",
    "guarantee",
    "reports",
    "confidence",
    "rng",
    "data",
    *options.DATA_KEYWORDS,
)
"""Keywords of `seepage.audit` that are options of the command."""

KEYWORDS_OF_DATA = (*options.DATA_KEYWORDS, "reported", "guarantee", "report")
"""Parameters that mean nothing without `--data`."""


@click.command("audit", cls=FileCommand)
@click.argument("randomiser", metavar="FILE")
@click.option(
    "--claim",
    type=NUMBER_TYPE,
    required=True,
    help="The claimed epsilon of each attribute.",
)
@click.option("--delta", type=NUMBER_TYPE, default=0.0, help="The claimed delta.")
@click.option(
    "--record-claim",
    type=NUMBER_TYPE,
    help="The claimed epsilon of all reports of a person together; None for none.",
)
@click.option(
    "--values",
    metavar="A,B,...",
    callback=parsing.parse_client_values,
    help="The values of a randomiser that is sampled; needed for a function.",
)
@click.option(
    "--samples",
    type=INTEGER_TYPE,
    default=20_000,
    help="How often each value is sampled.",
)
@click.option(
    "--rounds",
    type=INTEGER_TYPE,
    help="How often each attribute is reported; by default what the specification "
    "says, else once.",
)
@click.option(
    "--memoised/--fresh",
    default=None,
    help="Whether rounds repeat a stored report; by default what the specification "
    "says.",
)
@click.option(
    "--linked/--unlinked",
    default=None,
    help="Whether the reports of a person can be linked; or groups of attributes whose "
    "reports can be.",
)
@click.option(
    "--attribute",
    help="The name of the attribute, for a randomiser that names none.",
)
@click.option(
    "--reported",
    metavar="A,B,...",
    callback=parsing.parse_names,
    help="Audited columns of the data that hold reports in place of true values.",
)
@click.option(
    "--guarantee",
    metavar="A,B,...",
    default="independent,worst",
    callback=parsing.parse_names,
    help="Guarantees of the totals, as in analyse.",
)
@click.option(
    "--reports",
    metavar="A,B,...",
    callback=parsing.parse_names,
    help="All possible reports of a randomiser that is sampled, if known: permits an "
    "upper limit.",
)
@click.option(
    "--confidence",
    type=NUMBER_TYPE,
    default=0.95,
    help="Confidence of limits from samples, for all attributes at once.",
)
@click.option(
    "--seed",
    "rng",
    type=options.SEED,
    default=0,
    help="Seed of the split of the samples.",
)
@options.DATA
@click.option(
    "--data",
    type=click.Path(),
    metavar="TABLE",
    help="Analysed as audited and claimed.",
)
@click.option(
    "--fail-if", type=click.Choice(["refuted", "not-decided"]), help="Exit 1 if so."
)
@options.page("the table, with the audit")
@options.RESULT
def audit(randomiser: str, data: str | None, fail_if: str | None, **_: Any) -> None:
    """Audit FILE: what a randomiser realises beside what is claimed.

    FILE has published parameters: a specification (JSON) or a transition matrix (JSON,
    CSV).  Or it is sampled: a module (.mjs, .js, .py) with a function randomise(value),
    or a table with a column value, whose other columns are the report.

    A module is run in a process of its own with all your rights: it can read and change
    what you can.  Read it first, or audit it where it can do no harm.

    \b
    Examples:
      seepage audit survey.json --claim 1.61 --data survey.csv --report audit.html
      seepage audit client.mjs --claim 1 --values red,green,blue --fail-if refuted
      seepage audit samples.csv --claim 1 --reports 0,1,2,3
      seepage audit rappor.json --claim 4 --rounds 30 --memoised
    """
    from seepage.auditing.audit import audit as run_audit
    from seepage.auditing.claims import STATES

    if data is None:
        reject(KEYWORDS_OF_DATA, "it is about --data")
    keywords = explicit_keywords(AUDIT_KEYWORDS)
    result = run_audit(randomiser, command=console.command_line(), **keywords)
    console.write_result(result, lambda: _audit_text(result), page=result.report)
    failing = {"refuted": STATES[:1], "not-decided": STATES[:2]}
    if fail_if is not None and result.verdict in failing[fail_if]:
        raise SystemExit(EXIT_FAILED)


def _audit_text(result: Any) -> str:
    """Return the verdict of an audit as text, with the leakages and totals of a
    table.
    """
    lines = [f"{result.name}: {result.verdict}"]
    lines += [with_option_names(sentence) for sentence in result.sentences()]
    if result.analysis is None or result.claimed is None:
        return "\n".join(lines)
    rows = [["odds change", "as audited", "in the population", "as claimed"]]
    rows += [
        [
            f"{leak.source} -> {leak.target}",
            odds_above(leak.audited),
            f"{odds_below(leak.lower)} to {odds_above(leak.upper)}",
            odds_above(leak.claimed),
        ]
        for leak in result.leaks[:SHOWN_LEAKS]
    ]
    lines.append(console.aligned(rows))
    for how, analysis in (("audited", result.analysis), ("claimed", result.claimed)):
        lines.append(
            f"largest change of odds by all reports, as {how}: "
            f"{_largest_totals(analysis)}"
        )
    return "\n".join(lines)


def _largest_totals(analysis: Any) -> str:
    """Return the largest total under each guarantee of an audited table's analysis."""
    from seepage.totals.total_result import largest_total_odds

    return ", ".join(
        f"{total.guarantee} {largest_total_odds(total)}"
        for total in analysis.totals.totals
    )
