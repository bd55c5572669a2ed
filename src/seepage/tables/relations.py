"""What columns tell of each other: which determine others or mark their missing values."""

from collections.abc import Sequence

import numpy as np

from seepage._core.arrays import Booleans, Integers
from seepage.tables.kinds import MIN_RECORDS, Profile

MIN_TABLE = 100
"""Minimum number of records from which a relation is more than chance."""


FIRST_SCREENED = 2**7


SCREENED = 2**12
"""Records on which all pairs of columns, and those that remain, are compared before all
records."""


MAX_VALUES = 300


MAX_SKIP_VALUES = 20
"""Maximum number of values of a column that determines others, or whether others are
missing."""


MIN_PER_VALUE = 10
"""Minimum number of records per value of a column that determines another."""


RARE_RECORDS = 2000


RARE_SHARES = (0.01, 0.1)
"""Values of fewer records are rare, within these shares of all records."""


def relations(
    profiles: Sequence[Profile],
) -> dict[str, tuple[str | None, tuple[str, ...], str | None]]:
    """Return `same`, `follows` and `skipped` of columns by name, see `ColumnCheck`.

    Identifiers, which determine everything, should not be among the columns.
    O(columns^2) on 4,096 records, O(records) for each pair that passes.
    """
    records = profiles[0].records if profiles else 0
    if records < MIN_TABLE:
        return {}
    sizes = np.array([len(column.counts) for column in profiles])
    second = [
        np.sort(np.append(column.counts, column.missing))[-2] for column in profiles
    ]
    varied = np.array(second) >= MIN_RECORDS
    small = sizes <= MAX_VALUES
    gaps = np.array(
        [MIN_RECORDS <= column.missing <= records - MIN_RECORDS for column in profiles]
    )
    sources = varied & small & (sizes * MIN_PER_VALUE <= records)
    others = sources[:, None] & ~np.eye(len(sizes), dtype=np.bool_)
    determines = others & varied & small
    skips = others & gaps
    skips[sizes > MAX_SKIP_VALUES] = False
    _screen(profiles, sizes, determines, skips)
    skipped = dict[int, tuple[int, str]]()
    for i, j in np.argwhere(determines | skips).tolist():
        shape = sizes[i] + 1, sizes[j] + 1  # missing values last
        cells = profiles[i].codes * shape[1] + profiles[j].codes
        occurs = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape) > 0
        determines[i, j] &= (occurs.sum(axis=1) <= 1).all()
        missing = occurs[:, -1]
        present = occurs[:, :-1].any(axis=1)
        if (
            skips[i, j]
            and not (missing & present).any()
            and not missing[-1]
            and j not in skipped
        ):
            values = [profiles[i].labels[code] for code in np.flatnonzero(missing)[:3]]
            skipped[j] = i, f"{profiles[i].name} is {' or '.join(values)}"
    found = {}
    for j, column in enumerate(profiles):
        equal = np.flatnonzero(determines[:, j] & determines[j]).tolist()
        # Of equal columns the one with texts stays, else the first.
        first = min([j, *equal], key=lambda i: (not profiles[i].texts, i))
        same = None if first == j else profiles[first].name
        causes = np.flatnonzero(
            determines[:, j] & ~determines[j] & (first == j)
        ).tolist()
        follows = (
            profiles[i].name for i in causes if i not in skipped or skipped[i][0] != j
        )
        found[column.name] = (
            same,
            tuple(follows),
            skipped[j][1] if j in skipped else None,
        )
    return found


def _screen(
    profiles: Sequence[Profile], sizes: Integers, determines: Booleans, skips: Booleans
) -> None:
    """Clear pairs of columns of which one does not determine the other, or whether it
    is missing.

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


def least_share(certifying: int) -> float:
    """Return the least share of an answer of a table with so many certifying records.

    Examples
    --------
    >>> least_share(100_000), least_share(5_000), least_share(10**6)
    (0.02, 0.1, 0.01)
    """
    low, high = RARE_SHARES
    return min(high, max(low, RARE_RECORDS / max(certifying, 1)))


def rare_below(records: int) -> int:
    """Return the number of records below which a value is rare."""
    low, high = RARE_SHARES
    return int(min(max(RARE_RECORDS, low * records), high * records))
