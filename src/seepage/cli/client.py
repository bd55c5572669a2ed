"""`seepage client`: a plan for browsers."""

from typing import Any

import click

from seepage._core.errors import InputError
from seepage._core.files import write_text
from seepage.cli import options
from seepage.cli.file_command import FileCommand, with_option_names
from seepage.cli.files import OutputFile
from seepage.cli.keywords import reject
from seepage.cli.number_types import IntegerRange


@click.command("client", cls=FileCommand)
@options.PLAN_PATH
@options.output_folder(
    "The folder for the module seepage.js, its types, plan.json and vectors.json."
)
@click.option(
    "--questionnaire",
    type=OutputFile(),
    help="Write a page that asks the questions.",
)
@options.LABELS
@click.option(
    "--endpoint", metavar="URL", help="Address of the reports; by default, a download."
)
@options.TITLE
@click.option(
    "--texts",
    type=click.Path(dir_okay=False),
    help="Introduction, consent, contact and other texts of the page: a JSON file.",
)
@click.option(
    "--vectors",
    type=IntegerRange(1, 1_000_000),
    default=100,
    help="Test vectors of the draw and each form.",
)
def client(
    plan_path: str,
    output: str | None,
    questionnaire: str | None,
    vectors: int,
    **texts: Any,
) -> None:
    """Write a client of PLAN, which adds noise on the device of the person asked.

    The folder has one ES module without dependencies, for browsers and Node, and test
    vectors for clients in other languages.  The questionnaire is one self-contained
    page: it draws the form, asks, adds noise, shows what is sent and what it reveals at
    most, and sends it to the endpoint or offers it as a file.  `seepage estimate` reads
    what is collected as JSON Lines.

    \b
    Examples:
      seepage client plan.json -o client/
      seepage client plan.json --questionnaire survey.html --labels codebook.csv
      seepage client plan.json --questionnaire survey.html --endpoint https://example.org/reports
    """
    from seepage.pages.questionnaire import questionnaire_page, unlabelled_note
    from seepage.workflow.plan import Plan

    if output is None and questionnaire is None:
        raise InputError(
            "--output or --questionnaire must be given: there is nothing to write"
        )
    if questionnaire is None:
        reject(["labels", "endpoint", "texts"], "it is for the page of --questionnaire")
    plan = Plan.load(plan_path)
    if questionnaire is not None:
        page = questionnaire_page(plan, **texts)
        if note := unlabelled_note(plan, texts["labels"]):
            click.echo(with_option_names(note), err=True)
    if output is not None:
        force = click.get_current_context().meta["force"]
        written = plan.write_client(output, vectors=vectors, force=force)
        click.echo(f"wrote {', '.join(file.name for file in written)} -> {output}")
    if questionnaire is not None:
        write_text(questionnaire, page)
        click.echo(f"wrote {questionnaire}: open it in a browser")
