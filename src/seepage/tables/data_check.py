"""`DataCheck`: what was found about the columns of a table, as notes and as text."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any, Literal

from seepage._core import checks
from seepage._core.errors import InputError, Setting, Text
from seepage._core.files import write_text
from seepage._core.number_grammar import NUMBER
from seepage._core.results import Result
from seepage._core.text import short_list
from seepage.tables.codebooks import CodebookRow, Role, write_codebook
from seepage.tables.kinds import ANSWERS, NO_ANSWERS
from seepage.tables.number_scale import number_scale
from seepage.tables.rare_values import rare_below
from seepage.tables.repeated_people import RepeatedValues
from seepage.tables.value_shares import ValueLabels, ValueShares

FORMAT: Literal["seepage check"] = "seepage check"
"""How the JSON of a check says what it is."""


VERSION: Literal[1] = 1
"""The version of this format."""


SAME = "same as another"
"""Kind of a column that another one determines and that determines it: asked once."""


REPEATED = "several records of a person: the population needs one of each"
"""How identifiers that occur twice are told: the promise is for one record per
person."""


MAY_BE_MISSING = "may mean missing"
"""How values are told that may be no answers."""


BESIDE_NUMBERS = "texts beside numbers, read as missing"
"""How texts are told that are read as missing."""


TO_DECIDE = (MAY_BE_MISSING, BESIDE_NUMBERS, REPEATED)
"""How notes begin that somebody must decide about."""


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
    shares
        The shares of its values, or of bins of a number, for a picture.
    labels
        All values of an answer that has few, in their order.
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
    shares: ValueShares = ()
    labels: ValueLabels = ()

    @property
    def beside_numbers(self) -> tuple[str, ...]:
        """Texts beside many numbers of a checked column: read as missing, so that the
        numbers can be binned.
        """
        if not self.used or self.kind != "number":
            return ()
        return tuple(code for code in self.codes if not NUMBER.fullmatch(code))

    @property
    def questions(self) -> tuple[str, ...]:
        """Values of a checked column that may mean missing, and are answers like others
        unless an option says so.
        """
        if not self.used:
            return ()
        return tuple(code for code in self.codes if code not in self.beside_numbers)


@dataclass(frozen=True)
class Finding:
    """Columns of which the same must be decided.

    Parameters
    ----------
    title
        What was found, and what happens unless an option says otherwise.
    option
        The option that settles it.
    details
        What was found about each column, by name.
    """

    title: str
    option: str
    details: dict[str, str]


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
    repeats
        Columns of people or regions with several records, in which other answers never
        change.
    """

    columns: tuple[ColumnCheck, ...]
    records: int
    whole: bool
    repeats: tuple[RepeatedValues, ...] = ()

    def __iter__(self) -> Iterator[ColumnCheck]:
        """Yield the checks of the columns."""
        return iter(self.columns)

    def __len__(self) -> int:
        """Return the number of columns checked."""
        return len(self.columns)

    def __getitem__(self, name: str) -> ColumnCheck:
        """Return the check of a column by name."""
        columns = {column.name: column for column in self}
        if name not in columns:
            raise InputError(f"there is no column {name!r}", parameter="name")
        return columns[name]

    @property
    def used(self) -> tuple[str, ...]:
        """The checked columns that are analysed and asked."""
        return tuple(column.name for column in self if column.used)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The checked columns that are neither asked nor analysed."""
        return tuple(column.name for column in self if not column.used)

    def unused(self) -> dict[str, dict[str, str]]:
        """Return the checked columns that are not used, as a plan states them: the kind
        of those that are no answers, and the twin of those that say the same as
        another.
        """
        no_answers = dict[str, str]()
        same = dict[str, str]()
        for column in self:
            if column.used:
                continue
            if column.kind == SAME and column.same is not None:
                same[column.name] = column.same
            else:
                no_answers[column.name] = column.kind
        unused = dict[str, dict[str, str]]()
        if no_answers:
            unused["no answers"] = no_answers
        if same:
            unused["same"] = same
        return unused

    @property
    def repeated(self) -> tuple[str, ...]:
        """The checked columns of identifiers that several records share: of one person,
        if they are of people.
        """
        names = list[str]()
        for column in self:
            present = round((1 - column.missing) * self.records)
            is_identifier = column.kind == "identifier" and not column.used
            if is_identifier and column.values < present:
                names.append(column.name)
        return tuple(names)

    @property
    def people(self) -> tuple[RepeatedValues, ...]:
        """The checked columns that identify people with several records, the likeliest
        first.
        """
        persons = [column for column in self.repeats if column.is_person]
        return tuple(sorted(persons, key=lambda column: -len(column.constant)))

    @property
    def regions(self) -> tuple[RepeatedValues, ...]:
        """The checked columns of regions or the like, with answers that are the
        region's.
        """
        return tuple(column for column in self.repeats if not column.is_person)

    def notes(self, *, person_is_settled: bool = False) -> list[Text]:
        """Return what the check left out and what must be decided, one sentence each.

        Parameters
        ----------
        person_is_settled
            Whether an option says which column identifies a person, or that none does.
        """
        notes = list[Text]()
        if self.left_out:
            columns = short_list([_with_kind(c) for c in self if not c.used], 8)
            head = f"left out, no answers: {columns}; to use them ("
            notes.append(Text(head, Setting("keep"), ")"))
        notes += self._notes_on_codes()
        if self.repeated and not person_is_settled:
            notes.append(
                Text(f"{REPEATED} (", Setting("person", self.repeated[0]), ")")
            )
        for region in self.regions:
            notes.append(
                Text(
                    f"{region.name} may be a region or the like: {region.reason}; its "
                    "people are no independent sample"
                )
            )
        return notes

    def _notes_on_codes(self) -> Iterator[Text]:
        """Yield the check's notes on values that may mean missing, and on texts beside
        numbers.
        """
        coded = names_by_text(self._details(_may_be_missing))
        if coded:
            codes = [
                f"{codes} of {short_list(names)}" for codes, names in coded.items()
            ]
            markers = Setting("missing_markers")
            yield Text(f"{MAY_BE_MISSING}: {short_list(codes)} (", markers, ")")
        beside = [column.name for column in self if column.beside_numbers]
        if beside:
            yield Text(f"{BESIDE_NUMBERS}: {short_list(beside)}")

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
        lines = [Text(self._first_line(name))]
        for finding in self.findings():
            if finding.details:
                lines.append(Text(f"{finding.title} (", Setting(finding.option), ")"))
                for detail, names in names_by_text(finding.details).items():
                    lines.append(Text(_line(names, detail, width)))
        lines.append(Text("Columns by kind"))
        kinds = names_by_text({column.name: column.kind for column in self})
        for kind in (*ANSWERS, *NO_ANSWERS, SAME):
            if kind in kinds:
                names = kinds[kind]
                listed = _line(names, "", width - 20).removeprefix("  ")
                lines.append(Text(f"  {kind} ({len(names)}): {listed}"))
        return join_texts("\n", lines)

    def _first_line(self, name: str) -> str:
        """Return the first line of the check's text: the table and its size."""
        first = "" if self.whole else "first "
        columns = "1 column" if len(self) == 1 else f"{len(self)} columns"
        line = f"{name}: {first}{self.records:,} records, {columns}"
        if self.left_out:
            line += f", {len(self.left_out)} left out"
        return line

    def findings(self) -> Iterator[Finding]:
        """Yield the findings of the check by what must be decided, also where no column
        has it.
        """
        yield Finding(
            "Left out: not asked, not analysed unless named",
            "keep",
            {c.name: _kind_and_reason(c) for c in self._no_answers(used=False)},
        )
        yield Finding(
            REPEATED.capitalize(),
            "person",
            {name: self._repetition(name) for name in self.repeated},
        )
        yield Finding(
            "Regions or the like: their people are no independent sample",
            "drop",
            {region.name: region.reason for region in self.regions},
        )
        yield Finding(
            "Asked once: a design leaves it out unless named",
            "columns",
            {c.name: c.reason for c in self if c.kind == SAME},
        )
        yield Finding(
            "No answers, but used because they are named",
            "drop",
            {c.name: _kind_and_reason(c) for c in self._no_answers(used=True)},
        )
        for title, option, detail in BY_COLUMN:
            yield Finding(title, option, self._details(detail))
        below = f"{rare_below(self.records):,} of {self.records:,} records"
        yield Finding(
            f"Rare values, below {below}: a design must protect each",
            "pool",
            {f"{c.name} ({c.rare})": "" for c in self if c.rare},
        )

    def _no_answers(self, *, used: bool) -> Iterator[ColumnCheck]:
        """Yield the checked columns that are used though they are no answers; or those
        that are left out, but not because they say the same as another.
        """
        for column in self:
            if column.used != used:
                continue
            if column.kind in NO_ANSWERS or (not used and column.kind != SAME):
                yield column

    def _details(self, detail: Callable[[ColumnCheck], str]) -> dict[str, str]:
        """Return a detail of each checked column that has one."""
        details = dict[str, str]()
        for column in self:
            text = detail(column)
            if text:
                details[column.name] = text
        return details

    def _repetition(self, name: str) -> str:
        """Return what tells the check that several records are of one person."""
        for person in self.people:
            if person.name == name:
                return person.reason
        return "several records have the same"

    def save_codebook(self, path: str | os.PathLike[str]) -> None:
        """Write the checked columns and their values as a CSV file to edit; see
        `seepage.tables.codebooks`.

        It is private (mode 0600): rare values may point to people.
        """
        write_codebook(path, self._codebook(), private=True)

    def _codebook(self) -> Iterator[CodebookRow]:
        """Yield the lines of the check's codebook, without roles of the columns that
        are used.
        """
        for column in self:
            role: Role = "" if column.used else "never"
            yield CodebookRow(attribute=column.name, kind=column.kind, role=role)
            scale = number_scale([label for label, _ in column.labels])
            for label, share in column.labels:
                place = scale.index(label) + 1 if label in scale else None
                yield CodebookRow(
                    attribute=column.name, value=label, order=place, share=share
                )
            for label in column.beside_numbers:
                yield CodebookRow(attribute=column.name, value=label, missing=True)

    def _headline(self) -> str:
        """Return the check of a table's columns in one line."""
        out = f"; left out: {short_list(self.left_out)}" if self.left_out else ""
        return f"DataCheck({self.records:,} records, {len(self)} columns{out})"

    def _repr_html_(self) -> str:
        """Return the check of a table's columns as HTML."""
        return f"<pre>{escape(self.text())}</pre>"

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of the check of a table's columns in long form."""
        columns = dict[str, Any]()
        for field in fields(ColumnCheck):
            columns[field.name] = [getattr(column, field.name) for column in self]
        for name in ("codes", "follows"):
            columns[name] = [", ".join(values) for values in columns[name]]
        del columns["shares"]
        del columns["labels"]
        return {"column": columns.pop("name"), **columns}

    def report(self, path: str | os.PathLike[str], *, name: str = "the table") -> None:
        """Write the check as one self-contained HTML page, whole or not at all.

        Parameters
        ----------
        path
            The page.
        name
            The name of the table.
        """
        from seepage.pages.check_page import check_page

        write_text(checks.path(path), check_page(self, name=checks.text(name, "name")))

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain JSON, with its format and its version."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **vars(self),
            "columns": [vars(column) for column in self],
            "repeats": [vars(column) for column in self.repeats],
        }


