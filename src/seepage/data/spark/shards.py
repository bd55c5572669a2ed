"""What one task of Spark reads: row groups of Parquet files, or a partition of a DataFrame.

Integers and booleans of a DataFrame travel in *lanes* of 2, 8 or 16 bits, several to a bigint;
Spark computes the words, and NumPy takes them apart again without a copy of more than one lane.  In
a lane of b bits, 0 is a null, 1 a number that does not fit (it *escapes*), and v >= 2 is the number
v - 2^(b-1); 2 is false, and 3 true.  Columns of other types travel as they are.

Everything here but the planning runs on executors, and needs nothing there but this package.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
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
"""The bits of a lane for each type of Spark that has lanes."""

BLOCK = 2**17
"""Rows of a DataFrame that are coded and counted at once; Spark's own batches are smaller."""

MAX_SHARD = 2**26
"""Records of the largest task, unless one row group has more: about ten seconds of one core."""

TASKS_A_CORE = 3
"""Tasks for each core, so that cores that finish early find more to do."""

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
"""Spark's types whose values are those that Arrow reads from the same file."""


class Escaped(Exception):  # noqa: N818
    """Numbers that do not fit their lanes: these columns have to travel as they are."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns)
        self.columns = tuple(columns)


class Lane(NamedTuple):
    """Where a column is: in which word, from which bit on; word -1 where it is a column itself."""

    word: int
    shift: int = 0
    width: int = 0
    truth: bool = False


class LaneLayout(NamedTuple):
    """The lane of each column of a packed DataFrame."""

    names: tuple[str, ...]
    lanes: tuple[Lane, ...]

    @property
    def plain(self) -> list[str]:
        """The columns that travel as they are."""
        return [name for name, lane in zip(self.names, self.lanes, strict=True) if lane.word < 0]


def plan_lanes(frame: "DataFrame", columns: Sequence[str], plain: Sequence[str] = ()) -> LaneLayout:
    """Return where each column goes; those in `plain` travel as they are."""
    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    lanes: dict[str, Lane] = {}
    word = 0
    for width in (2, 8, 16):
        chosen = [name for name in columns if WIDTHS.get(kinds[name]) == width]
        chosen = [name for name in chosen if name not in plain]
        for number, name in enumerate(chosen):
            index, lane = divmod(number, WORD // width)
            lanes[name] = Lane(word + index, lane * width, width, kinds[name] == "boolean")
        word += -(-len(chosen) * width // WORD)
    return LaneLayout(tuple(columns), tuple(lanes.get(name, Lane(-1)) for name in columns))


def pack(frame: "DataFrame", layout: LaneLayout) -> "DataFrame":
    """Return the DataFrame of words `w0`, `w1`, ... and then `p0`, `p1`, ..., the plain columns.

    Columns go by their index, since Spark does not tell `A` from `a`; and as SQL, which is one
    message to Java where expressions are several per column.
    """
    indices = {name: index for index, name in enumerate(frame.columns)}
    words: dict[int, list[str]] = {}
    for name, lane in zip(layout.names, layout.lanes, strict=True):
        if lane.word >= 0:
            part = f"shiftleft({_in_lane(f'c{indices[name]}', lane)}, {lane.shift})"
            words.setdefault(lane.word, []).append(part)
    packed = [f"{' | '.join(parts)} AS w{word}" for word, parts in sorted(words.items())]
    plain = [f"c{indices[name]} AS p{i}" for i, name in enumerate(layout.plain)]
    return frame.toDF(*(f"c{index}" for index in indices.values())).selectExpr(*packed, *plain)


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
    """Return some columns of packed batches, as they were."""
    table = pa.Table.from_batches(received)
    whole = {name: _whole(table.column(name)) for name in table.column_names}
    lanes = dict(zip(layout.names, layout.lanes, strict=True))
    plain = {name: f"p{index}" for index, name in enumerate(layout.plain)}
    arrays = {}
    escaped = []
    for name in columns:
        if name in plain:
            arrays[name] = whole[plain[name]]
            continue
        lane = lanes[name]
        values = _lane(whole[f"w{lane.word}"], lane)
        if (values == 1).any():
            escaped.append(name)
        arrays[name] = _numbers(values, lane)
    if escaped:
        raise Escaped(escaped)
    return pa.RecordBatch.from_pydict(arrays)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _lane(words: pa.Array, lane: Lane) -> NDArray[Any]:
    size = max(lane.width, 8)
    lanes = words.to_numpy(zero_copy_only=True).view(f"u{size // 8}").reshape(len(words), -1)
    values = np.ascontiguousarray(lanes[:, lane.shift // size])
    return values if lane.width == size else values >> (lane.shift % size) & 3


def _numbers(values: NDArray[Any], lane: Lane) -> pa.Array:
    absent = values == 0
    mask = absent if absent.any() else None
    if lane.truth:
        return pa.array(values == 3, mask=mask)
    half = values.dtype.type(1 << (lane.width - 1))
    return pa.array((values ^ half).view(f"i{lane.width // 8}"), mask=mask)


class Piece(NamedTuple):
    """Some row groups of one file."""

    file: str
    groups: tuple[int, ...]


class Shard(NamedTuple):
    """What one task reads, and the number of records of the table before it."""

    pieces: tuple[Piece, ...]
    first: int


def plan_shards(files: Sequence[Path], cores: int) -> list[Shard]:
    """Cut Parquet files into shards of about equally many records, at row groups.

    All files must have the same columns; one that has not raises an error with both schemas,
    and one that cannot be read with its name.
    """
    source = ColumnarSource(PARQUET, files)
    rows = source.rows_total or 0
    size = min(max(1, -(-rows // (cores * TASKS_A_CORE))), MAX_SHARD)
    shards: list[Shard] = []
    pieces: dict[int, Piece] = {}
    first = before = 0
    for number, file in enumerate(files):
        for group, records in enumerate(_records_of_groups(file)):
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
    """The records of one partition, as Spark hands them over; they can be read once only.

    Parameters
    ----------
    received
        Spark's batches, packed as `layout` says.
    names
        All columns of the DataFrame.
    layout
        Where the chosen ones are.
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
        """Return all batches, put together to blocks that are worth counting."""
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in self._received:
            held.append(batch)
            rows += batch.num_rows
            if rows >= BLOCK:
                yield unpack(held, self._layout, columns)
                held, rows = [], 0
        if held:
            yield unpack(held, self._layout, columns)


