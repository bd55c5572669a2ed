"""`seepage report`: a saved result as one self-contained HTML page."""

import click

from seepage.cli.output import FileCommand, OutputFile

__all__ = ["command"]


@click.command("report", cls=FileCommand)
@click.argument("result")
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    default="report.html",
    show_default=True,
    help="The page to write.",
)
def command(result: str, output: str) -> None:
    """Draw RESULT, which `seepage analyse --format json` wrote, as one HTML page.

    The page needs no server and no network: send it, open it, print it.

    \b
    Examples:
      seepage analyse adult --epsilon 1 --format json --output result.json
      seepage report result.json --output adult.html
    """
    from seepage.report import read_result, write_report

    write_report(read_result(result), output)
    click.echo(f"wrote {output}")
