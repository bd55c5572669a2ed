"""Odds by question as bars on one axis that begins at 1 x, where nothing is told."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MOST_LINEAR = 20.0
"""Odds up to which the axis is linear; beyond it is logarithmic."""

MOST_DECADES = 9
"""Maximum number of powers of ten of a logarithmic axis; longer bars end at it."""

State = Literal["over", "within", "open", "told", "own", "compared"]
"""Whether odds are over a limit, within it, not known to be either, or have no limit;
"own" for what a question's own answer tells, "compared" for what may be chance."""

COLOURS: dict[State, str] = {
    "over": "orange",
    "within": "green",
    "open": "grey",
    "told": "orange",
    "own": "blue",
    "compared": "grey",
}
"""The class of each state's bar."""


@dataclass(frozen=True, kw_only=True)
class OddsEntry:
    """What is told about one question, in nats, and in words.

    Parameters
    ----------
    name
        The question.
    state
        Its state.
    value
        Where its bar ends.
    estimate
        Where an estimate stands that rests on an assumption; None for none.
    text
        The odds in words.
    """

    name: str
    state: State
    value: float
    estimate: float | None = None
    text: str


@dataclass(frozen=True, kw_only=True)
class OddsRow:
    """One bar; places in % of the axis."""

    name: str
    colour: str
    width: float
    estimate: float | None
    is_open: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class OddsBars:
    """Bars of odds on one axis.

    Parameters
    ----------
    rows
        The bars.
    ticks
        Places in % and texts of the axis.
    limit, limit_text
        The place of the limit, None for none, and its odds in words.
    growth
        How many times the odds of the tick before each has, where the axis is
        logarithmic; empty where it is not.
    """

    rows: tuple[OddsRow, ...]
    ticks: tuple[tuple[float, str], ...]
    limit: float | None
    limit_text: str
    growth: str

    @property
    def description(self) -> str:
        """The bars of odds in words, for who does not see them."""
        texts = [f"{row.name}: {row.text}" for row in self.rows]
        if self.limit_text:
            texts.append(f"the limit is {self.limit_text}")
        return "; ".join(texts)


def odds_bars(
    entries: Sequence[OddsEntry], limit: float | None = None, limit_text: str = ""
) -> OddsBars:
    """Return odds as bars; the axis ends at the longest bar, estimate or limit.

    Parameters
    ----------
    entries
        What is told about each question.
    limit, limit_text
        The limit of all in nats, and in words; None for none.

    Examples
    --------
    >>> rows = [OddsEntry(name="sex", state="over", value=3.0, text="at least 20 ×")]
    >>> bars = odds_bars(rows, limit=2.0, limit_text="7.4 ×")
    >>> bars.growth, [text for _, text in bars.ticks]
    ('10', ['1 ×', '10 ×', '100 ×'])
    """
    lengths = [entry.value for entry in entries]
    lengths += [entry.estimate for entry in entries if entry.estimate is not None]
    if limit is not None:
        lengths.append(limit)
    end = max([0.1, *(length for length in lengths if math.isfinite(length))])
    axis = _axis(end)
    return OddsBars(
        rows=tuple(
            OddsRow(
                name=entry.name,
                colour=COLOURS[entry.state],
                width=axis.place(entry.value),
                estimate=None if entry.estimate is None else axis.place(entry.estimate),
                is_open=entry.state == "open",
                text=entry.text,
            )
            for entry in entries
        ),
        ticks=axis.ticks,
        limit=None if limit is None else axis.place(limit),
        limit_text=limit_text,
        growth=axis.growth,
    )


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """An axis of odds from 1 to a largest one."""

    largest: float
    growth: str
    ticks: tuple[tuple[float, str], ...]

    def place(self, nats: float) -> float:
        """Return the place of a number of nats on the axis of odds in %, at most
        100.
        """
        if self.growth:
            share = nats / math.log(self.largest)
        else:
            share = math.expm1(min(nats, 700.0)) / (self.largest - 1)
        return round(100 * min(1.0, max(0.0, share)), 2)


def _axis(end: float) -> _Axis:
    """Return the axis of odds on which a number of nats fits."""
    if end > math.log(MOST_LINEAR):
        decades = min(MOST_DECADES, math.ceil(end / math.log(10) - 1e-9))
        step = math.ceil(decades / 4)
        ticks = [
            (round(100 * power / decades, 2), f"{10**power:,} ×")
            for power in range(0, decades + 1, step)
        ]
        return _Axis(largest=10.0**decades, growth=f"{10**step:,}", ticks=tuple(ticks))
    odds = math.exp(end)
    step_odds = _step((odds - 1) / 4)
    largest = 1 + step_odds * math.ceil((odds - 1) / step_odds - 1e-9)
    number = round((largest - 1) / step_odds)
    linear = [
        (round(100 * tick / number, 2), f"{1 + tick * step_odds:g} ×")
        for tick in range(number + 1)
    ]
    return _Axis(largest=largest, growth="", ticks=tuple(linear))


def _step(rough: float) -> float:
    """Return the step of the axis of odds: the next larger of 1, 2, 5 times a power of
    ten.
    """
    power = 10.0 ** math.floor(math.log10(rough))
    for digit in (1, 2, 5):
        if digit * power >= rough * 0.999:
            return digit * power
    return 10 * power
