"""Rare values of an attribute merged into one, "(other)", once everything is counted.

How often a value occurs is known only at the end of a pass.  So values are pooled in the counts or
distinct records, where it is exact and the same for every engine.  A table that is coded later in
a domain with "(other)" has its other values there, see `seepage.data.table.labels`.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from seepage._numerics import Integers
from seepage.data.domain import MISSING, OTHER, Attribute, Domain
from seepage.data.pairs import PairCounts
from seepage.data.records import Records

LARGEST_JOINING = 1 / 20
"""The share of the records that a value has at most to join others that are rarer than allowed."""


def rare_values(pairs: PairCounts | Records, pool: float) -> dict[str, tuple[str, ...]]:
    """Return the values of each attribute that `pool` merges, for attributes that have some.

    Parameters
    ----------
    pairs
        What was counted.
    pool
        Values that fewer records have are merged; below 1 a share of the records.

    Notes
    -----
    While "(other)" would be that rare itself, the next rarest value joins it, as long as that value
    has at most a twentieth of the records: a common value keeps its name, and "(other)" may then
    stay rare.  Bins of numbers are never merged: choose fewer bins.

    Examples
    --------
    >>> domain = Domain([Attribute("job", ("nurse", "pilot", "smith"))])
    >>> rare_values(PairCounts(domain, [[90, 4, 6]], []), 10)
    {'job': ('pilot', 'smith')}
    """
    least = pool if pool >= 1 else pool * pairs.records
    found = {}
    for attribute in pairs.domain:
        counts = dict(zip(attribute.values, pairs.marginal(attribute.name).tolist(), strict=True))
        merged = _merged_values(counts, least, pairs.records * LARGEST_JOINING)
        if set(merged) - {OTHER} and not attribute.edges:
            found[attribute.name] = tuple(value for value in attribute.values if value in merged)
    return found


def _merged_values(counts: dict[str, int], least: float, most: float) -> set[str]:
    """Return the values rarer than `least`, and those that join them until all have so many."""
    merged, held = set[str](), 0
    for value, count in sorted(counts.items(), key=lambda item: item[1]):
        joins = bool(merged) and held + counts.get(OTHER, 0) < least and count <= most
        if count < least or (joins and value not in (OTHER, MISSING)):
            merged.add(value)
            held += count if value != OTHER else 0
    return merged


def pool_pairs(pairs: PairCounts, pool: float) -> PairCounts:
    """Return the counts with rare values merged into "(other)", see `rare_values`.

    Examples
    --------
    >>> domain = Domain(
    ...     [Attribute("job", ("nurse", "pilot", "smith")), Attribute("sex", ("F", "M"))]
    ... )
    >>> pairs = PairCounts(domain, [[90, 4, 6], [60, 40]], [55, 35, 1, 3, 4, 2])
    >>> pooled = pool_pairs(pairs, 10)
    >>> pooled.domain["job"].values, pooled.table("job", "sex").tolist()
    (('nurse', '(other)'), [[55, 35], [5, 5]])
    """
    domain, codes = _pooled_domain(pairs, pool)
    if domain is None:
        return pairs
    sizes = domain.sizes
    tables = [
        _merged(_merged(pairs.table(a, b), codes[a], sizes[a]).T, codes[b], sizes[b]).T.ravel()
        for a, b in combinations(range(len(domain)), 2)
    ]
    marginals = [_merged(*part) for part in zip(pairs.marginals, codes, sizes, strict=True)]
    flat = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int64)
    return PairCounts(domain, marginals, flat, population=pairs.population)


def pool_records(records: Records, pool: float) -> Records:
    """Return the distinct records with rare values merged into "(other)", see `rare_values`."""
    domain, codes = _pooled_domain(records, pool)
    if domain is None:
        return records
    columns = [new[old] for new, old in zip(codes, records.codes.T, strict=True)]
    rows = np.stack(columns, axis=1)
    return Records(domain, rows, records.weights, population=records.population)


def _pooled_domain(
    counted: PairCounts | Records, pool: float
) -> tuple[Domain | None, Sequence[Integers]]:
    """Return the domain with rare values merged, and the new code of every old one.

    None for the domain where nothing is merged.
    """
    rare = rare_values(counted, pool)
    if not rare:
        return None, ()
    parts = [_pooled(attribute, rare.get(attribute.name, ())) for attribute in counted.domain]
    return Domain(attribute for attribute, _ in parts), [codes for _, codes in parts]


def _pooled(attribute: Attribute, rare: Sequence[str]) -> tuple[Attribute, Integers]:
    """Return an attribute without its rare values: "(other)" is last, but for "(missing)"."""
    if not rare:
        return attribute, np.arange(attribute.size)
    gone = {*rare, OTHER}
    kept = [value for value in attribute.values if value not in gone and value != MISSING]
    last = [MISSING] if MISSING in attribute.values and MISSING not in gone else []
    pooled = Attribute(attribute.name, (*kept, OTHER, *last))
    return pooled, np.array([pooled.code(OTHER if v in gone else v) for v in attribute.values])


def _merged(counts: Integers, codes: Integers, size: int) -> Integers:
    """Return the sums of rows that have the same new code."""
    merged = np.zeros((size, *counts.shape[1:]), dtype=np.int64)
    np.add.at(merged, codes, counts)
    return merged
