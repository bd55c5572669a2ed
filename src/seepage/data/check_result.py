"""`DataCheck`: the kinds of a table's columns, and what must be decided before it is analysed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from seepage._results import Result
from seepage.data.column_kinds import ANSWERS, NO_ANSWERS
from seepage.data.domain import short_list
from seepage.data.table.labels import NUMBER
from seepage.errors import InputError, Setting, Text

SAME = "same as another"
"""Kind of a column that another one determines and that determines it: asked once."""

RARE_RECORDS, RARE_SHARES = 2000, (0.01, 0.1)
"""Values of fewer records are rare, within these shares of all records."""
MAX_NAME = 40
"""Characters of a name in the text."""


@dataclass(frozen=True)
class ColumnCheck:
    """What was found about one column.

    Parameters
    ----------
    name, kind
        Its name, and its kind: answer, ordered, number, code; or, left out unless an option names
        it, constant, identifier, running number, weight, date, free text.
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
        """Texts beside many numbers: read as missing, so that the numbers can be binned."""
        texts = (code for code in self.codes if not NUMBER.fullmatch(code))
        return tuple(texts) if self.used and self.kind == "number" else ()

    @property
    def questions(self) -> tuple[str, ...]:
        """Values that may mean missing, and are answers like others unless an option says so."""
        return tuple(code for code in self.codes if self.used and code not in self.beside_numbers)


@dataclass(frozen=True, repr=False, eq=False)
class DataCheck(Result):
    """The kinds of a table's columns, and what must be decided before it is analysed; see `check`.

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

    def notes(self) -> list[Text]:
        """Return what was left out and what must be decided, one sentence each."""
        coded = _grouped({c.name: _listed(c.questions) for c in self if c.questions})
        many = [f"{codes} of {short_list(names)}" for codes, names in coded.items()]
        out = [f"{c.name} ({c.reason if c.kind == SAME else c.kind})" for c in self if not c.used]
        beside = [c.name for c in self if c.beside_numbers]
        columns, markers = Setting("columns"), Setting("missing_markers")
        found = {
            Text(f"left out, no answers: {short_list(out, 8)}; to use them (", columns, ")"): out,
            Text(f"may mean missing: {short_list(many)} (", markers, ")"): many,
            Text(f"texts beside numbers, read as missing: {short_list(beside)}"): beside,
        }
        return [note for note, names in found.items() if names]

    def text(self, name: str = "the table", width: int = 80) -> Text:
        """Return the check as lines of text of at most `width` characters; like columns share one.

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
                lines += [Text(_row(what, names, width)) for what, names in _grouped(rows).items()]
        lines.append(Text("Columns by kind"))
        kinds = _grouped({column.name: column.kind for column in self})
        for kind in (*ANSWERS, *NO_ANSWERS, SAME):
            if names := kinds.get(kind):
                lines.append(Text(f"  {kind} ({len(names)}):{_row('', names, width - 20)[1:]}"))
        return joined("\n", lines)

    def _findings(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield the title of a sort of finding, the option that settles it, and what, by column."""
        out = {c.name: f"{c.kind}, {c.reason}" for c in self if not c.used and c.kind != SAME}
        yield "Left out: not asked, not analysed unless named", "columns", out
        once = {c.name: c.reason for c in self if c.kind == SAME}
        yield "Asked once: a design leaves it out unless named", "columns", once
        named = {c.name: f"{c.kind}, {c.reason}" for c in self if c.used and c.kind in NO_ANSWERS}
        yield "No answers, but used because they are named", "drop", named
        twice = {c.name: f"same as {c.same}" for c in self if c.used and c.same}
        yield "The same answer twice: its reports add up", "drop", twice
        asked = {c.name: _listed(c.questions) for c in self if c.questions}
        yield "May mean missing: an answer like others unless marked", "missing_markers", asked
        beside = {c.name: _listed(c.beside_numbers) for c in self if c.beside_numbers}
        yield "Texts beside numbers: read as missing, also without", "missing_markers", beside
        skipped = {c.name: f"missing exactly where {c.skipped}" for c in self if c.skipped}
        yield "Skipped: that it is missing tells another answer", "drop", skipped
        follows = {c.name: f"follows from {short_list(c.follows)}" for c in self if c.follows}
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
        lists = {name: [", ".join(row) for row in rows[name]] for name in ("codes", "follows")}
        return {"column": rows.pop("name"), **rows, **lists}

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain JSON."""
        return {**vars(self), "columns": [vars(column) for column in self]}


def _row(what: str, names: Sequence[str], width: int) -> str:
    """Return a line on some columns: as many names as fit, and the number of the others."""
    end = f": {what}" if what else ""
    short = [name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 3]}..." for name in names]
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


def rare_below(records: int) -> int:
    """Return the number of records below which a value is rare."""
    low, high = RARE_SHARES
    return int(min(max(RARE_RECORDS, low * records), high * records))
