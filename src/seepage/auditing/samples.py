"""Samples of a randomiser: of a function, of a client's module in Node, or of a table."""

import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Integers
from seepage._core.errors import InputError
from seepage.collection.clear_columns import clear_columns, column_names
from seepage.mechanisms.randomiser import SINGLE, label

FUNCTION = "randomise"
"""The function of a module that is audited: of a value and a number of rounds."""


PYTHON_SUFFIX = ".py"
"""Suffix of the name of a Python module."""


SCRIPT_SUFFIXES = (".js", ".mjs")
"""Suffixes of the name of a JavaScript module."""


ERROR_LINE = re.compile(r"\w*Error\b")
"""Start of the line of Node's messages that says what went wrong."""


@dataclass(frozen=True)
class Sampling:
    """How a randomiser is sampled.

    Parameters
    ----------
    values, reports
        The values, which a function needs, and all possible reports if they are known.
    count, rounds
        How often a function is sampled for each value, and how many reports it returns
        each time.
    """

    values: Any
    reports: Any
    count: int
    rounds: int


@dataclass(frozen=True, eq=False)
class Samples:
    """Labels of the values, the code of each sample's value, and its report: an array
    per part.
    """

    values: tuple[str, ...]
    codes: Integers
    columns: Mapping[str, NDArray[Any]]
    table: Integers | None = None
    """Counts of values by reports, if all possible reports are known and have one
    part."""


def samples_of(source: Any, sampling: Sampling) -> Samples | None:
    """Return samples of a function or module, or those of a table; None for anything
    else.

    Parameters
    ----------
    source
        A function; the path of a Python or JavaScript module; a frame, a file with a
        column `value`, or a pair of arrays.
    sampling
        The values, all possible reports, and how often a function is sampled.
    """
    if isinstance(source, (str, os.PathLike)):
        source = checks.input_path(source, "randomiser")
        suffix = source.suffix.casefold()
        if suffix == PYTHON_SUFFIX:
            source = _python_function(source)
        elif suffix in SCRIPT_SUFFIXES:
            return _drawn_samples(partial(_run_script, source), sampling)
    if callable(source):
        return _drawn_samples(partial(_call, source), sampling)
    if _is_pair(source):
        true, reported = _pair_of_arrays(source)
        return _given_samples(true, reported, sampling)
    is_frame = hasattr(source, "__arrow_c_stream__")
    if is_frame or (isinstance(source, Path) and _is_table(source)):
        true, columns = _columns(source)
        return _given_samples(true, columns, sampling)
    return None


# Samples that are drawn ---------------------------------------------------------------


Draw = Callable[[Sequence[Any], Sampling], list[Any]]
"""A function of the values and the sampling that returns the reports, value by value."""


def _drawn_samples(draw: Draw, sampling: Sampling) -> Samples:
    """Return samples that are drawn for given values."""
    values = checks.items(sampling.values, "values", "the values to sample")
    labels = tuple(map(label, values))
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise checks.violation(
            "values", "at least two different values to sample", values
        )
    reports = draw(values, sampling)
    codes = np.repeat(np.arange(len(labels)), sampling.count)
    return _samples(labels, codes, reports, sampling.reports)


def _python_function(path: Path) -> Any:
    """Return the function of a Python module, which is run."""
    try:
        function = runpy.run_path(str(path)).get(FUNCTION)
    except Exception as problem:
        raise InputError(f"{str(path)!r} cannot be run: {problem!r}") from None
    if not callable(function):
        raise InputError(f"{str(path)!r} must define a function {FUNCTION}(value)")
    return function


def _call(function: Any, values: Sequence[Any], sampling: Sampling) -> list[Any]:
    """Return reports of a Python function, called with a value, and the rounds if
    several.
    """
    rounds = () if sampling.rounds == 1 else (sampling.rounds,)
    try:
        return [
            function(value, *rounds) for value in values for _ in range(sampling.count)
        ]
    except Exception as problem:
        raise InputError(f"the randomiser failed: {problem!r}") from None


