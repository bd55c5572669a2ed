"""`check`: what the columns of a table are, which are answers, and what must be decided first."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from seepage._options import changed, takes
from seepage.data.check_result import SAME, ColumnCheck, DataCheck, rare_below
from seepage.data.column_kinds import (
    ANSWERS,
    MIN_VALUES,
    Profile,
    codes_for_missing,
    kind_of,
    profile_of,
    profile_of_counts,
)
from seepage.data.column_relations import Relation, relations_of
from seepage.data.counting.count import is_spark_frame
from seepage.data.domain import ALL_OTHERS, short_list
from seepage.data.inputs import as_pairs, is_counted, table_of
from seepage.data.pairs import PairCounts
from seepage.data.table.column import readable
from seepage.data.table.labels import marker_labels
from seepage.data.table.options import TableOptions
from seepage.data.table.sources import BATCH_ROWS, FrameSource, Source, open_frame, open_source
from seepage.errors import DataWarning, Setting, TableError, Text

MAX_RECORDS = BATCH_ROWS
"""Records that are read."""


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
        return _check_counts(as_pairs(data, **changed(options, TableOptions)))
    table, known = table_of(data, changed(options, TableOptions))
    chosen = TableOptions(**known)
    found = _check_table(_opened(table, chosen), chosen, asked=table is data)
    if table is data:
        return found
    return replace(found, columns=tuple(replace(column, used=True) for column in found))


def settle(data: Any, options: Any, *, asked: bool) -> tuple[Any, dict[str, Any], list[Text]]:
    """Return data, table options that leave out what is no answer, and notes; warn of these once.

    Parameters
    ----------
    data, options
        The data and the options of `analyse` or `design`.  Data that are counted already, named
        datasets and columns of a given domain are used as they are.
    asked
        Whether a column that says the same as another is left out too, as in a collection.  An
        analysis keeps it: leaving out what is collected would understate the leakage.
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
        parts = (part for note in notes for part in ("; ", note)[note is notes[0] :])
        warnings.warn(DataWarning(Text(*parts)), stacklevel=5 if asked else 4)
    if isinstance(source, FrameSource) and not is_spark_frame(data):
        data = source.frame.to_native()
    return data, chosen, notes


def _opened(data: Any, options: TableOptions) -> Source:
    if is_spark_frame(data):
        return open_frame(data.limit(MAX_RECORDS + 1).toArrow())
    return open_source(data, options, on_demand=True)


def _check_table(source: Source, options: TableOptions, *, asked: bool) -> DataCheck:
    """Return the check of a table, read by its source."""
    choices = options.choose(source.names)
    names = [choice.source for choice in choices]
    table, whole = _first_records(source, names)
    found = _described([_profile(table, name, source, options) for name in names])
    mentioned = _mentioned(options)
    named = {choice.source for choice in choices if {choice.source, choice.name} & mentioned}
    if not whole:  # later records may differ
        found = [replace(c, kind="answer") if c.kind == "constant" else c for c in found]
    sure = asked and whole
    used = (column if column.name in named else _with_use(column, sure) for column in found)
    return DataCheck(tuple(used), table.num_rows, whole)


def _check_counts(pairs: PairCounts) -> DataCheck:
    """Return the check of counted attributes, which are used whatever their kind."""
    counts = zip(pairs.domain, pairs.marginals, strict=True)
    profiles = [profile_of_counts(attribute, marginal) for attribute, marginal in counts]
    return DataCheck(tuple(_described(profiles, pairs)), pairs.records, True)


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


def _with_use(column: ColumnCheck, once: bool) -> ColumnCheck:
    """Return a column that is not named, left out if it is no answer, or asked `once` already."""
    if column.kind in ANSWERS and not (once and column.same):
        return column
    if column.kind in ANSWERS:
        return replace(column, kind=SAME, reason=f"same as {column.same}", used=False)
    return replace(column, used=False)


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


def _profile(table: Any, name: str, source: Source, options: TableOptions) -> Profile:
    """Return the profile of a column of a table, or of a batch of it."""
    array = table.column(name)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    with readable(name, array.type):
        return profile_of(name, array, source.fields, marker_labels(options.markers_of(name)))


def _described(profiles: Sequence[Profile], pairs: PairCounts | None = None) -> list[ColumnCheck]:
    """Return what profiles tell; all columns are used."""
    kinds = [kind_of(column) for column in profiles]
    both = list(zip(profiles, kinds, strict=True))
    relations = relations_of([column for column, (kind, _) in both if kind in ANSWERS], pairs)
    found = []
    for column, (kind, reason) in both:
        values, is_answer = len(column.counts), kind in ANSWERS
        rare = column.counts < rare_below(column.records)
        few = is_answer and (kind != "number" or values <= MIN_VALUES or column.form == "bins")
        codes = tuple(codes_for_missing(column)) if is_answer else ()
        known = relations.get(column.name, Relation())
        missing = column.missing / column.records
        about = values, missing, codes, int(rare.sum()) if few else 0
        found.append(ColumnCheck(column.name, kind, reason, True, *about, *known))
    return found
