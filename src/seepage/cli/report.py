"""`seepage report`: a saved analysis or a plan as a page."""

from collections.abc import Sequence
from pathlib import Path

import click

from seepage._core.files import write_text
from seepage.cli import options
from seepage.cli.file_command import FileCommand
from seepage.cli.files import OutputFile
from seepage.cli.keywords import reject


@click.command("report", cls=FileCommand)
@click.argument("results", metavar="RESULT [PLAN]", nargs=-1, required=True)
@options.output_file("The page to write.", default="report.html")
@click.option(
    "--evidence",
    type=click.Path(file_okay=False),
    help="A folder for the evidence pack of a plan.",
)
@click.option(
    "--codebook",
    type=OutputFile(),
    help="Write the answers of a plan as a CSV file to edit, in place of the page.",
)
def report(
    results: tuple[str, ...], output: str, evidence: str | None, codebook: str | None
) -> None:
    """Draw RESULT as one HTML page: an analysis of `analyse --format json`, or a plan.

    Several plans are drawn side by side.  The page needs no server: send it, open it,
    print it.

    \b
    Examples:
      seepage analyse adult --epsilon 1 --format json --output result.json
      seepage report result.json --output adult.html
      seepage report plan.json --output plan.html
      seepage report plan.json --evidence evidence/
      seepage report plan.json --codebook codebook.csv
      seepage report strict.json loose.json --output both.html
    """
    from seepage.plan.plan_file import is_plan_file

    is_one_plan = len(results) == 1 and is_plan_file(results[0])
    if evidence is not None and not is_one_plan:
        reject(["evidence"], "an evidence pack is of one plan")
    if codebook is not None and not is_one_plan:
        reject(["codebook"], "a codebook is of one plan")
    if codebook is not None:
        reject(["output"], "--codebook writes no page")
        _write_codebook(results[0], codebook)
    elif evidence is not None:
        reject(["output"], "the evidence pack has a page of its own")
        _write_evidence(results[0], evidence)
    else:
        _write_page(results, output)


def _write_codebook(plan: str, codebook: str) -> None:
    """Write the codebook of a plan whose report is asked for."""
    from seepage.workflow.plan import Plan

    Plan.load(plan).save_codebook(codebook)
    click.echo(f"wrote {codebook}")


def _write_evidence(plan: str, folder: str) -> None:
    """Write the evidence of a plan whose report is asked for."""
    from seepage.workflow.plan import Plan

    files = Plan.load(plan).evidence(folder, name=Path(plan).stem)
    click.echo(f"wrote {', '.join(file.name for file in files)} -> {folder}")


def _write_page(results: Sequence[str], output: str) -> None:
    """Write the report: the page of one analysis, of one plan, or of several plans."""
    from seepage.analysis.analysis import Analysis
    from seepage.pages.plans_page import plans_page
    from seepage.plan.plan_file import is_plan_file
    from seepage.workflow.plan import Plan

    first = results[0]
    if len(results) > 1:
        plans = {Path(plan).name: Plan.load(plan) for plan in results}
        write_text(output, plans_page(plans))
    elif is_plan_file(first):
        Plan.load(first).report(output, name=Path(first).name)
    else:
        Analysis.load(first).report(output)
    click.echo(f"wrote {output}")
