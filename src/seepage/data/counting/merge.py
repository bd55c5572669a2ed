"""Counts of shards put together, where each shard has its own values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from seepage.data.domain import MISSING, Attribute, Domain
from seepage.data.pairs import (
    PairCounts,
    marginal_offsets,
    pair_offsets,
    pairs_by_shape,
    put_stack,
    stacked,
)
from seepage.errors import DomainError

__all__ = ["merge_pairs", "widened"]


def merge_pairs(parts: Sequence[PairCounts]) -> PairCounts:
    """Return the counts of all shards together.

    Shards must have the same attributes, and the same bins: count each with the same edges, open
    at both ends (`bins={"age": [-inf, 18, 65, inf]}`), so that none has a number outside.  Of
    categories each may have seen others: a value that a shard does not have occurs there 0 times.
    So shards can be counted anywhere, each for itself.

    Parameters
    ----------
    parts
        The counts of the shards, which have no record in common.

    Notes
    -----
    Values are ordered as every shard has them: by number, else as text, missing last.  Where
    the shards have another order of their own, new values follow those of the first.  The sum is
    then equal to the counts of the whole table, with one exception: labels do not tell text such
    as "1", "2", "10" from numbers, so values of a text column that all read as numbers come by
    number where every shard has them so, while a whole table has its text as text: "1", "10",
    "2".  The counts are the same, in another order of values.

    With the sample of a shard the sum is a sample, of the records of all shards.

    Examples
    --------
    >>> one = PairCounts(
    ...     Domain([Attribute("sex", ("F",)), Attribute("kids", ("0",))]), [[3], [3]], [3]
    ... )
    >>> two = PairCounts(
    ...     Domain([Attribute("sex", ("M",)), Attribute("kids", ("0",))]), [[1], [1]], [1]
    ... )
    >>> merge_pairs([one, two]).table("sex", "kids").tolist()
    [[3], [1]]
    """
    if not parts:
        raise DomainError("there must be counts to merge, got none")
    first = parts[0].domain
    for part in parts:
        if part.domain.names != first.names:
            raise DomainError(
                f"counts of different attributes cannot be merged: {first.differences(part.domain)}"
            )
    domain = Domain(_union([part.domain[place] for part in parts]) for place in range(len(first)))
    total = widened(parts[0], domain)
    for part in parts[1:]:
        total += widened(part, domain)
    return total


def _union(attributes: Sequence[Attribute]) -> Attribute:
    """Return the attribute with the values of all."""
    first = attributes[0]
    if all(attribute == first for attribute in attributes):
        return first
    if any(attribute.edges != first.edges for attribute in attributes):
        raise DomainError(
            f"attribute {first.name!r} has other bins in some counts: "
            f"{_bins(attributes[0])} against "
            f"{next(_bins(a) for a in attributes if a.edges != first.edges)}; "
            "count every shard with the same edges, such as -inf,18,65,inf (--bins)"
        )
    values = list(dict.fromkeys(value for a in attributes for value in a.values))
    if first.edges:
        values.sort(key=MISSING.__eq__)
        return Attribute(first.name, tuple(values), first.edges)
    for place in (_as_number, _as_text):
        if all(_ascends(attribute, place) for attribute in attributes):
            values.sort(key=place)
            break
    return Attribute(first.name, tuple(values))


def _bins(attribute: Attribute) -> str:
    return (
        f"edges {', '.join(f'{edge:g}' for edge in attribute.edges)}" if attribute.edges else "none"
    )


def _as_number(value: str) -> tuple[Any, ...]:
    from seepage.data.table.labels import field_key, sort_key

    return sort_key(field_key(value))


def _as_text(value: str) -> tuple[Any, ...]:
    return value == MISSING, value


def _ascends(attribute: Attribute, place: Callable[[str], Any]) -> bool:
    return sorted(attribute.values, key=place) == list(attribute.values)


def widened(pairs: PairCounts, domain: Domain) -> PairCounts:
    """Return counts in a domain that has all their values, and perhaps others.

    Parameters
    ----------
    pairs
        The counts.
    domain
        The same attributes, each with all values of the counts', in any order.

    Notes
    -----
    Pairs of one shape are moved at once, so the cost is that of the cells.
    """
    if pairs.domain == domain:
        return pairs
    places = [
        np.array([wide.code(value) for value in narrow.values])
        for narrow, wide in zip(pairs.domain, domain, strict=True)
    ]
    marginals = [np.zeros(size, dtype=np.int64) for size in domain.sizes]
    for marginal, place, counts in zip(marginals, places, pairs.marginals, strict=True):
        marginal[place] = counts
    sizes, flat = pairs.domain.sizes, np.concatenate(places)
    starts, begins, offsets = (
        marginal_offsets(sizes),
        pair_offsets(sizes),
        pair_offsets(domain.sizes),
    )
    cells = np.zeros(offsets[-1], dtype=np.int64)
    for numbers, a, b in pairs_by_shape(sizes, domain.sizes):
        wide = np.zeros((len(numbers), domain.sizes[a[0]], domain.sizes[b[0]]), dtype=np.int64)
        rows, columns = (stacked(flat, starts[part], sizes[part[0]]) for part in (a, b))
        every = np.arange(len(numbers))[:, None, None]
        wide[every, rows[:, :, None], columns[:, None, :]] = stacked(
            pairs.counts, begins[numbers], sizes[a[0]], sizes[b[0]]
        )
        put_stack(cells, offsets[numbers], wide)
    return PairCounts(domain, marginals, cells, population=pairs.population)
