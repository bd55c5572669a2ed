"""Samples of a randomiser: from a function, a client's module in Node, or a table."""

import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Booleans, Floats, Integers
from seepage.data.domain import short_list
from seepage.data.table.labels import field_key, key_label
from seepage.errors import InputError

MAX_CATEGORIES = 256
"""Maximum number of categories of a part of a report: ranges of numbers, frequent texts."""

MAX_RANGES = 16
"""Maximum number of ranges of each part of a vector, whose parts add up."""

FUNCTION = "randomise"
"""The function of a module that is audited: of a value and a number of rounds."""

SCRIPTS, MODULES, COLUMNAR = (".js", ".mjs"), (".py",), (".parquet", ".feather", ".arrow")

Sampler = Callable[[Sequence[Any], int, int], list[list[Any]]]
"""From values, a number of samples and of rounds to the reports of each value."""


@dataclass(frozen=True, eq=False)
class Part:
    """One part of each report, in categories that one half of the samples determined.

    Parameters
    ----------
    name
        The name of the part, such as "bit 3".
    codes
        The category of each sample; `len(labels)` for one that was not seen in that half.
    labels
        The categories.
    ranges
        The ascending edges of categories that are ranges of numbers; None for others.
    """

    name: str
    codes: Integers
    labels: Sequence[str]
    ranges: Floats | None = None

    def words(self, chosen: Integers) -> str:
        """Return a set of categories in words."""
        if self.ranges is None:
            return f"a report {_either([self.labels[code] for code in chosen])}"
        edges = [-np.inf, *self.ranges.tolist(), np.inf]
        first, last = int(chosen[0]), int(chosen[-1])
        if last - first + 1 > len(chosen):
            return f"a report in one of {len(chosen)} ranges from {edges[first]:.6g} on"
        if np.isinf(edges[last + 1]):
            return f"a report of at least {edges[first]:.6g}"
        low = "" if np.isinf(edges[first]) else f"of at least {edges[first]:.6g} and "
        return f"a report {low}below {edges[last + 1]:.6g}"


