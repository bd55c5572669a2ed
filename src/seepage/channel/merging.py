"""Pair counts of shards in one domain."""

import operator
import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from seepage._core import checks
from seepage._core.errors import DomainError, SeepageWarning
from seepage.channel.domain import MISSING, Attribute, Domain
from seepage.channel.pairs import PairCounts
from seepage.channel.recoding import recoded
from seepage.channel.source_files import SourceFile, joined_sources

MAX_JOINING_SHARE = 1 / 20
"""Maximum share of the records of a value that is pooled only to make "(other)" common
enough."""


def merge_pairs(parts: Sequence[PairCounts]) -> PairCounts:
    """Return the merged pair counts of disjoint shards, their sum.

    Shards must have the same attributes and the same bins: count each with the same
    edges, infinite at both ends (`bins={"age": [-inf, 18, 65, inf]}`), so that no
    number is outside.  Categories may differ: a value that a shard does not have has
    count 0 there.  So shards can be counted independently.

    Parameters
    ----------
    parts
        The pair counts of shards that have no record in common.  Counts of the same
        file raise a DomainError; equal counts, and files of equal content, are merged,
        with a `SeepageWarning`.

    Notes
    -----
    If every shard orders its values by number, so does the sum; else if every shard
    orders them as strings, likewise; missing is last.  Otherwise new values follow
    those of the first shard.  The sum equals the counts of the whole table, with one
    exception: labels do not distinguish strings such as "1", "2", "10" from numbers, so
    the values of a string column that all look like numbers are ordered by number if
    every shard orders them so, while a whole table orders them as strings: "1", "10",
    "2".  The counts are the same, in another order of values.

    If any shard is a sample, the sum is a sample of the records of all shards.

    Examples
    --------
    >>> one = PairCounts(
    ...     Domain([Attribute("sex", ("F",)), Attribute("kids", ("0",))]),
    ...     [[3], [3]],
    ...     [3],
    ... )
    >>> two = PairCounts(
    ...     Domain([Attribute("sex", ("M",)), Attribute("kids", ("0",))]),
    ...     [[1], [1]],
    ...     [1],
    ... )
    >>> merge_pairs([one, two]).table("sex", "kids").tolist()
    [[3], [1]]
    """
    parts = [
        checks.instance(part, "each of parts", PairCounts, "PairCounts")
        for part in checks.items(parts, "parts")
    ]
    if not parts:
        raise DomainError(
            "parts must have at least one PairCounts, got none", parameter="parts"
        )
    first = parts[0].domain
    for part in parts:
        if part.domain.names != first.names:
            raise DomainError(
                "counts of different attributes cannot be merged: "
                f"{first.differences(part.domain)}"
            )
    files = joined_sources(part.sources for part in parts)
    if same := _maybe_the_same(parts, files):
        message = f"{same}; if they are of the same records, these count twice"
        warnings.warn(SeepageWarning(message), stacklevel=2)
    return sum_of_shards(parts)


def _maybe_the_same(parts: Sequence[PairCounts], files: Sequence[SourceFile]) -> str:
    """Return which shards to merge may be of the same records, in words; empty for
    none.
    """
    name_by_content = dict[tuple[int, str], str]()
    for file in files:
        content = (file.size, file.digest)
        first = name_by_content.setdefault(content, file.name)
        if first != file.name:
            return f"the files {first!r} and {file.name!r} have the same content"
    if len(name_by_content) < len(files):
        return "two of the files have the same name and content"
    if len({part.digest for part in parts}) < len(parts):
        return "two of the counts are equal"
    return ""


def sum_of_shards(parts: Sequence[PairCounts]) -> PairCounts:
    """Return the merged pair counts of shards with the same attributes, their sum."""
    first = parts[0].domain
    domain = Domain(
        union_of_attributes([part.domain[index] for part in parts])
        for index in range(len(first))
    )
    return reduce(operator.add, (recoded(part, domain) for part in parts))


def union_of_attributes(attributes: Sequence[Attribute]) -> Attribute:
    """Return the attribute with the values of all that are merged; different bin edges
    raise a DomainError.
    """
    first = attributes[0]
    if all(attribute == first for attribute in attributes):
        return first
    for attribute in attributes:
        if attribute.edges != first.edges:
            raise DomainError(
                f"attribute {first.name!r} has other bins in some counts: "
                f"{_bins(first)} against {_bins(attribute)}; count every shard with "
                "the same bins, by edges such as -inf, 18, 65, inf"
            )
    from seepage.tables.column import sort_key  # with PyArrow
    from seepage.tables.labels import field_key

    values = list[str]()
    for attribute in attributes:
        values += attribute.values
    values = list(dict.fromkeys(values))
    if first.edges:
        values.sort(key=MISSING.__eq__)
        return Attribute(first.name, tuple(values), first.edges)
    orders: list[Callable[[str], Any]] = [
        lambda value: sort_key(field_key(value)),
        lambda value: (value == MISSING, value),
    ]
    for order in orders:
        if all(sorted(a.values, key=order) == list(a.values) for a in attributes):
            values.sort(key=order)
            break
    return Attribute(first.name, tuple(values))


def _bins(attribute: Attribute) -> str:
    """Return the bins of an attribute in words, for a message on merging."""
    if not attribute.edges:
        return "none"
    return f"edges {', '.join(f'{edge:g}' for edge in attribute.edges)}"
