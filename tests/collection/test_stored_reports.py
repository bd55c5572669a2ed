"""The database of received reports as its readers see it."""

import gzip
import json
import math
import sqlite3
from contextlib import closing

import pyarrow.parquet as pq
import pytest

import seepage as sp
from plan_examples import counts, three_forms
from seepage._core.errors import InputError
from seepage.app.report_store import ReportStore
from seepage.collection.stored_reports import export_reports

PLAN = three_forms(counts())
SENT = [
    {"id": "c", "form": 1, "reports": {"sex": 0, "job": [1]}},
    {"id": "a", "form": 2, "reports": {"job": 3, "ill": []}},
    {"id": "d", "form": 3, "report": 5},
    {"id": "b", "form": 1, "reports": {"sex": 1, "job": [2]}},
]
LINES = [{"plan": PLAN.collection, **fields} for fields in SENT]


@pytest.fixture
def store(tmp_path):
    opened = ReportStore(PLAN, tmp_path / "reports.db")
    opened.store([opened.row_of(json.dumps(one).encode()) for one in LINES])
    yield opened
    opened.close()


@pytest.fixture
def by_lines(tmp_path):
    """The same reports as JSON Lines, in the order of their ids."""
    path = tmp_path / "lines" / "reports.jsonl"
    path.parent.mkdir()
    in_order = sorted(LINES, key=lambda one: one["id"])
    path.write_text("".join(json.dumps(one) + "\n" for one in in_order))
    return path


def test_every_reader_takes_the_database_while_it_is_written(store, by_lines, tmp_path):
    path = store.path
    results = sp.write_results(PLAN, path, tmp_path / "results.html")
    assert results.records == 4
    for read in (
        lambda reports: PLAN.estimate(reports).to_pandas(),
        lambda reports: PLAN.table(reports, "job").to_pandas(),
        lambda reports: PLAN.table(reports, "sex", by="job").to_pandas(),
    ):
        assert read(path).equals(read(by_lines))


def test_exports_are_what_perturb_and_clients_write(store, by_lines, tmp_path):
    parquet, lines = tmp_path / "out.parquet", tmp_path / "out.jsonl"
    assert export_reports(PLAN, store.path, parquet) == 4
    assert export_reports(PLAN, store.path, lines) == 4
    assert [json.loads(text) for text in lines.read_text().splitlines()] == sorted(
        LINES, key=lambda one: one["id"]
    )
    assert pq.read_schema(parquet).metadata
    expected = PLAN.estimate(by_lines).to_pandas()
    assert PLAN.estimate(parquet).to_pandas().equals(expected)
    assert PLAN.estimate(lines).to_pandas().equals(expected)


@pytest.mark.parametrize("name", ["out.csv", "out", "out.jsonl.gz", "out.db"])
def test_an_export_has_one_of_two_endings(store, tmp_path, name):
    with pytest.raises(InputError, match=r"ends in \.parquet or \.jsonl"):
        export_reports(PLAN, store.path, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_backup_made_meanwhile_is_a_database_of_its_own(store, tmp_path):
    """As `sqlite3 reports.db ".backup copy.db"` makes it, and by VACUUM INTO."""
    copy, compact = tmp_path / "copy.db", tmp_path / "compact.db"
    with closing(sqlite3.connect(store.path)) as source:
        with closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        source.execute("VACUUM INTO ?", (str(compact),))
    store.store([store.row_of(json.dumps(LINES[0] | {"id": "e"}).encode())])
    assert PLAN.estimate(store.path).records == 5
    for backup in (copy, compact):
        assert PLAN.estimate(backup).records == 4
        continued = ReportStore(PLAN, backup)
        assert continued.count == 4
        continued.close()


def test_databases_with_common_reports_count_them_once(store, tmp_path):
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(store.path)) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    store.store([store.row_of(json.dumps(LINES[0] | {"id": "e"}).encode())])
    with pytest.warns(UserWarning, match=r"4 lines left out as sent twice"):
        assert PLAN.estimate([copy, store.path]).records == 5


def test_a_read_only_medium_is_read(store, tmp_path, monkeypatch):
    store.close()
    connect = sqlite3.connect

    def read_only_medium(address, **options):
        if "immutable" not in str(address):
            raise sqlite3.OperationalError("unable to open database file")
        return connect(address, **options)

    monkeypatch.setattr(sqlite3, "connect", read_only_medium)
    assert PLAN.estimate(store.path).records == 4


def test_a_name_with_signs_of_addresses_is_a_name(tmp_path):
    path = tmp_path / "a b%20?mode=rw#x.db"
    store = ReportStore(PLAN, path)
    store.store([store.row_of(json.dumps(LINES[0]).encode())])
    assert PLAN.estimate(path).records == 1
    store.close()


def test_rows_that_no_client_sends_are_left_out(store):
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE reports SET form = 7 WHERE id = 'a'")
        connection.execute("UPDATE reports SET reports = '{' WHERE id = 'b'")
        connection.execute("UPDATE reports SET reports = x'ff' WHERE id = 'c'")
        connection.commit()
    with pytest.warns(UserWarning, match=r"3 lines left out as malformed"):
        assert PLAN.estimate(store.path).records == 1


def test_faults_are_one_line(store, tmp_path):
    empty = ReportStore(PLAN, tmp_path / "empty.db")
    with pytest.raises(InputError, match="holds no report of the plan"):
        PLAN.estimate(empty.path)
    empty.close()
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(InputError, match=r"broken\.db' cannot be read: "):
        PLAN.estimate(broken)
    text = tmp_path / "text.db"
    text.write_text("{}")
    with pytest.raises(InputError, match=r"text\.db' cannot be read: file is not a"):
        PLAN.estimate(text)
    packed = tmp_path / "packed.db.gz"
    packed.write_bytes(gzip.compress(store.path.read_bytes()))
    with pytest.raises(InputError, match="cannot be read"):
        PLAN.estimate(packed)


def test_a_database_without_its_ending_is_known_by_its_start(store, tmp_path):
    store.close()
    copy = tmp_path / "reports"
    copy.write_bytes(store.path.read_bytes())
    assert PLAN.estimate(copy).records == 4


def test_the_reports_of_one_person_have_no_finite_errors(tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(LINES[0]) + "\n")
    table = PLAN.table(path, "sex", by="job")
    shares = table.shares()
    assert all(math.isinf(error) for error in shares.standard_errors)
    assert shares.intervals.tolist() == [[0.0, 1.0]] * len(shares.values)
    for compare in (table.difference, table.ratio, table.odds_ratio):
        with pytest.raises(InputError, match="two people are needed at least"):
            compare("F", ["clerk", "nurse"])
    with pytest.raises(InputError, match="two people are needed at least"):
        table.test()
    results = sp.write_results(PLAN, path, tmp_path / "results.html")
    assert results.records == 1
