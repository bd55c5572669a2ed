"""Leakages of a table under audited channels, the page, and the command."""

import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

import seepage as sp
from command import run
from real_data import real_data

COLUMNS = ["sex", "race", "relationship", "income"]


def adult():
    return sp.load_pairs("adult").select(COLUMNS)


def race(**parameters):
    return {
        "attributes": {"race": {"values": adult().domain["race"].values, **parameters}}
    }


def test_leakages_are_those_of_the_audited_and_of_the_claimed_channel():
    keep = 0.9
    found = sp.audit(race(keep=keep), claim=1.0, data=adult())
    matrix = np.full((5, 5), (1 - keep) / 4)
    np.fill_diagonal(matrix, keep)
    assert {leak.target for leak in found.leaks} == {"sex", "relationship", "income"}
    for leak in found.leaks:
        channel = adult().channel(leak.target, "race")
        assert leak.audited == pytest.approx(
            sp.exact_leakage(channel, matrix).value, abs=1e-9
        )
        assert leak.claimed == pytest.approx(
            sp.leakage_bound(channel, 1.0).value, abs=1e-9
        )
        assert leak.lower <= leak.audited <= leak.upper <= found.epsilon
    assert found.analysis.totals["worst"]["sex"] == pytest.approx(found.epsilon)
    assert found.claimed.totals["worst"]["sex"] == pytest.approx(1.0)


def test_labels_decide_the_row_of_a_matrix():
    """The values of the specification may be in another order, or more than those of
    the data.
    """
    values = [*reversed(adult().domain["sex"].values), "unknown"]
    cells = [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.2, 0.4, 0.4]]
    spec = {"attributes": {"sex": {"values": values, "matrix": cells}}}
    found = sp.audit(spec, claim=2.0, data=adult())
    channel = adult().channel("income", "sex")
    expected = sp.exact_leakage(channel, [cells[1], cells[0]]).value
    (leak,) = (leak for leak in found.leaks if leak.target == "income")
    assert leak.audited == pytest.approx(expected, abs=1e-9)


def test_several_rounds():
    """Fresh ones have the product of their matrices, or the bound; memoised ones count
    once.
    """

    def about_sex(**options):
        found = sp.audit(race(**options.pop("how")), claim=1.0, data=adult(), **options)
        (leak,) = (leak for leak in found.leaks if leak.target == "sex")
        return leak.audited, found.epsilon

    channel = adult().channel("sex", "race")
    one = np.full((5, 5), 0.125) + 0.375 * np.eye(5)
    twice = np.einsum("ua,ub->uab", one, one).reshape(5, -1)
    fresh, _ = about_sex(how={"keep": 0.5}, rounds=2)
    assert fresh == pytest.approx(sp.exact_leakage(channel, twice).value, abs=1e-9)
    stored, _ = about_sex(how={"keep": 0.5}, rounds=2, memoised=True)
    assert stored == pytest.approx(sp.exact_leakage(channel, one).value, abs=1e-9)
    grr = {"mechanism": "grr", "epsilon": 1.0}
    stored, _ = about_sex(how=grr, rounds=2, memoised=True)
    assert stored == pytest.approx(
        sp.exact_leakage(channel, sp.GRR(5, 1.0)).value, abs=1e-9
    )
    many, epsilon = about_sex(how=grr, rounds=3)
    assert epsilon == pytest.approx(3.0)
    assert many == pytest.approx(sp.leakage_bound(channel, epsilon).value, abs=1e-9)


def test_samples_have_the_bound():
    rng = np.random.default_rng(1)
    codes = np.repeat(adult().domain["sex"].values, 2_000)
    reports = np.where(rng.random(4_000) < 0.8, codes, "Female")
    sampled = sp.audit((codes, reports), claim=1.0, attribute="sex", data=adult())
    assert "the realised one may be larger" in sampled.notes[0]
    (leak,) = (leak for leak in sampled.leaks if leak.target == "income")
    bound = sp.leakage_bound(adult().channel("income", "sex"), sampled.epsilon).value
    assert leak.audited == pytest.approx(bound, abs=1e-9)


def test_an_infinite_epsilon_is_as_public(tmp_path):
    found = sp.audit(race(p=1.0, q=0.1), claim=2.0, data=adult())
    assert math.isinf(found.epsilon)
    (leak,) = (leak for leak in found.leaks if leak.target == "sex")
    assert leak.audited == pytest.approx(
        sp.leakage_matrix(adult(), 1.0, mechanism={"race": "public", "*": None})[
            "sex", "race"
        ].value
    )
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "possible from value" in page
    assert "Everything below is as claimed" in page


def test_page_is_headed_by_the_audit(tmp_path):
    found = sp.audit(race(keep=0.9), claim=1.0, data=adult(), guarantee="worst")
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.index("The claim does not hold") < page.index("The strongest leaks")
    assert "changes the odds up to 36" in page
    assert "Claimed are at most 2.72 times." in page
    assert '<span class="chip decide">refuted</span>' in page
    assert "36 times likelier from value" in page
    assert "Everything below is as claimed" not in page


