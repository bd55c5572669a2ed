"""Download of published files, with checksums."""

import io

from seepage._core import checks
from seepage._core.errors import TableError
from seepage._core.progress import Progress
from seepage.datasets.published_file import Dataset, download_folder

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


def download_file(
    dataset: Dataset, address: str, progress: Progress | None
) -> io.BytesIO:
    """Return the archive of a dataset."""
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
