"""Samples of a function: called here, or in a child process if it is in a module.

Somebody else's module runs in a process of its own.  What it prints, and how it ends,
cannot be mistaken for its reports: these come through a file that only the sampler
writes, and all that were asked for must be there.  The process has the user's rights.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

import seepage
from seepage._core.errors import InputError
from seepage.auditing.report_columns import ReportColumn, column_of_texts
from seepage.auditing.report_keys import (
    BRACKETS,
    EncodedReport,
    ReportKey,
    javascript_key,
    python_key,
    whole_text,
)

PYTHON_SUFFIX = ".py"
"""Suffix of the name of a Python module."""


SCRIPT_SUFFIXES = (".js", ".mjs")
"""Suffixes of the name of a JavaScript module."""


MODULE_SUFFIXES = (PYTHON_SUFFIX, *SCRIPT_SUFFIXES)
"""Suffixes of the names of modules."""


ERROR_LINE = re.compile(r"\w*Error\b")
"""Start of the line of Node's messages that says what went wrong."""


PYTHON_START = """
import importlib.util, sys
sys.path[:] = [folder for folder in sys.path if folder]
spec = importlib.util.spec_from_file_location("seepage", sys.argv[1])
sys.modules["seepage"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["seepage"])
from seepage.auditing.sample_python import main
main(*sys.argv[2:])
"""
"""Program of the child process of a Python module, which imports this very package."""


# Functions of this process ------------------------------------------------------------


def called_function(
    function: Callable[..., Any], values: Sequence[Any], count: int, rounds: int
) -> list[Any]:
    """Return samples of reports of a Python function, called with a value, and the
    rounds if several.
    """
    further = [] if rounds == 1 else [rounds]
    reports = []
    try:
        for value in values:
            reports += [function(value, *further) for _ in range(count)]
    except (Exception, SystemExit) as problem:
        raise InputError(f"the randomiser failed: {problem!r}") from None
    return reports


# Modules in a process of their own ----------------------------------------------------


def run_module(
    path: Path, values: Sequence[Any], count: int, rounds: int
) -> dict[str, ReportColumn]:
    """Return samples of reports of a module's function `randomise`, by the names of
    parts.

    Raises an InputError if the module fails, ends its process, or gives fewer reports
    than were asked for.
    """
    is_python = path.suffix.casefold() == PYTHON_SUFFIX
    command = _python_command() if is_python else _node_command()
    key_of = python_key if is_python else javascript_key
    with tempfile.TemporaryDirectory(prefix="seepage-audit-") as folder:
        job = Path(folder) / "job.json"
        answer = Path(folder) / "reports.jsonl"
        job.write_bytes(
            msgspec.json.encode({"values": values, "samples": count, "rounds": rounds})
        )
        done = subprocess.run(
            [*command, str(path.resolve()), str(job), str(answer)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        lines = answer.read_bytes().splitlines() if answer.exists() else []
    reports = _reports_of(path, lines)
    wanted = count * len(values)
    if len(reports) != wanted:
        raise InputError(
            f"{str(path)!r} ended its process, with status {done.returncode}, after "
            f"{len(reports):,} of {wanted:,} samples{_error_line(done.stderr)}"
        )
    return _columns(reports, key_of)


def _python_command() -> list[str]:
    """Return the command that samples a Python module."""
    if not sys.executable:
        raise InputError("a Python module needs an interpreter, and there is none")
    return [sys.executable, "-c", PYTHON_START, seepage.__file__]


def _node_command() -> list[str]:
    """Return the command that samples a JavaScript module."""
    node = shutil.which("node")
    if node is None:
        raise InputError("a client's module needs Node, and there is no command node")
    return [node, str(files("seepage") / "auditing" / "sample_client.mjs")]


def _reports_of(path: Path, lines: Iterable[bytes]) -> list[EncodedReport]:
    """Return the reports that a child process sampled from a module; raise with the
    fault that it wrote.
    """
    reports: list[EncodedReport] = []
    for line in lines:
        try:
            content = msgspec.json.decode(
                line, type=list[EncodedReport] | dict[str, str]
            )
        except msgspec.MsgspecError:
            break  # the line that was being written when the process ended
        if isinstance(content, dict):
            raise InputError(f"{str(path)!r} {content['fault']}")
        reports += content
    return reports


def _error_line(stderr: bytes) -> str:
    """Return the line of a sampled module's messages that says what went wrong, else
    the last one.
    """
    lines = stderr.decode(errors="replace").strip().splitlines()
    if not lines:
        return ""
    for line in lines:
        if ERROR_LINE.match(line):
            return f": {line.strip()}"
    return f": {lines[-1].strip()}"


def _columns(
    reports: Sequence[EncodedReport], key_of: Callable[[str], ReportKey]
) -> dict[str, ReportColumn]:
    """Return the encoded reports of a sampled module by the names of their parts."""
    vectors = [report for report in reports if isinstance(report, list)]
    kinds = {(*report[:BRACKETS], len(report)) for report in vectors}
    if len(vectors) < len(reports) or len(kinds) > 1 or len(vectors[0]) <= BRACKETS + 1:
        texts = [whole_text(report) for report in reports]
        return {"report": column_of_texts(texts, key_of)}
    columns = {}
    for place in range(len(vectors[0]) - BRACKETS):
        part = [vector[place + BRACKETS] for vector in vectors]
        columns[f"part {place}"] = column_of_texts(part, key_of)
    return columns
