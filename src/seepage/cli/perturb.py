"""`seepage perturb`: records to reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.progress import progress_bar
from seepage.cli import options
from seepage.cli.file_command import FileCommand
from seepage.cli.keywords import explicit_keywords
from seepage.tables.table_options import NO_PERSON


@click.command("perturb", cls=FileCommand)
@click.argument("data")
@options.PLAN
@options.output_file("The reports' file.", required=True)
@click.option(
    "--seed",
    "rng",
    type=options.SEED,
    help="FOR RESEARCH ONLY: the same reports again.  Whoever knows the seed can undo "
    "the noise.",
)
@click.option(
    "--identifier",
    metavar="COLUMN",
    help="Column of stable identifiers: a person who is asked again sends the same "
    "report.",
)
@click.option(
    "--key-file",
    "key",
    type=click.Path(dir_okay=False),
    help="File of the secret key that derives reports from --identifier; written if "
    "missing.",
)
@options.MISSING_MARKER
@options.DELIMITER
@options.ENCODING
@options.PERSON
def perturb(
    data: str,
    plan: str,
    output: str,
    identifier: str | None,
    key: str | None,
    **entered: Any,
) -> None:
    """Perturb the records of DATA as a plan says, into the Parquet file of reports
    OUTPUT.

    Randomness comes from the operating system: the noise, and who is given which form
    of the plan. With --identifier form and noise are derived from a person's
    identifier, so that who is asked again sends the same report for the same answers:
    keep the key file for that, and keep it secret: with it, answers can be found from
    reports.

    Each record sends one report; if the plan names the column that identifies a person,
    or --person does, each person sends one: that of the first record.

    A record with a value outside the plan's domain raises an error with its row and
    column, unless its attribute has a catch-all value.  OUTPUT appears when all is
    written, or not at all.

    \b
    Examples:
      seepage perturb survey.csv --plan plan.json -o reports.parquet
      seepage perturb survey.csv --plan plan.json -o out.parquet --identifier id
    """
    from seepage.collection.perturb_table import perturb_file
    from seepage.workflow.plan import Plan

    promised = Plan.load(plan)
    keywords = explicit_keywords([*options.TABLE_KEYWORDS, "rng"])
    with (
        _key_for(identifier, key, output) as secret,
        progress_bar("perturbing") as bar,
    ):
        count = perturb_file(
            promised,
            data,
            output,
            identifier=identifier,
            key=secret,
            progress=bar,
            **keywords,
        )
    forms = "" if promised.is_single else f", {len(promised.forms)} forms"
    person = entered["person"] or promised.person
    if person == NO_PERSON:
        person = None
    each = f", one for each {person!r}" if person else ""
    click.echo(
        f"{count:,} reports of {len(promised.collected)} attributes{forms}{each} -> "
        f"{output}"
    )
    if promised.kind == "assumed":
        click.echo(
            f"the plan rests on an assumption ({promised.guarantee}): its totals are "
            "not proven, and real data often violate it",
            err=True,
        )
    if entered["rng"] is not None:
        click.echo(
            "drawn from a seed: for research only, these reports protect nobody",
            err=True,
        )


@contextmanager
def _key_for(identifier: str | None, path: str | None, output: str) -> Iterator[Any]:
    """Yield the path of the key file for perturbing, or a new key; its file stays only
    if the block succeeds.
    """
    if path is not None and Path(path).resolve() == Path(output).resolve():
        raise InputError(
            f"--key-file and --output must be two files, got {path!r} for both"
        )
    if identifier is None or path is None or Path(path).exists():
        yield path
        return
    from seepage.collection.identified_people import new_key

    key = new_key(path)
    try:
        yield key
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    click.echo(
        f"a new key was written to {path}: keep it secret, and for the next time",
        err=True,
    )
