"""Files that appear whole or not at all, also where the process is killed."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from uuid import uuid4

from seepage import _checks
from seepage.errors import InputError


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which takes its place at `path` once all is written.

    Parameters
    ----------
    path
        The final place; a file that is there is replaced in one step.

    Notes
    -----
    Where the file system can (Linux, `O_TMPFILE`), what is being written has no name, and a
    process killed by whatever means leaves nothing.  Elsewhere it is a hidden file beside its
    place, which is removed when an exception ends the block.  A signal that kills the process at
    once leaves it there; the command line turns SIGTERM into an exception.
    """
    final = writable(path)
    partial = final.with_name(f".{final.name}.{uuid4().hex}")
    try:
        with _nameless(final.parent) or partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not partial.exists():
                _give_name(file, partial)
        partial.replace(final)
    except OSError as problem:
        raise InputError(f"cannot write {str(final)!r}: {problem.strerror or problem}") from None
    finally:
        partial.unlink(missing_ok=True)


def writable(path: str | os.PathLike[str], what: str = "the output") -> Path:
    """Return the path of a file that can be written; any other raises an InputError.

    A device, a pipe or a socket would be replaced, not written to.

    Parameters
    ----------
    path
        Where a file is to be written.
    what
        What the message calls it.

    Examples
    --------
    >>> writable("/dev/null")
    Traceback (most recent call last):
        ...
    seepage.errors.InputError: the output must be a file, got '/dev/null'
    """
    final = _checks.path(path, what)
    try:
        special = final.exists() and not final.is_file()
    except OSError as problem:
        raise InputError(f"cannot write {str(final)!r}: {problem.strerror}") from None
    if not final.name or special:
        raise InputError(f"{what} must be a file, got {os.fspath(path)!r}")
    if not final.parent.is_dir():
        raise InputError(
            f"the folder of {what} must exist, there is no folder {str(final.parent)!r}"
        )
    return final


def _nameless(folder: Path) -> IO[bytes] | None:
    """Return a file without a name in a folder, None where it could not be given one later."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None:
        return None
    probe = folder / f".{uuid4().hex}"
    try:
        with os.fdopen(os.open(folder, flag | os.O_WRONLY), "wb") as file:
            _give_name(file, probe)
        return os.fdopen(os.open(folder, flag | os.O_WRONLY, 0o666), "wb")
    except OSError:
        return None
    finally:
        probe.unlink(missing_ok=True)


def _give_name(file: IO[bytes], index: Path) -> None:
    """Let a file without a name appear at a place.

    The descriptor beside the absolute path is not looked at; it makes Python call `linkat`, which
    can follow the link in /proc, where `link` cannot.
    """
    descriptor = file.fileno()
    os.link(f"/proc/self/fd/{descriptor}", index, src_dir_fd=descriptor, follow_symlinks=True)
