"""`Records`: the distinct records of a table with their multiplicities.

Pair counts do not determine how much several sources reveal together [theory-totals];
records do.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any, SupportsIndex, Unpack

import numpy as np
from numpy.typing import ArrayLike

from seepage._core import checks
from seepage._core.arrays import Codes, Integers
from seepage._core.errors import DomainError
from seepage._core.results import Result
from seepage._core.text import how_many
from seepage.channel.domain import Domain
from seepage.channel.pairs import PairCounts
from seepage.channel.record_origin import STATED, RecordOrigin
from seepage.counting.accumulate import PairAccumulator
from seepage.counting.distinct_records import (
    distinct,
    pack,
    runs,
)
from seepage.tables.table_options import (
    RecordOptions,
    TableKeywords,
    check_keywords,
)

MAX_JOINT_CELLS = 1 << 27
"""Maximum size of a joint table of counts: 1 GB."""


MAX_WEIGHTED = 1 << 19
"""Rows times squared columns up to which each table is counted by itself rather than by
bit."""


class Records(Result):
    """Distinct records with the number of people who have each.

    The object is immutable.  Rows are in lexicographic order of their codes.

    Parameters
    ----------
    domain
        The attributes and their values.
    codes
        The codes of the values, shape (records, attributes).  Equal rows are merged,
        and rows of weight 0 are left out.
    weights
        Multiplicity of each row, 1 by default.  They sum to at most 2^53.
    population
        For a sample, the number of records that it was drawn from; None for a whole
        table.

    origin
        How the records were read, such as the files; see `RecordOrigin`.

    Examples
    --------
    >>> from seepage import Attribute
    >>> domain = Domain(
    ...     [Attribute("sex", ("F", "M")), Attribute("smoker", ("no", "yes"))]
    ... )
    >>> people = Records(domain, [[0, 1], [1, 0], [0, 1]])
    >>> people.codes.tolist(), people.weights.tolist(), people.records
    ([[0, 1], [1, 0]], [2, 1], 3)
    """

    def __init__(
        self,
        domain: Domain,
        codes: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        population: int | None = None,
        origin: RecordOrigin = STATED,
    ) -> None:
        """Check the codes and weights of distinct records."""
        checks.instance(domain, "domain", Domain, "a Domain")
        columns = _checked_codes(domain, codes)
        counts = _checked_weights(columns.shape[1], weights)
        self.domain = domain
        rows, self.weights = distinct(columns, counts, domain.sizes)
        self.population = population
        if population is not None:
            self.population = checks.integer(population, "population", self.records)
        self.origin = origin
        self.codes: Codes = rows.T
        for part in (rows, self.codes, self.weights):
            part.flags.writeable = False

    @classmethod
    def from_data(
        cls,
        data: Any,
        *,
        sample: int | None = None,
        rng: Any = 0,
        scope: str = "table",
        answers: str = "as-is",
        order: Mapping[str, Sequence[str]] | None = None,
        keep: Collection[str] = (),
        may_decline: bool = False,
        merges: Mapping[str, Mapping[str, str]] | None = None,
        **table: Unpack[TableKeywords],
    ) -> "Records":
        """Return the distinct records of a table, with data and options as in
        `count_pairs`.

        Parameters
        ----------
        data
            A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or
            Feather file, of a folder of such files, a glob, or a list of paths; or a
            Spark DataFrame.
        sample
            Number of records to draw without replacement; all records if there are no
            more.  The domain is still that of the whole table, and `pool` counts the
            records of the sample.
        rng
            Seed of the sample and the part.  The same seed gives the same sample of the
            same files, with or without Spark; a Spark DataFrame has no order, so its
            sample also depends on its partitions.  None draws a different sample each
            time.
        scope
            `"population"`: a domain that is not given is fixed on a random part of the
            records (a twentieth, a fifth below 20,000), and the result has only the
            others, all of them coded in it, so that they can certify something about
            whoever else answers; see `RecordOrigin.fixed`.  `"table"`: the domain is
            that of all records, and all are in the result.
        answers, order, keep
            `"merged"`: answers are chosen by the rule of `seepage.tables.answer_rule`,
            with the scales in `order` (labels in their order, by attribute); `"as-is"`:
            the values seen, numbers in bins.  Columns without two answers that are
            common enough are left out, unless in `keep`.
        may_decline
            Whether a person without an answer is given one at random, see `Attribute`,
            where the domain is fixed here; always if answers are merged.
        merges
            The answer that each value is coded as, by attribute, in place of the rule.
        **table
            How a table is read: `columns`, `drop`, `bins`, `missing`, `max_values`,
            `missing_markers`, `delimiter`, `column_names`, `encoding`, `domain`,
            `pool`, `person`, `engine`, `progress`; see `TableKeywords`.

        Notes
        -----
        Memory grows with the number of distinct records only.  For the joint counts of
        a few attributes select their `columns`, and call `counts()` on the result.

        Examples
        --------
        >>> import pyarrow as pa
        >>> people = pa.table({"sex": ["F", "M", "F"], "smoker": [True, False, True]})
        >>> Records.from_data(people)
        Records(3 records, 2 distinct, 2 attributes)
        >>> Records.from_data(people, columns=["smoker", "sex"]).counts().tolist()
        [[0, 1], [2, 0]]
        >>> Records.from_data(people, sample=2)
        Records(sample of 2 of 3 records, 2 distinct, 2 attributes)
        """
        from seepage.tables.table_records import distinct_records

        check_keywords(table, cls.from_data)
        options = RecordOptions(
            sample=sample,
            rng=rng,
            scope=scope,
            answers=answers,
            order={} if order is None else order,
            keep=keep,
            may_decline=may_decline,
            merges={} if merges is None else merges,
            **table,
        )
        return distinct_records(data, options)

    @classmethod
    def from_joint(cls, domain: Domain, counts: ArrayLike) -> "Records":
        """Return the records of a joint contingency table, one axis per attribute.

        Examples
        --------
        >>> from seepage import Attribute
        >>> domain = Domain([Attribute("a", ("0", "1")), Attribute("b", ("0", "1"))])
        >>> len(Records.from_joint(domain, [[3, 0], [1, 2]]))
        3
        """
        checks.instance(domain, "domain", Domain, "a Domain")
        table = checks.array(counts, "counts")
        if table.shape != domain.sizes:
            raise DomainError(
                "a joint table must have one axis per attribute, shape "
                f"{domain.sizes}, got {table.shape}"
            )
        occupied = np.nonzero(table)
        return cls(domain, np.stack(occupied, axis=1), table[occupied])

    @property
    def records(self) -> int:
        """Number of people with these distinct records: the sum of the weights."""
        return int(self.weights.sum())

    def __len__(self) -> int:
        """Return the number of distinct records."""
        return len(self.weights)

    def column(self, name: str | SupportsIndex) -> Codes:
        """Return the codes of one attribute, one per distinct record."""
        return self.codes[:, self.domain.index(name)]

    def marginal(self, name: str | SupportsIndex) -> Integers:
        """Return the counts of one attribute's values over these records."""
        return self.counts([name])

    def counts(self, names: Iterable[str | SupportsIndex] | None = None) -> Integers:
        """Return the joint counts of some attributes of these records, one axis each;
        of all by default.

        Notes
        -----
        O(distinct records).  A table of more than 2^27 cells raises a DomainError.
        """
        indices = self._indices(names)
        shape = tuple(self.domain.sizes[index] for index in indices)
        cells = math.prod(shape)
        if cells > MAX_JOINT_CELLS:
            raise DomainError(
                f"the joint table of {len(indices)} attributes has {cells:.3g} cells, "
                f"and at most {MAX_JOINT_CELLS:.3g} fit; choose fewer attributes or "
                "coarser bins"
            )
        cell = np.zeros(len(self), dtype=np.int64)
        for index in indices:
            cell = cell * self.domain.sizes[index] + self.codes[:, index]
        counts = np.bincount(cell, self.weights, minlength=cells)
        return counts.astype(np.int64).reshape(shape)

    def _indices(self, names: Iterable[str | SupportsIndex] | None) -> list[int]:
        """Return the indices of distinct attributes of these records; of all for
        None.
        """
        if names is None:
            return list(range(len(self.domain)))
        indices = [self.domain.index(name) for name in checks.items(names, "names")]
        if len(set(indices)) < len(indices):
            raise DomainError("an attribute may be chosen only once")
        return indices

    def select(self, names: Iterable[str | SupportsIndex]) -> "Records":
        """Return the records of these attributes only, in this order."""
        indices = self._indices(names)
        return self.like(self.domain.select(indices), self.codes[:, indices])

    def like(self, domain: Domain, codes: ArrayLike) -> "Records":
        """Return these records with other codes, one row for each."""
        return Records(
            domain,
            codes,
            self.weights,
            population=self.population,
            origin=self.origin,
        )

    def with_origin(self, origin: RecordOrigin) -> "Records":
        """Return the same distinct records with another origin; the arrays are
        shared.
        """
        records = copy(self)
        records.origin = origin
        vars(records).pop("_pairs", None)  # counts state the origin too
        return records

    def as_pooled(self) -> "Records":
        """Return these records as ones whose values were merged by their own counts."""
        return self.with_origin(replace(self.origin, pooled=True))

    @property
    def pooled(self) -> bool:
        """Whether values of these records were merged by these very counts."""
        return self.origin.pooled

    def groups(self, names: Iterable[str | SupportsIndex]) -> Integers:
        """Return the index of each distinct record's group: equal values of some
        attributes.

        Groups are numbered from 0 in lexicographic order of their codes.
        """
        indices = self._indices(names)
        if not indices:
            return np.zeros(len(self), dtype=np.int64)
        sizes = [self.domain.sizes[index] for index in indices]
        keys = pack(self.codes.T[indices], sizes)
        order, starts = runs(keys)
        groups = np.empty(len(self), dtype=np.int64)
        groups[order] = np.cumsum(starts) - 1
        return groups

    @cached_property
    def _pairs(self) -> PairCounts:
        """Return the pair counts of these distinct records, counted here."""
        columns = range(len(self.domain))
        few = len(self) * len(columns) ** 2 <= MAX_WEIGHTED
        if few and max(self.domain.sizes) ** 2 <= MAX_JOINT_CELLS:
            tables = [
                self.counts(pair).reshape(-1) for pair in combinations(columns, 2)
            ]
            counts = np.concatenate([np.zeros(0, dtype=np.int64), *tables])
        else:
            counts = self._counts_by_bit()
        marginals = [self.marginal(column) for column in columns]
        return PairCounts(
            self.domain,
            marginals,
            counts,
            population=self.population,
            pooled=self.pooled,
            sources=self.origin.sources,
        )

    def _counts_by_bit(self) -> Integers:
        """Return the pair counts of weighted records by the batch kernel: over bits b
        2^b times those of rows with bit b.

        The kernel counts unweighted rows; bit b is that of the rows' weights.
        """
        sizes = self.domain.sizes
        columns = np.ascontiguousarray(self.codes.T)
        counts = list[Integers]()
        for bit in range(int(self.weights.max(initial=1)).bit_length()):
            rows = columns[:, (self.weights >> bit) & 1 == 1]
            part = PairAccumulator(len(sizes))
            part.add(list(rows), sizes)
            counts.append(part.counts(self.domain).counts << bit)
        return np.asarray(np.sum(counts, axis=0, dtype=np.int64))

    def pairs(self) -> PairCounts:
        """Return the pair counts of these records; computed once and cached."""
        return self._pairs

    def sample(self, n: int, rng: int | np.random.Generator | None = None) -> Codes:
        """Return the codes of n records drawn with replacement, shape (n,
        attributes).
        """
        size = checks.integer(n, "n", 0, checks.MAX_DRAWS)
        if not self.records:
            raise DomainError("sampling needs at least one record, and these have none")
        ends = np.cumsum(self.weights)
        draws = checks.generator(rng).integers(0, ends[-1], size)
        return np.asarray(self.codes[np.searchsorted(ends, draws, side="right")])

    def __eq__(self, other: object) -> bool:
        """Return whether two sets of distinct records have the same domain, codes and
        weights.
        """
        return (
            isinstance(other, Records)
            and self.domain == other.domain
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.weights, other.weights)
            and self.population == other.population
        )

    __hash__ = None  # type: ignore[assignment]

    def _headline(self) -> str:
        """Return distinct records in one line."""
        return (
            f"Records({how_many(self)}, {len(self):,} distinct, {len(self.domain)} "
            "attributes)"
        )

    def _columns(self) -> dict[str, Any]:
        """Return the columns of distinct records in long form."""
        columns: dict[str, Any] = {
            attribute.name: np.array(attribute.values, dtype=object)[codes]
            for attribute, codes in zip(self.domain, self.codes.T, strict=True)
        }
        name = "weight"
        while name in columns:
            name += "_"
        return columns | {name: self.weights}


