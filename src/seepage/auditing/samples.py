"""Samples of a randomiser, from a function, a client's module in Node or a table; what
they prove.

The lower limit of epsilon [theory: Audits] uses two values u, u' and a set S of
reports, chosen on one half of the samples and tested on the other, so that no union
over events is needed:

    epsilon >= ln (lower limit of P(S given u) - delta) / (upper limit of P(S given
    u')).

Every choice gives a valid limit; a good one gives a large limit.  Reports are split
into parts (the bits of a vector, the rounds of a person), each with few categories, and
S holds the reports whose log-likelihood ratio, summed over parts as if these were
independent, is above a threshold.
"""

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

from seepage._core import checks
from seepage._core.arrays import Integers
from seepage._core.errors import InputError
from seepage.collection.formula import clear_columns, column_names
from seepage.mechanisms.randomiser import SINGLE, label

FUNCTION = "randomise"
"""The function of a module that is audited: of a value and a number of rounds."""


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


def samples_of(
    source: Any, values: Any, reports: Any, count: int, rounds: int
) -> Samples | None:
    """Return samples of a function or module, or those of a table; None for anything
    else.

    Parameters
    ----------
    source
        A function; the path of a Python or JavaScript module; a frame, a file with a
        column `value`, or a pair of arrays.
    values, reports
        The values, which a function needs, and all possible reports if they are known.
    count, rounds
        How often a function is sampled for each value, and how many reports it returns
        each time.
    """
    kind = ""
    if isinstance(source, (str, os.PathLike)):
        source = checks.input_path(source, "randomiser")
        kind = source.suffix.casefold()
    if kind == ".py":
        source = _python_function(source)
    if callable(source) or kind in (".js", ".mjs"):
        given = checks.items(values, "values", "the values to sample")
        labels = tuple(map(label, given))
        if len(set(labels)) < max(2, len(labels)):
            raise checks.violation(
                "values", "at least two different values to sample", given
            )
        draw = _call if callable(source) else _run_script
        drawn = draw(source, given, count, rounds)
        return _samples(
            labels, np.repeat(np.arange(len(labels)), count), drawn, reports
        )
    if isinstance(source, tuple) and not any(
        isinstance(one, (str, float)) for one in source
    ):
        true, reported = _pair_of_arrays(source)
    elif hasattr(source, "__arrow_c_stream__") or (
        isinstance(source, Path) and _is_table(source)
    ):
        true, reported = _columns(source)
    else:
        return None
    known = (
        np.unique(true).tolist() if values is None else checks.items(values, "values")
    )
    labels = tuple(map(label, known))
    return _samples(labels, _codes(true, labels, "value"), reported, reports)


def _python_function(path: Path) -> Any:
    try:
        found = runpy.run_path(str(path)).get(FUNCTION)
    except Exception as problem:
        raise InputError(f"{str(path)!r} cannot be run: {problem!r}") from None
    if not callable(found):
        raise InputError(f"{str(path)!r} must define a function {FUNCTION}(value)")
    return found


def _call(function: Any, values: Sequence[Any], count: int, rounds: int) -> list[Any]:
    """Return reports of a Python function, called with a value, and the rounds if
    several.
    """
    more = () if rounds == 1 else (rounds,)
    try:
        return [function(value, *more) for value in values for _ in range(count)]
    except Exception as problem:
        raise InputError(f"the randomiser failed: {problem!r}") from None


def _run_script(
    path: Path, values: Sequence[Any], count: int, rounds: int
) -> list[Any]:
    """Return reports of the function that an ES module exports, run in Node."""
    node = shutil.which("node")
    if node is None:
        raise InputError("a client's module needs Node, and there is no command node")
    call = [
        node,
        str(files("seepage") / "auditing" / "sample_client.mjs"),
        str(path.resolve()),
    ]
    job = msgspec.json.encode({"values": values, "samples": count, "rounds": rounds})
    done = subprocess.run(call, input=job, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [
            "no message"
        ]
        told = next(
            (line for line in lines if re.match(r"\w*Error\b", line)), lines[-1]
        )
        raise InputError(f"{str(path)!r} failed in Node: {told.strip()}")
    return [
        one for line in done.stdout.splitlines() for one in msgspec.json.decode(line)
    ]


def _is_table(path: Path) -> bool:
    """Return whether a file is a table of samples: it has a column `value`."""
    with suppress(InputError):  # a matrix, whose first line need not name columns
        return path.suffix.casefold() != ".json" and SINGLE in column_names(path)
    return False


def _pair_of_arrays(pair: tuple[Any, ...]) -> list[Any]:
    parts = [checks.array(part, "samples") for part in pair]
    if (
        len(pair) != 2
        or parts[1].ndim not in (1, 2)
        or parts[0].shape != parts[1].shape[:1]
    ):
        told = " and ".join(str(part.shape) for part in parts)
        raise InputError(
            f"the samples must be values and as many reports, got shapes {told}"
        )
    return parts


def _columns(table: Any) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Return the column `value` of a table, and the others."""
    columns = clear_columns(table, column_names(table))
    if SINGLE not in columns or len(columns) == 1:
        raise InputError(
            f"the samples must have a column value and columns of reports, got {list(columns)}"
        )
    return columns.pop(SINGLE), columns


def _samples(
    values: tuple[str, ...], codes: Integers, reported: Any, reports: Any
) -> Samples:
    """Return samples whose reports are a mapping of columns, an array, or a list of any
    objects.
    """
    if not isinstance(reported, Mapping):
        array = _report_array(reported)
        reported = {"report": array}
        if array.ndim == 2:
            reported = {f"part {place}": column for place, column in enumerate(array.T)}
    if reports is None:
        return Samples(values, codes, reported)
    if len(reported) != 1:
        raise InputError(
            "reports must be known one by one, got several parts", parameter="reports"
        )
    (column,) = reported.values()
    known = [label(one) for one in checks.items(reports, "reports")]
    table = np.zeros((len(values), len(known)), dtype=np.int64)
    np.add.at(table, (codes, _codes(column, known, "report")), 1)
    return Samples(values, codes, reported, table)


def _codes(column: NDArray[Any], known: Sequence[str], what: str) -> Integers:
    """Return the place of each value or report among the known ones; raise for any
    other.
    """
    uniques, inverse = np.unique(column, return_inverse=True)
    seen = [label(one) for one in uniques.tolist()]
    for one in seen:
        if one not in known:
            hint = checks.near_miss(one, known)
            raise InputError(
                f"the samples have the {what} {one!r}, which {what}s lack{hint}"
            )
    return np.array([known.index(one) for one in seen], dtype=np.int64)[inverse]


def _report_array(reported: Any) -> NDArray[Any]:
    """Return reports as an array of numbers or texts, with two axes for vectors of one
    length.
    """
    with suppress(ValueError):  # vectors of several lengths
        array = np.asarray(reported)
        if array.ndim <= 2 and array.dtype.kind in "biufU" and array.size:
            return array
    encode = msgspec.json.Encoder(enc_hook=str).encode
    return np.array(
        [one if isinstance(one, str) else encode(one).decode() for one in reported]
    )
