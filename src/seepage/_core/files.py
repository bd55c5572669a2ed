"""Files and folders that are written whole or not at all."""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO
from uuid import uuid4

from seepage._core import checks
from seepage._core.errors import InputError, Setting

# Files of our own: written whole, read if they are regular and not too large ----------

MAX_SMALL = 1 << 30
"""Maximum size of the files that are read whole."""


SAME_START = 24
"""Number of first bytes by which a file of a folder is recognised as our own."""


@contextlib.contextmanager
def whole_file(
    path: str | os.PathLike[str], *, private: bool = False
) -> Iterator[IO[bytes]]:
    """Yield a binary file to write to, which replaces `path` atomically at the end of
    the block.

    Parameters
    ----------
    path
        The file to create or replace; a file that is replaced keeps its permissions.
    private
        Whether a new file is for its owner only (mode 0600): it holds counts of people.

    Notes
    -----
    The partial file is a hidden one in the same folder, which is removed if the block
    raises.  A signal that kills the process at once leaves it there; the command line
    turns SIGTERM into an exception.
    """
    final = writable(path)
    partial = final.with_name(f".{final.name[:32]}.{uuid4().hex}")
    try:
        mode = _mode(final, private=private)
        with partial.open("xb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(final)
    except OSError as problem:
        raise InputError(
            f"cannot write {str(final)!r}: {problem.strerror or problem}"
        ) from None
    finally:
        partial.unlink(missing_ok=True)


def _mode(path: Path, *, private: bool) -> int | None:
    """Return the permissions of a file to write: those of the one that is replaced, or
    the owner's only.
    """
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    if private:
        return 0o600
    return None


def write_text(
    path: str | os.PathLike[str], text: str, *, private: bool = False
) -> None:
    """Write a text file atomically, in UTF-8; see `whole_file`."""
    with whole_file(path, private=private) as file:
        file.write(text.encode())


def write_folder(
    folder: str | os.PathLike[str],
    contents: Mapping[str, bytes],
    what: str,
    *,
    force: bool = False,
) -> list[Path]:
    """Write files into a folder, which is created if it does not exist, and return
    their paths.

    Parameters
    ----------
    folder
        The folder.
    contents
        The files by name.  Those of one name begin with the same `SAME_START` bytes in
        every version.
    what
        What the files are of, for messages.
    force
        Replace files of the same names that begin otherwise: those that we did not
        write.
    """
    target = checks.path(folder, "folder")
    try:
        for name, content in contents.items():
            file = target / name
            if force or not file.exists():
                continue
            if not file.read_bytes().startswith(content[:SAME_START]):
                raise InputError(
                    f"{str(file)!r} exists and is no file of {what}; use a new folder, "
                    "or replace it (",
                    Setting("force"),
                    ")",
                )
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {str(target)!r}: {error.strerror}"
        ) from None
    for name, content in contents.items():
        with whole_file(target / name) as written:
            written.write(content)
    return [target / name for name in contents]


def read_small(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a small file: a plan, result, key or codebook.

    A device, a pipe or a file above `MAX_SMALL` raises an InputError: it would fill the
    memory.

    Examples
    --------
    >>> read_small(".")
    Traceback (most recent call last):
    seepage.InputError: . cannot be read: it is not a regular file of at most 1,024 MB
    """
    try:
        status = Path(path).stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_SMALL:
            return Path(path).read_bytes()
        reason = f"it is not a regular file of at most {MAX_SMALL >> 20:,} MB"
    except OSError as problem:
        reason = str(problem.strerror)
    raise InputError(f"{path} cannot be read: {reason}")


def writable(path: str | os.PathLike[str], what: str = "the output") -> Path:
    """Return the path of an output file; one that cannot be written raises an
    InputError.

    A device, a pipe or a socket raises too: it would be replaced, not written to.

    Parameters
    ----------
    path
        The file to create or replace.
    what
        The name of the argument, for messages.

    Examples
    --------
    >>> writable(".")
    Traceback (most recent call last):
        ...
    seepage.InputError: the output must be a file, got '.'
    """
    if isinstance(path, str) and not path:
        raise InputError(f"{what} must be a file, got ''")
    final = checks.path(path, what)
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
