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
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(f"there is no column {name!r}", parameter="name")

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
        coded = _grouped((column.name, _listed(column.questions)) for column in self)
        many = [f"{codes} of {short_list(names)}" for codes, names in coded.items() if codes]
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
        how_many = f"{self.records:,} records" if self.whole else f"first {self.records:,} records"
        left = f", {len(self.left_out)} left out" if self.left_out else ""
        columns = "1 column" if len(self) == 1 else f"{len(self)} columns"
        lines = [Text(f"{name}: {how_many}, {columns}{left}")]
        found = [(*finding, column.name) for column in self for finding in _findings(column)]
        for number, title, option in sorted({finding[:3] for finding in found}):
            lines.append(Text(f"{title} (", Setting(option), ")"))
            rows = _grouped((name, what) for at, _, _, what, name in found if at == number)
            lines += [Text(_row(what, names, width)) for what, names in rows.items()]
        if rare := [f"{column.name} ({column.rare})" for column in self if column.rare]:
            limit = f"{rare_below(self.records):,} of {self.records:,} records"
            how = f"Rare values, below {limit}: a design must protect each (", Setting("pool"), ")"
            lines += [Text(*how), Text(_row("", rare, width))]
        lines.append(Text("Columns by kind"))
        for kind in (*ANSWERS, *NO_ANSWERS, SAME):
            if names := [column.name for column in self if column.kind == kind]:
                lines.append(Text(f"  {kind} ({len(names)}):{_row('', names, width - 20)[1:]}"))
        return Text(*(part for line in lines for part in ("\n", line)[line is lines[0] :]))

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
    counts = range(len(short), 1, -1)
    lines = (f"  {short_list(short, count)}{end}" for count in counts)
    return next((line for line in lines if len(line) <= width), f"  {short_list(short, 1)}{end}")


def _grouped(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names of rows of (name, text) by text."""
    groups = dict[str, list[str]]()
    for name, text in rows:
        groups.setdefault(text, []).append(name)
    return groups


def _findings(c: ColumnCheck) -> Iterator[tuple[int, str, str, str]]:
    """Yield order and title of a sort of finding, the option that settles it, and what is found."""
    kind = f"{c.kind}, {c.reason}"
    if not c.used and c.kind != SAME:
        yield 0, "Left out: not asked, not analysed unless named", "columns", kind
    if not c.used and c.kind == SAME:
        yield 1, "Asked once: a design leaves it out unless named", "columns", c.reason
    if c.used and c.kind in NO_ANSWERS:
        yield 2, "No answers, but used because they are named", "drop", kind
    if c.used and c.same:
        yield 3, "The same answer twice: its reports add up", "drop", f"same as {c.same}"
    if c.questions:
        title = "May mean missing: an answer like others unless marked"
        yield 4, title, "missing_markers", _listed(c.questions)
    if c.beside_numbers:
        title = "Texts beside numbers: read as missing, also without"
        yield 5, title, "missing_markers", _listed(c.beside_numbers)
    if c.skipped:
        title = "Skipped: that it is missing tells another answer"
        yield 6, title, "drop", f"missing exactly where {c.skipped}"
    if c.follows:
        title = "Determined: what another answer tells, it tells too"
        yield 7, title, "drop", f"follows from {short_list(c.follows)}"


def _listed(codes: Iterable[str]) -> str:
    return ", ".join(repr(code) for code in codes)


def rare_below(records: int) -> int:
    """Return the number of records below which a value is rare."""
    low, high = RARE_SHARES
    return int(min(max(RARE_RECORDS, low * records), high * records))
