"""`Reports`: typed columns of reports, with the mechanism and parameters that drew
them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from seepage._core import checks
from seepage._core.arrays import Booleans, Floats, Integers
from seepage._core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


Origin = Mapping[str, Any]
"""The mechanism's name and parameters, as `Mechanism.describe` gives them."""


METADATA = b"seepage.reports"
"""Metadata key of a column of reports: their kind and origin."""


CELLS = 1 << 20
"""Bits drawn or unpacked per block."""


class DamagedReportError(InputError):
    """A report that its mechanism cannot have drawn; `row` is the first index where
    `wrong`.
    """

    def __init__(self, rule: str, wrong: Booleans) -> None:
        """Describe the damaged reports by the rule that they break."""
        self.rule = rule
        self.row = int(wrong.argmax())
        super().__init__(f"{rule}; report {self.row + 1:,} does not")


@dataclass(frozen=True, eq=False, repr=False)
class Reports(ABC):
    """A column of reports; `origin` holds the mechanism and the parameters that drew
    them.
    """

    origin: Origin

    kind: ClassVar[str]

    def __len__(self) -> int:
        """Return the number of reports."""
        return len(self._arrays()[0])

    def __repr__(self) -> str:
        """Return reports in one line: their number and origin."""
        origin = ", ".join(f"{name}={value}" for name, value in self.origin.items())
        return f"{type(self).__name__}({len(self):,} reports, {origin})"

    def __getitem__(self, rows: slice | NDArray[np.bool_] | Integers) -> Self:
        """Return some of the reports, by a slice, a boolean mask or integer indices."""
        if not isinstance(rows, slice):
            rows = checks.array(rows, "rows")
            kind = rows.dtype.kind
            count = len(self)
            indices = kind in "iu" and bool(np.all((rows >= -count) & (rows < count)))
            if rows.ndim != 1 or not (indices or (kind == "b" and len(rows) == count)):
                integers = f"integers from {-count} to {count - 1}"
                raise InputError(
                    f"rows must be a slice, {count} booleans, or {integers}",
                    parameter="rows",
                )
        return type(self)(self.origin, *(array[rows] for array in self._arrays()))

    def _arrays(self) -> list[Any]:
        """Return the NumPy arrays that hold the reports."""
        return [getattr(self, field.name) for field in fields(self)[1:]]

    @abstractmethod
    def array(self) -> "pa.Array[Any]":
        """Return the reports as one Arrow array."""

    @classmethod
    @abstractmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports of an Arrow array as returned by `array`."""

    def field(self, name: str) -> "pa.Field[Any]":
        """Return the Arrow field of a column of these reports, with their origin as
        metadata.
        """
        import msgspec
        import pyarrow as pa

        content = msgspec.json.encode({"kind": self.kind, "origin": dict(self.origin)})
        return pa.field(
            name, self.array().type, nullable=False, metadata={METADATA: content}
        )


@dataclass(frozen=True, eq=False, repr=False)
class ValueReports(Reports):
    """Reports of one code each: GRR and the exponential mechanism."""

    values: NDArray[np.unsignedinteger[Any]]
    kind: ClassVar[str] = "values"

    @classmethod
    def of(cls, origin: Origin, values: Integers, outputs: int) -> Self:
        """Return reports of integers below `outputs`, in the smallest unsigned type."""
        return cls(origin, values.astype(np.min_scalar_type(outputs - 1)))

    def below(self, outputs: int) -> Integers:
        """Return the reported values; raise where one is not an integer from 0 to
        `outputs` - 1.
        """
        checks.integer(outputs, "outputs", 1, checks.MAX_RECORDS)
        values = self.values
        rule = f"reports must hold integers from 0 to {outputs - 1}"
        if values.dtype.kind != "u":
            raise InputError(f"{rule}, got {values.dtype}")
        if values.size and int(values.max()) >= outputs:
            raise DamagedReportError(rule, values >= outputs)
        return values.astype(np.int64)

    def array(self) -> "pa.Array[Any]":
        """Return the reported values as an Arrow array of unsigned integers."""
        import pyarrow as pa

        return pa.array(self.values)

    @classmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports of an array of unsigned integers."""
        return cls(origin, array.to_numpy(zero_copy_only=False))


