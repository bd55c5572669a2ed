"""Data frames of any library as sources of Arrow batches."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import narwhals as nw
import pyarrow as pa

from seepage._core.errors import TableError
from seepage.tables.sources import BATCH_ROWS, Source, check_holds_records


def open_frame(data: Any) -> Source:
    """Return the source of a frame; anything else raises a TableError."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        check_holds_records(data.schema, "the table")
    try:
        frame = nw.from_native(data)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        return _frame_source(frame)
    except TypeError:
        raise TableError(
            "data must be a pandas, Polars or PyArrow frame, or the path of a file, "
            f"folder or glob, got {type(data).__name__}",
            parameter="data",
        ) from None
    except Exception as reason:  # of any library: a lazy frame is computed only now
        what = " ".join(str(reason).split())
        raise TableError(f"the frame cannot be read: {what[:200]}") from None


def _frame_source(frame: "nw.DataFrame[Any]") -> Source:
    """Return the source of a frame; each column is converted to Arrow once, when first
    read.
    """
    names = tuple(str(name) for name in frame.columns)

    @cache
    def column(name: str) -> pa.ChunkedArray:
        """Return a column of a frame, converted to Arrow once."""
        try:
            return frame[:, [names.index(name)]].to_arrow().column(0)
        except Exception as reason:  # of any library
            what = " ".join(str(reason).split())
            raise TableError(
                f"column {name!r} must hold values of one type: {what}"
            ) from None

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a frame's columns."""
        arrays = {name: column(name) for name in columns}
        yield from pa.table(arrays).to_batches(max_chunksize=BATCH_ROWS)

    return Source(names, batches, len(frame), frame=frame)
