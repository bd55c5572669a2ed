"""Writing results: to the screen, or to a file that is never half-written."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

__all__ = ["Progress", "emit", "encode_json", "progress_bar"]

Progress = Callable[[int, int | None], None]


def emit(text: str, output: str | None) -> None:
    """Write text to the screen, or to a file that appears whole or not at all."""
    if output is None:
        click.echo(text.rstrip("\n"))
        return
    from seepage._output import whole_file

    with whole_file(output) as file:
        file.write((text.rstrip("\n") + "\n").encode())


def encode_json(content: Any) -> str:
    """Return indented JSON, with short arrays of numbers on one line each."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode()


@contextmanager
def progress_bar(what: str) -> Iterator[Progress | None]:
    """Give a callable that shows progress with the time left; None when not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