@dataclass(frozen=True, eq=False, repr=False)
class BitReports(Reports):
    """Reports of a set of values each, one bit per value: unary encodings, subset
    selection.

    `words` has one row per report and ceil(k / 64) columns; value v is bit v % 64, from
    the least significant, of word v // 64.  Bits from k on are 0.
    """

    words: NDArray[np.uint64]
    kind: ClassVar[str] = "bits"

    @staticmethod
    def pack(bits: Booleans) -> NDArray[np.uint64]:
        """Return a boolean matrix as packed 64-bit words of reports, one row per
        report.
        """
        rows, values = bits.shape
        width = max(1, -(-values // 64))
        padded = np.zeros((rows, 64 * width), dtype=np.bool_)
        padded[:, :values] = bits
        octets = np.packbits(padded, bitorder="little")
        return octets.view("<u8").astype(np.uint64, copy=False).reshape(rows, width)

    @classmethod
    def pack_blocks(
        cls, k: int, inputs: Any, sets: Callable[[Any], Booleans], cells: int = CELLS
    ) -> NDArray[np.uint64]:
        """Return one set of k values per input, as bits of the 64-bit words of reports.

        `sets` returns the sets of a block of inputs as a boolean matrix.  In blocks of
        about `cells` cells, so that memory does not grow with the column.
        """
        words = np.empty((len(inputs), -(-k // 64)), dtype=np.uint64)
        step = max(1, cells // k)
        for start in range(0, len(inputs), step):
            words[start : start + step] = cls.pack(sets(inputs[start : start + step]))
        return words

    @staticmethod
    def set_sizes(words: NDArray[np.uint64]) -> Integers:
        """Return the number of set bits of each row of packed reports."""
        return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.int64))

    def bits(self) -> Booleans:
        """Return the reports as a boolean matrix, shape (n, k)."""
        octets = np.ascontiguousarray(self.words.astype("<u8", copy=False)).view(
            np.uint8
        )
        count = int(self.origin["k"])
        return np.unpackbits(octets, axis=1, count=count, bitorder="little").view(
            np.bool_
        )

    def array(self) -> "pa.Array[Any]":
        """Return the reported bits as an Arrow array of fixed-size binaries,
        little-endian.
        """
        import pyarrow as pa

        content = np.ascontiguousarray(self.words.astype("<u8", copy=False))
        width = 8 * content.shape[1]
        return pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width), len(content), [None, pa.py_buffer(content)]
        )

    @classmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports of an array of fixed-size binaries."""
        width = array.type.byte_width
        data = array.buffers()[1]
        start = array.offset * width
        octets = np.frombuffer(data, dtype=np.uint8)[start : start + len(array) * width]
        return cls(
            origin, octets.reshape(-1, width).view("<u8").astype(np.uint64, copy=False)
        )


@dataclass(frozen=True, eq=False, repr=False)
class HashReports(Reports):
    """Reports of a hash function's seed and a bucket each: local hashing."""

    seeds: NDArray[np.uint64]
    buckets: NDArray[np.unsignedinteger[Any]]
    kind: ClassVar[str] = "hashes"

    def array(self) -> "pa.Array[Any]":
        """Return the reported hashes as an Arrow array of structs of seed and
        bucket.
        """
        import pyarrow as pa

        columns = [pa.array(self.seeds), pa.array(self.buckets)]
        return pa.StructArray.from_arrays(columns, ["seed", "bucket"])

    @classmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports of an array of structs."""
        seeds, buckets = array.flatten()
        if seeds.null_count or buckets.null_count:
            raise InputError(
                "reports must hold a seed and a bucket each, got null values",
                parameter="reports",
            )
        seed_words = seeds.to_numpy(zero_copy_only=False)
        bucket_codes = buckets.to_numpy(zero_copy_only=False)
        if seed_words.dtype != np.uint64 or bucket_codes.dtype.kind != "u":
            raise TypeError("seeds and buckets must be unsigned")
        return cls(origin, seed_words, bucket_codes)


@dataclass(frozen=True, eq=False, repr=False)
class VectorReports(Reports):
    """Reports of a vector of k numbers each: SHE and the Gaussian mechanism."""

    vectors: Floats
    kind: ClassVar[str] = "vectors"

    def check_within(self, minimum: float, maximum: float) -> None:
        """Raise where an entry of a reported vector is NaN or outside [minimum,
        maximum].
        """
        vectors = self.vectors
        if vectors.size and not (vectors.min() >= minimum and vectors.max() <= maximum):
            rule = f"reports must hold numbers from {minimum:.6g} to {maximum:.6g}"
            within = (vectors >= minimum) & (vectors <= maximum)
            raise DamagedReportError(rule, np.asarray(~within.all(axis=1)))

    def array(self) -> "pa.Array[Any]":
        """Return the reported vectors as an Arrow array of fixed-size lists of
        doubles.
        """
        import pyarrow as pa

        flat = pa.array(np.ascontiguousarray(self.vectors).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, self.vectors.shape[1])

    @classmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports of an array of fixed-size lists."""
        width = array.type.list_size
        return cls(
            origin, array.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
        )


# Sets of values as packed bits --------------------------------------------------------


def count_bits(words: NDArray[np.uint64], k: int) -> Integers:
    """Return how many reports set each of the first k bits.

    Shift and mask leave every eighth bit of a word in the lowest bit of its byte; 255
    such words add up without overflow of a byte, so that one addition counts eight
    values.  O(n k / 8) word operations for n reports, in blocks that fit the cache.

    Examples
    --------
    >>> count_bits(np.array([[0b110], [0b100]], dtype=np.uint64), 3).tolist()
    [0, 1, 2]
    """
    width = words.shape[1]
    side = max(1, 256 // width)
    totals = np.zeros((width, 8, 8), dtype=np.int64)
    for start in range(0, len(words), 255 * side):
        block = words[start : start + 255 * side]
        groups = -(-len(block) // 255)
        if left := -len(block) % groups:
            block = np.pad(block, ((0, left), (0, 0)))
        stack = block.reshape(-1, groups * width)
        for index in range(min(8, k)):
            sums = ((stack >> np.uint64(index)) & np.uint64(0x0101010101010101)).sum(
                axis=0
            )
            octets = (
                sums.astype("<u8", copy=False).view(np.uint8).reshape(groups, width, 8)
            )
            totals[:, :, index] += octets.sum(axis=0, dtype=np.int64)
    return totals.ravel()[:k]
