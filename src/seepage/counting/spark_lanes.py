"""Columns of a Spark DataFrame packed into 64-bit words, so that their transfer is cheap.

Whole numbers and truth values travel in *lanes* of 8 or 16 bits, several to a bigint; Spark
computes the words, and NumPy takes them apart again without a copy of more than one lane.  In a
lane of b bits, 0 is a null, 1 a number that does not fit (it *escapes*), and v >= 2 is the number
v - 2^(b-1).  Columns of other types travel as they are.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Escaped", "Lane", "Layout", "pack", "plan_lanes", "unpack"]

WORD = 64
WIDTHS = {"boolean": 8, "byte": 8, "short": 16, "integer": 16, "long": 16}
"""The bits of a lane for each type of Spark that has lanes."""


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


class Layout(NamedTuple):
    """The lane of each column of a packed DataFrame."""

    names: tuple[str, ...]
    lanes: tuple[Lane, ...]

    @property
    def plain(self) -> list[str]:
        """The columns that travel as they are."""
        return [name for name, lane in zip(self.names, self.lanes, strict=True) if lane.word < 0]


def plan_lanes(frame: "DataFrame", columns: Sequence[str], plain: Sequence[str] = ()) -> Layout:
    """Return where each column goes; those in `plain` travel as they are."""
    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    lanes: dict[str, Lane] = {}
    word = 0
    for width in (8, 16):
        chosen = [name for name in columns if WIDTHS.get(kinds[name]) == width]
        chosen = [name for name in chosen if name not in plain]
        for number, name in enumerate(chosen):
            place, lane = divmod(number, WORD // width)
            lanes[name] = Lane(word + place, lane * width, width, kinds[name] == "boolean")
        word += -(-len(chosen) * width // WORD)
    return Layout(tuple(columns), tuple(lanes.get(name, Lane(-1)) for name in columns))


def pack(frame: "DataFrame", layout: Layout) -> "DataFrame":
    """Return the DataFrame of words `w0`, `w1`, ... and then `p0`, `p1`, ..., the plain columns."""
    from pyspark.sql import functions as F  # noqa: N812

    words: dict[int, Column] = {}
    for name, lane in zip(layout.names, layout.lanes, strict=True):
        if lane.word >= 0:
            part = F.shiftleft(_in_lane(_column(frame, name), lane), lane.shift)
            known = words.get(lane.word)
            words[lane.word] = part if known is None else known.bitwiseOR(part)
    packed = [column.alias(f"w{word}") for word, column in sorted(words.items())]
    plain = [_column(frame, name).alias(f"p{i}") for i, name in enumerate(layout.plain)]
    return frame.select(*packed, *plain)


def _column(frame: "DataFrame", name: str) -> "Column":
    return frame["`" + name.replace("`", "``") + "`"]


def _in_lane(column: "Column", lane: Lane) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    half = 1 << (lane.width - 1)
    number = column.cast("bigint")
    fits = number.between(2 - half, half - 1)
    return F.when(number.isNull(), 0).when(fits, number + half).otherwise(1).cast("bigint")


def unpack(
    received: Sequence[pa.RecordBatch], layout: Layout, columns: Sequence[str]
) -> pa.RecordBatch:
    """Return some columns of packed batches, as they were."""
    table = pa.Table.from_batches(received)
    arrays = {}
    escaped = []
    for name in columns:
        lane = layout.lanes[layout.names.index(name)]
        if lane.word < 0:
            arrays[name] = _whole(table.column(f"p{layout.plain.index(name)}"))
            continue
        values = _lane(_whole(table.column(f"w{lane.word}")), lane)
        if (values == 1).any():
            escaped.append(name)
        arrays[name] = _numbers(values, lane)
    if escaped:
        raise Escaped(escaped)
    return pa.RecordBatch.from_pydict(arrays)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _lane(words: pa.Array, lane: Lane) -> NDArray[Any]:
    kind = np.dtype(f"u{lane.width // 8}")
    lanes = words.to_numpy(zero_copy_only=True).view(kind).reshape(len(words), -1)
    return np.ascontiguousarray(lanes[:, lane.shift // lane.width])


def _numbers(values: NDArray[Any], lane: Lane) -> pa.Array:
    half = values.dtype.type(1 << (lane.width - 1))
    numbers = values - half if lane.truth else (values ^ half).view(f"i{lane.width // 8}")
    absent = values == 0
    mask = absent if absent.any() else None
    return pa.array(numbers.astype(np.bool_) if lane.truth else numbers, mask=mask)
