"""The database that a receiver stores reports in, durably and each once."""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from seepage._core import checks
from seepage._core.errors import InputError, SeepageError
from seepage._core.files import writable
from seepage.app.database_files import FileLock, OpenedFiles, create_private
from seepage.app.local_folder import check_local
from seepage.collection.report_lines import MALFORMED, LineChecker, LineError
from seepage.collection.stored_reports import (
    APPLICATION,
    SCHEMA,
    SUFFIXES,
    VERSION,
    check_collection,
)
from seepage.plan.plan_content import PlanContent

BUSY_SECONDS = 10.0
"""Seconds to wait for another program that writes to the database."""


MAX_ROWS = 256
"""Maximum number of rows of one INSERT: SQLite before 3.32 binds 999 values."""


INSERT = "INSERT INTO reports (id, form, reports) VALUES {} ON CONFLICT (id) DO NOTHING"


SELECT = "SELECT form, reports FROM reports WHERE id = ?"


class ReportRow(NamedTuple):
    """A checked report as it is stored."""

    id: str
    form: int
    reports: str
    """The JSON of `reports` or `report`, its attributes in alphabetical order."""


class StoreError(SeepageError):
    """Why reports can no longer be stored: one line for the operator."""

    __module__ = "seepage"


class ReportStore:
    """A database of reports; a report that `store` returned is on disk.

    Parameters
    ----------
    plan
        The plan of the reports.
    path
        The database, created with mode 0600; one that exists must hold reports of this
        plan.  It must end in `.db`, `.sqlite` or `.sqlite3`, on a local disk.

    Attributes
    ----------
    path
        The database, an absolute path without links.
    count
        The number of reports in it.
    failure
        Why nothing more is stored; None while all is well.

    Notes
    -----
    A write-ahead log with `synchronous = FULL`: a commit returns after the log was
    synchronised.  A commit alone promises nothing about a file that was removed,
    replaced or truncated meanwhile: SQLite goes on writing to what it has opened.  So
    after each commit device and inode of database, log and shared memory, by their
    names in the folder, must be those that were opened, and none may have shrunk.
    After the first failure nothing is stored: what is on disk then is unknown until
    the database is opened again.
    """

    def __init__(self, plan: PlanContent, path: str | os.PathLike[str]) -> None:
        """Open the database that stores the reports of a plan."""
        self._checker = LineChecker(plan)
        self.failure: StoreError | None = None
        self.path = writable(path, "path").resolve()
        if self.path.suffix.lower() not in SUFFIXES:
            raise InputError(
                f"path must end in {', '.join(SUFFIXES)}, got "
                f"{checks.shown(str(path))}",
                parameter="path",
            )
        check_local(self.path.parent)
        self._lock = FileLock(self.path.with_name(f"{self.path.name}-lock"))
        try:
            self._open(plan)
        except BaseException:
            self._lock.close()
            raise

    def _open(self, plan: PlanContent) -> None:
        """Create or continue the database of reports; all that is in it is on disk
        afterwards.
        """
        created = create_private(self.path)
        connection = sqlite3.connect(
            self.path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _prepare(connection, plan, self.path)
            self._files = OpenedFiles(self.path, created)
            self.count = connection.execute("SELECT count(*) FROM reports").fetchone()[
                0
            ]
        except sqlite3.Error as problem:
            connection.close()
            raise InputError(
                f"{str(self.path)!r} cannot be used as a database: {problem}"
            ) from None
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def row_of(self, content: bytes) -> ReportRow:
        """Return a line of reports as the row that stores it; a refused one raises a
        `LineError`.
        """
        line, _ = self._checker.check(content)
        if line.id is None:
            raise LineError(
                MALFORMED, "it must have an id, or a retry would count twice"
            )
        reports = line.report if line.reports is None else line.reports
        text = msgspec.json.encode(reports, order="sorted").decode()
        return ReportRow(line.id, line.form, text)

    def store(self, rows: Sequence[ReportRow]) -> list[LineError | None]:
        """Store rows of reports in one transaction, and return when they are on disk.

        Returns
        -------
        list of LineError or None
            For each row None if a report with its id and its contents is in the
            database now; the reason if its id belongs to another report.

        Raises
        ------
        StoreError
            None of the rows may be acknowledged, and nothing is stored any more.
        """
        if self.failure is not None:
            raise self.failure
        try:
            inserted = self._commit(rows)
            answers = self._answers(rows, all_new=inserted == len(rows))
            self._files.check()
        except (sqlite3.Error, OSError) as problem:
            self.failure = _failure(problem, self.path)
            raise self.failure from None
        self.count += inserted
        return answers

    def _commit(self, rows: Sequence[ReportRow]) -> int:
        """Insert the rows of reports whose ids are new, and commit; return their
        number.
        """
        inserted = 0
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for start in range(0, len(rows), MAX_ROWS):
                part = rows[start : start + MAX_ROWS]
                statement = INSERT.format(", ".join(["(?, ?, ?)"] * len(part)))
                values = [value for row in part for value in row]
                inserted += self._connection.execute(statement, values).rowcount
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise
        return inserted

    def _answers(
        self, rows: Sequence[ReportRow], *, all_new: bool
    ) -> list[LineError | None]:
        """Return for each row of reports whether the database holds it, comparing
        contents.
        """
        if all_new:
            return [None] * len(rows)
        answers = list[LineError | None]()
        for row in rows:
            stored = self._connection.execute(SELECT, (row.id,)).fetchone()
            if stored == (row.form, row.reports):
                answers.append(None)
            else:
                answers.append(LineError(MALFORMED, "its id belongs to another report"))
        return answers

    def close(self) -> None:
        """Close the database of reports: one file, which can be read and copied as any
        other.
        """
        try:
            if self.failure is None:
                self._connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error:  # somebody reads it: the log stays beside it
            pass
        finally:
            self._connection.close()
            self._lock.close()


def _prepare(connection: sqlite3.Connection, plan: PlanContent, path: Path) -> None:
    """Make the tables of a new database of reports or check those of an old one,
    durably.
    """
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    is_new = tables == 0 and application == 0
    if not is_new:
        check_collection(connection, plan, path)
        (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise InputError(f"{str(path)!r} is damaged: {state}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA checkpoint_fullfsync = ON")
    connection.execute("BEGIN IMMEDIATE")
    if is_new:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO collection VALUES (?)", (plan.collection,))
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    # What a killed process had written but not synchronised is on disk after this.
    connection.execute("PRAGMA wal_checkpoint(FULL)")


def _failure(problem: Exception, path: Path) -> StoreError:
    """Return a fault of storing reports as one line for the operator."""
    reason = getattr(problem, "strerror", None) or str(problem)
    if "disk is full" in reason:
        reason = "the disk is full"
    return StoreError(
        f"reports can no longer be stored in {str(path)!r}: {reason}; what was "
        "acknowledged before is stored, nothing is acknowledged now"
    )
