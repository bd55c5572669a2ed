"""Pair counts as a file: one Parquet table in long form that any tool can read.

Columns `attribute_a`, `attribute_b`, `value_a`, `value_b`, `count`.  Each unordered pair of
attributes comes once, in the order of the domain; an attribute with itself holds its marginal.
Cells that never occurred are left out.  The domain, with values that never occurred and bin edges,
is JSON in the file's metadata under the key `seepage`; of a sample also the `population` that it
was drawn from, so that no version of this package takes a sample for a table.
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
from seepage.data.pairs import (
    FILE_KEY,
    PairCounts,
    marginal_offsets,
    pair_numbers,
    pair_offsets,
)
from seepage.errors import DomainError, InputError, TableError

if TYPE_CHECKING:
    import pyarrow as pa


VERSION = 1
COLUMNS = ("attribute_a", "attribute_b", "value_a", "value_b", "count")


class _Attribute(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    values: list[str]
    edges: list[float | Literal["inf", "-inf"]] = []


class _FormatVersion(msgspec.Struct):
    version: int


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["seepage pair counts"]
    version: int
    records: int
    attributes: list[_Attribute]
    population: int | None = None


def write_pairs(pairs: PairCounts, path: str | os.PathLike[str]) -> None:
    """Write pair counts as one Parquet file, which appears whole or not at all."""
    import pyarrow.parquet as pq

    with whole_file(path) as file:
        pq.write_table(pairs_table(pairs), file, compression="zstd", write_page_checksum=True)


def pairs_table(pairs: PairCounts) -> "pa.Table":
    """Return the counts in long form, with the domain in the metadata."""
    import pyarrow as pa

    words = _words(pairs.domain)
    number = {word: index for index, word in enumerate(words)}
    word_of = np.array([number[value] for a in pairs.domain for value in a.values])
    starts = marginal_offsets(pairs.domain.sizes)
    a, b, row, column, counts = _seen_cells(pairs)
    indices = a, b, word_of[starts[a] + row], word_of[starts[b] + column]
    texts = (pa.array(list(pairs.domain.names)),) * 2 + (pa.array(words),) * 2
    coded = [
        pa.DictionaryArray.from_arrays(index.astype(np.int32), dictionary)
        for index, dictionary in zip(indices, texts, strict=True)
    ]
    table = pa.table([*coded, pa.array(counts)], names=list(COLUMNS))
    return table.replace_schema_metadata({FILE_KEY: msgspec.json.encode(_header(pairs))})


def _seen_cells(pairs: PairCounts) -> list[Integers]:
    """Return attributes a <= b, codes of both and count of every cell that is not 0, by a and b.

    An attribute's marginal, as its table with itself, comes before its tables with later ones.
    """
    sizes = np.array(pairs.domain.sizes)
    offsets, attributes = pair_offsets(sizes), np.arange(len(sizes))
    cells = np.flatnonzero(pairs.counts)
    pair = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[cells]
    a, b = (part[pair] for part in np.triu_indices(len(sizes), 1))
    row, column = np.divmod(cells - offsets[pair], sizes[b])
    marginals = np.concatenate(pairs.marginals)
    own = np.flatnonzero(marginals)
    attribute = np.repeat(attributes, sizes)[own]
    code = own - marginal_offsets(sizes)[attribute]
    before = np.searchsorted(cells, offsets[pair_numbers(attribute, attribute + 1, len(sizes))])
    others = zip(
        (a, b, row, column, pairs.counts[cells]),
        (attribute, attribute, code, code, marginals[own]),
        strict=True,
    )
    return [np.insert(part, before, first) for part, first in others]


def _words(domain: Domain) -> list[str]:
    """Return all values' names, each once."""
    return list(dict.fromkeys(value for attribute in domain for value in attribute.values))


def _header(pairs: PairCounts) -> dict[str, Any]:
    sampled = {} if pairs.population is None else {"population": pairs.population}
    return {
        "format": "seepage pair counts",
        "version": VERSION,
        "records": pairs.records,
        "attributes": pairs.domain.to_dicts(),
        **sampled,
    }


