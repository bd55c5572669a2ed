"""Numbers of a column, their summary for bin edges, and uniform samples of records by priority.

Summaries and samples take bounded memory, are filled from batches or shards of the table in any
order, and merge.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seepage._numerics import Booleans, Floats, Integers
from seepage.data.table.labels import EXACT, field_key, single_number

if TYPE_CHECKING:
    import pyarrow as pa

Priorities: TypeAlias = NDArray[np.uint64]

MIN_BUFFER = 2**18
"""Records buffered before a sample is thinned, or records are made distinct."""

SAMPLE_SIZE = 2**18
"""Records whose fractional numbers are kept; tables with no more have exact quantiles."""

MAX_SPAN = 2**16
"""Integers are counted one by one if high - low is below this."""

SEED = 20_240_607
"""Seed of the priorities: the same table has the same bin edges every time."""

OVERSAMPLING = 1.1
"""Factor on the expected number of records that a share keeps, against chance shortfalls."""


def record_priorities(first: int, count: int, seed: int = SEED) -> Priorities:
    """Return a pseudo-random 64-bit priority for each of `count` records from index `first` on.

    A priority depends on the record's index in the table and the seed alone, so the n records of
    lowest priority are a uniform sample that does not depend on how the table is cut into batches.
    """
    return np.asarray(np.random.PCG64(seed).advance(first).random_raw(count), dtype=np.uint64)


def share_of(rows: int | None) -> float:
    """Return the share of priorities, lowest first, that holds a full sample of `rows` records."""
    return 1.0 if rows is None else min(1.0, OVERSAMPLING * SAMPLE_SIZE / max(rows, 1))


class PrioritySample:
    """The records of lowest priority: a uniform sample without replacement.

    Parameters
    ----------
    size
        The number of records kept.
    share
        The share of priorities, lowest first, that may enter the sample; all by default.
    """

    def __init__(self, size: int, share: float = 1.0) -> None:
        self.kept = 0
        self._size = size
        self._threshold = int(share * 2.0**64) if share < 1.0 else None
        self._values: list[NDArray[Any]] = []
        self._priorities: list[Priorities] = []

    def candidates(self, priorities: Priorities) -> Booleans | slice:
        """Return which records of these priorities may still enter the sample."""
        return slice(None) if self._threshold is None else priorities < np.uint64(self._threshold)

    def add(self, values: NDArray[Any], priorities: Priorities) -> None:
        """Add records, along the last axis of `values`, with their priorities."""
        self._values.append(values)
        self._priorities.append(priorities)
        self.kept += len(priorities)
        if self.kept > max(2 * self._size, MIN_BUFFER):
            self.thinned()

    def merge(self, other: "PrioritySample") -> None:
        """Add the sample of another part of the table."""
        if other.kept:
            self.add(*other.thinned())

    def thinned(self) -> tuple[NDArray[Any], Priorities]:
        """Drop all but the records of lowest priority; return these and their priorities."""
        values, priorities = np.concatenate(self._values, axis=-1), np.concatenate(self._priorities)
        if len(priorities) > self._size:
            lowest = np.argpartition(priorities, self._size)
            self._threshold = int(priorities[lowest[self._size]])
            lowest = lowest[: self._size]
            values, priorities = values[..., lowest], priorities[lowest]
        self._values, self._priorities, self.kept = [values], [priorities], len(priorities)
        return values, priorities

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, after thinning."""
        if self.kept:
            self.thinned()
        return self.__dict__


