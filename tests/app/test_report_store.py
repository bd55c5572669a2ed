"""The database of reports: each once, durable before it is acknowledged, or a fault."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from report_examples import OTHER, PLAN, REPORTS, line
from seepage._core.errors import InputError
from seepage.app.report_store import ReportStore, StoreError
from seepage.collection.report_lines import LineError
from spied_disk import SQLITE_FULL, SQLITE_IOERR_FSYNC


def rows_of(store, *names, **fields):
    return [store.row_of(json.dumps(line(name, **fields)).encode()) for name in names]


def stored(path):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT * FROM reports").fetchall()


@pytest.fixture
def store(tmp_path):
    opened = ReportStore(PLAN, tmp_path / "reports.db")
    yield opened
    opened.close()


def test_a_report_is_one_row_however_often_it_comes(store):
    shuffled = dict(reversed(REPORTS.items()))
    for _ in range(3):
        (row,) = rows_of(store, "a")
        (again,) = rows_of(store, "a", reports=shuffled, address="192.0.2.1")
        assert store.store([row, again]) == [None, None]
    text = '{"age":[0,2],"ill":0,"job":[2],"sex":1}'
    assert stored(store.path) == [("a", 1, text)]
    assert store.count == 1


def test_an_id_belongs_to_its_first_report_by_contents(store):
    """Also where hashes are equal: {61} and {0} as integers modulo 2^61 - 1."""
    assert hash(1 << 61) == hash(1)
    first = store.row_of(json.dumps(line("a")).encode())
    other = first._replace(reports=first.reports.replace("[2]", "[1]"))
    assert store.store([first]) == [None]
    refused, accepted = store.store([other, first])
    assert isinstance(refused, LineError)
    assert str(refused) == "malformed: its id belongs to another report"
    assert accepted is None
    assert len(stored(store.path)) == 1


def test_two_contents_of_one_id_in_one_group(store):
    first, second = (
        rows_of(store, "a"),
        rows_of(store, "a", reports=REPORTS | {"sex": 0}),
    )
    answers = store.store([*first, *second, *first])
    assert [answer is None for answer in answers] == [True, False, True]


def test_ids_are_compared_as_a_whole(store):
    """SQLite ends a text in a statement, but not a bound one, at a null character."""
    names = ["a", "a\0", "a\0b", "A", "a ", "\u00e1", "a\u0301"]
    assert store.store(rows_of(store, *names)) == [None] * len(names)
    assert store.count == len(names) == len(stored(store.path))


def test_a_group_of_any_size_is_one_transaction(store):
    names = [str(number) for number in range(1000)]
    assert store.store(rows_of(store, *names)) == [None] * 1000
    assert store.count == 1000


def test_rows_say_neither_when_nor_in_which_order(store):
    for name in "cab":
        store.store(rows_of(store, name))
    with closing(sqlite3.connect(store.path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(reports)")]
        tables = {
            row[0] for row in connection.execute("SELECT name FROM sqlite_master")
        }
        with pytest.raises(sqlite3.OperationalError, match="no such column: rowid"):
            connection.execute("SELECT rowid FROM reports")
    assert columns == ["id", "form", "reports"]
    assert tables == {"collection", "reports"}
    assert [row[0] for row in stored(store.path)] == ["a", "b", "c"]


@pytest.mark.posix
def test_only_its_owner_reads_the_database(store):
    store.store(rows_of(store, "a"))
    files = sorted(store.path.parent.iterdir())
    assert [file.name for file in files] == [
        "reports.db",
        "reports.db-lock",
        "reports.db-shm",
        "reports.db-wal",
    ]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_closed_database_is_one_file_that_is_continued(tmp_path):
    path = tmp_path / "reports.db"
    for name in "ab":
        store = ReportStore(PLAN, path)
        store.store(rows_of(store, name))
        store.close()
        assert [file.name for file in tmp_path.iterdir()] == ["reports.db"]
    store = ReportStore(PLAN, path)
    assert store.count == 2
    store.close()


@pytest.mark.parametrize(
    "content", [b"age,sex\n39,F\n", json.dumps(line("a")).encode(), b"SQLite"]
)
def test_a_file_of_something_else_stays_as_it_is(tmp_path, content):
    path = tmp_path / "reports.db"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match="must be a new file or one that was collected"
    ):
        ReportStore(PLAN, path)
    assert path.read_bytes() == content


def test_another_database_stays_as_it_is(tmp_path):
    path = tmp_path / "reports.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="is no database of reports"):
        ReportStore(PLAN, path)
    assert path.read_bytes() == before


def test_a_database_of_another_plan_is_refused(tmp_path):
    ReportStore(OTHER, tmp_path / "reports.db").close()
    with pytest.raises(InputError, match="holds reports of another plan"):
        ReportStore(PLAN, tmp_path / "reports.db")


def test_a_damaged_database_is_refused_with_one_line(tmp_path):
    path = tmp_path / "reports.db"
    store = ReportStore(PLAN, path)
    store.store(rows_of(store, *map(str, range(500))))
    store.close()
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged|cannot be used as a database"):
        ReportStore(PLAN, path)


@pytest.mark.posix
@pytest.mark.parametrize("size", [0, 4096])
def test_a_kill_while_the_database_is_made_locks_nobody_out(tmp_path, size):
    """An empty file, or a header without tables, is begun again."""
    path = tmp_path / "reports.db"
    with closing(sqlite3.connect(path)) as connection:
        if size:
            connection.execute("PRAGMA journal_mode = WAL")
    assert path.exists() or not path.touch()
    assert path.stat().st_size == size
    for _ in range(3):
        store = ReportStore(PLAN, path)
        store.store(rows_of(store, "a"))
        store.close()
    assert len(stored(path)) == 1


def test_the_ending_of_a_database_is_asked_for(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.db, \.sqlite, \.sqlite3"):
        ReportStore(PLAN, tmp_path / "reports.jsonl")
    assert not list(tmp_path.iterdir())


# Durability ---------------------------------------------------------------------------


def test_each_group_is_synchronised_before_it_is_acknowledged(disk, tmp_path):
    store = ReportStore(PLAN, tmp_path / "reports.db")
    for name in "abc":
        disk.events.clear()
        store.store(rows_of(store, name))
        last_write = max(i for i, e in enumerate(disk.events) if e == ("write", "log"))
        assert ("sync", "log") in disk.events[last_write:], disk.events
    store.close()


def test_the_spy_would_see_a_missing_synchronisation(disk, tmp_path):
    """The test above can fail: `synchronous = NORMAL` writes the log alone."""
    store = ReportStore(PLAN, tmp_path / "reports.db")
    store._connection.execute("PRAGMA synchronous = NORMAL")
    store.store(rows_of(store, "first"))  # begins the log anew, with its header
    disk.events.clear()
    store.store(rows_of(store, "a"))
    assert ("write", "log") in disk.events
    assert ("sync", "log") not in disk.events
    store.close()


def test_opening_synchronises_what_a_killed_process_left(disk, tmp_path):
    """Its rows may be in memory alone; a retry of one is acknowledged without a
    write.
    """
    code = (
        "import sys; sys.path[:0] = ['tests', 'tests/app', 'src']; import os\n"
        "from test_report_store import *\n"
        "store = ReportStore(PLAN, sys.argv[1])\n"
        "store._connection.execute('PRAGMA synchronous = OFF')\n"
        "store.store(rows_of(store, 'a')); os.kill(os.getpid(), 9)"
    )
    path = tmp_path / "reports.db"
    subprocess.run([sys.executable, "-c", code, path], cwd=Path(__file__).parents[2])
    assert path.with_name("reports.db-wal").stat().st_size > 0
    disk.events.clear()
    store = ReportStore(PLAN, path)
    assert ("sync", "log") in disk.events
    assert store.store(rows_of(store, "a")) == [None]
    assert store.count == 1
    store.close()


@pytest.mark.parametrize(
    ("operation", "code", "reason"),
    [
        ("write", SQLITE_FULL, "the disk is full"),
        ("sync", SQLITE_IOERR_FSYNC, "disk I/O error"),
    ],
)
def test_nothing_is_acknowledged_after_a_fault_of_the_disk(
    disk, tmp_path, operation, code, reason
):
    """What is on disk after a failed synchronisation is unknown until the next
    start.
    """
    path = tmp_path / "reports.db"
    store = ReportStore(PLAN, path)
    store.store(rows_of(store, "before"))
    disk.error[operation] = code
    with pytest.raises(StoreError, match=f"can no longer be stored.*: {reason};"):
        store.store(rows_of(store, "a"))
    disk.error.clear()
    with pytest.raises(StoreError, match=reason):
        store.store(rows_of(store, "b"))
    store.close()
    again = ReportStore(PLAN, path)
    assert again.store(rows_of(again, "a", "b")) == [None, None]
    assert again.count == 3
    again.close()


def replace(path):
    """As `sed -i` does: write a copy, give it the name."""
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def truncate(path):
    os.truncate(path, 0)


def shorten(path):
    os.truncate(path, path.stat().st_size - 1)


def move_folder(path):
    path.parent.rename(path.parent.with_name("moved"))


@pytest.mark.posix
@pytest.mark.parametrize(
    ("ending", "harm", "reason"),
    [
        ("", Path.unlink, "reports.db is gone"),
        ("", replace, "reports.db was replaced by another file"),
        ("", truncate, "reports.db was truncated"),
        ("", shorten, "reports.db was truncated"),
        ("", move_folder, "reports.db is gone"),
        ("-wal", Path.unlink, "reports.db-wal is gone"),
        ("-wal", replace, "reports.db-wal was replaced by another file"),
        ("-wal", truncate, "reports.db-wal was truncated|malformed"),
        ("-shm", Path.unlink, "reports.db-shm is gone"),
        ("-shm", replace, "reports.db-shm was replaced by another file"),
    ],
)
def test_nothing_is_acknowledged_into_another_file(tmp_path, ending, harm, reason):
    folder = tmp_path / "collection"
    folder.mkdir()
    store = ReportStore(PLAN, folder / "reports.db")
    store.store(rows_of(store, "a", "b"))
    harm(folder / f"reports.db{ending}")
    with pytest.raises(StoreError, match=reason):
        store.store(rows_of(store, "c"))
    with pytest.raises(StoreError, match=reason):
        store.store(rows_of(store, "a"))
    store.close()


def test_a_database_that_is_replaced_while_it_is_opened(tmp_path, monkeypatch):
    connect = sqlite3.connect

    def swapped(path, **options):
        replace(path)
        return connect(path, **options)

    monkeypatch.setattr(sqlite3, "connect", swapped)
    with pytest.raises((InputError, OSError), match="was replaced while it was opened"):
        ReportStore(PLAN, tmp_path / "reports.db")


def test_two_stores_do_not_share_a_database(store):
    with pytest.raises(InputError, match="another receiver collects into it"):
        ReportStore(PLAN, store.path)


def test_the_log_does_not_grow_with_the_collection(store):
    log = store.path.with_name("reports.db-wal")
    for number in range(300):
        store.store(rows_of(store, *(f"{number}:{i}" for i in range(50))))
    assert log.stat().st_size < 8 << 20
    assert store.count == 15_000


def test_who_reads_does_not_hold_up_who_writes(store):
    store.store(rows_of(store, "a"))
    with closing(sqlite3.connect(store.path)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM reports").fetchone() == (1,)
        begin = time.monotonic()
        store.store(rows_of(store, "b"))
        assert time.monotonic() - begin < 5
        assert reader.execute("SELECT count(*) FROM reports").fetchone() == (1,)


def test_a_store_serves_any_thread(store):
    thread = threading.Thread(target=store.store, args=(rows_of(store, "a"),))
    thread.start()
    thread.join()
    assert store.count == 1
