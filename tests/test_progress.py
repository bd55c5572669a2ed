"""Progress on a terminal: of commands and of Python alike."""

import io
import re
import sys

import numpy as np
import pyarrow as pa

import seepage as sp
from seepage._core.progress import shown_progress


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def on_terminal(monkeypatch):
    """Replace standard error by a terminal; not in a fixture, since pytest captures
    standard error anew when it calls a test.
    """
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_a_terminal_shows_the_best_design_so_far(monkeypatch):
    terminal = on_terminal(monkeypatch)
    rng = np.random.default_rng(8)
    sick = rng.integers(0, 2, 3_000)
    columns = {}
    for index in range(8):
        other = rng.integers(0, 2, 3_000)
        columns[f"q{index}"] = np.where(rng.random(3_000) < 0.6, sick, other)
    people = pa.table(columns)
    sp.design(people, 2.0, scope="table", shape="never", effort=0.05)
    assert re.search(r"best so far: about [0-9,]+ people", terminal.getvalue())
    assert terminal.getvalue().endswith("\x1b[2K")  # nothing remains


def test_a_bar_says_its_stage_and_its_steps(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with shown_progress(None, "counting") as progress:
        progress(3, 10)
        progress.stage("searching")
        progress.describe("best so far")
        progress(1, None)
    assert "best so far" in terminal.getvalue()


def test_what_is_given_is_called_on_a_terminal_too(monkeypatch):
    terminal = on_terminal(monkeypatch)
    calls = []

    def given(done, total):
        calls.append((done, total))

    with shown_progress(given, "counting") as progress:
        progress(1, 2)
    assert calls == [(1, 2)]
    assert terminal.getvalue() == ""


def test_nothing_is_shown_elsewhere():
    with shown_progress(None, "counting") as progress:
        assert progress is None
