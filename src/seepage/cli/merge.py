"""`seepage merge`: counts of shards to the counts of the whole table."""

import click

from seepage.cli.output import whole_file

__all__ = ["command"]


@click.command("merge")
@click.argument("counts", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The file.")
def command(counts: tuple[str, ...], output: str) -> None:
    """Add the files of pair counts COUNTS up into OUTPUT.

    Shards can be counted anywhere and in any order, by any scheduler.  They must have the same
    attributes and, for numbers with bins, the same bins: give the edges (--bins), or count every
    shard in the domain of the first (--domain).

    \b
    Examples:
      seepage merge a.pairs b.pairs -o all.pairs
      seepage count part-1.parquet -o 1.pairs --domain 0.pairs
    """
    from seepage.counting.merging import merge_pairs
    from seepage.pairs_io import load_pairs_file, save_pairs

    merged = merge_pairs([load_pairs_file(path) for path in counts])
    with whole_file(output) as partial:
        save_pairs(merged, partial)
    click.echo(
        f"{len(counts)} files, {merged.records:,} records, "
        f"{len(merged.domain)} attributes -> {output}"
    )
