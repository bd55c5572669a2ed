"""The published files of the datasets: where they are, and whether they are what they claim.

The datasets that `seepage` knows: what they are, where they come from, how they are read.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seepage import _checks
from seepage.data.pairs import PairCounts
from seepage.errors import TableError

__all__ = ["DATASETS", "FOLDER_VARIABLE", "Dataset", "PublishedFile", "dataset", "download_folder"]

FOLDER_VARIABLE = "SEEPAGE_DATA"
"""The environment variable that names the folder with the published files."""


@dataclass(frozen=True)
class PublishedFile:
    """A file as its owner published it, plain or gzipped, in the folder of `download_folder`.

    Parameters
    ----------
    path
        Its place below that folder, without `.gz`.
    sha256
        The checksum of the uncompressed content.
    """

    path: str
    sha256: str

    def locate(self) -> Path | None:
        """Return where the file is at hand, or None."""
        plain = download_folder() / self.path
        return next((p for p in (plain, plain.with_name(plain.name + ".gz")) if p.is_file()), None)

    def read(self) -> bytes:
        """Return the uncompressed content; a missing, truncated or altered file is refused."""
        place = self.locate()
        if place is None:
            raise TableError(
                f"{self.path} is not at hand; set {FOLDER_VARIABLE} to the folder that has it"
            )
        try:
            content = place.read_bytes()
        except OSError as reason:
            raise TableError(f"{place} cannot be read: {reason.strerror}") from None
        if place.suffix == ".gz":
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error) as reason:
                raise TableError(
                    f"{place.name} is truncated, damaged or no gzip file: {reason}"
                ) from None
        self.check(content, place.name)
        return content

    def check(self, content: bytes, name: str) -> None:
        """Refuse content that is not the published one."""
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise TableError(
                f"{name} is not the published file: its sha256 must be {self.sha256}, got {found}"
            )


def download_folder() -> Path:
    """Return the folder of the published files: `SEEPAGE_DATA`, else the user's cache."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seepage"


@dataclass(frozen=True)
class Dataset:
    """A published dataset.

    Parameters
    ----------
    name, title
        The short name, and one line on what it holds.
    files
        The published files.
    reader
        Reads them into a PyArrow table.
    licence, citation, address
        Under which terms, whom to cite, and the owner's page.
    archive
        Where the files may be downloaded from by a program; None where that is not allowed or
        not possible, and `by_hand` says what to do.
    by_hand
        How to obtain the files where they cannot be fetched.
    table
        How the columns become attributes: options of `count_pairs` (bins, columns).
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
    def at_hand(self) -> bool:
        """Whether every file is there to be read."""
        return all(file.locate() is not None for file in self.files)

    def read(self) -> Any:
        """Return the records as a PyArrow table; a missing or altered file is refused."""
        missing = [file.path for file in self.files if file.locate() is None]
        if missing:
            way = f"`seepage datasets fetch {self.name}`" if self.archive else self.by_hand
            raise TableError(
                f"dataset {self.name!r} is not at hand: there is no "
                f"{download_folder() / missing[0]}; {way}"
            )
        return self.reader()

    def pairs(self) -> PairCounts:
        """Return the pair counts of the dataset with its documented columns and bins."""
        from seepage.data.counting import count_pairs

        return count_pairs(self.read(), **self.table)


DATASETS: dict[str, Dataset] = {}


def add(found: Dataset) -> Dataset:
    """Add a dataset under its name, which is taken only once."""
    if DATASETS.setdefault(found.name, found) is not found:
        raise TableError(f"a dataset named {found.name!r} is known already")
    return found


def dataset(name: str) -> Dataset:
    """Return a dataset by name.

    Examples
    --------
    >>> from seepage.data.datasets import dataset
    >>> dataset("celeba").licence
    'non-commercial research only; no redistribution'
    """
    return DATASETS[_checks.choice(name, "dataset", DATASETS)]
