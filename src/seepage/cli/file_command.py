"""A command that checks its files before any work, and speaks of its own options."""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from seepage._core.errors import DataWarning, InputError, SeepageError, naming
from seepage.cli.files import (
    OutputFile,
    input_files,
    is_replaceable,
    option_name,
)

EXIT_FAILED = 1
"""Exit status of a verdict, a receiver or a machine that fails; bad input has 2."""


FORCE_OPTION = click.Option(
    ["--force"], is_flag=True, help="Replace a file that seepage did not write."
)
"""Option of the commands that write files."""

FIRST_COLUMN = 30
"""Maximum width of the names of options in the help."""


class FileCommand(click.Command):
    """A command that checks its input and output files before any work.

    An InputError is raised for an empty input name (an argument, or an option of type
    `Path`), for an output that is also an input or another output, and for a file that
    seepage did not write (unless `--force`).  Messages of the library are rewritten to
    name the command's options.

    Parameters
    ----------
    headings
        The help shows options under headings: the names of parameters by heading.
        Options that are not named, such as `--help`, end the last one.
    arguments, settings
        Those of `click.Command`.
    """

    def __init__(
        self,
        *arguments: Any,
        headings: Mapping[str, Sequence[str]] | None = None,
        **settings: Any,
    ) -> None:
        """Make a command that reads and writes files, with headings of its options."""
        super().__init__(*arguments, **settings)
        self.headings = headings or {}
        if any(isinstance(param.type, OutputFile) for param in self.params):
            self.params.append(FORCE_OPTION)

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the help of the command's options under their headings."""
        if not self.headings:
            super().format_options(ctx, formatter)
            return
        records = self._help_records(ctx)
        width = min(FIRST_COLUMN, max(len(names) for names, _ in records.values()))
        sections = {
            heading: [records.pop(name) for name in parameters if name in records]
            for heading, parameters in self.headings.items()
        }
        *_, last = sections.values()
        last.extend(records.values())
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl([(names.ljust(width), text) for names, text in rows])

    def _help_records(self, ctx: click.Context) -> dict[str, tuple[str, str]]:
        """Return the names of each option of the command and its help, by parameter."""
        records = dict[str, tuple[str, str]]()
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if isinstance(option, click.Option) and record is not None:
                records[str(option.name)] = record
        return records

    def invoke(self, ctx: click.Context) -> Any:
        """Check the files that the command reads and writes, then run it."""
        force = ctx.params.pop("force", False)
        ctx.meta["force"] = force
        if sys.stdout is None and ctx.params.get("output", "none needed") is None:
            raise InputError("standard output is closed, so --output must be given")
        inputs = list(self._inputs(ctx))
        if "" in inputs:
            raise InputError("what is read must have a name, got ''")
        outputs = list(self._outputs(ctx))
        for number, output in enumerate(outputs):
            if output in outputs[:number]:
                raise InputError(
                    f"two results cannot be written to one file, got {output!r} twice"
                )
            _check_is_no_input(output, inputs)
            if not force:
                _check_is_replaceable(output)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # commands print the notes
                return super().invoke(ctx)
        except SeepageError as error:
            raise InputError(error.naming(_option_names())) from error

    def _inputs(self, ctx: click.Context) -> Iterator[str]:
        """Yield the paths of what the command reads: arguments, and options of type
        `Path`.
        """
        for param in self.params:
            if isinstance(param, click.Argument) or type(param.type) is click.Path:
                value = ctx.params[str(param.name)]
                if isinstance(value, str):
                    yield value
                elif value is not None:
                    yield from value

    def _outputs(self, ctx: click.Context) -> Iterator[str]:
        """Yield the paths of the files that the command writes."""
        for param in self.params:
            if isinstance(param.type, OutputFile):
                path = ctx.params[str(param.name)]
                if path:
                    yield path


def _check_is_no_input(output: str, inputs: Sequence[str]) -> None:
    """Raise an InputError if a file that the command writes is one that it reads."""
    if not Path(output).exists():
        return
    for path in inputs:
        if any(file.samefile(output) for file in input_files(path)):
            raise InputError(
                f"the output must not be what is read, got {output!r} for both"
            )


def _check_is_replaceable(output: str) -> None:
    """Raise an InputError if the command would replace a file that seepage did not
    write.
    """
    if not is_replaceable(Path(output)):
        raise InputError(
            f"{output!r} exists, and nothing in it says that seepage wrote it; "
            "--force replaces it"
        )


def _option_names() -> dict[str, str]:
    """Return the options and arguments of the running command by the library's
    parameters.
    """
    params = click.get_current_context().command.params
    by_parameter = {str(param.name): option_name(param) for param in params}
    by_own_name = {
        name.strip("-").lower().replace("-", "_"): name
        for name in by_parameter.values()
    }
    return by_own_name | by_parameter


def with_option_names(text: str) -> str:
    """Return a message with the running command's options in place of the library's
    parameters.
    """
    return naming(text, _option_names())
