"""`seepage simulate` as a user meets it."""

import csv
import io
import json

import pytest

import command
import seepage as sp


def run(*arguments):
    return command.run("simulate", *arguments)


FEW = ["adult", "--columns", "sex,race,income", "--surrogates", 99, "--seed", 7]


def test_the_table_names_direction_view_seed_and_interval():
    done = run(*FEW)
    assert done.returncode == 0, done.stderr
    assert (
        "50 reports per record, seed 7; view: inferred; intervals for the table"
        in done.stdout
    )
    assert "source -> target" in done.stdout
    assert "income -> sex" in done.stdout
    assert "95%" in done.stdout


def test_the_mechanism_its_budget_and_its_delta_are_named():
    shown = run(*FEW).stdout
    assert "a report of grr, epsilon 1 changes the odds, estimated" in shown
    assert shown.count("nats") == 1
    assert "(the same in nats: --format json)" in shown
    approximate = [*FEW, "--mechanism", "approximate-grr", "--delta", 0.001]
    done = run(*approximate)
    assert "of approximate-grr, epsilon 1, delta 0.001 changes the odds" in done.stdout
    rows = list(
        csv.DictReader(io.StringIO(run(*approximate, "--format", "csv").stdout))
    )
    assert [float(row["delta"]) for row in rows] == pytest.approx(6 * [0.001])
    assert "delta" not in run(*FEW, "--format", "csv").stdout


def test_the_smallest_possible_p_value_is_said():
    done = run(*FEW)
    assert (
        "of one pair each: 6 of them, none below 0.01 with 99 surrogates" in done.stdout
    )


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
    found = sp.estimate_leakage(
        pairs, mechanism="grr", epsilon=1.0, surrogates=99, rng=7
    )
    result = json.loads(run(*FEW, "--format", "json").stdout)["estimates"]
    for row in result:
        assert row["corrected"] == found[row["target"], row["source"]].corrected


def test_one_pair_can_be_chosen():
    rows = json.loads(run(*FEW, "--pair", "income->sex", "--format", "json").stdout)[
        "estimates"
    ]
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


def test_a_run_that_is_stopped_ends_in_one_line(monkeypatch):
    def stopped(*data, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "seepage.benchmarks.statistical.estimate_leakage.estimate_leakage", stopped
    )
    done = run(*FEW)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (
        130,
        "",
        "seepage: stopped",
    )
