"""What a codebook settles of a design: scales, intervals, missing values, merged
answers, and the role of each attribute.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.channel.domain import ALL_OTHERS, MISSING
from seepage.tables.codebooks import (
    CodebookRow,
    Role,
    read_codebook_rows,
    read_scales,
)
from seepage.tables.labels import bin_labels
from seepage.tables.table_options import NO_PERSON

ROLES_BY_OPTION: dict[str, Role] = {
    "known": "known",
    "public": "public",
    "left_out": "protect",
    "keep": "ask",
}
"""The role of the attributes that each option of a design names."""


Scales = dict[str, list[str]]
"""Values in their order, by attribute."""


@dataclass(frozen=True, kw_only=True)
class CodebookOptions:
    """What a codebook settles, by the names of the options of a design.

    Parameters
    ----------
    order
        The scales: values in their order, by attribute.
    bins
        The edges of intervals, by attribute.
    missing_markers
        The values that mean missing, by attribute.
    merges
        The answer that each value, or each interval by its edges, is coded as, by
        attribute.
    roles
        What is done with each attribute that has a role.
    """

    order: Scales = field(default_factory=dict)
    bins: dict[str, list[float]] = field(default_factory=dict)
    missing_markers: dict[str, list[str]] = field(default_factory=dict)
    merges: dict[str, dict[str, str]] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | os.PathLike[str] | None) -> "CodebookOptions":
        """Return what a codebook settles; nothing for None."""
        if path is None:
            return cls()
        return read_codebook_options(path)

    def named(self, role: Role) -> tuple[str, ...]:
        """Return the attributes that the codebook gives a role."""
        return tuple(name for name, of_name in self.roles.items() if of_name == role)

    def with_named(self, setting: Any, option: str) -> Any:
        """Return an option of names, with those that the codebook settles."""
        names = self.named(ROLES_BY_OPTION[option])
        if not names:
            return setting
        return [*checks.texts(setting, option), *names]

    def with_scales(self, order: Any) -> Any:
        """Return the option `order`, with the scales that the codebook settles."""
        if order is None:
            return self.order
        if isinstance(order, (str, os.PathLike)):
            order = read_scales(order)
        if not self.order:
            return order
        return {**self.order, **checks.mapping(order, "order")}

    def settled(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options of a design, with those that the codebook settles."""
        settled = self.reading(options)
        for option in ROLES_BY_OPTION:
            if self.named(ROLES_BY_OPTION[option]):
                settled[option] = self.with_named(options.get(option, ()), option)
        order = options.get("order")
        if self.order or isinstance(order, (str, os.PathLike)):
            settled["order"] = self.with_scales(order)
        settled["codebook"] = self
        return settled

    def reading(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of reading a table, with those that the codebook settles.

        An option for a column that is given beside the codebook is kept.
        """
        options = dict(table)
        if self.bins:
            options["bins"] = _by_column(table.get("bins"), self.bins)
        if self.missing_markers:
            markers = table.get("missing_markers")
            options["missing_markers"] = _by_column(markers, self.missing_markers)
        dropped = self.named("never")
        if dropped:
            options["drop"] = [*table.get("drop", ()), *dropped]
        people = self.named("person")
        if len(people) > 1:
            raise InputError(
                "one column identifies the people, the codebook has "
                f"{', '.join(people)}",
                parameter="codebook",
            )
        if people and table.get("person") in (None, NO_PERSON):
            options["person"] = people[0]
        return options


def _by_column(setting: Any, settled: Mapping[str, Any]) -> dict[str, Any]:
    """Return an option by column: what the codebook settles, unless another is
    given.
    """
    if setting is None:
        return dict(settled)
    if isinstance(setting, Mapping):
        return {**settled, **setting}
    return {ALL_OTHERS: setting, **settled}


def read_codebook_options(path: str | os.PathLike[str]) -> CodebookOptions:
    """Return what a codebook settles.

    Parameters
    ----------
    path
        The file, see `seepage.tables.codebooks`.

    Notes
    -----
    An attribute with numbers in `lower` and `upper` is asked in these intervals.  Else,
    if a value of it is merged into another, its answers are those of the codebook, and
    all other values are no answer, or what `*` is merged into; and if not, numbers in
    `order` are its scale, whose neighbours may be merged.
    """
    lines = dict[str, list[CodebookRow]]()
    roles = dict[str, Role]()
    for row in read_codebook_rows(path):
        name = row.attribute.strip()
        of_name = lines.setdefault(name, [])
        if not row.is_attribute:
            of_name.append(row)
        elif row.role:
            roles[name] = row.role
    options = CodebookOptions(roles=roles)
    for name, rows in lines.items():
        if roles.get(name) not in ("never", "person"):
            _settle(options, name, rows)
    return options


def _settle(options: CodebookOptions, name: str, rows: Sequence[CodebookRow]) -> None:
    """Add the options that the codebook's lines of one attribute settle."""
    with_value = [row for row in rows if row.value != MISSING]
    markers = [row.value for row in with_value if row.missing]
    if markers:
        options.missing_markers[name] = markers
    answers = [row for row in with_value if not row.missing]
    if any(row.is_interval for row in answers):
        _settle_intervals(options, name, answers)
    else:
        _settle_scale(options, name, answers)


def _settle_intervals(
    options: CodebookOptions, name: str, answers: Sequence[CodebookRow]
) -> None:
    """Add the option `bins` and the names of the intervals that a codebook settles."""
    options.bins[name] = _edges(name, answers)
    names = _names_of_intervals(answers)
    if names:
        options.merges[name] = names


def _settle_scale(
    options: CodebookOptions, name: str, answers: list[CodebookRow]
) -> None:
    """Add the merged answers that a codebook settles, or the scale of the option
    `order`.
    """
    are_ordered = _are_ordered(answers)
    if are_ordered:
        answers.sort(key=_place)
    if any(row.merged_into for row in answers):
        options.merges[name] = _merges(name, answers)
    elif are_ordered:
        options.order[name] = [row.value for row in answers]


def _are_ordered(rows: Sequence[CodebookRow]) -> bool:
    """Return whether the codebook settles a scale: all values have a place; merged ones
    need none.
    """
    kept = [row for row in rows if not row.merged_into]
    return bool(kept) and all(row.order is not None for row in kept)


def _place(row: CodebookRow) -> float:
    """Return the place of a value on the scale that a codebook settles; merged ones
    without a place are last.
    """
    return float("inf") if row.order is None else row.order


def _edges(name: str, rows: Sequence[CodebookRow]) -> list[float]:
    """Return the option `bins` that a codebook settles: the edges of an attribute's
    intervals.
    """
    ends = list[tuple[float, float]]()
    for row in rows:
        if row.merged_into:
            continue
        if row.lower is None or row.upper is None:
            raise _wrong(name, f"value {row.value!r} must have both lower and upper")
        ends.append((row.lower, row.upper))
    ends.sort()
    for (_, high), (low, _) in pairwise(ends):
        if high != low:
            raise _wrong(
                name, f"intervals must join: one ends at {high:g}, then {low:g}"
            )
    return [ends[0][0], *(high for _, high in ends)]


def _names_of_intervals(rows: Sequence[CodebookRow]) -> dict[str, str]:
    """Return the names that a codebook settles for intervals by the labels of their
    edges; none where two have the same.
    """
    intervals = list[tuple[float, float, str]]()
    for row in rows:
        if not row.merged_into and row.lower is not None and row.upper is not None:
            intervals.append((row.lower, row.upper, row.value))
    intervals.sort()
    edges = (intervals[0][0], *(upper for _, upper, _ in intervals))
    names = [name for _, _, name in intervals]
    if len(set(names)) < len(names) or "" in names:
        return {}
    return dict(zip(bin_labels(edges), names, strict=True))


def _merges(name: str, rows: Sequence[CodebookRow]) -> dict[str, str]:
    """Return the answer that each value is coded as, as a codebook settles it."""
    merges = dict[str, str]()
    for row in rows:
        if row.value in merges:
            raise _wrong(name, f"value {row.value!r} is there twice")
        merges[row.value] = row.merged_into or row.value
    for value, answer in merges.items():
        if merges.get(answer, answer) != answer:
            raise _wrong(name, f"{value!r} is merged into {answer!r}, merged itself")
    if ALL_OTHERS in merges and merges[ALL_OTHERS] == ALL_OTHERS:
        raise _wrong(name, f"{ALL_OTHERS} must be merged into an answer")
    return merges


def _wrong(name: str, why: str) -> InputError:
    """Return the error for lines of a codebook that settle no options together."""
    return InputError(f"the codebook's lines of {name!r}: {why}", parameter="codebook")
