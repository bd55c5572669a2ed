"""Draws samples of a Python module for an audit, in a process of its own.

The module has a function `randomise` of a value, and of the rounds if there are
several.
"""

import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from seepage._core.errors import InputError
from seepage.auditing.report_keys import encoded_report

FUNCTION = "randomise"
"""The function of a module that is audited: of a value and a number of rounds."""


def main(path: str, job: str, answer: str) -> None:
    """Sample a Python module: write its reports to a file, a line for each value, and
    end.

    Parameters
    ----------
    path
        The module, which is run.
    job
        The values, the samples of each, and the rounds, as JSON.
    answer
        The file of the reports; its last line is a fault, if there was one.
    """
    task = msgspec.json.decode(Path(job).read_bytes())
    sys.argv = [path]
    sys.path.insert(0, str(Path(path).parent))
    with Path(answer).open("wb", buffering=0) as output:
        fault = _write_samples(path, task, output)
        if fault:
            output.write(msgspec.json.encode({"fault": fault}) + b"\n")
    os._exit(0)  # whatever threads and exit functions the module has


def _write_samples(path: str, task: dict[str, Any], output: BinaryIO) -> str:
    """Write the samples of a Python module for all values; return what went wrong, or
    an empty text.
    """
    try:
        function = runpy.run_path(path).get(FUNCTION)
    except BaseException as problem:
        return f"cannot be run: {problem!r}"
    if not callable(function):
        return f"must define a function {FUNCTION}(value)"
    try:
        for value in task["values"]:
            _write_reports(function, value, task, output)
    except InputError as problem:
        return f"cannot be audited: {problem}"
    except BaseException as problem:
        return f"failed: {problem!r}"
    return ""


def _write_reports(
    function: Callable[..., Any], value: Any, task: dict[str, Any], output: BinaryIO
) -> None:
    """Write the sampled reports of one value as one line."""
    further = [] if task["rounds"] == 1 else [task["rounds"]]
    reports = [
        encoded_report(function(value, *further)) for _ in range(task["samples"])
    ]
    output.write(msgspec.json.encode(reports) + b"\n")
