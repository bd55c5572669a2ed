"""Commands under odd surroundings: closed streams, little memory, a terminal."""

import io
import os
import shlex
import subprocess
import sys

import pytest

from command import run
from seepage.cli.console import emit

PROGRAM = shlex.join([sys.executable, "-c", "from seepage.cli import main; main()"])
ANALYSE = "seepage analyse adult --columns sex,race --format csv"


def shell(command, cwd):
    return subprocess.run(
        ["bash", "-c", command.replace("seepage", PROGRAM, 1)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_closed_output_without_a_file_is_an_error(tmp_path):
    done = shell("seepage analyse adult >&-", tmp_path)
    assert done.returncode == 2
    assert (
        done.stderr == "seepage: standard output is closed, so --output must be given\n"
    )


@pytest.fixture(scope="module")
def expected():
    done = run(*ANALYSE.split()[1:])
    assert done.stdout.count("\n") == 1 + 2
    return done.stdout


@pytest.mark.parametrize(
    "closed",
    [">&-", "2>&-", pytest.param(">&- 2>&-", marks=pytest.mark.slow), "<&- >&- 2>&-"],
)
def test_closed_streams_do_not_change_the_result(tmp_path, closed, expected):
    done = shell(f"{ANALYSE} -o found.csv {closed}", tmp_path)
    told = "" if "2>&-" in closed else "wrote found.csv\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", told)
    assert (tmp_path / "found.csv").read_text() == expected


def test_a_closed_error_stream_keeps_the_exit_code(tmp_path):
    done = shell("seepage analyse nothing.csv 2>&-", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.posix
@pytest.mark.parametrize("gigabytes", [0.5, 0.7, 1.5, 1.8])
def test_too_little_address_space_is_said_in_one_line(tmp_path, gigabytes):
    done = shell(f"ulimit -v {int(gigabytes * 1e6)}; seepage analyse adult", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "seepage: the command needs an address space (ulimit -v) of at least 2"
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.posix
def test_charts_that_cannot_be_drawn_are_said_in_one_line(tmp_path):
    """vl-convert's V8 reserves address space, and ends the process where there is
    none.
    """
    limited = "ulimit -v 8000000; seepage analyse adult --columns sex,income"
    done = shell(f"{limited} --chart chart.svg", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "drawing a chart needs an address space" in done.stderr
    assert not (tmp_path / "chart.svg").exists()
    page = f"{limited} --uncertainty 0.02 --report page.html"
    assert shell(page, tmp_path).returncode == 0
    assert "too little address space" in (tmp_path / "page.html").read_text()


def test_running_out_of_memory_is_said_in_one_line(tmp_path):
    script = (
        "import seepage.analysis.analyse, seepage.cli as cli, seepage.cli.analyse as "
        "command\n"
        "def fail(*_, **__): raise MemoryError\n"
        "seepage.analysis.analyse.as_counted = fail\n"
        "cli.main(['analyse', 'adult'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert (
        done.stderr
        == "seepage: not enough memory; choose fewer columns or coarser bins\n"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_control_characters_in_names_are_escaped_on_a_terminal(monkeypatch, terminal):
    class Screen(io.StringIO):
        def isatty(self):
            return terminal

    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    emit("a\x1b[2J\tb\nc\x9b \u202e", None)
    assert screen.getvalue() == (
        "a\\x1b[2J\tb\nc\\x9b \\u202e\n" if terminal else "a\x1b[2J\tb\nc\x9b \u202e\n"
    )


@pytest.mark.posix
@pytest.mark.parametrize("command", ["analyse", "check"])
def test_a_name_that_is_no_utf_8_is_said_in_one_line(tmp_path, command):
    (tmp_path / os.fsdecode(b"people\xff.csv")).write_text("a,b\n" + "1,2\n3,4\n" * 50)
    done = shell(f"seepage {command} $'people\\xff.csv'", tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "seepage: the name of a file to read must be in UTF-8, got "
        "'people\\udcff.csv'\n"
    )


@pytest.mark.posix
def test_a_page_may_have_a_name_that_is_no_utf_8(tmp_path):
    done = shell(ANALYSE + " --report $'page\\xff.html'", tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / os.fsdecode(b"page\xff.html")).read_text(encoding="utf-8")
    assert "page\\xff.html" in page
