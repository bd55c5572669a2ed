"""The published files of the datasets: where they are, and whether they are what they claim."""

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from seepage.errors import TableError

__all__ = ["FOLDER_VARIABLE", "PublishedFile", "download_folder"]

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
