"""`seepage client`: a plan that runs in the browser of the person asked."""

import click

from seepage.cli.output import FileCommand, OutputFile
from seepage.errors import InputError


@click.command("client", cls=FileCommand)
@click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False))
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False),
    help="The folder for the module seepage.js, its types, plan.json and vectors.json.",
)
@click.option("--questionnaire", type=OutputFile(), help="Write a page that asks the questions.")
@click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    help="Texts of questions and values: a CSV file with attribute, value and label.",
)
@click.option(
    "--endpoint", metavar="URL", help="Where the page sends noisy results; without it, to a file."
)
@click.option("--title", default="Survey", show_default=True, help="The heading of the page.")
@click.option(
    "--vectors",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="Test vectors for the draw of the form and for each form.",
)
def client(
    plan_path: str,
    folder: str | None,
    questionnaire: str | None,
    labels: str | None,
    endpoint: str | None,
    title: str,
    vectors: int,
) -> None:
    """Write a client of PLAN, which adds noise on the device of the person asked.

    The folder has one ES module without dependencies, for browsers and Node, and test vectors for
    clients in other languages.  The questionnaire is one self-contained page: it draws the form,
    asks, adds noise, shows what is sent and what it reveals at most, and sends it to the endpoint
    or offers it as a file.  `seepage estimate` reads what is collected as JSON Lines.

    \b
    Examples:
      seepage client plan.json -o client/
      seepage client plan.json --questionnaire survey.html --labels codebook.csv
      seepage client plan.json --questionnaire survey.html --endpoint https://example.org/reports
    """
    from seepage._files import whole_file
    from seepage.collection.client_files import write_client
    from seepage.collection.questionnaire import questionnaire_page, read_labels
    from seepage.plan import Plan

    if folder is None and questionnaire is None:
        raise InputError("--output or --questionnaire must be given: there is nothing to write")
    if questionnaire is None and (labels is not None or endpoint is not None):
        raise InputError("--labels and --endpoint are for the page of --questionnaire")
    plan = Plan.load(plan_path)
    if questionnaire is not None:
        texts = read_labels(labels, plan.domain) if labels is not None else []
        page = questionnaire_page(plan, labels=texts, endpoint=endpoint, title=title)
        with whole_file(questionnaire) as file:
            file.write(page.encode())
        click.echo(f"wrote {questionnaire}: open it in a browser")
    if folder is not None:
        written = write_client(plan, folder, vectors=vectors)
        click.echo(f"wrote {', '.join(file.name for file in written)} -> {folder}")
