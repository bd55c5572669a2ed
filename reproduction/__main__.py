"""`python -m reproduction`: the paper's tables and figures, beside its values."""

import sys
from itertools import chain
from pathlib import Path

import click

from reproduction.findings import HEADLINE, PAPER, Finding
from reproduction.reproduce import reproduce
from seepage._core.errors import SeepageError
from seepage._core.progress import progress_bar
from seepage.cli.console import aligned

EXIT_BAD_INPUT = 2

OPTIONS = {"force": "--force", "folder": "--output", "name": "ITEM"}
"""Options of this command by the names of the function's parameters, for messages."""


@click.command()
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option(
    "--output",
    "-o",
    "folder",
    default="build/reproduction",
    show_default=True,
    metavar="DIR",
    help="The folder to write to.",
)
@click.option("--force", is_flag=True, help="Write into a folder with other files.")
@click.option("--list", "listing", is_flag=True, help="List the items and exit.")
def main(items: tuple[str, ...], folder: str, force: bool, listing: bool) -> None:
    """Reproduce every table and figure of the paper, or only each ITEM.

    Each item becomes a table (CSV) and charts (SVG, PNG), and all together one page,
    index.html.  Data are looked for in the folder that SEEPAGE_DATA names; missing ones
    are listed.
    """
    if listing:
        rows = [[name, paper.place, paper.title] for name, paper in PAPER.items()]
        click.echo(aligned(rows, left=True))
        return
    try:
        run(items, folder, force=force)
    except SeepageError as error:
        click.echo(f"reproduction: {error.naming(OPTIONS)}", err=True)
        sys.exit(EXIT_BAD_INPUT)


def run(items: tuple[str, ...], folder: str, *, force: bool) -> None:
    """Compute the items, with a line for each, and print the path of the page."""
    with progress_bar("reproducing") as progress:
        done = reproduce(
            items, folder, progress=progress, on_item=print_item, force=force
        )
    comparisons = chain.from_iterable(item.comparisons for item in done)
    verdicts = [comparison.verdict for comparison in comparisons]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in HEADLINE]
    click.echo(", ".join(counts), err=True)
    click.echo(str(Path(folder, "index.html")))


def print_item(item: Finding) -> None:
    """Print the verdicts of an item and the time it took."""
    verdicts = ", ".join(
        f"{count} {verdict}" for verdict, count in item.verdicts.items()
    )
    click.echo(f"{item.item}: {verdicts} ({item.seconds:.1f} s)", err=True)


if __name__ == "__main__":
    main(prog_name="python -m reproduction")
