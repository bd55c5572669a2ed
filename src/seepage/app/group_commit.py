"""Reports of many requests, stored together: one synchronisation for all that wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from seepage.app.report_store import ReportRow, ReportStore
from seepage.collection.report_lines import LineError


class WaitingRow(NamedTuple):
    """A row, and the future of its request: None if stored, else why it is refused."""

    row: ReportRow
    answer: "asyncio.Future[LineError | None]"


class GroupCommit:
    """Stores the reports of concurrent requests in common transactions.

    While one transaction is synchronised, further reports gather for the next (group
    commit), so that twenty clients share the cost of one `fsync`.

    Parameters
    ----------
    store
        The database.
    on_failure
        Called when the database has failed.
    """

    def __init__(self, store: ReportStore, on_failure: Callable[[], None]) -> None:
        """Begin to commit rows in groups, in a thread."""
        self._store = store
        self._on_failure = on_failure
        self._waiting = list[WaitingRow]()
        self._committing: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "reports")

    async def stored(self, row: ReportRow) -> LineError | None:
        """Store a row with its group; return when it is on disk, or why it is refused.

        Raises `StoreError` if it may not be on disk.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[LineError | None] = loop.create_future()
        self._waiting.append(WaitingRow(row, answer))
        if self._committing is None:
            self._committing = loop.create_task(self._commit())
        return await answer

    async def _commit(self) -> None:
        """Commit all rows that wait as one group, until nothing does."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            group = self._waiting
            self._waiting = []
            rows = [waiting.row for waiting in group]
            try:
                answers = await loop.run_in_executor(
                    self._thread, self._store.store, rows
                )
            except Exception as problem:  # any: a request is never left waiting
                self._on_failure()
                for waiting in group:
                    if not waiting.answer.done():
                        waiting.answer.set_exception(problem)
                continue
            for waiting, answer in zip(group, answers, strict=True):
                if not waiting.answer.done():
                    waiting.answer.set_result(answer)
        self._committing = None

    def close(self) -> None:
        """End the thread of group commits, after the transaction that is under way."""
        self._thread.shutdown()
