"""Samples keep their reports apart: from functions, files and frames."""

import random

import numpy as np
import pandas as pd
import pytest

import seepage as sp
from command import run


def sampled(ours, theirs, common, count=2_000):
    """A function whose reports are `common` half of the time, else tell the value."""
    source = random.Random(1)

    def randomise(value):
        if source.random() < 0.5:
            return common
        return ours if value == "a" else theirs

    return {"randomiser": randomise, "values": ["a", "b"], "samples": count}


ALIKE = [
    (-0.0, 0.0),
    ("1", 1),
    ("a", "a\0"),
    (2.0**53, 2**53 + 1),
    ([1], "[1]"),
    (None, "null"),
    (np.array([1, 2]), [1, 2]),
    (True, 1),
    ("00", "0"),
]


@pytest.mark.parametrize(("ours", "theirs"), ALIKE)
def test_reports_that_look_alike_are_not_the_same(ours, theirs):
    result = sp.audit(claim=1.0, **sampled(ours, theirs, "common"))
    assert result.verdict == "refuted"
    assert result.epsilon > 4.5
    listed = [ours, theirs, "common"]
    known = sp.audit(claim=1.0, reports=listed, **sampled(ours, theirs, "common"))
    assert known.verdict == "refuted"


def table_of_texts(ours, theirs, common, count=1_000):
    """Lines of a file of samples whose texts look alike as numbers."""
    lines = ["value,report"]
    for value, report in (("a", ours), ("b", theirs)):
        lines += [f"{value},{report}"] * count
        lines += [f"{value},{common}"] * count
    return "\n".join(lines) + "\n"


TEXTS = [
    ("00", "0", "1"),
    ("12345678901234567890", "12345678901234567891", "1"),
    ("0" * 31 + "1", "0" * 30 + "11", "1"),
    ("1e3", "1000", "1"),
    ("True", "true", "1"),
]


@pytest.mark.parametrize(("ours", "theirs", "common"), TEXTS)
def test_texts_of_a_file_stay_texts(ours, theirs, common, tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text(table_of_texts(ours, theirs, common))
    done = run("audit", path, "--claim", 1, "--fail-if", "refuted")
    assert done.returncode == 1
    assert ours in done.stdout or theirs in done.stdout
    listed = ",".join([ours, theirs, common])
    done = run("audit", path, "--claim", 1, "--reports", listed, "--fail-if", "refuted")
    assert done.returncode == 1
    frame = pd.read_csv(path, dtype=str)
    assert sp.audit(frame, claim=1.0).interval == sp.audit(path, claim=1.0).interval
    assert sp.audit(path, claim=1.0).epsilon > 4.5


def test_a_listed_report_that_cannot_be_told_from_another_raises(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text(table_of_texts("00", "0", "1"))
    done = run("audit", path, "--claim", 1, "--reports", "0,1")
    assert done.returncode == 2
    assert "the samples have the report 00, which reports lack" in done.stderr
    assert "0 stands for the report 0" in done.stderr
    done = run("audit", path, "--claim", 1, "--reports", "0,0,1")
    assert done.returncode == 2
    assert "must be different from each other, got 0 twice" in done.stderr


def test_numbers_are_the_same_in_a_file_and_in_a_frame(tmp_path):
    """Continuous reports of a file are compared by ranges, as those of an array are."""
    rng = np.random.default_rng(2)
    codes = np.repeat([0, 1], 3_000)
    noisy = codes + rng.laplace(size=len(codes))
    path = tmp_path / "samples.csv"
    pd.DataFrame({"value": codes, "report": noisy}).to_csv(path, index=False)
    by_file = sp.audit(path, claim=1.0)
    by_array = sp.audit((codes, noisy), claim=1.0)
    assert by_file.interval == by_array.interval
    assert by_file.witness == by_array.witness


def test_numbers_beside_a_few_texts():
    """Ranges of numbers, and single reports that are none."""
    rng = np.random.default_rng(3)
    source = [float(noise) for noise in rng.laplace(size=4_000)]
    codes = [0] * 2_000 + [1] * 2_000
    reports = source[:2_000] + [
        "stopped" if noise > 1 else noise for noise in source[2_000:]
    ]
    result = sp.audit((codes, reports), claim=1.0)
    assert result.verdict == "refuted"
    assert "'stopped'" in result.witness


def test_a_pair_of_lists_keeps_the_types():
    true = ["a"] * 400 + ["b"] * 400
    reports = [0] * 400 + ["0"] * 400
    assert sp.audit((true, reports), claim=1.0).verdict == "refuted"


def test_null_is_a_report():
    frame = pd.DataFrame(
        {
            "value": ["a"] * 500 + ["b"] * 500,
            "report": ["x", None] * 250 + ["x", "None"] * 250,
        }
    )
    assert sp.audit(frame, claim=1.0).verdict == "refuted"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("value,report\n", "the samples have no records"),
        ("value\na\n", "must have a column value and columns of reports, got value"),
        ("value,report\na,1\n,2\n", "column 'value' has 1 missing values"),
    ],
)
def test_one_line_for_bad_tables(content, line, tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text(content)
    done = run("audit", path, "--claim", 1)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_escapes_of_a_terminal_are_shown(tmp_path):
    escape = "\x1b[2J\u202e\x07"
    frame = pd.DataFrame(
        {
            "value": [f"a{escape}"] * 500 + ["b"] * 500,
            "report": [f"<b>{escape}"] * 500 + ["no"] * 500,
        }
    )
    for table in (frame, (frame["value"].tolist(), frame["report"].tolist())):
        result = sp.audit(table, claim=1.0)
        texts = [*result.sentences(), result.to_csv(), result._repr_html_()]
        for text in texts:
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert "\x07" not in text
        assert "\\x1b[2J" in result.witness
    path = tmp_path / "samples.csv"
    frame.to_csv(path, index=False)
    for form in ("table", "json", "csv"):
        done = run("audit", path, "--claim", 1, "--format", form)
        assert done.returncode == 0
        assert "\x1b" not in done.stdout
