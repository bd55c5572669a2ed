"""A file from which a long run continues where it stopped, with bit for bit the same result."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seepage._files import whole_file, writable
from seepage._version import __version__
from seepage.errors import InputError
from seepage.study.estimates import LeakageEstimate

__all__ = ["Checkpoint", "run_digest"]

SECONDS_BETWEEN = 2.0
"""The file is written at most this often, and once at the end."""

Done = dict[tuple[int, ...], LeakageEstimate]


@dataclass(frozen=True)
class Content:
    """What the file holds: which run it belongs to, its seed, and the pairs that are done."""

    digest: str
    seed: int
    estimates: list[tuple[tuple[int, ...], LeakageEstimate]]


def run_digest(description: Mapping[str, Any]) -> str:
    """Return a SHA-256 of all that a run's numbers depend on, but for its seed."""
    import msgspec

    versions = {"seepage": __version__, "numpy": np.__version__}
    content = msgspec.json.encode([versions, description], order="deterministic")
    return hashlib.sha256(content).hexdigest()


class Checkpoint:
    """The file of one run; without a path, nothing is kept.

    Parameters
    ----------
    path
        The file, or None.
    digest
        What the run's numbers depend on, from `run_digest`.
    """

    def __init__(self, path: str | Path | None, digest: str) -> None:
        self.path = None if path is None else writable(path, "the checkpoint")
        self.digest = digest
        self._written = time.monotonic()

    def load(self, seed: int | None) -> tuple[int | None, Done]:
        """Return the seed to use and what is done; a file of another run is refused.

        A run without a seed of its own takes that of the file.
        """
        if self.path is None or not self.path.exists():
            return seed, {}
        content = self._read(self.path)
        if content.digest != self.digest or seed not in (None, content.seed):
            raise InputError(
                f"{str(self.path)!r} is the checkpoint of another run: other data, settings, seed "
                "or version; give another file, or remove it to start anew"
            )
        return content.seed, dict(content.estimates)

    @staticmethod
    def _read(path: Path) -> Content:
        import msgspec

        try:
            return msgspec.msgpack.decode(path.read_bytes(), type=Content)
        except (OSError, msgspec.MsgspecError) as reason:
            raise InputError(f"{str(path)!r} is no checkpoint of seepage: {reason}") from None

    def save(self, seed: int, done: Done, *, now: bool = False) -> None:
        """Write what is done, whole or not at all, unless that was just done."""
        if self.path is None or not (now or time.monotonic() - self._written > SECONDS_BETWEEN):
            return
        import msgspec

        content = Content(self.digest, seed, sorted(done.items(), key=lambda item: item[0]))
        with whole_file(self.path) as file:
            file.write(msgspec.msgpack.encode(content))
        self._written = time.monotonic()
