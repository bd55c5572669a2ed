"""Jobs without Spark: merged results, errors, input, and Spark's messages."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seepage._core.errors import TableError
from seepage.counting.record_samples import record_priorities
from seepage.counting.spark.session import cause_of, translated_errors
from seepage.counting.spark.shards import (
    Failed,
    Shard,
    merge_results,
    plan_shards,
    task_row,
)
from seepage.tables.number_summary import NumberSummary


def numbers(first, count):
    gathered = NumberSummary()
    gathered.add(np.arange(first, first + count), record_priorities(first, count))
    return gathered


def raising(problem):
    def work():
        raise problem

    return work


def outcome(rows):
    made = list(merge_results(iter(rows)))
    return [pickle.loads(row["content"]) for part in made for row in part.to_pylist()]


def test_results_are_merged_for_any_groups():
    rows = [
        task_row(shard, lambda shard=shard: numbers(10 * shard, 10))
        for shard in range(7)
    ]
    groups = [
        batch
        for part in (rows[:1], rows[4:], rows[1:4])
        for batch in merge_results(part)
    ]
    for parts in (rows, rows[::-1], groups):
        (total,) = outcome(parts)
        assert total.distinct()[0].tolist() == list(range(70))
    assert outcome([]) == []


def test_a_result_too_large_for_spark_raises(monkeypatch):
    monkeypatch.setattr("seepage.counting.spark.shards.MAX_BYTES", 2000)
    fits, exceeds = (
        task_row(4, lambda size=size: bytes(size)) for size in (1900, 2000)
    )
    assert outcome([fits]) == [bytes(1900)]
    (failed,) = outcome([exceeds])
    assert failed.shard == 4
    assert str(failed.problem).startswith(
        "2.02e-06 GB of counts or records are more than the 2e"
    )


@pytest.mark.parametrize(
    "problem", [ConnectionRefusedError(111, "refused"), EOFError()]
)
def test_a_jvm_that_dies_is_reported(needs_spark, problem):
    with (
        pytest.raises(
            TableError, match=r"^Spark's Java virtual machine died .* more memory"
        ),
        translated_errors(),
    ):
        raise problem


def test_the_error_of_the_first_shard_is_the_result():
    rows = [task_row(n, raising(TableError(f"shard {n}"))) for n in (8, 3, 5)]
    rows.insert(1, task_row(0, lambda: numbers(0, 5)))
    for parts in (rows, rows[::-1]):
        [failed] = outcome(parts)
        assert isinstance(failed, Failed)
        assert (failed.shard, repr(failed.problem)) == (3, "TableError('shard 3')")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Job aborted\nKeyError: 'x'\n", "KeyError: 'x'"),
        ("Traceback\nMemoryError\n", "MemoryError"),
        (
            "Job aborted: ExecutorLostFailure (exit 137)\nat x",
            "Job aborted: ExecutorLostFailure",
        ),
        (
            "[FAILED] Encountered error while reading file a.parquet\nKeyError: 'x'",
            "[FAILED] Enc",
        ),
        (
            "[CAST_INVALID_INPUT] The value 'x'\nJVM stacktrace:\nError: x",
            "[CAST_INVALID_INPUT]",
        ),
        (
            "ModuleNotFoundError: No module named 'seepage'\n",
            "its executors have no seepage; ins",
        ),
        (
            "[JAVA_GATEWAY_EXITED] Java gateway process exited\n",
            "Java did not start; it must be",
        ),
        ("\n", "no reason given"),
    ],
)
def test_an_error_message_of_spark_in_one_line(message, shown):
    line = cause_of(RuntimeError(message))
    assert line.startswith(shown)
    assert "\n" not in line


def written(path, groups):
    """A file with row groups of these sizes."""
    schema = pa.schema({"a": pa.int64()})
    with pq.ParquetWriter(path, schema) as writer:
        for rows in groups:
            writer.write_table(
                pa.table({"a": np.zeros(rows, np.int64)}), row_group_size=rows or 1
            )
    return path


def test_shards_are_cut_at_row_groups(tmp_path):
    files = [
        written(tmp_path / "0.parquet", [10, 10, 10]),
        written(tmp_path / "1.parquet", []),
        written(tmp_path / "2.parquet", [200]),
        written(tmp_path / "3.parquet", [10, 10]),
    ]
    one, _, huge, last = (str(file) for file in files)
    assert plan_shards(files, cores=4) == [
        ({one: [0, 1, 2]}, 0),
        ({huge: [0]}, 30),
        ({last: [0, 1]}, 230),
    ]
    assert plan_shards(files[:2], cores=1) == [({one: [i]}, 10 * i) for i in range(3)]
    assert plan_shards([files[1]], cores=4) == []


def test_one_shard_may_have_row_groups_of_several_files(tmp_path):
    files = [written(tmp_path / f"{number}.parquet", [10]) for number in range(6)]
    shards = plan_shards(files, cores=1)
    assert [shard.first for shard in shards] == [0, 20, 40]
    assert [len(shard.groups) for shard in shards] == [2, 2, 2]


def test_a_shard_reads_its_row_groups_only(tmp_path):
    file, other = (
        written(tmp_path / f"{number}.parquet", [10, 20]) for number in range(2)
    )

    def rows_read(source, first):
        return first, sum(batch.num_rows for batch in source.batches(["a"]))

    assert Shard({str(file): [1], str(other): [0, 1]}, 10).run(rows_read) == (10, 50)


def test_no_shard_is_larger_than_the_largest(tmp_path, monkeypatch):
    monkeypatch.setattr("seepage.counting.spark.shards.MAX_SHARD", 15)
    (file,) = files = [written(tmp_path / "0.parquet", [5] * 9)]
    assert [shard.groups[str(file)] for shard in plan_shards(files, cores=1)] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
    ]
