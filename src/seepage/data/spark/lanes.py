"""Columns of a Spark DataFrame packed into 64-bit words, so that their transfer is cheap.

Whole numbers and truth values travel in *lanes* of 2, 8 or 16 bits, several to a bigint; Spark
computes the words, and NumPy takes them apart again without a copy of more than one lane.  In a
lane of b bits, 0 is a null, 1 a number that does not fit (it *escapes*), and v >= 2 is the number
v - 2^(b-1); 2 is false, and 3 true.  Columns of other types travel as they are.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Escaped", "Lane", "Layout", "pack", "plan_lanes", "unpack"]

WORD = 64
WIDTHS = {"boolean": 2, "byte": 8, "short": 16, "integer": 16, "long": 16}
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
    for width in (2, 8, 16):
        chosen = [name for name in columns if WIDTHS.get(kinds[name]) == width]
        chosen = [name for name in chosen if name not in plain]
        for number, name in enumerate(chosen):
            place, lane = divmod(number, WORD // width)
            lanes[name] = Lane(word + place, lane * width, width, kinds[name] == "boolean")
        word += -(-len(chosen) * width // WORD)
    return Layout(tuple(columns), tuple(lanes.get(name, Lane(-1)) for name in columns))


def pack(frame: "DataFrame", layout: Layout) -> "DataFrame":
    """Return the DataFrame of words `w0`, `w1`, ... and then `p0`, `p1`, ..., the plain columns.

    Columns go by their place, since Spark does not tell `A` from `a`; and as SQL, which is one
    message to Java where expressions are several a column.
    """
    places = {name: place for place, name in enumerate(frame.columns)}
    words: dict[int, list[str]] = {}
    for name, lane in zip(layout.names, layout.lanes, strict=True):
        if lane.word >= 0:
            part = f"shiftleft({_in_lane(f'c{places[name]}', lane)}, {lane.shift})"
            words.setdefault(lane.word, []).append(part)
    packed = [f"{' | '.join(parts)} AS w{word}" for word, parts in sorted(words.items())]
    plain = [f"c{places[name]} AS p{i}" for i, name in enumerate(layout.plain)]
    return frame.toDF(*(f"c{place}" for place in places.values())).selectExpr(*packed, *plain)


def _in_lane(column: str, lane: Lane) -> str:
    half = 1 << (lane.width - 1)
    if lane.truth:
        return f"coalesce(CAST({column} AS BIGINT) + {half}, 0)"
    return (
        f"CASE WHEN {column} BETWEEN {2 - half} AND {half - 1} THEN CAST({column} AS BIGINT) + "
        f"{half} WHEN {column} IS NULL THEN 0 ELSE 1 END"
    )


def unpack(
    received: Sequence[pa.RecordBatch], layout: Layout, columns: Sequence[str]
) -> pa.RecordBatch:
    """Return some columns of packed batches, as they were."""
    table = pa.Table.from_batches(received)
    whole = {name: _whole(table.column(name)) for name in table.column_names}
    lanes = dict(zip(layout.names, layout.lanes, strict=True))
    plain = {name: f"p{place}" for place, name in enumerate(layout.plain)}
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
