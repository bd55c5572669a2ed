"""`seepage count`: from a table to a file of pair counts."""

from typing import Any

import click

from seepage.cli.inputs import engine_options, engine_session, read_pairs
from seepage.cli.options import table_arguments, table_options
from seepage.cli.output import FileCommand, OutputFile

__all__ = ["command"]


@click.command("count", cls=FileCommand)
@click.argument("data")
@click.option("-o", "--output", required=True, type=OutputFile(), help="The file.")
@engine_options("numpy", "numba")
@click.option(
    "--domain",
    metavar="COUNTS",
    type=click.Path(dir_okay=False),
    help="Count in the domain of this file of pair counts, so that the two can be merged.",
)
@table_options
def command(
    data: str, output: str, engine: str, master: str | None, domain: str | None, **options: Any
) -> None:
    """Count all pairs of the table DATA into the file of pair counts OUTPUT.

    The counts are all that an analysis needs: count where the records live, analyse elsewhere.
    OUTPUT is one Parquet file in long form that any tool can read.

    \b
    Examples:
      seepage count survey.csv -o survey.pairs
      seepage count "part-*.parquet" -o all.pairs --drop id --bins age=0,18,65,120
      seepage count people.tsv -o people.pairs --bins width:8 --missing drop
      seepage count people/ -o people.pairs --engine spark --master spark://host:7077
    """
    from seepage.data.domain import how_many
    from seepage.data.pairs import PairCounts

    arguments = table_arguments(options) | {"engine": engine}
    if domain is not None:
        arguments["domain"] = PairCounts.load(domain).domain
    with engine_session(data, engine, master):
        pairs = read_pairs(data, arguments)
    pairs.save(output)
    click.echo(f"{how_many(pairs)}, {len(pairs.domain)} attributes -> {output}")
    for attribute in pairs.domain:
        if attribute.size == 1:
            click.echo(f"{attribute.name} is constant: always {attribute.values[0]}")