class NumberSummary:
    """Range and distribution of the numbers of one column, from which bin edges follow.

    Minimum and maximum are exact.  Integers with max - min below 65,536 are counted one by one; of
    other numbers a uniform sample of 262,144 is kept, so the rank of a quantile is off by at most
    about 0.1% of the records (one standard deviation).

    Parts of a table are summarised separately and merged.  The sample consists of the records of
    lowest priority in the whole table, so the edges do not depend on the parts.  Of n records, a
    part keeps only those in the lowest share 1.1 x 262,144 / n of all priorities.  The probability
    that fewer than 262,144 of n numbers fall into it is below 10^-500; with missing numbers it is
    not, see `complete`.

    Parameters
    ----------
    share
        The share of priorities, lowest first, whose records are kept: `share_of` the records of the
        whole table.

    Attributes
    ----------
    low, high
        Minimum and maximum so far; `inf` and `-inf` before the first number.
    stray
        A value that is not a number that floats can represent, set by the caller; None if all are.
    integral
        Whether all numbers so far are integers, of any type (3.0 is one).
    """

    def __init__(self, share: float = 1.0) -> None:
        self.low = math.inf
        self.high = -math.inf
        self.stray: str | None = None
        self.integral = True
        self._single = False
        self._first = 0
        self._counts: Integers | None = np.zeros(0, dtype=np.int64)
        self._sample = PrioritySample(SAMPLE_SIZE, share)
        self._seen = 0

    @property
    def complete(self) -> bool:
        """Whether the counts are exact or the sample is full: the share kept was large enough."""
        return self._counts is not None or self._sample.kept >= min(SAMPLE_SIZE, self._seen)

    def add(self, values: NDArray[Any], priorities: Priorities) -> None:
        """Add numbers, none of them NaN, with the priorities of their records."""
        if not len(values):
            return
        self._single = values.dtype == np.float32
        low, high = self.decimal(values.min()), self.decimal(values.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.integral and values.dtype.kind == "f":
            self.integral = math.isfinite(low + high) and bool((values == np.floor(values)).all())
        counts = np.bincount(values.astype(np.int64) - int(low)) if self._countable() else None
        self._add_counts(int(low) if counts is not None else 0, counts)
        self._seen += len(values)
        candidates = self._sample.candidates(priorities)
        self._sample.add(values[candidates].astype(np.float64), priorities[candidates])

    def _countable(self) -> bool:
        """Return whether all numbers so far are integers in a span that is counted one by one."""
        exact = max(-self.low, self.high) <= EXACT
        near = exact and self.high - self.low < MAX_SPAN
        return self._counts is not None and self.integral and near

    def _add_counts(self, first: int, counts: Integers | None) -> None:
        """Add the counts of the integers `first`, `first` + 1, ...; None if they are not known."""
        if self._counts is None or counts is None or not self._countable():
            self._counts = None
            return
        lowest, size = int(self.low), int(self.high - self.low) + 1
        if (lowest, size) != (self._first, len(self._counts)):
            wider = np.zeros(size, dtype=np.int64)
            if len(self._counts):
                wider[self._first - lowest :][: len(self._counts)] = self._counts
            self._first, self._counts = lowest, wider
        self._counts[first - lowest :][: len(counts)] += counts

    def merge(self, other: "NumberSummary") -> None:
        """Add the numbers of another part of the table."""
        self.stray = other.stray = self.stray if other.stray is None else other.stray
        if other.low > other.high:
            return
        if self.low > self.high:
            self.__dict__.update(other.__dict__)
            return
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.integral = self.integral and other.integral
        self._single = self._single or other._single
        self._add_counts(other._first, other._counts)
        self._seen += other._seen
        self._sample.merge(other._sample)

    def decimal(self, value: float) -> float:
        """Return the shortest decimal that rounds to a value in the precision of the column."""
        return single_number(np.float32(value)) if self._single else float(value)

    def distinct(self) -> tuple[Floats, Integers]:
        """Return the distinct numbers, all or those of the sample, ascending, and their counts."""
        if self._counts is not None:
            present = np.flatnonzero(self._counts)
            return (present + self._first).astype(np.float64), self._counts[present]
        values, counts = np.unique(self._sample.thinned()[0], return_counts=True)
        return values, counts.astype(np.int64)


class Numbers(NamedTuple):
    """The numbers of a batch, undefined where they are missing or the field is a text.

    `missing` and `texts` are masks, None if no entry is.
    """

    values: NDArray[Any]
    missing: Booleans | None
    texts: Booleans | None


def numbers_of(array: "pa.Array", markers: frozenset[str]) -> Numbers:
    """Return the numbers of a numeric array, or of the fields of a text file.

    Nulls, NaN and the `markers` are missing.  What floats cannot represent is a text.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    texts = None
    if pa.types.is_decimal(array.type) or _beyond_floats(array):
        array = array.cast(pa.string())
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array, texts = _parsed(array, markers)
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    marked = [values == key for key in map(field_key, markers) if isinstance(key, float)]
    if values.dtype.kind == "f" and len(values) and np.isnan(values.max()):
        marked.append(np.isnan(values))
    for mask in marked:
        if mask.any():
            missing = mask if missing is None else missing | mask
    if missing is not None and texts is not None:
        missing = missing & ~texts
    return Numbers(values, missing, texts)


def _beyond_floats(array: "pa.Array") -> bool:
    """Return whether an array has integers that floats may not represent."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.type not in (pa.int64(), pa.uint64()) or array.null_count == len(array):
        return False
    low, high = pc.min_max(array).as_py().values()
    return bool(max(-low, high) > EXACT)


def _parsed(fields: "pa.Array", markers: frozenset[str]) -> "tuple[pa.Array, Booleans | None]":
    """Return the numbers of fields, null where missing, and the mask of those that are texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = pc.utf8_trim_whitespace(fields).cast(pa.float64())
        if np.abs(numbers.fill_null(0).to_numpy()).max(initial=0) < EXACT:
            return numbers, None
    except pa.ArrowInvalid:
        pass
    encoded = fields.dictionary_encode()
    keys = [field_key(text) for text in encoded.dictionary.to_pylist()]
    is_text = [isinstance(key, str) and key not in markers for key in keys]
    floats = pa.array([key if isinstance(key, float) else None for key in keys], pa.float64())
    texts = np.isin(encoded.indices.fill_null(-1).to_numpy(), np.flatnonzero(is_text))
    return floats.take(encoded.indices), texts if texts.any() else None
