"""File format of pair counts: one Parquet table in long form that any tool can read.

Columns `attribute_a`, `attribute_b`, `value_a`, `value_b`, `count`.  Each unordered pair of
attributes occurs once, in the order of the domain; rows of an attribute with itself are its
marginal.  Cells of count 0 are left out.  The domain, including values that never occurred and bin
edges, is JSON in the file's metadata under the key `seepage`; for a sample also the `population`
that it was drawn from, so that no version of this package mistakes a sample for a whole table.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from seepage import _checks
from seepage._files import whole_file
from seepage._numerics import Integers
from seepage.data.domain import Domain
from seepage.data.pairs import FILE_KEY, PairCounts, marginal_offsets, pair_index, pair_offsets
from seepage.errors import DomainError, InputError, TableError

if TYPE_CHECKING:
    import pyarrow as pa


VERSION = 1
COLUMNS = ("attribute_a", "attribute_b", "value_a", "value_b", "count")


class _Attribute(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    values: list[str]
    edges: list[float | Literal["inf", "-inf"]] = []
    merged: list[tuple[str, str]] = []


class _FormatVersion(msgspec.Struct):
    version: int


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["seepage pair counts"]
    version: int
    records: int
    attributes: list[_Attribute]
    population: int | None = None
    pooled: bool = False


def write_pairs(pairs: PairCounts, path: str | os.PathLike[str]) -> None:
    """Write pair counts to a Parquet file, atomically; a new file has mode 0600."""
    import pyarrow.parquet as pq

    with whole_file(path, private=True) as file:
        pq.write_table(pairs_table(pairs), file, compression="zstd", write_page_checksum=True)


def pairs_table(pairs: PairCounts) -> "pa.Table":
    """Return the counts in long form, with the domain in the metadata."""
    import pyarrow as pa

    labels = _labels(pairs.domain)
    index_of = {label: index for index, label in enumerate(labels)}
    label_index = np.array([index_of[value] for a in pairs.domain for value in a.values])
    offsets = marginal_offsets(pairs.domain.sizes)
    a, b, row, column, counts = _nonzero_cells(pairs)
    indices = a, b, label_index[offsets[a] + row], label_index[offsets[b] + column]
    dictionaries = (pa.array(list(pairs.domain.names)),) * 2 + (pa.array(labels),) * 2
    coded = [
        pa.DictionaryArray.from_arrays(index.astype(np.int32), dictionary)
        for index, dictionary in zip(indices, dictionaries, strict=True)
    ]
    table = pa.table([*coded, pa.array(counts)], names=list(COLUMNS))
    return table.replace_schema_metadata({FILE_KEY: msgspec.json.encode(_header(pairs))})


def _nonzero_cells(pairs: PairCounts) -> list[Integers]:
    """Return attributes a <= b, codes of both and count of every nonzero cell, sorted by (a, b).

    The marginal of an attribute is its table with itself, before its tables with later attributes.
    """
    sizes = np.array(pairs.domain.sizes)
    offsets, attributes = pair_offsets(sizes), np.arange(len(sizes))
    cells = np.flatnonzero(pairs.counts)
    pair = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[cells]
    a, b = (part[pair] for part in np.triu_indices(len(sizes), 1))
    row, column = np.divmod(cells - offsets[pair], sizes[b])
    marginals = np.concatenate(pairs.marginals)
    nonzero = np.flatnonzero(marginals)
    attribute = np.repeat(attributes, sizes)[nonzero]
    code = nonzero - marginal_offsets(sizes)[attribute]
    before = np.searchsorted(cells, offsets[pair_index(attribute, attribute + 1, len(sizes))])
    merged = zip(
        (a, b, row, column, pairs.counts[cells]),
        (attribute, attribute, code, code, marginals[nonzero]),
        strict=True,
    )
    return [np.insert(of_pairs, before, of_marginals) for of_pairs, of_marginals in merged]


def _labels(domain: Domain) -> list[str]:
    """Return the distinct labels of all attributes' values."""
    return list(dict.fromkeys(value for attribute in domain for value in attribute.values))


def _header(pairs: PairCounts) -> dict[str, Any]:
    sampled = {} if pairs.population is None else {"population": pairs.population}
    pooled = {"pooled": True} if pairs.pooled else {}
    return {
        "format": "seepage pair counts",
        "version": VERSION,
        "records": pairs.records,
        "attributes": pairs.domain.to_dicts(),
        **sampled,
        **pooled,
    }


