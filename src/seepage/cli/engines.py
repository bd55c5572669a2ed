"""Who reads the records: this machine, or the executors of Spark."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from seepage.cli.inputs import is_counted
from seepage.errors import InputError

__all__ = ["engine_options", "engine_session"]

Command = TypeVar("Command", bound=Callable[..., Any])


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

    What Spark cannot read is refused before it starts.
    """
    if engine != "spark":
        if master is not None:
            raise InputError("--master needs --engine spark")
        yield
        return
    from seepage.counting.spark import spark_session
    from seepage.table.paths import PARQUET, find_files

    if is_counted(data):
        raise InputError(f"--engine spark reads Parquet files, and {data} is counted already")
    kind, files = find_files(data)
    if kind != PARQUET:
        raise InputError(f"--engine spark reads Parquet files, got {kind} ({files[0].name})")
    with spark_session(master):
        yield
