"""`seepage client` and `collect`: a plan on the devices of the people asked, and what they send."""

from typing import Any

import click

from seepage._files import write_text
from seepage.cli.options import reject_options
from seepage.cli.output import FileCommand, OutputFile, OutputFolder, option_names
from seepage.errors import InputError

PLAN_PATH = click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False))
LABELS = click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    help="Texts of questions and values: a CSV file with attribute, value and label.",
)
TITLE = click.option("--title", help="The heading of the questionnaire; by default the plan's.")


@click.command("client", cls=FileCommand)
@PLAN_PATH
@click.option(
    "-o",
    "--output",
    "folder",
    type=OutputFolder(),
    help="The folder for the module seepage.js, its types, plan.json and vectors.json.",
)
@click.option("--questionnaire", type=OutputFile(), help="Write a page that asks the questions.")
@LABELS
@click.option(
    "--endpoint", metavar="URL", help="Address that reports are sent to; by default, a download."
)
@TITLE
@click.option(
    "--texts",
    type=click.Path(dir_okay=False),
    help="Introduction, consent, contact and other texts of the page: a JSON file.",
)
@click.option(
    "--vectors",
    type=click.IntRange(1, 1_000_000),
    default=100,
    help="Test vectors for the draw of the form and for each form.",
)
def client(plan_path: str, folder: str | None, vectors: int, **options: Any) -> None:
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
    from seepage.collection.client_files import (
        questionnaire_page,
        read_labels,
        unlabelled,
        unlabelled_note,
    )
    from seepage.plan import Plan

    questionnaire = options.pop("questionnaire")
    if folder is None and questionnaire is None:
        raise InputError("--output or --questionnaire must be given: there is nothing to write")
    if questionnaire is None:
        reject_options(["labels", "endpoint", "texts"], "it is for the page of --questionnaire")
    plan = Plan.load(plan_path)
    if questionnaire is not None:
        chosen = {name: options[name] for name in ("endpoint", "title", "texts")}
        labels = options["labels"]
        codebook = [] if labels is None else read_labels(labels, plan.domain)
        page = questionnaire_page(plan, labels=codebook, **chosen)
        if without := unlabelled(plan, codebook):
            click.echo(unlabelled_note(without).naming(option_names()), err=True)
    if folder is not None:
        force = click.get_current_context().meta["force"]
        written = plan.write_client(folder, vectors=vectors, force=force)
        click.echo(f"wrote {', '.join(file.name for file in written)} -> {folder}")
    if questionnaire is not None:
        write_text(questionnaire, page)
        click.echo(f"wrote {questionnaire}: open it in a browser")


@click.command("collect", cls=FileCommand)
@PLAN_PATH
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="reports.jsonl",
    help="The file of reports; it is continued if it exists.",
)
@click.option("--port", type=int, default=8000, help="The port; 0 for any that is free.")
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--rate", type=float, default=1000.0, help="Lines per second, in all, at most.")
@LABELS
@TITLE
def collect(plan_path: str, output: str, **options: Any) -> None:
    """Receive the reports of PLAN over HTTP, for pilots, until Ctrl-C.

    The questionnaire is at / and sends its reports to /reports.  A report is on disk before it is
    acknowledged; one that is sent again is stored once; what is no report of the plan is refused
    with the reason.  `seepage estimate` reads the file, also meanwhile.

    Only this machine reaches the default host.  For others put a web server in front that adds
    https, without which browsers do not run the questionnaire.

    \b
    Examples:
      seepage collect plan.json
      seepage collect plan.json --port 8000 -o reports.jsonl --labels codebook.csv
    """
    from seepage.collection.receiver import LOOPBACK, Receiver
    from seepage.plan import Plan

    with Receiver(Plan.load(plan_path), output, **options) as receiver:
        log = receiver.log
        skipped = f", {log.skipped:,} skipped" if log.skipped else ""
        there = f"({log.count:,} there{skipped})"
        click.echo(f"questionnaire at {receiver.address}, reports -> {output} {there}")
        if options["host"] not in (LOOPBACK, "::1", "localhost"):
            click.echo("others can reach this address: put a server with https in front", err=True)
        try:
            receiver.wait()
        except KeyboardInterrupt:
            click.echo(f"{log.count:,} reports -> {output}")
