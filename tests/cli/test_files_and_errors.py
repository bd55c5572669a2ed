"""Files are checked before any work; every error is one line."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import seepage as sp
from command import run
from seepage.counting.spark import session
from seepage.datasets.catalogue import DATASETS
from seepage.datasets.published_file import Dataset

COLUMNS = ["coffee", "screen", "sleep"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table as text and Parquet, its counts, a plan, reports, a saved result."""
    place = tmp_path_factory.mktemp("made")
    people = sp.make_survey(500).select(COLUMNS)
    pyarrow.csv.write_csv(people, place / "t.csv")
    pyarrow.parquet.write_table(people, place / "t.parquet")
    plan = sp.calibrate(people, limit=3.0, guarantee="worst", mechanism="grr")
    plan.save(place / "plan.json")
    pyarrow.parquet.write_table(plan.perturb(people), place / "reports.parquet")
    sp.count_pairs(people).save(place / "t.pairs")
    run("analyse", "t.pairs", "--format", "json", "-o", "result.json", cwd=place)
    return place


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of the files, as the current folder."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(made, tmp_path, dirs_exist_ok=True)


def error_line(*arguments):
    """Return the one line of an error; no file may have changed."""
    before = {path: path.read_bytes() for path in _files()}
    done = run(*arguments)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert done.stderr.startswith("seepage: ")
    assert done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in _files()} == before
    return done.stderr


def _files():
    return [path for path in Path().iterdir() if path.is_file()]


WRITERS = [
    ("count", "t.csv", "-o"),
    ("merge", "t.pairs", "-o"),
    ("analyse", "t.pairs", "-o"),
    ("analyse", "t.pairs", "--report"),
    ("analyse", "t.pairs", "--chart"),
    ("calibrate", "t.pairs", "--limit", "3", "-o"),
    ("calibrate", "t.pairs", "--limit", "3", "--chart"),
    ("perturb", "t.csv", "--plan", "plan.json", "-o"),
    ("estimate", "reports.parquet", "--plan", "plan.json", "-o"),
    ("simulate", "t.pairs", "--surrogates", "0", "-o"),
    ("benchmark", "analysers", "t.pairs", "--chart"),
    ("report", "result.json", "-o"),
    ("stream", "t.pairs", "-o"),
]


@pytest.mark.posix
@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
def test_only_a_file_is_written_over(folder, command):
    os.mkfifo("pipe.svg")
    (folder / "inner.svg").mkdir()
    for output, words in [
        ("pipe.svg", "must be a file, got 'pipe.svg'"),
        ("inner.svg", "must be a file, got 'inner.svg'"),
        ("", "must be a file, got ''"),
        ("none/x.svg", "must exist, there is no folder 'none'"),
        ("t.csv/x.svg", "must exist, there is no folder 't.csv'"),
        ("x" * 300 + ".svg", "File name too long"),
    ]:
        assert words in error_line(*command, output)
    assert stat.S_ISFIFO((folder / "pipe.svg").stat().st_mode)


@pytest.mark.parametrize(
    "command",
    [
        ("count", "t.csv", "-o", "t.csv"),
        ("count", "*.csv", "-o", "t.csv"),
        ("analyse", "t.csv", "-o", "./t.csv"),
        ("analyse", "t.csv", "--report", "t.csv"),
        ("calibrate", "t.csv", "--limit", "3", "-o", "t.csv"),
        ("perturb", "t.csv", "--plan", "plan.json", "-o", "plan.json"),
        ("estimate", "reports.parquet", "--plan", "plan.json", "-o", "reports.parquet"),
        ("report", "result.json", "-o", "result.json"),
        ("merge", "t.pairs", "-o", "t.pairs"),
        ("count", "t.csv", "--domain", "t.pairs", "-o", "t.pairs"),
    ],
    ids=" ".join,
)
def test_nothing_is_written_over_what_is_read(folder, command):
    assert "must not be what is read" in error_line(*command)


def test_counts_beside_the_data_of_a_folder_are_made_again(folder):
    (folder / "data").mkdir()
    (folder / "t.csv").rename(folder / "data" / "t.csv")
    for _ in range(2):
        assert run("count", "data", "-o", "data/all.pairs").returncode == 0
    assert "must not be what is read" in error_line("count", "data", "-o", "data/t.csv")


def test_two_results_need_two_files(folder):
    line = error_line("analyse", "t.pairs", "--report", "x.html", "-o", "x.html")
    assert "got 'x.html' twice" in line


