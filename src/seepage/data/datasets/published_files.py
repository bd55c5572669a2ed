"""Published datasets as files: where they are, their checksums, and downloading them."""

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
"""The environment variable that names the folder with the published files."""

TIMEOUT = 60
"""Seconds without an answer after which a download fails."""


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
        """Return the uncompressed content; a missing, truncated or altered file raises."""
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
                    f"{path.name} is truncated, damaged or no gzip file: {reason}"
                ) from None
        self.check(content, path.name)
        return content

    def check(self, content: bytes, name: str) -> None:
        """Raise a TableError if content is not the published one."""
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
        """Return the pair counts of the dataset with its documented columns and bins."""
        from seepage.data.inputs import count_pairs

        return count_pairs(self.read(), **self.table)


def fetch(found: Dataset, progress: Progress | None = None) -> list[Path]:
    """Download a dataset's files into `SEEPAGE_DATA`, or into the user's cache, and return them.

    A file is kept only if its checksum is that of the published one; files that are there already
    are left alone.  A dataset that must be fetched by hand raises, with what to do.

    Parameters
    ----------
    found
        The dataset.
    progress
        Called with the bytes received so far and their total, where the server tells it.
    """
    missing = [file for file in found.files if file.locate() is None]
    if missing:
        if found.archive is None:
            raise TableError(
                f"dataset {found.name!r} cannot be downloaded by a program "
                f"(licence: {found.licence}); {found.by_hand}; see {found.address}"
            )
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "archive.zip")
            _download(found, found.archive, archive, progress)
            for file in missing:
                _keep(archive, file)
    paths = [file.locate() for file in found.files]
    return [path for path in paths if path is not None]


class _Meter:
    """The progress bar that Pooch expects, calling a function."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.total: int | None = None
        self.done = 0

    def update(self, received: int) -> None:
        """Take note of so many more bytes."""
        self.done += received
        self.progress(self.done, self.total)

    def reset(self) -> None:
        """Begin again; Pooch calls it before it fills the bar for good."""
        self.done = 0

    def close(self) -> None:
        """End; there is nothing to close."""


def _download(found: Dataset, address: str, archive: Path, progress: Progress | None) -> None:
    import pooch
    from requests.exceptions import RequestException

    meter = _Meter(progress) if progress is not None else False
    download = pooch.HTTPDownloader(progressbar=meter, timeout=TIMEOUT)
    try:
        download(address, archive, None)
    except (RequestException, OSError, ValueError) as problem:
        folder = (download_folder() / found.files[0].path).parent
        raise TableError(
            f"cannot download {address}: {_reason(problem)}; try again later, or take the files "
            f"from {found.address} and put them into {folder}"
        ) from None


def _reason(problem: Exception) -> str:
    """Return in few words why a download failed; the long ones repeat the address."""
    from requests import exceptions

    if isinstance(problem, exceptions.Timeout):
        return f"no answer within {TIMEOUT} s"
    if isinstance(problem, exceptions.HTTPError) and problem.response is not None:
        return f"the server answers {problem.response.status_code}"
    if isinstance(problem, exceptions.ConnectionError):
        return "no connection"
    return " ".join(str(problem).split())


def _keep(archive: Path, file: PublishedFile) -> None:
    """Take one file out of an archive, check it, and put it in its place."""
    name = Path(file.path).name
    try:
        with zipfile.ZipFile(archive) as members:
            inside = next((m for m in members.namelist() if Path(m).name == name), None)
            if inside is None:
                raise TableError(f"the downloaded archive does not hold {name}")
            content = members.read(inside)
    except (zipfile.BadZipFile, zlib.error):
        raise TableError("the downloaded archive is truncated or no zip file") from None
    file.check(content, name)
    final = download_folder() / file.path
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise TableError(f"cannot write {str(final)!r}: {reason.strerror}") from None
    with whole_file(final) as kept:
        kept.write(content)
