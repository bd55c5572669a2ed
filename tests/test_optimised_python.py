"""Python without docstrings and assertions: `python -OO`, or PYTHONOPTIMIZE=2."""

import os
import subprocess
import sys

JOURNEY = """
import seepage as sp

people = sp.make_survey(2_000).select(["coffee", "screen", "sleep"])
sp.check(people)
found = sp.analyse(people, 1.0, mechanism="grr", limit=3.0, guarantee="all")
assert False, "assertions are left out"
plan = sp.design(people, 2.0, effort=0.05)
plan.save("plan.json")
plan.report("plan.html")
plan.write_client("client")
print(len(sp.Plan.load("plan.json").estimate(plan.perturb(people)).to_arrow()))
"""

COMMANDS = """
import sys
from seepage.cli import main

for command in {commands!r}:
    main(command.split())
"""


def _run(code, folder):
    return subprocess.run(
        [sys.executable, "-OO", "-W", "ignore", "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
    )


def test_the_journey_needs_no_docstrings(tmp_path):
    done = _run(JOURNEY, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_commands_need_no_docstrings(tmp_path):
    commands = [
        "--help",
        "analyse --help",
        "analyse adult --columns sex,race --limit 2",
        "calibrate adult --columns sex,race --limit 1 -o plan.json",
        "report plan.json",
    ]
    done = _run(COMMANDS.format(commands=commands), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists()


def test_a_chart_says_in_one_line_that_it_does(tmp_path):
    command = "analyse adult --columns sex,race --chart x.svg"
    done = _run(COMMANDS.format(commands=[command]), tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("seepage: charts need docstrings")
