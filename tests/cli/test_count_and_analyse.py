"""`seepage count` and `seepage analyse` as a user meets them."""

import csv
import io
import json
import math
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import seepage as sp
from command import run


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    sex = rng.choice(["F", "M"], 400)
    job = np.where(
        rng.random(400) < 0.7, np.where(sex == "F", "nurse", "smith"), "clerk"
    )
    return pa.table(
        {
            "sex": sex,
            "job": job,
            "age": rng.integers(18, 90, 400),
            "height": rng.normal(170, 10, 400).round(1),
            "land": ["here"] * 400,
        }
    )


@pytest.fixture
def survey(people, tmp_path):
    path = tmp_path / "survey.csv"
    pa.csv.write_csv(people, path)
    return path


def test_analyse_adult_prints_matrix_leaks_and_totals():
    done = run("analyse", "adult", "--epsilon", 1)
    assert done.returncode == 0, done.stderr
    assert "48,842 records, 15 attributes" in done.stdout
    assert "View: report (the adversary keeps the whole report)" in done.stdout
    assert "any mechanism (upper bound), epsilon 1" in done.stdout
    assert "-> " in done.stdout
    assert "of at most 2.72x" in done.stdout
    assert "rows are targets, columns are sources" in done.stdout
    assert "independent (assumed)" in done.stdout
    assert "worst (certified)" in done.stdout


