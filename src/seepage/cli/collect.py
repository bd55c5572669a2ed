"""`seepage collect`: reports received over HTTP, for pilots."""

import sys

import click

from seepage.cli import options
from seepage.cli.file_command import EXIT_FAILED, FileCommand
from seepage.cli.files import OutputFile
from seepage.cli.keywords import reject
from seepage.cli.number_types import INTEGER_TYPE, NUMBER_TYPE


@click.command("collect", cls=FileCommand)
@options.PLAN_PATH
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="reports.db",
    help="The database of reports; it is continued if it exists.",
)
@click.option(
    "--port", type=INTEGER_TYPE, default=8000, help="The port; 0 for any that is free."
)
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option(
    "--name",
    "names",
    metavar="HOST",
    multiple=True,
    help="A name under which others reach it, such as survey.example.org.",
)
@click.option(
    "--rate",
    type=NUMBER_TYPE,
    default=1000.0,
    help="Lines per second, in all, at most.",
)
@options.LABELS
@options.TITLE
@click.option(
    "--export",
    type=OutputFile(),
    help="Write the reports so far, as .parquet or .jsonl, and end.",
)
def collect(
    plan_path: str,
    output: str,
    port: int,
    host: str,
    names: tuple[str, ...],
    rate: float,
    labels: str | None,
    title: str | None,
    export: str | None,
) -> None:
    """Receive the reports of PLAN over HTTP, for pilots, until Ctrl-C.

    The questionnaire is at / and sends its reports to /reports.  A report is on disk
    before it is acknowledged; one that is sent again is stored once; what is no report
    of the plan is refused with the reason.  `seepage estimate` reads the database, also
    meanwhile, and --export writes it as another file.  Where the disk fails or the
    database is removed, it says so and ends with status 1.

    Only this machine reaches the default host.  For others put a web server in front
    that adds https, without which browsers do not run the questionnaire.

    \b
    Examples:
      seepage collect plan.json
      seepage collect plan.json --port 8000 -o reports.db --labels codebook.csv
      seepage collect plan.json -o reports.db --export reports.parquet
    """
    from seepage.workflow.plan import Plan

    plan = Plan.load(plan_path)
    if export is not None:
        reject(
            ["port", "host", "names", "rate", "labels", "title"],
            "--export receives nothing",
        )
        from seepage.collection.stored_reports import export_reports

        count = export_reports(plan, output, export)
        click.echo(f"{count:,} reports of {output} -> {export}")
        return
    from seepage.app.receiver import LOOPBACK, Receiver
    from seepage.app.report_store import StoreError

    with Receiver(
        plan,
        output,
        port=port,
        host=host,
        names=names,
        rate=rate,
        labels=labels,
        title=title,
    ) as receiver:
        store = receiver.store
        there = f"({store.count:,} there)"
        click.echo(f"questionnaire at {receiver.address}, reports -> {output} {there}")
        if host not in (LOOPBACK, "::1", "localhost"):
            click.echo(
                "others can reach this address: put a server with https in front",
                err=True,
            )
        try:
            receiver.wait()
        except KeyboardInterrupt:
            click.echo(f"{store.count:,} reports -> {output}")
        except StoreError as failure:
            click.echo(f"seepage: {failure}", err=True)
            sys.exit(EXIT_FAILED)
