"""`seepage count`: from a table to a file of pair counts."""

from typing import Any

import click

from seepage.cli.inputs import read_pairs
from seepage.cli.options import table_arguments, table_options
from seepage.cli.output import whole_file

__all__ = ["command"]


@click.command("count")
@click.argument("data")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The file.")
@table_options
def command(data: str, output: str, **options: Any) -> None:
    """Count all pairs of the table DATA into the file of pair counts OUTPUT.

    The counts are all that an analysis needs: count where the records live, analyse elsewhere.
    OUTPUT is one Parquet file in long form that any tool can read.

    \b
    Examples:
      seepage count survey.csv -o survey.pairs
      seepage count "part-*.parquet" -o all.pairs --drop id --bins age=0,18,65,120
      seepage count people.tsv -o people.pairs --bins width:8 --missing drop
    """
    from seepage.pairs_io import save_pairs

    pairs = read_pairs(data, table_arguments(options))
    with whole_file(output) as partial:
        save_pairs(pairs, partial)
    click.echo(f"{pairs.records:,} records, {len(pairs.domain)} attributes -> {output}")
    for attribute in pairs.domain:
        if attribute.size == 1:
            click.echo(f"{attribute.name} is constant: always {attribute.values[0]}")
