"""Jobs without Spark: merged results, errors, input, and Spark's messages."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seepage.data.counting.distinct import record_priorities
from seepage.data.spark import _one_line, translated_errors
from seepage.data.spark.jobs import MAX_SHARD, Failed, Shard, _merge_task, plan_shards, task_row
from seepage.data.table.bins import NumberSummary
from seepage.errors import TableError


def numbers(first, count):
    gathered = NumberSummary()
    gathered.add(np.arange(first, first + count), record_priorities(first, count))
    return gathered


def raising(problem):
    def work():
        raise problem

    return work


def outcome(rows, finish=None):
    made = list(_merge_task(finish)(iter(rows)))
    return [pickle.loads(row["content"]) for part in made for row in part.to_pylist()]


def test_results_are_merged_for_any_groups():
    rows = [task_row(shard, lambda shard=shard: numbers(10 * shard, 10)) for shard in range(7)]

    def finish(total):
        return total.distinct()[0].tolist()

    groups = [
        batch for part in (rows[:1], rows[4:], rows[1:4]) for batch in _merge_task(None)(part)
    ]
    for parts in (rows, rows[::-1], groups):
        assert outcome(parts, finish) == [list(range(70))]
    assert outcome([], finish) == []


def test_a_result_too_large_for_spark_raises(monkeypatch):
    monkeypatch.setattr("seepage.data.spark.jobs.MAX_BYTES", 2000)
    fits, exceeds = (task_row(4, lambda size=size: bytes(size)) for size in (1900, 2000))
    assert outcome([fits]) == [bytes(1900)]
    (failed,) = outcome([exceeds])
    assert failed.shard == 4
    assert str(failed.problem).startswith("2.02e-06 GB of counts or records are more than the 2e")
    assert isinstance(outcome([fits], lambda total: total + total)[0], Failed)


@pytest.mark.parametrize("problem", [ConnectionRefusedError(111, "refused"), EOFError()])
def test_a_jvm_that_dies_is_reported(needs_spark, problem):
    with (
        pytest.raises(TableError, match=r"^Spark's Java virtual machine died .* more memory"),
        translated_errors(),
    ):
        raise problem


def test_the_error_of_the_first_shard_is_the_result():
    rows = [task_row(n, raising(TableError(f"shard {n}"))) for n in (8, 3, 5)]
    rows.insert(1, task_row(0, lambda: numbers(0, 5)))
    for parts in (rows, rows[::-1]):
        [failed] = outcome(parts, lambda total: total)
        assert (failed.shard, repr(failed.problem)) == (3, "TableError('shard 3')")


def test_an_error_of_finish_is_raised():
    rows = [task_row(0, lambda: numbers(0, 5))]
    [failed] = outcome(rows, lambda total: raising(TableError("why"))())
    assert repr(failed.problem) == "TableError('why')"


@pytest.mark.parametrize(
    ("message", "python", "shown"),
    [
        ("Job aborted\nKeyError: 'x'\n", True, "Spark's executors failed: KeyError: 'x'"),
        ("Traceback\nMemoryError\n", True, "Spark's executors failed: MemoryError"),
        ("Job aborted: ExecutorLostFailure (exit 137)", False, "Spark's executors failed: Job"),
        ("[FAILED] Encountered error while reading file a.parquet", True, "Spark cannot read the"),
        ("[CAST_INVALID_INPUT] The value 'x'", False, "Spark cannot read the table: [CAST_INV"),
        ("ModuleNotFoundError: No module named 'seepage'", True, "Spark's executors have no seep"),
    ],
)
def test_an_error_message_of_spark_in_one_line(message, python, shown):
    line = _one_line(message, python=python)
    assert line.startswith(shown)
    assert "\n" not in line


def written(path, groups):
    """A file with row groups of these sizes."""
    schema = pa.schema({"a": pa.int64()})
    with pq.ParquetWriter(path, schema) as writer:
        for rows in groups:
            writer.write_table(pa.table({"a": np.zeros(rows, np.int64)}), row_group_size=rows or 1)
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
        ((one,), ((0, 1),), 0),
        ((one,), ((2,),), 20),
        ((huge,), ((0,),), 30),
        ((last,), ((0, 1),), 230),
    ]
    assert plan_shards(files[:2], cores=1) == [
        ((one,), ((0,),), 0),
        ((one,), ((1,),), 10),
        ((one,), ((2,),), 20),
    ]
    assert plan_shards([files[1]], cores=4) == []


def test_one_shard_may_have_row_groups_of_several_files(tmp_path):
    files = [written(tmp_path / f"{number}.parquet", [10]) for number in range(6)]
    shards = plan_shards(files, cores=1)
    assert [shard.first for shard in shards] == [0, 20, 40]
    assert [len(shard.files) for shard in shards] == [2, 2, 2]
    assert MAX_SHARD == 2**26


def rows_read(source, first):
    return first, sum(batch.num_rows for batch in source.batches(["a"]))


def test_a_file_that_is_given_twice_is_read_twice(tmp_path):
    file = written(tmp_path / "0.parquet", [10, 10])
    (shard,) = plan_shards([file, file, file], cores=1)[1:2]
    assert shard.run(rows_read) == (20, 20)
    whole = Shard((str(file), str(file)), ((0, 1), (1,)), 0)
    assert whole.run(rows_read) == (0, 30)


def test_no_shard_is_larger_than_the_largest(tmp_path, monkeypatch):
    monkeypatch.setattr("seepage.data.spark.jobs.MAX_SHARD", 15)
    files = [written(tmp_path / "0.parquet", [5] * 9)]
    assert [len(shard.groups[0]) for shard in plan_shards(files, cores=1)] == [3, 3, 3]
