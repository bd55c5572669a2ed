"""File format of pair counts: one Parquet table in long form that any tool can read.

Columns `attribute_a`, `attribute_b`, `value_a`, `value_b`, `count`.  Each unordered
pair of attributes occurs once, in the order of the domain; rows of an attribute with
itself are its marginal.  Cells of count 0 are left out.  The domain, including values
that never occurred and bin edges, is JSON in the file's metadata under the key
`seepage`; for a sample also the `population` that it was drawn from, so that no version
of this package mistakes a sample for a whole table; and the `sources`, the files that
were counted, by name, size, time and digest, so that none is counted twice.

The counts are read back by the column `cell`, their index among all marginals and then
all tables, and only if the SHA-256 of this JSON and both columns is the one in the
metadata.
"""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from seepage._core import checks
from seepage._core.arrays import Integers
from seepage._core.errors import DomainError, InputError, TableError
from seepage._core.files import whole_file
from seepage.channel.domain import Domain
from seepage.channel.pairs import FILE_KEY, PairCounts, marginal_offsets, pair_offsets
from seepage.channel.source_files import SourceFile

if TYPE_CHECKING:
    import pyarrow as pa


VERSION = 1
"""Version of the format of pair counts."""


DIGEST_KEY = b"seepage sha256"
"""Metadata key of the digest of the counts and the domain."""


ERRORS = (
    InputError,
    msgspec.DecodeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
)
"""What the content of a damaged file raises."""


COLUMNS = ["cell", "count"]
"""The columns that the package reads; the others are for readers of Parquet."""


class _FormatVersion(msgspec.Struct):
    version: int


class _Header(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: Literal["seepage pair counts"]
    version: int
    records: int
    attributes: list[dict[str, Any]]
    population: int | None = None
    pooled: bool = False
    sources: tuple[SourceFile, ...] = ()


def write_pairs(pairs: PairCounts, path: str | os.PathLike[str]) -> None:
    """Write pair counts to a Parquet file, atomically; a new file has mode 0600."""
    import pyarrow.parquet as pq

    columns, cells = long_form(pairs)
    header = msgspec.json.encode(
        _Header(
            format="seepage pair counts",
            version=VERSION,
            records=pairs.records,
            attributes=pairs.domain.to_dicts(),
            population=pairs.population,
            pooled=pairs.pooled,
            sources=pairs.sources,
        )
    )
    table = columns.append_column("cell", [cells])
    digest = _digest(header, cells, columns["count"].to_numpy())
    table = table.replace_schema_metadata({FILE_KEY: header, DIGEST_KEY: digest})
    with whole_file(path, private=True) as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            use_dictionary=columns.column_names,
            column_encoding={"cell": "DELTA_BINARY_PACKED"},
            write_page_checksum=True,
        )


def long_form(pairs: PairCounts) -> tuple["pa.Table", Integers]:
    """Return the nonzero cells of pair counts as the table of a file, sorted by
    attributes, and their indices.
    """
    import pyarrow as pa

    domain = pairs.domain
    sizes = np.array(pairs.domain.sizes)
    content = np.concatenate([*pairs.marginals, pairs.counts])
    cells = np.flatnonzero(content)
    values = int(sizes.sum())
    offsets = pair_offsets(sizes)
    own = cells[cells < values]
    in_tables = cells[cells >= values] - values
    pair = np.searchsorted(offsets, in_tables, side="right") - 1
    a, b = (part[pair] for part in np.triu_indices(len(sizes), 1))
    row, column = np.divmod(in_tables - offsets[pair], sizes[b])
    starts = marginal_offsets(sizes)
    attribute = np.repeat(np.arange(len(sizes)), sizes)
    # Indices among the values of all attributes, concatenated.
    first = np.append(own, starts[a] + row)
    second = np.append(own, starts[b] + column)
    order = np.lexsort((attribute[second], attribute[first]))
    first = first[order]
    second = second[order]
    names = pa.array(domain.names).dictionary_encode().take(attribute)
    values_in_order = list[str]()
    for each in domain:
        values_in_order += each.values
    labels = pa.array(values_in_order).dictionary_encode()
    columns = {
        "attribute_a": names.take(first),
        "attribute_b": names.take(second),
        "value_a": labels.take(first),
        "value_b": labels.take(second),
        "count": content[cells[order]],
    }
    return pa.table(columns), cells[order]


def _digest(header: bytes, cells: Integers, counts: Integers) -> bytes:
    """Return the checksum of a file of pair counts."""
    content = hashlib.sha256(header)
    for part in (cells, counts):
        content.update(part.astype("<i8").tobytes())
    return content.hexdigest().encode()


def read_pairs(path: str | os.PathLike[str]) -> PairCounts:
    """Return the pair counts of a file; an invalid file raises a TableError."""
    file = checks.input_path(path)
    table = _read(file)
    metadata = table.schema.metadata or {}
    if FILE_KEY not in metadata:
        raise TableError(
            f"{file} is a Parquet file, but not of pair counts; if it is a table, "
            "count it first"
        )
    try:
        version = msgspec.json.decode(metadata[FILE_KEY], type=_FormatVersion).version
        if version != VERSION:
            raise DomainError(
                f"it has version {version} of the format, this seepage reads "
                f"{VERSION}; use the seepage that wrote it, or a newer one"
            )
        header = msgspec.json.decode(metadata[FILE_KEY], type=_Header)
        cells, counts = (
            _integers(table.column(name).combine_chunks()) for name in COLUMNS
        )
        if _digest(metadata[FILE_KEY], cells, counts) != metadata.get(DIGEST_KEY):
            raise DomainError("it was changed after it was written")
        domain = Domain.from_dicts(header.attributes)
        starts = marginal_offsets(domain.sizes)
        content = np.zeros(starts[-1] + pair_offsets(domain.sizes)[-1], dtype=np.int64)
        content[cells] = counts
        *marginals, tables = np.split(content, starts[1:])
        return PairCounts(
            domain,
            marginals,
            tables,
            population=header.population,
            pooled=header.pooled,
            sources=header.sources,
        )
    except ERRORS as problem:
        raise TableError(
            f"{file} is not a valid file of pair counts: {problem}"
        ) from None


def _integers(array: "pa.Array") -> Integers:
    """Return the integers of a column of a file of pair counts; Arrow's `to_numpy`
    would import pandas.
    """
    if str(array.type) != "int64" or array.null_count:
        raise DomainError("cells and counts must be integers")
    numbers = np.frombuffer(array.buffers()[1] or b"", np.int64)
    return numbers[array.offset : array.offset + len(array)]


def _read(file: Path) -> "pa.Table":
    """Return the table in a file of pair counts; a damaged one raises a TableError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.is_file():
        raise TableError(f"there is no file {str(file)!r}")
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            return parquet.read(COLUMNS)
    except PermissionError:
        raise TableError(f"{file} cannot be read: permission denied") from None
    except (OSError, UnicodeError, pa.ArrowException):
        raise TableError(
            f"{file} is not a Parquet file, or is truncated or damaged"
        ) from None
