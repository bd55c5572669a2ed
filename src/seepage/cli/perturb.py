"""`seepage perturb`: from records to the reports that a plan collects."""

from collections.abc import Iterable
from typing import Any

import click

from seepage.cli.inputs import refuse_reports
from seepage.cli.options import DELIMITER, ENCODING, SEED, delimiter_named, named_settings
from seepage.cli.output import FileCommand, OutputFile, progress_bar
from seepage.data.domain import Domain
from seepage.errors import InputError

__all__ = ["command"]


@click.command("perturb", cls=FileCommand)
@click.argument("data")
@click.option(
    "--plan", "plan_path", required=True, type=click.Path(dir_okay=False), help="The plan's file."
)
@click.option("-o", "--output", required=True, type=OutputFile(), help="The reports' file.")
@click.option(
    "--other",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="Count values outside the domain as VALUE: of one attribute, or of all that have it.",
)
@click.option(
    "--seed",
    type=SEED,
    help="FOR RESEARCH ONLY: the same reports again.  Whoever knows the seed can undo the noise.",
)
@click.option("--rename", multiple=True, metavar="OLD=NEW", help="Rename a column of DATA.")
@click.option(
    "--missing-marker", multiple=True, metavar="TEXT", help="Text that means missing, as ?."
)
@DELIMITER
@ENCODING
def command(
    data: str,
    plan_path: str,
    output: str,
    other: tuple[str, ...],
    seed: int | None,
    rename: tuple[str, ...],
    missing_marker: tuple[str, ...],
    delimiter: str | None,
    encoding: str,
) -> None:
    """Perturb the records of DATA as a plan says, into the Parquet file of reports OUTPUT.

    Randomness comes from the operating system.  A record with a value outside the plan's domain
    is refused with its row and column, unless --other says what it counts as.  OUTPUT appears
    when all is written, and not at all otherwise.

    \b
    Examples:
      seepage perturb survey.csv --plan plan.json -o reports.parquet
      seepage perturb survey.csv --plan plan.json -o reports.parquet --other job=other
    """
    from seepage.collection.perturb import perturb_file
    from seepage.plan import Plan

    plan = Plan.load(plan_path)
    refuse_reports(data)
    table: dict[str, Any] = {
        "rename": named_settings(rename, "--rename"),
        "missing_markers": missing_marker,
        "delimiter": delimiter_named(delimiter),
        "encoding": encoding,
    }
    with progress_bar("perturbing") as progress:
        written = perturb_file(
            plan,
            data,
            output,
            seed,
            other=_catch_alls(other, plan.collected),
            progress=progress,
            **table,
        )
    click.echo(f"{written:,} reports of {len(plan.collected)} attributes -> {output}")
    if seed is not None:
        click.echo("drawn from a seed: for research only, these reports protect nobody", err=True)


def _catch_alls(settings: Iterable[str], domain: Domain) -> dict[str, str] | None:
    """Return catch-all values by attribute, from NAME=VALUE; "*" for a VALUE alone."""
    found = dict[str, str]()
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or any(setting in attribute.values for attribute in domain):
            name, value = "*", setting
        if found.setdefault(name, value) != value:
            raise InputError(f"--other must give one value for each attribute, got {setting!r} too")
    return found or None
