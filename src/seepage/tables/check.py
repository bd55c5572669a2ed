"""`check`: what the columns of a table are, which are answers, and what must be decided
first.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any, Unpack

from seepage._core.errors import DataWarning, InputError, Setting, TableError, Text
from seepage._core.results import Result
from seepage._core.text import short_list
from seepage.channel.domain import ALL_OTHERS
from seepage.tables.column import marker_labels
from seepage.tables.frames import open_frame
from seepage.tables.kinds import (
    ANSWERS,
    MIN_VALUES,
    NO_ANSWERS,
    Profile,
    codes_for_missing,
    kind_of,
    profile_of,
)
from seepage.tables.labels import NUMBER
from seepage.tables.opening import first_records, open_source
from seepage.tables.read import is_counted, table_of
from seepage.tables.relations import rare_below, relations
from seepage.tables.sources import Source, readable
from seepage.tables.table_options import CodingKeywords, TableOptions, is_spark_frame

MAX_RECORDS = 1 << 17
"""Records that are read."""


SAME = "same as another"
"""Kind of a column that another one determines and that determines it: asked once."""


REPEATED = "several records of a person: the population needs one of each"
"""How identifiers that occur twice are told: the promise is for one record per
person."""


MAX_NAME = 40
"""Characters of a name in the text."""


@dataclass(frozen=True)
class ColumnCheck:
    """What was found about one column.

    Parameters
    ----------
    name, kind
        Its name, and its kind: answer, ordered, number, code; or, left out unless an
        option names it, constant, identifier, running number, weight, date, free text.
    reason
        Why it is of this kind, in words; empty for answers.
    used
        Whether it is analysed and asked.
    values, missing
        The number of distinct values, and the share of records without one.
    codes
        Values that may mean missing.
    rare
        The number of values of fewer records than a design can do with.
    same
        The column that says the same: each determines the other.
    follows
        Columns that determine it.
    skipped
        Where it is missing, and only there: another column and its values.
    """

    name: str
    kind: str
    reason: str
    used: bool
    values: int
    missing: float
    codes: tuple[str, ...] = ()
    rare: int = 0
    same: str | None = None
    follows: tuple[str, ...] = ()
    skipped: str | None = None

    @property
    def beside_numbers(self) -> tuple[str, ...]:
        """Texts beside many numbers: read as missing, so that the numbers can be
        binned.
        """
        texts = (code for code in self.codes if not NUMBER.fullmatch(code))
        return tuple(texts) if self.used and self.kind == "number" else ()

    @property
    def questions(self) -> tuple[str, ...]:
        """Values that may mean missing, and are answers like others unless an option
        says so.
        """
        return tuple(
            code for code in self.codes if self.used and code not in self.beside_numbers
        )


@dataclass(frozen=True, repr=False, eq=False)
class DataCheck(Result):
    """The kinds of a table's columns, and what must be decided before it is analysed;
    see `check`.

    Iterates over the columns; a name indexes one.

    Parameters
    ----------
    columns
        What was found about each column.
    records
        The number of records looked at.
    whole
        Whether these are all records.
    """

    columns: tuple[ColumnCheck, ...]
    records: int
    whole: bool

    def __iter__(self) -> Iterator[ColumnCheck]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> ColumnCheck:
        columns = {column.name: column for column in self}
        if name not in columns:
            raise InputError(f"there is no column {name!r}", parameter="name")
        return columns[name]

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are analysed and asked."""
        return tuple(column.name for column in self if column.used)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns that are neither asked nor analysed."""
        return tuple(column.name for column in self if not column.used)

    @property
    def repeated(self) -> tuple[str, ...]:
        """The identifiers that several records share: of one person, if they are of
        people.
        """
        found = (c for c in self if c.kind == "identifier" and not c.used)
        return tuple(
            c.name for c in found if c.values < round((1 - c.missing) * self.records)
        )

    def notes(self) -> list[Text]:
        """Return what was left out and what must be decided, one sentence each."""
        coded = _grouped({c.name: _listed(c.questions) for c in self if c.questions})
        many = [f"{codes} of {short_list(names)}" for codes, names in coded.items()]
        out = [
            f"{c.name} ({c.reason if c.kind == SAME else c.kind})"
            for c in self
            if not c.used
        ]
        beside = [c.name for c in self if c.beside_numbers]
        columns = Setting("columns")
        markers = Setting("missing_markers")
        person = Setting("person", next(iter(self.repeated), None))
        found: list[tuple[Sequence[str], *tuple[str | Setting, ...]]] = [
            (
                out,
                f"left out, no answers: {short_list(out, 8)}; to use them (",
                columns,
                ")",
            ),
            (many, f"may mean missing: {short_list(many)} (", markers, ")"),
            (beside, f"texts beside numbers, read as missing: {short_list(beside)}"),
            (self.repeated, f"{REPEATED} (", person, ")"),
        ]
        return [Text(*parts) for names, *parts in found if names]

    def text(self, name: str = "the table", width: int = 80) -> Text:
        """Return the check as lines of text of at most `width` characters; like columns
        share one.

        Parameters
        ----------
        name
            The name of the table.
        width
            Characters of a line; lines end with the number of columns that did not fit.
        """
        first = "" if self.whole else "first "
        left = f", {len(self.left_out)} left out" if self.left_out else ""
        columns = "1 column" if len(self) == 1 else f"{len(self)} columns"
        lines = [Text(f"{name}: {first}{self.records:,} records, {columns}{left}")]
        for title, option, rows in self._findings():
            if rows:
                lines.append(Text(f"{title} (", Setting(option), ")"))
                lines += [
                    Text(_row(what, names, width))
                    for what, names in _grouped(rows).items()
                ]
        lines.append(Text("Columns by kind"))
        kinds = _grouped({column.name: column.kind for column in self})
        for kind in (*ANSWERS, *NO_ANSWERS, SAME):
            if names := kinds.get(kind):
                lines.append(
                    Text(f"  {kind} ({len(names)}):{_row('', names, width - 20)[1:]}")
                )
        return joined("\n", lines)

    def _findings(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield the title of a sort of finding, the option that settles it, and what,
        by column.
        """
        out = {
            c.name: f"{c.kind}, {c.reason}"
            for c in self
            if not c.used and c.kind != SAME
        }
        yield "Left out: not asked, not analysed unless named", "columns", out
        shared = dict.fromkeys(self.repeated, "several records have the same")
        yield REPEATED.capitalize(), "person", shared
        once = {c.name: c.reason for c in self if c.kind == SAME}
        yield "Asked once: a design leaves it out unless named", "columns", once
        named = {
            c.name: f"{c.kind}, {c.reason}"
            for c in self
            if c.used and c.kind in NO_ANSWERS
        }
        yield "No answers, but used because they are named", "drop", named
        twice = {c.name: f"same as {c.same}" for c in self if c.used and c.same}
        yield "The same answer twice: its reports add up", "drop", twice
        asked = {c.name: _listed(c.questions) for c in self if c.questions}
        yield (
            "May mean missing: an answer like others unless marked",
            "missing_markers",
            asked,
        )
        beside = {c.name: _listed(c.beside_numbers) for c in self if c.beside_numbers}
        yield (
            "Texts beside numbers: read as missing, also without",
            "missing_markers",
            beside,
        )
        skipped = {
            c.name: f"missing exactly where {c.skipped}" for c in self if c.skipped
        }
        yield "Skipped: that it is missing tells another answer", "drop", skipped
        follows = {
            c.name: f"follows from {short_list(c.follows)}" for c in self if c.follows
        }
        yield "Determined: what another answer tells, it tells too", "drop", follows
        rare = {f"{c.name} ({c.rare})": "" for c in self if c.rare}
        below = f"{rare_below(self.records):,} of {self.records:,} records"
        yield f"Rare values, below {below}: a design must protect each", "pool", rare

    def _headline(self) -> str:
        out = f"; left out: {short_list(self.left_out)}" if self.left_out else ""
        return f"DataCheck({self.records:,} records, {len(self)} columns{out})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"

    def _columns(self) -> Mapping[str, Any]:
        names = [one.name for one in fields(ColumnCheck)]
        rows = {name: [getattr(column, name) for column in self] for name in names}
        lists = {
            name: [", ".join(row) for row in rows[name]]
            for name in ("codes", "follows")
        }
        return {"column": rows.pop("name"), **rows, **lists}

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain JSON."""
        return {**vars(self), "columns": [vars(column) for column in self]}


def _row(what: str, names: Sequence[str], width: int) -> str:
    """Return a line on some columns: as many names as fit, and the number of the
    others.
    """
    end = f": {what}" if what else ""
    short = [
        name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 3]}..."
        for name in names
    ]
    lines = [f"  {short_list(short, count)}{end}" for count in range(len(short), 0, -1)]
    return next((line for line in lines if len(line) <= width), lines[-1])


def _grouped(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names by their text."""
    groups = dict[str, list[str]]()
    for name, text in texts.items():
        groups.setdefault(text, []).append(name)
    return groups


