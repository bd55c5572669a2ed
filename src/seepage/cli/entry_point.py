"""The command line: parse, call, print.  A command's module is imported when it
runs.
"""

import os
import signal
import sys
import threading
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click

from seepage import __version__
from seepage._core import checks, threads
from seepage._core.errors import InputError, SeepageError
from seepage.cli.file_command import EXIT_FAILED

COMMANDS = {
    "analyse": "Leakage of every attribute about every other, and in total.",
    "audit": "What somebody else's randomiser realises beside what is claimed.",
    "benchmark": "Compare analysers of leakage, or mechanisms, on real data.",
    "calibrate": "The largest budgets that keep every total within a limit.",
    "check": "What the columns of a table are, and what to decide first.",
    "client": "A plan for browsers: an ES module, test vectors, a questionnaire.",
    "collect": "Receive the reports of a plan over HTTP, for pilots.",
    "compare": "How far one table is from another, and which leakages it understates.",
    "count": "Count all pairs of a table into a file of pair counts.",
    "datasets": "List the known datasets, or download one.",
    "design": "The forms that keep every total within a limit with the least error.",
    "estimate": "Frequencies and pairs from the reports of a plan.",
    "merge": "Add up the pair counts of several shards.",
    "open": "The app: from a table to a signed plan in the browser.",
    "perturb": "Turn records into the reports of a plan.",
    "report": "Draw a saved analysis or a plan as one self-contained page.",
    "simulate": "Estimate leakages from a simulated collection.",
    "stream": "Leakage over time, for a sequence of reports of one attribute.",
}
"""Each command, in a module of its name, and its one-line help."""


SPELLINGS = {"analyze": "analyse"}
"""Other spellings of commands."""


EXIT_BAD_INPUT = 2
"""Exit status of bad input."""


HELP_REQUEST = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What newer versions of Click raise for a group without a command."""


EXIT_INTERRUPTED = 130
"""Exit status of an interrupted command."""


MIN_ADDRESS_SPACE = 2
"""Minimum address space in GiB: below, OpenBLAS may wait without end for memory of its
threads."""


class LazyGroup(click.Group):
    """A group whose commands are imported only when they run, so that `--help` is
    quick.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one of the commands by name."""
        cmd_name = SPELLINGS.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            hint = checks.near_miss(cmd_name, COMMANDS)
            raise click.UsageError(f"there is no command {cmd_name!r}{hint}", ctx)
        module = import_module(f"seepage.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="seepage")
def group() -> None:
    """Measure what correlated attributes leak under local differential privacy.

    DATA is a table (CSV, TSV, Parquet, Feather; a file, folder or glob), a file of pair
    counts, or the name of bundled counts, such as adult.

    \b
    Examples:
      seepage analyse adult --epsilon 1
      seepage count survey.csv --output survey.pairs
      seepage analyse survey.pairs --epsilon 2 --mechanism grr --format json
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; bad input ends in one line on standard error and exit code
    2.
    """
    _open_standard_streams()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _exit_on_signal)
    try:
        threads.need_address_space(MIN_ADDRESS_SPACE, "the command")
        group.main(args=arguments, prog_name="seepage", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except HELP_REQUEST as error:
        error.show()
        sys.exit(EXIT_BAD_INPUT)
    except click.ClickException as error:
        _end(_usage_message(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _end("stopped", EXIT_INTERRUPTED)
    except SeepageError as error:
        _end(str(error), EXIT_BAD_INPUT)
    except MemoryError:
        _end("not enough memory; choose fewer columns or coarser bins", EXIT_FAILED)
    except BrokenPipeError:
        if sys.stderr is not None:
            sys.stderr.close()
        sys.exit(EXIT_FAILED)
    except OSError as error:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), 1
        )  # what is left would fail again at exit
        _end(_os_message(error), EXIT_BAD_INPUT)


def _end(message: str, status: int) -> NoReturn:
    """End the command line: print one line on standard error and exit."""
    click.echo(f"seepage: {message}", err=True)
    sys.exit(status)


def _open_standard_streams() -> None:
    """Open the null device in place of standard streams that are closed when the
    command line starts.

    Otherwise the next file that is opened gets their descriptor, and output meant for
    the screen is written into it; and libraries that write to `sys.stderr` find None
    there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    """End the command line on a signal by an exception, so that unfinished files are
    removed.
    """
    raise SystemExit(128 + number)


def _usage_message(error: click.ClickException) -> str:
    """Return Click's message on wrong use of the command line in one line, with a hint
    to the command's help.
    """
    context = getattr(error, "ctx", None)
    hint = f"; see `{context.command_path} --help`" if context is not None else ""
    message = str(InputError(error.format_message())).rstrip(".")
    if "unexpected extra argument" in message:
        hint = (
            f"; give one path, and several files as a folder or a glob in quotes{hint}"
        )
    return message + hint


def _os_message(error: OSError) -> str:
    """Return an operating system error that ends the command line in one line; without
    a file name it is standard output.
    """
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"cannot write the result: {reason}"
    return f"cannot open {os.fsdecode(error.filename)!r}: {reason}"
