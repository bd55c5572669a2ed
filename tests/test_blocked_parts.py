"""The journey from a table to estimates where Numba, flint, vl-convert and Pooch are
missing.
"""

import os
import subprocess
import sys

BLOCKED = ("numba", "llvmlite", "flint", "vl_convert", "pooch")

JOURNEY = """
import sys
# importing any of these raises an ImportError
sys.modules.update(dict.fromkeys({blocked!r}))

import numpy as np
import seepage as sp

rows = np.random.default_rng(0).dirichlet(np.ones(170), 170)  # large enough for Numba
assert 0 < float(sp.leakage_bound(rows, 1.0)) <= 1
people = sp.make_survey(5_000).select(["coffee", "screen", "sleep"])
found = sp.analyse(people, 1.0, mechanism="grr", limit=3.0)
found.report("page.html")
sp.count_pairs(people).save("people.pairs")
plan = sp.design(people, 2.0, effort=0.05)
plan.save("plan.json")
plan.report("plan.html")
plan.write_questionnaire("survey.html")
estimate = sp.Plan.load("plan.json").estimate(plan.perturb(people))
print(len(estimate.to_arrow()))
"""


def _run(code, folder):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code.format(blocked=BLOCKED)],
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
    )


def test_the_journey_needs_none_of_them(tmp_path):
    done = _run(JOURNEY, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
    written = {"page.html", "people.pairs", "plan.json", "plan.html", "survey.html"}
    assert written <= {file.name for file in tmp_path.iterdir()}


CHART = 'sp.save_chart(sp.leakage_matrix("adult", 1.0).chart(), "x.png")'


def test_what_needs_one_says_so_in_one_line(tmp_path):
    start = (
        "import sys\nsys.modules.update(dict.fromkeys({blocked!r}))\n"
        "import seepage as sp\n"
    )
    done = _run(start + CHART, tmp_path)
    *_, last = done.stderr.splitlines()
    assert done.returncode == 1
    assert last.startswith("seepage.")
    assert "vl-convert" in last.lower()
