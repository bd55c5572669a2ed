"""Long work of the app: each task is a child process that can be asked about and
stopped.

A request starts a task and returns at once; pages ask for its state.  A task that is
stopped gets the same as Ctrl-C in a terminal: a search returns the best that it found.
The child is a fresh interpreter, `python -m seepage.app.task_process`; what it is to do
and what it found go through its standard input and output as pickles, between these two
processes alone.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from seepage._core.errors import SeepageError
from seepage.pages.mosaic import Mosaic, sketched_mosaic

PATIENCE = 600.0
"""Seconds that a stopped task has for its result, until it is killed: the prices of
changes of a plan of 1,500 questions take minutes on a busy machine."""

State = Literal["running", "done", "failed"]


@dataclass(frozen=True)
class Fault:
    """What went wrong: one line, and the parameter that it is about, if any."""

    text: str
    parameter: str = ""

    @classmethod
    def of(cls, problem: SeepageError) -> "Fault":
        """Return the fault of a task from an exception."""
        return cls(str(problem), problem.parameter or "")


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
        Why it failed; None unless it did.
    done, total
        Steps done, and their number, None if unknown.
    words
        How far it is, in words: "best so far: 3,490 people".
    sketch
        The groups of the best so far, by share, with their questions.
    stopping
        Whether it was asked to stop.
    """

    name: str
    process: "subprocess.Popen[bytes]"
    state: State = "running"
    result: Any = None
    fault: Fault | None = None
    done: int = 0
    total: int | None = None
    words: str = ""
    sketch: Sequence[tuple[float, Sequence[str]]] = ()
    stopping: bool = False
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def start(
        cls, name: str, folder: Path, work: Callable[..., Any], /, **keywords: Any
    ) -> "BackgroundTask":
        """Start a task, `work(**keywords, progress=...)`, in a child process.

        Parameters
        ----------
        name
            What is done, in words.
        folder
            Where libraries keep what they write for a while, not in the system's
            temporary folder.
        work
            A function of a module; its result must be picklable.
        **keywords
            The arguments of `work`, which must be picklable.
        """
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
        # -P: a file of the current folder named as a module is not imported
        imported = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "seepage.app.task_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **temporary, **imported},
        )
        task = cls(name, process)
        task._tell((work, keywords))
        threading.Thread(target=task._listen, daemon=True).start()
        return task

    @property
    def seconds(self) -> float:
        """Seconds since the start of the task."""
        return time.monotonic() - self.started

    @property
    def best(self) -> Mosaic | None:
        """The picture of the best so far of a task; None before there is one."""
        if not self.sketch:
            return None
        return sketched_mosaic(self.sketch)

    @property
    def share(self) -> float | None:
        """The share of the task's steps done; None if their number is unknown."""
        if not self.total:
            return None
        return min(1.0, self.done / self.total)

    def stop(self) -> None:
        """Ask the task to end with what it has; kill it if it does not."""
        if self.state != "running" or self.stopping:
            return
        self.stopping = True
        self._tell("stop")
        patience = threading.Timer(PATIENCE, self.kill)
        patience.daemon = True
        patience.start()

    def kill(self) -> None:
        """End the task without a result."""
        self.process.kill()

    def wait(self, seconds: float = 600.0) -> "BackgroundTask":
        """Wait until the task has ended."""
        end = time.monotonic() + seconds
        while self.state == "running" and time.monotonic() < end:
            time.sleep(0.02)
        return self

    def _tell(self, message: Any) -> None:
        """Send a message to the task's child process, if it still listens."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()

    def _listen(self) -> None:
        """Take the messages of the task's child process until it ends."""
        assert self.process.stdout is not None
        state: State = "failed"
        fault = Fault("the work ended without a result")
        with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                kind, value = pickle.load(self.process.stdout)
                if kind == "progress":
                    self.done, self.total = value
                elif kind == "words":
                    self.words = value
                elif kind == "sketch":
                    self.sketch = value
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
            self.fault = Fault("stopped") if self.stopping else fault
        self.state = state
