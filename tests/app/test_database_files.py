"""Locks and identities of files."""

import os

import pytest

from seepage._core.errors import InputError
from seepage.app.database_files import FileIdentity, FileLock, create_private


@pytest.mark.posix
def test_a_new_file_is_for_its_owner_and_an_old_one_stays(tmp_path):
    path = tmp_path / "a.db"
    identity = create_private(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert identity == FileIdentity.of(path.stat()) == create_private(path)
    path.unlink()
    with pytest.raises(InputError, match="cannot write"):
        create_private(tmp_path / "none" / "a.db")


@pytest.mark.posix
def test_a_lock_is_held_once_and_leaves_nothing(tmp_path):
    path = tmp_path / "a.db-lock"
    lock = FileLock(path)
    with pytest.raises(InputError, match=r"a\.db' is in use: another receiver"):
        FileLock(path)
    lock.close()
    assert not path.exists()
    FileLock(path).close()


@pytest.mark.posix
def test_a_lock_of_a_file_that_was_removed_locks_nothing(tmp_path, monkeypatch):
    """Between opening and locking the holder may have removed the file."""
    path = tmp_path / "a.db-lock"
    open_file = os.open

    def removed(*arguments):
        descriptor = open_file(*arguments)
        path.unlink()
        return descriptor

    monkeypatch.setattr(os, "open", removed)
    with pytest.raises(InputError, match="is in use"):
        FileLock(path)
