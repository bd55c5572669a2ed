"""`seepage check`: what the columns of a table are."""

import shutil
from pathlib import Path
from typing import Any

import click

from seepage.cli import console, options
from seepage.cli.command import FileCommand, with_option_names
from seepage.cli.keywords import explicit_keywords


@click.command("check", cls=FileCommand)
@click.argument("data")
@options.KEEP
@options.TABLE
@options.RESULT
def check(data: str, **_: Any) -> None:
    """Check DATA: the kind of each column, and what to decide before it is analysed.

    Identifiers, running numbers, weights, dates, free texts and constants are neither
    analysed nor asked unless an option names them.  Each finding comes with the option
    that settles it.

    \b
    Examples:
      seepage check survey.csv
      seepage check survey.csv --missing-marker health=9 --format csv -o columns.csv
    """
    from seepage.tables.check import check as check_data

    report = check_data(data, **explicit_keywords(("keep", *options.TABLE_KEYWORDS)))
    width = shutil.get_terminal_size().columns
    console.write_result(
        report, lambda: with_option_names(report.text(Path(data).name, width))
    )
