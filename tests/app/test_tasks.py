"""Tasks of the app: child processes that end, fail in one line, and stop."""

import os
import signal
import time

import app_work
import pytest

from seepage.app.tasks import BackgroundTask, Fault


def test_a_task_returns_what_its_work_returns(tmp_path):
    task = BackgroundTask.start("doubling", tmp_path, app_work.double, number=21).wait(
        60
    )
    assert (task.state, task.result, task.fault) == ("done", 42, None)
    assert (task.done, task.total, task.share) == (2, 2, 1.0)


def test_files_of_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    """Where the app is started lie tables, and anything else."""
    (tmp_path / "csv.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    task = BackgroundTask.start("doubling", tmp_path, app_work.double, number=21).wait(
        60
    )
    assert (task.state, task.result) == ("done", 42)


def test_bad_input_is_its_own_line(tmp_path):
    task = BackgroundTask.start("refusing", tmp_path, app_work.refuse).wait(60)
    assert task.state == "failed"
    assert task.fault == Fault("bins must be edges, got 'x'", "bins")


def test_a_fault_of_ours_is_said_as_one(tmp_path):
    task = BackgroundTask.start("breaking", tmp_path, app_work.break_down).wait(60)
    assert task.state == "failed"
    assert task.fault.text == "a fault of seepage: ZeroDivisionError('of ours')"


def test_what_libraries_print_does_not_mix_with_results(tmp_path):
    task = BackgroundTask.start("printing", tmp_path, app_work.print_much).wait(60)
    assert (task.state, task.result) == ("done", "whole")


def test_a_search_that_is_stopped_keeps_its_best(tmp_path):
    task = BackgroundTask.start("searching", tmp_path, app_work.search_until_stopped)
    end = time.monotonic() + 60
    while task.done == 0 and time.monotonic() < end:
        time.sleep(0.02)
    task.stop()
    task.wait(60)
    assert task.state == "done"
    assert task.result >= task.done > 0


def test_a_search_is_stopped_where_interrupts_are_ignored(tmp_path):
    """As in an app that a script started in the background."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        task = BackgroundTask.start(
            "searching", tmp_path, app_work.search_until_stopped
        )
    finally:
        signal.signal(signal.SIGINT, handler)
    end = time.monotonic() + 60
    while task.done == 0 and time.monotonic() < end:
        time.sleep(0.02)
    task.stop()
    task.wait(20)
    assert task.state == "done"
    assert task.result >= task.done > 0


def test_a_task_that_is_killed_has_failed(tmp_path):
    task = BackgroundTask.start("searching", tmp_path, app_work.search_until_stopped)
    task.kill()
    task.wait(60)
    assert (task.state, task.result) == ("failed", None)
    assert task.fault


def test_how_far_it_is_in_words(tmp_path):
    task = BackgroundTask.start("searching", tmp_path, app_work.search_until_stopped)
    end = time.monotonic() + 60
    while not task.words and time.monotonic() < end:
        time.sleep(0.02)
    assert task.words.startswith("best so far: ")
    task.kill()


def test_the_best_so_far_is_drawn(tmp_path):
    task = BackgroundTask.start("searching", tmp_path, app_work.sketch_and_wait)
    end = time.monotonic() + 60
    while not task.sketch and time.monotonic() < end:
        time.sleep(0.02)
    assert [row.asked for row in task.best.rows] == ["100", "60"]
    task.kill()


def test_temporary_files_are_in_the_private_folder(tmp_path):
    task = BackgroundTask.start("naming", tmp_path, app_work.temporary_folder).wait(60)
    assert task.result == str(tmp_path)


@pytest.mark.posix
def test_work_ends_when_the_app_is_killed(tmp_path):
    """The pipe closes with the app; nobody waits for the result."""
    task = BackgroundTask.start("searching", tmp_path, app_work.search_until_stopped)
    end = time.monotonic() + 60
    while task.done == 0 and time.monotonic() < end:
        time.sleep(0.02)
    task.process.stdin.close()
    assert task.process.wait(30) == 1


@pytest.mark.posix
def test_the_process_of_a_task_ends_with_it(tmp_path):
    task = BackgroundTask.start("doubling", tmp_path, app_work.double, number=1).wait(
        60
    )
    with pytest.raises(ProcessLookupError):
        os.kill(task.process.pid, 0)
