"""Long work of the app: each task is a child process that can be asked about and
stopped.

A request starts a task and returns at once; pages ask for its state.  A task that is
stopped gets the same as Ctrl-C in a terminal: a search returns the best that it found.
The child is a fresh interpreter, `python -m seepage.app.tasks`; what it is to do and what
it found go through its standard input and output as pickles, between these two processes
alone.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from seepage._core.errors import SeepageError

PATIENCE = 20.0
"""Seconds that a stopped task has for its result, until it is killed."""

INTERVAL = 0.2
"""Least seconds between two messages on progress."""

State = Literal["running", "done", "failed"]

Report = Callable[[int, int | None], None]
"""What work calls with the number of steps done and their total, None if unknown."""


@dataclass
class BackgroundTask:
    """Work in a child process.

    Attributes
    ----------
    name
        What is done, in words: "reading the table".
    state
        Whether it is running, done, or failed; one that was stopped and had a result is
        done.
    result
        What the work returned.
    fault
        Why it failed, in one line.
    done, total
        Steps done, and their number, None if unknown.
    stopping
        Whether it was asked to stop.
    """

    name: str
    process: "subprocess.Popen[bytes]"
    state: State = "running"
    result: Any = None
    fault: str = ""
    done: int = 0
    total: int | None = None
    stopping: bool = False
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def start(
        cls, name: str, work: Callable[..., Any], *arguments: Any
    ) -> "BackgroundTask":
        """Start `work(*arguments, progress=...)` in a child process.

        `work` must be a function of a module, and what it is given and returns be
        picklable.
        """
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        task = cls(name, process)
        task._tell((work, arguments))
        threading.Thread(target=task._listen, daemon=True).start()
        return task

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def share(self) -> float | None:
        """The share of steps done; None if their number is unknown."""
        if not self.total:
            return None
        return min(1.0, self.done / self.total)

    def stop(self) -> None:
        """Ask the work to end with what it has; kill it if it does not."""
        if self.state != "running" or self.stopping:
            return
        self.stopping = True
        self._tell("stop")
        patience = threading.Timer(PATIENCE, self.kill)
        patience.daemon = True
        patience.start()

    def kill(self) -> None:
        """End the work without a result."""
        self.process.kill()

    def wait(self, seconds: float = 600.0) -> "BackgroundTask":
        """Wait until the task has ended."""
        end = time.monotonic() + seconds
        while self.state == "running" and time.monotonic() < end:
            time.sleep(0.02)
        return self

    def _tell(self, message: Any) -> None:
        """Send a message to the child process, if it still listens."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()

    def _listen(self) -> None:
        """Take the messages of the child process until it ends."""
        assert self.process.stdout is not None
        state: State = "failed"
        fault = "stopped" if self.stopping else "the work ended without a result"
        with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                kind, value = pickle.load(self.process.stdout)
                if kind == "progress":
                    self.done, self.total = value
                elif kind == "done":
                    self.result = value
                    state = "done"
                    break
                else:
                    fault = value
                    break
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was not read is not missed
                    pipe.close()
        if state == "failed":
            self.fault = fault
        self.state = state


# In the child process -----------------------------------------------------------------


def run_task(told: IO[bytes], answers: IO[bytes]) -> None:
    """Do the work that is told, and send its progress and its result."""
    work, arguments = pickle.load(told)
    threading.Thread(target=_interrupt_when_told, args=(told,), daemon=True).start()
    try:
        message = ("done", work(*arguments, progress=_Progress(answers)))
    except SeepageError as problem:
        message = ("failed", str(problem))
    except KeyboardInterrupt:
        message = ("failed", "stopped before there was a result")
    except MemoryError:
        message = ("failed", "there is not enough memory for this table")
    except Exception as problem:  # a fault of ours: said in its step, not swallowed
        message = ("failed", f"a fault of seepage: {problem!r}")
    pickle.dump(message, answers)
    answers.flush()


def _interrupt_when_told(told: IO[bytes]) -> None:
    """Raise KeyboardInterrupt in the main thread when told to stop, or when the app has
    ended.
    """
    import _thread

    with contextlib.suppress(EOFError):
        pickle.load(told)
    _thread.interrupt_main()


class _Progress:
    """Sends progress, at most every `INTERVAL` seconds."""

    def __init__(self, answers: IO[bytes]) -> None:
        self._answers = answers
        self._last = 0.0

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._last >= INTERVAL or done == total:
            self._last = now
            pickle.dump(("progress", (done, total)), self._answers)
            self._answers.flush()


def _child() -> None:
    """Run one task; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    run_task(sys.stdin.buffer, answers)


if __name__ == "__main__":
    _child()
