"""`seepage count`, `merge` and `datasets`."""

import warnings
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import SeepageWarning
from seepage._core.files import write_text
from seepage._core.results import csv_text, json_text
from seepage.cli import console, options, reading
from seepage.cli.command import FileCommand
from seepage.cli.number_types import INTEGER_TYPE


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
        f"{len(counts)} files, {how_many(merged)}, {len(merged.domain)} attributes -> {output}"
    )


@click.group("datasets", invoke_without_command=True)
@options.output_format("json")
@click.pass_context
def datasets(context: click.Context, form: str) -> None:
    """List the known datasets, or fetch one.

    Files are looked for in the folder that SEEPAGE_DATA names, plain or gzipped.

    \b
    Examples:
      seepage datasets
      seepage datasets fetch adult
      seepage datasets survey -o people.csv
    """
    if context.invoked_subcommand is not None:
        return
    from seepage.datasets.catalogue import BUNDLED, DATASETS
    from seepage.datasets.published_file import FOLDER_VARIABLE, download_folder

    rows = [["name", "files", "counts", "licence", "title"]]
    for known in DATASETS.values():
        where = "at hand" if known.at_hand else "fetch" if known.archive else "by hand"
        bundled = "counts bundled" if known.name in BUNDLED else ""
        rows.append([known.name, where, bundled, known.licence, known.title])
    if form == "json":
        console.emit(
            json_text([dict(zip(rows[0], row, strict=True)) for row in rows[1:]]), None
        )
        return
    missing = "" if download_folder().is_dir() else ", which does not exist"
    legend = (
        f"Files are looked for in {download_folder()} ({FOLDER_VARIABLE} names another){missing}.\n"
        "`seepage datasets fetch NAME` downloads them, or says how to get them by hand."
    )
    console.emit(f"{console.aligned(rows, left=True)}\n{legend}", None)


@datasets.command("fetch")
@click.argument("name")
def fetch_files(name: str) -> None:
    """Download the dataset NAME, where its owner allows it; checksums are verified."""
    from seepage.datasets.catalogue import dataset, fetch

    known = dataset(name)
    if not known.files:
        click.echo(f"{name} has no files: it is {known.address}")
    with console.progress_bar("downloading") as progress:
        files = fetch(known, progress)
    for file in files:
        click.echo(str(file))


@datasets.command("survey", cls=FileCommand)
@options.output_file("The CSV file.", default="people.csv")
@click.option("--people", type=INTEGER_TYPE, default=10_000, help="Number of people.")
def write_survey(output: str, people: int) -> None:
    """Write the synthetic survey of the documentation as a CSV file."""
    from seepage.datasets.survey import make_survey

    write_text(output, csv_text(make_survey(people).to_pydict()))
    click.echo(f"{people:,} people -> {output}")
