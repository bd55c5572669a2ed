"""Counting with Spark: the same integers as the local engine, one clear line for bad
tables.
"""

import datetime
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_frames import computed

import seepage as sp
from command import run
from seepage._core.errors import DomainError, InputError, TableError
from seepage.channel.pairs import PairCounts
from seepage.channel.records import Records


def people(rows=3000, seed=5):
    """A table with every kind of column, missing values, and numbers that need bins."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "sex": pa.array(
                draw.choice(["F", "M"], rows), mask=draw.random(rows) < 0.05
            ),
            "smoker": pa.array(draw.random(rows) < 0.3, mask=draw.random(rows) < 0.02),
            "kids": pa.array(
                draw.integers(0, 5, rows), pa.int8(), mask=draw.random(rows) < 0.1
            ),
            "age": pa.array(draw.integers(0, 99, rows), pa.int32()),
            "income": pa.array(np.round(draw.lognormal(10, 1, rows), 2)),
            "born": pa.array(
                draw.choice([datetime.date(2000, 1, d) for d in (1, 2, 9)], rows)
            ),
            "code": pa.array(draw.choice(["10", "9", "1"], rows)),
            "level": pa.array(draw.choice([0.5, 1.0, 2.0], rows), pa.float32()),
        }
    )


def categories(rows=3000):
    return people(rows).drop_columns(["age", "income"])


def written(table, folder, files=3, row_group_size=500):
    step = -(-len(table) // files)
    for part in range(files):
        piece = table.slice(part * step, step)
        pq.write_table(
            piece, folder / f"part-{part}.parquet", row_group_size=row_group_size
        )
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three Parquet files of people, which no test changes."""
    return written(people(), tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def frame(spark, folder):
    """The same people as a DataFrame that Spark computes."""
    return computed(spark, str(folder))


GRID = [
    pytest.param(people, "drop", id="bins-drop"),
    pytest.param(
        categories, "category", id="categories-category", marks=pytest.mark.slow
    ),
    pytest.param(people, "category", id="bins-category", marks=pytest.mark.slow),
    pytest.param(categories, "drop", id="categories-drop", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("table", "missing"), GRID)
def test_files_give_what_the_local_engine_gives(spark, tmp_path, table, missing):
    folder = written(table(), tmp_path)
    expected = sp.count_pairs(folder, missing=missing)
    assert sp.count_pairs(folder, engine="spark", missing=missing) == expected
    assert sp.count_pairs(table(), missing=missing) == expected


@pytest.mark.parametrize(("table", "missing"), GRID)
def test_frames_give_what_the_local_engine_gives(spark, tmp_path, table, missing):
    frame = computed(spark, str(written(table(), tmp_path)))
    assert sp.count_pairs(frame, missing=missing) == sp.count_pairs(
        table(), missing=missing
    )


def test_options_reach_the_executors(frame, folder):
    options = {
        "columns": ["age", "income", "kids", "sex"],
        "drop": ["sex"],
        "bins": {"age": [0, 18, 65, 120], "kids": "width:2", "*": "width:4"},
        "missing_markers": ["3"],
    }
    expected = sp.count_pairs(folder, **options)
    assert expected.domain["kids"].edges
    assert sp.count_pairs(folder, engine="spark", **options) == expected
    assert sp.count_pairs(frame, **options) == expected


def test_a_given_domain_is_counted_in(spark, folder):
    domain = sp.count_pairs(folder).domain
    part = folder / "part-1.parquet"
    assert sp.count_pairs(part, engine="spark", domain=domain) == sp.count_pairs(
        part, domain=domain
    )
    smaller = sp.count_pairs(
        people().filter(pa.compute.field("kids") < 3), missing="drop"
    ).domain
    with pytest.raises(DomainError, match=r"^record [0-9,]+: column 'sex' is missing"):
        sp.count_pairs(folder, engine="spark", domain=smaller)


@pytest.mark.slow
def test_numbers_that_need_bins_only_late_or_in_all_shards_together(spark, tmp_path):
    early = pa.table({"n": [1, 2] * 70_000})
    late = pa.table({"n": np.arange(1000) % 45 * 7})
    with pq.ParquetWriter(tmp_path / "a.parquet", early.schema) as writer:
        for table in (early, late, late, early):
            writer.write_table(table)
    pq.write_table(pa.table({"n": np.arange(40) * 3 + 1}), tmp_path / "b.parquet")
    expected = sp.count_pairs(tmp_path)
    assert expected.domain["n"].edges
    assert sp.count_pairs(tmp_path, engine="spark") == expected
    assert sp.count_pairs(computed(spark, str(tmp_path))) == expected


@pytest.mark.slow
def test_a_large_sample_gives_the_edges_of_the_local_engine(spark, tmp_path):
    numbers = np.random.default_rng(3).normal(size=700_000)
    pq.write_table(
        pa.table({"x": numbers}), tmp_path / "x.parquet", row_group_size=50_000
    )
    expected = sp.count_pairs(tmp_path / "x.parquet")
    assert sp.count_pairs(tmp_path / "x.parquet", engine="spark") == expected
    of_frame = sp.count_pairs(computed(spark, str(tmp_path / "x.parquet")))
    ranks = np.searchsorted(np.sort(numbers), of_frame.domain["x"].edges[1:-1]) / len(
        numbers
    )
    np.testing.assert_allclose(ranks, np.arange(1, 10) / 10, atol=0.006)


def test_numbers_at_the_ends_of_their_types(spark):
    rows = [
        (-128, -32768, 2**40),
        (127, 32767, -5),
        (None, None, None),
        (-126, -32766, 3),
    ]
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate("abc")})
    values = str(rows)[1:-1].replace("None", "null")
    frame = spark.sql(
        f"select tinyint(a), smallint(b), bigint(c) from values {values} t(a, b, c)"
    )
    assert dict(frame.dtypes) == {"a": "tinyint", "b": "smallint", "c": "bigint"}
    assert sp.count_pairs(frame) == sp.count_pairs(table)


