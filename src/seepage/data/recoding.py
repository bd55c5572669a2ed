"""Counts and records in another domain: shards merged, rare values pooled, values labelled.

How often a value occurs is known only at the end of a pass.  So rare values are pooled in the
counts or distinct records, where it is exact and the same for every engine.  A table that is coded
later in a domain with "(other)" has its other values there, see `seepage.data.table`.
"""

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from seepage import _checks
from seepage._numerics import Integers
from seepage.data.domain import MISSING, OTHER, Attribute, Domain
from seepage.data.pairs import (
    PairCounts,
    marginal_offsets,
    pair_offsets,
    pairs_by_shape,
    put_stack,
    stacked,
)
from seepage.data.records import Records
from seepage.data.table.labels import field_key, sort_key
from seepage.errors import DomainError, InputError

Counts = TypeVar("Counts", bound=PairCounts | Records)

MAX_JOINING = 1 / 20
"""The share of the records that a value has at most to join others that are rarer than allowed."""

HEAD = ("attribute", "value", "label")


def recoded(counted: Counts, domain: Domain, codes: Sequence[Integers]) -> Counts:
    """Return counts or records in another domain.

    Parameters
    ----------
    counted
        Pair counts or records.
    domain
        The same attributes with other values.
    codes
        For each attribute, the new code of every old one; values with one new code are merged.

    Notes
    -----
    Pairs of one shape are moved at once, so the cost is that of the cells.
    """
    recode: Any = _recoded_records if isinstance(counted, Records) else _recoded_pairs
    found: Counts = recode(counted, domain, codes)
    return found


def _recoded_records(records: Records, domain: Domain, codes: Sequence[Integers]) -> Records:
    columns = [new[old] for new, old in zip(codes, records.codes.T, strict=True)]
    rows = np.stack(columns, axis=1)
    return Records(domain, rows, records.weights, population=records.population)


def _recoded_pairs(pairs: PairCounts, domain: Domain, codes: Sequence[Integers]) -> PairCounts:
    marginals = [np.zeros(size, dtype=np.int64) for size in domain.sizes]
    for marginal, new, counts in zip(marginals, codes, pairs.marginals, strict=True):
        np.add.at(marginal, new, counts)
    sizes, flat = pairs.domain.sizes, np.concatenate(codes)
    starts, begins = marginal_offsets(sizes), pair_offsets(sizes)
    offsets = pair_offsets(domain.sizes)
    cells = np.zeros(offsets[-1], dtype=np.int64)
    for numbers, a, b in pairs_by_shape(sizes, domain.sizes):
        rows, columns = (stacked(flat, starts[part], sizes[part[0]]) for part in (a, b))
        tables = np.zeros((len(numbers), domain.sizes[a[0]], domain.sizes[b[0]]), dtype=np.int64)
        row = np.arange(len(numbers))[:, None] * tables.shape[1] + rows
        index = row[:, :, None] * tables.shape[2] + columns[:, None, :]
        old = stacked(pairs.counts, begins[numbers], sizes[a[0]], sizes[b[0]])
        np.add.at(tables.reshape(-1), index.reshape(-1), old.reshape(-1))
        put_stack(cells, offsets[numbers], tables)
    return PairCounts(domain, marginals, cells, population=pairs.population)


def widened(pairs: PairCounts, domain: Domain) -> PairCounts:
    """Return counts in a domain whose attributes have all their values, and perhaps others."""
    if pairs.domain == domain:
        return pairs
    codes = [
        np.array([wide.code(value) for value in narrow.values])
        for narrow, wide in zip(pairs.domain, domain, strict=True)
    ]
    return recoded(pairs, domain, codes)


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
    parts = [
        _checks.instance(part, "each of parts", PairCounts, "PairCounts")
        for part in _checks.items(parts, "parts")
    ]
    if not parts:
        raise DomainError("there must be counts to merge, got none")
    first = parts[0].domain
    for part in parts:
        if part.domain.names != first.names:
            raise DomainError(
                f"counts of different attributes cannot be merged: {first.differences(part.domain)}"
            )
    domain = Domain(_union([part.domain[index] for part in parts]) for index in range(len(first)))
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
    for key in (_as_number, _as_text):
        if all(_ascends(attribute, key) for attribute in attributes):
            values.sort(key=key)
            break
    return Attribute(first.name, tuple(values))


def _bins(attribute: Attribute) -> str:
    return (
        f"edges {', '.join(f'{edge:g}' for edge in attribute.edges)}" if attribute.edges else "none"
    )


