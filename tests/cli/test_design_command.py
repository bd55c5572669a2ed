"""`seepage design` as a user meets it."""

import json
import math

import pyarrow as pa
import pyarrow.csv
import pytest

import seepage as sp
from command import run
from seepage._core.odds import limit_in_nats
from seepage._core.text import ceiling_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("design")
    columns = ["age", "income", "coffee", "sleep"]
    table = sp.make_survey(2000, rng=1)
    frame = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table)
    pa.csv.write_csv(frame.select(columns), place / "survey.csv")
    return place


def test_a_wanted_mean_without_importance_has_an_infinite_error(folder):
    """No form need ask for it, and infinity is a text in the settings of a plan."""
    options = "--scope", "table", "--shape", "never", "--effort", 0.02, "--details"
    wanted = "--want", "mean age = 1, 2, 3", "--importance", "age=0"
    done = run("design", "survey.csv", "--limit", 2, *options, *wanted, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "error inf" in done.stdout


def test_a_design_is_printed_and_saved(folder):
    done = run(
        *(
            "design",
            "survey.csv",
            "--limit",
            2,
            "--effort",
            0.05,
            "--scope",
            "table",
            "--details",
            "-o",
            "plan.json",
        ),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    for word in (
        "share",
        "all answers",
        "largest total",
        "equal split",
        "this plan",
        "certified",
    ):
        assert word in done.stdout
    assert done.stdout.startswith("Ask ")
    assert done.stdout.splitlines()[1].startswith(
        "Each share will be known to within 3 percentage points, 19 times of 20; all "
    )
    assert "for this table only" in done.stdout
    assert (
        "for the people in this table, and for them only; --scope population"
        in done.stdout
    )
    plan = sp.Plan.load(folder / "plan.json")
    assert plan.totals.max() <= 2
    assert plan.scope == "table"
    assert plan.check(folder / "survey.csv").within


def test_a_design_is_for_the_population_by_default(folder):
    done = run(
        *("design", "survey.csv", "--limit", 2, "--effort", 0.05, "--confidence", 0.9),
        *("-o", "people.json", "--details"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "for the population at 0.9" in done.stdout
    needed = sp.Plan.load(folder / "people.json").people_for(0.03)
    asked = int(done.stdout.split()[1].replace(",", ""))
    assert needed <= asked <= needed * 1.01
    text = (folder / "people.json").read_text()
    edited = text.replace('"confidence": 0.9', '"confidence": 0.99', 1)
    assert edited != text
    (folder / "edited.json").write_text(edited)
    rejected = run("report", "edited.json", "-o", "edited.html", cwd=folder)
    assert rejected.returncode == 2
    assert "was edited" in rejected.stderr
    assert "plan anew" in rejected.stderr
    assert "for this table only" not in done.stdout
    assert "one record per person" in done.stdout
    plan = sp.Plan.load(folder / "people.json")
    assert (plan.scope, plan.confidence) == ("population", 0.9)


def test_a_sample_is_enough_for_the_population_only(folder):
    arguments = (
        "design",
        "survey.csv",
        "--limit",
        2,
        "--effort",
        0.05,
        "--sample",
        1000,
        "--details",
    )
    done = run(*arguments, "-o", "sample.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "1,000 records (a random sample of 1," in done.stdout
    assert sp.Plan.load(folder / "sample.json").provenance.population == 1600
    done = run(*arguments, "--scope", "table", cwd=folder)
    assert done.returncode == 2
    assert "need all records" in done.stderr
    assert "give the table itself, or --scope population" in done.stderr


def test_options_reach_the_design(folder):
    done = run(
        *(
            "design",
            "survey.csv",
            "--limit",
            2,
            "--limit-of",
            "age=none",
            "--effort",
            0.05,
        ),
        *("--known", "income", "--never", "age,sleep", "--record-limit", 3),
        *("--want", "coffee x sleep", "--importance", "age=2", "--format", "json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    plan = found["plan"]
    settings = plan["provenance"]["settings"]
    assert (settings["known"], plan["scope"]) == (["income"], "population")
    assert plan["attributes"][0].get("limit") is None
    for form in plan["forms"]:
        asked = {
            question["attribute"]: question for question in form["channel"]["questions"]
        }
        assert sum(question["epsilon"] for question in asked.values()) <= 3
        assert not {"age", "sleep"} <= set(asked)
    assert 0 < settings["design"]["wanted"]["coffee x sleep"] < 1


def test_the_page_of_a_plan_comes_with_it_or_later_and_replaces_itself(folder):
    for _ in range(2):
        done = run(
            *(
                "design",
                "survey.csv",
                "--limit",
                2,
                "--shape",
                "never",
                "-o",
                "paged.json",
            ),
            *("--report", "paged.html"),
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr
    assert "wrote paged.html" in done.stderr
    command = done.stdout.splitlines()[-1].partition("seepage ")[2]
    asked = run(*command.partition(" writes the questionnaire")[0].split(), cwd=folder)
    assert asked.returncode == 0, asked.stderr
    assert "<!doctype html" in (folder / "survey.html").read_text()[:50].lower()
    page = (folder / "paged.html").read_text()
    assert "<bdi>survey.csv</bdi>" in page
    later = run("report", "paged.json", "-o", "later.html", cwd=folder)
    assert later.stdout == "wrote later.html\n"
    assert (folder / "later.html").read_text() == page.replace(
        "survey.csv", "paged.json"
    )


def test_a_damaged_plan_is_named_as_such(folder):
    (folder / "odd.json").write_text('{"format": "seepage plan", "version": 1}')
    done = run("report", "odd.json", "-o", "odd.html", cwd=folder)
    assert done.returncode == 2
    assert "odd.json is no valid plan" in done.stderr


def test_perturbing_by_an_assumption_says_so(folder):
    made = run(
        *(
            "calibrate",
            "survey.csv",
            "--limit",
            2,
            "--guarantee",
            "independent",
            "--no-audit",
        ),
        *("-o", "assumed.json"),
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr
    done = run(
        "perturb", "survey.csv", "--plan", "assumed.json", "-o", "a.parquet", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "the plan rests on an assumption (independent)" in done.stderr
    wanted = ("-o", "proven.json", "--report", "proven.html")
    made = run("calibrate", "survey.csv", "--limit", 2, *wanted, cwd=folder)
    assert "wrote proven.html" in made.stderr
    assert "<bdi>survey.csv</bdi>" in (folder / "proven.html").read_text()
    done = run(
        "perturb", "survey.csv", "--plan", "proven.json", "-o", "b.parquet", cwd=folder
    )
    assert done.returncode == 0
    assert "assumption" not in done.stderr


def test_the_forms_are_drawn(folder):
    done = run(
        *("design", "survey.csv", "--limit", 2, "--shape", "never", "--chart", "c.svg"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "sleep" in (folder / "c.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--limit", 0), "limit must be above 0"),
        ((), "--limit must be given"),
        (("--limit", 1, "--never", "age,nobody"), "nobody"),
        (("--limit", 1, "--limit-of", "age=x"), "--limit-of age must be a number"),
        (
            ("--limit", 1, "--importance", "age=-1"),
            "--importance must be a finite number",
        ),
        (("--limit", 1, "--never", "age"), "each of --never must be two different"),
        (("--limit", 1, "--person", "nobody"), "--person: there is no column 'nobody'"),
        (
            ("--limit", 0.01, "--public", "age"),
            "the public attributes alone (age) may be",
        ),
        (("--limit", 1, "--confidence", 1), "confidence must be"),
    ],
)
def test_bad_input_is_one_line(folder, arguments, message):
    done = run("design", "survey.csv", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_chart_that_cannot_be_drawn_ends_it_before_the_search(folder):
    done = run(
        *(
            "design",
            "survey.csv",
            "--limit",
            1,
            "-o",
            "unmade.json",
            "--chart",
            "c.gif",
        ),
        cwd=folder,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "must end in .svg" in done.stderr
    assert not (folder / "unmade.json").exists()


@pytest.mark.parametrize(
    ("total", "shown"),
    [(2.0, "2.0000"), (1.1, "1.1000"), (1.98761, "1.9877"), (math.inf, "inf")],
)
def test_totals_are_shown_rounded_up(total, shown):
    assert ceiling_text(total) == shown


def test_a_plan_that_is_not_saved_is_said_to_be_lost(folder):
    arguments = ("design", "survey.csv", "--limit", 2, "--effort", 0.02)
    assert (
        "the plan was not saved: --output plan.json keeps it"
        in run(*arguments, cwd=folder).stderr
    )
    kept = run(*arguments, "-o", "kept.json", cwd=folder)
    assert "not saved" not in kept.stderr


def test_several_limits_are_compared(folder):
    asked = (
        "design",
        "survey.csv",
        "--limits",
        "1,2",
        "--effort",
        0.05,
        "--shape",
        "never",
    )
    done = run(*asked, "--chart", "limits.svg", cwd=folder)
    assert done.returncode == 0, done.stderr
    head, names, first, second, keep, *_ = done.stdout.splitlines()
    assert "2 limits, all of which hold together for the population at 0.95" in head
    assert "people for 3 points" in names
    assert "odds of two sets of answers" in names
    assert first.split()[:2] == ["2.8", "times"]
    assert second.split()[:2] == ["7.4", "times"]
    assert "--limit 2 --confidence 0.975 -o plan.json" in keep
    assert (folder / "limits.svg").stat().st_size > 1000
    for more, complaint in (
        (("--limit", 3), "--limits gives several"),
        (("-o", "kept.json"), "--limit designs the plan to keep"),
    ):
        refused = run(*asked, *more, cwd=folder)
        assert refused.returncode == 2
        assert complaint in refused.stderr


def test_merged_answers_are_not_called_deciles(tmp_path):
    heights = pa.array(range(4000))
    pa.csv.write_csv(
        pa.table({"height": heights, "coffee": ["no", "yes"] * 2000}),
        tmp_path / "t.csv",
    )
    words = ["t.csv", "--columns", "height,coffee", "--limit", 2, "--effort", 0.02]
    merged, as_is = (
        run("design", *words, *more, cwd=tmp_path)
        for more in (["--details"], ["--answers", "as-is"])
    )
    assert "height: up to" in merged.stdout
    assert "deciles" not in merged.stderr
    assert "numbers binned at deciles: height" in as_is.stderr


def test_a_design_is_one_screen_and_prints_the_limit_as_typed(folder):
    options = "survey.csv", "--limit", "6.5x", "--effort", "0.05"
    done = run("design", *options, "-o", "screen.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert "at most 6.5 times." in done.stdout
    assert "nats" not in done.stdout
    assert (
        lines[-1] == "Next: seepage report screen.json -o plan.html  (the page to sign)"
    )
    plan = sp.Plan.load(folder / "screen.json")
    assert {planned.limit for planned in plan.attributes} == {limit_in_nats("6.5x")}
