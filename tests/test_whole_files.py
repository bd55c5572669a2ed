"""Files that appear whole or not at all, and every function that writes one."""

import os
import signal
import stat
import subprocess
import sys

import pyarrow as pa
import pytest

import seepage as sp
from command import run
from seepage._core.errors import InputError
from seepage._core.files import whole_file, writable
from seepage.collection.perturb_table import perturb_file

PAIRS = sp.load_pairs("adult").select(["sex", "income"])
PEOPLE = pa.table({"a": ["x", "y"] * 50, "b": ["x", "x", "y", "y"] * 25})


def plan():
    return sp.calibrate(PEOPLE, limit=2.0, guarantee="worst", mechanism="grr")


def result():
    return sp.analyse(PAIRS, 1.0, guarantee="worst")


WRITERS = {
    "analysis": lambda path: result().save(path),
    "chart": lambda path: sp.save_chart(sp.leakage_matrix(PAIRS, 1.0).chart(), path),
    "pairs": lambda path: PAIRS.save(path),
    "perturbed": lambda path: perturb_file(plan(), PEOPLE, path),
    "plan": lambda path: plan().save(path),
    "report": lambda path: result().report(path),
}


@pytest.mark.posix
@pytest.mark.parametrize("name", WRITERS)
def test_only_a_file_is_ever_replaced(name, tmp_path):
    pipe = tmp_path / "pipe.svg"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, ""):
        with pytest.raises(InputError, match=r"must be a (file|path)|must end in"):
            WRITERS[name](path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(InputError, match="the folder of the output must exist"):
        WRITERS[name](tmp_path / "none" / "result.svg")
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_leaves_what_was_there(name, tmp_path, monkeypatch):
    path = tmp_path / "result.svg"
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        InputError, match=r"cannot write '.*result.svg': No space left on device"
    ):
        WRITERS[name](path)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


@pytest.mark.posix
def test_a_name_that_is_too_long_raises(tmp_path):
    with pytest.raises(InputError, match=r"cannot write '.*': File name too long"):
        writable(tmp_path / ("x" * 300))


def test_no_signal_handler_is_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(
        signal, "signal", lambda *arguments: pytest.fail("installs a handler")
    )
    with whole_file(tmp_path / "a") as file:
        file.write(b"x")


TERMINATED = """
import sys, time
import click
from seepage import cli
from seepage._core.files import whole_file

@click.command()
def slow():
    with whole_file(sys.argv[1]) as file:
        file.write(b"x")
        print("writing", flush=True)
        # a signal just before one long sleep would not cut it short
        for _ in range(600):
            time.sleep(0.1)

cli.group.get_command = lambda ctx, name: slow
cli.main(["slow"])
"""


@pytest.mark.posix
def test_a_command_that_is_terminated_leaves_no_file(tmp_path):
    run = [sys.executable, "-c", TERMINATED, str(tmp_path / "out")]
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"writing\n"
        assert list(tmp_path.iterdir())
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert errors == b""
    assert not list(tmp_path.iterdir())


def test_a_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_bytes(b"x")
    with whole_file(tmp_path / "whole") as file:
        file.write(b"x")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "whole").read_bytes() == b"x"


@pytest.mark.posix
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path = tmp_path / "whole"
    for mode in (0o600, 0o640, 0o666, 0o444):
        path.write_bytes(b"x")
        path.chmod(mode)
        with whole_file(path) as file:
            file.write(b"y")
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert path.read_bytes() == b"y"
        path.unlink()


@pytest.mark.posix
@pytest.mark.parametrize("name", ["analysis", "pairs"])
def test_counts_of_people_are_for_their_owner(tmp_path, name):
    WRITERS[name](tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    (tmp_path / "new").chmod(0o644)
    WRITERS[name](tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o644


@pytest.mark.posix
def test_a_saved_analysis_of_the_command_is_for_its_owner(tmp_path):
    command = ["analyse", "adult", "--columns", "sex,income", "--epsilon", "1"]
    for form, mode in (("json", 0o600), ("csv", 0o666 & ~_umask())):
        done = run(*command, "--format", form, "-o", tmp_path / form)
        assert done.returncode == 0, done.stderr
        assert stat.S_IMODE((tmp_path / form).stat().st_mode) == mode


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


READERS = {
    "plan": lambda path: sp.Plan.load(path),
    "analysis": lambda path: sp.Analysis.load(path),
    "codebook": lambda path: plan().write_questionnaire("page.html", labels=path),
    "key": lambda path: plan().perturb(PEOPLE, identifier="id", key=path),
}


@pytest.mark.posix
@pytest.mark.parametrize("name", READERS)
def test_files_that_would_fill_the_memory_are_not_read(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    for path in ("/dev/zero", tmp_path / "pipe", tmp_path / "sparse"):
        with pytest.raises(InputError) as caught:
            READERS[name](path)
        assert str(path) in str(caught.value)


def test_a_hidden_file_is_written(tmp_path):
    with whole_file(tmp_path / "whole") as file:
        file.write(b"x")
        assert [p.name.startswith(".whole.") for p in tmp_path.iterdir()] == [True]
    assert [p.name for p in tmp_path.iterdir()] == ["whole"]
