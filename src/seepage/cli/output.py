"""Writing results: to the screen, or to a file that is never half-written."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from seepage.errors import InputError

__all__ = ["Progress", "emit", "encode_json", "progress_bar", "whole_file"]

Progress = Callable[[int, int | None], None]


def emit(text: str, output: str | None) -> None:
    """Write text to the screen, or to a file: first a temporary one, then renamed."""
    if output is None:
        click.echo(text.rstrip("\n"))
        return
    with whole_file(output) as partial:
        partial.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


@contextmanager
def whole_file(output: str | Path) -> Iterator[Path]:
    """Give a temporary path beside a file that takes its place once all is written."""
    final = Path(output)
    if not final.parent.is_dir():
        raise InputError(f"the folder of the output must exist, there is no {str(final.parent)!r}")
    partial = final.with_name(f".{final.name}.partial")
    try:
        yield partial
        partial.replace(final)
    except OSError as problem:
        raise InputError(f"cannot write {str(final)!r}: {problem.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


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