def _with_kind(column: ColumnCheck) -> str:
    """Return the name of a checked column that is left out, and why in a word or
    two.
    """
    why = column.reason if column.kind == SAME else column.kind
    return f"{column.name} ({why})"


def _kind_and_reason(column: ColumnCheck) -> str:
    """Return the kind of a checked column, and the reason."""
    return f"{column.kind}, {column.reason}"


def _line(names: Sequence[str], detail: str, width: int) -> str:
    """Return a line of the check on some columns: as many names as fit, and the number
    of the others.
    """
    end = f": {detail}" if detail else ""
    short = list[str]()
    for name in names:
        is_long = len(name) > MAX_NAME
        short.append(f"{name[: MAX_NAME - 3]}..." if is_long else name)
    line = ""
    for count in range(len(short), 0, -1):
        line = f"  {short_list(short, count)}{end}"
        if len(line) <= width:
            break
    return line


def names_by_text(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of checked columns that have the same text, by text."""
    groups = dict[str, list[str]]()
    for name, text in texts.items():
        groups.setdefault(text, []).append(name)
    return groups


def _listed(codes: Iterable[str]) -> str:
    """Return the values of a check that may mean missing as a list in words."""
    return ", ".join(repr(code) for code in codes)


def join_texts(separator: str, texts: Sequence[Text]) -> Text:
    """Return texts of a check joined by a separator, as one text."""
    parts = list[Text | str]()
    for text in texts:
        parts.append(separator)
        parts.append(text)
    return Text(*parts[1:])


# What each column tells ---------------------------------------------------------------


def _said_twice(column: ColumnCheck) -> str:
    """Return that a checked column says the same as another one."""
    if column.used and column.same:
        return f"same as {column.same}"
    return ""


def _may_be_missing(column: ColumnCheck) -> str:
    """Return the values of a checked column that may mean missing, in words."""
    return _listed(column.questions)


def _texts_beside(column: ColumnCheck) -> str:
    """Return the texts beside a checked column's numbers, in words."""
    return _listed(column.beside_numbers)


def _skipped(column: ColumnCheck) -> str:
    """Return where a checked column is skipped, in words."""
    if column.skipped:
        return f"missing exactly where {column.skipped}"
    return ""


def _determined(column: ColumnCheck) -> str:
    """Return from what a checked column follows, in words."""
    if column.follows:
        return f"follows from {short_list(column.follows)}"
    return ""


BY_COLUMN: tuple[tuple[str, str, Callable[[ColumnCheck], str]], ...] = (
    ("The same answer twice: its reports add up", "drop", _said_twice),
    (
        "May mean missing: an answer like others unless marked",
        "missing_markers",
        _may_be_missing,
    ),
    (
        "Texts beside numbers: read as missing, also without",
        "missing_markers",
        _texts_beside,
    ),
    (
        "Skipped: that it is missing tells another answer",
        "drop",
        _skipped,
    ),
    (
        "Determined: what another answer tells, it tells too",
        "drop",
        _determined,
    ),
)
"""Findings about single columns: the title, the option that settles it, and the detail
of a column, empty if it has none."""
