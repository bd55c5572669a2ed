"""Pooling of rare values."""

from collections.abc import Mapping, Sequence

from seepage.channel.domain import MISSING, OTHER, Attribute, Domain
from seepage.channel.merging import MAX_JOINING_SHARE
from seepage.channel.recoding import Counts, recoded


def pool_rare(counted: Counts, pool: float) -> Counts:
    """Return counts or records with rare values merged into "(other)".

    Parameters
    ----------
    counted
        Pair counts or records.
    pool
        Minimum number of records of a value, below 1 their minimum share; rarer values
        are merged.

    Notes
    -----
    While "(other)" itself is below the minimum, the next rarest value is merged too, if
    it has at most 1/20 of the records: a common value keeps its label, and "(other)"
    may then stay rare. Bins of numbers are never merged: choose fewer bins.

    Examples
    --------
    >>> from seepage.channel.pairs import PairCounts
    >>> domain = Domain(
    ...     [
    ...         Attribute("job", ("nurse", "pilot", "smith")),
    ...         Attribute("sex", ("F", "M")),
    ...     ]
    ... )
    >>> pairs = PairCounts(domain, [[90, 4, 6], [60, 40]], [55, 35, 1, 3, 4, 2])
    >>> pooled = pool_rare(pairs, 10)
    >>> pooled.domain["job"].values, pooled.table("job", "sex").tolist()
    (('nurse', '(other)'), [[55, 35], [5, 5]])
    """
    least = pool
    if pool < 1:
        least = pool * counted.records
    most = counted.records * MAX_JOINING_SHARE
    domain = Domain(
        _pooled(attribute, counted.marginal(attribute.name).tolist(), least, most)
        for attribute in counted.domain
    )
    if domain == counted.domain:
        return counted
    return recoded(counted, domain).as_pooled()


def _pooled(
    attribute: Attribute, counts: Sequence[int], least: float, most: float
) -> Attribute:
    """Return an attribute with rare values merged into "(other)", last or before
    "(missing)".

    Values of fewer records than `least` are rare; others join, rarest first, up to
    `most` records, until "(other)" has `least` records.
    """
    if attribute.edges:
        return attribute
    records = dict(zip(attribute.values, counts, strict=True))
    merged = _merged(records, least, most)
    if not merged:
        return attribute
    kept = [value for value in records if value not in merged and value != OTHER]
    if MISSING in kept:
        kept.remove(MISSING)
        return Attribute(attribute.name, (*kept, OTHER, MISSING))
    return Attribute(attribute.name, (*kept, OTHER))


def _merged(records: Mapping[str, int], least: float, most: float) -> set[str]:
    """Return the rare values to merge, given the number of records of each."""
    total = records.get(OTHER, 0)
    is_begun = OTHER in records and total < least
    merged = set[str]()
    for value in sorted(records, key=records.__getitem__):
        if value == OTHER:
            continue
        number = records[value]
        joins = is_begun and value != MISSING and total < least and number <= most
        if number < least or joins:
            merged.add(value)
            total += number
            is_begun = True
    return merged
