"""The database of received reports: its format, how it is read, and its exports.

SQLite, with one table of reports in the order of their ids, which are drawn by chance,
so that nothing says who came when; there are no times and no addresses.  A receiver
writes the database (`app/report_store.py`).  Every reader here opens it read-only, sees
one state of it, and disturbs no receiver that is writing meanwhile.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec
import pyarrow as pa

from seepage._core.errors import InputError
from seepage._core.files import whole_file
from seepage.collection.report_files import DATABASE, FORMATS, LINES, write_report_file
from seepage.collection.report_lines import LineGatherer
from seepage.plan.plan_content import PlanContent
from seepage.tables.sources import PARQUET, suffix_of

APPLICATION = 0x73656570
"""The application id of the database, "seep" in ASCII (`PRAGMA application_id`)."""


VERSION = 1
"""The version of the database's tables (`PRAGMA user_version`)."""


SCHEMA = (
    "CREATE TABLE collection (plan TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE reports (id TEXT PRIMARY KEY, form INTEGER NOT NULL,"
    " reports TEXT NOT NULL) WITHOUT ROWID",
)
"""The digest of the collection; and for each report its id, the number of its form, and
the JSON of `reports` or `report` on the wire."""


SUFFIXES = tuple(suffix for suffix, kind in FORMATS.items() if kind == DATABASE)
"""Endings by which a database is known without being opened: closing a file that SQLite
has open too would release SQLite's locks on it."""


def read_databases(
    plan: PlanContent, files: Sequence[Path]
) -> tuple[pa.Table, list[str]]:
    """Return the stored reports of databases, and notes on those that are left out.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    files
        The databases, also while receivers write them, or backups of them.

    Returns
    -------
    Table, list of str
        One row per person, in the order of their ids; and notes as of
        `read_report_lines`.

    Notes
    -----
    Contents are checked as lines are.  Of reports with one id the first counts, also in
    several databases.  O(1) per report; the reports are held in memory.
    """
    gatherer = LineGatherer(plan)
    for file in files:
        gatherer.gather(file, _lines(plan, file))
    return gatherer.table(files[0]), gatherer.notes


def export_reports(
    plan: PlanContent, path: str | os.PathLike[str], output: str | os.PathLike[str]
) -> int:
    """Write the stored reports of a database to another file; return their number.

    Parameters
    ----------
    plan
        The plan that they were collected with.
    path
        The database, also while a receiver writes it.
    output
        The file, by its ending: Parquet (`.parquet`), as `Plan.perturb` gives reports,
        or JSON Lines (`.jsonl`), as clients send them.  Written whole or not at all,
        for its owner only.
    """
    database = Path(path)
    kind = FORMATS.get(suffix_of(Path(output)))
    if kind not in (PARQUET, LINES) or str(output).lower().endswith(".gz"):
        raise InputError(
            "reports are exported to a file that ends in .parquet or .jsonl, "
            f"got {os.fspath(output)!r}"
        )
    with whole_file(output, private=True) as file:
        if kind == PARQUET:
            batches = read_databases(plan, [database])[0].to_batches()
            return write_report_file(plan, iter(batches), file)
        count = 0
        for line in _lines(plan, database):
            file.write(line + b"\n")
            count += 1
        return count


def check_collection(
    connection: sqlite3.Connection, plan: PlanContent, path: Path
) -> None:
    """Raise an InputError if a database does not hold stored reports of a plan."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if (application, version) != (APPLICATION, VERSION):
        raise InputError(f"{str(path)!r} is no database of reports")
    plans = connection.execute("SELECT plan FROM collection").fetchall()
    if plans != [(plan.collection,)]:
        raise InputError(
            f"{str(path)!r} holds reports of another plan: its attributes, values or "
            "mechanisms differ"
        )


def _lines(plan: PlanContent, path: Path) -> Iterator[bytes]:
    """Yield the stored reports of a database as lines of JSON; faults raise an
    InputError.
    """
    with _readable(path) as connection:
        check_collection(connection, plan, path)
        rows = connection.execute("SELECT id, form, reports FROM reports ORDER BY id")
        for name, form, reports in rows:
            yield _line(plan, name, form, reports)


def _line(plan: PlanContent, name: object, form: object, reports: object) -> bytes:
    """Return a stored report as the line that a client sends."""
    is_product = False
    if isinstance(form, int) and 1 <= form <= len(plan.forms):
        is_product = plan.forms[form - 1].is_product
    fields = {
        "plan": plan.collection,
        "id": name,
        "form": form,
        "reports" if is_product else "report": msgspec.Raw(str(reports).encode()),
    }
    return msgspec.json.encode(fields)


@contextmanager
def _readable(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that reads one state of a database of reports; faults raise an
    InputError.
    """
    if not path.is_file():
        raise InputError(f"there is no database {str(path)!r}")
    try:
        with closing(_connect_to_read(path)) as connection:
            yield connection
    except sqlite3.Error as problem:
        raise InputError(f"{str(path)!r} cannot be read: {problem}") from None


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection within a read transaction on stored reports.

    Beside a database that is still written SQLite needs its shared memory.  Where that
    cannot be made, as on a medium that is read-only, the file is read as it is, unless
    a log of changes lies beside it.
    """
    try:
        return _begin_reading(path, "mode=ro")
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _begin_reading(path, "mode=ro&immutable=1")


def _begin_reading(path: Path, options: str) -> sqlite3.Connection:
    """Return a connection to stored reports that has begun to read."""
    address = f"file:{quote(str(path.absolute()))}?{options}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except BaseException:
        connection.close()
        raise
    return connection
