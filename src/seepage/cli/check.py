"""`seepage check`: what the columns of a table are; a plan's totals on another
table.
"""

import shutil
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.odds import odds_text
from seepage._core.text import delta_text, factor
from seepage.cli import console, options
from seepage.cli.console import aligned
from seepage.cli.file_command import EXIT_FAILED, FileCommand, with_option_names
from seepage.cli.files import OutputFile
from seepage.cli.keywords import explicit_keywords, reject


@click.command("check", cls=FileCommand)
@click.argument("data")
@click.option(
    "--data",
    "table",
    type=click.Path(),
    metavar="TABLE",
    help="The table on which a plan is checked, such as next year's.",
)
@click.option(
    "--fail-if",
    type=click.Choice(["exceeded"]),
    help="Exit 1 if a total of the plan exceeds its limit on that table.",
)
@click.option(
    "--codebook",
    type=OutputFile(),
    help="Write columns and values as a CSV file to edit, for seepage design "
    "--codebook.",
)
@options.KEEP
@options.TABLE
@options.page("the columns")
@options.RESULT
def check(
    data: str,
    table: str | None,
    fail_if: str | None,
    codebook: str | None,
    **_: Any,
) -> None:
    """Check DATA: the kind of each column, and what to decide before it is analysed.

    Identifiers, running numbers, weights, dates, free texts and constants are neither
    analysed nor asked unless an option names them.  Each finding comes with the option
    that settles it.

    A plan is checked on another table: the totals of its forms there, whether each is
    within its limit, and how far that table's rows may move until one is not.

    \b
    Examples:
      seepage check survey.csv
      seepage check survey.csv --report check.html --codebook codebook.csv
      seepage check survey.csv --missing-marker health=9 --format csv -o columns.csv
      seepage check plan.json --data 2026.csv --fail-if exceeded
    """
    from seepage.plan.plan_file import is_plan_file

    if is_plan_file(data):
        _check_plan(data, table, fail_if)
        return
    reject(["table", "fail_if"], "it is of the check of a plan")
    from seepage.tables.check import check as check_data

    report = check_data(data, **explicit_keywords(("keep", *options.TABLE_KEYWORDS)))
    if codebook is not None:
        report.save_codebook(codebook)
    width = shutil.get_terminal_size().columns
    name = Path(data).name
    console.write_result(
        report,
        lambda: with_option_names(report.text(name, width)),
        page=lambda path: report.report(path, name=name),
    )


def _check_plan(file: str, table: str | None, fail_if: str | None) -> None:
    """Check a plan on another table and write its totals there."""
    from seepage.workflow.plan import Plan

    if table is None:
        raise InputError("a plan is checked on a table: name it by --data")
    reject(["keep"], "a plan has its own columns")
    reject(["report"], "seepage report writes the page of a plan")
    reject(["codebook"], "seepage report writes that of a plan")
    plan = Plan.load(file)
    result = plan.check(table, **explicit_keywords(options.TABLE_KEYWORDS))
    console.write_result(
        result, lambda: _plan_text(result, Path(file).name, Path(table).name)
    )
    if fail_if is not None and not result.within:
        raise SystemExit(EXIT_FAILED)


def _plan_text(result: Any, plan: str, table: str) -> str:
    """Return the check of a plan on another table as text: its totals there."""
    verdict = "every total is within its limit"
    if not result.within:
        verdict = f"above the limit: {', '.join(result.exceeded)}"
    margin = ""
    if result.within and result.margin is not None:
        margin = (
            f"\nMargin: the limits hold for all rows within {result.margin:.3f} of "
            "this "
            "table's (total variation)"
        )
    rows = [["question", "odds change at most", "limit", "", "margin"]]
    for row in result.to_arrow().to_pylist():
        limit = "none" if row["limit"] is None else f"{odds_text(row['limit'])} times"
        state = "within" if row["within"] else "exceeded"
        own = "-" if row["margin"] is None else f"{row['margin']:.3f}"
        total = f"{factor(row['total'])} times{delta_text(row['delta'])}"
        rows.append([row["attribute"], total, limit, state, own])
    return (
        f"{plan} on {table}, {result.records:,} records: {verdict}{margin}\n"
        f"All that a person sends, {result.guarantee}, {result.kind}; in nats: "
        f"--format json\n{aligned(rows)}"
    )
