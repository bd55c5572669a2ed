"""Tries are counted by the data, over windows and runs."""

import pytest

from seepage._core.errors import InputError
from seepage.app import looks
from seepage.app.looks import LOOKS, Looks, looks_folder


def test_a_try_outlives_the_run(tmp_path):
    Looks("0f", tmp_path).add("a")
    assert Looks("0f", tmp_path).tried == {"a"}
    assert Looks("1f", tmp_path).left == LOOKS


def test_the_same_plan_is_one_try(tmp_path):
    tries = Looks("0f", tmp_path)
    for _ in range(LOOKS + 5):
        tries.add("a")
    assert tries.left == LOOKS - 1


def test_no_more_tries_than_are_certified(tmp_path):
    tries = Looks("0f", tmp_path)
    for number in range(LOOKS):
        tries.add(f"plan{number}")
    assert tries.left == 0
    with pytest.raises(InputError, match="20 plans were tried on this table"):
        tries.add("one more")
    with pytest.raises(InputError):
        tries.check()
    tries.add("plan3")  # seen already
    assert len(tries.tried) == LOOKS


def test_nothing_of_the_data_is_kept(tmp_path):
    Looks("0f", tmp_path).add("a")
    (file,) = tmp_path.iterdir()
    assert (file.name, file.read_text()) == ("0f", "a\n")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="the app counts tries in"):
        Looks("0f", tmp_path / "file" / "looks")


def test_the_folder_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(looks.sys, "platform", "linux")
    assert looks_folder() == tmp_path / "seepage" / "looks"
