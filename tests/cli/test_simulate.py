"""`seepage simulate` as a user meets it, and what it keeps when it is stopped."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import command
import seepage as sp

SCRIPT = "import sys; from seepage.cli import main; main(sys.argv[1:])"


def run(*arguments):
    return command.run("simulate", *arguments)


FEW = ["adult", "--columns", "sex,race,income", "--surrogates", 99, "--seed", 7]


def test_the_table_names_direction_view_seed_and_interval():
    done = run(*FEW)
    assert done.returncode == 0, done.stderr
    assert "50 reports a record, seed 7; view: inferred; intervals for the table" in done.stdout
    assert "source -> target" in done.stdout
    assert "income -> sex" in done.stdout
    assert "95%" in done.stdout
    assert "p (Holm)" in done.stdout


def test_the_smallest_possible_p_value_is_said():
    done = run(*FEW)
    assert "cannot fall below 0.06" in done.stdout  # 6 pairs, 99 surrogates


def test_json_and_csv_hold_every_pair():
    result = json.loads(run(*FEW, "--format", "json").stdout)
    assert (result["seed"], result["replicas"], result["view"]) == (7, 50, "inferred")
    assert len(result["estimates"]) == 6
    rows = list(csv.DictReader(io.StringIO(run(*FEW, "--format", "csv").stdout)))
    for row, estimate in zip(rows, result["estimates"], strict=True):
        assert float(row["corrected"]) == estimate["corrected"]
        assert estimate["lower"] <= estimate["upper"]


def test_the_library_gives_the_same_numbers():
    pairs = sp.load_pairs("adult").select(["sex", "race", "income"])
    found = sp.estimate_leakage(pairs, mechanism="grr", epsilon=1.0, surrogates=99, seed=7)
    result = json.loads(run(*FEW, "--format", "json").stdout)["estimates"]
    for row in result:
        assert row["corrected"] == found[row["target"], row["source"]].corrected


def test_one_pair_can_be_chosen():
    rows = json.loads(run(*FEW, "--pair", "income->sex", "--format", "json").stdout)["estimates"]
    assert [(row["source"], row["target"]) for row in rows] == [("income", "sex")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pair", "income,sex"], "--pair must be SOURCE->TARGET"),
        (["--epsilon", "nan"], "epsilon must be a finite number"),
        (["--mechanism", "orr"], "did you mean 'grr'?"),
        (["--replicas", 0], "replicas"),
        (["--surrogates", -1], "surrogates"),
        (["--confidence", 2], "confidence"),
    ],
)
def test_bad_input_ends_in_one_line(arguments, message):
    done = run(*FEW, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_stopped_run_continues_with_the_same_numbers(tmp_path):
    checkpoint = tmp_path / "run.part"
    arguments = ["adult", "--surrogates", 3000, "--seed", 5, "--format", "json"]
    whole = run(*arguments)
    program = [sys.executable, "-c", SCRIPT, "simulate", *map(str, arguments)]
    started = subprocess.Popen(
        [*program, "--checkpoint", str(checkpoint)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and started.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(started.pid, signal.SIGINT)
    output, errors = started.communicate(timeout=60)
    if started.returncode != 0:
        assert started.returncode == 130
        assert errors.decode().strip() == "seepage: stopped"
        assert output == b""
    resumed = run(*arguments, "--checkpoint", checkpoint)
    assert resumed.stdout == whole.stdout
