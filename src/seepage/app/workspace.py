"""The private folder of one run of the app: what a browser sent, and what was computed
from it.

It is below the user's own cache folder, never the system's temporary one, with mode
0700, and is removed at the end.  A run that was killed cannot do so: its folder is
removed at the next start, unless its process lives.  A process lives as long as it
holds the lock on its folder; the system releases the lock however the process ends.
"""

import contextlib
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from seepage._core.errors import InputError

LOCK = "lock"
"""Name of the file in a folder that its process holds locked."""


def app_folder() -> Path:
    """Return the folder of all workspaces, in the user's cache folder."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "seepage" / "app"


@contextlib.contextmanager
def private_folder(base: Path | None = None) -> Iterator[Path]:
    """Make a new private folder as a workspace, and remove it at the end.

    Parameters
    ----------
    base
        The folder of all runs; by default that of the user.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with private_folder(Path(base)) as folder:
    ...         print(folder.is_dir(), oct(folder.stat().st_mode & 0o777))
    ...     folder.exists()
    True 0o700
    False
    """
    base = base or app_folder()
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_abandoned(base)
        folder, lock = _locked_folder(base)
    except OSError as problem:
        raise InputError(
            f"the app needs a private folder in {str(base)!r}, and it could not be "
            f"made: {problem.strerror}"
        ) from None
    try:
        yield folder
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(base: Path) -> tuple[Path, IO[str]]:
    """Return a new workspace, and its lock file, which is held.

    Another run that starts may lock the file first, and remove the folder: then another
    folder is made.
    """
    while True:
        folder = base / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        lock = (folder / LOCK).open("w")
        if _try_lock(lock):
            return folder, lock
        lock.close()


def remove_abandoned(base: Path) -> int:
    """Remove the workspaces of runs that were killed; return how many there were."""
    removed = 0
    for folder in base.iterdir():
        if folder.is_dir() and not folder.is_symlink() and _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


def _is_abandoned(folder: Path) -> bool:
    """Return whether no process holds the lock of a workspace."""
    try:
        with (folder / LOCK).open("r+") as lock:
            return _try_lock(lock)
    except FileNotFoundError:
        return False  # another run is just making it
    except OSError:
        return False


def _try_lock(lock: IO[str]) -> bool:
    """Lock the file of a workspace until it is closed; return whether no other process
    has it locked.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
