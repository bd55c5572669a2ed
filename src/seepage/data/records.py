"""`Records`: the distinct records of a table and how many people share each.

Pairs cannot tell how much several sources reveal together [theory-totals]; what does is here.
"""

import math
import secrets
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from seepage import _checks
from seepage._numerics import Integers
from seepage._results import Progress, Result
from seepage.data.counting.count import ENGINES, PairAccumulator
from seepage.data.counting.distinct import (
    DistinctRecords,
    Gathering,
    RecordSample,
    distinct,
    gather_local,
    pack,
    runs,
)
from seepage.data.counting.kernel import Codes
from seepage.data.domain import Domain, how_many
from seepage.data.pairs import PairCounts
from seepage.data.spark import is_spark_frame
from seepage.errors import DomainError

MAX_CELLS = 1 << 27
"""The largest table of counts that is made: 1 GB."""


class Records(Result):
    """Distinct records with the number of people who have each.

    The object is immutable.  Rows are in ascending order, the first attribute leading.

    Parameters
    ----------
    domain
        The attributes and their values.
    codes
        One row per record and one column per attribute: the codes of the values.  Equal rows are
        merged, and rows of weight 0 are left out.
    weights
        How often each row occurs; once each where not given.  They sum to at most 2^53.
    population
        Where these people are a sample: the number it was drawn from; None otherwise.

    Examples
    --------
    >>> from seepage import Attribute
    >>> domain = Domain([Attribute("sex", ("F", "M")), Attribute("smoker", ("no", "yes"))])
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
    ) -> None:
        _checks.instance(domain, "domain", Domain, "a Domain")
        columns = _checked_codes(domain, codes)
        counts = _checked_weights(columns.shape[1], weights)
        self.domain = domain
        rows, self.weights = distinct(columns, counts, domain.sizes)
        self.population = population
        if population is not None:
            self.population = _checks.integer(population, "population", self.records)
        self.codes: Codes = rows.T
        for part in (rows, self.codes, self.weights):
            part.flags.writeable = False

    @classmethod
    def from_data(
        cls,
        data: Any,
        *,
        engine: str = "auto",
        sample: int | None = None,
        seed: int | None = 0,
        progress: Progress | None = None,
        **table: Any,
    ) -> "Records":
        """Return the distinct records of a table: data and options as in `count_pairs`.

        Parameters
        ----------
        data
            A pandas, Polars or PyArrow frame; or the path of a CSV, TSV, Parquet or Feather file,
            of a folder of such files, a glob, or a list of paths; or a Spark DataFrame.
        engine
            `"spark"`: the executors of the active Spark session read the Parquet files.  The
            others are those of `count_pairs` and read alike: nothing is counted here.
        sample
            Keep so many records only, drawn without replacement; all where there are no more.
            The domain is still that of the whole table.
        seed
            Of the sample.  The same seed gives the same sample of the same files, with or without
            Spark; a Spark DataFrame has no order, so its sample also depends on its partitions.
            None is another one each time.
        progress
            Called with the records read so far and the records in all, None where not known.
        table
            Options of `seepage.data.table.TableOptions`: `columns`, `drop`, `bins`, `missing`, ...
            `pool` goes by the records kept, those of the sample.

        Notes
        -----
        Memory grows with the distinct records only, not with all of them.  For the joint counts
        of a few attributes choose their `columns`, and take `counts()` of the result.

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
        from seepage.data.table import TableOptions

        _checks.progress(progress)
        options = TableOptions.from_keywords(**table)
        start = _start(sample, seed)
        _checks.choice(engine, "engine", ENGINES)
        if engine == "spark" or is_spark_frame(data):
            from seepage.data.spark.engine import gather_with_spark

            domain, kept = gather_with_spark(data, options, start)
            rows, weights = kept.rows()
        else:
            domain, kept, (rows, weights) = gather_local(data, options, start, progress)
        whole = sample is None or kept.seen <= sample
        found = cls(domain, rows.T, weights, population=None if whole else kept.seen)
        if options.pool is None:
            return found
        from seepage.data.recoding import pool_rare

        return pool_rare(found, options.pool)

    @classmethod
    def from_joint(cls, domain: Domain, counts: ArrayLike) -> "Records":
        """Return the records of a joint table of counts with one axis per attribute.

        Examples
        --------
        >>> from seepage import Attribute
        >>> domain = Domain([Attribute("a", ("0", "1")), Attribute("b", ("0", "1"))])
        >>> len(Records.from_joint(domain, [[3, 0], [1, 2]]))
        3
        """
        _checks.instance(domain, "domain", Domain, "a Domain")
        table = _checks.array(counts, "counts")
        if table.shape != domain.sizes:
            raise DomainError(
                f"a joint table must have one axis per attribute, shape {domain.sizes}, "
                f"got {table.shape}"
            )
        occupied = np.nonzero(table)
        return cls(domain, np.stack(occupied, axis=1), table[occupied])

    @property
    def records(self) -> int:
        """The number of people."""
        return int(self.weights.sum())

    def __len__(self) -> int:
        return len(self.weights)

    def column(self, name: str | SupportsIndex) -> Codes:
        """Return the codes of one attribute, one for each distinct record."""
        return self.codes[:, self.domain.index(name)]

    def marginal(self, name: str | SupportsIndex) -> Integers:
        """Return the counts of one attribute's values."""
        return self.counts([name])

    def counts(self, names: Iterable[str | SupportsIndex] | None = None) -> Integers:
        """Return the joint counts of some attributes, one axis each; of all by default.

        Notes
        -----
        O(distinct records).  A table of more than 2^27 cells raises a DomainError.
        """
        chosen = self._positions(names)
        shape = tuple(self.domain.sizes[position] for position in chosen)
        cells = math.prod(shape)
        if cells > MAX_CELLS:
            raise DomainError(
                f"the joint table of {len(chosen)} attributes has {cells:.3g} cells, and at most "
                f"{MAX_CELLS:.3g} fit; choose fewer attributes or coarser bins"
            )
        index = np.zeros(len(self), dtype=np.int64)
        for position in chosen:
            index = index * self.domain.sizes[position] + self.codes[:, position]
        return self._sums(index, cells).reshape(shape)

    def _sums(self, index: Integers, cells: int) -> Integers:
        return np.bincount(index, self.weights, minlength=cells).astype(np.int64)

    def _positions(self, names: Iterable[str | SupportsIndex] | None) -> list[int]:
        chosen = range(len(self.domain)) if names is None else _checks.items(names, "names")
        positions = [self.domain.index(name) for name in chosen]
        if len(set(positions)) < len(positions):
            raise DomainError("an attribute may be chosen only once")
        return positions

    def select(self, names: Iterable[str | SupportsIndex]) -> "Records":
        """Return the records of these attributes only, in this order."""
        chosen = self._positions(names)
        return Records(
            self.domain.select(chosen),
            self.codes[:, chosen],
            self.weights,
            population=self.population,
        )

    def rename(self, names: dict[str, str]) -> "Records":
        """Return the records with attributes renamed, old name to new."""
        domain = self.domain.rename(names)
        return Records(domain, self.codes, self.weights, population=self.population)

    def groups(self, names: Iterable[str | SupportsIndex]) -> Integers:
        """Return the number of each record's group: records that agree on some attributes.

        Groups are numbered from 0 in ascending order of their values.
        """
        chosen = self._positions(names)
        if not chosen:
            return np.zeros(len(self), dtype=np.int64)
        keys = pack(self.codes.T[chosen], [self.domain.sizes[position] for position in chosen])
        order, starts = runs(keys)
        numbers = np.empty(len(self), dtype=np.int64)
        numbers[order] = np.cumsum(starts) - 1
        return numbers

    @cached_property
    def _pairs(self) -> PairCounts:
        """Rows counted by the kernel of batches, once for each bit of their weights."""
        sizes = self.domain.sizes
        columns, counts = np.ascontiguousarray(self.codes.T), list[Integers]()
        for bit in range(int(self.weights.max(initial=1)).bit_length()):
            rows = columns[:, (self.weights >> bit) & 1 == 1]
            part = PairAccumulator(len(sizes))
            part.add(list(rows), sizes)
            counts.append(part.counts(self.domain).counts << bit)
        marginals = [self.marginal(i) for i in range(len(sizes))]
        flat = np.sum(counts, axis=0, dtype=np.int64)
        return PairCounts(self.domain, marginals, flat, population=self.population)

    def pairs(self) -> PairCounts:
        """Return the pair counts of the same people; computed once."""
        return self._pairs

    def sample(self, n: int, seed: int | np.random.Generator | None = None) -> Codes:
        """Return the codes of n people drawn with replacement, one row each."""
        size = _checks.integer(n, "n", 0, _checks.MAX_DRAWS)
        if not self.records:
            raise DomainError("sampling needs at least one record, and these have none")
        ends = np.cumsum(self.weights)
        draws = _checks.generator(seed).integers(0, ends[-1], size)
        return np.asarray(self.codes[np.searchsorted(ends, draws, side="right")])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Records)
            and self.domain == other.domain
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.weights, other.weights)
            and self.population == other.population
        )

    __hash__ = None  # type: ignore[assignment]

    def _headline(self) -> str:
        return f"Records({how_many(self)}, {len(self):,} distinct, {len(self.domain)} attributes)"

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            attribute.name: np.array(attribute.values, dtype=object)[codes]
            for attribute, codes in zip(self.domain, self.codes.T, strict=True)
        }
        name = "weight"
        while name in columns:
            name += "_"
        return columns | {name: self.weights}