def _either(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"among {short_list(list(labels), 4)}"


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

    def categories(self, half: Booleans, joint: int) -> list[Part]:
        """Return the parts in categories that a half determines; together if these are few."""
        ranges = MAX_CATEGORIES if len(self.columns) == 1 else MAX_RANGES
        parts = [_categories(name, column, half, ranges) for name, column in self.columns.items()]
        sizes = [len(part.labels) + 1 for part in parts]
        if len(parts) == 1 or np.prod(sizes, dtype=np.float64) > joint:
            return parts
        codes = np.ravel_multi_index([part.codes for part in parts], sizes)
        places = np.unravel_index(np.arange(np.prod(sizes)), sizes)
        named = [np.array([*part.labels, "?"]) for part in parts]
        rows = zip(*(one[at] for one, at in zip(named, places, strict=True)), strict=True)
        return [Part("report", codes, [f"({', '.join(row)})" for row in rows])]


def _categories(name: str, column: NDArray[Any], half: Booleans, ranges: int) -> Part:
    """Return a part of the reports as categories: its values, or ranges of many numbers."""
    uniques, counts = np.unique(column[half], return_counts=True)
    if len(uniques) > MAX_CATEGORIES and column.dtype.kind in "iuf":
        levels = np.linspace(0, 1, ranges + 1)[1:-1]
        edges = np.unique(np.quantile(column[half].astype(np.float64), levels, method="lower"))
        labels = [f"{edge:.6g}" for edge in (-np.inf, *edges)]
        return Part(name, np.searchsorted(edges, column, side="right"), labels, edges)
    kept = np.sort(np.argsort(-counts, kind="stable")[:MAX_CATEGORIES])
    uniques = uniques[kept]
    places = np.minimum(np.searchsorted(uniques, column), len(uniques) - 1)
    codes = np.where(uniques[places] == column, places, len(uniques))
    return Part(name, codes, [label(one) for one in uniques.tolist()])


def label(value: Any) -> str:
    """Return the label of a value or report, as tables have it."""
    return key_label(field_key(str(value)))


# Reading -----------------------------------------------------------------------------------------


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
    draw: Sampler | None = None
    if isinstance(source, (str, os.PathLike)):
        path = _checks.input_path(source, "randomiser")
        suffix = path.suffix.casefold()
        if suffix in SCRIPTS:
            draw = partial(_run_script, path)
        elif suffix in MODULES:
            draw = partial(_call, _python_function(path))
        elif suffix not in COLUMNAR and not _has_samples(path):
            return None
    elif callable(source):
        draw = partial(_call, source)
    elif not (isinstance(source, tuple) or hasattr(source, "__arrow_c_stream__")):
        return None
    if draw is None:
        return read_samples(source, values, reports)
    return draw_samples(draw, values, reports, count, rounds)


def _has_samples(path: Path) -> bool:
    """Return whether the first line of a text file has the column `value`."""
    if path.suffix.casefold() == ".json" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        header = lines.readline(1 << 16)
    return "value" in [cell.strip().strip('"') for cell in re.split("[,;\t]", header)]


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


def _run_script(path: Path, values: Sequence[Any], count: int, rounds: int) -> list[list[Any]]:
    """Return reports of the function that an ES module exports, run in Node."""
    node = shutil.which("node")
    if node is None:
        raise InputError("a client's module needs Node, and there is no command node")
    driver = files("seepage") / "auditing" / "sample_client.mjs"
    job = msgspec.json.encode({"values": list(values), "samples": count, "rounds": rounds})
    done = subprocess.run(
        [node, str(driver), str(path.resolve())], input=job, capture_output=True, check=False
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        told = next((line for line in lines if re.match(r"\w*Error\b", line)), lines[-1])
        raise InputError(f"{str(path)!r} failed in Node: {told.strip()}")
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


def draw_samples(draw: Sampler, values: Any, reports: Any, count: int, rounds: int) -> Samples:
    """Return `count` samples of each value."""
    given = _checks.items(values, "values", "the values to sample")
    labels = tuple(label(value) for value in given)
    if len(set(labels)) < max(2, len(labels)):
        raise _checks.violation("values", "at least two different values to sample", given)
    drawn = draw(given, count, rounds)
    codes = np.repeat(np.arange(len(labels)), count)
    return _samples(labels, codes, [one for several in drawn for one in several], reports)


def read_samples(table: Any, values: Any = None, reports: Any = None) -> Samples:
    """Return samples of a pair of arrays, a frame or a file: a column `value`, the rest reports."""
    if isinstance(table, tuple) and len(table) == 2:
        true, reported = (_checks.array(part, "samples") for part in table)
        if reported.ndim not in (1, 2) or true.shape != reported.shape[:1]:
            shapes = f"{true.shape} and {reported.shape}"
            raise InputError(f"the samples must be values and as many reports, got shapes {shapes}")
    else:
        true, reported = _table_columns(table)
    given = np.unique(true).tolist() if values is None else _checks.items(values, "values")
    known = tuple(map(label, given))
    return _samples(known, _codes(true, known, "value"), reported, reports)


def _table_columns(table: Any) -> tuple[NDArray[Any], Any]:
    """Return the column `value` of a table, and the others."""
    import pyarrow as pa

    from seepage.data.table.options import TableOptions
    from seepage.data.table.sources import open_source

    source = open_source(table, TableOptions())
    names = [name for name in source.names if name != "value"]
    if len(names) == len(source.names) or not names:
        raise InputError(
            f"the samples must have a column value and columns of reports, got {names}"
        )
    read = pa.Table.from_batches(source.batches(source.names))
    columns = {name: _as_array(read.column(name)) for name in source.names}
    return columns.pop("value"), columns


def _as_array(column: Any) -> NDArray[Any]:
    """Return a column as numbers if all its values are, else as texts."""
    import pyarrow as pa

    if column.null_count:
        raise InputError("the samples must have a value and a report in each row, got an empty one")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return np.asarray(column.to_numpy())
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid:
        return np.asarray(column.to_numpy()).astype(np.str_)


def _samples(values: tuple[str, ...], codes: Integers, reported: Any, reports: Any) -> Samples:
    """Return samples whose reports are a mapping of columns, an array, or a list of any objects."""
    if not isinstance(reported, Mapping):
        array = _report_array(reported)
        if array.ndim == 2:
            reported = {f"part {place}": array[:, place] for place in range(array.shape[1])}
        else:
            reported = {"report": array}
    if reports is None:
        return Samples(values, codes, reported)
    if len(reported) != 1:
        raise InputError("reports must be known one by one, got several parts", parameter="reports")
    (column,) = reported.values()
    known = [label(one) for one in _checks.items(reports, "reports")]
    places = _codes(column, known, "report")
    table = np.bincount(codes * len(known) + places, minlength=len(values) * len(known))
    return Samples(values, codes, reported, table.reshape(len(values), -1))


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
    try:
        array = np.asarray(reported)
        if array.ndim <= 2 and array.dtype.kind in "biuf" and array.size:
            return array
        if array.ndim <= 2 and array.dtype.kind in "US":
            return array.astype(np.str_)
    except ValueError:  # vectors of several lengths
        pass
    return np.array([msgspec.json.encode(one, enc_hook=str).decode() for one in reported])
