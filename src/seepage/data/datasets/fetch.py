"""Downloading published files where their owners allow it, checked before they are kept."""

import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from seepage._files import whole_file
from seepage.data.datasets.catalogue import Dataset, PublishedFile, download_folder
from seepage.errors import TableError

__all__ = ["fetch"]

TIMEOUT = 60

Progress = Callable[[int, int | None], None]


def fetch(found: Dataset, progress: Progress | None = None) -> list[Path]:
    """Download a dataset's files into `SEEPAGE_DATA`, or into the user's cache, and return them.

    A file is kept only if its checksum is that of the published one; files that are there already
    are left alone.  A dataset that must be fetched by hand is refused with what to do.

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
    places = [file.locate() for file in found.files]
    return [place for place in places if place is not None]


class _Meter:
    """What Pooch asks of a progress bar, handed on to a callable."""

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
