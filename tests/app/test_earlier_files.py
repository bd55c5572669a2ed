"""Plans, codebooks and zips that were downloaded before are opened; others are one
line.
"""

import io
import zipfile

import pytest

import seepage as sp
from seepage._core.errors import InputError
from seepage.app import earlier_files
from seepage.app.earlier_files import is_codebook, open_codebook, open_plan, open_zip
from seepage.app.plan_files import zip_of_plan
from seepage.tables.codebooks import CodebookRow, codebook_text


def quiet(done, total):
    """Take progress without showing it."""


@pytest.fixture(scope="module")
def plan_text(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    sp.calibrate("survey", "7.4x", columns=["coffee", "sleep"]).save(path)
    return path.read_text()


def zipped(folder, **files):
    path = folder / "plan.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return path


def test_a_zip_of_the_app_opens_again(tmp_path, plan_text):
    first = tmp_path / "first"
    first.mkdir()
    (first / "given.json").write_text(plan_text)
    opened = open_plan(first / "given.json", 1, first, progress=quiet)
    codebook = codebook_text([CodebookRow(attribute="coffee", role="protect")])
    content = zip_of_plan(first, 1, {"codebook.csv": codebook})
    (tmp_path / "plan.zip").write_bytes(content)
    again = open_zip(tmp_path / "plan.zip", 2, tmp_path, progress=quiet)
    assert (
        again.plan.digest
        == opened.plan.digest
        == sp.Plan.load(first / "given.json").digest
    )
    assert [(row.attribute, row.role) for row in again.codebook] == [
        ("coffee", "protect")
    ]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {"plan.json", "plan.html", "codebook.csv"} <= set(archive.namelist())


def test_names_in_a_zip_are_not_paths(tmp_path, plan_text):
    folder = tmp_path / "study"
    folder.mkdir()
    path = folder / "plan.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("plan.json", plan_text)
        archive.writestr("../outside.txt", "x")
        archive.writestr("/etc/outside.txt", "x")
    open_zip(path, 1, folder, progress=quiet)
    assert list(tmp_path.iterdir()) == [folder]
    assert not list(folder.rglob("outside.txt"))


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "must have a file plan.json"),
        ({"other_json": "{}"}, "must have a file plan.json"),
        ({"plan_json": "{}"}, "plan"),
        ({"plan_json": "{"}, "plan"),
    ],
)
def test_a_zip_without_a_plan_is_one_line(tmp_path, files, reason):
    with pytest.raises(InputError, match=reason) as problem:
        open_zip(zipped(tmp_path, **files), 1, tmp_path, progress=quiet)
    assert "\n" not in str(problem.value)


def test_what_is_no_zip_is_one_line(tmp_path):
    (tmp_path / "plan.zip").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match="the zip cannot be read"):
        open_zip(tmp_path / "plan.zip", 1, tmp_path, progress=quiet)


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(earlier_files, "MAX_FILE_BYTES", 1 << 16)
    path = tmp_path / "plan.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plan.json", b" " * (1 << 24))
    with pytest.raises(InputError, match="at most 64 MB"):
        open_zip(path, 1, tmp_path, progress=quiet)


def test_a_codebook_is_told_from_a_table(tmp_path):
    path = tmp_path / "codebook.csv"
    path.write_text(codebook_text([CodebookRow(attribute="a", role="never")]))
    assert is_codebook(path)
    (row,) = open_codebook(path, progress=quiet).codebook
    assert row.role == "never"
    path.write_text("attribute,value,question\nill,,Are you ill?\n")
    assert is_codebook(path)
    path.write_text("attribute,value\nill,3\n")
    assert not is_codebook(path)
    path.write_bytes(b"\xff\xfe\x00a,b\n")
    assert not is_codebook(path)
    path.write_bytes(b"")
    assert not is_codebook(path)
