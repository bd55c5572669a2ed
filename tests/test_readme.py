"""README shows what the commands really print, and its pictures are current."""

import contextlib
import io
import re
import shlex

import pytest

import seepage as sp
from command import run
from pictures import ROOT, script, shown_in
from seepage.cli import COMMANDS

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = script("make_pictures")


def test_the_number_is_real(monkeypatch):
    """The sentence above the command says what the command prints."""
    monkeypatch.setenv("COLUMNS", "120")
    [(command, block)] = re.findall(
        r"```console\n\$ seepage (.*?)\n(.*?)```", README, re.DOTALL
    )
    printed = run(*command.split()).stdout.splitlines()
    shown = [line for line in block.splitlines() if line != "..."]
    positions = [printed.index(line) for line in shown]
    assert len(positions) >= 2
    assert positions == sorted(positions)
    [(part, whole)] = re.findall(
        r"up to (\d\.\d\d) times; .* change them (\d\.\d\d) times", README
    )
    assert f"relationship -> sex: {part}x of at most {whole}x" in block


def test_the_paper_says_the_same_in_nats():
    paper = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
    [(part, whole)] = re.findall(r"leaks (\d\.\d\d) of the (\d\.\d\d) nats", paper)
    matrix = sp.leakage_matrix("adult", float(whole), mechanism="grr")
    assert f"{matrix['sex', 'relationship'].value:.2f}" == part


@pytest.mark.parametrize(
    ("code", "output"),
    re.findall(r"```python\n(.*?)```\n```\n(.*?)```", README, re.DOTALL),
)
def test_python_prints_what_is_shown(code, output, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output


def test_the_commands_work(tmp_path, monkeypatch):
    """In one folder and in order; the search of a design is short here."""
    monkeypatch.chdir(tmp_path)
    _, block = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(lines) >= 5
    for _, *words in lines:
        done = run(*words, *(["--effort", "0.02"] if words[0] == "design" else []))
        assert done.returncode == 0, done.stderr
    files = {"page.html", "plan.html", "survey.html", "reports.parquet"}
    assert files <= {path.name for path in tmp_path.iterdir()}


def test_the_people_are_those_of_the_picture():
    shown = re.findall(
        r">([\d,]+)</text>", (PICTURES.ASSETS / "people-needed.svg").read_text()
    )
    _, plan, one_each, split = (int(number.replace(",", "")) for number in shown[-4:])
    assert f"one question each needs {one_each / plan:.1f} times as many" in README
    assert f"over all questions {split / plan:.0f} times as many" in README


def test_the_blocks_are_short():
    blocks = re.findall(r"```(?:python|sh)\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 3
    assert all(len(re.findall(r"^\S", block, re.MULTILINE)) <= 6 for block in blocks)


def test_all_commands_are_listed():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `seepage (\w+)", page, re.MULTILINE)) == set(COMMANDS)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    PICTURES.make_committed(folder)
    return folder


@pytest.mark.parametrize("name", PICTURES.COMMITTED)
def test_the_picture_is_current(name, drawn):
    assert f"docs/assets/{name}" in README
    saved = (ROOT / "docs" / "assets" / name).read_text(encoding="utf-8")
    made = (drawn / name).read_text(encoding="utf-8")
    assert shown_in(made) == shown_in(saved), "run scripts/make_pictures.py --committed"


@pytest.mark.parametrize("name", PICTURES.BY_PLAN)
def test_pictures_of_the_plan_are_linked_and_small(name):
    pages = [
        README,
        *(page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")),
    ]
    assert any(f"assets/{name}" in page for page in pages)
    assert 1_000 < (ROOT / "docs" / "assets" / name).stat().st_size < 150_000


@pytest.mark.parametrize("name", PICTURES.CHARTS)
def test_pictures_of_the_documentation_are_in_the_repository(name):
    assert (
        (ROOT / "docs" / "pictures" / name)
        .read_text(encoding="utf-8")
        .startswith("<svg")
    )
