"""What the page of a check shows: decisions to take, and a row for each column."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from seepage._core.percent import percent_near_ends
from seepage._core.text import number_of, short_list
from seepage.tables.data_check import SAME, ColumnCheck, DataCheck
from seepage.tables.rare_values import rare_below
from seepage.tables.value_shares import ValueShares

Choice = Literal["ask", "decide", "never"]
"""What is done with a column: asked, asked unless decided otherwise, never used."""

DONE: dict[Choice, str] = {
    "ask": "Asked",
    "decide": "Asked, decide",
    "never": "Never used",
}
"""What is done with a column, in words."""

COLOURS: dict[Choice, str] = {"ask": "asked", "decide": "decide", "never": ""}
"""The mark of each choice, as a class of the style sheet."""

SHOWN_CARDS = 6
"""Maximum number of decisions on the open page; the others are in the rows."""

MOST_OPEN = 18
"""Maximum number of rows that are all on the open page."""

SHOWN_OPEN = 15
"""Of more, the number that are, those to decide first; the others are folded."""

UNORDERED = ("answer", "code")
"""Kinds of columns whose rare answers have no neighbours to be merged with."""

SHOWN_SHARES = 4
"""Maximum number of shares in the words of a row."""

PICTURE_HEIGHT = 38
"""Height of the picture of a column in px; the dotted line is 100 %."""

AXIS = PICTURE_HEIGHT - 3
"""Place of the axis of a picture from above, in px."""


@dataclass(frozen=True, kw_only=True)
class HistogramBar:
    """One bar of a column's picture: x and width in %, y and height in px."""

    x: float
    width: float
    y: float
    height: float
    label: str
    is_rare: bool


@dataclass(frozen=True, kw_only=True)
class ColumnRow:
    """One column: its picture, kind, what is done with it, and why.

    `option` settles what must be decided, as it is typed.
    """

    name: str
    kind: str
    choice: Choice
    reason: str
    shares: str
    values: str
    bars: tuple[HistogramBar, ...]
    option: str

    @property
    def done(self) -> str:
        """What a check's row says is done with its column, in words."""
        return DONE[self.choice]

    @property
    def colour(self) -> str:
        """The class of the mark of a check's row."""
        return COLOURS[self.choice]


@dataclass(frozen=True, kw_only=True)
class DecisionCard:
    """What must be decided about some columns, and the option that settles it."""

    title: str
    text: str
    option: str


@dataclass(frozen=True, kw_only=True)
class CheckView:
    """A check as decisions, a strip of all columns, and rows."""

    order: str
    cards: tuple[DecisionCard, ...]
    strip: tuple[tuple[Choice, int, float], ...]
    rows: tuple[ColumnRow, ...]
    further: tuple[ColumnRow, ...]


def check_view(check: DataCheck) -> CheckView:
    """Return the view of a check: what must be decided first.

    Examples
    --------
    >>> import pyarrow as pa, seepage as sp
    >>> people = pa.table({"id": range(200), "health": [1, 2, 3, 9] * 50})
    >>> view = check_view(sp.check(people))
    >>> view.order
    '1 of 2 columns will be asked. One needs your decision.'
    >>> [(row.name, row.choice) for row in view.rows]
    [('health', 'decide'), ('id', 'never')]
    """
    rows = [_row(check, column) for column in check]
    order: list[Choice] = ["decide", "ask", "never"]
    rows.sort(key=lambda row: order.index(row.choice))
    counts = {choice: sum(row.choice == choice for row in rows) for choice in DONE}
    total = max(1, len(rows))
    shown = len(rows)
    if len(rows) > MOST_OPEN:
        shown = SHOWN_OPEN
    cards = list(_cards(check))
    return CheckView(
        order=_order(check, counts["decide"]),
        cards=tuple(cards[:SHOWN_CARDS]),
        strip=tuple(
            (choice, counts[choice], round(100 * counts[choice] / total, 2))
            for choice in DONE
            if counts[choice]
        ),
        rows=tuple(rows[:shown]),
        further=tuple(rows[shown:]),
    )


SMALL_NUMBERS = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven")
"""Numbers at the start of a sentence."""


def _order(check: DataCheck, decide: int) -> str:
    """Return how many columns are asked and how many need a decision, for the view of a
    check.
    """
    asked = f"{len(check.used):,} of {number_of(len(check), 'column')} will be asked."
    if not decide:
        return f"{asked} Nothing must be decided first."
    number = SMALL_NUMBERS[decide] if decide < len(SMALL_NUMBERS) else f"{decide:,}"
    verb = "needs" if decide == 1 else "need"
    return f"{asked} {number} {verb} your decision."


