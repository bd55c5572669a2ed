"""Run the command line in this process, as its entry point does."""

import contextlib
import io
from dataclasses import dataclass

from seepage.cli import main


@dataclass
class Done:
    """What a command left: its exit code and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments, cwd=None):
    """Return what `seepage ARGUMENTS` does, run in a folder."""
    out = io.StringIO()
    err = io.StringIO()
    where = contextlib.chdir(cwd) if cwd else contextlib.nullcontext()
    code = 0
    with where, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = stopped.code or 0
    return Done(code, out.getvalue(), err.getvalue())
