"""Extreme numbers, names and arguments end in a result or in one line."""

import numpy as np
import pyarrow as pa
import pytest

import seepage as sp
from command import run

SOME = ("--columns", "sex,race")


@pytest.mark.parametrize(
    "command",
    [
        ("analyse", "adult", *SOME, "--epsilon", "1420"),
        ("calibrate", "adult", *SOME, "--limit", "1e30"),
        ("benchmark", "analysers", "adult", *SOME, "-e", "710"),
    ],
)
def test_huge_budgets_and_limits_have_a_result(command):
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_a_long_argument_is_not_echoed_whole():
    done = run("analyse", "adult", "--epsilon", "x" * 5_000)
    assert done.returncode == 2
    assert len(done.stderr) < 600
    assert done.stderr.count("\n") == 1


def test_an_output_may_have_the_longest_name(tmp_path):
    path = tmp_path / ("x" * 251 + ".txt")
    assert run("analyse", "adult", *SOME, "-o", path).returncode == 0
    assert path.read_text().startswith("adult: 48,842 records")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [np.array(1.0), np.float32(1), pa.scalar(1.0)])
def test_scalars_of_other_libraries_are_numbers(number):
    found = sp.analyse("adult", number, limit=number, columns=["sex", "race"])
    assert found.matrix.epsilons.tolist() == [1.0, 1.0]
    assert found.limits == (1.0, 1.0)
