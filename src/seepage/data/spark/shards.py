"""The input of one Spark task: row groups of Parquet files, or a partition of a DataFrame.

Integers and booleans of a DataFrame are packed into *lanes* of 2, 8 or 16 bits of a bigint word;
Spark computes the words, and NumPy unpacks one lane at a time.  In a lane of b bits, 0 is null, 1 a
number that does not fit (it *escapes*), and v >= 2 the number v - 2^(b-1); for booleans 2 is false
and 3 is true.  Columns of other types are not packed.

Everything here but the planning runs on executors, which need this package only.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.parquet import ParquetFile, read_schema

from seepage.data.table.sources import PARQUET, ColumnarSource
from seepage.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


WORD = 64
WIDTHS = {"boolean": 2, "byte": 8, "short": 16, "integer": 16, "long": 16}
"""Bits of a lane for each packed type of Spark."""

BLOCK_ROWS = 2**17
"""Rows of a DataFrame that are coded and counted at once; Spark's own batches are smaller."""

MAX_SHARD = 2**26
"""Maximum number of records of a task, unless one row group has more: ten seconds of one core."""

TASKS_PER_CORE = 3
"""Tasks per core, to balance the load."""

SAME_IN_BOTH = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
}
"""Spark's types whose values Arrow reads from the same file unchanged."""


class Escaped(Exception):  # noqa: N818
    """Numbers that do not fit their lanes: these columns must not be packed."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns)
        self.columns = tuple(columns)


class Lane(NamedTuple):
    """Word, first bit and width of a column's lane."""

    word: int
    shift: int
    width: int
    truth: bool = False


LaneLayout: TypeAlias = dict[str, Lane | str]
"""The lane of each column of a packed DataFrame; its name there if it is not packed."""


