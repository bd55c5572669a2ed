"""`seepage datasets`: what is known, what is at hand, and how to get the rest."""

import click

from seepage.cli.output import emit, encode_json, progress_bar

__all__ = ["command"]


@click.group("datasets", invoke_without_command=True)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
@click.pass_context
def command(context: click.Context, form: str) -> None:
    """List the known datasets, or fetch one.

    Files are looked for in the folder that SEEPAGE_DATA names, plain or gzipped.

    \b
    Examples:
      seepage datasets
      seepage datasets fetch adult
    """
    if context.invoked_subcommand is not None:
        return
    from seepage.cli.output import columns
    from seepage.data.datasets import BUNDLED, DATASETS
    from seepage.data.datasets.published_files import FOLDER_VARIABLE, download_folder

    rows = []
    for found in DATASETS.values():
        where = "at hand" if found.at_hand else "fetch" if found.archive else "by hand"
        bundled = "counts bundled" if found.name in BUNDLED else ""
        rows.append([found.name, where, bundled, found.licence, found.title])
    if form == "json":
        keys = ["name", "files", "counts", "licence", "title"]
        emit(encode_json([dict(zip(keys, row, strict=True)) for row in rows]), None)
        return
    rows.insert(0, ["name", "files", "counts", "licence", "what it holds"])
    there = "" if download_folder().is_dir() else ", which does not exist"
    legend = (
        f"Files are looked for in {download_folder()} ({FOLDER_VARIABLE} names another){there}.\n"
        "`seepage datasets fetch NAME` downloads them, or says how to get them by hand."
    )
    emit(f"{columns(rows, left=True)}\n{legend}", None)


@command.command("fetch")
@click.argument("name")
def fetch_command(name: str) -> None:
    """Download the dataset NAME, where its owner allows it; checksums are verified."""
    from seepage.data.datasets import dataset
    from seepage.data.datasets.published_files import fetch

    found = dataset(name)
    if not found.files:
        click.echo(f"{name} has no files: it is {found.address}")
    with progress_bar("downloading") as progress:
        places = fetch(found, progress)
    for place in places:
        click.echo(str(place))
