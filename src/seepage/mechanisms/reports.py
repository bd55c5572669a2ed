"""What a mechanism releases: typed columns of reports that know where they come from."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from seepage._files import whole_file
from seepage._numerics import Booleans, Floats
from seepage.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BitReports",
    "HashReports",
    "Reports",
    "ValueReports",
    "VectorReports",
    "load_reports",
    "reports_from_arrow",
]

Origin = Mapping[str, Any]
"""The mechanism's name and parameters, as `Mechanism.describe` gives them."""

METADATA = b"seepage.reports"


@dataclass(frozen=True, eq=False)
class Reports(ABC):
    """A column of reports; `origin` says which mechanism made them, with which parameters."""

    origin: Origin

    kind: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: slice) -> Self:
        """Return some of the reports."""

    @abstractmethod
    def array(self) -> "pa.Array[Any]":
        """Return the reports as one Arrow array."""

    @classmethod
    @abstractmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports that `array` gave."""

    def field(self, name: str) -> "pa.Field[Any]":
        """Return the Arrow field of a column of these reports, with their origin as metadata."""
        import msgspec
        import pyarrow as pa

        content = msgspec.json.encode({"kind": self.kind, "origin": dict(self.origin)})
        return pa.field(name, self.array().type, nullable=False, metadata={METADATA: content})

    def save(self, path: str | Path) -> None:
        """Write the reports to a Parquet file, which appears whole or not at all."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_arrays([self.array()], schema=pa.schema([self.field("report")]))
        with whole_file(path) as file:
            pq.write_table(table, file)


@dataclass(frozen=True, eq=False)
class ValueReports(Reports):
    """One value's code each: GRR and the exponential mechanism."""

    values: NDArray[np.unsignedinteger[Any]]
    kind: ClassVar[str] = "values"

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.origin, self.values[rows])

    def array(self) -> "pa.Array[Any]":
        """Return unsigned integers."""
        import pyarrow as pa

        return pa.array(self.values)

    @classmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports of an array of unsigned integers."""
        return cls(origin, array.to_numpy(zero_copy_only=False))


@dataclass(frozen=True, eq=False)
class BitReports(Reports):
    """A set of values each, one bit a value: unary encodings and subset selection.

    `words` has one row a report and ceil(k / 64) columns; value v is bit v % 64, from the least
    significant, of word v // 64.  Bits from k on are 0.
    """

    words: NDArray[np.uint64]
    kind: ClassVar[str] = "bits"

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.origin, self.words[rows])

    @staticmethod
    def pack(bits: Booleans) -> NDArray[np.uint64]:
        """Return the words of a matrix of bits, one row a report."""
        rows, values = bits.shape
        width = max(1, -(-values // 64))
        padded = np.zeros((rows, 64 * width), dtype=np.bool_)
        padded[:, :values] = bits
        octets = np.packbits(padded, bitorder="little")
        return octets.view("<u8").astype(np.uint64, copy=False).reshape(rows, width)

    def bits(self) -> Booleans:
        """Return the reports as a matrix of k booleans each."""
        octets = np.ascontiguousarray(self.words.astype("<u8", copy=False)).view(np.uint8)
        count = int(self.origin["k"])
        return np.unpackbits(octets, axis=1, count=count, bitorder="little").view(np.bool_)

    def array(self) -> "pa.Array[Any]":
        """Return fixed-size binaries, little-endian."""
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
        begin = array.offset * width
        octets = np.frombuffer(data, dtype=np.uint8)[begin : begin + len(array) * width]
        return cls(origin, octets.reshape(-1, width).view("<u8").astype(np.uint64, copy=False))


@dataclass(frozen=True, eq=False)
class HashReports(Reports):
    """A hash function's seed and a bucket each: local hashing."""

    seeds: NDArray[np.uint64]
    buckets: NDArray[np.unsignedinteger[Any]]
    kind: ClassVar[str] = "hashes"

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.origin, self.seeds[rows], self.buckets[rows])

    def array(self) -> "pa.Array[Any]":
        """Return structs of seed and bucket."""
        import pyarrow as pa

        columns = [pa.array(self.seeds), pa.array(self.buckets)]
        return pa.StructArray.from_arrays(columns, ["seed", "bucket"])

    @classmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports of an array of structs."""
        seeds, buckets = array.flatten()
        return cls(
            origin, seeds.to_numpy(zero_copy_only=False), buckets.to_numpy(zero_copy_only=False)
        )


@dataclass(frozen=True, eq=False)
class VectorReports(Reports):
    """A vector of k numbers each: SHE and the Gaussian mechanism."""

    vectors: Floats
    kind: ClassVar[str] = "vectors"

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.origin, self.vectors[rows])

    def array(self) -> "pa.Array[Any]":
        """Return fixed-size lists of doubles."""
        import pyarrow as pa

        flat = pa.array(np.ascontiguousarray(self.vectors).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, self.vectors.shape[1])

    @classmethod
    def from_array(cls, array: "pa.Array[Any]", origin: Origin) -> Self:
        """Return the reports of an array of fixed-size lists."""
        width = array.type.list_size
        return cls(origin, array.flatten().to_numpy(zero_copy_only=False).reshape(-1, width))


KINDS: dict[str, type[Reports]] = {
    kind.kind: kind for kind in (ValueReports, BitReports, HashReports, VectorReports)
}


def reports_from_arrow(array: Any, field: "pa.Field[Any]") -> Reports:
    """Return the reports in an Arrow column, whose field says what they are."""
    import msgspec
    import pyarrow as pa

    content = (field.metadata or {}).get(METADATA)
    if content is None:
        raise InputError(f"column {field.name!r} does not hold reports: its metadata is missing")
    described = msgspec.json.decode(content)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count:
        raise InputError(f"column {field.name!r} holds {array.null_count} empty reports")
    return KINDS[described["kind"]].from_array(array, described["origin"])


def load_reports(path: str | Path) -> Reports:
    """Return the reports that `Reports.save` wrote.

    Examples
    --------
    >>> import tempfile, seepage as sp
    >>> reports = sp.GRR(3, 1.0).perturb([0, 1, 2, 2], rng=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reports.save(folder + "/reports.parquet")
    ...     back = sp.load_reports(folder + "/reports.parquet")
    >>> back.values.tolist() == reports.values.tolist()
    True
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as reason:
        raise InputError(f"cannot read reports from {str(path)!r}: {reason}") from None
    if table.column_names != ["report"]:
        raise InputError(f"{str(path)!r} must have one column 'report', got {table.column_names}")
    return reports_from_arrow(table.column(0), table.schema.field(0))