def _listed(codes: Iterable[str]) -> str:
    return ", ".join(repr(code) for code in codes)


def joined(separator: str, texts: Sequence[Text]) -> Text:
    """Return texts joined by a separator, as one text."""
    return Text(*[part for text in texts for part in (separator, text)][1:])


def check(data: Any, **table: Unpack[CodingKeywords]) -> DataCheck:
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
    **table
        How the table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
        `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`, `pool`,
        `person`; see `TableKeywords`.

    Notes
    -----
    The first 131,072 records are read, 1 s for 40 columns.  Of larger tables no column is called
    constant, or left out as the same as another: later records may differ.

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
            "data must be a table to be checked, and are counted already; give the table itself",
            parameter="data",
        )
    origin, keywords = table_of(data, reading.keywords)
    options = TableOptions(**keywords)
    is_named = origin is not data
    found = _check_table(_opened(origin, options), options, asked=not is_named)
    if not is_named:
        return found
    return replace(found, columns=tuple(replace(column, used=True) for column in found))


def settle(
    data: Any, options: Any, *, asked: bool, stacklevel: int
) -> tuple[Any, dict[str, Any], list[Text], bool]:
    """Return data, table options that leave out what is no answer, and notes; warn of
    these once.

    Last, whether the table is known to have no more than `MAX_RECORDS` records.

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
    """
    if is_counted(data, datasets=True) or options.domain is not None:
        return data, {}, [], False
    source = _opened(data, options)
    found = _check_table(source, options, asked=asked)
    if not found.used:
        raise TableError(
            f"no column looks like an answer ({short_list(found.left_out)}); name those to use (",
            Setting("columns"),
            ")",
        )
    chosen = dict[str, Any]()
    notes = found.notes()
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
    if source.frame is not None and not is_spark_frame(data):
        data = source.frame.to_native()
    return data, chosen, notes, found.whole


