"""Download of published files, with checksums."""

import io
import zipfile
import zlib
from pathlib import Path

from seepage._core import checks
from seepage._core.errors import TableError
from seepage._core.files import whole_file
from seepage._core.progress import Progress
from seepage.datasets.published_file import Dataset, PublishedFile, download_folder

TIMEOUT = 60
"""Timeout of a download, in seconds without a response."""


class _ProgressBar:
    """Adapter of a progress callback to the progress bar that Pooch expects."""

    def __init__(self, progress: Progress) -> None:
        """Wrap a progress callback as the bar of a download."""
        self.progress = progress
        self.total: int | None = None
        self.done = 0

    def update(self, received: int) -> None:
        """Add bytes received of a download, and report the progress."""
        self.done += received
        self.progress(self.done, self.total)

    def reset(self) -> None:
        """Restart the progress of a download; Pooch calls it before the final
        update.
        """
        self.done = 0

    def close(self) -> None:
        """End the progress of a download: nothing, required by Pooch."""


def fetch(dataset: Dataset, progress: Progress | None = None) -> list[Path]:
    """Download the missing files of a dataset to `download_folder()`; return the paths
    of all.

    A file is kept only if its checksum is that of the published file.  A dataset
    without an `archive` raises a TableError with the instructions `by_hand`.

    Parameters
    ----------
    dataset
        The dataset.
    progress
        Called with the number of bytes received and their total, None if unknown.
    """
    missing = dataset.missing
    if missing:
        if dataset.archive is None:
            raise TableError(
                f"dataset {dataset.name!r} cannot be downloaded automatically "
                f"(licence: {dataset.licence}); {dataset.by_hand}; see "
                f"{dataset.address}"
            )
        archive = download_file(dataset, dataset.archive, progress)
        for file in missing:
            _extract(archive, file)
    return [file.locate() for file in dataset.files]


def _extract(archive: io.BytesIO, file: PublishedFile) -> None:
    """Extract one file of a downloaded zip archive into `download_folder()`, its
    checksum verified.
    """
    name = Path(file.path).name
    try:
        with zipfile.ZipFile(archive) as members:
            member = next((m for m in members.namelist() if Path(m).name == name), None)
            if member is None:
                raise TableError(f"the downloaded archive does not contain {name}")
            content = members.read(member)
    except (zipfile.BadZipFile, zlib.error):
        raise TableError(
            "the downloaded archive is truncated or not a zip file"
        ) from None
    file.check(content, name)
    final = download_folder() / file.path
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise TableError(f"cannot write {str(final)!r}: {reason.strerror}") from None
    with whole_file(final) as output:
        output.write(content)


def download_file(
    dataset: Dataset, address: str, progress: Progress | None
) -> io.BytesIO:
    """Return the downloaded archive of a dataset."""
    checks.need("pooch", "pooch", "a download")
    import pooch
    from requests.exceptions import RequestException

    bar = _ProgressBar(progress) if progress is not None else False
    archive = io.BytesIO()
    try:
        pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT)(address, archive, None)
    except (RequestException, OSError, ValueError) as problem:
        folder = (download_folder() / dataset.files[0].path).parent
        raise TableError(
            f"cannot download {address}: {_reason(problem)}; try again later, or take "
            f"the files from {dataset.address} and put them into {folder}"
        ) from None
    return archive


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
