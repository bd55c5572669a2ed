"""The table that the app is started with: a path, a dataset or a frame."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seepage._core import checks
from seepage._core.errors import InputError
from seepage.app.study import DataSource
from seepage.datasets.catalogue import dataset
from seepage.tables.frames import open_frame
from seepage.tables.read import is_dataset_name

FRAME_FILE = "table.parquet"
"""The name under which a frame is kept."""

CHUNK_BYTES = 1 << 20
"""Bytes of a file that are read at once."""


def opened_source(data: Any, folder: Path) -> DataSource:
    """Return the data that the app is opened with as its first table; a frame is kept
    in its private folder.
    """
    if not isinstance(data, (str, os.PathLike)):
        return _frame_source(data, folder)
    path = checks.input_path(data, "data")
    if path.exists():
        whole = path.resolve()
        return DataSource(path.name, str(data), str(whole), digest_of(whole))
    if is_dataset_name(data):
        name = dataset(str(data)).name
        return DataSource(name, name, name, f"dataset-{name}")
    raise InputError(f"there is no file {str(data)!r}", parameter="data")


def _frame_source(data: Any, folder: Path) -> DataSource:
    """Return a frame as the first table of the app."""
    source = open_frame(data)
    table = pa.Table.from_batches(list(source.batches(list(source.names))))
    path = folder / FRAME_FILE
    pq.write_table(table, path)
    return DataSource("the frame", FRAME_FILE, str(path), digest_of(path))


def digest_of(path: Path) -> str:
    r"""Return the SHA-256 of the first table: of a file's bytes, or of those of all
    files in a folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.csv").write_text("sex\n")
    ...     digest_of(Path(folder)) == digest_of(Path(folder) / "a.csv")
    True
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                digest.update(chunk)
    return digest.hexdigest()
