"""How many plans were tried on the same data, over all runs of the app.

Whoever tries many plans on the same records and keeps the best has chosen by looking.
The app certifies each plan so that `LOOKS` of them hold at once, and shows no more than
so many for the same data.  What was shown is kept by the digest of the data, beyond the
run: the digests of the plans, and nothing else.
"""

import os
import sys
from pathlib import Path

from seepage._core.errors import InputError

LOOKS = 20
"""Number of plans that may be tried on the same data."""


def looks_folder() -> Path:
    """Return the folder of the looks that were taken, in the user's own."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    return base / "seepage" / "looks"


class Looks:
    """The plans that were tried on one table.

    Parameters
    ----------
    digest
        The digest of the data.
    folder
        The folder of what was tried; by default that of the user.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     looks = Looks("0f", Path(folder))
    ...     looks.add("c0ffee")
    ...     looks.add("c0ffee")
    ...     looks.left
    19
    """

    def __init__(self, digest: str, folder: Path | None = None) -> None:
        """Open the looks at the table of a digest."""
        folder = folder or looks_folder()
        self._path = folder / digest
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as problem:
            raise InputError(
                f"the app counts tries in {str(folder)!r}, and it could not be made: "
                f"{problem.strerror}"
            ) from None

    @property
    def tried(self) -> set[str]:
        """The digests of the plans that were tried, the looks taken."""
        try:
            return set(self._path.read_text(encoding="ascii").split())
        except FileNotFoundError:
            return set()

    @property
    def left(self) -> int:
        """How many looks are left: plans that may still be tried."""
        return max(0, LOOKS - len(self.tried))

    def check(self) -> None:
        """Raise an InputError if no look is left for another plan."""
        if not self.left:
            raise InputError(
                f"{LOOKS} plans were tried on this table, as many as the promise "
                "covers: choose one of them"
            )

    def add(self, plan: str) -> None:
        """Count a look at a plan by its digest, before it is shown; the same one counts
        once.
        """
        if plan in self.tried:
            return
        self.check()
        try:
            with self._path.open("a", encoding="ascii") as file:
                file.write(f"{plan}\n")
        except OSError as problem:
            raise InputError(
                f"the try could not be counted: {problem.strerror}"
            ) from None
