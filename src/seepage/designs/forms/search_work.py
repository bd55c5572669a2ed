"""`SearchWork`: how much a search has computed, which is what ends it.

A search that ends by the clock gives another plan on a faster machine, and another one
beside other programs.  So its steps are counted, each with a price that depends on the
sizes of its arrays alone; the clock is only a cap.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

DEFAULT_WORK = 15_000.0
"""Work of a search with effort 1: about as many milliseconds of one core at 3 GHz."""


class SearchWork:
    """The work of a search: done, and allowed.

    Parameters
    ----------
    limit
        The most work, in units of about a millisecond.
    seconds
        Cap on the time from now, in seconds.

    Attributes
    ----------
    done
        The work done so far, before `begin` too.
    is_capped
        Whether the cap on the time has ended a step of the search.

    Examples
    --------
    >>> work = SearchWork(10.0)
    >>> work.spend(4.0)
    >>> with work.stage(0.5):
    ...     work.spend(1.5)
    ...     work.expired()
    True
    >>> work.expired()
    False
    """

    def __init__(self, limit: float = math.inf, seconds: float = math.inf) -> None:
        """Begin to count the work of a search, of at most a limit and a time."""
        self.limit = limit
        self.done = 0.0
        self.is_capped = False
        self._end = limit
        self._before = 0.0
        self._seconds = seconds
        self._start = time.monotonic()

    def spend(self, amount: float) -> None:
        """Add work that a step of the search has done."""
        self.done += amount

    def expired(self) -> bool:
        """Return whether the work of the search's current stage, or the time, is used
        up.
        """
        if time.monotonic() - self._start >= self._seconds:
            self.is_capped = True
        return self.is_capped or self.done >= self._end

    def begin(self) -> None:
        """Allow the search as much work as the limit from now on, whatever was done
        before.
        """
        self._before = self.done
        self._end = self._before + self.limit

    @property
    def left(self) -> float:
        """The work that the search's current stage has left."""
        return max(self._end - self.done, 0.0)

    @property
    def share(self) -> float:
        """The share of the search's work that is used up."""
        return (self.done - self._before) / self.limit

    @contextmanager
    def stage(self, end: float) -> Iterator[None]:
        """Limit the work of a search's stage to a share of all of it, counted from the
        start.
        """
        before = self._end
        self._end = min(before, self._before + self.limit * end)
        try:
            yield
        finally:
            self._end = before

    @contextmanager
    def own_stage(self, share: float) -> Iterator[None]:
        """Give a stage of the search a share of all work from now on, whatever was done
        before: how far it comes then does not depend on that.

        Examples
        --------
        >>> work = SearchWork(10.0)
        >>> work.spend(9.0)
        >>> with work.own_stage(0.4):
        ...     work.left
        4.0
        >>> work.left
        1.0
        """
        before = self._end
        self._end = self.done + self.limit * share
        try:
            yield
        finally:
            self._end = before
