"""Any frame, file, folder or glob as a source of Arrow batches that can be read again."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from seepage.table.options import TableOptions
from seepage.table.paths import TEXT, find_files

__all__ = ["Source", "open_source"]


class Source(Protocol):
    """A table that can be read as often as needed, one batch at a time.

    Attributes
    ----------
    names
        The columns.
    fields
        Whether the columns are fields of text files, whose type is not known.
    """

    names: tuple[str, ...]
    fields: bool

    @property
    def rows_total(self) -> int | None:
        """The number of records, None where only reading tells."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the batches of these columns, from the first record on."""


def open_source(data: Any, options: TableOptions) -> Source:
    """Return the source for a frame, a path (file, folder, glob) or a list of paths."""
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        from seepage.table.frames import open_frame

        return open_frame(data)
    kind, files = find_files(data)
    if kind == TEXT:
        from seepage.table.delimited import TextSource

        return TextSource(files, options)
    from seepage.table.columnar import ColumnarSource

    return ColumnarSource(kind, files)
