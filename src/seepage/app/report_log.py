"""A durable log of the report lines that clients send."""

import os
import threading
from pathlib import Path

import msgspec

from seepage._core.errors import InputError
from seepage._core.files import writable
from seepage.collection.report_lines import (
    MALFORMED,
    LineChecker,
    LineError,
    read_lines,
)
from seepage.plan.content import PlanContent


class ReportLog:
    """A file of report lines that are on disk before `append` returns.

    Parameters
    ----------
    plan
        The plan of the reports.
    path
        The file, created with mode 0600; one that exists must begin with a line of this
        plan.

    Notes
    -----
    The file is only ever appended to, by one process at a time (`flock`).  A last line that is
    torn is ended by a line break, and `estimate` skips it as malformed; it was not acknowledged,
    unless only its line break is missing.  `fsync` at the start, since lines of a killed process
    may be in memory only, and after each group of lines.  If writing fails no line is acknowledged
    until the next start: what is on disk after a failed `fsync` is unknown.
    """

    def __init__(self, plan: PlanContent, path: str | os.PathLike[str]) -> None:
        self._checker = LineChecker(plan)
        self._turn = threading.Lock()
        self._writing = threading.Lock()
        self._queue = list[bytes]()
        self._problem = ""
        self.path = writable(path, "path")
        self.count = 0
        self.skipped = 0
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._file = os.fdopen(descriptor, "r+b", buffering=0)
        except OSError as problem:
            raise InputError(
                f"cannot write {str(self.path)!r}: {problem.strerror}"
            ) from None
        try:
            _lock(self._file.fileno(), self.path)
            self._recover(f'{{"plan":"{plan.collection}"'.encode())
        except BaseException:
            self._file.close()
            raise

    def _recover(self, start: bytes) -> None:
        """Read the ids of the file, end a torn line, and make sure that all is on disk."""
        with self.path.open("rb") as file:
            if not start.startswith(file.read(len(start))):
                raise InputError(
                    f"path must be a new file or one that was collected with this plan, "
                    f"{str(self.path)!r} is not",
                    parameter="path",
                )
            file.seek(0)
            for line in read_lines(file):
                try:
                    is_new = not self._checker.is_known(*self._checker.check(line))
                except LineError:
                    is_new = False
                self.count += is_new
                self.skipped += not is_new
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            is_torn = file.read() not in (b"", b"\n")
        if is_torn:
            self._file.write(b"\n")
        os.fsync(self._file.fileno())
        self._durable = self.count
        if hasattr(os, "O_DIRECTORY"):  # the name of a new file
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            os.fsync(folder)
            os.close(folder)

    def append(self, content: bytes) -> None:
        """Store a line and return when it is on disk; a refused one raises a
        `LineError`.

        An OSError says that it could not be stored.
        """
        line, encoded = self._checker.check(content)
        if line.id is None:
            raise LineError(
                MALFORMED, "it must have an id, or a retry would count twice"
            )
        with self._turn:
            if not self._checker.is_known(line, encoded):
                self._queue.append(msgspec.json.encode(line) + b"\n")
                self.count += 1
            position = self.count
        with self._writing:  # the first to get here writes all lines that wait
            if self._durable < position:
                self._write_queue()

    def _write_queue(self) -> None:
        """Write all lines that wait; others may queue up meanwhile."""
        with self._turn:
            lines = b"".join(self._queue)
            position = self.count
            self._queue = []
        try:
            while lines and not self._problem:
                lines = lines[self._file.write(lines) :]
            os.fsync(self._file.fileno())
        except (OSError, ValueError) as problem:
            self._problem = (
                getattr(problem, "strerror", None) or "the receiver was closed"
            )
        if self._problem:
            raise OSError(self._problem)
        self._durable = position

    def close(self) -> None:
        """Close the file, which frees its lock."""
        self._file.close()


def _lock(descriptor: int, path: Path) -> None:
    """Lock an open file; one that another process has locked raises an InputError."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            f"{str(path)!r} is in use: another receiver collects into it"
        ) from None
