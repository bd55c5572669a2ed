"""Two tables in one domain: their common attributes, with the values of both."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seepage._core.errors import InputError
from seepage.channel.domain import Domain
from seepage.channel.merging import union_of_attributes
from seepage.channel.pairs import PairCounts
from seepage.channel.recoding import recoded
from seepage.tables.check import settle
from seepage.tables.opened_table import OpenTable
from seepage.tables.read import as_pairs, is_counted, read

CODING_OF_ONE = ("columns", "drop", "bins")
"""Options that speak of the columns of a table; the other table follows the first."""


@dataclass(frozen=True, eq=False)
class MatchedTables:
    """The pair counts of two tables in one domain.

    Parameters
    ----------
    first, second
        The pair counts.
    names
        The names of both tables.
    alone
        The attributes that only the first, and only the second table has.
    notes
        What the check of the first table left out.
    """

    first: PairCounts
    second: PairCounts
    names: tuple[str, str]
    alone: tuple[tuple[str, ...], tuple[str, ...]]
    notes: tuple[str, ...] = ()

    @property
    def new_values(self) -> dict[str, tuple[str, ...]]:
        """The values that occur in the second of two matched tables only, by
        attribute.
        """
        values = dict[str, tuple[str, ...]]()
        for index, attribute in enumerate(self.first.domain):
            new = (self.first.marginals[index] == 0) & (
                self.second.marginals[index] > 0
            )
            if new.any():
                codes = new.nonzero()[0].tolist()
                values[attribute.name] = tuple(attribute.values[c] for c in codes)
        return values


def matched_tables(a: Any, b: Any, options: Any) -> MatchedTables:
    """Return two tables in one domain, by the rules of merging.

    Attributes are matched by name, and a value that one table does not have has count 0
    there.  `options` are those of reading a table, with `keep`.  Numbers are binned at
    the edges of the first table, with infinite ends; a table beside counts is binned at
    the edges of these.
    """
    notes = list[str]()
    if is_counted(a, datasets=True):
        first = as_pairs(a, **_of_counts(options))
        second = _count_like(first, b, options)
    elif is_counted(b, datasets=True):
        second = as_pairs(b, **_of_counts(options))
        first = _count_like(second, a, options)
    else:
        first = _with_open_ends(a, options, notes)
        second = _count_like(first, b, options)
    shared = [name for name in first.domain.names if name in second.domain.names]
    if not shared:
        raise InputError(
            "the two tables must have attributes in common, by name: the first has "
            f"{', '.join(first.domain.names[:3])}, the second "
            f"{', '.join(second.domain.names[:3])}",
            parameter="b",
        )
    domain = Domain(
        union_of_attributes([first.domain[name], second.domain[name]])
        for name in shared
    )
    return MatchedTables(
        first=recoded(first.select(shared), domain),
        second=recoded(second.select(shared), domain),
        names=(_name_of(a, "the first table"), _name_of(b, "the second")),
        alone=(_without(first, shared), _without(second, shared)),
        notes=tuple(notes),
    )


def _of_counts(options: Any) -> dict[str, Any]:
    """Return those options of matching two tables that counts have too: their
    columns.
    """
    reading = options.reading
    return {name: reading[name] for name in ("columns", "drop") if name in reading}


def _with_open_ends(data: Any, options: Any, notes: list[str]) -> PairCounts:
    """Return the counts of a table to match another one, whose outer bins hold all
    numbers.
    """
    settled = settle(data, options, asked=False, stacklevel=5)
    notes += map(str, settled.notes)
    reading = options.reading | settled.table
    pairs = as_pairs(settled.data, **reading)
    edges = {a.name: list(a.edges) for a in pairs.domain if a.edges}
    if not edges:
        return pairs
    for ends in edges.values():
        ends[0] = -math.inf
        ends[-1] = math.inf
    reading["columns"] = list(pairs.domain.names)
    reading.pop("drop", None)
    reading["bins"] = edges
    return as_pairs(settled.data, **reading)


def _count_like(base: PairCounts, data: Any, options: Any) -> PairCounts:
    """Return the counts of the second table in the columns and bins of the first, to
    match it.
    """
    if is_counted(data, datasets=True):
        return as_pairs(data, **_of_counts(options))
    opened = data if isinstance(data, OpenTable) else read(data, **_format(options))
    shared = [name for name in base.domain.names if name in opened.names]
    if not shared:
        return as_pairs(opened, **options.reading)
    reading = options.reading
    for name in CODING_OF_ONE:
        reading.pop(name, None)
    reading["columns"] = shared
    edges = {name: list(base.domain[name].edges) for name in shared}
    reading["bins"] = {name: ends or "none" for name, ends in edges.items()}
    return as_pairs(opened, **reading)


def _format(options: Any) -> dict[str, Any]:
    """Return the options of opening the text file of a table to match."""
    names = ("delimiter", "column_names", "encoding")
    reading = options.reading
    return {name: reading[name] for name in names if name in reading}


def _without(pairs: PairCounts, shared: list[str]) -> tuple[str, ...]:
    """Return the attributes of one of two matched tables that the other does not
    have.
    """
    return tuple(name for name in pairs.domain.names if name not in shared)


def _name_of(data: Any, default: str) -> str:
    """Return the name of one of two matched tables: of a file or dataset, or a
    default.
    """
    origin = data.origin if isinstance(data, OpenTable) else data
    if isinstance(origin, str | os.PathLike):
        return Path(origin).name
    return default
