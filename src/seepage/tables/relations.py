"""What columns tell of each other: which determine others or mark their missing
values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seepage._core.arrays import Booleans, Integers
from seepage.tables.kinds import MIN_RECORDS
from seepage.tables.number_relations import monotone_copies, recodings, sums
from seepage.tables.profile import Profile

MIN_TABLE = 100
"""Minimum number of records from which a relation is more than chance."""


FIRST_SCREENED = 2**7
"""Records on which all pairs of columns are compared first."""


SCREENED = 2**12
"""Records on which the pairs that remain are compared before all records."""


MAX_VALUES = 300
"""Maximum number of values of columns that are compared."""


MAX_SKIP_VALUES = 20
"""Maximum number of values of a column that determines whether others are missing."""


MIN_PER_VALUE = 10
"""Minimum number of records per value of a column that determines another."""


@dataclass(frozen=True)
class Relation:
    """What the other columns tell of one, see `ColumnCheck`.

    Parameters
    ----------
    same
        The column that says the same: each determines the other, or both are numbers in
        one order.
    follows
        Columns that determine it: alone, or as the terms of a sum.
    skipped
        Where it is missing, and only there: another column and its values.
    """

    same: str | None = None
    follows: tuple[str, ...] = ()
    skipped: str | None = None


@dataclass(frozen=True)
class _Skip:
    """The column by its index, and its values, where another one is missing."""

    source: int
    values: str


def relations(profiles: Sequence[Profile]) -> dict[str, Relation]:
    """Return the relations of columns by name; none of tables with few records.

    Identifiers, which determine everything, should not be among the columns.
    O(columns^2) on 4,096 records, O(records) for each pair that passes.
    """
    records = profiles[0].records if profiles else 0
    if records < MIN_TABLE:
        return {}
    determines, skipped = _dependencies(profiles)
    related = dict[str, Relation]()
    copies = monotone_copies(profiles)
    added = sums(profiles)
    recoded = recodings(profiles)
    for j, column in enumerate(profiles):
        relation = _relation(profiles, j, determines, skipped)
        if relation.same is None and j in copies:
            relation = replace(relation, same=profiles[copies[j]].name, follows=())
        if relation.same is None:
            causes = list(added.get(j, ()))
            if j in recoded:
                causes.append(recoded[j])
            relation = _also_follows(relation, [profiles[k].name for k in causes])
        related[column.name] = relation
    return related


def followed_times(
    times: Sequence[Profile], columns: Sequence[Profile]
) -> dict[str, str]:
    """Return by name the columns related to a time of the collection that determines
    them, and that time: a year's own yes or no, or the prices of a year.
    """
    followed = dict[str, str]()
    for time in times:
        if time.records < MIN_TABLE or time.values > MAX_VALUES:
            continue
        if time.values * MIN_PER_VALUE > time.records:
            continue
        for column in columns:
            second_largest = np.sort(np.append(column.counts, column.missing))[-2]
            if second_largest < MIN_RECORDS or column.values > MAX_VALUES:
                continue
            if (_co_occurrence(time, column).sum(axis=1) <= 1).all():
                followed.setdefault(column.name, time.name)
    return followed


def _dependencies(profiles: Sequence[Profile]) -> tuple[Booleans, dict[int, _Skip]]:
    """Return the related pairs (i, j) in which column i determines column j, and by
    column what tells where it is missing.
    """
    sizes = np.array([column.values for column in profiles])
    determines, skips = _candidates(profiles, sizes)
    _screen(profiles, sizes, determines, skips)
    skipped = dict[int, _Skip]()
    for i, j in np.argwhere(determines | skips).tolist():
        occurs = _co_occurrence(profiles[i], profiles[j])
        determines[i, j] &= (occurs.sum(axis=1) <= 1).all()
        if skips[i, j] and j not in skipped and _marks_missing(occurs):
            skipped[j] = _Skip(i, _values_where_missing(profiles[i], occurs))
    return determines, skipped


def _also_follows(relation: Relation, names: Sequence[str]) -> Relation:
    """Return a column's relation with further columns that determine it."""
    further = [name for name in names if name not in relation.follows]
    return replace(relation, follows=(*relation.follows, *further))


