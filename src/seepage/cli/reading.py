"""Reading the argument DATA of commands, with notes and progress."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import MISSING, fields
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from seepage._core.errors import InputError
from seepage._core.progress import Progress
from seepage._core.text import short_list
from seepage.channel.domain import ALL_OTHERS, Domain
from seepage.cli import console, files
from seepage.cli.files import OutputFile, option_name
from seepage.tables.table_options import SPARK, DataOptions, TableOptions

Command = TypeVar("Command", bound=Callable[..., Any])


def given(kind: Any) -> dict[str, Any]:
    """Return the fields of an options object that the command line gives, by name."""
    options = click.get_current_context().params
    found = dict[str, Any]()
    for one in fields(kind):
        if one.name in options and was_given(one.name):
            value = options[one.name]
            rest = (
                {}
                if one.default is MISSING or one.name == "bins"
                else {ALL_OTHERS: one.default}
            )
            found[one.name] = {**rest, **value} if isinstance(value, dict) else value
        if settings := options.get(f"{one.name}_of"):
            found[one.name] = {ALL_OTHERS: options[one.name], **settings}
    return found


# What was given -----------------------------------------------------------------------


def was_given(name: str) -> bool:
    """Return whether the option with this parameter name is on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def reject(names: Iterable[str], reason: str) -> None:
    """Raise an InputError if one of these options was given although it has no effect.

    Parameters
    ----------
    names
        The parameter names of the options.
    reason
        Why they have no effect.
    """
    for option in click.get_current_context().command.params:
        if option.name in names and was_given(option.name):
            raise InputError(f"{option_name(option)} has no effect: {reason}")


# DATA ---------------------------------------------------------------------------------


def count_data(data: str, kind: Any = DataOptions, **more: Any) -> Any:
    """Return the pair counts of DATA, read with the options given; print notes on its
    columns.
    """
    from seepage.tables.read import count_pairs

    with reading_progress(data, "counting") as progress:
        pairs = count_pairs(data, progress=progress, **(given(kind) | more))
    print_reading_notes(data, pairs.domain)
    return pairs


def print_reading_notes(data: str, domain: Domain, notes: Sequence[str] = ()) -> None:
    """Print notes, and one line on columns that were binned by default."""
    from seepage.tables.read import is_counted

    for note in notes:
        click.echo(files.named(note), err=True)
    if is_counted(data, datasets=True):
        return
    reading = TableOptions(**given(TableOptions) | {"domain": None})
    if binned := [
        a.name for a in domain if a.edges and reading.given_rule(a.name) is None
    ]:
        click.echo(
            f"numbers binned at deciles: {short_list(binned, 4)} (--bins chooses)",
            err=True,
        )


def reading_progress(data: str, what: str) -> AbstractContextManager[Progress | None]:
    """Start a Spark session if the engine is Spark, and return the progress bar of the
    work.

    An InputError is raised before Spark starts if it cannot read DATA.
    """
    options = click.get_current_context().params
    master = options.get("master")
    if options.get("engine") == SPARK:
        _start_spark(data, master)
    elif master is not None:
        raise InputError("--master needs --engine spark")
    return console.progress_bar(what)


def _start_spark(data: str, master: str | None) -> None:
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


# Options that several commands share --------------------------------------------------

MASTER = click.option(
    "--master",
    metavar="URL",
    help="Spark's master; by default all cores of this machine.",
)


def written(name: str, about: str) -> Callable[[Command], Command]:
    """Return an option that names a file to write."""
    return click.option(name, type=OutputFile(), help=about)
