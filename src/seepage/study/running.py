"""Runs many tasks on some threads, with progress, a checkpoint, and a clean end on Ctrl-C."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from seepage.study.checkpoint import Checkpoint, Done
from seepage.study.estimates import LeakageEstimate, Settings
from seepage.study.estimation_task import Key, Task

__all__ = ["Progress", "run"]

Progress = Callable[[int, int], None]
"""Called with the number of estimates done and of those in all."""

Make = Callable[[Key], Task]


class StoppedError(Exception):
    """The run was interrupted; never leaves this module."""


def run(
    keys: Sequence[Key],
    make: Make,
    settings: Settings,
    checkpoint: Checkpoint,
    *,
    done: Done,
    threads: int,
    progress: Progress | None = None,
) -> Done:
    """Return the estimates of all tasks.

    Parameters
    ----------
    keys
        The tasks' keys.
    make
        Makes the task of a key.
    settings
        How to estimate.
    checkpoint
        Where to write what is done: now and then, and whenever the run ends, Ctrl-C included.
    done
        Estimates of an earlier run.
    threads
        How many tasks run at once; the numbers do not depend on it.
    progress
        Called after each estimate.
    """
    found = {key: done[key] for key in keys if key in done}
    waiting = [key for key in keys if key not in found]
    try:
        for key, estimate in _estimates(waiting, make, settings, threads):
            found[key] = estimate
            checkpoint.save(settings.seed, found)
            if progress is not None:
                progress(len(found), len(keys))
    finally:
        checkpoint.save(settings.seed, found, now=True)
    return found


def _estimates(
    keys: Sequence[Key], make: Make, settings: Settings, threads: int
) -> Iterator[tuple[Key, LeakageEstimate]]:
    """Yield each task's estimate as soon as it is there."""
    if threads == 1:
        for key in keys:
            yield key, make(key).estimate(settings)
        return
    stopped = threading.Event()

    def pulse() -> None:
        if stopped.is_set():
            raise StoppedError

    with ThreadPoolExecutor(threads) as pool:
        running = {
            pool.submit(lambda key: make(key).estimate(settings, pulse), key): key for key in keys
        }
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
