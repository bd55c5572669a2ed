"""Pooling of rare values."""

from collections.abc import Sequence

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
    While "(other)" itself is below the minimum, the next rarest value is merged too, if it has at
    most 1/20 of the records: a common value keeps its label, and "(other)" may then stay rare.
    Bins of numbers are never merged: choose fewer bins.

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
    total = records.pop(OTHER, 0)
    merged = set[str]()
    other_is_rare = OTHER in attribute.values and total < least
    for value in sorted(records, key=records.__getitem__):
        is_begun = other_is_rare or bool(merged)
        joins = is_begun and total < least and records[value] <= most
        if records[value] < least or (joins and value != MISSING):
            merged.add(value)
            total += records[value]
    if not merged:
        return attribute
    kept = [value for value in records if value not in merged]
    if MISSING in kept:
        kept.remove(MISSING)
        return Attribute(attribute.name, (*kept, OTHER, MISSING))
    return Attribute(attribute.name, (*kept, OTHER))
