"""Files that a command reads and writes, looked at before any work begins."""

import os
from pathlib import Path
from typing import Any

import click

from seepage._output import writable
from seepage.errors import InputError, TableError

__all__ = ["FileCommand", "OutputFile", "files_behind"]

READ = ("data", "counts", "reports", "result", "plan", "plan_path", "domain", "transitions")
"""Parameters that name what is read.  Not `check`: a plan is certified again in its place."""


class OutputFile(click.Path):
    """A file to write, as `writable` has it, in a folder that permits it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path if a file can be written there."""
        place = writable(value, param.opts[-1] if param is not None else "the output")
        if not os.access(place.parent, os.W_OK):
            raise InputError(f"cannot write {value!r}: its folder does not permit it")
        return str(value)


class FileCommand(click.Command):
    """A command that refuses to read a file without a name, or to write over what it reads."""

    def invoke(self, ctx: click.Context) -> Any:
        """Look at the files, then run."""
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
        return super().invoke(ctx)


def _paths(value: Any) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def files_behind(path: str) -> list[Path]:
    """Return the files that are read for a path: itself, or a table's data files behind it."""
    from seepage.table.paths import find_files

    if Path(path).is_file():
        return [Path(path)]
    try:
        return find_files(path)[1]
    except TableError:
        return []
