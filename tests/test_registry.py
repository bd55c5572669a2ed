"""Extensions: complete, under a free name, and found in other packages."""

import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import seepage as sp
from seepage._core.errors import InputError
from seepage.mechanisms.mechanism_registry import MECHANISMS
from seepage.mechanisms.reports import BitReports

PACKAGE = """
import numpy as np
import seepage as sp


class Ours(sp.GRR):
    name = "ours"


class Nothing:
    name = "nothing"

    def leakages(self, pairs, epsilons):
        return np.zeros((len(epsilons), len(epsilons)))


nothing = Nothing()
"""
ENTRY_POINTS = """
[seepage.mechanisms]
ours = ours:Ours

[seepage.analysers]
nothing = ours:nothing
"""


class Half(sp.SetMechanism):
    """Complete: a random half of the values, more often with the true one than
    without.
    """

    name = "half"

    def __init__(self, k, epsilon):
        super().__init__(k, Fraction(3, 4), Fraction(1, 2), epsilon=epsilon)

    def draw(self, codes, source):
        sets = source.happens(1 << 63, (len(codes), self.k))
        sets[np.arange(len(codes)), codes] = source.happens(3 << 62, len(codes))
        return BitReports(self.describe(), BitReports.pack(sets))


@pytest.fixture
def other_package(tmp_path):
    """A folder that looks like an installed package with entry points."""
    (tmp_path / "ours.py").write_text(PACKAGE, encoding="utf-8")
    described = tmp_path / "ours-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Name: ours\nVersion: 1.0\n", encoding="utf-8")
    (described / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return tmp_path


RUN = """
import contextlib, io, json, sys
from seepage.cli import main

done = []
for arguments in json.load(sys.stdin):
    sys.argv, out, err = ["seepage", *arguments], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main()
        except SystemExit as ended:
            status = ended.code
    done.append((status or 0, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""
ANALYSE = (
    "analyse",
    "adult",
    "--columns",
    "sex,income",
    "--epsilon",
    "1",
    "--mechanism",
)
BENCHMARK = (
    "benchmark",
    "analysers",
    "adult",
    "--columns",
    "sex,income",
    "-e",
    "1",
    "--analyser",
)


def run(folder, *commands):
    """Return status, output and errors of commands of one new process."""
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        env={"PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), "COLUMNS": "200"},
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_command_line_finds_mechanisms_and_analysers_of_other_packages(
    other_package,
):
    for name, (status, output, errors) in zip(
        ("ours", "nothing"),
        run(other_package, (*ANALYSE, "ours"), (*BENCHMARK, "nothing")),
        strict=True,
    ):
        assert status == 0, errors
        assert name in output


@pytest.mark.parametrize("content", ["Ours = 3\n", "import no_such_package\n"])
def test_an_entry_point_that_fails_is_named_and_leaves_the_others(
    other_package, content
):
    (other_package / "ours.py").write_text(content, encoding="utf-8")
    mechanism, analyser, other = run(
        other_package, (*ANALYSE, "ours"), (*BENCHMARK, "nothing"), (*ANALYSE, "grr")
    )
    assert mechanism[0] == analyser[0] == 2
    assert "mechanism must be one of " in mechanism[2]
    assert "'ours:Ours' of another package cannot be used" in mechanism[2]
    assert "'ours:nothing' of another package cannot be used" in analyser[2]
    assert "Traceback" not in mechanism[2] + analyser[2]
    assert other[0] == 0, other[2]


def test_a_complete_class_is_taken_once():
    try:
        assert sp.register(Half) is sp.register(Half)
        assert sp.mechanism("HALF", 4, 1.0).epsilon == pytest.approx(np.log(3))

        class Other(Half):
            pass

        with pytest.raises(InputError, match="'half' is registered already"):
            sp.register(Other)
    finally:
        MECHANISMS.remove("half")


def test_incomplete_classes_raise_at_once():
    class Nameless(sp.SetMechanism):
        def draw(self, codes, source): ...

    class Empty(sp.Mechanism):
        name = "empty"

    class Unbudgeted(Half):
        name = "unbudgeted"

        def __init__(self, k):
            super().__init__(k, 1.0)

    class Public(Half):
        name = "Public"

    every = "contributions, draw, epsilon, log_likelihood, reports, variance"
    for family, message in [
        (Nameless, "Nameless must define name$"),
        (Empty, f"Empty must define {every}$"),
        (Unbudgeted, r"must take \(k, epsilon\)"),
        (Public, "stands for a public attribute"),
        (GeneratorExit, "must be a subclass of Mechanism"),
        (3, "must be a subclass of Mechanism"),
    ]:
        with pytest.raises(InputError, match=message):
            sp.register(family)
    assert not {"empty", "unbudgeted", "public"} & set(sp.registered())
