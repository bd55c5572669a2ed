"""Files of published datasets: their local paths, checksums and downloads."""

import gzip
import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seepage._files import whole_file
from seepage._results import Progress
from seepage.data.pairs import PairCounts
from seepage.errors import TableError

FOLDER_VARIABLE = "SEEPAGE_DATA"
"""Environment variable with the folder of the published files."""

TIMEOUT = 60
"""Timeout of a download, in seconds without a response."""


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

    def locate(self) -> Path | None:
        """Return the local path of the file, None if it is not there."""
        plain = download_folder() / self.path
        return next((p for p in (plain, plain.with_name(plain.name + ".gz")) if p.is_file()), None)

    def read(self) -> bytes:
        """Return the uncompressed content; a missing, damaged or altered file raises."""
        path = self.locate()
        if path is None:
            raise TableError(
                f"{self.path} is not at hand; set {FOLDER_VARIABLE} to the folder that has it"
            )
        try:
            content = path.read_bytes()
        except OSError as reason:
            raise TableError(f"{path} cannot be read: {reason.strerror}") from None
        if path.suffix == ".gz":
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error) as reason:
                raise TableError(
                    f"{path.name} is truncated, damaged or not a gzip file: {reason}"
                ) from None
        self.check(content, path.name)
        return content

    def check(self, content: bytes, name: str) -> None:
        """Raise a TableError if the checksum of the content is not that of the published file."""
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise TableError(
                f"{name} is not the published file: its sha256 must be {self.sha256}, got {digest}"
            )


def download_folder() -> Path:
    """Return the folder of the published files: `SEEPAGE_DATA`, or the user's cache folder."""
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
        Short name, and a description in one line.
    files
        The published files.
    reader
        Function that reads the files into a PyArrow table.
    licence, citation, address
        Terms of use, reference, and the owner's page.
    archive
        URL of a zip archive of the files; None if automatic download is not allowed or possible.
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
    def at_hand(self) -> bool:
        """Whether all files are in `download_folder()`."""
        return all(file.locate() is not None for file in self.files)

    def read(self) -> Any:
        """Return the records as a PyArrow table; a missing or altered file raises."""
        missing = [file.path for file in self.files if file.locate() is None]
        if missing:
            way = f"`seepage datasets fetch {self.name}`" if self.archive else self.by_hand
            raise TableError(
                f"dataset {self.name!r} is not at hand: there is no "
                f"{download_folder() / missing[0]}; {way}"
            )
        return self.reader()

    def pairs(self) -> PairCounts:
        """Return the pair counts of the dataset with its default columns and bins."""
        from seepage.data.inputs import count_pairs

        return count_pairs(self.read(), **self.table)


def fetch(dataset: Dataset, progress: Progress | None = None) -> list[Path]:
    """Download the missing files of a dataset to `download_folder()`; return the paths of all.

    A file is kept only if its checksum is that of the published file.  A dataset without an
    `archive` raises a TableError with the instructions `by_hand`.

    Parameters
    ----------
    dataset
        The dataset.
    progress
        Called with the number of bytes received and their total, None if unknown.
    """
    missing = [file for file in dataset.files if file.locate() is None]
    if missing:
        if dataset.archive is None:
            raise TableError(
                f"dataset {dataset.name!r} cannot be downloaded automatically "
                f"(licence: {dataset.licence}); {dataset.by_hand}; see {dataset.address}"
            )
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "archive.zip")
            _download(dataset, dataset.archive, archive, progress)
            for file in missing:
                _extract(archive, file)
    paths = [file.locate() for file in dataset.files]
    return [path for path in paths if path is not None]


class _ProgressBar:
    """Adapter of a progress callback to the progress bar that Pooch expects."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.total: int | None = None
        self.done = 0

    def update(self, received: int) -> None:
        """Add bytes received, and report the progress."""
        self.done += received
        self.progress(self.done, self.total)

    def reset(self) -> None:
        """Restart at 0; Pooch calls it before the final update."""
        self.done = 0

    def close(self) -> None:
        """Do nothing; required by Pooch."""


def _download(dataset: Dataset, address: str, archive: Path, progress: Progress | None) -> None:
    import pooch
    from requests.exceptions import RequestException

    bar = _ProgressBar(progress) if progress is not None else False
    download = pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT)
    try:
        download(address, archive, None)
    except (RequestException, OSError, ValueError) as problem:
        folder = (download_folder() / dataset.files[0].path).parent
        raise TableError(
            f"cannot download {address}: {_reason(problem)}; try again later, or take the files "
            f"from {dataset.address} and put them into {folder}"
        ) from None


def _reason(problem: Exception) -> str:
    """Return a short reason why a download failed, without the address."""
    from requests import exceptions

    if isinstance(problem, exceptions.Timeout):
        return f"no answer within {TIMEOUT} s"
    if isinstance(problem, exceptions.HTTPError) and problem.response is not None:
        return f"the server answers {problem.response.status_code}"
    if isinstance(problem, exceptions.ConnectionError):
        return "no connection"
    return " ".join(str(problem).split())


def _extract(archive: Path, file: PublishedFile) -> None:
    """Extract one file from a zip archive into `download_folder()`, its checksum verified."""
    name = Path(file.path).name
    try:
        with zipfile.ZipFile(archive) as members:
            member = next((m for m in members.namelist() if Path(m).name == name), None)
            if member is None:
                raise TableError(f"the downloaded archive does not contain {name}")
            content = members.read(member)
    except (zipfile.BadZipFile, zlib.error):
        raise TableError("the downloaded archive is truncated or not a zip file") from None
    file.check(content, name)
    final = download_folder() / file.path
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise TableError(f"cannot write {str(final)!r}: {reason.strerror}") from None
    with whole_file(final) as output:
        output.write(content)
