"""The files of a run, also of one that was stopped, and the folders that it writes to."""

import csv
import json

import pytest

from seepage.charts.panels import bar_panels
from seepage.errors import InputError
from seepage.study import reproduction
from seepage.study.reproduction import reproduce
from seepage.study.reproduction.findings import Claim, PaperItem


class Counting:
    """An item's `find` that counts its calls, and fails where told to."""

    def __init__(self):
        self.calls = 0
        self.failing = False

    def __call__(self, data, found):
        self.calls += 1
        if self.failing:
            raise KeyboardInterrupt
        found.rows += [{"name": "a, b", "value": 0.5}]
        bars = [{"panel": "p", "group": "g", "series": "s", "value": 1.0}]
        found.comparisons += [
            Claim("number", printed=2.0, within=0.1).compare(2.1),
            Claim("calls").compare(self.calls),
        ]
        found.charts["a" if self.calls == 1 else "b"] = bar_panels(bars, "Axis")
        found.words["calls"] = self.calls


@pytest.fixture
def finds(monkeypatch):
    found = {"first": Counting(), "second": Counting()}
    papers = {
        name: PaperItem(
            f"Fig. {name}",
            f"title of {name}",
            "what the paper shows",
            data=("celeba",),
            notes=("a note of call {calls}",),
        )
        for name in found
    }
    monkeypatch.setattr(reproduction, "ITEMS", found)
    monkeypatch.setattr(reproduction, "PAPER", papers)
    monkeypatch.delenv("SEEPAGE_DATA", raising=False)
    return found


@pytest.fixture
def undrawn(monkeypatch):
    """Files of charts without their pictures, which take longest."""
    monkeypatch.setattr(
        reproduction, "save_chart", lambda chart, path: path.write_text("chart")
    )


def _calls(finds):
    return [find.calls for find in finds.values()]


def test_files_of_a_run(finds, tmp_path):
    reproduce(folder=tmp_path / "new" / "folder")
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    each = {f"{name}{end}" for name in finds for end in (".csv", "-a.svg", "-a.png")}
    assert names == each | {"index.html", "numbers.json"}
    with (tmp_path / "new" / "folder" / "first.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"name": "a, b", "value": "0.5"}]
    numbers = json.loads((tmp_path / "new" / "folder" / "numbers.json").read_text())
    assert numbers == {name: {"number": 2.1, "calls": 1} for name in finds}
    page = (tmp_path / "new" / "folder" / "index.html").read_text()
    assert page.count("what the paper shows") == page.count("a note of call 1") == 2


@pytest.mark.usefixtures("undrawn")
def test_a_run_into_the_folder_of_an_earlier_one_replaces_its_files(finds, tmp_path):
    reproduce(folder=tmp_path)
    reproduce(["second"], tmp_path)
    assert _calls(finds) == [1, 2]
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers == {"second": {"number": 2.1, "calls": 2}}
    assert (tmp_path / "first.csv").exists()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["index.html", "second.csv", "second.docx"])
def test_files_of_others_are_kept(finds, tmp_path, name):
    (tmp_path / name).write_text("my own work")
    with pytest.raises(
        InputError, match="holds other files than those of an earlier run"
    ):
        reproduce(["second"], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "my own work"
    reproduce(["second"], tmp_path, force=True)
    assert ((tmp_path / name).read_text() == "my own work") == (name == "second.docx")


@pytest.mark.usefixtures("undrawn")
def test_a_run_stopped_in_its_first_item_continues(finds, tmp_path):
    finds["first"].failing = True
    with pytest.raises(KeyboardInterrupt):
        reproduce(folder=tmp_path)
    finds["first"].failing = False
    (tmp_path / "first.md").write_text("a note of the reader")
    reproduce(folder=tmp_path)
    assert (tmp_path / "first.md").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_stopped_run_leaves_what_is_finished_and_can_be_run_again(finds, tmp_path):
    finds["second"].failing = True
    with pytest.raises(KeyboardInterrupt):
        reproduce(folder=tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "title of first" in page
    assert "not made yet" in page
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    finds["second"].failing = False
    reproduce(folder=tmp_path)
    assert _calls(finds) == [2, 2]
    assert "not made yet" not in (tmp_path / "index.html").read_text()


@pytest.mark.usefixtures("undrawn")
def test_progress_counts_the_items_asked_for(finds, tmp_path):
    seen = []
    reproduce(folder=tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.usefixtures("undrawn")
def test_an_unknown_item_raises_with_the_nearest(finds, tmp_path):
    with pytest.raises(InputError, match="did you mean 'first'"):
        reproduce(["firts"], tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_a_folder_that_cannot_be_created_raises(finds, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        reproduce(folder=tmp_path / "file")
