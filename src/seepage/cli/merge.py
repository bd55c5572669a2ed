"""`seepage merge`: pair counts of several shards, added up."""

import warnings
from pathlib import Path

import click

from seepage._core.errors import SeepageWarning
from seepage.cli import options
from seepage.cli.file_command import FileCommand


@click.command("merge", cls=FileCommand)
@click.argument("counts", nargs=-1, required=True)
@options.output_file("The file.", required=True)
def merge(counts: tuple[str, ...], output: str) -> None:
    """Add the files of pair counts COUNTS up into OUTPUT.

    Shards can be counted anywhere and in any order, by any scheduler.  They must have
    the same attributes and, for numbers with bins, the same bins: give their edges
    (--bins), open at both ends so that no shard has a number outside.  A table that was
    counted into two of them is refused: its records would count twice.

    \b
    Examples:
      seepage count part-0.parquet -o 0.pairs --bins age=-inf,18,65,inf
      seepage count part-1.parquet -o 1.pairs --bins age=-inf,18,65,inf
      seepage merge 0.pairs 1.pairs -o all.pairs
    """
    from seepage._core.text import how_many
    from seepage.channel.merging import merge_pairs
    from seepage.channel.pairs import PairCounts
    from seepage.tables.sources import check_distinct_files

    parts = [PairCounts.load(file) for file in counts]
    check_distinct_files([Path(file) for file in counts])
    with warnings.catch_warnings(record=True) as cautions:
        warnings.simplefilter("always", SeepageWarning)
        merged = merge_pairs(parts)
    merged.save(output)
    for caution in cautions:
        click.echo(f"seepage: {caution.message}", err=True)
    click.echo(
        f"{len(counts)} files, {how_many(merged)}, {len(merged.domain)} attributes -> "
        f"{output}"
    )