def read_pairs(path: str | os.PathLike[str]) -> PairCounts:
    """Return the pair counts of a file, or raise a TableError.

    Everything is checked: that each cell comes once and is in the domain, and that all tables sum
    to their marginals and the marginals to the number of records.
    """
    file = _checks.input_path(path)
    table = _read(file)
    header = _read_header(file, (table.schema.metadata or {}).get(FILE_KEY))
    try:
        domain = Domain.from_dicts(map(msgspec.structs.asdict, header.attributes))
        pairs = _from_table(table, domain, header.population)
    except (InputError, UnicodeError) as problem:
        raise _damaged(file, str(problem)) from None
    if pairs.records != header.records:
        raise _damaged(file, f"{header.records:,} records, but counts of {pairs.records:,}")
    return pairs


def _read(file: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.is_fifo():
        raise TableError(f"{file} is a pipe: pair counts can be read from files only")
    if not file.is_file():
        raise TableError(f"there is no file {str(file)!r}")
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            return parquet.read()
    except PermissionError:
        raise TableError(f"{file} cannot be read: permission denied") from None
    except (OSError, pa.ArrowException):
        raise TableError(f"{file} is no Parquet file, or is truncated or damaged") from None


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
    return TableError(f"{file} is no valid file of pair counts: {problem}")


def _from_table(table: "pa.Table", domain: Domain, population: int | None) -> PairCounts:
    """Return the counts of a table in long form; cells that are not in the domain raise."""
    if tuple(table.column_names) != COLUMNS:
        raise DomainError(f"its columns must be {', '.join(COLUMNS)}")
    counts = table.column("count").to_numpy()
    a, b = (_positions(table, name, list(domain.names)) for name in COLUMNS[:2])
    row, column = (
        _codes(_positions(table, name, _words(domain)), attribute, domain)
        for name, attribute in zip(COLUMNS[2:4], (a, b), strict=True)
    )
    alone = a == b
    if np.any(a > b) or np.any(row[alone] != column[alone]):
        raise DomainError("a cell is below the diagonal")
    starts = marginal_offsets(domain.sizes)
    pair = pair_numbers(a, b, len(domain))
    sizes, offsets = np.array(domain.sizes), pair_offsets(domain.sizes)
    cells = offsets[pair[~alone]] + row[~alone] * sizes[b[~alone]] + column[~alone]
    marginals = _scattered(starts[a[alone]] + row[alone], counts[alone], int(starts[-1]))
    flat = _scattered(cells, counts[~alone], int(offsets[-1]))
    return PairCounts(domain, np.split(marginals, starts[1:-1]), flat, population=population)


def _positions(table: "pa.Table", name: str, known: list[str]) -> Integers:
    """Return where each entry of a text column is in a list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    try:
        if not (pa.types.is_dictionary(column.type) and column.type.value_type == pa.string()):
            column = column.cast(pa.string()).dictionary_encode()
    except pa.ArrowException:
        raise DomainError(f"column {name} must hold text") from None
    coded = column.combine_chunks()
    positions = pc.index_in(coded.dictionary, value_set=pa.array(known, pa.string()))
    found = positions.take(coded.indices)
    if found.null_count:
        odd = coded.filter(found.is_null())[0].as_py()
        raise DomainError(f"column {name} has {odd!r}, which is not in its domain")
    return np.asarray(found.to_numpy(), dtype=np.int64)


def _codes(words: Integers, attributes: Integers, domain: Domain) -> Integers:
    """Return the code of each word as a value of its attribute."""
    number = {word: index for index, word in enumerate(_words(domain))}
    keys = np.array(
        [index * len(number) + number[v] for index, a in enumerate(domain) for v in a.values]
    )
    codes = np.concatenate([np.arange(size) for size in domain.sizes])
    order = np.argsort(keys)
    wanted = attributes * len(number) + words
    found = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    wrong = np.flatnonzero(keys[order][found] != wanted)
    if len(wrong):
        name, word = domain.names[attributes[wrong[0]]], list(number)[words[wrong[0]]]
        raise DomainError(f"attribute {name!r} has no value {word!r}")
    return np.asarray(codes[order][found], dtype=np.int64)


def _scattered(cells: Integers, counts: Integers, length: int) -> Integers:
    """Return an array with each count at its cell; a cell that comes twice raises."""
    taken = np.zeros(length, dtype=np.bool_)
    taken[cells] = True
    if np.count_nonzero(taken) < len(cells):
        raise DomainError("a cell comes twice")
    result = np.zeros(length, dtype=counts.dtype)
    result[cells] = counts
    return result
