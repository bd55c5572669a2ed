"""Frames in memory (pandas, Polars, PyArrow and what else Narwhals knows) as Arrow batches."""

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals.exceptions import NarwhalsError

from seepage.errors import TableError

__all__ = ["FrameSource", "open_frame"]

BATCH = 2**17
CONVERSION = (TypeError, ValueError, OverflowError)
"""What conversions to Arrow raise beside its own exceptions."""


def open_frame(data: Any) -> "FrameSource":
    """Return a frame as a source, or refuse what is none."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    try:
        frame = nw.from_native(data)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        return FrameSource(frame)
    except NarwhalsError as reason:
        what = " ".join(str(reason).split())
        raise TableError(f"the frame cannot be read: {what}") from None
    except TypeError:
        raise TableError(
            "a table must be a pandas, Polars or PyArrow frame, or the path of a file, folder or "
            f"glob, got {type(data).__name__}"
        ) from None


class FrameSource:
    """A frame; its columns are converted to Arrow once, when first needed.

    Parameters
    ----------
    frame
        A Narwhals data frame.
    """

    fields = False

    def __init__(self, frame: "nw.DataFrame[Any]") -> None:
        self._frame = frame
        self._columns: dict[str, pa.ChunkedArray] = {}
        self.names = tuple(str(name) for name in frame.columns)
        self.rows_total: int | None = len(frame)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, from the first record on."""
        arrays = {name: self._column(name) for name in columns}
        yield from pa.table(arrays).to_batches(max_chunksize=BATCH)

    def _column(self, name: str) -> pa.ChunkedArray:
        if name not in self._columns:
            try:
                array = self._frame[:, [self.names.index(name)]].to_arrow().column(0)
            except (pa.ArrowException, NarwhalsError, *CONVERSION) as reason:
                what = " ".join(str(reason).split())
                raise TableError(
                    f"column {name!r} does not hold one kind of values: {what}"
                ) from None
            self._columns[name] = array
        return self._columns[name]
