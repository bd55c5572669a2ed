"""Sessions of Spark Connect."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
session = SparkSession.builder.remote("local[2]").getOrCreate()
import seepage as sp
from seepage._core.errors import TableError
from seepage.channel.records import Records
path = sys.argv[1]
frame = session.read.parquet(path).where("true")
for options in ({}, {"missing": "drop"}, {"bins": "width:4"}):
    assert sp.count_pairs(frame, **options) == sp.count_pairs(path, **options)
    local = sp.count_pairs(path, **options)
    assert sp.count_pairs(path, engine="spark", **options) == local
assert Records.from_data(frame) == Records.from_data(path)
for bad, line in (
    (frame.selectExpr("nothing"), "Spark failed: [UNRESOLVED_COLUMN"),
    (frame.selectExpr("raise_error('no') as a"), "Spark failed: [USER_RAISED"),
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
