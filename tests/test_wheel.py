"""The wheel holds the package, and works where nothing else is installed."""

import subprocess
import sys

import pytest

from pictures import ROOT, script


def test_the_example_of_the_wheel_is_readmes_first():
    code, shown = script("make_wheel").example()
    assert code.startswith("import seepage as sp\n")
    assert shown.count("\n") >= 2


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    """Needs pip's package index, for the build backend and the dependencies."""
    command = [sys.executable, ROOT / "scripts" / "make_wheel.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "works when installed" in done.stdout
