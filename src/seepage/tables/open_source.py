"""Any table as a source of batches: a frame, a file, a folder or a glob."""

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seepage._core.errors import TableError
from seepage.tables.frames import open_frame
from seepage.tables.sources import TEXT, Source, columnar_source, find_files
from seepage.tables.table_options import TableOptions


def open_source(data: Any, options: TableOptions) -> Source:
    """Open a frame, a path (file, folder, glob) or a list of paths as the source of a
    table; or return a source.
    """
    if isinstance(data, Source):
        return data
    if not isinstance(data, (str, os.PathLike, list, tuple)):
        return open_frame(data)
    kind, files = find_files(data)
    if kind == TEXT:
        from seepage.tables.delimited import text_source

        return text_source(files, options)
    return columnar_source(kind, files)


def first_records(
    source: Source, names: Sequence[str], most: int
) -> tuple[pa.Table, bool]:
    """Return the first records of an opened source, and whether these are all."""
    if source.frame is not None:
        source = open_frame(source.frame.head(most + 1).to_native())
    batches = list[pa.RecordBatch]()
    rows = 0
    for batch in source.batches(names):
        batches.append(batch)
        rows += batch.num_rows
        if rows > most:
            break
    if not rows:
        raise TableError("the table has no records")
    return pa.Table.from_batches(batches)[:most], rows <= most
