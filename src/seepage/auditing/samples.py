"""Samples of a randomiser: from a function, a client's module in Node, or a table."""

import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Integers
from seepage.collection.regression import clear_columns, column_names
from seepage.errors import InputError
from seepage.mechanisms.randomiser import SINGLE, label

FUNCTION = "randomise"
"""The function of a module that is audited: of a value and a number of rounds."""

SCRIPTS = ".js", ".mjs"


@dataclass(frozen=True, eq=False)
class Samples:
    """True values and reports of a randomiser.

    Parameters
    ----------
    values
        The labels of the values.
    codes
        The code of the true value of each sample.
    columns
        The parts of the reports, by name: one array each.
    table
        Counts of values by reports, if all possible reports are known and have one part.
    """

    values: tuple[str, ...]
    codes: Integers
    columns: Mapping[str, NDArray[Any]]
    table: Integers | None = None


def samples_of(source: Any, values: Any, reports: Any, count: int, rounds: int) -> Samples | None:
    """Return samples of a function or module, or those of a table; None for anything else.

    Parameters
    ----------
    source
        A function; the path of a Python or JavaScript module; a frame, a file with a column
        `value`, or a pair of arrays.
    values, reports
        The values, which a function needs, and all possible reports if they are known.
    count, rounds
        How often a function is sampled for each value, and how many reports it returns each time.
    """
    path = None
    if isinstance(source, (str, os.PathLike)):
        path = _checks.input_path(source, "randomiser")
        if path.suffix.casefold() == ".py":
            source = _python_function(path)
    if callable(source) or (path is not None and path.suffix.casefold() in SCRIPTS):
        given = _checks.items(values, "values", "the values to sample")
        labels = tuple(map(label, given))
        if len(set(labels)) < max(2, len(labels)):
            raise _checks.violation("values", "at least two different values to sample", given)
        draw = _call if callable(source) else _run_script
        drawn = [one for several in draw(source, given, count, rounds) for one in several]
        return _samples(labels, np.repeat(np.arange(len(labels)), count), drawn, reports)
    if isinstance(source, tuple) and not any(isinstance(one, (str, float)) for one in source):
        true, reported = _pair_of_arrays(source)
    elif hasattr(source, "__arrow_c_stream__") or (path is not None and _is_table(path)):
        true, reported = _columns(source)
    else:
        return None
    known = np.unique(true).tolist() if values is None else _checks.items(values, "values")
    labels = tuple(map(label, known))
    return _samples(labels, _codes(true, labels, "value"), reported, reports)


# Functions ---------------------------------------------------------------------------------------


def _python_function(path: Path) -> Any:
    try:
        found = runpy.run_path(str(path)).get(FUNCTION)
    except Exception as problem:
        raise InputError(f"{str(path)!r} cannot be run: {problem!r}") from None
    if not callable(found):
        raise InputError(f"{str(path)!r} must define a function {FUNCTION}(value)")
    return found


def _call(function: Any, values: Sequence[Any], count: int, rounds: int) -> list[list[Any]]:
    """Return reports of a Python function, called with a value, and the rounds if several."""
    more = () if rounds == 1 else (rounds,)
    try:
        return [[function(value, *more) for _ in range(count)] for value in values]
    except Exception as problem:
        raise InputError(f"the randomiser failed: {problem!r}") from None


def _run_script(path: Any, values: Sequence[Any], count: int, rounds: int) -> list[list[Any]]:
    """Return reports of the function that an ES module exports, run in Node."""
    node = shutil.which("node")
    if node is None:
        raise InputError("a client's module needs Node, and there is no command node")
    driver, module = files("seepage") / "auditing" / "sample_client.mjs", Path(path).resolve()
    job = msgspec.json.encode({"values": values, "samples": count, "rounds": rounds})
    done = subprocess.run(
        [node, str(driver), str(module)], input=job, capture_output=True, check=False
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        told = next((line for line in lines if re.match(r"\w*Error\b", line)), lines[-1])
        raise InputError(f"{str(path)!r} failed in Node: {told.strip()}")
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


# Tables ------------------------------------------------------------------------------------------


def _is_table(path: Path) -> bool:
    """Return whether a file is a table of samples: it has a column `value`."""
    with suppress(InputError):  # a matrix, whose first line need not name columns
        return path.suffix.casefold() != ".json" and SINGLE in column_names(path)
    return False


def _pair_of_arrays(pair: tuple[Any, ...]) -> tuple[NDArray[Any], Any]:
    parts = [_checks.array(part, "samples") for part in pair]
    shapes = [part.shape for part in parts]
    if len(pair) != 2 or parts[1].ndim not in (1, 2) or shapes[0] != shapes[1][:1]:
        told = " and ".join(map(str, shapes))
        raise InputError(f"the samples must be values and as many reports, got shapes {told}")
    return parts[0], parts[1]


def _columns(table: Any) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Return the column `value` of a table, and the others."""
    columns = clear_columns(table, column_names(table))
    if SINGLE not in columns or len(columns) == 1:
        raise InputError(
            f"the samples must have a column value and columns of reports, got {list(columns)}"
        )
    return columns.pop(SINGLE), columns


def _samples(values: tuple[str, ...], codes: Integers, reported: Any, reports: Any) -> Samples:
    """Return samples whose reports are a mapping of columns, an array, or a list of any objects."""
    if not isinstance(reported, Mapping):
        array = _report_array(reported)
        reported = {"report": array}
        if array.ndim == 2:
            reported = {f"part {place}": column for place, column in enumerate(array.T)}
    if reports is None:
        return Samples(values, codes, reported)
    if len(reported) != 1:
        raise InputError("reports must be known one by one, got several parts", parameter="reports")
    (column,) = reported.values()
    known = [label(one) for one in _checks.items(reports, "reports")]
    table = np.zeros((len(values), len(known)), dtype=np.int64)
    np.add.at(table, (codes, _codes(column, known, "report")), 1)
    return Samples(values, codes, reported, table)


def _codes(column: NDArray[Any], known: Sequence[str], what: str) -> Integers:
    """Return the place of each value or report among the known ones; raise for any other."""
    uniques, inverse = np.unique(column, return_inverse=True)
    seen = [label(one) for one in uniques.tolist()]
    for one in seen:
        if one not in known:
            hint = _checks.near_miss(one, known)
            raise InputError(f"the samples have the {what} {one!r}, which {what}s lack{hint}")
    return np.array([known.index(one) for one in seen], dtype=np.int64)[inverse]


def _report_array(reported: Any) -> NDArray[Any]:
    """Return reports as an array of numbers or texts, with two axes for vectors of one length."""
    with suppress(ValueError):  # vectors of several lengths
        array = np.asarray(reported)
        if array.ndim <= 2 and array.dtype.kind in "biufU" and array.size:
            return array
    encode = msgspec.json.Encoder(enc_hook=str).encode
    return np.array([one if isinstance(one, str) else encode(one).decode() for one in reported])
