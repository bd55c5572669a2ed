"""`PairCounts`: how often each two values of each two attributes occur together."""

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Integers
from seepage._results import Result
from seepage.data.channel import Channel
from seepage.data.domain import Domain, how_many
from seepage.errors import DomainError

Place = TypeVar("Place", int, Integers)

MAX_COUNT = np.iinfo(np.int64).max
CELLS_AT_ONCE = 1 << 22
FILE_KEY = b"seepage"
"""Metadata of a Parquet file of pair counts are under this key."""


def pair_offsets(sizes: Sequence[int] | Integers) -> Integers:
    """Return where the table of each pair (a, b), a < b, begins in the flat array of counts.

    Pairs come in the order (0, 1), (0, 2), ..., (1, 2), ...; the table of (a, b) is row-major,
    value of a by value of b.  The last entry is the length of the whole array.
    """
    widths = np.asarray(sizes, dtype=np.int64)
    cells = [widths[a] * widths[a + 1 :] for a in range(len(widths))]
    return np.concatenate([[0], *cells]).cumsum(dtype=np.int64)


def marginal_offsets(sizes: Sequence[int] | Integers) -> Integers:
    """Return where the marginal of each attribute begins in a flat array, and its length."""
    return np.concatenate([[0], sizes]).cumsum(dtype=np.int64)


def pair_numbers(first: Place, second: Place, attributes: int) -> Place:
    """Return the index of each pair (a, b), a < b, in the order of `pair_offsets`."""
    return first * (2 * attributes - first - 1) // 2 + second - first - 1


