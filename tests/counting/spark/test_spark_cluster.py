"""A standalone cluster: a real master and two workers, whose Python has core packages
only.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seepage as sp
from seepage.channel.pairs import PairCounts

ROWS = 600_000
COLUMNS = 10

DRIVER = """
import sys
import seepage as sp
from seepage.counting.spark.session import spark_session
session = spark_session(sys.argv[1])
frame = session.read.parquet(sys.argv[2])
assert session.sparkContext.defaultParallelism == 2
assert sp.count_pairs(frame) == sp.count_pairs(sys.argv[2], engine="spark")
sample = sp.Records.from_data(sys.argv[2], engine="spark", sample=1000, rng=3)
assert sample == sp.Records.from_data(sys.argv[2], sample=1000, rng=3)
print("equal")
"""


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Shards that take long enough to be interrupted."""
    folder = tmp_path_factory.mktemp("table")
    draw = np.random.default_rng(2)
    words = pa.array([f"value {number}" for number in range(50)])
    for part in range(4):
        columns = {
            f"a{i}": words.take(pa.array(draw.integers(0, 50, ROWS // 4)))
            for i in range(COLUMNS)
        }
        pq.write_table(
            pa.table(columns), folder / f"{part}.parquet", row_group_size=50_000
        )
    return folder


def command(cluster, *arguments):
    script = "from seepage.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def executors(cluster):
    """The processes of the cluster's executors."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words, at = (place / "cmdline").read_bytes(), (place / "cwd").readlink()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in words and at.is_relative_to(
            cluster.folder
        ):
            found.append(int(place.name))
    return found


def test_frames_files_and_samples_on_a_cluster(cluster, table):
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, cluster.master, str(table / "0.parquet")],
        env=cluster.environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "equal\n", done.stderr[-3000:]


@pytest.mark.skipif(not Path("/proc").exists(), reason="executors are found in /proc")
def test_killing_an_executor_in_the_middle_of_a_job_changes_nothing(
    cluster, table, tmp_path
):
    output = tmp_path / "all.pairs"
    before = cluster.lost_executors()
    running = command(
        cluster,
        "count",
        table,
        "-o",
        output,
        "--engine",
        "spark",
        "--master",
        cluster.master,
    )
    killed = threading.Event()

    def kill():
        while running.poll() is None and not killed.is_set():
            for number in executors(cluster):
                if _works(number):
                    os.kill(number, signal.SIGKILL)
                    killed.set()
                    return
            time.sleep(0.02)

    hunter = threading.Thread(target=kill)
    hunter.start()
    _, errors = running.communicate(timeout=200)
    hunter.join()
    assert running.returncode == 0, errors[-3000:]
    assert killed.is_set()
    assert cluster.lost_executors() == before + 1
    assert PairCounts.load(output) == sp.count_pairs(table)


def _works(executor):
    """Say whether a Python of an executor has been at work for a while."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parts = (place / "stat").read_text().rpartition(")")[2].split()
            words = (place / "cmdline").read_bytes()
        except OSError:
            continue
        ticks = int(parts[11])
        if b"pyspark" in words and ticks > 60 and _descends(int(place.name), executor):
            return True
    return False


def _descends(process, ancestor):
    while process > 1:
        if process == ancestor:
            return True
        try:
            text = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(text.rpartition(")")[2].split()[1])
    return False
