"""The files that a database has open, and whether they are still those in the
folder.
"""

import os
from pathlib import Path
from typing import NamedTuple

from seepage._core.errors import InputError

DATABASE_HEADER = b"SQLite format 3\x00"
"""The first bytes of every SQLite database."""


BESIDE = ("", "-wal", "-shm")
"""Endings of the names of the database, its write-ahead log and its shared memory."""


class FileIdentity(NamedTuple):
    """The file behind a name: where it is stored; a name can be given to another
    file.
    """

    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "FileIdentity":
        """Return the identity of a database's file from its status."""
        return cls(status.st_dev, status.st_ino)


def create_private(path: Path) -> FileIdentity:
    """Create the file of a database to be opened with mode 0600 unless it is there;
    return its identity.

    A file that is there must be empty or a database; it is left as it is.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise InputError(f"cannot write {str(path)!r}: {problem.strerror}") from None
    try:
        start = os.read(descriptor, len(DATABASE_HEADER))
        if start not in (b"", DATABASE_HEADER):
            raise InputError(
                "path must be a new file or one that was collected with this plan, "
                f"{str(path)!r} is not",
                parameter="path",
            )
        os.fsync(descriptor)
        identity = FileIdentity.of(os.fstat(descriptor))
    finally:
        os.close(descriptor)
    _sync_folder(path.parent)
    return identity


def _sync_folder(folder: Path) -> None:
    """Synchronise the names of a database's files in a folder, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class OpenedFiles:
    """The database, log and shared memory that SQLite has opened.

    Parameters
    ----------
    path
        The database, open within a connection that has written.
    created
        The identity of the database's file before it was opened.
    """

    def __init__(self, path: Path, created: FileIdentity) -> None:
        """Note the identities of a database's opened files, to check their names
        later.
        """
        self._paths = tuple(path.with_name(path.name + ending) for ending in BESIDE)
        statuses = [file.stat() for file in self._paths]
        self._identities = [FileIdentity.of(status) for status in statuses]
        self._sizes = [status.st_size for status in statuses]
        if self._identities[0] != created:
            raise OSError(f"{path.name} was replaced while it was opened")

    def check(self) -> None:
        """Raise an OSError unless each name still leads to the database's opened file.

        A file that is smaller than before was truncated by somebody else: SQLite
        shrinks neither file while it is open in this way.
        """
        for index, path in enumerate(self._paths):
            try:
                status = os.stat(path)  # noqa: PTH116 - twice as fast
            except OSError as problem:
                raise OSError(f"{path.name} is gone: {problem.strerror}") from None
            if FileIdentity.of(status) != self._identities[index]:
                raise OSError(f"{path.name} was replaced by another file")
            if status.st_size < self._sizes[index]:
                raise OSError(f"{path.name} was truncated")
            self._sizes[index] = status.st_size


class FileLock:
    """A lock file that one process holds at a time; it is removed at the end.

    A lock of its own: SQLite's belong to transactions, and a receiver has pauses.
    """

    def __init__(self, path: Path) -> None:
        """Open and lock the file beside an opened database."""
        self._path = path
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise InputError(
                f"cannot write {str(path)!r}: {problem.strerror}"
            ) from None
        try:
            self._take(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor: int | None = descriptor

    def _take(self, descriptor: int) -> None:
        """Lock the opened file beside a database; one that another process has locked
        raises an InputError.
        """
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            named = FileIdentity.of(self._path.stat())
        except OSError:
            named = None  # locked by another process, or removed by it
        if named != FileIdentity.of(os.fstat(descriptor)):
            database = str(self._path).removesuffix("-lock")
            raise InputError(
                f"{database!r} is in use: another receiver collects into it"
            )

    def close(self) -> None:
        """Remove the locked file and release the lock; a second call does nothing."""
        if self._descriptor is None:
            return
        if os.name != "nt":
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None
