"""Pair counts put together: of batches while alphabets still grow, and of shards."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage import _checks
from seepage._numerics import Integers
from seepage.data.counting.kernel import Codes, PairCells, count_batch
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


class PairAccumulator:
    """Counts of every pair of columns, added up over batches of codes.

    It grows as columns show more values, and merges with the counts of other batches.  Everything
    is in plain arrays, so it can be pickled and sent; it knows nothing of files or frames.

    Parameters
    ----------
    columns
        The number of columns.

    Notes
    -----
    The kernel leaves out code 0.  With n rows, marginals m_a(i) and pair counts t(i, j), the rest
    follows when all is added up, whichever batches showed which codes:

        m_a(0) = n - sum of m_a(i), i >= 1
        t(0, j) = m_b(j) - sum of t(i, j), i >= 1
        t(i, 0) = m_a(i) - sum of t(i, j), j >= 1

    Memory: 8 bytes for each pair cell, and as much again while a table grows.

    Examples
    --------
    >>> accumulator = PairAccumulator(2)
    >>> accumulator.add([np.array([0, 1, 1]), np.array([0, 0, 1])], sizes=(2, 2))
    >>> accumulator.add([np.array([0, 2]), np.array([1, 1])], sizes=(3, 2))
    >>> from seepage import Attribute
    >>> domain = Domain([Attribute("a", ("x", "y", "z")), Attribute("b", ("no", "yes"))])
    >>> accumulator.counts(domain).table("a", "b").tolist()
    [[1, 1], [1, 1], [0, 1]]
    """

    def __init__(self, columns: int) -> None:
        self.rows = 0
        self._cells = PairCells((1,) * columns)

    def add(
        self, codes: Sequence[NDArray[Any]], sizes: Sequence[int], *, compiled: bool = False
    ) -> None:
        """Add a batch of rows.

        Parameters
        ----------
        codes
            One array of integers per column, all of the same length.
        sizes
            For each column, a number that all its codes are below.
        compiled
            Count with Numba, which must be loaded first (about a second), rather than NumPy.
        """
        columns = len(self._cells.capacities)
        if len(codes) != columns or len(sizes) != columns:
            raise DomainError(
                f"there are {columns} columns, got codes of {len(codes)} and sizes of {len(sizes)}"
            )
        lengths = sorted({len(column) for column in codes})
        if len(lengths) > 1:
            raise DomainError(
                f"columns must be equally long, got {lengths[0]} and {lengths[-1]} rows"
            )
        narrow = [_as_codes(column, number) for number, column in enumerate(codes)]
        self._cells = self._cells.with_room(sizes)
        wrong = count_batch(narrow, sizes, self._cells, compiled=compiled)
        if wrong >= 0:
            raise _too_large(wrong, int(narrow[wrong].max()), sizes[wrong])
        self.rows += lengths[0]

    def merge(self, other: "PairAccumulator") -> None:
        """Add the counts of another accumulator, whose codes mean the same."""
        self._cells = self._cells.with_room(other._cells.capacities)
        self._cells.add(other._cells)
        self.rows += other.rows

    def counts(
        self, domain: Domain, orders: Sequence[NDArray[np.integer]] | None = None
    ) -> PairCounts:
        """Return what was counted.

        Parameters
        ----------
        domain
            The columns' attributes.
        orders
            For each column, the code that each value of its attribute was counted under; where
            not given, value i was counted under code i.
        """
        if orders is None:
            orders = [np.arange(size) for size in domain.sizes]
        cells = self._cells.with_room([int(order.max()) + 1 for order in orders])
        marginals = cells.marginals.copy()
        for column, start in enumerate(cells.starts[:-1]):
            marginals[start] = self.rows - cells.marginal(column)[1:].sum()
        places = np.concatenate(orders)
        starts, offsets = marginal_offsets(domain.sizes), pair_offsets(domain.sizes)
        counts = np.empty(offsets[-1], dtype=np.int64)
        for pairs, a, b in pairs_by_shape(cells.capacities, domain.sizes):
            tables = _completed(cells, marginals, pairs, a, b)
            rows = stacked(places, starts[a], domain.sizes[a[0]])
            columns = stacked(places, starts[b], domain.sizes[b[0]])
            every = np.arange(len(pairs))[:, None, None]
            put_stack(counts, offsets[pairs], tables[every, rows[:, :, None], columns[:, None, :]])
        parts = np.split(marginals, cells.starts[1:-1])
        chosen = [part[order] for part, order in zip(parts, orders, strict=True)]
        return PairCounts(domain, chosen, counts)


def _completed(
    cells: PairCells, marginals: Integers, pairs: Integers, a: Integers, b: Integers
) -> Integers:
    """Return tables of one shape with the counts of code 0, which the kernel leaves out."""
    rows, columns = cells.capacities[a[0]], cells.capacities[b[0]]
    tables = stacked(cells.tables, cells.offsets[pairs], rows, columns).copy()
    of_a, of_b = (
        stacked(marginals, cells.starts[a], rows),
        stacked(marginals, cells.starts[b], columns),
    )
    tables[:, 0, 1:] = of_b[:, 1:] - tables[:, 1:, 1:].sum(axis=1)
    tables[:, :, 0] = of_a - tables[:, :, 1:].sum(axis=2)
    return tables


def _as_codes(column: NDArray[Any], number: int) -> Codes:
    """Return a column as contiguous, aligned uint8 or uint16, or raise an error."""
    if column.ndim != 1 or column.dtype.kind not in "iub":
        raise DomainError(
            f"codes must be one-dimensional arrays of integers, "
            f"got {column.dtype} of shape {column.shape} for column {number}"
        )
    if column.dtype in (np.uint8, np.uint16):
        return np.require(column, requirements=("C", "A"))
    least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if least < 0:
        raise DomainError(f"codes must be at least 0, got {least} in column {number}")
    if most > np.iinfo(np.uint16).max:
        raise _too_large(number, most, np.iinfo(np.uint16).max + 1)
    return column.astype(np.uint8 if most < 256 else np.uint16)


def _too_large(number: int, code: int, size: int) -> DomainError:
    return DomainError(f"the codes of column {number} must be below {size}, got {code}")


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