def pairs_by_shape(*sizes: Sequence[int]) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Yield all pairs (a, b), a < b, in groups of one shape each: their indices, all a and all b.

    With several sizes per attribute, each of them is the same throughout a group.  Large groups
    come in parts of about `CELLS_AT_ONCE` cells.
    """
    each = np.array(sizes, dtype=np.int64)
    kind = np.unique(each, axis=1, return_inverse=True)[1].reshape(-1)
    first, second = np.triu_indices(each.shape[1], 1)
    shape = kind[first] * each.shape[1] + kind[second]
    order = np.argsort(shape, kind="stable")
    for alike in np.split(order, np.flatnonzero(np.diff(shape[order])) + 1):
        if len(alike):
            cells = each[:, first[alike[0]]].max() * each[:, second[alike[0]]].max()
            step = max(1, CELLS_AT_ONCE // int(cells))
            for begin in range(0, len(alike), step):
                part = alike[begin : begin + step]
                yield part, first[part], second[part]


def stacked(flat: Integers, begins: Integers, *shape: int) -> Integers:
    """Return the arrays of this shape that begin at these indices of a flat one, as a stack.

    A view where they lie side by side, else a copy.
    """
    size = math.prod(shape)
    if _side_by_side(begins, size):
        together = flat[begins[0] : begins[0] + len(begins) * size]
    else:
        together = flat[begins[:, None] + np.arange(size)]
    return together.reshape(-1, *shape)


def put_stack(flat: Integers, begins: Integers, stack: Integers) -> None:
    """Write a stack of arrays to where each begins in a flat one."""
    size = math.prod(stack.shape[1:])
    if _side_by_side(begins, size):
        flat[begins[0] : begins[0] + stack.size] = stack.reshape(-1)
    else:
        flat[begins[:, None] + np.arange(size)] = stack.reshape(-1, size)


def _side_by_side(begins: Integers, size: int) -> bool:
    return len(begins) > 0 and bool((np.diff(begins) == size).all())


class PairCounts(Result):
    """Exact 64-bit counts of every unordered pair of attributes, and of every attribute alone.

    Everything that `seepage` says about two attributes is computed from these.  The object is
    immutable; `+` merges the counts of two shards with the same domain, which have no record in
    common.

    Parameters
    ----------
    domain
        The attributes and their values.
    marginals
        One array of counts for each attribute.
    counts
        All pair tables, flat, laid out as `pair_offsets(domain.sizes)` says.
    population
        Where the records are a sample: the number of records it was drawn from; None otherwise.

    Examples
    --------
    >>> from seepage import Attribute
    >>> domain = Domain([Attribute("sex", ("F", "M")), Attribute("smoker", ("no", "yes"))])
    >>> pairs = PairCounts(domain, [[5, 5], [7, 3]], [4, 1, 3, 2])
    >>> pairs.records, pairs.table("smoker", "sex").tolist()
    (10, [[4, 3], [1, 2]])
    >>> pairs.channel(target="sex", source="smoker").matrix.tolist()
    [[0.8, 0.2], [0.6, 0.4]]
    """

    def __init__(
        self,
        domain: Domain,
        marginals: Iterable[ArrayLike],
        counts: ArrayLike,
        *,
        population: int | None = None,
    ) -> None:
        self.domain = _checks.instance(domain, "domain", Domain, "a Domain")
        self._marginals = tuple(map(_frozen, _checks.items(marginals, "marginals")))
        self._counts = _frozen(counts)
        self._offsets = pair_offsets(domain.sizes)
        self._check_shapes()
        self._check_sums()
        self.population = population
        if population is not None:
            self.population = _checks.integer(population, "population", self.records)

    def _check_shapes(self) -> None:
        if tuple(len(part) for part in self._marginals) != self.domain.sizes:
            raise DomainError("each attribute must have one marginal count for each of its values")
        if self._counts.shape != (self._offsets[-1],):
            raise DomainError(
                f"the domain has {self._offsets[-1]} pair cells, got {self._counts.size} counts"
            )

    def _check_sums(self) -> None:
        totals = {_exact_sum(part) for part in self._marginals}
        if max(totals) > MAX_COUNT:
            raise DomainError(f"the number of records must fit 64 bits, got {max(totals)}")
        if len(totals) > 1:
            raise DomainError(
                f"the marginals of all attributes must sum to the same number of records, "
                f"got {', '.join(map(str, sorted(totals)))}"
            )
        flat, starts = np.concatenate(self._marginals), marginal_offsets(self.domain.sizes)
        for first, second, tables in self.tables_by_shape():
            rows, columns = tables.shape[1:]
            wrong = (tables.sum(axis=2) != stacked(flat, starts[first], rows)).any(axis=1)
            wrong |= (tables.sum(axis=1) != stacked(flat, starts[second], columns)).any(axis=1)
            if wrong.any():
                a, b = (self.domain.names[part[wrong.argmax()]] for part in (first, second))
                raise DomainError(f"the table of {a!r} and {b!r} must sum to their marginals")

    @property
    def records(self) -> int:
        """The number of records counted."""
        return int(self._marginals[0].sum())

    @property
    def counts(self) -> Integers:
        """All pair tables, flat and read-only, laid out as `pair_offsets` says."""
        return self._counts

    @property
    def marginals(self) -> tuple[Integers, ...]:
        """The counts of each attribute's values, read-only."""
        return self._marginals

    def marginal(self, name: str | SupportsIndex) -> Integers:
        """Return the counts of one attribute's values."""
        return self._marginals[self.domain.index(name)]

    def table(self, rows: str | SupportsIndex, columns: str | SupportsIndex) -> Integers:
        """Return the counts of two attributes, values of `rows` by values of `columns`.

        A read-only view; for an attribute with itself, its marginal on the diagonal.
        """
        a, b = self.domain.index(rows), self.domain.index(columns)
        if a == b:
            return np.diag(self._marginals[a])
        low, high = min(a, b), max(a, b)
        pair = pair_numbers(low, high, len(self.domain))
        begin, end = self._offsets[pair], self._offsets[pair + 1]
        view = self._counts[begin:end].reshape(self.domain.sizes[low], self.domain.sizes[high])
        return view if a < b else view.T

    def tables_by_shape(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield all pairs (a, b), a < b, grouped by shape: all a, all b, tables (p, ka, kb)."""
        sizes = self.domain.sizes
        for pairs, first, second in pairs_by_shape(sizes):
            shape = sizes[first[0]], sizes[second[0]]
            yield first, second, stacked(self._counts, self._offsets[pairs], *shape)

    def unseen(self, name: str | SupportsIndex) -> tuple[str, ...]:
        """Return the values of an attribute that never occurred."""
        attribute = self.domain[name]
        return tuple(
            value
            for value, count in zip(attribute.values, self.marginal(name), strict=True)
            if not count
        )

    def channel(
        self,
        target: str | SupportsIndex,
        source: str | SupportsIndex,
        *,
        min_count: float = 0,
        prior: float = 0.0,
    ) -> Channel:
        """Return P(source given target), the correlation channel G, target values as rows.

        Parameters
        ----------
        target, source
            The two attributes.
        min_count
            Treatment of rare cells, off by default: a cell seen fewer times, 0 included, counts
            as seen this often.  It keeps a handful of records from deciding a leakage, and so
            can lower it below that of the table itself.
        prior
            A pseudo-count added to every cell, off by default; it can lower leakages too.

        Notes
        -----
        Target values that never occurred have no row; they are in the channel's `unseen`.
        """
        floor, extra = _checks.weight(min_count, "min_count"), _checks.weight(prior, "prior")
        attribute = self.domain[target]
        seen = np.flatnonzero(self.marginal(target))
        if not len(seen):
            raise DomainError("there is no channel without records, and these counts have none")
        cells = np.maximum(self.table(target, source)[seen], floor) + extra
        return Channel(
            cells / cells.sum(axis=1, keepdims=True),
            given=attribute.restrict(seen) if len(seen) < attribute.size else attribute,
            output=self.domain[source],
            unseen=self.unseen(target),
        )

    def select(self, names: Iterable[str | SupportsIndex]) -> "PairCounts":
        """Return the counts of these attributes only, in this order."""
        wanted = _checks.items(names, "names")
        chosen = np.array([self.domain.index(name) for name in wanted], dtype=np.int64)
        domain = self.domain.select(chosen)
        offsets = pair_offsets(domain.sizes)
        counts = np.empty(offsets[-1], dtype=np.int64)
        for pairs, first, second in pairs_by_shape(domain.sizes):
            shape = domain.sizes[first[0]], domain.sizes[second[0]]
            put_stack(counts, offsets[pairs], self._tables_of(chosen[first], chosen[second], shape))
        marginals = [self._marginals[index] for index in chosen]
        return PairCounts(domain, marginals, counts, population=self.population)

    def _tables_of(self, rows: Integers, columns: Integers, shape: tuple[int, int]) -> Integers:
        """Return the tables of these attributes, rows by columns, in whichever order they are."""
        pairs = pair_numbers(np.minimum(rows, columns), np.maximum(rows, columns), len(self.domain))
        tables = np.empty((len(rows), *shape), dtype=np.int64)
        kept = rows < columns
        tables[kept] = stacked(self._counts, self._offsets[pairs[kept]], *shape)
        turned = stacked(self._counts, self._offsets[pairs[~kept]], *reversed(shape))
        tables[~kept] = turned.transpose(0, 2, 1)
        return tables

    def rename(self, names: dict[str, str]) -> "PairCounts":
        """Return the counts with attributes renamed, old name to new."""
        domain = self.domain.rename(names)
        return PairCounts(domain, self._marginals, self._counts, population=self.population)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts as one Parquet file in long form, which appears whole or not at all.

        Examples
        --------
        >>> import tempfile, seepage as sp
        >>> adult = sp.load_pairs("adult")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     adult.save(f"{folder}/adult.pairs")
        ...     PairCounts.load(f"{folder}/adult.pairs") == adult
        True
        """
        from seepage.data.pairs_file import write_pairs

        write_pairs(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "PairCounts":
        """Return the counts of a file that `save` wrote; a file of another kind raises.

        `load_pairs` also takes the names of datasets.
        """
        from seepage.data.pairs_file import read_pairs

        return read_pairs(path)

    def to_arrow(self) -> Any:
        """Return every cell that is not 0 as a PyArrow table: two attributes, values and count.

        An attribute with itself holds its marginal.
        """
        from seepage.data.pairs_file import pairs_table

        return pairs_table(self)

    def _columns(self) -> dict[str, Any]:
        table = self.to_arrow()
        return {name: table[name].to_numpy() for name in table.column_names}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the domain and every count: the provenance of what is computed from them.

        Of a sample, also of the number of records that it was drawn from.
        """
        content = hashlib.sha256()
        for attribute in self.domain:
            content.update(repr((attribute.name, attribute.values, attribute.edges)).encode())
        for part in (*self._marginals, self._counts):
            content.update(part.astype("<i8").tobytes())
        if self.population is not None:
            content.update(f"population {self.population}".encode())
        return content.hexdigest()

    def __add__(self, other: object) -> "PairCounts":
        if not isinstance(other, PairCounts):
            return NotImplemented
        if self.domain != other.domain:
            where = self.domain.differences(other.domain)
            raise DomainError(
                f"counts of different domains cannot be merged: {where}; "
                "`merge_pairs` puts shards together that have other categories"
            )
        if self.records + other.records > MAX_COUNT:
            raise DomainError("the merged counts exceed 64 bits")
        marginals = [a + b for a, b in zip(self._marginals, other._marginals, strict=True)]
        population = None
        if self.population is not None or other.population is not None:
            population = sum(
                part.records if part.population is None else part.population
                for part in (self, other)
            )
        return PairCounts(
            self.domain, marginals, self._counts + other._counts, population=population
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PairCounts)
            and self.domain == other.domain
            and all(map(np.array_equal, self._marginals, other._marginals))
            and np.array_equal(self._counts, other._counts)
            and self.population == other.population
        )

    def __hash__(self) -> int:
        return hash(self.digest)

    def _headline(self) -> str:
        return f"PairCounts({how_many(self)}, {len(self.domain)} attributes)"


def _exact_sum(counts: Integers) -> int:
    """Return a sum of 64-bit counts that may itself need more bits."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def _frozen(counts: ArrayLike) -> Integers:
    """Return counts as a read-only array of 64-bit integers; what are no counts raises."""
    array = _checks.array(counts, "counts")
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DomainError("counts must be one-dimensional arrays of integers")
    if array.size and (array.min() < 0 or int(array.max()) > MAX_COUNT):
        raise DomainError("counts must be at least 0 and fit 64 bits")
    result = array.astype(np.int64)
    result.flags.writeable = False
    return result
