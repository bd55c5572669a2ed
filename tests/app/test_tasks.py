"""Tasks of the app: child processes that end, fail in one line, and stop."""

import os
import time

import app_work
import pytest

from seepage.app.tasks import BackgroundTask


def test_a_task_returns_what_its_work_returns():
    task = BackgroundTask.start("doubling", app_work.double, 21).wait(60)
    assert (task.state, task.result, task.fault) == ("done", 42, "")
    assert (task.done, task.total, task.share) == (2, 2, 1.0)


def test_bad_input_is_its_own_line():
    task = BackgroundTask.start("refusing", app_work.refuse).wait(60)
    assert (task.state, task.fault) == ("failed", "bins must be edges, got 'x'")


def test_a_fault_of_ours_is_said_as_one():
    task = BackgroundTask.start("breaking", app_work.break_down).wait(60)
    assert task.state == "failed"
    assert task.fault == "a fault of seepage: ZeroDivisionError('of ours')"


def test_what_libraries_print_does_not_mix_with_results():
    task = BackgroundTask.start("printing", app_work.print_much).wait(60)
    assert (task.state, task.result) == ("done", "whole")


def test_a_search_that_is_stopped_keeps_its_best():
    task = BackgroundTask.start("searching", app_work.search_until_stopped)
    end = time.monotonic() + 60
    while task.done == 0 and time.monotonic() < end:
        time.sleep(0.02)
    task.stop()
    task.wait(60)
    assert task.state == "done"
    assert task.result >= task.done > 0


def test_a_task_that_is_killed_has_failed():
    task = BackgroundTask.start("searching", app_work.search_until_stopped)
    task.kill()
    task.wait(60)
    assert (task.state, task.result) == ("failed", None)
    assert task.fault


@pytest.mark.posix
def test_the_process_of_a_task_ends_with_it():
    task = BackgroundTask.start("doubling", app_work.double, 1).wait(60)
    with pytest.raises(ProcessLookupError):
        os.kill(task.process.pid, 0)
