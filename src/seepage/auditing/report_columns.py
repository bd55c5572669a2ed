"""Reports as codes of their keys: from lists, arrays, frames and other processes."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import InputError
from seepage.auditing.report_keys import (
    ReportKey,
    exact_text,
    python_key,
    shown_keys,
)

CODED_BY_VALUE = (int, bool, str)
"""Types whose equal values have the same key."""


@dataclass(frozen=True, eq=False)
class ReportColumn:
    """Reports, or one part of each: the code of each, and the key of each code.

    Parameters
    ----------
    codes
        The place of each report among the keys.
    keys
        The different reports: numbers in ascending order, then others by spelling.
    """

    codes: Integers
    keys: tuple[ReportKey, ...]

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The different reports of a column as they are printed."""
        return shown_keys(self.keys)

    @cached_property
    def numbers(self) -> Floats:
        """The numbers that the different reports of a column are or spell; NaN for
        others.
        """
        return np.array([key.number for key in self.keys], dtype=np.float64)

    def __len__(self) -> int:
        """Return the number of reports in a column."""
        return len(self.codes)


def coded(
    texts: Sequence[str],
    codes: Integers,
    key_of: Callable[[str], ReportKey] = python_key,
) -> ReportColumn:
    """Return a column of reports: the exact texts of different ones, and codes of
    these.
    """
    keys = [key_of(text) for text in texts]
    order = sorted(range(len(keys)), key=lambda place: keys[place].sort_key)
    places = np.empty(len(keys), dtype=np.int64)
    places[order] = np.arange(len(keys))
    return ReportColumn(places[codes], tuple(keys[place] for place in order))


def column_of_texts(
    texts: Iterable[str], key_of: Callable[[str], ReportKey] = python_key
) -> ReportColumn:
    """Return a column of reports from their exact texts."""
    places: dict[str, int] = {}
    codes = [places.setdefault(text, len(places)) for text in texts]
    return coded(list(places), np.array(codes, dtype=np.int64), key_of)


def column_of(reports: Iterable[Any]) -> ReportColumn:
    """Return a column of any reports.

    Examples
    --------
    >>> column = column_of(["b", "a", "b"])
    >>> column.codes.tolist(), column.shown
    ([1, 0, 1], ('a', 'b'))
    """
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "biufU":
        return _column_of_array(reports)
    texts: list[str] = []
    by_value: dict[tuple[type, Any], str] = {}
    for report in reports:
        kind = type(report)
        if kind not in CODED_BY_VALUE:
            texts.append(exact_text(report))
            continue
        text = by_value.get((kind, report))
        if text is None:
            text = exact_text(report)
            by_value[kind, report] = text
        texts.append(text)
    return column_of_texts(texts)


def _column_of_array(array: NDArray[Any]) -> ReportColumn:
    """Return a column of numbers or texts of one type, floats by their bits."""
    compared = array
    if array.dtype.kind == "f" and array.dtype.itemsize in (2, 4, 8):
        compared = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    _, places, codes = np.unique(compared, return_index=True, return_inverse=True)
    different = array[places].tolist()
    return coded([exact_text(report) for report in different], codes)


# Several parts ------------------------------------------------------------------------


def columns_of_reports(reports: Any) -> dict[str, ReportColumn]:
    """Return reports as columns by the names of their parts: vectors of one type and
    length have one for each place.

    Examples
    --------
    >>> (
    ...     list(columns_of_reports([[0, 1], [1, 1]])),
    ...     list(columns_of_reports([[0], "[0]"])),
    ... )
    (['part 0', 'part 1'], ['report'])
    """
    if isinstance(reports, np.ndarray) and reports.ndim == 2:
        return _part_columns(list(reports.T))
    if isinstance(reports, np.ndarray) and reports.ndim == 1:
        return {"report": column_of(reports)}
    listed = list(reports)
    if _are_alike_vectors(listed):
        if isinstance(listed[0], np.ndarray):
            return _part_columns(list(np.stack(listed).T))
        return _part_columns(list(zip(*listed, strict=True)))
    return {"report": column_of(listed)}


def _part_columns(parts: Sequence[Any]) -> dict[str, ReportColumn]:
    """Return one column of reports for each part, a list or an array."""
    columns = {}
    for place, part in enumerate(parts):
        columns[f"part {place}"] = column_of(part)
    return columns


def _are_alike_vectors(reports: Sequence[Any]) -> bool:
    """Return whether all reports are lists, tuples or arrays of one type and length, a
    column each place.
    """
    if not reports:
        return False
    first = reports[0]
    kind = type(first)
    if kind not in (list, tuple, np.ndarray):
        return False
    if any(type(report) is not kind for report in reports):
        return False
    if kind is np.ndarray:
        return _are_alike_arrays(reports)
    return len(first) > 1 and all(len(report) == len(first) for report in reports)


