"""A search ends by what it has computed: the same plan at any speed of the machine."""

import threading
import time

import pytest

import seepage as sp
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


def test_time_ends_a_search_only_at_the_cap():
    work = SearchWork(100.0, seconds=1e-9)
    time.sleep(0.001)
    assert work.expired()
    assert work.is_capped
