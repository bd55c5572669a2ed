"""What `seepage analyse` says about limits, people, bins and ids."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from command import run


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """Return a file of three copies of one answer and a number."""
    rng = np.random.default_rng(1)
    answer = rng.integers(1, 3, 3_000)
    columns = dict.fromkeys(("a", "b", "c"), answer)
    path = tmp_path_factory.mktemp("copies") / "copies.csv"
    ids = np.arange(3_000)
    pa.csv.write_csv(
        pa.table(columns | {"weight": rng.normal(70, 9, 3_000), "user_id": ids}), path
    )
    return path


COLUMNS = ("--columns", "a,b,c", "-m", "grr")


def test_limits_without_a_page_say_who_is_within_over_and_not_certifiable(copies):
    for limit, totals, word in (
        (3.5, "exact", "within"),
        (2.5, "exact", "exceeded"),
        (2.5, "worst", "not certifiable"),
    ):
        done = run("analyse", copies, *COLUMNS, "--limit", limit, "--guarantee", totals)
        lines = [line.split() for line in done.stdout.splitlines()]
        for name in ("a", "b", "c"):
            [found] = [line for line in lines if line[:2] == [name, f"{limit:g}"]]
            assert " ".join(found).endswith(word)
        decision = "These budgets keep" if word == "within" else "Do not"
        assert done.stdout.splitlines()[5].startswith(decision)
        assert ("To settle it" in done.stdout) == (word == "not certifiable")
        assert done.stdout.count("nats: --format json") == 1
        assert f"{limit:g} nats ({'33.2x' if limit == 3.5 else '12.2x'})" in done.stdout


def test_what_is_the_same_in_all_rows_is_one_sentence(copies):
    """Six columns alike are one row, and constant cells one line above it."""
    done = run("analyse", "adult", "--limit", 3, "--guarantee", "worst")
    assert (
        "  each of 15: limit 3 nats (20.1x), at least 2.71x own report, at most "
        "3.27e6x worst, not cer" in (done.stdout)
    )
    assert "each of 15: own 2.72x, worst (certified) 3.27e6x" in done.stdout
    assert "  age  " not in done.stdout.split("How many times a report")[0]


@pytest.mark.parametrize("totals", ["worst", "exact"])
def test_limits_that_were_typed_as_odds_are_judged_in_odds(copies, totals):
    """Printed back as typed, beside odds that are rounded outwards."""
    columns = ("--columns", "a,b,c,weight", "-m", "grr")
    given = ("--limit", "12.2x", "--guarantee", totals)
    done = run("analyse", copies, *columns, *given)
    assert "2.5" not in done.stdout.partition("Strongest leaks")[0]
    table = done.stdout.partition("Limits: how many times")[2]
    assert "12.2x" in table
    bounds = {"worst": ["2.71x", "54.6x"], "exact": ["20.4x", "20.5x"]}
    rows = [line.split() for line in table.splitlines()]
    [found] = [row for row in rows if row[:2] == ["a", "12.2x"]]
    assert [word for word in found if word.endswith("x")][1:] == bounds[totals]


def test_a_comparison_prints_limits_as_typed(copies):
    done = run("compare", copies, copies, "--columns", "a,b,c", "--limit", "7.4x")
    rows = [line.split() for line in done.stdout.splitlines()]
    [row] = [row for row in rows if row[:1] == ["a"] and "7.4x" in row]
    assert row[-1] == "holds"
    assert row[-2].endswith("x")
    assert float(row[-2].removesuffix("x")) <= 7.4


def test_the_next_step_names_options(copies):
    bound = run(
        "analyse", copies, "--columns", "a,b,c", "--limit", 2.5, "--guarantee", "worst"
    )
    assert "(mechanism=" not in bound.stdout
    assert "(--guarantee all) and name the mechanism (--mechanism grr)." in bound.stdout
    last = run(
        "analyse",
        copies,
        *COLUMNS,
        "--limit",
        2.5,
        "--guarantee",
        "sampled",
        "--reports",
        20,
    )
    assert "To settle it, `seepage design " in last.stdout


def test_without_a_limit_the_last_line_is_the_design_of_the_same_table(
    copies, tmp_path
):
    done = run("analyse", copies, "--drop", "weight", "--person", "user_id")
    step = (
        f"Next: `seepage design {copies} --drop weight --person user_id --limit 7.4x` "
        "asks"
    )
    assert done.stdout.splitlines()[-1].startswith(f"No limit is set. {step}")
    run("count", copies, "--drop", "weight,user_id", "-o", tmp_path / "copies.pairs")
    counted = run(
        "analyse", tmp_path / "copies.pairs"
    )  # which have no records to design from
    assert (
        "Next: `seepage design DATA --limit 7.4x` (DATA: a file of the records"
        in counted.stdout
    )


def test_people_are_drawn_where_totals_need_records_or_when_asked_for(copies):
    head = "What people experience (1,000 drawn people; no guarantee)"
    assert head in run("analyse", copies, *COLUMNS, "--guarantee", "exact").stdout
    assert head not in run("analyse", copies, *COLUMNS).stdout
    assert (
        head
        not in run(
            "analyse", copies, *COLUMNS, "--guarantee", "exact", "--people", 0
        ).stdout
    )
    some = run("analyse", copies, *COLUMNS, "--people", 40).stdout
    assert "(40 drawn people" in some
    rejected = run("analyse", "adult", "--columns", "sex", "--people", 10)
    assert rejected.returncode == 2 or "10 drawn people" in rejected.stdout


def test_bins_and_ids_are_announced_in_one_line_and_files_are_named(copies, tmp_path):
    done = run("analyse", copies, "-o", tmp_path / "found.txt")
    assert done.stdout == ""
    assert done.stderr == (
        "left out, no answers: user_id (running number); to use them (--keep)\n"
        "numbers binned at deciles: weight (--bins chooses)\n"
        f"wrote {tmp_path / 'found.txt'}\n"
    )
    assert run("analyse", copies, *COLUMNS).stderr == ""
    chosen = run("analyse", copies, "--drop", "user_id", "--bins", "weight=width:4")
    assert chosen.stderr == ""


def test_equivalent_attributes_are_one_leak(copies):
    done = run("analyse", copies, *COLUMNS)
    assert "a and b and c determine each other: one finding" in done.stdout
    assert "Strongest leaks" not in done.stdout


def test_the_survey_of_the_documentation_is_written_as_a_file(tmp_path):
    done = run("datasets", "survey", "-o", tmp_path / "people.csv", "--people", 50)
    assert done.stdout.startswith("50 people -> ")
    assert len((tmp_path / "people.csv").read_text().splitlines()) == 51
