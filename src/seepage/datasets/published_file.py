"""`Dataset` and its published files, with their checksums."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seepage._core.errors import TableError
from seepage.channel.pairs import PairCounts

FOLDER_VARIABLE = "SEEPAGE_DATA"
"""Environment variable with the folder of the published files."""


@dataclass(frozen=True)
class PublishedFile:
    """A file as published by its owner, plain or gzipped, in `download_folder()`.

    Parameters
    ----------
    path
        Its path relative to that folder, without `.gz`.
    sha256
        The checksum of the uncompressed content.
    """

    path: str
    sha256: str

    def locate(self) -> Path:
        """Return the local path of a published file, plain or gzipped; that of a plain
        one if missing.
        """
        plain, packed = (download_folder() / (self.path + end) for end in ("", ".gz"))
        return packed if packed.is_file() and not plain.is_file() else plain

    def read(self) -> bytes:
        """Return the uncompressed content of a published file; a missing, damaged or
        altered file raises.
        """
        path = self.locate()
        try:
            content = path.read_bytes()
            if path.suffix == ".gz":
                content = gzip.decompress(content)
        except (gzip.BadGzipFile, EOFError, zlib.error) as reason:
            what = "is truncated, damaged or not a gzip file"
            raise TableError(f"{path.name} {what}: {reason}") from None
        except OSError as reason:
            raise TableError(f"{path} cannot be read: {reason.strerror}") from None
        self.check(content, path.name)
        return content

    def check(self, content: bytes, name: str) -> None:
        """Raise a TableError if the checksum of content is not that of the published
        file.
        """
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise TableError(
                f"{name} is not the published file: its sha256 must be {self.sha256}, "
                f"got {digest}"
            )


def download_folder() -> Path:
    """Return the folder of the published files: `SEEPAGE_DATA`, or the user's cache
    folder.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(FOLDER_VARIABLE) or cache / "seepage")


@dataclass(frozen=True)
class Dataset:
    """A published dataset.

    Parameters
    ----------
    name, title
        Short name, and a description in one line.
    files
        The published files.
    reader
        Function that reads the files into a PyArrow table.
    licence, citation, address
        Terms of use, reference, and the owner's page.
    archive
        URL of a zip archive of the files; None if automatic download is not allowed or
        possible.
    by_hand
        Instructions to obtain the files if `archive` is None.
    table
        Default table options of `count_pairs`: columns, bins.
    """

    name: str
    title: str
    files: tuple[PublishedFile, ...]
    reader: Callable[[], Any]
    licence: str
    citation: str
    address: str
    archive: str | None = None
    by_hand: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)

    @property
    def missing(self) -> list[PublishedFile]:
        """The published files of a dataset that are not in `download_folder()`."""
        return [file for file in self.files if not file.locate().is_file()]

    @property
    def at_hand(self) -> bool:
        """Whether all published files of a dataset are in `download_folder()`."""
        return not self.missing

    def read(self) -> Any:
        """Return the records of a dataset's published files as a table; a missing or
        altered file raises.
        """
        if self.missing:
            way = (
                f"`seepage datasets fetch {self.name}`"
                if self.archive
                else self.by_hand
            )
            raise TableError(
                f"dataset {self.name!r} is not at hand: there is no "
                f"{self.missing[0].locate()}; {way}"
            )
        return self.reader()

    def pairs(self) -> PairCounts:
        """Return the pair counts of a dataset's published files with its default
        columns and bins.
        """
        from seepage.tables.read import count_pairs

        return count_pairs(self.read(), **self.table)
