"""Codebooks that settle a design: roles, scales, intervals, markers, merged answers."""

import math

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from command import run
from seepage.tables.codebook_options import CodebookOptions
from seepage.tables.codebooks import CodebookRow, read_codebook_rows, write_codebook

pytestmark = pytest.mark.filterwarnings("ignore::seepage.DataWarning")

N = 4_000


def people(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], N),
            "job": rng.choice(["nurse", "smith", "clerk", "pilot"], N),
            "age": rng.integers(18, 90, N),
            "health": rng.choice(["bad", "fair", "good", "refused"], N),
            "town": rng.choice(["ulm", "bern"], N),
            "secret": rng.choice(["no", "yes"], N),
        }
    )


def line(attribute, value="", **fields):
    return CodebookRow(attribute=attribute, value=value, **fields)


BOOK = [
    line("sex", role="known"),
    line("job", role="ask"),
    line("job", "nurse"),
    line("job", "smith", merged_into="a trade"),
    line("job", "clerk", merged_into="a trade"),
    line("job", "pilot", merged_into="(missing)"),
    line("age", "young", lower=-math.inf, upper=40),
    line("age", "old", lower=40, upper=math.inf),
    line("health", "bad", order=1),
    line("health", "good", order=3),
    line("health", "fair", order=2),
    line("health", "refused", missing=True),
    line("town", role="never"),
    line("secret", role="protect"),
]


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "codebook.csv"
    write_codebook(path, BOOK)
    return path


def test_what_a_codebook_settles(book):
    options = CodebookOptions.read(book)
    assert options.named("known") == ("sex",)
    assert options.merges["job"] == {
        "nurse": "nurse",
        "smith": "a trade",
        "clerk": "a trade",
        "pilot": "(missing)",
    }
    assert options.bins == {"age": [-math.inf, 40, math.inf]}
    assert options.order == {"health": ["bad", "fair", "good"]}
    assert options.reading({"drop": ["x"], "bins": {"age": 3, "y": 2}}) == {
        "bins": {"age": 3, "y": 2},
        "missing_markers": {"health": ["refused"]},
        "drop": ["x", "town"],
    }


@pytest.mark.parametrize("scope", ["population", "table"])
def test_a_design_follows_its_codebook(book, scope):
    plan = sp.design(people(), 2.0, codebook=book, scope=scope, effort=0.05)
    assert "town" not in plan.domain
    assert plan.provenance.known == ("sex",) or list(plan.provenance.known) == ["sex"]
    assert not plan["secret"].asking
    assert plan["secret"].limit == 2.0
    job = plan.domain["job"]
    assert job.values == ("nurse", "a trade")
    assert job.catch_all == "(missing)"
    assert plan.domain["health"].values == ("bad", "fair", "good")
    assert plan.domain["age"].edges == (-math.inf, 40, math.inf)
    unseen = pd.DataFrame({name: ["refused"] for name in ("job", "health")})
    unseen = pd.concat([people()[["sex", "age", "secret"]].head(1), unseen], axis=1)
    assert plan.perturb(unseen, rng=1).num_rows == 1


def test_options_given_beside_a_codebook_have_priority(book):
    plan = sp.design(
        people(),
        2.0,
        codebook=book,
        order={"health": ["good", "fair", "bad"]},
        bins={"age": [18, 50, 90]},
        known=["secret"],
        left_out=[],
        effort=0.02,
    )
    assert plan.domain["health"].values == ("good", "fair", "bad")
    assert plan.domain["age"].edges == (18, 50, 90)
    assert set(plan.provenance.known) == {"sex", "secret"}


def test_the_codebook_of_a_plan_gives_the_same_answers(tmp_path):
    table = people()
    plan = sp.design(table, 2.0, effort=0.05, drop=["town"])
    path = tmp_path / "codebook.csv"
    plan.save_codebook(path)
    rows = read_codebook_rows(path)
    assert {row.attribute for row in rows} == set(plan.domain.names)
    shares = [row.share for row in rows if row.attribute == "age" and row.value]
    assert sum(shares) == 100
    again = sp.design(table, 2.0, codebook=path, effort=0.05, drop=["town"])
    for one, other in zip(plan.domain, again.domain, strict=True):
        assert one.name == other.name
        assert one.edges == other.edges
        assert one.size == other.size
    values = {one["name"]: one["values"] for one in plan.wire["attributes"]}
    assert {one["name"]: one["values"] for one in again.wire["attributes"]} == values
    compared = sp.compare_limits(
        table, [2.0], codebook=path, effort=0.05, drop=["town"]
    )
    assert compared.plans[0].domain == again.domain


def test_commands_write_and_read_codebooks(tmp_path):
    table = tmp_path / "people.csv"
    people().to_csv(table, index=False)
    book = tmp_path / "book.csv"
    run("check", table, "--codebook", book)
    rows = read_codebook_rows(book)
    values = [row.value for row in rows if row.attribute == "job" and row.value]
    assert values == ["clerk", "nurse", "pilot", "smith"]
    assert [row.share for row in rows if row.value == "clerk"] == [
        pytest.approx(25, abs=3)
    ]
    merged = [
        *rows,
        line("town", role="never"),
    ]
    write_codebook(book, merged)
    plan = tmp_path / "plan.json"
    run(
        *("design", table, "--limit", "2", "--codebook", book, "-o", plan),
        *("--effort", "0.05"),
    )
    assert "town" not in sp.Plan.load(plan).domain
    out = tmp_path / "out.csv"
    run("report", plan, "--codebook", out)
    assert {row.attribute for row in read_codebook_rows(out)} == {
        *("sex", "job", "age", "health", "secret")
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([line("a", "x", lower=1)], "must have both lower and upper"),
        (
            [line("a", "x", lower=1, upper=2), line("a", "y", lower=3, upper=4)],
            "intervals must join: one ends at 2, then 3",
        ),
        (
            [
                line("a", "x", merged_into="y"),
                line("a", "y", merged_into="z"),
            ],
            "'x' is merged into 'y', merged itself",
        ),
        (
            [line("a", "x", merged_into="y"), line("a", "x", merged_into="z")],
            "'x' is there twice",
        ),
        (
            [line("a", "x", merged_into="y"), line("a", "*")],
            "must be merged into an answer",
        ),
        (
            [line("a", role="person"), line("b", role="person")],
            "one column identifies the people",
        ),
    ],
)
def test_lines_that_do_not_fit_together_raise(tmp_path, rows, message):
    path = tmp_path / "codebook.csv"
    write_codebook(path, rows)
    with pytest.raises(sp.InputError, match=message) as raised:
        sp.design(people(), 2.0, codebook=path)
    assert "\n" not in str(raised.value)
