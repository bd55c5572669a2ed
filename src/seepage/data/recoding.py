"""Counts and records in another domain: shards merged, rare values pooled; codebooks.

The frequency of a value is known only after a pass, so rare values are pooled in the
counts or distinct records, which is exact and the same for every engine.  Tables coded
later in a domain with "(other)" have their other values there, see
`seepage.data.table`.
"""

import csv
import io
import operator
import os
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from seepage import _checks
from seepage._numerics import Integers
from seepage._results import read_small
from seepage.data import MISSING, OTHER, Attribute, Domain
from seepage.data.pairs import (
    PairCounts,
    marginal_offsets,
    pair_offsets,
    pairs_by_shape,
    stacked,
)
from seepage.data.records import Records
from seepage.errors import DomainError, InputError

Counts = TypeVar("Counts", PairCounts, Records, PairCounts | Records)

MAX_JOINING_SHARE = 1 / 20
"""Maximum share of the records of a value that is pooled only to make "(other)" common
enough."""

CODEBOOK_COLUMNS = ("attribute", "value", "label")


def recoded(counted: Counts, domain: Domain) -> Counts:
    """Return counts or records in another domain.

    Parameters
    ----------
    counted
        Pair counts or records.
    domain
        The same attributes with other values; those that one does not have are merged
        into "(other)".

    Notes
    -----
    O(cells): pairs of one shape are recoded at once.
    """
    if counted.domain == domain:
        return counted
    codes = [
        _new_codes(old, new) for old, new in zip(counted.domain, domain, strict=True)
    ]
    if isinstance(counted, Records):
        each = [new[old] for new, old in zip(codes, counted.codes.T, strict=True)]
        return counted.like(domain, np.stack(each, axis=1))
    marginals = [np.zeros(size, dtype=np.int64) for size in domain.sizes]
    for marginal, new, counts in zip(marginals, codes, counted.marginals, strict=True):
        np.add.at(marginal, new, counts)
    sizes, flat_codes = counted.domain.sizes, np.concatenate(codes)
    code_offsets, old_offsets = marginal_offsets(sizes), pair_offsets(sizes)
    offsets = pair_offsets(domain.sizes)
    cells = np.zeros(offsets[-1], dtype=np.int64)
    for group, a, b in pairs_by_shape(sizes, domain.sizes):
        rows, columns = (
            stacked(flat_codes, code_offsets[i], sizes[i[0]]) for i in (a, b)
        )
        row = offsets[group][:, None] + rows * domain.sizes[b[0]]
        index = row[:, :, None] + columns[:, None, :]
        old = stacked(counted.counts, old_offsets[group], sizes[a[0]], sizes[b[0]])
        np.add.at(cells, index.reshape(-1), old.reshape(-1))
    return counted.like(domain, marginals, cells)


def _new_codes(old: Attribute, new: Attribute) -> Integers:
    known = {*new.values}
    return np.array(
        [new.code(value if value in known else OTHER) for value in old.values]
    )