def _as_number(value: str) -> tuple[Any, ...]:
    return sort_key(field_key(value))


def _as_text(value: str) -> tuple[Any, ...]:
    return value == MISSING, value


def _ascends(attribute: Attribute, key: Callable[[str], Any]) -> bool:
    return sorted(attribute.values, key=key) == list(attribute.values)


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
        merged = _merged_values(counts, least, pairs.records * MAX_JOINING)
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


def pool_rare(counted: Counts, pool: float) -> Counts:
    """Return counts or records with rare values merged into "(other)", see `rare_values`.

    Examples
    --------
    >>> domain = Domain(
    ...     [Attribute("job", ("nurse", "pilot", "smith")), Attribute("sex", ("F", "M"))]
    ... )
    >>> pairs = PairCounts(domain, [[90, 4, 6], [60, 40]], [55, 35, 1, 3, 4, 2])
    >>> pooled = pool_rare(pairs, 10)
    >>> pooled.domain["job"].values, pooled.table("job", "sex").tolist()
    (('nurse', '(other)'), [[55, 35], [5, 5]])
    """
    rare = rare_values(counted, pool)
    if not rare:
        return counted
    parts = [_pooled(attribute, rare.get(attribute.name, ())) for attribute in counted.domain]
    return recoded(counted, Domain(new for new, _ in parts), [codes for _, codes in parts])


def _pooled(attribute: Attribute, rare: Sequence[str]) -> tuple[Attribute, Integers]:
    """Return an attribute without its rare values: "(other)" is last, but for "(missing)"."""
    if not rare:
        return attribute, np.arange(attribute.size)
    gone = {*rare, OTHER}
    kept = [value for value in attribute.values if value not in gone and value != MISSING]
    last = [MISSING] if MISSING in attribute.values and MISSING not in gone else []
    pooled = Attribute(attribute.name, (*kept, OTHER, *last))
    return pooled, np.array([pooled.code(OTHER if v in gone else v) for v in attribute.values])


def read_codebook(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Return the labels of a CSV file with the columns attribute, value, label.

    Parameters
    ----------
    path
        The file; a head line is needed, further columns are ignored.
    """
    file = _checks.path(path, "labels")
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            rows = csv.DictReader(lines)
            known = [name.strip().lower() for name in rows.fieldnames or ()]
            if not set(HEAD) <= set(known):
                raise InputError(
                    f"{file} must have the columns attribute, value, label, "
                    f"got {', '.join(known) or 'none'}"
                )
            rows.fieldnames = known
            found: dict[str, dict[str, str]] = {}
            for row in rows:
                attribute, value, label = (str(row[key] or "").strip() for key in HEAD)
                if label:
                    found.setdefault(attribute, {})[value] = label
    except OSError as problem:
        raise InputError(f"{file} cannot be read: {problem.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as problem:
        raise InputError(f"{file} must be a CSV file in UTF-8: {problem}") from None
    return found


def labelled(counted: Counts, labels: Any) -> Counts:
    """Return the same counts or records with labels in place of values.

    Parameters
    ----------
    counted
        Pair counts or records.
    labels
        For each attribute its labels by value, or the path of a codebook.  Attributes and values
        that the table does not have are ignored; a label that two values share is followed by the
        value.  Labels none of which fits raise an InputError.

    Examples
    --------
    >>> domain = Domain([Attribute("smoker", ("1", "2"))])
    >>> people = Records(domain, [[0], [1]])
    >>> labelled(people, {"smoker": {"1": "yes", "2": "no"}}).domain["smoker"].values
    ('yes', 'no')
    """
    book = labels if isinstance(labels, Mapping) else read_codebook(labels)
    new = [_renamed(attribute, book.get(attribute.name)) for attribute in counted.domain]
    if all(one == other for one, other in zip(new, counted.domain, strict=True)):
        raise InputError(
            "labels must name values of this table, and none does; a codebook has one line for "
            "each attribute and value"
        )
    return recoded(counted, Domain(new), [np.arange(a.size) for a in new])


def _renamed(attribute: Attribute, labels: Any) -> Attribute:
    if labels is None:
        return attribute
    given = _checks.mapping(labels, f"labels of {attribute.name}")
    known = {str(value): _checks.text(label, "a label") for value, label in given.items()}
    wanted = [known.get(value, value) for value in attribute.values]
    names = [
        label if wanted.count(label) == 1 else f"{label} ({value})"
        for label, value in zip(wanted, attribute.values, strict=True)
    ]
    return Attribute(attribute.name, tuple(names), attribute.edges)
