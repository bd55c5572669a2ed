"""`seepage count`: the pair counts of a table."""

from typing import Any

import click

from seepage.cli import console, options, reading
from seepage.cli.file_command import FileCommand


@click.command("count", cls=FileCommand)
@click.argument("data")
@options.output_file("The file.", required=True)
@options.DATA
@options.MASTER
@click.option(
    "--domain",
    type=click.Path(dir_okay=False),
    help="Count in the domain of this file of pair counts, so that both can be merged.",
)
def count(data: str, output: str, domain: str | None, **_: Any) -> None:
    """Count all pairs of the table DATA into the file of pair counts OUTPUT.

    The counts are all that an analysis needs: count where the records live, analyse
    elsewhere. OUTPUT is one Parquet file in long form that any tool can read.

    \b
    Examples:
      seepage count survey.csv -o survey.pairs
      seepage count "part-*.parquet" -o all.pairs --drop id --bins age=0,18,65,120
      seepage count people.tsv -o people.pairs --bins width:8 --missing drop
      seepage count people/ -o people.pairs --engine spark --master spark://host:7077
    """
    from seepage._core.text import how_many
    from seepage.channel.pairs import PairCounts

    within = None if domain is None else PairCounts.load(domain).domain
    pairs = reading.count_data(data, domain=within)
    pairs.save(output)
    click.echo(f"{how_many(pairs)}, {len(pairs.domain)} attributes -> {output}")
    for note in console.constants(pairs.domain):
        click.echo(note)
