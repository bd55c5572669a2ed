"""`seepage count`, `merge` and `datasets`: pair counts of tables, and the known datasets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from seepage._results import json_text
from seepage.cli.options import MASTER, click_options, count_data
from seepage.cli.output import FileCommand, OutputFile, emit, progress_bar, text_columns
from seepage.data.table.options import DataOptions
from seepage.errors import InputError


@click.command("count", cls=FileCommand)
@click.argument("data")
@click.option("-o", "--output", required=True, type=OutputFile(), help="The file.")
@click_options(DataOptions)
@MASTER
@click.option(
    "--domain",
    metavar="COUNTS",
    type=click.Path(dir_okay=False),
    help="Count in the domain of this file of pair counts, so that the two can be merged.",
)
def count(data: str, output: str, domain: str | None, **options: Any) -> None:
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

    within = None if domain is None else PairCounts.load(domain).domain
    pairs = count_data(data, domain=within)
    pairs.save(output)
    click.echo(f"{how_many(pairs)}, {len(pairs.domain)} attributes -> {output}")
    for attribute in pairs.domain:
        if attribute.size == 1:
            click.echo(f"{attribute.name} is constant: always {attribute.values[0]}")


@click.command("merge", cls=FileCommand)
@click.argument("counts", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=OutputFile(), help="The file.")
def merge(counts: tuple[str, ...], output: str) -> None:
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
    from seepage.data.domain import how_many
    from seepage.data.pairs import PairCounts
    from seepage.data.recoding import merge_pairs

    _check_distinct(counts)
    merged = merge_pairs([PairCounts.load(path) for path in counts])
    merged.save(output)
    click.echo(
        f"{len(counts)} files, {how_many(merged)}, {len(merged.domain)} attributes -> {output}"
    )


def _check_distinct(counts: Sequence[str]) -> None:
    """Raise an InputError if a file is given twice: its records would be counted twice."""
    seen = dict[Path, str]()
    for path in counts:
        if seen.setdefault(Path(path).resolve(), path) is not path:
            raise InputError(f"each file must be given once, got {path!r} twice")


@click.group("datasets", invoke_without_command=True)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
@click.pass_context
def datasets(context: click.Context, form: str) -> None:
    """List the known datasets, or fetch one.

    Files are looked for in the folder that SEEPAGE_DATA names, plain or gzipped.

    \b
    Examples:
      seepage datasets
      seepage datasets fetch adult
    """
    if context.invoked_subcommand is not None:
        return
    from seepage.data.datasets import BUNDLED, DATASETS
    from seepage.data.datasets.published_files import FOLDER_VARIABLE, download_folder

    rows = []
    for known in DATASETS.values():
        where = "at hand" if known.at_hand else "fetch" if known.archive else "by hand"
        bundled = "counts bundled" if known.name in BUNDLED else ""
        rows.append([known.name, where, bundled, known.licence, known.title])
    if form == "json":
        keys = ["name", "files", "counts", "licence", "title"]
        emit(json_text([dict(zip(keys, row, strict=True)) for row in rows]), None)
        return
    rows.insert(0, ["name", "files", "counts", "licence", "what it holds"])
    missing = "" if download_folder().is_dir() else ", which does not exist"
    legend = (
        f"Files are looked for in {download_folder()} ({FOLDER_VARIABLE} names another){missing}.\n"
        "`seepage datasets fetch NAME` downloads them, or says how to get them by hand."
    )
    emit(f"{text_columns(rows, left=True)}\n{legend}", None)


@datasets.command("fetch")
@click.argument("name")
def fetch_files(name: str) -> None:
    """Download the dataset NAME, where its owner allows it; checksums are verified."""
    from seepage.data.datasets import dataset
    from seepage.data.datasets.published_files import fetch

    known = dataset(name)
    if not known.files:
        click.echo(f"{name} has no files: it is {known.address}")
    with progress_bar("downloading") as progress:
        files = fetch(known, progress)
    for file in files:
        click.echo(str(file))