def test_a_folder_that_does_not_permit_it(folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "its folder does not permit it" in error_line(
        "count", "t.csv", "-o", "x.pairs"
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("analyse", ""), "what is read must have a name, got ''"),
        (("estimate", "reports.parquet", "--plan", ""), "must have a name"),
        (("analyse", "reports.parquet"), "must hold records, got reports or counts"),
        (("analyse", ".", "--columns", "sleep"), "all files must have one format"),
        (
            ("calibrate", "reports.parquet", "--limit", "3"),
            "must hold records, got reports",
        ),
        (
            ("perturb", "reports.parquet", "--plan", "plan.json", "-o", "x"),
            "must hold records",
        ),
        (("perturb", "t.pairs", "--plan", "plan.json", "-o", "x"), "must hold records"),
        (("merge", "t.pairs", "./t.pairs", "-o", "m"), "t.pairs is given twice"),
        (
            ("benchmark", "analysers", "t.pairs", "t.pairs"),
            "each DATA must be given once",
        ),
        (
            ("analyse", "t.csv", "--encoding", "nosuch"),
            "encoding that Python knows, got 'nosuch'",
        ),
        (
            ("analyse", "t.csv", "--delimiter", ""),
            "must be one ASCII character, got ''",
        ),
        (("analyse", "t.csv", "--bins", "3", "--bins", "4"), "each once, got '4' too"),
        (
            (
                "analyse",
                "t.pairs",
                "--epsilon-of",
                "sleep=1",
                "--epsilon-of",
                "sleep=2",
            ),
            "twice",
        ),
        (("analyse", "t.pairs", "--columns", ""), "there is no column left"),
        (
            ("analyse", "t.pairs", "--limit", "3", "--format", "csv"),
            "--limit has no effect: CSV has",
        ),
        (
            ("analyse", "t.csv", "--guarantee", "sampled", "--seed", "-1"),
            "-1 is not in the range",
        ),
        (
            ("benchmark", "mechanisms", "t.pairs", "--seed", "-1"),
            "-1 is not in the range",
        ),
        (
            ("analyse", "t.pairs", "-e", "1,5"),
            "'1,5' is not a valid float; see `seepage analyse",
        ),
        (
            ("count", "t.csv", "t.pairs", "-o", "new.pairs"),
            "as a folder or a glob in quotes",
        ),
        (("analyse",), "Missing argument 'DATA'; see `seepage analyse --help`"),
        (
            ("analyss", "t.csv"),
            "there is no command 'analyss'; did you mean 'analyse'?",
        ),
        (("datasets", "nosuch"), "No such command 'nosuch'"),
        (
            ("calibrate", "t.csv", "--limit", "3", "--importance", "sleep=2"),
            "--importance",
        ),
        (
            (
                "estimate",
                "reports.parquet",
                "--plan",
                "plan.json",
                "--family",
                "linear",
            ),
            "--regress",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_is_one_line(folder, command, words):
    assert words in error_line(*command)


def test_text_in_another_encoding(folder):
    (folder / "latin.csv").write_bytes("who,b\nMüller,1\nMaier,2\n".encode("latin-1"))
    assert "is not text in the encoding expected" in error_line(
        "count", "latin.csv", "-o", "x"
    )
    assert run("count", "latin.csv", "--encoding", "latin-1", "-o", "x").returncode == 0
    assert sp.load_pairs("x").domain["who"].values == ("Maier", "Müller")


@pytest.mark.parametrize("data", ["t.pairs", "adult", "t.csv", "none.parquet"])
@pytest.mark.parametrize(
    "command", [("analyse",), ("count", "-o", "x"), ("calibrate", "--limit", "2")]
)
def test_spark_is_not_started_for_what_it_cannot_read(
    folder, monkeypatch, command, data
):
    def start(master):
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "spark_session", start)
    line = error_line(*command, data, "--engine", "spark")
    assert (
        "--engine spark reads Parquet files" in line
        or "there is no file or folder" in line
    )


def test_files_of_one_name_are_distinguished(folder):
    (folder / "other").mkdir()
    sp.load_pairs("t.pairs").select(["coffee", "sleep"]).save("other/t.pairs")
    done = run(
        "benchmark", "analysers", "t.pairs", "other/t.pairs", "--analyser", "its"
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == [
        "t.pairs",
        "other/t.pairs",
    ]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full")
@pytest.mark.parametrize(
    "command", [["analyse", "adult", "--columns", "sex,race"], ["--help"], ["datasets"]]
)
def test_a_full_disk_behind_the_screen(command):
    """The shell opens the device: only what is printed goes there."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from seepage.cli import main; main()", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "seepage: cannot write the result: No space left on device\n"


DROPPED = (
    "fnlwgt,workclass,education,education-num,marital-status,occupation,race,"
    "native-country"
)


@pytest.mark.parametrize("options", [("--columns", "sex,age"), ("--drop", DROPPED)])
def test_a_dataset_keeps_its_own_bins(tmp_path, monkeypatch, options):
    """Columns are chosen from records as from the bundled counts, with the same
    bins.
    """
    if not sp.dataset("adult").at_hand:
        pytest.skip("the records of Adult are not at hand")
    monkeypatch.chdir(tmp_path)
    totals = ("--guarantee", "merged", *options)
    as_json = ("--format", "json")
    records = run("analyse", "adult", *totals, *as_json)
    assert records.returncode == 0, records.stderr
    counts = run("analyse", "adult", "--guarantee", "worst", *totals[2:], *as_json)
    digests = [json.loads(done.stdout)["digest"] for done in (records, counts)]
    assert digests[0] == digests[1]


def test_a_dataset_keeps_its_own_settings(monkeypatch):
    """The defaults of options are no settings of the user."""
    table = pa.table({"a": ["x", None, "y"], "b": ["p", "q", "?"], "n": [1, 2, 3]})
    own = {"missing": "drop", "missing_markers": ["?"], "max_values": 5, "bins": 3}
    made = Dataset("madeup", "t", (), lambda: table, "l", "c", "a", table=own)
    monkeypatch.setitem(DATASETS, "madeup", made)
    command = ("analyse", "madeup", "--guarantee", "merged", "--columns", "a,b")
    assert run(*command).stdout.startswith("madeup: 1 records, 2 attributes")
    assert run(*command, "--missing-marker", "none").stdout.startswith(
        "madeup: 2 records"
    )


def test_a_budget_on_the_screen_is_not_above_the_plan(folder):
    """Whoever copies it from there must not exceed the limit: a third of 2 reads
    0.6666.
    """
    done = run("calibrate", "t.csv", "--limit", 2, "--guarantee", "worst")
    assert [line.split()[2] for line in done.stdout.splitlines()[4:7]] == ["0.6666"] * 3


def test_ways_out_of_too_many_values_are_options(tmp_path):
    table = tmp_path / "ids.csv"
    table.write_text("id,x\n" + "".join(f"a{i},{i % 2}\n" for i in range(1200)))
    done = run("analyse", table, "--epsilon", "1", "--columns", "id,x")
    assert "drop it (--drop) or raise the limit (--max-values)" in done.stderr
    assert run("analyse", table, "--epsilon", "1", "--drop", "id").returncode == 0


def test_a_name_that_holds_a_parameter_is_left_as_it_is(tmp_path):
    table = tmp_path / "ids.csv"
    table.write_text(
        "id (drop) x,x\n" + "".join(f"a{i},{i % 2}\n" for i in range(1200))
    )
    names = "--columns", "id (drop) x,x"
    assert (
        "column 'id (drop) x' has"
        in run("analyse", table, "--epsilon", "1", *names).stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("count", "t.csv", "--bins", "3", "--domain", "t.pairs"),
            "--bins and --domain exclude",
        ),
        (
            ("count", "t.csv", "--pool", "3", "--domain", "t.pairs"),
            "--pool and --domain exclude",
        ),
        (
            ("count", "t.csv", "--bins", "2000"),
            "--bins must be at most --max-values (1,000)",
        ),
        (
            ("count", "words.csv", "--bins", "x=0,1"),
            "means missing, list it (--missing-marker)",
        ),
        (
            ("benchmark", "mechanisms", "t.csv", "-m", "gr"),
            "--mechanism must be one of grr, ",
        ),
        (
            ("design", "t.pairs", "--limit", "2"),
            "DATA must have records, and has pair counts only",
        ),
        (
            ("benchmark", "analysers", "t.csv", "--analyser", "x"),
            "--analyser must be one of spl",
        ),
        (
            ("benchmark", "analysers", "t.csv", "--reference", "x"),
            "--reference must be one of spl",
        ),
        (
            (
                "perturb",
                "t.csv",
                "--plan",
                "plan.json",
                "--identifier",
                "cofee",
                "--key-file",
                "k",
            ),
            "reports are derived from 'cofee', and the table has no such column; did "
            "you mean",
        ),
    ],
)
def test_errors_name_options_and_no_parameters(folder, arguments, message):
    Path("words.csv").write_text("x,y\nten,1\n2,0\n")
    assert message in error_line(*arguments, "-o", "new.parquet")


def test_a_folder_without_a_name_is_rejected(folder):
    """It would be the current folder."""
    assert (
        error_line("client", "plan.json", "-o", "")
        == "seepage: --output must be a folder, got ''\n"
    )


def test_prose_that_begins_like_an_argument_is_not_taken_for_it(folder):
    for name, column in (("a", "x"), ("b", "y")):
        sp.count_pairs(pa.table({column: ["0", "1"], "z": ["0", "1"]})).save(
            f"{name}.pairs"
        )
    message = error_line("merge", "a.pairs", "b.pairs", "-o", "m.pairs")
    assert message.startswith(
        "seepage: counts of different attributes cannot be merged"
    )
