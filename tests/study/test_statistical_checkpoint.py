"""A run that was stopped continues with the same numbers; a file of another run is refused."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import seepage as sp
from seepage.errors import InputError
from seepage.study import checkpoint as module
from seepage.study.estimation_task import Task
from seepage.study.statistical import estimate_leakage

MATRICES = ("plug_in", "corrected", "lower", "upper", "p_values", "holm")
NAMES = ("sex", "race", "income", "relationship")


@pytest.fixture(scope="module")
def pairs():
    return sp.load_pairs("adult").select(NAMES)


def run(pairs, **changes):
    call = {"mechanism": "grr", "epsilon": 1.0, "surrogates": 50, "seed": 3, "threads": 1}
    return estimate_leakage(pairs, **(call | changes))


def same(one, two):
    return all(
        np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True) for name in MATRICES
    ) and all(one[pair] == two[pair] for pair in one.pairs)


def stop_after(count):
    """A progress call that ends the run as Ctrl-C does."""

    def progress(done, total):
        if done == count:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", ["aggregate", "records"])
def test_a_stopped_run_continues_bit_for_bit(pairs, tmp_path, monkeypatch, threads, method):
    file = tmp_path / "run.checkpoint"
    call = {"threads": threads, "method": method, "replicas": 2}
    whole = run(pairs, **call)
    with pytest.raises(KeyboardInterrupt):
        run(pairs, checkpoint=file, progress=stop_after(5), **call)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]

    started = []
    estimate = Task.estimate
    monkeypatch.setattr(
        Task, "estimate", lambda self, *rest: (started.append(self.key), estimate(self, *rest))[1]
    )
    calls = []
    continued = run(pairs, checkpoint=file, progress=lambda *step: calls.append(step), **call)
    assert same(continued, whole)
    assert len(started) == len(calls) == 7
    assert calls[-1] == (12, 12)
    assert same(run(pairs, checkpoint=file, **call), whole)
    assert len(started) == 7


def test_a_run_without_a_seed_continues_with_the_seed_of_the_file(pairs, tmp_path):
    file = tmp_path / "run.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        run(pairs, seed=None, checkpoint=file, progress=stop_after(2))
    continued = run(pairs, seed=None, checkpoint=file)
    assert same(continued, run(pairs, seed=continued.settings.seed))


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 4},
        {"epsilon": 1.5},
        {"mechanism": "oue"},
        {"replicas": 49},
        {"surrogates": 51},
        {"confidence": 0.9},
        {"population": True},
        {"method": "records"},
        {"view": "report"},
        {"target": "sex"},
    ],
)
def test_the_file_of_another_run_is_refused(pairs, tmp_path, changes):
    file = tmp_path / "run.checkpoint"
    run(pairs, checkpoint=file)
    before = file.read_bytes()
    with pytest.raises(InputError, match="checkpoint of another run"):
        run(pairs, checkpoint=file, **changes)
    assert file.read_bytes() == before


def test_the_file_of_other_data_is_refused(pairs, tmp_path):
    file = tmp_path / "run.checkpoint"
    run(pairs, checkpoint=file)
    with pytest.raises(InputError, match="checkpoint of another run"):
        run(pairs.rename({"sex": "gender"}), checkpoint=file)
    with pytest.raises(InputError, match="checkpoint of another run"):
        run(pairs + pairs, checkpoint=file)


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"\x93\x01\x02\x03"])
def test_what_is_no_checkpoint_is_refused(pairs, tmp_path, content):
    file = tmp_path / "run.checkpoint"
    file.write_bytes(content)
    with pytest.raises(InputError, match="is no checkpoint of seepage"):
        run(pairs, checkpoint=file)
    assert file.read_bytes() == content


def test_infinite_estimates_survive_the_file(tmp_path):
    pairs = sp.load_pairs("adult").select(["education", "education-num", "sex"])
    file = tmp_path / "run.checkpoint"
    wanted = run(pairs, epsilon=60.0, replicas=1)
    assert np.isinf(wanted.plug_in).any()
    run(pairs, epsilon=60.0, replicas=1, checkpoint=file)
    assert same(run(pairs, epsilon=60.0, replicas=1, checkpoint=file), wanted)


def test_the_file_is_written_now_and_then_not_each_time(pairs, tmp_path, monkeypatch):
    written = []
    save = module.Checkpoint.save

    def note(self, seed, done, *, now=False):
        before = self._written
        save(self, seed, done, now=now)
        written.append(self._written != before)

    monkeypatch.setattr(module.Checkpoint, "save", note)
    run(pairs, checkpoint=tmp_path / "run.checkpoint", surrogates=0)
    assert len(written) == 13
    assert sum(written) <= 2
    assert written[-1]
    monkeypatch.setattr(module, "SECONDS_BETWEEN", -1.0)
    written.clear()
    run(pairs, checkpoint=tmp_path / "other.checkpoint", surrogates=0)
    assert all(written)


SCRIPT = """
    import sys
    import seepage as sp
    from seepage.study.statistical import estimate_leakage

    pairs = sp.load_pairs("adult")
    file, threads = sys.argv[1:]

    def tell(done, total):
        if done == 3:
            print("some", flush=True)

    try:
        estimate_leakage(
            pairs, "grr", 1.0, seed=1, checkpoint=file, threads=int(threads), progress=tell
        )
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_interrupting_a_process_leaves_its_checkpoint(tmp_path, threads):
    file = tmp_path / "run.checkpoint"
    arguments = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(file), threads]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "some\n"
        os.kill(process.pid, signal.SIGINT)
        begun = time.monotonic()
        rest = process.communicate(timeout=60)[0]
        assert time.monotonic() - begun < 30
    assert rest == "stopped\n"
    assert process.returncode == 0
    content = module.Checkpoint._read(file)
    assert 3 <= len(content.estimates) < 210