def _opened(data: Any, options: TableOptions) -> Source:
    if is_spark_frame(data):
        return open_frame(data.limit(MAX_RECORDS + 1).toArrow())
    return open_source(data, options)


def _check_table(source: Source, options: TableOptions, *, asked: bool) -> DataCheck:
    """Return the check of a table, read by its source."""
    table, whole = first_records(source, options.choose(source.names), MAX_RECORDS)
    profiles = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        markers = marker_labels(options.markers_of(name))
        with readable(name, column.type):
            profiles.append(
                profile_of(name, column.combine_chunks(), source.fields, markers)
            )
    kinds = [kind_of(profile) for profile in profiles]
    answers = [
        one for one, (kind, _) in zip(profiles, kinds, strict=True) if kind in ANSWERS
    ]
    related = relations(answers)
    named = _mentioned(options)
    found = []
    for profile, kind in zip(profiles, kinds, strict=True):
        column = _described(profile, *kind, related.get(profile.name, ()))
        if column.kind == "constant" and not whole:  # later records may differ
            column = replace(column, kind="answer")
        if column.name not in named and column.kind not in ANSWERS:
            column = replace(column, used=False)
        elif column.name not in named and column.same and asked and whole:
            column = replace(
                column, kind=SAME, reason=f"same as {column.same}", used=False
            )
        found.append(column)
    return DataCheck(tuple(found), table.num_rows, whole)


def _described(
    profile: Profile, kind: str, reason: str, related: Iterable[Any]
) -> ColumnCheck:
    """Return what a profile tells of a column that is used."""
    values = len(profile.counts)
    is_answer = kind in ANSWERS
    few = is_answer and (kind != "number" or values <= MIN_VALUES)
    rare = int((profile.counts < rare_below(profile.records)).sum()) if few else 0
    codes = tuple(codes_for_missing(profile)) if is_answer else ()
    about = values, profile.missing / profile.records, codes, rare
    return ColumnCheck(profile.name, kind, reason, True, *about, *related)


def _mentioned(options: Any) -> set[str]:
    """Return all names that options mention, except to leave columns out or to read
    them.
    """
    others = {"drop", "column_names", "missing_markers", "domain", "person"}
    waiting = [
        getattr(options, one.name) for one in fields(options) if one.name not in others
    ]
    names = set[str]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):  # of `want`: "a x b" or "mean a = 1, 2"
            parts = (
                part.removeprefix("mean ").partition("=")[0]
                for part in value.split(" x ")
            )
            names |= {value, *map(str.strip, parts)}
        elif isinstance(value, (Mapping, Sequence)):
            waiting += [*value, *(value.values() if isinstance(value, Mapping) else ())]
    return names
