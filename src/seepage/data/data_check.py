"""`check`: what the columns of a table are, which are answers, and what must be decided first."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage._options import changed, takes
from seepage.data.check_result import SAME, ColumnCheck, DataCheck, joined, rare_below
from seepage.data.column_kinds import (
    ANSWERS,
    MIN_RECORDS,
    MIN_VALUES,
    Profile,
    codes_for_missing,
    kind_of,
    profile_of,
    profile_of_counts,
)
from seepage.data.domain import ALL_OTHERS, short_list
from seepage.data.inputs import as_pairs, is_counted, table_of
from seepage.data.pairs import PairCounts
from seepage.data.spark import is_spark_frame
from seepage.data.table.column import readable
from seepage.data.table.labels import marker_labels
from seepage.data.table.options import TableOptions
from seepage.data.table.sources import BATCH_ROWS, FrameSource, Source, open_frame, open_source
from seepage.errors import DataWarning, Setting, TableError, Text

MAX_RECORDS = BATCH_ROWS
"""Records that are read."""
MIN_TABLE = 100
"""Minimum number of records from which a relation is more than chance."""
SCREENED = 2**12
"""Records on which all pairs of columns are compared before all records of the few that remain."""
MAX_VALUES, MAX_SKIP_VALUES = 300, 20
"""Maximum number of values of a column that determines others, or whether others are missing."""
MIN_PER_VALUE = 10
"""Minimum number of records per value of a column that determines another."""


@takes(TableOptions)
def check(data: Any, options: TableOptions) -> DataCheck:
    """Return what the columns of a table are, and what must be decided before it is analysed.

    Names, values and their order tell identifiers, running numbers, weights, dates, free texts and
    constants, which `analyse` and `design` leave out unless an option names them; values that may
    mean missing; columns that say the same or follow from another; skip patterns; rare values.

    Parameters
    ----------
    data
        A frame, a path, the name of a dataset, `PairCounts` or `Records`.  Of pair counts only
        names, frequencies and relations of two columns are known.

    Notes
    -----
    The first 131,072 records are read, 1 s for 40 columns.  Of larger tables no column is called
    constant, or left out as the same as another: later records may differ.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table(
    ...     {"id": range(200), "health": [1, 2, 3, 9] * 50, "smoker": [True, False] * 100}
    ... )
    >>> found = check(people)
    >>> found
    DataCheck(200 records, 3 columns; left out: id)
    >>> found["health"].kind, found["health"].codes
    ('ordered', ('9',))
    """
    if is_counted(data):
        pairs = as_pairs(data, **changed(options, TableOptions))
        profiles = list(map(profile_of_counts, pairs.domain, pairs.marginals))
        return DataCheck(tuple(_described(profiles, pairs)), pairs.records, True)
    table, known = table_of(data, changed(options, TableOptions))
    chosen = TableOptions(**known)
    found = _check_table(_opened(table, chosen), chosen, asked=table is data)
    if table is data:
        return found
    return replace(found, columns=tuple(replace(column, used=True) for column in found))


def settle(
    data: Any, options: Any, *, asked: bool, stacklevel: int
) -> tuple[Any, dict[str, Any], list[Text]]:
    """Return data, table options that leave out what is no answer, and notes; warn of these once.

    Parameters
    ----------
    data, options
        The data and the options of `analyse` or `design`.  Data that are counted already, named
        datasets and columns of a given domain are used as they are.
    asked
        Whether a column that says the same as another is left out too, as in a collection.  An
        analysis keeps it: leaving out what is collected would understate the leakage.
    stacklevel
        The caller to whom the warning is attributed, as in `warnings.warn`.
    """
    if is_counted(data, datasets=True) or options.domain is not None:
        return data, {}, []
    source = _opened(data, options)
    found = _check_table(source, options, asked=asked)
    if not found.used:
        raise TableError(
            f"no column looks like an answer ({short_list(found.left_out)}); name those to use (",
            Setting("columns"),
            ")",
        )
    chosen, notes = dict[str, Any](), found.notes()
    if found.left_out:
        left_out = {*found.left_out, options.person}
        chosen["columns"] = [name for name in source.names if name not in left_out]
    beside = {c.name: c.beside_numbers for c in found if c.beside_numbers}
    if beside:
        every = options.missing_markers
        given = every if isinstance(every, Mapping) else {ALL_OTHERS: every}
        more = {name: (*given.get(name, ()), *texts) for name, texts in beside.items()}
        chosen["missing_markers"] = {**given, **more}
    if notes:
        warnings.warn(DataWarning(joined("; ", notes)), stacklevel=stacklevel)
    if isinstance(source, FrameSource) and not is_spark_frame(data):
        data = source.frame.to_native()
    return data, chosen, notes


def _opened(data: Any, options: TableOptions) -> Source:
    if is_spark_frame(data):
        return open_frame(data.limit(MAX_RECORDS + 1).toArrow())
    return open_source(data, options)


def _check_table(source: Source, options: TableOptions, *, asked: bool) -> DataCheck:
    """Return the check of a table, read by its source."""
    table, whole = _first_records(source, options.choose(source.names))
    profiles = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        markers = marker_labels(options.markers_of(name))
        with readable(name, column.type):
            profiles.append(profile_of(name, column.combine_chunks(), source.fields, markers))
    named = _mentioned(options)
    found = []
    for column in _described(profiles):
        if column.kind == "constant" and not whole:  # later records may differ
            column = replace(column, kind="answer")
        if column.name not in named and column.kind not in ANSWERS:
            column = replace(column, used=False)
        elif column.name not in named and column.same and asked and whole:
            column = replace(column, kind=SAME, reason=f"same as {column.same}", used=False)
        found.append(column)
    return DataCheck(tuple(found), table.num_rows, whole)


def _first_records(source: Source, names: Sequence[str]) -> tuple[pa.Table, bool]:
    """Return the first records of a source, and whether these are all."""
    if isinstance(source, FrameSource):
        source = FrameSource(source.frame.head(MAX_RECORDS + 1))
    batches, rows = list[pa.RecordBatch](), 0
    for batch in source.batches(names):
        batches.append(batch)
        rows += batch.num_rows
        if rows > MAX_RECORDS:
            break
    if not rows:
        raise TableError("the table has no records")
    return pa.Table.from_batches(batches)[:MAX_RECORDS], rows <= MAX_RECORDS


def _mentioned(options: Any) -> set[str]:
    """Return all names that options mention, except to leave columns out or to read them."""
    others = {"drop", "column_names", "missing_markers", "domain", "person"}
    waiting = [getattr(options, one.name) for one in fields(options) if one.name not in others]
    names = set[str]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):  # of `want`: "a x b" or "mean a = 1, 2"
            parts = (part.removeprefix("mean ").partition("=")[0] for part in value.split(" x "))
            names |= {value, *map(str.strip, parts)}
        elif isinstance(value, (Mapping, Sequence)):
            waiting += [*value, *(value.values() if isinstance(value, Mapping) else ())]
    return names


def _described(profiles: Sequence[Profile], pairs: PairCounts | None = None) -> list[ColumnCheck]:
    """Return what profiles tell; all columns are used."""
    kinds = [kind_of(column) for column in profiles]
    answers = [column for column, kind in zip(profiles, kinds, strict=True) if kind[0] in ANSWERS]
    relations = _relations(answers, pairs)
    found = []
    for column, (kind, reason) in zip(profiles, kinds, strict=True):
        values, is_answer = len(column.counts), kind in ANSWERS
        few = is_answer and (kind != "number" or values <= MIN_VALUES or column.form == "bins")
        rare = int((column.counts < rare_below(column.records)).sum()) if few else 0
        codes = tuple(codes_for_missing(column)) if is_answer else ()
        about = values, column.missing / column.records, codes, rare
        related = relations.get(column.name, ())
        found.append(ColumnCheck(column.name, kind, reason, True, *about, *related))
    return found


# Relations of columns ----------------------------------------------------------------------------


def _relations(
    profiles: Sequence[Profile], pairs: PairCounts | None
) -> dict[str, tuple[str | None, tuple[str, ...], str | None]]:
    """Return `same`, `follows` and `skipped` of columns by name, see `ColumnCheck`.

    Identifiers, which determine everything, should not be among the columns.  `pairs` are the
    counts of counted columns.  O(columns^2) on 4,096 records, O(records) for each pair that passes.
    """
    records = profiles[0].records if profiles else 0
    if records < MIN_TABLE:
        return {}
    sizes = np.array([len(column.counts) for column in profiles])
    second = [np.sort(np.append(column.counts, column.missing))[-2] for column in profiles]
    varied, small = np.array(second) >= MIN_RECORDS, sizes <= MAX_VALUES
    gaps = np.array([MIN_RECORDS <= column.missing <= records - MIN_RECORDS for column in profiles])
    maybe = skips = ~np.eye(len(sizes), dtype=np.bool_)
    if pairs is None:
        maybe, skips = _screened(profiles, sizes)
    sources = varied & small & (sizes * MIN_PER_VALUE <= records)
    candidates = sources[:, None] & ((maybe & varied & small) | (skips & gaps))
    determines, skipped = np.zeros_like(maybe), dict[int, tuple[int, str]]()
    for i, j in np.argwhere(candidates).tolist():
        occurs = _joint(profiles[i], profiles[j], pairs) > 0
        determines[i, j] = varied[j] and (occurs.sum(axis=1) <= 1).all()
        missing, present = occurs[:, -1], occurs[:, :-1].any(axis=1)
        told = sizes[i] <= MAX_SKIP_VALUES and not (missing & present).any() and not missing[-1]
        if told and missing.any() and j not in skipped:
            values = [profiles[i].labels[code] for code in np.flatnonzero(missing)[:3]]
            skipped[j] = i, f"{profiles[i].name} is {' or '.join(values)}"
    found = {}
    for j, column in enumerate(profiles):
        equal = np.flatnonzero(determines[:, j] & determines[j]).tolist()
        # Of equal columns the one with texts stays, else the first.
        first = min([j, *equal], key=lambda i: (not profiles[i].texts, i))
        same = None if first == j else profiles[first].name
        causes = np.flatnonzero(determines[:, j] & ~determines[j] & (first == j)).tolist()
        follows = (profiles[i].name for i in causes if i not in skipped or skipped[i][0] != j)
        found[column.name] = same, tuple(follows), skipped[j][1] if j in skipped else None
    return found


def _screened(profiles: Sequence[Profile], sizes: Integers) -> tuple[Booleans, Booleans]:
    """Return which columns may determine which, and whether which is missing, on some records."""
    step = -(-profiles[0].records // SCREENED)
    codes = np.array([column.codes[::step] for column in profiles])
    maybe, skips = ~np.eye(len(codes), dtype=np.bool_), ~np.eye(len(codes), dtype=np.bool_)
    for i, column in enumerate(codes):
        order = np.argsort(column, kind="stable")
        equal = np.diff(column[order]) == 0
        for found, values in ((maybe, codes), (skips, codes == sizes[:, None])):
            found[i] &= ~(np.diff(values[:, order])[:, equal] != 0).any(axis=1)
    return maybe, skips


def _joint(first: Profile, second: Profile, pairs: PairCounts | None) -> NDArray[Any]:
    """Return the joint counts of two columns, missing values last."""
    shape = len(first.counts) + 1, len(second.counts) + 1
    cells, weights = first.codes * shape[1], None
    if pairs is not None:
        cells, weights = cells[:, None], pairs.table(first.name, second.name).reshape(-1)
    cells = (cells + second.codes).reshape(-1)
    return np.bincount(cells, weights, minlength=math.prod(shape)).reshape(shape)