@real_data
def test_randomised_answers_of_the_nigeria_survey(tmp_path):
    """Epsilon is ln 5, and an answer tells about a covariate what the published columns
    tell.
    """
    import pandas as pd

    packed = next(Path(os.environ["SEEPAGE_DATA"]).glob("nigeria/nigeria.csv*"))
    table = tmp_path / "nigeria.csv"
    table.write_bytes(gzip.decompress(packed.read_bytes()))
    design = {"values": [0, 1], "p": 4 / 6, "p0": 1 / 6, "p1": 1 / 6}
    found = sp.audit(
        {"attributes": {"rr.q1": design}},
        claim=1.61,
        data=table,
        reported=["rr.q1"],
        missing="drop",
    )
    assert found.verdict == "holds"
    assert found.epsilon == pytest.approx(math.log(5), abs=1e-12)
    assert found.analysis.matrix.pairs.records == 2_423
    frame = pd.read_csv(table).dropna()
    told = {leak.target: leak.audited for leak in found.leaks}
    assert len(told) == 6
    for covariate in ("cov.female", "cov.married", "civic"):
        shares = pd.crosstab(
            frame[covariate], frame["rr.q1"], normalize="index"
        ).to_numpy()
        expected = np.log(shares.max(axis=0) / shares.min(axis=0)).max()
        assert told[covariate] == pytest.approx(expected, abs=1e-9)
        assert told[covariate] < found.epsilon


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            {"data": "adult", "columns": ["sex", "income"]},
            "there is no attribute 'race'",
        ),
        (
            {"data": "adult", "columns": COLUMNS, "guarantee": "exct"},
            "did you mean 'exact'?",
        ),
    ],
)
def test_one_line_for_tables_that_do_not_fit(options, line):
    with pytest.raises(sp.InputError, match=line.replace("?", r"\?")):
        sp.audit(race(keep=0.5), claim=1.0, **options)


def test_values_that_the_randomiser_lacks():
    with pytest.raises(
        sp.InputError, match="data have the value 'Female' of 'sex', which"
    ):
        sp.audit(
            {"attributes": {"sex": {"keep": 0.6, "values": ["f", "m"]}}},
            claim=1.0,
            data=adult(),
        )


# The command --------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "race.json").write_text(json.dumps(race(keep=0.9), default=list))
    (tmp_path / "matrix.csv").write_text("0.75,0.25\n0.25,0.75\n")
    (tmp_path / "wrong.csv").write_text("0.75,0.2\n0.25,0.75\n")
    return tmp_path


def test_command(folder):
    columns = ",".join(COLUMNS)
    table = ("--data", "adult", "--columns", columns, "--report", "page.html")
    done = run("audit", "race.json", "--claim", "1", *table, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "race.json: refuted\nrace: claim 1: refuted, epsilon 3.5836"
    )
    assert "race -> income" in done.stdout
    largest = "largest change of odds by all reports, as claimed"
    assert f"{largest}: worst 2.72x, independent 2.72x" in done.stdout
    assert (folder / "page.html").stat().st_size > 10_000
    failed = run(
        "audit", "race.json", "--claim", "1", "--fail-if", "refuted", cwd=folder
    )
    assert failed.returncode == 1
    kept = run(
        "audit", "matrix.csv", "--claim", "1.1", "--fail-if", "not-decided", cwd=folder
    )
    assert kept.returncode == 0
    rounds = ("--rounds", "4", "--fail-if", "refuted")
    assert (
        run("audit", "matrix.csv", "--claim", "1.1", *rounds, cwd=folder).returncode
        == 1
    )
    stored = run(
        "audit", "matrix.csv", "--claim", "1.1", *rounds, "--memoised", cwd=folder
    )
    assert stored.returncode == 0
    run(
        "audit",
        "matrix.csv",
        "--claim",
        "1.1",
        "--format",
        "json",
        "-o",
        "a.json",
        cwd=folder,
    )
    loaded = sp.Audit.load(folder / "a.json")
    assert loaded.epsilon == pytest.approx(math.log(3))
    assert loaded.verdict == "holds"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("wrong.csv", "--claim", "1"), "row 0 sums to 0.95"),
        (
            ("matrix.csv", "--claim", "-1"),
            "--claim must be a finite number of at least 0",
        ),
        (("matrix.csv",), "Missing option '--claim'"),
        (("none.csv", "--claim", "1"), "none.csv cannot be read"),
        (("matrix.csv", "--claim", "1", "--columns", "a"), "--columns has no effect"),
        (
            ("matrix.csv", "--claim", "1", "--report", "p.html"),
            "--report has no effect",
        ),
        (
            ("matrix.csv", "--claim", "1", "-o", "matrix.csv"),
            "must not be what is read",
        ),
    ],
)
def test_bad_input_of_the_command_is_one_line(folder, words, line):
    done = run("audit", *words, cwd=folder)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
