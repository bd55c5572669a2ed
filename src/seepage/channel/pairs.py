"""`PairCounts`: the two-way contingency table of every pair of attributes."""

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Floats, Integers
from seepage._core.errors import DomainError
from seepage._core.results import Result
from seepage._core.text import how_many
from seepage.channel.channel import Channel
from seepage.channel.domain import Domain
from seepage.channel.source_files import SourceFile, joined_sources

Index = TypeVar("Index", int, Integers)


MAX_COUNT = np.iinfo(np.int64).max
"""Maximum number of records of pair counts."""


CELLS_AT_ONCE = 1 << 22
"""Cells of the tables that are processed at once."""


FILE_KEY = b"seepage"
"""Metadata key of a Parquet file of pair counts."""


def pair_offsets(sizes: Sequence[int] | Integers) -> Integers:
    """Return the offset of the table of each pair (a, b), a < b, in the flat array of
    counts.

    Pairs are in the order (0, 1), (0, 2), ..., (1, 2), ...; the table of (a, b) is
    row-major, values of a by values of b.  The last entry is the length of the flat
    array.
    """
    widths = np.asarray(sizes, dtype=np.int64)
    cells = [widths[a] * widths[a + 1 :] for a in range(len(widths))]
    return np.concatenate([[0], *cells]).cumsum(dtype=np.int64)


def marginal_offsets(sizes: Sequence[int] | Integers) -> Integers:
    """Return the offset of each attribute's marginal in flat pair counts, and the
    array's length.
    """
    return np.concatenate([[0], sizes]).cumsum(dtype=np.int64)


def pair_index(first: Index, second: Index, attributes: int) -> Index:
    """Return the index of each pair (a, b), a < b, in the order of `pair_offsets`."""
    return first * (2 * attributes - first - 1) // 2 + second - first - 1