def _checked_codes(domain: Domain, codes: ArrayLike) -> Codes:
    """Return the checked codes of distinct records, shape (attributes, records), in the
    smallest unsigned dtype.
    """
    array = checks.array(codes, "codes")
    if not array.size:
        array = np.zeros((0, len(domain)), dtype=np.uint8)
    if array.ndim != 2 or array.shape[1] != len(domain) or array.dtype.kind not in "iu":
        raise DomainError(
            f"codes must be integers, one row per record and {len(domain)} columns, "
            f"got {array.dtype} of shape {array.shape}",
            parameter="codes",
        )
    if len(array):
        for name, size, minimum, maximum in zip(
            domain.names,
            domain.sizes,
            array.min(axis=0),
            array.max(axis=0),
            strict=True,
        ):
            if minimum < 0 or maximum >= size:
                raise DomainError(f"codes of {name!r} must be from 0 to {size - 1}")
    smallest = np.min_scalar_type(max(domain.sizes) - 1)
    return np.ascontiguousarray(array.T, dtype=smallest)


def _checked_weights(rows: int, weights: ArrayLike | None) -> Integers:
    """Return the checked weights of distinct records: an integer of at least 0 for
    each.
    """
    if weights is None:
        return np.ones(rows, dtype=np.int64)
    array = checks.array(weights, "weights")
    if array.shape != (rows,) or (array.size and array.dtype.kind not in "iu"):
        raise DomainError(
            f"weights must be {rows} integers, one for each row", parameter="weights"
        )
    if array.size and (array.min() < 0 or sum(array.tolist()) > checks.MAX_RECORDS):
        raise DomainError(
            "weights must be at least 0 and sum to at most 2^53", parameter="weights"
        )
    return array.astype(np.int64)
