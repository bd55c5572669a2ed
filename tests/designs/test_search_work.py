"""A search ends by what it has computed: the same plan at any speed of the machine."""

import os
import subprocess
import sys
import threading
import time

import pytest

import seepage as sp
from searches import find_design
from seepage.designs.forms import search_work
from seepage.designs.forms.search_work import SearchWork

COLUMNS = ["coffee", "screen", "sleep"]
EFFORT = 0.01


def designed(scope="table", **options):
    survey = sp.make_survey(1_000, rng=5).select(COLUMNS)
    return sp.design(survey, 2.0, scope=scope, effort=EFFORT, **options)


class SlowClock:
    """A clock on which every look takes seconds, more each time."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 3.0
        return self.now


@pytest.mark.parametrize("scope", ["table", "population"])
def test_the_speed_of_the_machine_does_not_change_the_plan(scope, monkeypatch):
    plan = designed(scope, seconds=1e12)
    monkeypatch.setattr(search_work, "time", SlowClock())
    slow = designed(scope, seconds=1e12)
    assert slow.digest == plan.digest


def test_a_busy_process_does_not_change_the_plan():
    plan = designed()
    stopped = threading.Event()

    def work():
        while not stopped.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        busy = designed()
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert busy.digest == plan.digest


def test_the_cap_on_the_time_is_stated_where_it_ended_the_search():
    plan = designed(seconds=1e-9)
    assert plan.provenance.settings["design"]["ended"] == "time"
    assert any("the cap on the time ended the search" in note for note in plan.notes)
    assert max(plan.totals) <= 2.0


def test_a_stage_has_a_share_of_the_work():
    work = SearchWork(100.0)
    work.spend(30.0)
    with work.stage(0.25):
        assert work.expired()
        with work.stage(1.0):
            assert work.expired(), "an inner stage cannot have more than the outer one"
    assert not work.expired()
    work.spend(70.0)
    assert work.expired()
    assert not work.is_capped


def test_a_search_can_begin_after_other_work():
    work = SearchWork(10.0)
    work.spend(25.0)
    assert work.expired()
    work.begin()
    assert not work.expired()
    assert work.share == 0
    with work.stage(0.5):
        work.spend(4.0)
        assert not work.expired()
        work.spend(2.0)
        assert work.expired()
    assert work.share == pytest.approx(0.6)
    work.spend(4.0)
    assert work.expired()


def test_time_ends_a_search_only_at_the_cap():
    work = SearchWork(100.0, seconds=1e-9)
    time.sleep(0.001)
    assert work.expired()
    assert work.is_capped


@pytest.mark.parametrize("objective", ["mean", "largest"])
def test_a_plan_says_what_the_last_quarter_of_its_search_gained(objective):
    survey = sp.make_survey(1_000, rng=5).select(COLUMNS)
    found = find_design(survey, 2.0, scope="table", effort=0.01, objective=objective)
    done, last = found.history[-1]
    before = [error for work, error in found.history if work <= 0.75 * done]
    assert found.settings["design"]["late gain"] == round(
        max(0.0, 1 - last / before[-1]), 4
    )
    assert 0 <= found.late_gain < 0.5


HASHED = """
import warnings
import seepage as sp

warnings.simplefilter("ignore")
survey = sp.make_survey(400, rng=5).select(["coffee", "screen", "sleep"])
for scope in ("table", "population"):
    print(sp.design(survey, 2.0, scope=scope, effort=0.005).digest)
"""


def test_the_order_of_sets_and_the_threads_of_blas_do_not_change_the_plan():
    """A process of its own for each, since both are fixed when it starts."""
    digests = set()
    for seed, threads in (("1", "1"), ("2", "4")):
        environment = {"PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", HASHED],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1
