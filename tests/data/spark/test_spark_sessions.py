"""Sessions of Spark: who starts one, who shares it, who stops it; and those of Spark Connect."""

import subprocess
import sys
import threading
import time
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seepage as sp
from seepage.data import spark as package
from seepage.data.spark import engine
from seepage.errors import DomainError, TableError


class Session:
    """A session that notes whether it was stopped."""

    stopped = False

    def stop(self):
        self.stopped = True


@pytest.fixture
def started(monkeypatch):
    """The sessions started so far, none of them real."""
    sessions = []

    def start(master):
        time.sleep(0.05)
        sessions.append(Session())
        return sessions[-1]

    def running():
        return next((session for session in sessions if not session.stopped), None)

    monkeypatch.setattr(package, "_start_session", start)
    monkeypatch.setattr(package, "_running_session", running)
    return sessions


def test_threads_share_a_session_that_the_last_of_them_stops(started):
    used, together = [], threading.Barrier(4)

    def work(pause):
        together.wait(10)
        with package.spark_session() as session:
            time.sleep(pause)
            used.append((session, session.stopped))

    threads = [threading.Thread(target=work, args=[0.1 * place]) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(started) == 1
    assert used == [(started[0], False)] * 4
    assert started[0].stopped
    with package.spark_session() as session:
        assert session is started[1]
    assert [session.stopped for session in started] == [True, True]


def test_a_session_of_somebody_else_is_not_stopped(started):
    package._start_session(None)
    for _ in range(2):
        with package.spark_session() as outer, package.spark_session() as inner:
            assert outer is inner is started[0]
    assert [session.stopped for session in started] == [False]


def test_a_session_ends_with_the_outermost_block_though_it_fails(started):
    def fail():
        with package.spark_session() as outer:
            with package.spark_session() as inner:
                assert inner is outer
            assert not outer.stopped
            raise TableError("no")

    with pytest.raises(TableError):
        fail()
    assert [session.stopped for session in started] == [True]


def test_more_counts_than_spark_can_pass_on_raise_before_the_job(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "MAX_CELLS", 59)
    table = pa.table({"a": np.arange(200), "b": np.arange(200) % 6})
    pq.write_table(table, tmp_path / "t.parquet")
    rule = r"^2 attributes of up to 10 values have 60 pair cells, more than the 59 that Spark can"
    for data, options in ((tmp_path / "t.parquet", {"engine": "spark"}), (spark.range(0), {})):
        given = {} if options else {"domain": sp.count_pairs(table).domain}
        frame = data if options else data.selectExpr("id as a", "id as b")
        with pytest.raises(DomainError, match=rule):
            sp.count_pairs(frame, **options, **given)


SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
session = SparkSession.builder.remote("local[2]").getOrCreate()
import seepage as sp
from seepage.errors import TableError
from seepage.data.records import Records
path = sys.argv[1]
frame = session.read.parquet(path).where("true")
for options in ({}, {"missing": "drop"}, {"bins": "width:4"}):
    assert sp.count_pairs(frame, **options) == sp.count_pairs(path, **options)
    assert sp.count_pairs(path, engine="spark", **options) == sp.count_pairs(path, **options)
assert Records.from_data(frame) == Records.from_data(path)
for bad, line in (
    (frame.selectExpr("nothing"), "Spark cannot read the table: [UNRESOLVED_COLUMN"),
    (frame.selectExpr("raise_error('no') as a"), "Spark cannot read the table: [USER_RAISED"),
    (frame.where("a > 100"), "the table has no records"),
):
    try:
        sp.count_pairs(bad)
    except TableError as problem:
        assert str(problem).startswith(line), problem
        assert "\\n" not in str(problem)
    else:
        raise AssertionError(line)
session.stop()
print("counted")
"""


@pytest.mark.slow
def test_frames_and_files_of_spark_connect(needs_spark, tmp_path):
    if find_spec("grpc") is None or find_spec("grpc_status") is None:
        pytest.skip("Spark Connect needs its packages: pip install 'pyspark[connect]'")
    rows = np.arange(600)
    table = pa.table(
        {
            "a": pa.array(rows % 3, mask=rows % 50 == 0),
            "wide": rows * 100_003,
            "truth": rows % 7 < 2,
            "word": [f"word {row % 5}" for row in rows],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "t.parquet")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.endswith("counted\n"), done.stderr[-2000:]
