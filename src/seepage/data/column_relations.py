"""Columns that determine each other, and columns that are missing exactly where another says so."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Integers
from seepage.data.column_kinds import MIN_RECORDS, Profile
from seepage.data.pairs import PairCounts

MIN_TABLE = 100
"""Minimum number of records from which a relation is more than chance."""
SCREENED = 2**12
"""Records on which all pairs of columns are compared before all records of the few that remain."""
MAX_VALUES, MAX_SKIP_VALUES = 300, 20
"""Maximum number of values of a column that determines others, or whether others are missing."""
MIN_PER_VALUE = 10
"""Minimum number of records per value of a column that determines another."""


class Relation(NamedTuple):
    """How a column depends on others.

    Attributes
    ----------
    same
        A column before it, or one with texts, that determines it and that it determines.
    follows
        Columns that determine it, and that it does not determine.
    skipped
        Where it is missing, and only there: another column and its values, in words.
    """

    same: str | None = None
    follows: tuple[str, ...] = ()
    skipped: str | None = None


def relations_of(
    profiles: Sequence[Profile], pairs: PairCounts | None = None
) -> dict[str, Relation]:
    """Return the relations of columns by name, of those that have any.

    Parameters
    ----------
    profiles
        The columns; identifiers, which determine everything, should not be among them.
    pairs
        The pair counts of these columns, where the profiles have no codes.

    Notes
    -----
    O(columns^2) on 4,096 records, and O(records) for each pair that passes.
    """
    if not profiles or profiles[0].records < MIN_TABLE:
        return {}
    sizes = np.array([len(column.counts) for column in profiles])
    frequent = np.array([_second(column) >= MIN_RECORDS for column in profiles])
    records = profiles[0].records
    source = frequent & (sizes <= MAX_VALUES) & (sizes * MIN_PER_VALUE <= records)
    maybe = np.ones((len(sizes), len(sizes)), dtype=np.bool_)
    gaps = np.array([MIN_RECORDS <= column.missing <= records - MIN_RECORDS for column in profiles])
    skips = maybe & gaps
    if pairs is None:
        maybe, skips = _screened(profiles, gaps)
    determines = np.zeros_like(maybe)
    skipped = dict[int, tuple[int, str]]()
    for i in np.flatnonzero(source).tolist():
        for j in np.flatnonzero((maybe[i] & frequent & (sizes <= MAX_VALUES)) | skips[i]).tolist():
            if i == j:
                continue
            table = _joint(profiles[i], profiles[j], pairs) > 0
            determines[i, j] = frequent[j] and bool((table.sum(axis=1) <= 1).all())
            if sizes[i] <= MAX_SKIP_VALUES and j not in skipped:
                where = _only_missing(table, profiles[i])
                if where:
                    values = " or ".join(profiles[i].labels[code] for code in where[:3])
                    skipped[j] = i, f"{profiles[i].name} is {values}"
    return {
        column.name: found
        for j, column in enumerate(profiles)
        if (found := _relation(j, profiles, determines, skipped)) != Relation()
    }


def _relation(
    j: int, profiles: Sequence[Profile], determines: Booleans, skipped: dict[int, tuple[int, str]]
) -> Relation:
    equal = np.flatnonzero(determines[:, j] & determines[j]).tolist()
    # Of equal columns the one with texts stays, else the first.
    first = min([j, *equal], key=lambda i: (not profiles[i].texts, i))
    same = None if first == j else profiles[first].name
    causes = np.flatnonzero(determines[:, j] & ~determines[j]).tolist()
    none = -1, None
    follows = tuple(profiles[i].name for i in causes if skipped.get(i, none)[0] != j)
    return Relation(same, () if same else follows, skipped.get(j, none)[1])


def _second(column: Profile) -> int:
    """Return the number of records with the second most frequent value, missing being one."""
    counts = np.sort(np.append(column.counts, column.missing))
    return int(counts[-2])


def _only_missing(table: Booleans, source: Profile) -> list[int]:
    """Return the values of a source with which another column is always missing.

    Empty if it is also missing with others, or where the source is missing itself.
    """
    known = table[: len(source.counts)]
    missing, present = table[:, -1], table[:, :-1].any(axis=1)
    if (missing & present).any() or table[len(known) :, -1].any():
        return []
    return np.flatnonzero(missing[: len(known)]).tolist()


def _coded(column: Profile, rows: slice | None = None) -> NDArray[Any]:
    codes = column.codes if rows is None else column.codes[rows]
    return np.where(codes < 0, len(column.counts), codes)


def _joint(first: Profile, second: Profile, pairs: PairCounts | None) -> Integers:
    """Return the joint counts of two columns, missing values last."""
    if pairs is None:
        shape = len(first.counts) + 1, len(second.counts) + 1
        cells = _coded(first) * shape[1] + _coded(second)
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    table = pairs.table(first.name, second.name)
    for axis, column in enumerate((first, second)):
        codes = [pairs.domain[column.name].code(label) for label in column.labels]
        missing = np.delete(table, codes, axis).sum(axis, keepdims=True)
        table = np.concatenate([table.take(codes, axis), missing], axis)
    return table


def _screened(profiles: Sequence[Profile], gaps: Booleans) -> tuple[Booleans, Booleans]:
    """Return which columns may determine which, and whether which is missing, on some records."""
    records = profiles[0].records
    rows = slice(None, None, -(-records // SCREENED))
    codes = np.array([_coded(column, rows) for column in profiles])
    absent = np.array([column.codes[rows] < 0 for column in profiles])
    maybe = np.zeros((len(profiles), len(profiles)), dtype=np.bool_)
    skips = maybe.copy()
    for i, column in enumerate(codes):
        order = np.argsort(column, kind="stable")
        equal = np.diff(column[order]) == 0
        for found, values in ((maybe, codes), (skips, absent)):
            ranked = values[:, order]
            found[i] = ~(ranked[:, 1:] != ranked[:, :-1])[:, equal].any(axis=1)
    return maybe, skips & gaps
