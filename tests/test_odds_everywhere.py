"""What a person reads of a result are odds; arrays, JSON and CSV keep nats."""

import math
import re

import pytest

import seepage as sp
from command import run
from seepage._core.odds import odds_above, odds_below
from seepage.totals.stream import stream_leakage

COLUMNS = ["coffee", "screen", "sleep"]


@pytest.fixture(scope="module")
def people():
    """Return a small survey."""
    return sp.make_survey(2_000, rng=1).select(COLUMNS)


@pytest.fixture(scope="module")
def results(people):
    """Return one result of each kind that says how much is told."""
    analysis = sp.analyse(
        people, 1.0, mechanism="grr", guarantee="all", limit="7.4x", uncertainty=0.02
    )
    plan = sp.calibrate(people, "7.4x", guarantee="worst")
    other = sp.make_survey(2_000, rng=2).select(COLUMNS)
    return {
        "analysis": analysis,
        "matrix": analysis.matrix,
        "intervals": analysis.matrix.interval(),
        "totals": analysis.totals,
        "total": analysis.totals["exact"],
        "curve": analysis.uncertainty_curve(),
        "plan": plan,
        "check": plan.check(other),
        "comparison": sp.compare_tables(people, other),
        "stream": stream_leakage(people, 0.5),
        "audit": sp.audit({"k": 2, "keep": 0.8}, claim=1.0),
    }


KINDS = (
    "analysis",
    "totals",
    "total",
    "curve",
    "plan",
    "comparison",
    "stream",
    "audit",
)
"""Results whose one line states how much is told."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_one_line_says_odds(results, kind):
    line = repr(results[kind])
    assert re.search(r"\dx|odds change", line), line
    assert "nats" not in line


@pytest.mark.parametrize("kind", ["intervals", "totals", "total", "curve", "stream"])
def test_a_notebook_shows_odds_and_the_columns_keep_nats(results, kind):
    result = results[kind]
    shown = result._repr_html_()
    assert "nats" not in shown
    assert re.search(r">[\d.]+x<", shown)
    for name, cells in result._columns().items():
        if name in ("leakage", "total", "largest_total"):
            assert all(isinstance(cell, float) for cell in cells)


def test_a_lower_bound_is_rounded_down_and_others_up(results):
    totals = results["totals"]
    witness = float(totals["witness"].values.max())
    worst = float(totals["worst"].values.max())
    assert f"witness {odds_below(witness)}" in repr(totals)
    assert f"worst {odds_above(worst)}" in repr(totals)
    assert float(odds_below(witness)[:-1]) <= math.exp(witness)
    assert float(odds_above(worst)[:-1]) >= math.exp(worst)


COMMANDS = (
    ("analyse", "adult", "--columns", "sex,income", "-m", "grr"),
    ("analyse", "adult", "--columns", "sex,income", "--limit", "7.4x"),
    ("compare", "adult", "adult", "--columns", "sex,income"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=["plain", "with a limit", "compare"])
def test_commands_print_odds_and_say_where_nats_are(words):
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\dx", done.stdout)
    assert "nats" not in done.stdout.replace("the same in nats: --format json", "")


def test_budgets_are_printed_beside_odds():
    words = ("adult", "--columns", "sex,income", "--limit", "7.4x")
    done = run("calibrate", *words, "--guarantee", "worst")
    assert done.returncode == 0, done.stderr
    assert "odds change at most" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    [row] = [row for row in rows if row[:1] == ["sex"]]
    assert row[-1] == "7.4x"
    assert float(row[-2].removesuffix("x")) <= 7.4
