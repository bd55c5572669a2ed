"""Whether a folder is on a local disk, where a database is safe.

SQLite's log needs memory that all processes of a machine share and locks that hold:
network file systems and folders that a virtual machine shares with its host have
neither, and acknowledge writes that are not on disk.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

from seepage._core.errors import InputError

MOUNTS = Path("/proc/self/mountinfo")
"""The mounted file systems, on Linux [proc(5)]."""


NETWORK = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "davfs",
    "fakeowner",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "prl_fs",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
}
"""Types of file systems of other machines or of the host; also all that begin with
`fuse.`, such as `fuse.sshfs`."""


class Mount(NamedTuple):
    """A mounted file system."""

    folder: str
    kind: str


def check_local(folder: Path) -> None:
    """Raise an InputError if a folder is on a network file system.

    On Linux by the type of the file system, on Windows by the name of a share;
    elsewhere it cannot be told.
    """
    if sys.platform == "win32" and folder.drive.startswith("\\\\"):
        raise _rejection(folder, "a network share")
    if not MOUNTS.exists():
        return
    mounts = read_mounts(MOUNTS.read_text(encoding="utf-8", errors="surrogateescape"))
    kind = file_system_of(folder.resolve(), mounts)
    if kind in NETWORK or kind.startswith("fuse."):
        raise _rejection(folder, kind)


def _rejection(folder: Path, kind: str) -> InputError:
    """Return the error for a folder that is not local."""
    return InputError(
        f"path must be on a local disk, {str(folder)!r} is on {kind}: reports there "
        "could be lost after they are acknowledged",
        parameter="path",
    )


def read_mounts(text: str) -> list[Mount]:
    """Return the mounts that tell whether a folder is local, from a text in the format
    of `/proc/self/mountinfo`.
    """
    mounts = list[Mount]()
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) > 4 and after:
            mounts.append(Mount(_unescaped(fields[4]), after.split(" ")[0]))
    return mounts


def file_system_of(folder: Path, mounts: list[Mount]) -> str:
    """Return the type of the file system of an absolute folder, which tells whether it
    is local, "" if unknown.

    That of the longest mounted folder above it; of equal ones the last, which hides the
    others.
    """
    parents = {str(parent) for parent in (folder, *folder.parents)}
    kind = ""
    longest = 0
    for mount in mounts:
        if mount.folder in parents and len(mount.folder) >= longest:
            kind = mount.kind
            longest = len(mount.folder)
    return kind


def _unescaped(field: str) -> str:
    r"""Return a folder's field of the mounts whose blanks and backslashes are written
    as in ``\040``.
    """
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
