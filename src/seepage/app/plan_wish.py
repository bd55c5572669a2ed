"""What a plan is to keep and to reach: as it stands in the form, and as keywords."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seepage._core.errors import InputError
from seepage._core.number_grammar import number_of_text
from seepage.app.form_entries import entered_count, entry, entry_at

LIMIT_ODDS = (1.5, 2.0, 2.7, 4.5, 7.4, 12.0, 20.0)
"""The limits of the slider: how many times the odds may change."""

FIRST_ENTRIES = {
    "limit": str(LIMIT_ODDS.index(7.4)),
    "goal": "precision",
    "amount": "3",
    "largest": "",
    "title": "",
}
"""What the form of the fourth step begins with."""

PairKind = Literal["never", "table"]

PAIR_KINDS: dict[PairKind, str] = {
    "never": "never together",
    "table": "together, for a table of both",
}
"""What can be decided about two questions, in words."""


@dataclass(frozen=True)
class QuestionPair:
    """Two questions of which something is decided.

    Parameters
    ----------
    kind
        Whether they are never asked together, or asked together for their table.
    first, second
        The questions.
    """

    kind: PairKind
    first: str
    second: str

    @property
    def words(self) -> str:
        """What is wished of a pair of questions in words."""
        return f"{self.first} and {self.second} {PAIR_KINDS[self.kind]}"


@dataclass(frozen=True)
class PlanWish:
    """What a plan is to keep and to reach.

    Parameters
    ----------
    odds
        How many times the odds may change at most.
    precision
        The half-width that each share is to have; None if people are given.
    people
        The number of people; None if a precision is given.
    largest
        The maximum number of questions for a person; None for any.
    title
        What is collected.
    """

    odds: float
    precision: float | None
    people: int | None
    largest: int | None
    title: str

    @classmethod
    def of(cls, form: Mapping[str, str]) -> "PlanWish":
        """Return the wish for a plan that a form says; what it says wrongly raises an
        InputError.

        Examples
        --------
        >>> PlanWish.of(FIRST_ENTRIES).keywords()
        {'limit': '7.4x', 'precision': 0.03}
        """
        goal = entry(form, "goal")
        if goal not in ("precision", "people"):
            raise InputError(
                "choose a precision, or a number of people", parameter="amount"
            )
        precision = None
        people = None
        if goal == "precision":
            precision = _entered_precision(entry(form, "amount"))
        else:
            people = entered_count(entry(form, "amount"), "people", "amount")
        largest = None
        if entry(form, "largest"):
            largest = entered_count(entry(form, "largest"), "questions each", "largest")
        return cls(
            odds=entry_at(form, "limit", LIMIT_ODDS, "limit"),
            precision=precision,
            people=people,
            largest=largest,
            title=entry(form, "title"),
        )

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of `seepage.design` that a wish for a plan means."""
        keywords: dict[str, Any] = {"limit": f"{self.odds:g}x"}
        for name in ("precision", "people", "largest"):
            value = getattr(self, name)
            if value is not None:
                keywords[name] = value
        if self.title:
            keywords["title"] = self.title
        return keywords


def _entered_precision(text: str) -> float:
    """Return the precision wished of a plan, a half-width that is entered in points."""
    points = number_of_text(text.strip().replace(",", "."))
    if points is None or not 0.05 <= points <= 50:
        raise InputError(
            f"the precision must be from 0.05 to 50 percentage points, got {text!r}",
            parameter="amount",
        )
    return float(f"{points / 100:.10g}")


def pair_keywords(pairs: Sequence[QuestionPair]) -> dict[str, Any]:
    """Return the keywords of `seepage.design` that follow from wishes about pairs of
    questions.

    Examples
    --------
    >>> pair_keywords([QuestionPair("never", "ill", "age")])
    {'never': (('ill', 'age'),)}
    """
    never = tuple((pair.first, pair.second) for pair in pairs if pair.kind == "never")
    tables = tuple(
        f"{pair.first} x {pair.second}" for pair in pairs if pair.kind == "table"
    )
    keywords = dict[str, Any]()
    if never:
        keywords["never"] = never
    if tables:
        keywords["want"] = tables
    return keywords