def _candidates(
    profiles: Sequence[Profile], sizes: Integers
) -> tuple[Booleans, Booleans]:
    """Return the pairs (i, j) of columns that may be related, i determining j, or
    whether j is missing, by the numbers of values and records alone.
    """
    records = profiles[0].records
    second_largest = np.array(
        [np.sort(np.append(column.counts, column.missing))[-2] for column in profiles]
    )
    missing = np.array([column.missing for column in profiles])
    varied = second_largest >= MIN_RECORDS
    small = sizes <= MAX_VALUES
    has_gaps = (missing >= MIN_RECORDS) & (missing <= records - MIN_RECORDS)
    sources = varied & small & (sizes * MIN_PER_VALUE <= records)
    others = sources[:, None] & ~np.eye(len(sizes), dtype=np.bool_)
    determines = others & varied & small
    skips = others & has_gaps
    skips[sizes > MAX_SKIP_VALUES] = False
    return determines, skips


def _screen(
    profiles: Sequence[Profile], sizes: Integers, determines: Booleans, skips: Booleans
) -> None:
    """Clear pairs of columns that are not related: one does not determine the other, or
    whether it is missing.

    Two records with equal values of the first column and different ones of the second
    suffice: most pairs have them among few records.
    """
    step = -(-profiles[0].records // SCREENED)
    codes = np.array([column.codes[::step] for column in profiles])
    missing = codes == sizes[:, None]
    for rows in (FIRST_SCREENED, codes.shape[1]):
        for i, column in enumerate(codes[:, :rows]):
            _, first, places = np.unique(column, return_index=True, return_inverse=True)
            twins = first[places]  # the first record with the same value
            for left, values in ((determines[i], codes), (skips[i], missing)):
                js = np.flatnonzero(left)
                left[js] = (values[np.ix_(js, twins)] == values[js, :rows]).all(axis=1)


def _co_occurrence(source: Profile, other: Profile) -> Booleans:
    """Return which values of two related columns occur together, missing ones last."""
    rows = source.values + 1
    columns = other.values + 1
    cells = source.codes * columns + other.codes
    counts = np.bincount(cells, minlength=rows * columns)
    return counts.reshape(rows, columns) > 0


def _marks_missing(occurs: Booleans) -> bool:
    """Return whether the first of two related columns tells exactly where the second is
    missing, and the first one's being missing does not.
    """
    missing = occurs[:, -1]
    present = occurs[:, :-1].any(axis=1)
    return not (missing & present).any() and not missing[-1]


def _values_where_missing(source: Profile, occurs: Booleans) -> str:
    """Return a column's values, at most three, where a related one is missing, in
    words.
    """
    codes = np.flatnonzero(occurs[:, -1])[:3]
    values = " or ".join(source.labels[code] for code in codes)
    return f"{source.name} is {values}"


def _relation(
    profiles: Sequence[Profile],
    index: int,
    determines: Booleans,
    skipped: Mapping[int, _Skip],
) -> Relation:
    """Return the relation of one column; of equal columns the one with texts is the
    first, else that on the left.  A column that is missing where this one says so does
    not determine it.
    """
    into = determines[:, index]
    back = determines[index]
    equal = np.flatnonzero(into & back).tolist()
    first = min([index, *equal], key=lambda i: (not profiles[i].texts, i))
    skip = skipped.get(index)
    where_missing = None if skip is None else skip.values
    if first != index:
        return Relation(same=profiles[first].name, skipped=where_missing)
    follows = list[str]()
    for cause in np.flatnonzero(into & ~back).tolist():
        is_skipped = cause in skipped and skipped[cause].source == index
        if not is_skipped:
            follows.append(profiles[cause].name)
    return Relation(follows=tuple(follows), skipped=where_missing)
