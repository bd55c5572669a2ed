"""How long work reports its progress."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the number of steps done and their total, None if unknown."""


@contextmanager
def progress_bar(what: str) -> Iterator[Progress | None]:
    """Yield a callable that shows progress and the remaining time; None if not on a
    terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    import rich.progress as bars
    from rich.console import Console

    parts = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        yield StagedBar(bar, what)


@contextmanager
def shown_progress(progress: Progress | None, what: str) -> Iterator[Progress | None]:
    """Yield a callable as it was given; in place of none, one that shows progress on a
    terminal.
    """
    if progress is not None:
        yield progress
        return
    with progress_bar(what) as shown:
        yield shown


def begin_stage(progress: Progress | None, name: str) -> None:
    """Pass the name of the next stage to a progress callable that has a method
    `stage`.
    """
    show = getattr(progress, "stage", None)
    if callable(show):
        show(name)


class StagedBar:
    """Progress on a terminal: one bar, which restarts for each stage."""

    def __init__(self, bar: Any, what: str) -> None:
        """Wrap a progress bar, and what it is of."""
        self._bar = bar
        self._task = bar.add_task(what, total=None)

    def __call__(self, done: int, total: int | None) -> None:
        """Show on the progress bar the number of steps done and their total, None if
        unknown.
        """
        self._bar.update(self._task, completed=done, total=total)

    def stage(self, name: str) -> None:
        """Restart the progress bar with the name of a stage."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=None)

    def describe(self, text: str) -> None:
        """Set the text before the progress bar."""
        self._bar.update(self._task, description=text)
