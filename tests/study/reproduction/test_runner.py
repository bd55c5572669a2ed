"""Items are kept with a digest of their inputs, and a stopped run continues."""

import csv
import json

import pytest

from seepage.charts.panels import bar_panels
from seepage.errors import InputError
from seepage.study.reproduction import runner as running_module
from seepage.study.reproduction.findings import Claim, PaperItem
from seepage.study.reproduction.runner import Item, reproduce


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
    items = {
        name: Item(
            PaperItem(
                f"Fig. {name}",
                f"title of {name}",
                "what the paper shows",
                data=("celeba",),
                notes=("a note of call {calls}",),
            ),
            find,
        )
        for name, find in found.items()
    }
    monkeypatch.setattr(running_module, "ITEMS", items)
    monkeypatch.delenv("SEEPAGE_DATA", raising=False)
    monkeypatch.setattr(running_module, "expected_numbers", dict)
    return found


@pytest.fixture
def undrawn(monkeypatch):
    """Files of charts without their pictures, which take longest."""
    monkeypatch.setattr(running_module, "save_chart", lambda chart, path: path.write_text("chart"))


def _calls(finds):
    return [find.calls for find in finds.values()]


def test_files_of_a_run(finds, tmp_path):
    reproduce(folder=tmp_path / "new" / "folder")
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    each = {f"{name}{end}" for name in finds for end in (".json", ".csv", "-a.svg", "-a.png")}
    assert names == each | {"index.html", "numbers.json"}
    with (tmp_path / "new" / "folder" / "first.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"name": "a, b", "value": "0.5"}]
    kept = json.loads((tmp_path / "new" / "folder" / "first.json").read_text())
    assert (kept["shows"], kept["notes"]) == ("what the paper shows", ["a note of call 1"])


@pytest.mark.usefixtures("undrawn")
def test_finished_items_are_kept(finds, tmp_path):
    reproduce(folder=tmp_path)
    told = []
    reproduce(folder=tmp_path, on_item=lambda kept, made: told.append((kept.item, made)))
    assert _calls(finds) == [1, 1]
    assert told == [("first", False), ("second", False)]


@pytest.mark.usefixtures("undrawn")
def test_again_computes_finished_items(finds, tmp_path):
    reproduce(folder=tmp_path)
    reproduce(["second"], tmp_path, again=True)
    assert _calls(finds) == [1, 2]
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers == {"first": {"number": 2.1, "calls": 1}, "second": {"number": 2.1, "calls": 2}}


@pytest.mark.usefixtures("undrawn")
def test_files_of_earlier_runs_are_removed(finds, tmp_path):
    reproduce(["second"], tmp_path)
    assert (tmp_path / "second-a.svg").exists()
    reproduce(["second"], tmp_path, again=True)
    assert not (tmp_path / "second-a.svg").exists()
    assert (tmp_path / "second-b.svg").exists()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["index.html", "second.csv", "second.docx"])
def test_files_of_others_are_kept(finds, tmp_path, name):
    (tmp_path / name).write_text("my own work")
    with pytest.raises(InputError, match="holds other files than those of an earlier run"):
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
    reproduce(folder=tmp_path, again=True)
    assert (tmp_path / "first.md").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_stopped_run_keeps_what_is_finished_and_continues(finds, tmp_path):
    finds["second"].failing = True
    with pytest.raises(KeyboardInterrupt):
        reproduce(folder=tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "title of first" in page
    assert "not made yet" in page
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    finds["second"].failing = False
    reproduce(folder=tmp_path)
    assert _calls(finds) == [1, 2]
    assert "not made yet" not in (tmp_path / "index.html").read_text()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("damage", ["broken", "truncated", "csv", "svg"])
def test_a_damaged_item_is_computed_again(finds, tmp_path, damage):
    reproduce(["first"], tmp_path)
    record = tmp_path / "first.json"
    if damage == "broken":
        record.write_text('{"item": "first", "surprise": 1}')
    elif damage == "truncated":
        record.write_bytes(record.read_bytes()[:100])
    else:
        next(tmp_path.glob(f"first*.{damage}")).unlink()
    reproduce(["first"], tmp_path)
    assert finds["first"].calls == 2


@pytest.mark.usefixtures("undrawn")
def test_an_item_is_computed_again_for_other_code_or_data(finds, tmp_path, monkeypatch):
    reproduce(["first"], tmp_path)
    monkeypatch.setattr(running_module, "_code_digest", lambda: "other code")
    reproduce(["first"], tmp_path)
    assert finds["first"].calls == 2
    folder = tmp_path / "data" / "celeba"
    folder.mkdir(parents=True)
    (folder / "list_attr_celeba.txt").write_text("here")
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path / "data"))
    reproduce(["first"], tmp_path)
    assert finds["first"].calls == 3


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
