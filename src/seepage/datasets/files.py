"""The published files of the datasets: where they are, and whether they are what they claim."""

import gzip
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from seepage.errors import TableError

__all__ = ["FOLDER_VARIABLE", "PublishedFile"]

FOLDER_VARIABLE = "SEEPAGE_DATA"
"""The environment variable that names the folder with the published files."""


@dataclass(frozen=True)
class PublishedFile:
    """A file as its owner published it, plain or gzipped, under the folder `SEEPAGE_DATA`.

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
        folder = os.environ.get(FOLDER_VARIABLE)
        if not folder:
            return None
        plain = Path(folder, self.path)
        return next((p for p in (plain, plain.with_name(plain.name + ".gz")) if p.is_file()), None)

    def read(self) -> bytes:
        """Return the uncompressed content; a missing, truncated or altered file is refused."""
        place = self.locate()
        if place is None:
            raise TableError(
                f"{self.path} is not at hand; set {FOLDER_VARIABLE} to the folder that has it"
            )
        content = place.read_bytes()
        if place.suffix == ".gz":
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError) as reason:
                raise TableError(f"{place.name} is truncated or no gzip file: {reason}") from None
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise TableError(
                f"{place.name} is not the published file: its sha256 must be {self.sha256}, "
                f"got {found}"
            )
        return content