def test_partitions_without_records(spark):
    frame = spark.range(0, 100, 1, 4).selectExpr("id % 3 as a", "id % 2 as b", "id")
    inner = frame.where("id between 25 and 59").drop(
        "id"
    )  # of the second and third partition
    assert sp.count_pairs(inner).records == 35
    with pytest.raises(TableError, match=r"^the table has no records$"):
        sp.count_pairs(frame.where("id > 700"))
    with pytest.raises(TableError, match="no record is left"):
        sp.count_pairs(frame.selectExpr("cast(null as int) as a", "b"), missing="drop")


def test_a_corrupt_file_names_itself(spark, tmp_path):
    folder = written(categories(), tmp_path)
    bad = folder / "part-1.parquet"
    content = bytearray(bad.read_bytes())
    content[200:2000] = b"\xff" * 1800
    frame = computed(spark, str(bad))
    bad.write_bytes(content)
    with pytest.raises(
        TableError, match=r"^\S+part-1.parquet cannot be read as Parquet: .+"
    ):
        sp.count_pairs(folder, engine="spark")
    with pytest.raises(TableError, match=r"^Spark failed: .*part-1.parquet"):
        sp.count_pairs(frame)
    bad.write_bytes(content[:1000])
    with pytest.raises(TableError, match=r"part-1.parquet cannot be read as Parquet"):
        sp.count_pairs(folder, engine="spark")


def test_another_schema_raises_with_both_schemas(spark, tmp_path):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"a": ["1", "2"]}), tmp_path / "two.parquet")
    with pytest.raises(
        TableError,
        match=r"two.parquet does not .* of \S+one.parquet: "
        "'a' is string here and int64 there",
    ):
        sp.count_pairs(tmp_path, engine="spark")


