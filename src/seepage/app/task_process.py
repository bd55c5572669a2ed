"""The child process of a task: does the work, sends its progress and its result, and
listens whether it is to stop.
"""

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from seepage._core.errors import SeepageError
from seepage.app.tasks import Fault

INTERVAL = 0.2
"""Least seconds between two messages on progress."""

SKETCHING = 1.0
"""Least seconds between two sketches of the best so far."""


def run_task(orders: IO[bytes], answers: IO[bytes]) -> None:
    """Do the work that is ordered in the task's process, and send its progress and its
    result.
    """
    work, keywords = pickle.load(orders)
    message: tuple[str, Any]
    threading.Thread(target=_interrupt_on_order, args=(orders,), daemon=True).start()
    try:
        message = ("done", work(**keywords, progress=SentProgress(answers)))
    except SeepageError as problem:
        message = ("failed", Fault.of(problem))
    except KeyboardInterrupt:
        message = ("failed", Fault("stopped before there was a result"))
    except MemoryError:
        message = ("failed", Fault("there is not enough memory for this table"))
    except Exception as problem:  # a fault of ours: said in its step, not swallowed
        message = ("failed", Fault(f"a fault of seepage: {problem!r}"))
    pickle.dump(message, answers)
    answers.flush()


def _interrupt_on_order(orders: IO[bytes]) -> None:
    """Interrupt the main thread of the task's process when told to stop; end the
    process when the app has ended.
    """
    import _thread

    try:
        pickle.load(orders)
    except EOFError:
        os._exit(1)
    _thread.interrupt_main()


class SentProgress:
    """Sends progress, steps at most every `INTERVAL` seconds, and words."""

    def __init__(self, answers: IO[bytes]) -> None:
        """Send the progress of a task from its process."""
        self._answers = answers
        self._last = 0.0
        self._sketched = -SKETCHING

    def __call__(self, done: int, total: int | None) -> None:
        """Send from the task's process the number of steps done and their total, None
        if unknown.
        """
        now = time.monotonic()
        if now - self._last >= INTERVAL or done == total:
            self._last = now
            self._send("progress", (done, total))

    def describe(self, text: str) -> None:
        """Send from the task's process how far the work is, in words."""
        self._send("words", text)

    def sketch(self, groups: Sequence[tuple[float, Sequence[str]]]) -> None:
        """Send from the task's process the groups of the best so far, by share, with
        their questions; at most every `SKETCHING` seconds.
        """
        now = time.monotonic()
        if now - self._sketched >= SKETCHING:
            self._sketched = now
            self._send("sketch", groups)

    def _send(self, kind: str, value: Any) -> None:
        """Send a message from the task's process."""
        pickle.dump((kind, value), self._answers)
        self._answers.flush()


def _child() -> None:
    """Run one task in its process; what libraries print goes to standard error.

    An app that a script started in the background ignores interrupts, and its child
    processes inherit that: a task must be stopped there too.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    run_task(sys.stdin.buffer, answers)


if __name__ == "__main__":
    _child()
