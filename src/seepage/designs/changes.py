"""`Change`: what one change of a plan costs or saves, in people."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, overload

import msgspec

from seepage._core.results import Result
from seepage._core.text import number_of, rounded_people, short_list
from seepage.designs.forms.question import Stored

ChangeKind = Literal["drop", "add", "never", "largest", "together"]

NO_CHANGE = 5e-4
"""Share of people more or fewer below which a change needs as many."""


class Change(Stored, frozen=True, kw_only=True):
    """One change of a plan, and how many times as many people it needs.

    Parameters
    ----------
    kind
        `"drop"`: not ask a question any more; `"add"`: ask one more; `"never"`: never
        ask two questions together; `"largest"`: ask each person at most a number of
        questions; `"together"`: ask two questions together, so that their joint table
        is as precise as a question.
    attributes
        The questions that the change is about; none for `"largest"`.
    questions
        The maximum number of questions of a person for `"largest"`, else None.
    people
        The number of people for the same precision of the other questions, as a factor
        of this plan's; below 1 fewer are needed.  An upper bound: it is computed from
        the forms that the search of the plan has found, and a search for the changed
        collection may find better ones.

    Examples
    --------
    >>> change = Change(kind="never", attributes=("ill", "income"), people=1.125)
    >>> print(change)
    never ask ill and income together: 12.5 % more people
    """

    kind: ChangeKind
    attributes: tuple[str, ...] = ()
    questions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    people: Annotated[float, msgspec.Meta(gt=0)]

    @property
    def sentence(self) -> str:
        """What a change of the design changes, in words."""
        names = " and ".join(self.attributes)
        if self.kind == "drop":
            return f"do not ask {names}"
        if self.kind == "add":
            return f"also ask {names}"
        if self.kind == "never":
            return f"never ask {names} together"
        if self.kind == "together":
            return f"ask {names} together"
        return f"ask at most {number_of(self.questions or 0, 'question')} per person"

    @property
    def price(self) -> str:
        """The price of a change of the design in words, to a tenth of a percent."""
        return people_change(self.people)

    def __str__(self) -> str:
        """Return a change of the design with its price, in words."""
        return f"{self.sentence}: {self.price}"


def people_change(factor: float) -> str:
    """Return the price of a change in words: a factor of the number of people, rounded
    up.

    Examples
    --------
    >>> people_change(1.125), people_change(0.9), people_change(1.0001)
    ('12.5 % more people', '10 % fewer people', 'as many people')
    >>> people_change(3.21)
    '3.3 times as many people'
    """
    if factor >= 2:
        return f"{_rounded_up(factor * 10) / 10:g} times as many people"
    tenths = _rounded_up((factor - 1) * 1000)
    if abs(factor - 1) < NO_CHANGE:
        return "as many people"
    if tenths > 0:
        return f"{tenths / 10:g} % more people"
    return f"{-tenths / 10:g} % fewer people"


def people_difference(factor: float, people: int) -> str:
    """Return what a change adds or saves of a number of people, in words: at most so
    many more, at least so many fewer.

    Examples
    --------
    >>> people_difference(1.125, 8_100), people_difference(0.9, 8_190)
    ('1,020 people more', '810 people fewer')
    """
    if abs(factor - 1) < NO_CHANGE:
        return "as many people"
    more = (factor - 1) * people
    if more > 0:
        return f"{rounded_people(math.ceil(more))} people more"
    fewer = math.floor(-more)
    unit = 10 ** max(0, len(str(fewer)) - 2)
    return f"{fewer // unit * unit:,} people fewer"


def _rounded_up(value: float) -> int:
    """Return a change's number of people, the smallest integer that is not below it by
    more than rounding.
    """
    return -int(-(value - 1e-9) // 1)


class Changes(Result, Sequence[Change]):
    """The changes of a plan with their prices: a sequence, and a table.

    Parameters
    ----------
    changes
        The changes.

    Examples
    --------
    >>> changes = Changes(
    ...     [
    ...         Change(kind="drop", attributes=("ill",), people=0.9),
    ...         Change(kind="largest", questions=1, people=1.4),
    ...     ]
    ... )
    >>> changes  # doctest: +NORMALIZE_WHITESPACE
    Changes(2: do not ask ill: 10 % fewer people;
            ask at most 1 question per person: 40 % more people)
    >>> changes.of("largest")[0].people
    1.4
    """

    __slots__ = ("_changes",)

    def __init__(self, changes: Sequence[Change]) -> None:
        """Keep the changes of a design in their order."""
        self._changes = tuple(changes)

    def of(self, kind: ChangeKind) -> tuple[Change, ...]:
        """Return the changes of a design that are of one kind."""
        return tuple(change for change in self if change.kind == kind)

    def __len__(self) -> int:
        """Return the number of changes of a design."""
        return len(self._changes)

    def __iter__(self) -> Iterator[Change]:
        """Yield the changes of a design."""
        return iter(self._changes)

    @overload
    def __getitem__(self, index: int) -> Change: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Change, ...]: ...

    def __getitem__(self, index: int | slice) -> Change | tuple[Change, ...]:
        """Return one change of a design, or several."""
        return self._changes[index]

    def _headline(self) -> str:
        """Return the changes of a plan in one line."""
        shown = short_list([str(change) for change in self], 2).replace(", ", "; ")
        return f"Changes({len(self)}: {shown})"

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of the changes of a plan in long form."""
        return {
            "change": [change.kind for change in self],
            "attributes": [" x ".join(change.attributes) for change in self],
            "questions": [change.questions for change in self],
            "people": [change.people for change in self],
            "price": [change.price for change in self],
        }
