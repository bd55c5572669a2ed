"""Files that commands read and write, checked before any work is done."""

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import (
    DataWarning,
    InputError,
    SeepageError,
    TableError,
    naming,
)
from seepage._core.files import writable

# Files, checked before any work -------------------------------------------------------


def option_name(option: click.Parameter) -> str:
    """Return the name of an option in messages, the first long one; an argument in
    capitals.
    """
    long = (name for name in option.opts if name.startswith("--"))
    return next(long, str(option.name).upper())


class OutputFile(click.Path):
    """Type of an option that names a file to write, see `writable`; its folder must be
    writable.
    """

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> str:
        """Return the path if a file can be written there."""
        path = writable(value, option_name(param))
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"cannot write {value!r}: its folder does not permit it")
        if param.name == "chart":
            from seepage.charts.chart_files import chart_ending

            chart_ending(path)
        return str(value)


class OutputFolder(click.Path):
    """Type of an option that names a folder to write to, which need not exist."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> str:
        """Return the path unless it is empty, which would be the current folder."""
        if not value:
            raise InputError(f"{option_name(param)} must be a folder, got ''")
        return str(super().convert(value, param, ctx))


FORCE_OPTION = click.Option(
    ["--force"], is_flag=True, help="Replace a file that seepage did not write."
)


OUTPUT_MARKERS = re.compile(
    rb"seepage|\b(leakage|cpl|plug_in|standard.error|undershoot|tcpl|backward)\b"
    rb"|records, \d+ attributes|joint frequencies"
)
"""Words in the first line of files that seepage writes; unlikely in the first line of a
dataset."""


PICTURE_SIGNATURES = {b"\x89PNG": ".png", b"%PDF": ".pdf", b"<svg": ".svg"}


SCANNED_BYTES = 1 << 16


def _is_replaceable(path: Path) -> bool:
    """Return whether a path does not exist, is empty, or looks like an earlier output.

    Our Parquet (in its footer), JSON and HTML contain "seepage"; CSV and text are
    recognised by the words of their first line, pictures by their signature.
    """
    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        head = file.read(SCANNED_BYTES)
        file.seek(-min(8, path.stat().st_size), os.SEEK_END)
        footer = (
            int.from_bytes(file.read(4), "little") if head.startswith(b"PAR1") else 0
        )
        file.seek(max(0, path.stat().st_size - max(SCANNED_BYTES, footer + 8)))
        tail = file.read()
    if head.startswith((b"PAR1", b"{", b"<!doctype html>")):
        return b"seepage" in head or b"seepage" in tail
    signatures = PICTURE_SIGNATURES.items()
    if any(
        head.startswith(mark) and path.suffix == ending for mark, ending in signatures
    ):
        return True
    return OUTPUT_MARKERS.search(head.partition(b"\n")[0]) is not None


class FileCommand(click.Command):
    """A command that checks its input and output files before any work.

    An InputError is raised for an empty input name (an argument, or an option of type
    `Path`), for an output that is also an input or another output, and for a file that
    seepage did not write (unless `--force`).  Messages of the library are rewritten to
    name the command's options.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if any(isinstance(param.type, OutputFile) for param in self.params):
            self.params.append(FORCE_OPTION)

    def invoke(self, ctx: click.Context) -> Any:
        """Check the files, then run the command."""
        force = ctx.meta["force"] = ctx.params.pop("force", False)
        if sys.stdout is None and ctx.params.get("output", "none needed") is None:
            raise InputError("standard output is closed, so --output must be given")
        inputs = [
            path
            for param in self.params
            if isinstance(param, click.Argument) or type(param.type) is click.Path
            for value in [ctx.params[str(param.name)]]
            for path in ([value] if isinstance(value, str) else value or ())
        ]
        if "" in inputs:
            raise InputError("what is read must have a name, got ''")
        outputs = [
            ctx.params[param.name]
            for param in self.params
            if isinstance(param.type, OutputFile)
            and param.name
            and ctx.params[param.name]
        ]
        for number, output in enumerate(outputs):
            if output in outputs[:number]:
                raise InputError(
                    f"two results cannot be written to one file, got {output!r} twice"
                )
            if Path(output).exists() and any(
                file.samefile(output) for path in inputs for file in input_files(path)
            ):
                raise InputError(
                    f"the output must not be what is read, got {output!r} for both"
                )
            if not force and not _is_replaceable(Path(output)):
                raise InputError(
                    f"{output!r} exists, and nothing in it says that seepage wrote it; "
                    "--force replaces it"
                )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # commands print the notes
                return super().invoke(ctx)
        except SeepageError as error:
            raise InputError(error.naming(_option_names())) from error


def _option_names() -> dict[str, str]:
    """Return the options and arguments of the running command by the library's
    parameters.
    """
    params = click.get_current_context().command.params
    shown = {str(param.name): option_name(param) for param in params}
    return {
        name.strip("-").lower().replace("-", "_"): name for name in shown.values()
    } | shown


def named(text: str) -> str:
    """Return a text of the library with the options of the running command for
    parameters.
    """
    return naming(text, _option_names())


def input_files(path: str) -> list[Path]:
    """Return the files that a path stands for: a file itself, or the files of a folder
    or glob.
    """
    from seepage.tables.sources import find_files

    if Path(path).is_file():
        return [Path(path)]
    try:
        return find_files(path)[1]
    except TableError:
        return []