def pairs_by_shape(
    *sizes: Sequence[int],
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Yield the pairs (a, b), a < b, grouped by table shape: pair indices, all a and
    all b.

    With several `sizes` (the same attributes in several domains), a group has one shape
    in each. Large groups are split into chunks of about `CELLS_AT_ONCE` cells.
    """
    all_sizes = np.array(sizes, dtype=np.int64)
    kind = np.unique(all_sizes, axis=1, return_inverse=True)[1].reshape(-1)
    first, second = np.triu_indices(all_sizes.shape[1], 1)
    shape = kind[first] * all_sizes.shape[1] + kind[second]
    order = np.argsort(shape, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(shape[order])) + 1):
        if len(group):
            cells = (
                all_sizes[:, first[group[0]]].max()
                * all_sizes[:, second[group[0]]].max()
            )
            step = max(1, CELLS_AT_ONCE // int(cells))
            for start in range(0, len(group), step):
                chunk = group[start : start + step]
                yield chunk, first[chunk], second[chunk]


def stacked(flat: Integers, offsets: Integers, *shape: int) -> Integers:
    """Return the tables of one shape at these offsets of flat pair counts, stacked
    along axis 0.

    A view if they are contiguous, else a copy.
    """
    size = math.prod(shape)
    if _contiguous(offsets, size):
        cells = flat[offsets[0] : offsets[0] + len(offsets) * size]
    else:
        cells = flat[offsets[:, None] + np.arange(size)]
    return cells.reshape(-1, *shape)


def put_stack(flat: Integers, offsets: Integers, stack: Integers) -> None:
    """Write stacked tables to these offsets of flat pair counts: the inverse of
    `stacked`.
    """
    size = math.prod(stack.shape[1:])
    if _contiguous(offsets, size):
        flat[offsets[0] : offsets[0] + stack.size] = stack.reshape(-1)
    else:
        flat[offsets[:, None] + np.arange(size)] = stack.reshape(-1, size)


def _contiguous(offsets: Integers, size: int) -> bool:
    """Return whether offsets in flat pair counts are those of tables side by side."""
    return len(offsets) > 0 and bool((np.diff(offsets) == size).all())


def smoothed(cells: Any, min_count: float, prior: float, truncate: float) -> Floats:
    """Return the cells of tables of pairs, smoothed: see `PairCounts.channel`."""
    raised = np.maximum(cells, min_count) + prior
    if truncate:
        return np.where(raised < truncate, 0.0, raised)
    return np.asarray(raised)


class PairCounts(Result):
    """Exact 64-bit counts: the table of every unordered pair of attributes, and all
    marginals.

    Every pairwise result of `seepage` is computed from these.  The object is immutable;
    `+` merges the counts of two disjoint shards with the same domain; counts of the
    same file raise a DomainError.

    Parameters
    ----------
    domain
        The attributes and their values.
    marginals
        One array of counts per attribute; read-only, as all counts are.
    counts
        All pair tables in one flat array, at the offsets `pair_offsets(domain.sizes)`.
    population
        For a sample, the number of records that it was drawn from; None for a whole
        table.
    pooled
        Whether values were merged by these very counts: nothing is certified for a
        population.
    sources
        The files that the records were counted from; empty if they are not known.

    Examples
    --------
    >>> from seepage import Attribute
    >>> domain = Domain(
    ...     [Attribute("sex", ("F", "M")), Attribute("smoker", ("no", "yes"))]
    ... )
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
        pooled: bool = False,
        sources: Iterable[SourceFile] = (),
    ) -> None:
        """Check pair counts: their shapes, their sums and what they were counted
        from.
        """
        self.pooled = pooled
        self.sources: tuple[SourceFile, ...] = tuple(checks.items(sources, "sources"))
        for file in self.sources:
            checks.instance(file, "each of sources", SourceFile, "a SourceFile")
        self.domain = checks.instance(domain, "domain", Domain, "a Domain")
        self.marginals = tuple(map(_frozen, checks.items(marginals, "marginals")))
        self.counts = _frozen(counts)
        self._offsets = pair_offsets(domain.sizes)
        self._check_shapes()
        self._check_sums()
        self.population = population
        if population is not None:
            self.population = checks.integer(population, "population", self.records)

    def _check_shapes(self) -> None:
        """Raise a DomainError unless marginals and pair counts have the sizes of the
        domain.
        """
        if tuple(len(part) for part in self.marginals) != self.domain.sizes:
            raise DomainError(
                "each attribute must have one marginal count for each of its values"
            )
        if self.counts.shape != (self._offsets[-1],):
            raise DomainError(
                f"the domain has {self._offsets[-1]} pair cells, got "
                f"{self.counts.size} counts"
            )

    def _check_sums(self) -> None:
        """Raise a DomainError unless all tables of the pair counts have the sums of the
        marginals.
        """
        totals = {sum(part.tolist()) for part in self.marginals}
        if max(totals) > MAX_COUNT:
            raise DomainError(
                f"the number of records must fit 64 bits, got {max(totals)}"
            )
        if len(totals) > 1:
            raise DomainError(
                "the marginals of all attributes must sum to the same number of "
                f"records, got {', '.join(map(str, sorted(totals)))}"
            )
        flat = np.concatenate(self.marginals)
        offsets = marginal_offsets(self.domain.sizes)
        for first, second, tables in self.tables_by_shape():
            rows, columns = tables.shape[1:]
            wrong = (tables.sum(axis=2) != stacked(flat, offsets[first], rows)).any(
                axis=1
            )
            wrong |= (
                tables.sum(axis=1) != stacked(flat, offsets[second], columns)
            ).any(axis=1)
            if wrong.any():
                a, b = (
                    self.domain.names[index[wrong.argmax()]]
                    for index in (first, second)
                )
                raise DomainError(
                    f"the table of {a!r} and {b!r} must sum to their marginals"
                )

    @property
    def records(self) -> int:
        """Number of records in these pair counts."""
        return int(self.marginals[0].sum())

    def marginal(self, name: str | SupportsIndex) -> Integers:
        """Return the counts of one attribute's values in these pair counts."""
        return self.marginals[self.domain.index(name)]

    def table(
        self, rows: str | SupportsIndex, columns: str | SupportsIndex
    ) -> Integers:
        """Return the pair counts of two attributes, values of `rows` by values of
        `columns`.

        A read-only view; for an attribute with itself, the diagonal matrix of its
        marginal.
        """
        a = self.domain.index(rows)
        b = self.domain.index(columns)
        if a == b:
            return np.diag(self.marginals[a])
        low = min(a, b)
        high = max(a, b)
        pair = pair_index(low, high, len(self.domain))
        start = self._offsets[pair]
        stop = self._offsets[pair + 1]
        sizes = self.domain.sizes
        view = self.counts[start:stop].reshape(sizes[low], sizes[high])
        if a > b:
            return view.T
        return view

    def tables_by_shape(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield the pairs (a, b), a < b, grouped by shape: all a, all b, tables (p,
        k_a, k_b).
        """
        sizes = self.domain.sizes
        for pairs, first, second in pairs_by_shape(sizes):
            shape = sizes[first[0]], sizes[second[0]]
            yield first, second, stacked(self.counts, self._offsets[pairs], *shape)

    def unseen(self, name: str | SupportsIndex) -> tuple[str, ...]:
        """Return the values of an attribute that never occurred in these pair
        counts.
        """
        return tuple(compress(self.domain[name].values, self.marginal(name) == 0))

    def channel(
        self,
        target: str | SupportsIndex,
        source: str | SupportsIndex,
        *,
        min_count: float = 0,
        prior: float = 0.0,
        truncate: float = 0.0,
    ) -> Channel:
        """Return P(source given target), the correlation channel G, target values as
        rows.

        Parameters
        ----------
        target, source
            The two attributes.
        min_count
            Minimum count of a cell, 0 by default: smaller counts, 0 included, are
            raised to it. Then a few records do not determine a leakage; it can fall
            below that of the table.
        prior
            Pseudo-count added to every cell, 0 by default; it can lower leakages too.
        truncate
            Cells below this, after the other two, are set to 0.  `prior=1, truncate=3`
            is the estimator in the code of the paper's authors (LDP-CPL,
            tools/CMF_gen.ipynb).

        Notes
        -----
        Target values without a count have no row; they are listed in the channel's
        `unseen`.
        """
        attribute = self.domain[target]
        cells = smoothed(
            self.table(target, source),
            min_count=checks.weight(min_count, "min_count"),
            prior=checks.weight(prior, "prior"),
            truncate=checks.weight(truncate, "truncate"),
        )
        present = (self.marginal(target) > 0) & (cells.sum(axis=1) > 0)
        seen = np.flatnonzero(present)
        if not len(seen):
            rule = "there is no channel without records, and these counts have none"
            if self.records:
                rule = f"{rule} of {truncate} or more"
            raise DomainError(rule)
        rows = attribute
        if len(seen) < attribute.size:
            rows = attribute.restrict(seen)
        return Channel(
            cells[seen] / cells[seen].sum(axis=1, keepdims=True),
            given=rows,
            output=self.domain[source],
            unseen=tuple(compress(attribute.values, ~present)),
        )

    def select(self, names: Iterable[str | SupportsIndex]) -> "PairCounts":
        """Return the pair counts of these attributes only, in this order."""
        selected = checks.items(names, "names")
        indices = np.array(
            [self.domain.index(name) for name in selected], dtype=np.int64
        )
        domain = self.domain.select(indices)
        offsets = pair_offsets(domain.sizes)
        counts = np.empty(offsets[-1], dtype=np.int64)
        for pairs, first, second in pairs_by_shape(domain.sizes):
            shape = domain.sizes[first[0]], domain.sizes[second[0]]
            tables = self._tables_of(indices[first], indices[second], shape)
            put_stack(counts, offsets[pairs], tables)
        marginals = [self.marginals[index] for index in indices]
        return self.like(domain, marginals, counts)

    def _tables_of(
        self, rows: Integers, columns: Integers, shape: tuple[int, int]
    ) -> Integers:
        """Return the tables of pairs of attributes (rows[i], columns[i]), transposed as
        needed.
        """
        pairs = pair_index(
            np.minimum(rows, columns), np.maximum(rows, columns), len(self.domain)
        )
        tables = np.empty((len(rows), *shape), dtype=np.int64)
        stored = rows < columns
        tables[stored] = stacked(self.counts, self._offsets[pairs[stored]], *shape)
        transposed = stacked(
            self.counts, self._offsets[pairs[~stored]], *reversed(shape)
        )
        tables[~stored] = transposed.transpose(0, 2, 1)
        return tables

    def rename(self, names: dict[str, str]) -> "PairCounts":
        """Return the pair counts with attributes renamed, old name to new."""
        return self.like(self.domain.rename(names), self.marginals, self.counts)

    def like(
        self, domain: Domain, marginals: Iterable[ArrayLike], counts: ArrayLike
    ) -> "PairCounts":
        """Return other pair counts of the same records."""
        return PairCounts(
            domain,
            marginals,
            counts,
            population=self.population,
            pooled=self.pooled,
            sources=self.sources,
        )

    def counted_from(self, sources: Iterable[SourceFile]) -> "PairCounts":
        """Return these pair counts with the files that their records were counted
        from.
        """
        return PairCounts(
            self.domain,
            self.marginals,
            self.counts,
            population=self.population,
            pooled=self.pooled,
            sources=sources,
        )

    def as_pooled(self) -> "PairCounts":
        """Return these pair counts as ones that merged values themselves."""
        return PairCounts(
            self.domain,
            self.marginals,
            self.counts,
            population=self.population,
            pooled=True,
            sources=self.sources,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pair counts to a Parquet file in long form, atomically.

        Examples
        --------
        >>> import tempfile, seepage as sp
        >>> adult = sp.load_pairs("adult")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     adult.save(f"{folder}/adult.pairs")
        ...     PairCounts.load(f"{folder}/adult.pairs") == adult
        True
        """
        from seepage.channel.pairs_file import write_pairs

        write_pairs(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "PairCounts":
        """Return the pair counts of a file written by `save`; any other file raises a
        TableError.

        `load_pairs` also takes the names of datasets.
        """
        from seepage.channel.pairs_file import read_pairs

        return read_pairs(path)

    def to_arrow(self) -> Any:
        """Return every nonzero cell of the pair counts as a row of a PyArrow table: two
        attributes, values and count.

        Rows of an attribute with itself are its marginal.
        """
        from seepage.channel.pairs_file import long_form

        return long_form(self)[0]

    def _columns(self) -> dict[str, Any]:
        """Return the columns of pair counts in long form."""
        table = self.to_arrow()
        return {name: table[name].to_numpy() for name in table.column_names}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the pair counts: the domain, all counts and, for a sample, the
        population.
        """
        content = hashlib.sha256()
        for attribute in self.domain:
            content.update(
                repr((attribute.name, attribute.values, attribute.edges)).encode()
            )
        for part in (*self.marginals, self.counts):
            content.update(part.astype("<i8").tobytes())
        if self.population is not None:
            content.update(f"population {self.population}".encode())
        return content.hexdigest()

    def __add__(self, other: object) -> "PairCounts":
        """Return the pair counts of two disjoint parts of the records."""
        if not isinstance(other, PairCounts):
            return NotImplemented
        if self.domain != other.domain:
            where = self.domain.differences(other.domain)
            raise DomainError(
                f"counts of different domains cannot be merged: {where}; "
                "`merge_pairs` merges shards with different categories"
            )
        if self.records + other.records > MAX_COUNT:
            raise DomainError("the merged counts exceed 64 bits")
        marginals = [
            a + b for a, b in zip(self.marginals, other.marginals, strict=True)
        ]
        parts = (self, other)
        population = None
        if any(part.population is not None for part in parts):
            population = sum(part.population or part.records for part in parts)
        return PairCounts(
            self.domain,
            marginals,
            self.counts + other.counts,
            population=population,
            pooled=self.pooled or other.pooled,
            sources=joined_sources([self.sources, other.sources]),
        )

    def __eq__(self, other: object) -> bool:
        """Return whether two pair counts have the same domain and counts."""
        if not isinstance(other, PairCounts) or self.domain != other.domain:
            return False
        return self.digest == other.digest

    def __hash__(self) -> int:
        """Return the hash of the pair counts, from their digest."""
        return hash(self.digest)

    def _headline(self) -> str:
        """Return pair counts in one line."""
        return f"PairCounts({how_many(self)}, {len(self.domain)} attributes)"


def _frozen(counts: ArrayLike) -> Integers:
    """Return pair counts as a read-only int64 array; anything else than counts raises a
    DomainError.
    """
    array = checks.array(counts, "counts")
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DomainError(
            "counts must be one-dimensional arrays of integers", parameter="counts"
        )
    if array.size and (array.min() < 0 or int(array.max()) > MAX_COUNT):
        raise DomainError(
            "counts must be at least 0 and fit 64 bits", parameter="counts"
        )
    return checks.read_only(array.astype(np.int64), "counts")