def read_pairs(path: str | os.PathLike[str]) -> PairCounts:
    """Return the pair counts of a file; an invalid file raises a TableError.

    Checked: each cell occurs once and is in the domain, the tables sum to their marginals, and the
    marginals to the number of records.
    """
    file = _checks.input_path(path)
    table = _read(file)
    header = _read_header(file, (table.schema.metadata or {}).get(FILE_KEY))
    try:
        domain = Domain.from_dicts(map(msgspec.structs.asdict, header.attributes))
        pairs = _from_table(table, domain, header.population)
        pairs.pooled = header.pooled
    except (InputError, UnicodeError, IndexError) as problem:
        raise _damaged(file, str(problem)) from None
    if pairs.records != header.records:
        raise _damaged(file, f"{header.records:,} records, but counts of {pairs.records:,}")
    return pairs


def _read(file: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.is_file():
        raise TableError(f"there is no file {str(file)!r}")
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            return parquet.read()
    except PermissionError:
        raise TableError(f"{file} cannot be read: permission denied") from None
    except (OSError, UnicodeError, pa.ArrowException):
        raise TableError(f"{file} is not a Parquet file, or is truncated or damaged") from None


def _read_header(file: Path, metadata: bytes | None) -> _Header:
    if metadata is None:
        raise TableError(
            f"{file} is a Parquet file, but not of pair counts; if it is a table, count it first"
        )
    try:
        version = msgspec.json.decode(metadata, type=_FormatVersion).version
        if version != VERSION:
            raise TableError(
                f"{file} has version {version} of the format, this seepage reads {VERSION}; "
                "use the seepage that wrote it, or a newer one"
            )
        return msgspec.json.decode(metadata, type=_Header)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
        raise _damaged(file, str(problem)) from None


def _damaged(file: Path, problem: str) -> TableError:
    return TableError(f"{file} is not a valid file of pair counts: {problem}")


def _from_table(table: "pa.Table", domain: Domain, population: int | None) -> PairCounts:
    """Return the counts of a table in long form; cells outside the domain raise a DomainError."""
    if tuple(table.column_names) != COLUMNS:
        raise DomainError(f"its columns must be {', '.join(COLUMNS)}")
    counts = table.column("count").to_numpy()
    a, b = (_indices(table, name, list(domain.names)) for name in COLUMNS[:2])
    row, column = (
        _codes(_indices(table, name, _labels(domain)), attribute, domain)
        for name, attribute in zip(COLUMNS[2:4], (a, b), strict=True)
    )
    marginal = a == b
    if np.any(a > b) or np.any(row[marginal] != column[marginal]):
        raise DomainError("a cell is below the diagonal")
    starts = marginal_offsets(domain.sizes)
    pair = pair_index(a, b, len(domain))
    sizes, offsets = np.array(domain.sizes), pair_offsets(domain.sizes)
    cells = offsets[pair[~marginal]] + row[~marginal] * sizes[b[~marginal]] + column[~marginal]
    indices = starts[a[marginal]] + row[marginal]
    marginals = _scattered(indices, counts[marginal], int(starts[-1]))
    flat = _scattered(cells, counts[~marginal], int(offsets[-1]))
    return PairCounts(domain, np.split(marginals, starts[1:-1]), flat, population=population)


def _indices(table: "pa.Table", name: str, known: list[str]) -> Integers:
    """Return the index in `known` of each entry of a string column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    try:
        if not (pa.types.is_dictionary(column.type) and column.type.value_type == pa.string()):
            column = column.cast(pa.string()).dictionary_encode()
    except pa.ArrowException:
        raise DomainError(f"column {name} must hold strings") from None
    coded = column.combine_chunks()
    in_known = pc.index_in(coded.dictionary, value_set=pa.array(known, pa.string()))
    indices = in_known.take(coded.indices)
    if indices.null_count:
        unknown = coded.filter(indices.is_null())[0].as_py()
        raise DomainError(f"column {name} has {unknown!r}, which is not in its domain")
    return np.asarray(indices.to_numpy(), dtype=np.int64)


def _codes(labels: Integers, attributes: Integers, domain: Domain) -> Integers:
    """Return the code of each label, an index into `_labels`, as a value of its attribute."""
    index_of = {label: index for index, label in enumerate(_labels(domain))}
    code_of = np.full((len(domain), len(index_of)), -1, dtype=np.int32)
    for row, attribute in zip(code_of, domain, strict=True):
        row[[index_of[value] for value in attribute.values]] = np.arange(attribute.size)
    codes = code_of[attributes, labels].astype(np.int64)
    if codes.min(initial=0) < 0:
        wrong = int(codes.argmin())
        name, label = domain.names[attributes[wrong]], list(index_of)[labels[wrong]]
        raise DomainError(f"attribute {name!r} has no value {label!r}")
    return codes


def _scattered(cells: Integers, counts: Integers, length: int) -> Integers:
    """Return an array with each count at its cell; a duplicate cell raises a DomainError."""
    taken = np.zeros(length, dtype=np.bool_)
    taken[cells] = True
    if np.count_nonzero(taken) < len(cells):
        raise DomainError("a cell occurs twice")
    result = np.zeros(length, dtype=counts.dtype)
    result[cells] = counts
    return result
