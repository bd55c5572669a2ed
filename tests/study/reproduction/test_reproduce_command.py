"""`seepage reproduce`, as a user meets it."""

import pytest

from seepage import cli


def test_listing(capsys):
    cli.main(["reproduce", "--list"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 14
    assert lines[0].split()[:3] == ["fig4a", "Fig.", "4a"]


def test_one_item_then_the_same_again(capsys, tmp_path):
    folder = tmp_path / "paper"
    cli.main(["reproduce", "example", "--output", str(folder)])
    first = capsys.readouterr()
    assert first.out.strip() == str(folder / "index.html")
    assert "example: 13 confirmed, 1 consistent, 1 ours" in first.err
    assert "13 confirmed, 0 deviate" in first.err
    assert {"example.csv", "example.svg", "example.png", "numbers.json"} <= {
        path.name for path in folder.iterdir()
    }
    cli.main(["reproduce", "example", "-o", str(folder)])
    assert "13 confirmed, 0 deviate" in capsys.readouterr().err


def test_a_folder_with_other_files_needs_force(capsys, tmp_path):
    (tmp_path / "example.csv").write_text("mine")
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", "example", "-o", str(tmp_path)])
    assert stop.value.code == 2
    assert "or write into it (--force)" in capsys.readouterr().err
    assert (tmp_path / "example.csv").read_text() == "mine"
    cli.main(["reproduce", "example", "-o", str(tmp_path), "--force"])
    assert (tmp_path / "example.csv").read_text() != "mine"


@pytest.mark.parametrize("item", ["fig4", "figure4a", "everything"])
def test_an_unknown_item_is_one_line_and_exit_2(capsys, tmp_path, item):
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", item, "-o", str(tmp_path)])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("seepage: item must be one of")
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_altered_file_is_one_line_and_exit_2(capsys, tmp_path, monkeypatch):
    data = tmp_path / "data" / "cardio"
    data.mkdir(parents=True)
    (data / "cardio_train.csv").write_text("id;age\n1;2\n")
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path / "data"))
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", "fig4c", "-o", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert "is not the published file" in capsys.readouterr().err
