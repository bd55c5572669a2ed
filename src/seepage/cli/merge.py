"""`seepage merge`: counts of shards to the counts of the whole table."""

from collections.abc import Sequence
from pathlib import Path

import click

from seepage.cli.output import FileCommand, OutputFile
from seepage.errors import InputError

__all__ = ["command"]


@click.command("merge", cls=FileCommand)
@click.argument("counts", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=OutputFile(), help="The file.")
def command(counts: tuple[str, ...], output: str) -> None:
    """Add the files of pair counts COUNTS up into OUTPUT.

    Shards can be counted anywhere and in any order, by any scheduler.  They must have the same
    attributes and, for numbers with bins, the same bins: give their edges (--bins), open at both
    ends so that no shard has a number outside.

    \b
    Examples:
      seepage count part-0.parquet -o 0.pairs --bins age=-inf,18,65,inf
      seepage count part-1.parquet -o 1.pairs --bins age=-inf,18,65,inf
      seepage merge 0.pairs 1.pairs -o all.pairs
    """
    from seepage.data.counting.accumulator import merge_pairs
    from seepage.data.domain import how_many
    from seepage.data.pairs_file import load_pairs_file, save_pairs

    _refuse_twice(counts)
    merged = merge_pairs([load_pairs_file(path) for path in counts])
    save_pairs(merged, output)
    click.echo(
        f"{len(counts)} files, {how_many(merged)}, {len(merged.domain)} attributes -> {output}"
    )


def _refuse_twice(counts: Sequence[str]) -> None:
    """Refuse a file that is given more than once: its records would count more than once."""
    seen = dict[Path, str]()
    for path in counts:
        if seen.setdefault(Path(path).resolve(), path) is not path:
            raise InputError(f"each file must be given once, got {path!r} twice")
