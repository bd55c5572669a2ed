"""The private folder of a run: made, kept while its process lives, and removed."""

import subprocess
import sys
from pathlib import Path

import pytest

from seepage._core.errors import InputError
from seepage.app.workspace import app_folder, private_folder, remove_abandoned

HOLDER = """
import sys, time
from pathlib import Path
from seepage.app.workspace import private_folder
with private_folder(Path(sys.argv[1])) as folder:
    (folder / "table.csv").write_text("answers")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds a folder; the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    folder = Path(process.stdout.readline().strip())
    yield process, folder
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.posix
def test_a_folder_is_private_and_removed_at_the_end(tmp_path):
    with private_folder(tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "table.csv").write_text("answers")
    assert not folder.exists()


def test_a_folder_is_removed_when_the_app_fails(tmp_path):
    with pytest.raises(RuntimeError), private_folder(tmp_path) as folder:
        raise RuntimeError
    assert not folder.exists()


@pytest.mark.posix
def test_the_folder_of_a_living_process_stays(tmp_path, holder):
    _, folder = holder
    assert remove_abandoned(tmp_path) == 0
    assert (folder / "table.csv").exists()


@pytest.mark.posix
def test_the_folder_of_a_killed_process_goes_at_the_next_start(tmp_path, holder):
    process, folder = holder
    process.kill()
    process.wait()
    assert folder.exists()
    with private_folder(tmp_path):
        assert not folder.exists()


def test_a_folder_that_is_just_made_stays(tmp_path):
    (tmp_path / "0123456789abcdef").mkdir()
    assert remove_abandoned(tmp_path) == 0


def test_a_link_is_not_followed(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "lock").touch()
    base = tmp_path / "base"
    base.mkdir()
    (base / "link").symlink_to(other)
    assert remove_abandoned(base) == 0
    assert other.exists()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="needs a private folder"):
        private_folder(tmp_path / "file" / "app").__enter__()


def test_the_folder_is_below_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert app_folder() == tmp_path / "seepage" / "app"