def test_it_runs_as_a_program():
    script = "from seepage.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        script,
        "analyse",
        "adult",
        "--columns",
        "sex,race",
    ]
    done = subprocess.run([*command, "--epsilon", "1"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "48,842 records" in done.stdout
    rejected = subprocess.run(
        [*command, "--epsilon", "nan"], capture_output=True, text=True
    )
    assert rejected.returncode == 2
    assert rejected.stderr.startswith("seepage: --epsilon must be")


def test_sentences_name_direction_and_witness():
    done = run("analyse", "adult", "-e", 1, "-m", "grr", "--columns", "occupation,sex")
    assert "occupation -> sex: 1.28x of at most 2.72x" in done.stdout
    favoured = "a report that favours occupation Adm-clerical is 1.28 times likelier"
    assert f"{favoured} under sex Female than under sex Male" in done.stdout


def test_json_has_the_agreed_form():
    done = run(
        "analyse", "adult", "--epsilon", 1, "--mechanism", "grr", "--format", "json"
    )
    result = json.loads(done.stdout)
    pairs = sp.load_pairs("adult")
    expected = sp.leakage_matrix(pairs, 1.0, mechanism="grr")
    assert result["attributes"] == list(pairs.domain.names)
    assert (result["epsilon"], result["mechanism"], result["view"]) == (
        1.0,
        "grr",
        "report",
    )
    assert np.array_equal(result["cpl"], expected.values)
    assert result["tcpl"] == expected.tcpl
    assert set(result["totals"]) == {"independent", "worst"}
    assert result["direction"] == "rows targets, columns sources"
    assert result["digest"] == pairs.digest


def test_csv_is_one_line_for_each_ordered_pair():
    done = run("analyse", "adult", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 15 * 14
    matrix = sp.leakage_matrix(sp.load_pairs("adult"), 1.0)
    for row in rows[:40]:
        assert float(row["leakage"]) == matrix[row["target"], row["source"]].value


def test_count_then_analyse_equals_analysing_the_table(survey, tmp_path):
    pairs = tmp_path / "survey.pairs"
    bins = ["--bins", "age=18,40,60,90", "--bins", "height=quantile:4"]
    done = run("count", survey, "--output", pairs, *bins)
    assert done.returncode == 0, done.stderr
    assert "400 records, 5 attributes" in done.stdout
    assert "land is constant" in done.stdout
    counted = run("analyse", pairs, "--format", "json")
    names = ",".join(sp.load_pairs(pairs).domain.names)  # constants too
    direct = run("analyse", survey, *bins, "--columns", names, "--format", "json")
    first = json.loads(counted.stdout)
    second = json.loads(direct.stdout)
    assert first.pop("name") != second.pop("name")
    assert first.pop("command") == second.pop("command")
    assert (first.pop("table"), second.pop("table")[:2]) == (
        ["DATA"],
        [str(survey), "--columns"],
    )
    for found in (first, second):
        del found["verdict"]["settle"]  # it names the file
        del found["checksum"]  # of name and table too
    assert first == second
    assert sp.load_pairs(pairs).domain["age"].values == (
        "[18, 40)",
        "[40, 60)",
        "[60, 90]",
    )


def test_columns_can_be_chosen_and_dropped(survey, tmp_path):
    done = run(
        "analyse",
        survey,
        "--columns",
        "sex,job,age",
        "--drop",
        "age",
        "--format",
        "json",
    )
    assert json.loads(done.stdout)["attributes"] == ["sex", "job"]


def test_settings_of_single_attributes():
    arguments = ["adult", "--columns", "sex,income,race", "-e", 1, "--format", "json"]
    done = run(
        "analyse", *arguments, "--epsilon-of", "sex=0.5", "--mechanism-of", "race=oue"
    )
    result = json.loads(done.stdout)
    assert result["epsilon"] == [0.5, 1.0, 1.0]
    assert result["mechanism"] == [None, None, "oue"]


def test_the_output_file_is_whole(tmp_path):
    output = tmp_path / "result.json"
    assert run("analyse", "adult", "--format", "json", "-o", output).returncode == 0
    assert json.loads(output.read_text(encoding="utf-8"))["records"] == 48_842
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_help_has_examples():
    for command in ("analyse", "count", "benchmark", "datasets"):
        done = run(command, "--help")
        assert done.returncode == 0
        assert "Examples:" in done.stdout


def _write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


BAD_CALLS = {
    "nan epsilon": (
        ["adult", "-e", "nan"],
        "epsilon must be a finite number of at least 0",
    ),
    "negative epsilon": (
        ["adult", "-e", "-1"],
        "epsilon must be a finite number of at least 0",
    ),
    "infinite epsilon": (
        ["adult", "-e", "inf"],
        "epsilon must be a finite number of at least 0",
    ),
    "delta of 1": (["adult", "--delta", "1"], "delta must be at least 0 and below 1"),
    "negative delta": (
        ["adult", "--delta", "-0.1"],
        "delta must be at least 0 and below 1",
    ),
    "unknown mechanism": (["adult", "-m", "grrr"], "did you mean 'grr'?"),
    "unknown column": (["adult", "--columns", "sax,income"], "did you mean 'sex'?"),
    "unknown attribute": (["adult", "--epsilon-of", "sexx=1"], "did you mean 'sex'?"),
    "bad setting": (
        ["adult", "--epsilon-of", "sex"],
        "--epsilon-of must be NAME=VALUE",
    ),
    "no number": (
        ["adult", "--epsilon-of", "sex=much"],
        "--epsilon-of sex must be a number",
    ),
    "unknown data": (["adlut"], "did you mean 'adult'?"),
    "no such file": (["nowhere/table.csv"], "nowhere/table.csv"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_calls_end_in_one_clear_line(case, tmp_path):
    arguments, message = BAD_CALLS[case]
    output = tmp_path / "out.json"
    done = run("analyse", *arguments, "--output", output, cwd=tmp_path)
    _check_error(done, message)
    assert not list(tmp_path.iterdir())


BAD_FILES = {
    "empty.csv": ("", "empty"),
    "header.csv": ("a,b\n", "no records"),
    "ragged.csv": ("a,b\n1,2\n3\n4,5\n", "record 2"),
    "broken.parquet": (b"PAR1 this is not a table PAR1", "broken.parquet"),
    "broken.csv.gz": (b"\x1f\x8b not gzip", "broken.csv.gz"),
    "twice.csv": ("a,a\n1,2\n", "'a'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_end_in_one_clear_line(name, tmp_path):
    content, message = BAD_FILES[name]
    path = _write(tmp_path, name, content)
    done = run("count", path, "--output", tmp_path / "out.pairs")
    _check_error(done, message)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_folder_without_data_is_rejected(tmp_path):
    (tmp_path / "empty").mkdir()
    done = run("count", tmp_path / "empty", "-o", tmp_path / "out.pairs")
    _check_error(done, "empty")


def test_too_many_values_name_the_column_and_the_ways_out(tmp_path):
    rows = "\n".join(f"person{i},{i % 2}" for i in range(1500))
    path = _write(tmp_path, "ids.csv", f"name,flag\n{rows}\n")
    done = run("count", path, "-o", tmp_path / "out.pairs")
    _check_error(done, "'name'")
    assert "drop" in done.stderr


def test_an_output_folder_must_exist(tmp_path):
    done = run("analyse", "adult", "-o", tmp_path / "none" / "out.json")
    _check_error(done, "the folder of --output must exist")


def _check_error(done, message):
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stdout == ""


def test_limits_of_leaks_are_rounded_outwards():
    columns = ["sex", "race", "income", "education"]
    printed = run(
        "analyse", "adult", "--columns", ",".join(columns), "--epsilon", 1
    ).stdout
    found = re.findall(r"([\d.]+)x to ([\d.]+)x in the population", printed)
    leaks = sp.analyse("adult", 1.0, columns=columns).leaks(len(found))
    assert len(leaks) > 3
    for leak, (lower, upper) in zip(leaks, found, strict=True):
        least = math.exp(leak.lower)
        most = math.exp(leak.upper)
        assert least - 0.01 < float(lower) <= least
        assert most <= float(upper) < most + 0.01


def test_analyze_is_understood():
    british, american = (
        run(name, "adult", "--columns", "sex,race") for name in SPELLINGS
    )
    assert british.stdout == american.stdout != ""
    assert "analyze" not in run("--help").stdout


SPELLINGS = ("analyse", "analyze")


def test_many_columns_print_few_lines_and_a_short_page(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({f"q{i}": rng.integers(0, 2, 300) for i in range(70)})
    pa.parquet.write_table(table, tmp_path / "wide.parquet")
    page = tmp_path / "page.html"
    done = run(
        "analyse",
        tmp_path / "wide.parquet",
        "-m",
        "grr",
        "--limit",
        3,
        "--report",
        page,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) < 130
    assert done.stdout.count("  ... 30 more; --format json has all") == 2
    assert "56 more questions are in the table under Details." in page.read_text()