def _start(sample: int | None, seed: int | None) -> Callable[[], Gathering]:
    """Return what begins to gather: all distinct records, or a sample."""
    if sample is None:
        return DistinctRecords
    fixed = secrets.randbits(63) if seed is None else _checks.integer(seed, "seed", 0)
    return partial(RecordSample, _checks.integer(sample, "sample", 1), fixed)


def _checked_codes(domain: Domain, codes: ArrayLike) -> Codes:
    """Return codes as contiguous columns of the smallest unsigned integers, checked."""
    array = _checks.array(codes, "codes")
    if not array.size:
        array = np.zeros((0, len(domain)), dtype=np.uint8)
    if array.ndim != 2 or array.shape[1] != len(domain) or array.dtype.kind not in "iu":
        raise DomainError(
            f"codes must be integers, one row per record and {len(domain)} columns, "
            f"got {array.dtype} of shape {array.shape}"
        )
    if len(array):
        low, high = array.min(axis=0), array.max(axis=0)
        for name, size, least, most in zip(domain.names, domain.sizes, low, high, strict=True):
            if least < 0 or most >= size:
                raise DomainError(f"codes of {name!r} must be from 0 to {size - 1}")
    smallest = np.min_scalar_type(max(domain.sizes) - 1)
    return np.ascontiguousarray(array.T, dtype=smallest)


def _checked_weights(rows: int, weights: ArrayLike | None) -> Integers:
    if weights is None:
        return np.ones(rows, dtype=np.int64)
    array = _checks.array(weights, "weights")
    if array.shape != (rows,) or (array.size and array.dtype.kind not in "iu"):
        raise DomainError(f"weights must be {rows} integers, one for each row")
    if array.size and (array.min() < 0 or sum(array.tolist()) > _checks.MAX_RECORDS):
        raise DomainError("weights must be at least 0 and sum to at most 2^53")
    return array.astype(np.int64)
