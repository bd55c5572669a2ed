"""What commands print and write: files checked before any work, messages by option names."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from seepage._files import whole_file, writable
from seepage._results import Progress, json_text
from seepage.errors import InputError, SeepageError, TableError

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that move a terminal's cursor or turn its text; tabs and line feeds are not."""


def emit(text: str, output: str | None) -> None:
    """Write text to the screen, or to a file that appears whole or not at all.

    On a terminal control characters, which names may hold, are shown escaped.
    """
    if output is None:
        if sys.stdout is not None and sys.stdout.isatty():
            text = CONTROL.sub(lambda c: c[0].encode("unicode_escape").decode("ascii"), text)
        click.echo(text.rstrip("\n"), color=True)  # or Click would take escape sequences out
        return
    with whole_file(output) as file:
        file.write((text.rstrip("\n") + "\n").encode())
    click.echo(f"wrote {output}", err=True)


def written_as(form: str, found: Any, text: Callable[..., str], *settings: Any) -> str:
    """Return a result as JSON, as CSV, or in the words of a function of it and the settings."""
    if form == "json":
        return json_text(found.to_dict())
    return str(found.to_csv()) if form == "csv" else text(found, *settings)


def draw(found: Any, path: str | None) -> None:
    """Write the chart of a result where a file for it is named."""
    if path is not None:
        from seepage.charts.chart_files import save_chart

        save_chart(found.chart(), path)


@contextmanager
def progress_bar(what: str) -> Iterator[Progress | None]:
    """Give a callable that shows progress with the time left; None when not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    import rich.progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield StagedBar(bar, what)


class StagedBar:
    """Progress on a terminal: one bar, which begins anew with the name of each stage."""

    def __init__(self, bar: Any, what: str) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=None)

    def __call__(self, done: int, total: int | None) -> None:
        """Show the steps done and those in all."""
        self._bar.update(self._task, completed=done, total=total)

    def stage(self, name: str) -> None:
        """Begin the bar of a stage."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=None)

    def describe(self, text: str) -> None:
        """Change what is written before the bar."""
        self._bar.update(self._task, description=text)


def columns(rows: Sequence[Sequence[str]], *, left: bool = False) -> str:
    """Return rows of text in columns: the first to the left, the others right unless `left`."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width in zip(others, widths[1:], strict=True)
        ]
        lines.append("  " + "  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)


# Files, checked before any work ------------------------------------------------------------------

READ = (
    "data",
    "labels",
    "counts",
    "reports",
    "result",
    "plan",
    "plan_path",
    "domain",
    "transitions",
)
"""Parameters that name what is read.  Not `check`: a plan is certified again in its place."""


class OutputFile(click.Path):
    """A file to write, as `writable` has it, in a folder that permits it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path if a file can be written there."""
        index = writable(value, param.opts[-1] if param is not None else "the output")
        if not os.access(index.parent, os.W_OK):
            raise InputError(f"cannot write {value!r}: its folder does not permit it")
        if param is not None and param.name == "chart":
            from seepage.charts.chart_files import chart_ending

            chart_ending(index)
        return str(value)


FORCED = "seepage.force"
FORCE = click.Option(
    ["--force"],
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, _, value: ctx.meta.update({FORCED: value}),
    help="Replace a file that seepage did not write.",
)
OUR_WORDS = re.compile(
    rb"seepage|\b(leakage|cpl|plug_in|standard.error|undershoot|tcpl|backward)\b"
    rb"|records, \d+ attributes|joint frequencies"
)
"""What our files say near their beginning or end, and hardly a dataset does in its first line."""

PICTURES = {b"\x89PNG": ".png", b"%PDF": ".pdf", b"<svg": ".svg"}
LOOKED_AT = 1 << 16


def _may_be_replaced(path: Path) -> bool:
    """Return whether a path is free, or is an earlier output as far as its content tells.

    Parquet, JSON and HTML that we write names seepage; CSV and text are known by the words of
    their first line, pictures by being pictures.
    """
    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        head = file.read(LOOKED_AT)
        file.seek(max(0, path.stat().st_size - LOOKED_AT))
        tail = file.read()
    if head.startswith((b"PAR1", b"{", b"<!doctype html>")):
        return b"seepage" in head or b"seepage" in tail
    if any(head.startswith(mark) and path.suffix == end for mark, end in PICTURES.items()):
        return True
    return OUR_WORDS.search(head.partition(b"\n")[0]) is not None


class FileCommand(click.Command):
    """A command that raises before it reads a file without a name or writes over what it reads.

    Messages of the library name the command's options.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if any(isinstance(param.type, OutputFile) for param in self.params):
            self.params.append(FORCE)

    def invoke(self, ctx: click.Context) -> Any:
        """Look at the files, then run."""
        if sys.stdout is None and ctx.params.get("output", "none needed") is None:
            raise InputError("standard output is closed, so --output must be given")
        given = [name for param in self.params if (name := param.name) in READ]
        read = [path for name in given for path in _paths(ctx.params[name])]
        if "" in read:
            raise InputError("what is read must have a name, got ''")
        outputs = [
            ctx.params[param.name]
            for param in self.params
            if isinstance(param.type, OutputFile) and param.name and ctx.params[param.name]
        ]
        for number, output in enumerate(outputs):
            if output in outputs[:number]:
                raise InputError(f"two results cannot be written to one file, got {output!r} twice")
            if Path(output).exists() and any(
                file.samefile(output) for path in read for file in files_behind(path)
            ):
                raise InputError(f"the output must not be what is read, got {output!r} for both")
            if not ctx.meta.get(FORCED) and not _may_be_replaced(Path(output)):
                raise InputError(
                    f"{output!r} exists, and nothing in it says that seepage wrote it; "
                    "--force replaces it"
                )
        try:
            return super().invoke(ctx)
        except SeepageError as problem:
            raise InputError(_in_options(str(problem), self.params)) from problem


