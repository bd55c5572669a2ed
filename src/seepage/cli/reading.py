"""Reading the argument DATA of commands, with notes and progress."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

from seepage._core.errors import InputError
from seepage._core.progress import Progress, progress_bar
from seepage._core.text import short_list
from seepage.channel.domain import Domain
from seepage.cli.file_command import with_option_names
from seepage.cli.keywords import explicit_keywords
from seepage.cli.options import DATA_KEYWORDS, TABLE_KEYWORDS
from seepage.tables.table_options import SPARK, TableOptions

if TYPE_CHECKING:
    from seepage.channel.pairs import PairCounts


def count_data(data: str, domain: Domain | None = None) -> "PairCounts":
    """Return the pair counts of DATA, read with the options given; print notes on its
    columns.
    """
    from seepage.tables.read import count_pairs

    keywords = explicit_keywords(DATA_KEYWORDS)
    with reading_progress(data, "counting") as progress:
        pairs = count_pairs(data, domain=domain, progress=progress, **keywords)
    print_reading_notes(data, pairs.domain)
    return pairs


def print_reading_notes(data: str, domain: Domain, notes: Sequence[str] = ()) -> None:
    """Print notes, and one line on columns that were binned by default."""
    from seepage.tables.read import is_counted

    for note in notes:
        click.echo(with_option_names(note), err=True)
    if is_counted(data, datasets=True):
        return
    options = TableOptions(**explicit_keywords(TABLE_KEYWORDS))
    binned = [
        attribute.name
        for attribute in domain
        if attribute.edges and options.given_rule(attribute.name) is None
    ]
    if binned:
        columns = short_list(binned, 4)
        click.echo(f"numbers binned at deciles: {columns} (--bins chooses)", err=True)


def reading_progress(data: str, stage: str) -> AbstractContextManager[Progress | None]:
    """Start a Spark session if the engine is Spark, and return the progress bar of a
    stage.

    An InputError is raised before Spark starts if it cannot read DATA.
    """
    options = click.get_current_context().params
    master = options.get("master")
    if options.get("engine") == SPARK:
        _start_spark(data, master)
    elif master is not None:
        raise InputError("--master needs --engine spark")
    return progress_bar(stage)


def _start_spark(data: str, master: str | None) -> None:
    """Start a Spark session to read DATA with."""
    from seepage.counting.spark.session import spark_session
    from seepage.tables.read import is_counted
    from seepage.tables.sources import PARQUET, find_files

    if is_counted(data, datasets=True):
        raise InputError(
            f"--engine spark reads Parquet files, and {data} is counted already"
        )
    kind, files = find_files(data)
    if kind != PARQUET:
        raise InputError(
            f"--engine spark reads Parquet files, got {kind} ({files[0].name})"
        )
    spark_session(master)
