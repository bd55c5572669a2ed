"""The files that records were counted from, so that none is counted twice."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seepage._core.errors import DomainError

DIGESTED_BYTES = 1 << 16
"""Number of bytes at the start and at the end of a file that its digest is of."""


@dataclass(frozen=True)
class SourceFile:
    """A file of records as it was when they were counted.

    Two counts of the same file are equal here; files of the same content under another
    name or of another time are not: two shards may well be alike.

    Parameters
    ----------
    name
        The file's own name, without its folder.
    size
        Its size in bytes.
    modified
        The time of its last change, in nanoseconds.
    digest
        SHA-256 of its first and last 64 KB, the first 32 hexadecimal digits.
    """

    name: str
    size: int
    modified: int
    digest: str

    @classmethod
    def of(cls, path: Path) -> "SourceFile":
        """Return a file that records are counted from, as it is now; links are
        followed.
        """
        file = path.resolve()
        status = file.stat()
        content = hashlib.sha256()
        with file.open("rb") as stream:
            content.update(stream.read(DIGESTED_BYTES))
            stream.seek(max(0, status.st_size - DIGESTED_BYTES))
            content.update(stream.read(DIGESTED_BYTES))
        return cls(
            name=file.name,
            size=status.st_size,
            modified=status.st_mtime_ns,
            digest=content.hexdigest()[:32],
        )


def joined_sources(parts: Iterable[Sequence[SourceFile]]) -> tuple[SourceFile, ...]:
    """Return the source files of several counts; one that occurs twice raises a
    DomainError.

    Examples
    --------
    >>> monday = SourceFile("monday.csv", 900, 1, "ab")
    >>> tuesday = SourceFile("tuesday.csv", 900, 2, "ab")
    >>> len(joined_sources([[monday], [tuesday]]))
    2
    >>> joined_sources([[monday, tuesday], [monday]])
    Traceback (most recent call last):
    seepage.DomainError: counts to be merged have the file 'monday.csv' in common; \
its records would count twice
    """
    files = dict[SourceFile, None]()
    for part in parts:
        for file in part:
            if file in files:
                raise DomainError(
                    f"counts to be merged have the file {file.name!r} in common; its "
                    "records would count twice"
                )
        files.update(dict.fromkeys(part))
    return tuple(files)
