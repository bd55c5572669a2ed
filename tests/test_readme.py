"""README shows what the commands really print."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from command import run

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_first_output_is_real(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    [(command, block)] = re.findall(
        r"<!-- output of: seepage (.*?) -->\n```\n(.*?)```", README, re.S
    )
    printed = run(*command.split()).stdout.splitlines()
    shown = [line for line in block.splitlines() if line != "..."]
    places = [printed.index(line) for line in shown if line]
    assert len(places) >= 15
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("code", "output"), re.findall(r"```python\n(.*?)```\n```\n(.*?)```", README, re.S)
)
def test_python_prints_what_is_shown(code, output, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("import seepage as sp\n" + code, "README.md", "exec"), {})
    assert printed.getvalue() == output


def test_every_command_exists():
    commands = re.findall(r"`seepage (\w+)", README)
    assert len(set(commands)) >= 9
    for command in set(commands):
        assert run(command, "--help").returncode == 0
