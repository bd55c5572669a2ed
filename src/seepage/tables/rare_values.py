"""How many records an answer needs not to be rare."""

RARE_RECORDS = 2000
"""Number of records below which a value is rare, in tables of ordinary size."""


LEAST_RARE_SHARE = 0.01
"""Share of the records below which a value is rare in any table."""


LARGEST_RARE_SHARE = 0.1
"""Share of the records from which a value is rare in no table."""


ASKED_PEOPLE = 100
"""Number of certifying people with an answer from which a column of rare answers is
asked: it costs 8 to 20 % more people, of which any further question costs 4 to 10."""


PROTECTED_PEOPLE = 50
"""Number of certifying people with an answer from which a column of rare answers is
protected, asked or not: it costs nothing above the noise of a search."""


def least_share(certifying: int) -> float:
    """Return the least share of an answer that is not rare, of a table with so many
    certifying records.

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


def asked_shares(certifying: int) -> tuple[float, ...]:
    """Return the shares below which a column's answers are rare that are tried, largest
    first.

    The share of `least_share` is halved down to that of `ASKED_PEOPLE`: so answers are
    merged until they are common if two remain, and no further than necessary if not.

    Examples
    --------
    >>> asked_shares(8_000), asked_shares(800)
    ((0.1, 0.05, 0.025, 0.0125), (0.1,))
    """
    share = least_share(certifying)
    least = min(share, ASKED_PEOPLE / max(certifying, 1))
    shares = [share]
    while shares[-1] > least:
        shares.append(max(shares[-1] / 2, least))
    return tuple(shares)


def protected_share(certifying: int) -> float:
    """Return the least share of a rare answer that is protected though it is not asked.

    Examples
    --------
    >>> protected_share(8_000), protected_share(400)
    (0.00625, 0.1)
    """
    return min(least_share(certifying), PROTECTED_PEOPLE / max(certifying, 1))
