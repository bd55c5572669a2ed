"""DATA on the command line: read through the same public function as in Python."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from seepage.cli.output import progress_bar
from seepage.data.pairs import PairCounts
from seepage.errors import InputError

__all__ = [
    "all_options_but",
    "engine_options",
    "engine_session",
    "read_pairs",
    "read_records",
    "reject_options",
    "was_given",
]

Command = TypeVar("Command", bound=Callable[..., Any])


def reject_options(names: Iterable[str], why: str) -> None:
    """Raise an InputError if one of these options was given: it would have no effect.

    Parameters
    ----------
    names
        The options by the names of their parameters.
    why
        Why they have none.
    """
    for option in click.get_current_context().command.params:
        if option.name in names and was_given(option.name):
            raise InputError(f"{option.opts[-1]} has no effect: {why}")


def was_given(name: str) -> bool:
    """Return whether an option stands on the command line, by the name of its parameter."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def all_options_but(*names: str) -> list[str]:
    """Return the parameters of the command that runs, without these."""
    params = click.get_current_context().command.params
    return [option.name for option in params if option.name and option.name not in names]


def read_pairs(data: str, arguments: dict[str, Any]) -> PairCounts:
    """Return the pair counts of DATA, counting them if it is a table."""
    from seepage.data.inputs import as_pairs

    with progress_bar("counting") as progress:
        return as_pairs(data, progress=progress, **arguments)


def read_records(data: str, arguments: dict[str, Any]) -> Any:
    """Return the records of DATA where it has them, else its pair counts."""
    from seepage.data.inputs import as_counted

    with progress_bar("reading") as progress:
        return as_counted(data, progress=progress, **arguments)


def engine_options(*local: str) -> Callable[[Command], Command]:
    """Return what adds the options that say who reads the records.

    Parameters
    ----------
    local
        The names of engines on this machine besides `auto`.
    """

    def add(command: Command) -> Command:
        master = click.option(
            "--master", metavar="URL", help="Spark's master; all cores of this machine if not."
        )
        engine = click.option(
            "--engine",
            type=click.Choice(["auto", *local, "spark"]),
            default="auto",
            show_default=True,
            help="Who reads DATA; spark: its executors read the Parquet files themselves.",
        )
        return engine(master(command))

    return add


@contextmanager
def engine_session(data: str, engine: str, master: str | None) -> Iterator[None]:
    """Keep a Spark session open as long as the block lasts, where Spark is the engine.

    What Spark cannot read raises an InputError before it starts.
    """
    if engine != "spark":
        if master is not None:
            raise InputError("--master needs --engine spark")
        yield
        return
    from seepage.data.inputs import is_dataset_name
    from seepage.data.pairs_file import is_pairs_file
    from seepage.data.spark.engine import spark_session
    from seepage.data.table.sources import PARQUET, find_files

    if is_dataset_name(data) or is_pairs_file(data):
        raise InputError(f"--engine spark reads Parquet files, and {data} is counted already")
    kind, files = find_files(data)
    if kind != PARQUET:
        raise InputError(f"--engine spark reads Parquet files, got {kind} ({files[0].name})")
    with spark_session(master):
        yield