def merge_pairs(parts: Sequence[PairCounts]) -> PairCounts:
    """Return the sum of the pair counts of disjoint shards.

    Shards must have the same attributes and the same bins: count each with the same
    edges, infinite at both ends (`bins={"age": [-inf, 18, 65, inf]}`), so that no
    number is outside.  Categories may differ: a value that a shard does not have has
    count 0 there.  So shards can be counted independently.

    Parameters
    ----------
    parts
        The pair counts of shards that have no record in common.

    Notes
    -----
    If every shard orders its values by number, so does the sum; else if every shard orders them as
    strings, likewise; missing is last.  Otherwise new values follow those of the first shard.  The
    sum equals the counts of the whole table, with one exception: labels do not distinguish strings
    such as "1", "2", "10" from numbers, so the values of a string column that all look like numbers
    are ordered by number if every shard orders them so, while a whole table orders them as strings:
    "1", "10", "2".  The counts are the same, in another order of values.

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
        _checks.instance(part, "each of parts", PairCounts, "PairCounts")
        for part in _checks.items(parts, "parts")
    ]
    if not parts:
        raise DomainError(
            "parts must have at least one PairCounts, got none", parameter="parts"
        )
    first = parts[0].domain
    for part in parts:
        if part.domain.names != first.names:
            raise DomainError(
                f"counts of different attributes cannot be merged: {first.differences(part.domain)}"
            )
    domain = Domain(
        _union([part.domain[index] for part in parts]) for index in range(len(first))
    )
    return reduce(operator.add, (recoded(part, domain) for part in parts))


def _union(attributes: Sequence[Attribute]) -> Attribute:
    """Return the attribute with the values of all; different bin edges raise a
    DomainError.
    """
    first = attributes[0]
    if all(attribute == first for attribute in attributes):
        return first
    for attribute in attributes:
        if attribute.edges != first.edges:
            raise DomainError(
                f"attribute {first.name!r} has other bins in some counts: {_bins(first)} against "
                f"{_bins(attribute)}; count every shard with the same bins, by edges such as "
                "-inf, 18, 65, inf"
            )
    from seepage.data.table.column import sort_key  # with PyArrow
    from seepage.data.table.text import field_key

    values = list(dict.fromkeys(value for a in attributes for value in a.values))
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
    edges = ", ".join(f"{edge:g}" for edge in attribute.edges)
    return f"edges {edges}" if edges else "none"


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
    least = pool if pool >= 1 else pool * counted.records
    most = counted.records * MAX_JOINING_SHARE
    domain = Domain(
        _pooled(one, counted.marginal(one.name).tolist(), least, most)
        for one in counted.domain
    )
    if domain == counted.domain:
        return counted
    result = recoded(counted, domain)
    result.pooled = True
    return result


def _pooled(
    attribute: Attribute, counts: Sequence[int], least: float, most: float
) -> Attribute:
    """Return an attribute with rare values merged into "(other)", last or before
    "(missing)".

    Values of fewer records than `least` are rare; others join, rarest first, up to
    `most` records, until "(other)" has `least` records.
    """
    of = dict(zip(attribute.values, counts, strict=True))
    total = of.get(OTHER, 0)
    merged = {OTHER} if OTHER in of and total < least else set()
    for value in sorted((value for value in of if value != OTHER), key=of.__getitem__):
        joins = bool(merged) and total < least and of[value] <= most
        if of[value] < least or (joins and value != MISSING):
            merged.add(value)
            total += of[value]
    if not merged - {OTHER} or attribute.edges:
        return attribute
    merged.add(OTHER)
    kept = [value for value in attribute.values if value not in {*merged, MISSING}]
    last = [MISSING] if MISSING in of and MISSING not in merged else []
    return Attribute(attribute.name, (*kept, OTHER, *last))


def read_codebook(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Return the labels by attribute and value of a CSV file with columns attribute,
    value, label.

    Parameters
    ----------
    path
        The file, with a header line; further columns are ignored.
    """
    return _codebook(path, "label", "labels")


def read_scales(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the values in their order of the attributes with numbers in a codebook's
    `order`.
    """
    places = _codebook(path, "order", "order")
    try:
        return {
            name: sorted(of, key=lambda value: float(of[value]))
            for name, of in places.items()
        }
    except ValueError as problem:
        raise InputError(
            f"order of {path} must be numbers: {problem}", parameter="order"
        ) from None


def _codebook(
    path: str | os.PathLike[str], column: str, parameter: str
) -> dict[str, dict[str, str]]:
    """Return a column of a codebook by attribute and value, without empty fields."""
    file = _checks.path(path, parameter)
    needed = dict.fromkeys((*CODEBOOK_COLUMNS, column))
    try:
        rows = csv.DictReader(
            io.StringIO(read_small(file).decode("utf-8-sig"), newline="")
        )
        header = [name.strip().lower() for name in rows.fieldnames or ()]
        if not set(needed) <= set(header):
            raise InputError(
                f"{file} must have the columns {', '.join(needed)}, "
                f"got {', '.join(header) or 'none'}"
            )
        rows.fieldnames = header
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            attribute, value, text = (
                str(row[key] or "").strip() for key in ("attribute", "value", column)
            )
            if text:
                found.setdefault(attribute, {})[value] = text
    except (csv.Error, UnicodeDecodeError) as problem:
        raise InputError(f"{file} must be a CSV file in UTF-8: {problem}") from None
    return found
