"""`seepage open`: the app in the browser."""

import click

from seepage.cli.file_command import FileCommand
from seepage.cli.number_types import INTEGER_TYPE


@click.command("open", cls=FileCommand)
@click.argument("data", required=False)
@click.option(
    "--port",
    type=INTEGER_TYPE,
    default=0,
    help="The port of this machine; 0 for any that is free.",
)
@click.option(
    "--browser/--no-browser",
    default=True,
    help="Open the browser; otherwise the address is only printed.",
)
def open(  # noqa: A001
    data: str | None, port: int, browser: bool
) -> None:
    """Open the app: from a table to a signed plan in the browser of this machine.

    DATA is a table or a dataset to start with; without it the page asks for one.
    Nothing leaves the machine.  Ctrl-C ends the app and removes what it kept.

    \b
    Examples:
      seepage open
      seepage open people.csv
      seepage open people.csv --no-browser --port 8700
    """
    from seepage.app.open_app import ended_by_signals
    from seepage.app.open_app import open as open_app

    with ended_by_signals(), open_app(data, port=port, browser=browser) as app:
        click.echo(
            f"seepage runs at\n  {app.address}\n"
            "The address works once, in one browser of this machine.  For a browser of "
            "another one, run there first:\n"
            f"  ssh -L {app.port}:127.0.0.1:{app.port} THIS-MACHINE\n"
            "Ctrl-C ends the app and removes what it kept.",
            err=True,
        )
        app.wait()
