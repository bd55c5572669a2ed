"""How many records an answer needs not to be rare."""

RARE_RECORDS = 2000
"""Number of records below which a value is rare, in tables of ordinary size."""


LEAST_RARE_SHARE = 0.01
"""Share of the records below which a value is rare in any table."""


LARGEST_RARE_SHARE = 0.1
"""Share of the records from which a value is rare in no table."""


def least_share(certifying: int) -> float:
    """Return the least share of an answer of a table with so many certifying records.

    Examples
    --------
    >>> least_share(100_000), least_share(5_000), least_share(10**6)
    (0.02, 0.1, 0.01)
    """
    share = RARE_RECORDS / max(certifying, 1)
    return min(LARGEST_RARE_SHARE, max(LEAST_RARE_SHARE, share))


def rare_below(records: int) -> int:
    """Return the number of records below which a value is rare.

    Examples
    --------
    >>> rare_below(100_000), rare_below(5_000), rare_below(10**6)
    (2000, 500, 10000)
    """
    least = max(RARE_RECORDS, LEAST_RARE_SHARE * records)
    return int(min(least, LARGEST_RARE_SHARE * records))
