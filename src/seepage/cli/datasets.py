"""`seepage datasets`: the known datasets, and their files."""

from typing import TYPE_CHECKING

import click

from seepage._core.files import write_text
from seepage._core.progress import progress_bar
from seepage._core.results import csv_text, json_text
from seepage.cli import console, options
from seepage.cli.file_command import FileCommand
from seepage.cli.number_types import INTEGER_TYPE

if TYPE_CHECKING:
    from seepage.datasets.published_file import Dataset


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
        where = _where(known)
        bundled = "counts bundled" if known.name in BUNDLED else ""
        rows.append([known.name, where, bundled, known.licence, known.title])
    if form == "json":
        console.emit(
            json_text([dict(zip(rows[0], row, strict=True)) for row in rows[1:]]), None
        )
        return
    missing = "" if download_folder().is_dir() else ", which does not exist"
    legend = (
        f"Files are looked for in {download_folder()} ({FOLDER_VARIABLE} names "
        f"another){missing}.\n"
        "`seepage datasets fetch NAME` downloads them, or says how to get them by hand."
    )
    console.emit(f"{console.aligned(rows, left=True)}\n{legend}", None)


@datasets.command("fetch")
@click.argument("name")
def fetch_files(name: str) -> None:
    """Download the dataset NAME, where its owner allows it; checksums are verified."""
    from seepage.datasets.catalogue import dataset
    from seepage.datasets.download import fetch

    known = dataset(name)
    if not known.files:
        click.echo(f"{name} has no files: it is {known.address}")
    with progress_bar("downloading") as progress:
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


def _where(known: "Dataset") -> str:
    """Return where the files of a dataset are, or how they are got."""
    if known.at_hand:
        return "at hand"
    if known.archive:
        return "fetch"
    return "by hand"