def _are_alike_arrays(reports: Sequence[NDArray[Any]]) -> bool:
    """Return whether arrays of reports are vectors of one type and length, at least
    2.
    """
    first = reports[0]
    if first.ndim != 1 or len(first) < 2:
        return False
    return all(
        report.dtype == first.dtype and report.shape == first.shape
        for report in reports
    )


# Known values and reports -------------------------------------------------------------


def known_keys(listed: Sequence[Any], what: str) -> tuple[ReportKey, ...]:
    """Return the keys of all known values or reports of a column; two of the same
    raise.
    """
    keys = tuple(python_key(exact_text(item)) for item in listed)
    shown = shown_keys(keys)
    for place, key in enumerate(keys):
        if key in keys[:place]:
            raise InputError(
                f"{what} must be different from each other, got {shown[place]} twice",
                parameter=what,
            )
    return keys


def places_among(
    column: ReportColumn, known: Sequence[ReportKey], kind: str
) -> Integers:
    """Return the place among known keys of each report of a column.

    Each different report has a place of its own: one with the same exact text, else the
    only one with the same spelling, as a text of a file has that is listed as a number,
    else the only one with the same number.  Any other raises an InputError.

    Parameters
    ----------
    column
        The reports or values of samples.
    known
        The keys of all that there are.
    kind
        `"report"` or `"value"`, for the message.

    Examples
    --------
    >>> column = column_of(["1", "0", "1"])
    >>> places_among(column, known_keys([0, 1], "reports"), "report").tolist()
    [1, 0, 1]
    >>> places_among(column_of(["1", "01"]), known_keys([1], "reports"), "report")
    Traceback (most recent call last):
    seepage.InputError: the samples have the report 01, which reports lack; ...
    """
    places: dict[int, int] = {}
    for alike in (_exact_text_of, _spelling_of, _number_of):
        _add_places(places, column, known, alike, kind)
    for code in range(len(column.keys)):
        if code not in places:
            raise _lacking(column, code, known, places, kind)
    ordered = [places[code] for code in range(len(column.keys))]
    return np.array(ordered, dtype=np.int64)[column.codes]


def _exact_text_of(key: ReportKey) -> str | None:
    """Return the exact text by which a column's report is alike to a known one."""
    return key.exact


def _spelling_of(key: ReportKey) -> str | None:
    """Return the spelling by which a column's report is alike to a known one."""
    return key.spelling


def _number_of(key: ReportKey) -> float | None:
    """Return the number by which a column's report is alike to a known one."""
    if key.is_text or math.isnan(key.number):
        return None
    return key.number


def _add_places(
    places: dict[int, int],
    column: ReportColumn,
    known: Sequence[ReportKey],
    alike: Callable[[ReportKey], str | float | None],
    kind: str,
) -> None:
    """Add the place of each code of a column of reports that has none yet and is alike
    to one known key only.
    """
    taken = set(places.values())
    free: dict[str | float | None, list[int]] = defaultdict(list)
    for place, key in enumerate(known):
        if place not in taken:
            free[alike(key)].append(place)
    for code, key in enumerate(column.keys):
        what = alike(key)
        if code in places or what is None or not free[what]:
            continue
        if len(free[what]) > 1:
            raise _ambiguous(column.shown[code], shown_keys(known), free[what], kind)
        places[code] = free[what].pop()


def _ambiguous(
    shown: str, known: Sequence[str], places: Iterable[int], kind: str
) -> InputError:
    """Return the error for a report of a column that is alike to several known ones."""
    names = " and ".join(known[place] for place in sorted(places))
    return InputError(
        f"{kind}s {names} cannot be told apart: the samples have the {kind} {shown}",
        parameter=f"{kind}s",
    )


def _lacking(
    column: ReportColumn,
    code: int,
    known: Sequence[ReportKey],
    places: dict[int, int],
    kind: str,
) -> InputError:
    """Return the error for a report or value of a column that is not known."""
    key = column.keys[code]
    hint = checks.near_miss(key.spelling, [other.spelling for other in known])
    for other, place in places.items():
        spelled = known[place].spelling
        if spelled == key.spelling or known[place].number == key.number:
            listed = shown_keys(known)[place]
            hint = f"; {listed} stands for the {kind} {column.shown[other]}"
    return InputError(
        f"the samples have the {kind} {column.shown[code]}, which {kind}s lack{hint}",
        parameter=f"{kind}s",
    )