# Messages in the words of a command's options ----------------------------------------------------


def _in_options(message: str, params: Sequence[click.Parameter]) -> str:
    """Return a message of the library with the command's options in place of parameters.

    Library messages begin with the parameter that they are about: `epsilon must be ...`.
    """
    options = _options(params)
    found = SUBJECT.match(message)
    name = OTHER_NAMES.get(found["name"], found["name"]) if found else None
    if found and name in options:
        message = f"{found['each'] or ''}{options[name]}{message[found.end() :]}"
    return with_options(message, params)


SUBJECT = re.compile(r"(?P<each>each )?(?(each)of )(?P<name>\w+)(?=:? (?!need all))")
"""What a message is about, at its beginning."""

OTHER_NAMES = {
    "missing_markers": "missing_marker",
    "guarantees": "totals",
    "weights": "weight",
    "target_delta": "delta",
}
"""Parameters whose options are named otherwise."""


def with_options(text: str, params: Sequence[click.Parameter]) -> str:
    """Return a text in which settings are the command's: `--scope table` for `scope='table'`."""
    options = _options(params)

    def put(found: re.Match[str]) -> str:
        name, value = found["name"] or found["word"] or found["aside"], found["value"]
        if name not in options:
            return found[0]
        if found["aside"]:
            return f"({options[name]})"
        return options[name] if value is None else f"{options[name]} {value}"

    return SETTING.sub(put, text)


SETTING = re.compile(
    r"""\b(?P<name>\w+)=(['"]?)(?P<value>[\w.]+)\2|`(?P<word>\w+)`"""
    r"""|\((?P<aside>\w+)\)(?![^']*'[,;: ])"""
)
"""A parameter of the library with its value, or its name in code or in brackets; not in a name."""


def _options(params: Sequence[click.Parameter]) -> dict[str | None, str]:
    return {param.name: param.opts[-1] for param in params if isinstance(param, click.Option)}


def _paths(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, (tuple, list)) else ()


def files_behind(path: str) -> list[Path]:
    """Return the files that are read for a path: itself, or a table's data files behind it."""
    from seepage.data.table.sources import find_files

    if Path(path).is_file():
        return [Path(path)]
    try:
        return find_files(path)[1]
    except TableError:
        return []
