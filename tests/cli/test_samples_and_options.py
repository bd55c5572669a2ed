"""Samples on the command line are called samples; options without effect are
rejected.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seepage as sp
from command import run

SAMPLED = "from a sample of 100 of 5,000 records: valid only if"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with one record that no small sample is likely to have, its counts, and a
    plan.
    """
    place = tmp_path_factory.mktemp("people")
    draw = np.random.default_rng(0)
    first = draw.choice(["x", "y"], 5000).astype(object)
    second = np.where(draw.random(5000) < 0.7, first, draw.choice(["x", "y"], 5000))
    first[0] = "rare"
    ages = draw.integers(0, 99, 5000)
    table = pa.table({"a": first.tolist(), "b": second.tolist(), "age": ages})
    pa.csv.write_csv(table, place / "t.csv")
    assert run("count", "t.csv", "-o", "t.pairs", cwd=place).returncode == 0
    plan = ("--guarantee", "independent", "--no-audit", "-o", "plan.json")
    assert run("calibrate", "t.csv", "--limit", 3, *plan, cwd=place).returncode == 0
    return place


def analyse(folder, *options):
    done = run("analyse", "t.csv", "--sample", 100, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("totals", ["worst", "independent,worst", "exact,witness"])
def test_the_text_of_a_sample_says_so(folder, totals):
    text = analyse(folder, "--guarantee", totals, "-m", "grr").stdout
    assert text.startswith("t.csv: sample of 100 of 5,000 records, 3 attributes\n")
    assert text.count(SAMPLED) == 1
    assert "this table" not in text
    assert "no record of the sample has 'rare' of 'a'" in text
    assert "no record has" not in text


def test_the_text_of_a_whole_table_does_not(folder):
    text = run(
        "analyse", "t.csv", "--guarantee", "exact", "-m", "grr", cwd=folder
    ).stdout
    assert text.startswith("t.csv: 5,000 records, 3 attributes\n")
    assert "in this table" in text
    assert "sample" not in text


def test_pair_counts_have_the_totals_that_need_no_records(folder):
    done = run("analyse", "t.pairs", "--guarantee", "all", "-m", "grr", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "worst (certified)" in done.stdout
    assert "guarantee 'exact' needs records" in done.stdout


def test_guarantees_are_named(folder):
    done = run("analyse", "t.csv", "--guarantee", "exakt", cwd=folder)
    assert done.stderr.startswith("seepage: --guarantee must be one of")


def test_json_and_csv_of_a_sample_say_so(folder):
    result = json.loads(
        analyse(folder, "--guarantee", "worst", "--format", "json").stdout
    )
    assert (result["records"], result["population"]) == (100, 5000)
    assert SAMPLED in result["totals"]["worst"]["notes"][0]
    done = analyse(folder, "--format", "csv")
    assert SAMPLED in done.stderr
    assert "sample" not in done.stdout
    whole = run("analyse", "t.csv", "--format", "json", cwd=folder)
    assert json.loads(whole.stdout)["population"] is None


@pytest.mark.parametrize("which", ["analysers", "mechanisms"])
def test_a_benchmark_of_a_sample_says_so(folder, tmp_path, which):
    counts = tmp_path / "sample.pairs"
    sample = sp.Records.from_data(folder / "t.csv", sample=100, rng=1)
    sample.pairs().select(["b", "age"]).save(counts)
    for form, stream in (("table", "stdout"), ("json", "stdout"), ("csv", "stderr")):
        done = run("benchmark", which, counts, "-e", 1, "--format", form)
        assert done.returncode == 0, done.stderr
        assert getattr(done, stream).count(SAMPLED) == 1


COUNTED = "has no effect: t.pairs is counted already"
SPARK = "reads Parquet files, and t.pairs is counted already"
WITHOUT_EFFECT = {
    "bins of counts": ("count t.pairs -o x --bins a=0,1,2", f"--bins {COUNTED}"),
    "missing in counts": ("count t.pairs -o x --missing drop", f"--missing {COUNTED}"),
    "markers of counts": (
        "analyse t.pairs --missing-marker ?",
        f"--missing-marker {COUNTED}",
    ),
    "delimiter of counts": ("analyse t.pairs --delimiter ;", f"--delimiter {COUNTED}"),
    "values of counts": (
        "simulate t.pairs -m grr --max-values 99",
        f"--max-values {COUNTED}",
    ),
    "domain of counts": ("count t.pairs -o x --domain t.pairs", f"--domain {COUNTED}"),
    "engine of counts": (
        "count t.pairs -o x --engine spark",
        f"--engine spark {SPARK}",
    ),
    "counts to calibrate": (
        "calibrate t.pairs --limit 3 --bins 4",
        f"--bins {COUNTED}",
    ),
}


@pytest.mark.parametrize("case", WITHOUT_EFFECT)
def test_an_option_without_effect_is_rejected(folder, case):
    command, message = WITHOUT_EFFECT[case]
    before = sorted(folder.iterdir())
    done = run(*command.split(), cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"seepage: {message}")
    assert done.stderr.count("\n") == 1
    assert not done.stdout
    assert sorted(folder.iterdir()) == before


def test_counts_still_have_columns_to_choose(folder, tmp_path):
    chosen = ("--columns", "b,a", "-o", tmp_path / "x.pairs")
    done = run("count", "t.pairs", *chosen, cwd=folder)
    assert done.stdout.startswith("5,000 records, 2 attributes -> ")


def test_settings_of_sampled_totals(folder):
    options = ["-m", "grr", "--guarantee", "sampled", "--people", 0]
    options += ["--reports", 2000, "--target-delta", 0.05, "--confidence", 0.9]
    done = run("analyse", "t.csv", *options, cwd=folder)
    assert "(delta 0.05, confidence 0.9)" in done.stdout, done.stderr


def test_a_message_names_the_option_that_was_given(folder):
    for command in ("analyse", "calibrate"):
        sampled = (
            "-m",
            "grr",
            "--limit",
            3,
            "--guarantee",
            "sampled",
            "--target-delta",
            5,
        )
        done = run(command, "t.csv", *sampled, cwd=folder)
        assert "seepage: --target-delta must be" in done.stderr


def test_settings_of_sampled_totals_need_sampled_totals(folder):
    done = run("analyse", "t.csv", "--reports", 2000, cwd=folder)
    assert done.returncode == 2
    assert "--reports has no effect" in done.stderr


def test_a_calibration_draws_so_many_reports(folder):
    options = ("-m", "grr", "--guarantee", "sampled", "--reports", 2000, "--no-audit")
    done = run("calibrate", "t.csv", "--limit", 3, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
