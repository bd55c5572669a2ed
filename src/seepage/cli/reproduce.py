"""`seepage reproduce`: every table and figure of the paper, in one command."""

from collections import Counter
from pathlib import Path

import click

from seepage.cli.output import progress_bar
from seepage.errors import InputError

__all__ = ["command"]


@click.command("reproduce")
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="reproduction",
    show_default=True,
    metavar="DIR",
    help="The folder to write to; items that it has already are kept.",
)
@click.option("--again", is_flag=True, help="Make items once more that are kept already.")
@click.option("--list", "listing", is_flag=True, help="List the items, and make none.")
def command(items: tuple[str, ...], output: str, again: bool, listing: bool) -> None:
    """Reproduce every table and figure of the paper, or only each ITEM, beside its numbers.

    Each item becomes a table (CSV) and charts (SVG, PNG), and all together one page, index.html.
    Data are looked for in the folder that SEEPAGE_DATA names; what is missing is said. A run that
    was stopped is continued by the same command.

    \b
    Examples:
      seepage reproduce
      seepage reproduce fig4c table2 --output paper
      seepage reproduce --list
    """
    from seepage.study.reproduction import ITEMS, FinishedItem, reproduce

    if listing:
        from seepage.cli.output import columns

        rows = [[name, item.paper.place, item.paper.title] for name, item in ITEMS.items()]
        click.echo(columns(rows, left=True))
        return

    if not output:
        raise InputError("--output must be a folder, got ''")

    def tell(kept: FinishedItem, made: bool) -> None:
        tally = Counter(one.verdict for one in kept.comparisons)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in tally.items())
        how = f"{kept.seconds:.1f} s" if made else "kept"
        click.echo(f"{kept.item}: {verdicts} ({how})", err=True)

    with progress_bar("reproducing") as progress:
        reproduce(items, output, again=again, progress=progress, tell=tell)
    click.echo(str(Path(output, "index.html")))
