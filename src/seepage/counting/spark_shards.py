"""What one task of Spark reads: row groups of Parquet files, or a partition of a DataFrame.

Everything here but `plan_shards` runs on executors, and needs nothing there but this package.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow.fs import LocalFileSystem
from pyarrow.parquet import ParquetFile

from seepage.counting.spark_lanes import Layout, unpack
from seepage.table.columnar import BATCH, ColumnarSource
from seepage.table.paths import PARQUET

__all__ = ["BLOCK", "FrameSource", "Piece", "RowGroupSource", "Shard", "plan_shards"]

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
    """Some columns of one shard of Parquet files; see `seepage.table.reading.Source`."""

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