def plan_lanes(frame: "DataFrame", columns: Sequence[str], plain: Sequence[str] = ()) -> LaneLayout:
    """Return the lane of each column; those in `plain` are not packed."""
    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    indices = {name: index for index, name in enumerate(frame.columns)}
    layout: LaneLayout = {name: f"c{indices[name]}" for name in columns}
    first_word = 0
    for width in (2, 8, 16):
        packed = [name for name in columns if WIDTHS.get(kinds[name]) == width]
        packed = [name for name in packed if name not in plain]
        for index, name in enumerate(packed):
            word, lane = divmod(index, WORD // width)
            layout[name] = Lane(first_word + word, lane * width, width, kinds[name] == "boolean")
        first_word += -(-len(packed) * width // WORD)
    return layout


def pack_frame(frame: "DataFrame", layout: LaneLayout) -> "DataFrame":
    """Return a DataFrame of the words `w0`, `w1`, ..., and of the columns that are not packed.

    Columns are referred to by index, since Spark does not distinguish `A` from `a`; and in SQL,
    which is one call to Java, where column expressions need several each.
    """
    by_index = [f"c{index}" for index in range(len(frame.columns))]
    words: dict[int, list[str]] = {}
    for column, name in zip(by_index, frame.columns, strict=True):
        lane = layout.get(name)
        if isinstance(lane, Lane):
            part = f"shiftleft({_in_lane(column, lane)}, {lane.shift})"
            words.setdefault(lane.word, []).append(part)
    packed = [f"{' | '.join(parts)} AS w{word}" for word, parts in sorted(words.items())]
    plain = [column for column in layout.values() if isinstance(column, str)]
    return frame.toDF(*by_index).selectExpr(*packed, *plain)


def _in_lane(column: str, lane: Lane) -> str:
    half = 1 << (lane.width - 1)
    if lane.truth:
        return f"coalesce(CAST({column} AS BIGINT) + {half}, 0)"
    return (
        f"CASE WHEN {column} BETWEEN {2 - half} AND {half - 1} THEN CAST({column} AS BIGINT) + "
        f"{half} WHEN {column} IS NULL THEN 0 ELSE 1 END"
    )


def unpack(
    received: Sequence[pa.RecordBatch], layout: LaneLayout, columns: Sequence[str]
) -> pa.RecordBatch:
    """Return some columns of packed batches, unpacked; numbers that escaped raise `Escaped`."""
    (packed,) = pa.Table.from_batches(received).combine_chunks().to_batches()
    arrays = {}
    escaped = []
    for name in columns:
        lane = layout[name]
        if isinstance(lane, str):
            arrays[name] = packed.column(lane)
            continue
        bits = _lane_bits(packed.column(f"w{lane.word}"), lane)
        if (bits == 1).any():
            escaped.append(name)
        arrays[name] = _values(bits, lane)
    if escaped:
        raise Escaped(escaped)
    return pa.RecordBatch.from_pydict(arrays)


def _lane_bits(words: pa.Array, lane: Lane) -> NDArray[Any]:
    """Return the bits of a lane as unsigned integers."""
    size = max(lane.width, 8)
    lanes = words.to_numpy(zero_copy_only=True).view(f"u{size // 8}").reshape(len(words), -1)
    bits = np.ascontiguousarray(lanes[:, lane.shift // size])
    return bits if lane.width == size else bits >> (lane.shift % size) & 3


def _values(bits: NDArray[Any], lane: Lane) -> pa.Array:
    """Return the integers or booleans of a lane's bits: v - 2^(b-1), null for 0."""
    missing = bits == 0
    mask = missing if missing.any() else None
    if lane.truth:
        return pa.array(bits == 3, mask=mask)
    half = bits.dtype.type(1 << (lane.width - 1))
    return pa.array((bits ^ half).view(f"i{lane.width // 8}"), mask=mask)


class Piece(NamedTuple):
    """Some row groups of one file."""

    file: str
    groups: tuple[int, ...]


class Shard(NamedTuple):
    """The row groups that one task reads, and the index in the table of their first record."""

    pieces: tuple[Piece, ...]
    first: int


def plan_shards(files: Sequence[Path], cores: int) -> list[Shard]:
    """Split Parquet files at row groups into shards of about equally many records."""
    counted = [_records_of_groups(file) for file in files]
    size = min(max(1, -(-sum(map(sum, counted)) // (cores * TASKS_PER_CORE))), MAX_SHARD)
    shards: list[Shard] = []
    pieces: dict[int, Piece] = {}
    first = before = 0
    for number, file in enumerate(files):
        for group, records in enumerate(counted[number]):
            if before > first and before - first + records / 2 > size:
                shards.append(Shard(tuple(pieces.values()), first))
                pieces, first = {}, before
            groups = pieces[number].groups if number in pieces else ()
            pieces[number] = Piece(str(file.absolute()), (*groups, group))
            before += records
    return [*shards, Shard(tuple(pieces.values()), first)] if pieces else shards


def _records_of_groups(file: Path) -> list[int]:
    with ParquetFile(file) as parquet:
        metadata = parquet.metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


class RowGroupSource(ColumnarSource):
    """Some columns of one shard of Parquet files; see `seepage.data.table.sources.Source`."""

    def __init__(self, shard: Shard, names: Sequence[str]) -> None:
        files = [Path(piece.file) for piece in shard.pieces]
        super().__init__(PARQUET, files, groups=[piece.groups for piece in shard.pieces])
        self.names = tuple(names)


class PartitionSource:
    """The records of one partition of a DataFrame, which can be read once only.

    Parameters
    ----------
    received
        Spark's batches, packed by `layout`.
    names
        All columns of the DataFrame.
    layout
        The lanes of the selected columns.
    """

    fields = False
    rows_total: int | None = None

    def __init__(
        self, received: Iterator[pa.RecordBatch], names: Sequence[str], layout: LaneLayout
    ) -> None:
        self._received = received
        self._layout = layout
        self.names = tuple(names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return all batches, unpacked and joined into blocks of at least `BLOCK_ROWS` rows."""
        buffer: list[pa.RecordBatch] = []
        rows = 0
        for batch in self._received:
            buffer.append(batch)
            rows += batch.num_rows
            if rows >= BLOCK_ROWS:
                yield unpack(buffer, self._layout, columns)
                buffer, rows = [], 0
        if rows:
            yield unpack(buffer, self._layout, columns)


def parquet_files_of(frame: "DataFrame", columns: Sequence[str]) -> list[Path]:
    """Return the Parquet files of a DataFrame that only reads files.

    Parameters
    ----------
    frame
        The DataFrame.
    columns
        The columns that will be read.

    Returns
    -------
    list of Path
        The files, in the DataFrame's order.  Empty if it is computed, filtered, renamed, cached or
        partitioned, or if files differ in their columns, are not on a mounted file system, or have
        types that Spark and Arrow read differently.
    """
    relation = _relation(frame)
    if relation is None:
        return []
    addresses = [urlsplit(name) for name in relation.location().inputFiles()]
    if not addresses or any(address.scheme != "file" or address.netloc for address in addresses):
        return []
    files = [Path(unquote(address.path)) for address in addresses]
    kinds = dict(frame.dtypes)
    return files if _have_types(files, {name: kinds[name] for name in columns}) else []


def _relation(frame: "DataFrame") -> Any:
    """Return the `HadoopFsRelation` of a plain scan of Parquet files; None for anything else."""
    classic = getattr(frame, "_jdf", None)
    if classic is None or frame.is_cached:
        return None
    plan = classic.queryExecution().analyzed()
    while plan.nodeName() in ("Project", "SubqueryAlias"):
        if plan.nodeName() == "Project" and not _only_columns(plan.projectList()):
            return None
        plan = plan.child()
    if plan.nodeName() != "LogicalRelation" or plan.isStreaming():
        return None
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return None
    parquet = relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
    return relation if parquet and relation.partitionSchema().isEmpty() else None


def _only_columns(projected: Any) -> bool:
    """Return whether a projection consists of unchanged columns of the table."""
    return all(
        projected.apply(index).getClass().getSimpleName() == "AttributeReference"
        for index in range(projected.size())
    )


def _have_types(files: Sequence[Path], kinds: Mapping[str, str]) -> bool:
    """Return whether all files have the same columns, and those in `kinds` Spark's types."""
    try:
        names = ColumnarSource(PARQUET, files).names
    except TableError:
        return False
    schema = read_schema(files[0])
    return len(set(names)) == len(names) and all(
        name in names and schema.field(name).type == SAME_IN_BOTH.get(kind)
        for name, kind in kinds.items()
    )
