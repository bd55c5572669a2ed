"""`check`: what the columns of a table are, which are answers, and what must be decided
first.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Unpack

import pyarrow as pa

from seepage._core import checks
from seepage._core.errors import DataWarning, InputError, Setting, TableError, Text
from seepage._core.nested_texts import nested_texts
from seepage._core.text import short_list
from seepage._core.wanted_text import names_in
from seepage.tables.arrow_types import readable
from seepage.tables.column import marker_labels
from seepage.tables.data_check import SAME, ColumnCheck, DataCheck, join_texts
from seepage.tables.kinds import (
    ANSWERS,
    COLLECTED,
    TIME_NAME,
    KindJudgement,
    kind_of,
)
from seepage.tables.missing_codes import codes_for_missing
from seepage.tables.open_source import first_records
from seepage.tables.opened_table import OpenTable
from seepage.tables.profile import MIN_VALUES, Profile, profile_of
from seepage.tables.rare_values import rare_below
from seepage.tables.read import is_counted, is_dataset, open_table
from seepage.tables.relations import Relation, followed_times, relations
from seepage.tables.repeated_people import RepeatedValues, repeated_values
from seepage.tables.sources import Source
from seepage.tables.table_options import (
    NO_PERSON,
    CodingKeywords,
    TableOptions,
    check_known,
    is_spark_frame,
    with_more_markers,
)
from seepage.tables.value_shares import value_labels, value_shares

MAX_RECORDS = 1 << 17
"""Records that are read."""


NAMING_NOTHING = ("drop", "column_names", "missing_markers", "domain", "person")
"""Options that mention columns without asking for them."""


def check(
    data: Any, *, keep: Sequence[str] = (), **table: Unpack[CodingKeywords]
) -> DataCheck:
    """Return what the columns of a table are, and what must be decided before it is
    analysed.

    Names, values and their order tell identifiers, running numbers, weights, dates,
    free texts and constants, which `analyse` and `design` leave out unless an option
    names them; values that may mean missing; columns that say the same or follow from
    another; skip patterns; rare values.

    Parameters
    ----------
    data
        A frame, a path, or the name of a dataset whose files are at hand.  Data that
        are counted already have a domain, and raise.
    keep
        Columns that are used whatever their values or their names tell.
    **table
        How the table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`; see `TableKeywords`.

    Notes
    -----
    The first 131,072 records are read, 1 s for 40 columns.  Of larger tables no column
    is called constant, or left out as the same as another: later records may differ.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table(
    ...     {
    ...         "id": range(200),
    ...         "health": [1, 2, 3, 9] * 50,
    ...         "smoker": [True, False] * 100,
    ...     }
    ... )
    >>> found = check(people)
    >>> found
    DataCheck(200 records, 3 columns; left out: id)
    >>> found["health"].kind, found["health"].codes
    ('ordered', ('9',))
    """
    reading = TableOptions.from_keywords(table, check)
    if is_counted(data):
        raise InputError(
            "data must be a table to be checked, and are counted already; give the "
            "table itself",
            parameter="data",
        )
    opened = _opened(data, reading)
    options = TableOptions(**opened.keywords)
    kept = tuple(checks.texts(keep, "keep"))
    result = _check_table(opened, options, kept, asked=not opened.is_dataset)
    if not opened.is_dataset:
        return result
    columns = tuple(replace(column, used=True) for column in result)
    return replace(result, columns=columns)


@dataclass(frozen=True)
class Settled:
    """Data after the check of their columns.

    Parameters
    ----------
    data
        The data to read: a table as it was opened for the check.
    table
        Table options that leave out what is no answer.
    notes
        What was left out and what must be decided.
    is_small
        Whether the table is known to have no more than `MAX_RECORDS` records.
    unused
        The columns that are left out, see `DataCheck.unused`.
    """

    data: Any
    table: dict[str, Any]
    notes: list[Text]
    is_small: bool
    unused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def settle(
    data: Any, options: Any, *, asked: bool, stacklevel: int, scope: str = "table"
) -> Settled:
    """Return data with the table options that follow from the check of its columns;
    warn of this once.

    Parameters
    ----------
    data, options
        The data and the options of `analyse` or `design`.  Data that are counted
        already, named datasets and columns of a given domain are used as they are.
    asked
        Whether a column that says the same as another is left out too, as in a
        collection.  An analysis keeps it: leaving out what is collected would
        understate the leakage.
    stacklevel
        The caller to whom the warning is attributed, as in `warnings.warn`.
    scope
        For whom limits are certified: for the `"population"` a table with several
        records of a person raises, unless the option `person` settles it.
    """
    if is_dataset(data) or is_counted(data):
        return Settled(data, {}, [], is_small=False)
    certifies_people = scope == "population" and options.person is None
    if options.domain is not None:
        if certifies_people:
            _check_people(_opened(data, options), options)
        return Settled(data, {}, [], is_small=False)
    opened = _opened(data, options)
    if certifies_people:
        _check_people(opened, options)
    result = _check_table(opened, options, options.keep, asked=asked)
    table = _settled_options(result, opened, options, scope)
    notes = result.notes(person_is_settled=options.person is not None)
    if notes:
        warnings.warn(DataWarning(join_texts("; ", notes)), stacklevel=stacklevel)
    if not is_spark_frame(data):
        data = opened
    return Settled(data, table, notes, result.whole, result.unused())


def _settled_options(
    result: DataCheck, opened: OpenTable, options: TableOptions, scope: str
) -> dict[str, Any]:
    """Return the options of reading that follow from a check."""
    if not result.used:
        raise TableError(
            f"no column looks like an answer ({short_list(result.left_out)}); name "
            "those to use (",
            Setting("keep"),
            ")",
        )
    table = dict[str, Any]()
    if result.left_out:
        left_out = {*result.left_out, options.person_column}
        table["columns"] = [name for name in opened.names if name not in left_out]
    if scope == "population":  # the part that fixes answers tells texts beside numbers
        return table
    beside = {c.name: c.beside_numbers for c in result if c.beside_numbers}
    if beside:
        table["missing_markers"] = with_more_markers(options.missing_markers, beside)
    return table


def _check_people(table: OpenTable, options: TableOptions) -> None:
    """Raise if the check finds several records of one person, also by a column that is
    not used.
    """
    every = TableOptions(missing_markers=options.missing_markers)
    try:
        people = _check_table(table, every, (), asked=False).people
    except TableError:  # a column that is dropped cannot be read
        people = _check_table(table, options, (), asked=False).people
    if not people:
        return
    person = people[0]
    raise TableError(
        f"several records seem to be of one person: {person.name!r} has "
        f"{person.reason}; what is certified for a population rests on one record per "
        "person: name the column (",
        Setting("person", person.name),
        "), or say that each record is a person (",
        Setting("person", NO_PERSON),
        ")",
        parameter="person",
    )


def _opened(data: Any, options: TableOptions) -> OpenTable:
    """Return the table to check: of a Spark frame its first records."""
    if is_spark_frame(data):
        data = data.limit(MAX_RECORDS + 1).toArrow()
    return open_table(data, options)


def _check_table(
    table: OpenTable, options: TableOptions, keep: Sequence[str], *, asked: bool
) -> DataCheck:
    """Return the check of a table: columns that are no answers are left out unless
    options name them.
    """
    names = options.choose(table.names)
    check_known(keep, names, "keep")
    markers = tuple(tuple(options.markers_of(name)) for name in names)
    key = (tuple(names), markers)
    if key not in table.checks:
        table.checks[key] = _judge_columns(table.source, names, options)
    judged = table.checks[key]
    named = {*keep, *_mentioned(options)}
    columns = list[ColumnCheck]()
    for column in judged:
        if column.name not in named:
            column = _left_out(column, asks_once=asked and judged.whole)
        columns.append(column)
    return replace(judged, columns=tuple(columns))


def _judge_columns(
    source: Source, names: Sequence[str], options: TableOptions
) -> DataCheck:
    """Return the check of columns as if options named all of them."""
    table, whole = first_records(source, names, MAX_RECORDS)
    profiles = _profiles(table, source, options)
    judgements = [kind_of(profile) for profile in profiles]
    repeats = repeated_values(profiles, judgements)
    judgements = _with_people_identified(profiles, judgements, repeats)
    judgements = _with_times_followed(profiles, judgements)
    related = relations(_of_kinds(ANSWERS, profiles, judgements))
    columns = list[ColumnCheck]()
    for profile, judgement in zip(profiles, judgements, strict=True):
        relation = related.get(profile.name, Relation())
        column = _described(profile, judgement, relation)
        if column.kind == "constant" and not whole:  # later records may differ
            column = replace(column, kind="answer")
        columns.append(column)
    return DataCheck(tuple(columns), table.num_rows, whole, tuple(repeats))


def _with_people_identified(
    profiles: Sequence[Profile],
    judgements: Sequence[KindJudgement],
    repeats: Sequence[RepeatedValues],
) -> list[KindJudgement]:
    """Return the kinds of checked columns, where answers whose repeated values are
    people's identify them.
    """
    people = {column.name: column.reason for column in repeats if column.is_person}
    identified = list[KindJudgement]()
    for profile, judgement in zip(profiles, judgements, strict=True):
        if profile.name in people and judgement.kind in ANSWERS:
            judgement = KindJudgement("identifier", people[profile.name])
        identified.append(judgement)
    return identified


def _with_times_followed(
    profiles: Sequence[Profile], judgements: Sequence[KindJudgement]
) -> list[KindJudgement]:
    """Return the kinds of checked columns, where answers that follow from a time are
    times.
    """
    times = list[Profile]()
    for profile in _of_kinds(("time", "date"), profiles, judgements):
        if TIME_NAME.search(profile.name):  # no date of birth
            times.append(profile)
    followed = followed_times(times, _of_kinds(ANSWERS, profiles, judgements))
    kinds = list[KindJudgement]()
    for profile, judgement in zip(profiles, judgements, strict=True):
        if profile.name in followed:
            reason = f"follows from {followed[profile.name]}: {COLLECTED}"
            judgement = KindJudgement("time", reason)
        kinds.append(judgement)
    return kinds


def _of_kinds(
    kinds: Sequence[str],
    profiles: Sequence[Profile],
    judgements: Sequence[KindJudgement],
) -> list[Profile]:
    """Return the profiles of the checked columns of some kinds."""
    of_kinds = list[Profile]()
    for profile, judgement in zip(profiles, judgements, strict=True):
        if judgement.kind in kinds:
            of_kinds.append(profile)
    return of_kinds


def _profiles(table: pa.Table, source: Source, options: TableOptions) -> list[Profile]:
    """Return the profiles of the columns of a table to check."""
    profiles = list[Profile]()
    for name, column in zip(table.column_names, table.columns, strict=True):
        markers = marker_labels(options.markers_of(name))
        with readable(name, column.type):
            values = column.combine_chunks()
            profiles.append(
                profile_of(name, values, fields=source.fields, markers=markers)
            )
    return profiles


def _left_out(column: ColumnCheck, *, asks_once: bool) -> ColumnCheck:
    """Return a checked column that no option names, not used if it is no answer or
    asked under another name.
    """
    if column.kind not in ANSWERS:
        return replace(column, used=False)
    if asks_once and column.same:
        reason = f"same as {column.same}"
        return replace(column, kind=SAME, reason=reason, used=False)
    return column


def _described(
    profile: Profile, judgement: KindJudgement, relation: Relation
) -> ColumnCheck:
    """Return the check of a column that is used, from its profile, kind and
    relation.
    """
    codes = tuple[str, ...]()
    rare = 0
    if judgement.kind in ANSWERS:
        codes = tuple(codes_for_missing(profile))
        if judgement.kind != "number" or profile.values <= MIN_VALUES:
            is_rare = profile.counts < rare_below(profile.records)
            rare = int(is_rare.sum())
    return ColumnCheck(
        name=profile.name,
        kind=judgement.kind,
        reason=judgement.reason,
        used=True,
        values=profile.values,
        missing=profile.missing / profile.records,
        codes=codes,
        rare=rare,
        same=relation.same,
        follows=relation.follows,
        skipped=relation.skipped,
        shares=value_shares(profile, judgement.kind),
        labels=value_labels(profile, judgement.kind),
    )


def _mentioned(options: Any) -> set[str]:
    """Return all names that options mention, which the check does not leave out."""
    names = set[str]()
    for option in fields(options):
        if option.name not in NAMING_NOTHING:
            for text in nested_texts(getattr(options, option.name)):
                names |= _names_in(text)
    return names


def _names_in(text: str) -> set[str]:
    """Return the names in a text of `want`, which the check does not leave out: itself,
    "a x b", or "mean a = 1, 2".
    """
    names = {text}
    names.update(names_in(text))
    return names