def _run_script(path: Path, values: Sequence[Any], sampling: Sampling) -> list[Any]:
    """Return reports of the function that an ES module exports, run in Node."""
    node = shutil.which("node")
    if node is None:
        raise InputError("a client's module needs Node, and there is no command node")
    sampler = files("seepage") / "auditing" / "sample_client.mjs"
    job = {"values": values, "samples": sampling.count, "rounds": sampling.rounds}
    done = subprocess.run(
        [node, str(sampler), str(path.resolve())],
        input=msgspec.json.encode(job),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        error = _error_line(done.stderr.decode(errors="replace"))
        raise InputError(f"{str(path)!r} failed in Node: {error}")
    reports = []
    for line in done.stdout.splitlines():
        reports += msgspec.json.decode(line)
    return reports


def _error_line(message: str) -> str:
    """Return the line of Node's messages that says what went wrong, else the last one."""
    lines = message.strip().splitlines()
    if not lines:
        return "no message"
    for line in lines:
        if ERROR_LINE.match(line):
            return line.strip()
    return lines[-1].strip()


# Samples that are given ---------------------------------------------------------------


def _given_samples(true: NDArray[Any], reported: Any, sampling: Sampling) -> Samples:
    """Return samples of true values and what was reported."""
    if sampling.values is None:
        values = np.unique(true).tolist()
    else:
        values = checks.items(sampling.values, "values")
    labels = tuple(map(label, values))
    codes = _codes(true, labels, "value")
    return _samples(labels, codes, reported, sampling.reports)


def _is_pair(source: Any) -> bool:
    """Return whether a source is a tuple of arrays, not of numbers or texts."""
    if not isinstance(source, tuple):
        return False
    return not any(isinstance(part, (str, float)) for part in source)


def _pair_of_arrays(pair: tuple[Any, ...]) -> list[Any]:
    parts = [checks.array(part, "samples") for part in pair]
    if (
        len(pair) != 2
        or parts[1].ndim not in (1, 2)
        or parts[0].shape != parts[1].shape[:1]
    ):
        shapes = " and ".join(str(part.shape) for part in parts)
        raise InputError(
            f"the samples must be values and as many reports, got shapes {shapes}"
        )
    return parts


def _is_table(path: Path) -> bool:
    """Return whether a file is a table of samples: it has a column `value`."""
    if path.suffix.casefold() == ".json":
        return False
    with suppress(InputError):  # a matrix, whose first line need not name columns
        return SINGLE in column_names(path)
    return False


def _columns(table: Any) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Return the column `value` of a table, and the others."""
    columns = clear_columns(table, column_names(table))
    if SINGLE not in columns or len(columns) == 1:
        raise InputError(
            "the samples must have a column value and columns of reports, got "
            f"{list(columns)}"
        )
    true = columns.pop(SINGLE)
    return true, columns


# Reports ------------------------------------------------------------------------------


def _samples(
    values: tuple[str, ...], codes: Integers, reported: Any, reports: Any
) -> Samples:
    """Return samples whose reports are a mapping of columns, an array, or a list of any
    objects.
    """
    columns = reported
    if not isinstance(reported, Mapping):
        columns = _report_columns(reported)
    if reports is None:
        return Samples(values, codes, columns)
    if len(columns) != 1:
        raise InputError(
            "reports must be known one by one, got several parts", parameter="reports"
        )
    (column,) = columns.values()
    known = [label(report) for report in checks.items(reports, "reports")]
    table = np.zeros((len(values), len(known)), dtype=np.int64)
    np.add.at(table, (codes, _codes(column, known, "report")), 1)
    return Samples(values, codes, columns, table)


def _codes(column: NDArray[Any], known: Sequence[str], kind: str) -> Integers:
    """Return the place of each value or report among the known ones; raise for any
    other.
    """
    uniques, inverse = np.unique(column, return_inverse=True)
    labels = [label(value) for value in uniques.tolist()]
    for name in labels:
        if name not in known:
            hint = checks.near_miss(name, known)
            raise InputError(
                f"the samples have the {kind} {name!r}, which {kind}s lack{hint}"
            )
    places = [known.index(name) for name in labels]
    return np.array(places, dtype=np.int64)[inverse]


def _report_columns(reported: Any) -> dict[str, NDArray[Any]]:
    """Return reports by the names of their parts."""
    array = _report_array(reported)
    if array.ndim == 1:
        return {"report": array}
    return {f"part {place}": column for place, column in enumerate(array.T)}


def _report_array(reported: Any) -> NDArray[Any]:
    """Return reports as an array of numbers or texts, with two axes for vectors of one
    length.
    """
    with suppress(ValueError):  # vectors of several lengths
        array = np.asarray(reported)
        if array.ndim <= 2 and array.dtype.kind in "biufU" and array.size:
            return array
    encode = msgspec.json.Encoder(enc_hook=str).encode
    texts = []
    for report in reported:
        if isinstance(report, str):
            texts.append(report)
        else:
            texts.append(encode(report).decode())
    return np.array(texts)
