"""What a person decides about each column: what is done with it, and how it is read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seepage._core.errors import InputError
from seepage._core.number_grammar import NUMBER
from seepage.channel.domain import ALL_OTHERS, OTHER

Role = Literal["ask", "protect", "known", "public", "person", "never"]

ROLES: dict[Role, str] = {
    "ask": "Ask",
    "protect": "Protect, do not ask",
    "known": "Ask; others know it already",
    "public": "Known to everybody",
    "person": "Identifies a person",
    "never": "Never use",
}
"""What can be done with a column, in words."""

Reading = Literal["proposed", "labels", "scale", "numbers"]

READINGS: dict[Reading, str] = {
    "proposed": "As proposed",
    "labels": "Labels, in no order",
    "scale": "A scale, in order",
    "numbers": "Numbers, in intervals",
}
"""How the answers of a column can be read, in words."""

ASKED_ROLES = ("ask", "known")
"""Roles of the columns that people are asked for."""

READ_ROLES = ("ask", "protect", "known", "public")
"""Roles of the columns that the promise is about."""


ROLE_KEYWORDS: dict[Role, str] = {
    "protect": "left_out",
    "known": "known",
    "public": "public",
    "never": "drop",
}
"""Keywords of `seepage.design` that name the columns with a role."""


@dataclass(frozen=True)
class ColumnChoice:
    """What is decided about one column.

    Parameters
    ----------
    role
        What is done with it.
    reading
        How its answers are read.
    bins
        The rule or the edges by which its numbers are cut.
    scale
        Its values in their order.
    missing
        Values that mean missing.
    merges
        Its values with the answer that each is coded as; empty if none are merged.
    """

    role: Role
    reading: Reading = "proposed"
    bins: str | tuple[float, ...] = ""
    scale: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    merges: tuple[tuple[str, str], ...] = ()

    @property
    def is_read_as_proposed(self) -> bool:
        """Whether nothing is chosen about how a column is read."""
        return self.reading == "proposed" and not self.missing and not self.merges

    def merged_with(self, value: str) -> str:
        """Return the first value that a choice codes as the same answer; itself if none
        is.
        """
        answers = dict(self.merges)
        if value not in answers:
            return value
        return next(other for other in answers if answers[other] == answers[value])


def answers_by_value(
    values: Sequence[str], same_as: Mapping[str, str], *, has_others: bool
) -> tuple[tuple[str, str], ...]:
    """Return the values of a column with the answer that each is coded as by choice;
    none if none are merged.

    Parameters
    ----------
    values
        The values, in the order of their answers.
    same_as
        Another value that a value is the same answer as.
    has_others
        Whether there are further values: they are one answer more.

    Examples
    --------
    >>> answers_by_value(["car", "bus", "tram"], {"tram": "bus"}, has_others=False)
    (('car', 'car'), ('bus', 'bus or tram'), ('tram', 'bus or tram'))
    """
    if not any(value != other for value, other in same_as.items()):
        return ()
    groups = {value: [value] for value in values}
    for value, other in same_as.items():
        joined = groups[other]
        if joined is not groups[value]:
            joined += groups[value]
            for member in groups[value]:
                groups[member] = joined
    merges = list[tuple[str, str]]()
    for value in values:
        members = sorted(groups[value], key=values.index)
        merges.append((value, " or ".join(members)))
    if has_others:
        merges.append((ALL_OTHERS, OTHER))
    return tuple(merges)


def bin_rule(text: str) -> str | tuple[float, ...]:
    """Return the choice of how a column's numbers are cut: edges, or a rule such as
    "quantile:5".

    Examples
    --------
    >>> bin_rule("0, 18, 65"), bin_rule("quantile:5")
    ((0.0, 18.0, 65.0), 'quantile:5')
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(NUMBER.fullmatch(part) for part in parts):
        return text
    return tuple(float(part) for part in parts)


def shown_bins(rule: str | tuple[float, ...]) -> str:
    """Return the choice of how a column's numbers are cut, as it is entered."""
    if isinstance(rule, str):
        return rule
    return ", ".join(f"{edge:.15g}" for edge in rule)


def names_with(choices: Mapping[str, ColumnChoice], roles: Iterable[str]) -> list[str]:
    """Return the columns with some chosen roles, in the order of the table."""
    wanted = set(roles)
    return [name for name, choice in choices.items() if choice.role in wanted]


def names_read(choices: Mapping[str, ColumnChoice]) -> list[str]:
    """Return the columns that by their choices the promise is about."""
    return names_with(choices, READ_ROLES)


def reading_keywords(choices: Mapping[str, ColumnChoice]) -> dict[str, Any]:
    """Return the keywords by which the columns are read as it was chosen.

    Examples
    --------
    >>> reading_keywords({"age": ColumnChoice("ask", "numbers", bins=(0, 18, 99))})
    {'bins': {'age': [0, 18, 99]}}
    """
    names = names_read(choices)
    keywords = dict[str, Any]()
    persons = names_with(choices, ["person"])
    if len(persons) > 1:
        raise InputError("at most one column can identify a person")
    if persons:
        keywords["person"] = persons[0]
    decided: dict[str, dict[str, Any]] = {
        "bins": {name: _bins_of(choices[name]) for name in names},
        "missing_markers": {name: choices[name].missing for name in names},
        "order": {name: _scale_of(choices[name]) for name in names},
        "merges": {name: dict(choices[name].merges) for name in names},
    }
    for keyword, values in decided.items():
        by_name = {name: value for name, value in values.items() if value}
        if by_name:
            keywords[keyword] = by_name
    return keywords


def _bins_of(choice: ColumnChoice) -> str | list[float]:
    """Return the option `bins` that a column's choice means; empty if nothing is
    chosen.
    """
    if choice.reading == "labels" or choice.merges:
        return "none"
    if choice.reading != "numbers":
        return ""
    if isinstance(choice.bins, str):
        return choice.bins
    return list(choice.bins)


def _scale_of(choice: ColumnChoice) -> tuple[str, ...]:
    """Return the option `order` that a column's choice means; merged answers have their
    own order.
    """
    if choice.merges:
        return ()
    return choice.scale


def role_keywords(
    choices: Mapping[str, ColumnChoice], proposed: Mapping[str, Role]
) -> dict[str, Any]:
    """Return the keywords of `seepage.design` that follow from the chosen roles of
    columns.

    What is decided as it was proposed needs no keyword.

    Parameters
    ----------
    choices
        What is decided about each column.
    proposed
        The role that was proposed for each.

    Examples
    --------
    >>> choices = {"id": ColumnChoice("never"), "ill": ColumnChoice("ask")}
    >>> role_keywords(choices, {"id": "ask", "ill": "never"})
    {'drop': ('id',), 'keep': ('ill',)}
    """
    names = dict[str, list[str]]()
    for name, choice in choices.items():
        keyword = ROLE_KEYWORDS.get(choice.role)
        is_decided = choice.role != proposed[name]
        if keyword is not None and (is_decided or choice.role == "public"):
            names.setdefault(keyword, []).append(name)
        if is_decided and _is_kept(choice.role, proposed[name]):
            names.setdefault("keep", []).append(name)
    return {keyword: tuple(columns) for keyword, columns in names.items()}


def _is_kept(role: Role, proposed: Role) -> bool:
    """Return whether a column is chosen that would be left out, or asked that would
    only be protected.
    """
    if role in ASKED_ROLES:
        return proposed != "ask"
    return role in READ_ROLES and proposed == "never"