def files_of(frame: "DataFrame", columns: Sequence[str]) -> list[Path]:
    """Return the Parquet files that a DataFrame was read from, where it is nothing else.

    Parameters
    ----------
    frame
        The DataFrame.
    columns
        The columns that will be read.

    Returns
    -------
    list of Path
        The files, as the DataFrame lists them.  Empty where it is computed, filtered, renamed,
        cached or partitioned, where files differ in their columns, are not on a mounted file
        system, or hold types that Spark reads in a way of its own.
    """
    relation = _relation(frame)
    if relation is None:
        return []
    addresses = [urlsplit(name) for name in relation.location().inputFiles()]
    if not addresses or any(index.scheme != "file" or index.netloc for index in addresses):
        return []
    files = [Path(unquote(index.path)) for index in addresses]
    kinds = dict(frame.dtypes)
    return files if _alike(files, {name: kinds[name] for name in columns}) else []


def _relation(frame: "DataFrame") -> Any:
    """Return Spark's own object for a plain scan of Parquet files; None for all else."""
    classic = getattr(frame, "_jdf", None)
    if classic is None or frame.is_cached:
        return None
    plan = classic.queryExecution().analyzed()
    while plan.nodeName() in ("Project", "SubqueryAlias"):
        if plan.nodeName() == "Project" and not all(_is_plain(plan.projectList())):
            return None
        plan = plan.child()
    if plan.nodeName() != "LogicalRelation" or plan.isStreaming():
        return None
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return None
    parquet = relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
    return relation if parquet and relation.partitionSchema().isEmpty() else None


def _is_plain(projected: Any) -> Iterator[bool]:
    """Yield for each column of a projection whether it is one of the table, as it is."""
    for number in range(projected.size()):
        yield projected.apply(number).getClass().getSimpleName() == "AttributeReference"


def _alike(files: Sequence[Path], kinds: Mapping[str, str]) -> bool:
    """Say whether all files have the same columns, and some are of the types that Spark says."""
    try:
        names = ColumnarSource(PARQUET, files).names
    except TableError:
        return False
    schema = read_schema(files[0])
    return len(set(names)) == len(names) and all(
        name in names and schema.field(name).type == SAME_IN_BOTH.get(kind)
        for name, kind in kinds.items()
    )
