"""`Timer`: how much of its time a search has used."""

import time


class Timer:
    """Time limit of a search, which starts now.

    Parameters
    ----------
    seconds
        Time limit in seconds.
    """

    def __init__(self, seconds: float) -> None:
        self._start = time.monotonic()
        self.seconds = seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def expired(self) -> bool:
        """Return whether the time limit is reached."""
        return self.elapsed >= self.seconds