def _row(check: DataCheck, column: ColumnCheck) -> ColumnRow:
    """Return the row of one column in the view of a check."""
    decisions = dict(_decisions(check, column))
    choice: Choice = "ask"
    if not column.used:
        choice = "never"
    elif decisions:
        choice = "decide"
    reasons = [*decisions.values()]
    if column.reason:
        reasons.append(f"{column.reason[:1].upper()}{column.reason[1:]}.")
    if not reasons:
        reasons.append(_plain_reason(column))
    return ColumnRow(
        name=column.name,
        kind=column.kind,
        choice=choice,
        reason=" ".join(reasons),
        shares=_shares_text(column.shares),
        values=f"{column.values:,} different values",
        bars=tuple(_bars(column.shares, _rare_share(check, column))),
        option=next(iter(decisions), ""),
    )


def _plain_reason(column: ColumnCheck) -> str:
    """Return why a column without any finding is asked, for the view of a check."""
    text = f"{number_of(column.values, 'answer')}, each with people enough."
    if column.values > SHOWN_SHARES * SHOWN_SHARES:
        text = f"{column.values:,} values, which a design merges into answers."
    if column.missing:
        text += f" {percent_near_ends(column.missing)} have none."
    return text


def _shares_text(shares: ValueShares) -> str:
    """Return the largest shares of a checked column in words, in the order of the
    values.
    """
    if not shares:
        return ""
    least = sorted((share for _, share in shares), reverse=True)[:SHOWN_SHARES][-1]
    shown = [(label, share) for label, share in shares if share >= least]
    texts = [
        f"{label}: {percent_near_ends(share)}" for label, share in shown[:SHOWN_SHARES]
    ]
    more = len(shares) - len(texts)
    if more:
        texts.append(f"{more} more")
    return ", ".join(texts)


def _rare_share(check: DataCheck, column: ColumnCheck) -> float:
    """Return the share below which the view of a check marks an answer as rare; 0 for
    none.
    """
    if not column.rare or column.kind not in UNORDERED:
        return 0.0
    present = check.records * (1 - column.missing)
    return rare_below(check.records) / max(1.0, present)


def _bars(shares: ValueShares, rare: float) -> Iterator[HistogramBar]:
    """Yield the bars of a column's picture in the view of a check, from 0 to 100 %."""
    if not shares:
        return
    step = 100 / len(shares)
    for place, (label, share) in enumerate(shares):
        height = round(max(0.5, share * (AXIS - 3)), 2)
        yield HistogramBar(
            x=round(step * place + 0.08 * step, 2),
            width=round(0.84 * step, 2),
            y=round(AXIS - height, 2),
            height=height,
            label=f"{label}: {percent_near_ends(share)}",
            is_rare=share < rare,
        )


def _decisions(check: DataCheck, column: ColumnCheck) -> Iterator[tuple[str, str]]:
    """Yield for the view of a check the option that settles each thing to decide about
    a column, and why.
    """
    if not column.used:
        return
    if column.questions:
        codes = ", ".join(f"“{code}”" for code in column.questions)
        yield (
            f"--missing-marker {column.name}={column.questions[0]}",
            f"{codes} may mean no answer; now an answer like others.",
        )
    if column.beside_numbers:
        texts = ", ".join(f"“{code}”" for code in column.beside_numbers)
        yield (
            f"--missing-marker {column.name}={column.beside_numbers[0]}",
            f"{texts} stand beside numbers and are read as no answer.",
        )
    if column.rare and column.kind in UNORDERED:
        below = f"{rare_below(check.records):,} of {check.records:,} records"
        yield (
            "--answers as-is",
            f"{number_of(column.rare, 'answer')} with fewer than {below}: a design "
            "merges or protects them; to ask them as they are takes more people.",
        )
    if column.same:
        yield (
            f"--drop {column.name}",
            f"The same as {column.same}: asked twice, its reports add up.",
        )
    if column.follows:
        yield (
            f"--drop {column.name}",
            f"Follows from {short_list(column.follows)}: what they tell, it tells too.",
        )
    if column.skipped:
        yield (
            f"--drop {column.name}",
            f"Missing exactly where {column.skipped}: that it is missing tells that.",
        )


def _cards(check: DataCheck) -> Iterator[DecisionCard]:
    """Yield the cards of a check's view on what must be decided, one for all columns
    with the same finding.
    """
    if check.repeated:
        name = check.repeated[0]
        yield DecisionCard(
            title="Several records of one person?",
            text=f"Values of {short_list(check.repeated)} occur in several records. "
            "The promise is for one record per person.",
            option=f"--person {name}",
        )
    findings = dict[str, list[str]]()
    options = dict[str, str]()
    for column in check:
        for option, text in _decisions(check, column):
            findings.setdefault(text, []).append(column.name)
            options.setdefault(text, option)
    for text, names in findings.items():
        yield DecisionCard(title=short_list(names), text=text, option=options[text])
    twins = {c.name: c.same for c in check if c.kind == SAME and c.same}
    if twins:
        yield _twins_card(twins)


def _twins_card(twins: Mapping[str, str]) -> DecisionCard:
    """Return the card of a check's view about columns that say the same as another."""
    pairs = [f"{name} (as {twin})" for name, twin in twins.items()]
    return DecisionCard(
        title="Asked once",
        text=f"Says the same as another column: {short_list(pairs)}.",
        option=f"--keep {next(iter(twins))}",
    )
