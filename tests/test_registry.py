"""Extensions: complete, under a free name, and found in other packages."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import seepage as sp
from seepage._registry import MECHANISMS
from seepage.errors import InputError
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


class Half(sp.TwoLevelMechanism):
    """Complete: a random half of the values, more often with the true one than without."""

    name = "half"
    reports = BitReports

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


def run(folder, *arguments):
    code = "import sys; from seepage.cli import main; sys.argv[0] = 'seepage'; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_line_finds_mechanisms_of_other_packages(other_package):
    done = run(other_package, "analyse", "adult", "--epsilon", "1", "--mechanism", "ours")
    assert done.returncode == 0, done.stderr
    assert "ours" in done.stdout


def test_the_command_line_finds_analysers_of_other_packages(other_package):
    done = run(other_package, "benchmark", "analysers", "adult", "-e", "1", "--analyser", "nothing")
    assert done.returncode == 0, done.stderr
    assert "nothing" in done.stdout


@pytest.mark.parametrize("content", ["Ours = 3\n", "import no_such_package\n"])
def test_an_entry_point_that_fails_is_named_and_leaves_the_others(other_package, content):
    (other_package / "ours.py").write_text(content, encoding="utf-8")
    done = run(other_package, "analyse", "adult", "--epsilon", "1", "--mechanism", "ours")
    assert done.returncode == 2
    assert "mechanism must be one of " in done.stderr
    assert "'ours:Ours' of another package cannot be used" in done.stderr
    assert "Traceback" not in done.stderr
    done = run(other_package, "benchmark", "analysers", "adult", "-e", "1", "--analyser", "nothing")
    assert done.returncode == 2
    assert "'ours:nothing' of another package cannot be used" in done.stderr
    done = run(other_package, "analyse", "adult", "--epsilon", "1", "--mechanism", "grr")
    assert done.returncode == 0, done.stderr


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
    class Nameless(sp.TwoLevelMechanism):
        reports = BitReports

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
