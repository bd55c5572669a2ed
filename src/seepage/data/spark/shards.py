"""What one task of Spark reads: row groups of Parquet files, or a partition of a DataFrame.

Everything here but `plan_shards` runs on executors, and needs nothing there but this package.

A Spark DataFrame that is nothing but Parquet files: executors can read those themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow.fs import LocalFileSystem
from pyarrow.parquet import ParquetFile, read_schema

from seepage.data.spark.lanes import Layout, unpack
from seepage.data.table.paths import PARQUET
from seepage.data.table.sources import BATCH, ColumnarSource
from seepage.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["BLOCK", "FrameSource", "Piece", "RowGroupSource", "Shard", "files_of", "plan_shards"]

BLOCK = 2**17
"""Rows of a DataFrame that are coded and counted at once; Spark's own batches are smaller."""

LARGEST_SHARD = 2**26
"""Records of the largest task, unless one row group has more: about ten seconds of one core."""

TASKS_A_CORE = 3
"""Tasks for each core, so that cores that finish early find more to do."""


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

    All files must have the same columns; one that has not is refused with both schemas, and one
    that cannot be read by its name.
    """
    source = ColumnarSource(PARQUET, files)
    rows = source.rows_total or 0
    size = min(max(1, -(-rows // (cores * TASKS_A_CORE))), LARGEST_SHARD)
    shards: list[Shard] = []
    pieces: list[Piece] = []
    first = before = 0
    for file in files:
        groups: list[int] = []
        for group, records in enumerate(_records_of_groups(file)):
            if before > first and before - first + records / 2 > size:
                pieces += [Piece(str(file.absolute()), tuple(groups))] if groups else []
                shards.append(Shard(tuple(pieces), first))
                pieces, groups, first = [], [], before
            groups.append(group)
            before += records
        pieces += [Piece(str(file.absolute()), tuple(groups))] if groups else []
    return [*shards, Shard(tuple(pieces), first)] if pieces else shards


def _records_of_groups(file: Path) -> list[int]:
    with ParquetFile(file) as parquet:
        metadata = parquet.metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


class RowGroupSource(ColumnarSource):
    """Some columns of one shard of Parquet files; see `seepage.data.table.sources.Source`."""

    def __init__(self, shard: Shard, names: Sequence[str]) -> None:
        super().__init__(PARQUET, [Path(piece.file) for piece in shard.pieces])
        self.names = tuple(names)
        self._pieces = shard.pieces

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, from the shard's first record on."""
        for piece in self._pieces:
            with self._naming(Path(piece.file)):
                fragment = self._format.make_fragment(
                    piece.file, filesystem=LocalFileSystem(), row_groups=list(piece.groups)
                )
                yield from fragment.to_batches(columns=list(columns), batch_size=BATCH)


class FrameSource:
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
        self, received: Iterator[pa.RecordBatch], names: Sequence[str], layout: Layout
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
    if not addresses or any(place.scheme != "file" or place.netloc for place in addresses):
        return []
    files = [Path(unquote(place.path)) for place in addresses]
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