def test_input_that_spark_cannot_count_raises(spark, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(
        TableError, match="DataFrame or Parquet files for engine='spark', got CSV;"
    ):
        sp.count_pairs(tmp_path / "a.csv", engine="spark")
    with pytest.raises(
        TableError,
        match=r"data must be a Spark DataFrame or Parquet files .*, got DataF",
    ):
        sp.count_pairs(pd.DataFrame({"a": [1]}), engine="spark")
    with pytest.raises(TableError, match=r"column 'a' must hold text, .*, got list"):
        sp.count_pairs(spark.range(3).selectExpr("array(id) as a"))
    with pytest.raises(TableError, match="there is no column 'b'"):
        sp.count_pairs(spark.range(3), columns=["b"])
    with pytest.raises(TableError, match="column 'id' has more than 60 values"):
        sp.count_pairs(spark.range(100), bins="none", max_values=60)
    with pytest.raises(InputError, match="engine must be one of auto, spark"):
        sp.count_pairs(spark.range(3), engine="sparc")


@pytest.mark.parametrize(
    "missing", [pytest.param("category", marks=pytest.mark.slow), "drop"]
)
def test_distinct_records_are_those_of_the_local_engine(frame, folder, missing):
    expected = Records.from_data(folder, missing=missing)
    assert Records.from_data(folder, engine="spark", missing=missing) == expected
    chosen = {"columns": ["smoker", "age", "code", "income"], "missing": missing}
    assert Records.from_data(frame, **chosen) == Records.from_data(folder, **chosen)
    domain = expected.domain
    part = folder / "part-2.parquet"
    inside = {"missing": missing, "domain": domain}
    assert Records.from_data(part, engine="spark", **inside) == Records.from_data(
        part, **inside
    )


@pytest.mark.parametrize(
    "missing", [pytest.param("category", marks=pytest.mark.slow), "drop"]
)
def test_a_sample_is_that_of_the_local_engine(frame, folder, missing):
    options = {"missing": missing, "sample": 700, "rng": 9}
    expected = Records.from_data(folder, **options)
    assert expected.records == 700
    assert Records.from_data(folder, engine="spark", **options) == expected
    of_frame = Records.from_data(frame, **options)
    assert of_frame.population == expected.population
    assert of_frame.domain == expected.domain
    assert of_frame.records == 700
    options["domain"] = expected.domain
    again = Records.from_data(frame, **options)
    assert again == of_frame
    assert Records.from_data(frame, **(options | {"rng": 10})) != of_frame


def test_totals_take_a_frame(spark):
    frame = spark.range(400).selectExpr("id % 2 as a", "id div 200 as b")
    total = sp.total_leakage(frame, epsilon=1.0, mechanism="grr")
    assert (total.guarantee, total.kind) == ("exact", "certified")


def test_commands_count_and_analyse_in_the_session(spark, tmp_path):
    folder = written(categories(), tmp_path)
    done = run("count", folder, "-o", tmp_path / "all.pairs", "--engine", "spark")
    assert done.returncode == 0, done.stderr
    assert PairCounts.load(tmp_path / "all.pairs") == sp.count_pairs(folder)
    options = ["-m", "grr", "--guarantee", "exact", "--format", "json"]
    here = run("analyse", folder, *options, "--sample", 500)
    there = run("analyse", folder, *options, "--sample", 500, "--engine", "spark")
    assert there.returncode == 0, there.stderr
    totals = [json.loads(done.stdout)["totals"]["exact"] for done in (here, there)]
    assert totals[0] == totals[1]
    assert totals[0]["kind"] == "assumed"
    done = run("analyse", "adult", "--engine", "spark")
    assert done.returncode == 2
    assert "spark reads Parquet files, and adult is counted already" in done.stderr


@pytest.mark.slow
def test_the_command_starts_a_session_of_its_own(needs_spark, tmp_path):
    folder = written(categories(500), tmp_path)
    script = "from seepage.cli import main; main()"
    command = [sys.executable, "-c", script, "count", str(folder), "--engine", "spark"]
    output = tmp_path / "all.pairs"
    done = subprocess.run(
        [*command, "-o", str(output), "--master", "local[2]"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"500 records, 6 attributes -> {output}\n"
    assert "FutureWarning" not in done.stderr
    assert PairCounts.load(output) == sp.count_pairs(folder)
    missing = tmp_path / "none.pairs"
    done = subprocess.run(
        [*command, "-o", str(missing), "--master", "nowhere"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "seepage: Spark does not start at nowhere: Java did not start" in done.stderr
    assert not missing.exists()


def test_rare_values_are_pooled_as_by_the_local_engine(frame, folder):
    options = {"columns": ["kids", "sex", "code", "income"], "pool": 400}
    expected = sp.count_pairs(folder, **options)
    assert "(other)" in expected.domain["kids"].values
    assert Records.from_data(folder, engine="spark", **options).pairs() == expected
    columns = options["columns"][:3]
    domain = expected.domain
    options = {"columns": columns, "pool": 0.1333}
    assert sp.count_pairs(frame, **options) == sp.count_pairs(folder, **options)
    options = {"columns": [*columns, "income"], "domain": domain}
    assert sp.count_pairs(folder, engine="spark", **options) == expected
